# SPDX-License-Identifier: MIT
"""Prepare another guest than the lean Linux, from packages or from your own installation medium.

The lean Linux, in which all papers are measured today, needs no preparation: `make lab` builds it. The others are
in lab/guests/. Debian is made from packages; for FreeBSD and Windows give the image of the medium and its SHA-256.

\b
    spindle guest debian
    spindle guest freebsd --medium FreeBSD-14.3-RELEASE-amd64-disc1.iso --sha256 ...
"""

import click


@click.command("guest", help=__doc__)
@click.argument("name")
@click.option("--medium", default="", help="Installation medium: a file, or a URL.")
@click.option("--sha256", default="", help="Its checksum, from where the medium is from.")
def command(name: str, medium: str, sha256: str) -> int:
    from lab.guests import prepare

    return prepare.main([name, "--medium", medium, "--sha256", sha256])
