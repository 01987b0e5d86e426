# SPDX-License-Identifier: MIT
"""What a cell's result.json is derived from: the files beside it in its folder.

`report.txt` is what the guest's agent said, `io.trace` the cell's requests, `console.log` what the guest's kernel said,
`command` how QEMU was started, and `evidence.json` what stands in none of these: how QEMU ended, what the run's trace
says outside the cell's part, what the lab was made of, and the SHA-256 of the other files and of itself.
"""

import hashlib
import json
from dataclasses import dataclass

import zstandard

from lab.cell.errors import SpindleError
from lab.cell.trace import EVENTS, STATES

SCHEMA = "spindle-evidence/1"
TRACE_LEVEL = 10
TRACE_BYTES = 4 << 30
"""Most that an io.trace may unpack to."""
TRACE_RATIO = 1000
"""The same, as a multiple of its size; real ones have 3 to 30."""
TRACE_WINDOW = 1 << 27
NAME = "evidence.json"
FILES = ("command", "console.log", "io.trace", "report.txt")
"""Files whose hashes stand in evidence.json."""
KEYS = {
    "schema": str,
    "id": str,
    "boot": dict,
    "last": bool,
    "until_ns": int | None,
    "array": list,
    "drained": dict | None,
    "identity": dict,
    "read": dict | None,
    "lock": dict,
    "files": dict,
}
BOOT_KEYS = {"status": int, "killed_because": str | None, "stderr": str, "trace_problem": str | None}
ARRAY_KEYS = {"array": str, "now_ns": int, "event": str, "unit": str, "state": str}
DRAINED_KEYS = {"commands": int, "now_ns": int}


class EvidenceError(SpindleError):
    """The files of a cell do not belong together."""


@dataclass(frozen=True)
class Evidence:
    """All that a result is derived from."""

    report: str
    """The agent's lines, of the whole run."""
    lines: str
    """The cell's part of the trace."""
    console: str
    about: dict
    """evidence.json."""


def sha256(data: bytes) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def compress(lines: str) -> bytes:
    """The one form of io.trace."""
    return zstandard.ZstdCompressor(level=TRACE_LEVEL, write_checksum=True).compress(lines.encode())


def decompress(data: bytes) -> str:
    """The lines of an io.trace, which must have its one form."""
    limit = min(TRACE_BYTES, TRACE_RATIO * len(data))
    try:
        if zstandard.frame_content_size(data) > limit:
            raise EvidenceError(f"io.trace: it would unpack to more than {limit} bytes")
        plain = zstandard.ZstdDecompressor(max_window_size=TRACE_WINDOW).decompress(data, allow_extra_data=False)
        lines = plain.decode()
    except (zstandard.ZstdError, UnicodeDecodeError) as error:
        raise EvidenceError(f"io.trace: it cannot be unpacked ({error})") from None
    if compress(lines) != data:
        raise EvidenceError("io.trace: it is not in the one form that the lab writes")
    return lines


def text_of(about: dict) -> str:
    """The one form of evidence.json: `sha256` at its end is that of the text without it."""
    plain = {name: about[name] for name in KEYS}
    return _json(plain | {"sha256": sha256(_json(plain).encode())})


def _json(data: dict) -> str:
    return json.dumps(data, indent=1) + "\n"


def pack(about: dict, report: bytes, lines: str, console: str, command: str) -> dict[str, bytes]:
    """The files of a cell, but for its result.json; `about` needs no hashes yet."""
    files = {
        "command": command.encode(),
        "console.log": console.encode(),
        "io.trace": compress(lines),
        "report.txt": report,
    }
    hashes = {name: sha256(files[name]) for name in FILES}
    return files | {NAME: text_of(about | {"schema": SCHEMA, "files": hashes}).encode()}


def _fits(value: object, keys: dict) -> bool:
    """A dictionary has just these keys, in this order, with values of these types; true is no number."""
    return (
        isinstance(value, dict)
        and list(value) == list(keys)
        and all(isinstance(value[name], kind) for name, kind in keys.items())
        and not any(isinstance(value[name], bool) and kind is not bool for name, kind in keys.items())
    )


def about_of(data: bytes) -> dict:
    """A checked evidence.json."""
    try:
        about = json.loads(data)
        plain = {name: value for name, value in about.items() if name != "sha256"}
    except (ValueError, AttributeError, RecursionError):
        raise EvidenceError(f"{NAME}: it is no JSON object") from None
    whole = (
        _fits(plain, KEYS)
        and about["schema"] == SCHEMA
        and _fits(about["boot"], BOOT_KEYS)
        and all(_fits(mark, ARRAY_KEYS) for mark in about["array"])
        and all(mark["event"] in EVENTS and mark["state"] in STATES for mark in about["array"])
        and (about["drained"] is None or _fits(about["drained"], DRAINED_KEYS))
        and _fits(about["files"], dict.fromkeys(FILES, str))
    )
    if not whole or text_of(about).encode() != data:
        raise EvidenceError(f"{NAME}: it is not as the lab writes it, so it was changed or damaged")
    return about


def unpack(cell_id: str, files: dict[str, bytes]) -> Evidence:
    """The evidence of a cell from its files, each of which must be the one that evidence.json names."""
    missing = [name for name in (*FILES, NAME) if name not in files]
    if missing:
        raise EvidenceError(f"{missing[0]}: it is missing")
    about = about_of(files[NAME])
    if about["id"] != cell_id:
        raise EvidenceError(f"{NAME}: it is of cell {about['id']!r}")
    for name in FILES:
        if sha256(files[name]) != about["files"][name]:
            raise EvidenceError(f"{name}: it is not the file that {NAME} names")
    try:
        console = files["console.log"].decode()
    except UnicodeDecodeError:
        raise EvidenceError("console.log: it is no text") from None
    return Evidence(report_text(files["report.txt"]), decompress(files["io.trace"]), console, about)


def report_text(report: bytes) -> str:
    """The agent's lines; what is no text in them fails their checksums."""
    return report.decode(errors="replace")
