# SPDX-License-Identifier: MIT
"""Puts RO-Crate's JSON-LD context 1.1 into the cache of roc-validator, so that it fetches nothing.

    python paper/tests/crate_context.py CACHE

It runs in the environment of envs/validator.lock. Its rocrate 0.13 has that context as a file.
"""

import io
import json
import sys
from importlib.resources import files

import urllib3
from requests.adapters import HTTPAdapter
from requests_cache import CachedSession

CONTEXT = "https://w3id.org/ro/crate/1.1/context"


class Packaged(HTTPAdapter):
    """Answers with the packaged file and does not touch the network."""

    def send(self, request, *words, **settings):
        body = files("rocrate").joinpath("data/ro-crate.jsonld").read_bytes()
        assert json.loads(body)["@id"] == request.url == CONTEXT, "rocrate has another context than is asked for"
        headers = {"Content-Type": "application/ld+json"}
        answer = urllib3.HTTPResponse(io.BytesIO(body), headers, 200, preload_content=False, request_url=CONTEXT)
        return self.build_response(request, answer)


session = CachedSession(sys.argv[1], backend="sqlite", expire_after=-1, allowable_methods=("GET",))
session.mount("https://", Packaged())
session.get(CONTEXT, headers={"Accept": "application/ld+json, application/json"}).raise_for_status()
