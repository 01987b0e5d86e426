# SPDX-License-Identifier: MIT
"""Installation media that the user has: found, and checked before anything is started from them."""

import re
import shutil
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from lab.cell import built, guests, paths
from lab.cell.errors import SpindleError

SECTOR_BYTES = 2048
VOLUME_SECTOR = 16
"""Where an ISO 9660 image has its primary volume descriptor (ECMA-119, 6.7.1)."""
SHA256 = re.compile(r"[0-9a-f]{64}")
SUFFIXES = (".iso", ".img")


class BadMedium(SpindleError):
    """The medium is missing, or is not the one that is wanted."""


@dataclass(frozen=True)
class Medium:
    """A checked medium."""

    path: Path
    sha256: str
    volume: str


def folder() -> Path:
    """Where media may be placed: <guest>.iso and beside it <guest>.iso.sha256. `make clean` leaves them."""
    return paths.build() / "media"


def placed(name: str) -> Path | None:
    """The medium of a guest that was placed there."""
    found = [folder() / f"{name}{suffix}" for suffix in SUFFIXES]
    return next((path for path in found if path.is_file()), None)


def wanted() -> list[str]:
    """Guests that are prepared from a medium."""
    return [name for name in guests.names() if guests.guest(name).data["made_from"] == "medium"]


def how(name: str) -> str:
    """What to do to get a guest prepared."""
    about = guests.guest(name).data["medium"]
    return f"make guest NAME={name} MEDIA=FILE SHA256=... ({about['what']}; {about['from']})"


def volume_of(path: Path) -> str:
    """Volume name of an ISO 9660 image (ECMA-119, 8.4). Raises BadMedium for any other file."""
    with open(path, "rb") as file:
        file.seek(VOLUME_SECTOR * SECTOR_BYTES)
        descriptor = file.read(SECTOR_BYTES)
    if len(descriptor) < SECTOR_BYTES or descriptor[:6] != b"\x01CD001":
        raise BadMedium(f"{path}: it is no ISO 9660 image; give the image of an installation CD or DVD")
    return descriptor[40:72].decode("ascii", errors="replace").strip(" \0")


def fetch(url: str, name: str) -> Path:
    """Fetch a medium where the user has a network; whole or not at all."""
    target = folder() / f"{name}.iso"
    partial = target.with_name(f".{target.name}.new")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with urllib.request.urlopen(url) as source, open(partial, "wb") as file:
            shutil.copyfileobj(source, file, 1 << 20)
    except (urllib.error.URLError, OSError, ValueError) as error:
        partial.unlink(missing_ok=True)
        raise BadMedium(f"MEDIA={url}: it cannot be fetched: {error}; fetch it by hand and give the file") from None
    partial.replace(target)
    return target


def find(name: str, medium: str, sha256: str) -> tuple[Path, str]:
    """The file of a medium, and the checksum that it should have: what the command names, or what was placed."""
    if not medium:
        path = placed(name)
        if path is None:
            raise BadMedium(f"guest {name!r} needs an installation medium: {how(name)}")
        note = path.with_name(f"{path.name}.sha256")
        if not sha256 and note.is_file():
            sha256 = (note.read_text(encoding="utf-8").split() or [""])[0]
        if not sha256:
            raise BadMedium(f"{path}: no checksum; write it to {note}, or give SHA256=...")
    if not SHA256.fullmatch(sha256.lower()):
        raise BadMedium(
            f"SHA256={sha256}: this is no SHA-256 of 64 hexadecimal digits; copy it from where the medium is from"
        )
    if medium:
        path = fetch(medium, name) if "://" in medium else Path(medium)
    if not path.is_file():
        raise BadMedium(f"MEDIA={medium}: there is no such file; {how(name)}")
    return path, sha256.lower()


def check(name: str, medium: str, sha256: str) -> Medium:
    """A guest's medium, once its checksum and its volume name are right."""
    about = guests.guest(name).data["medium"]
    path, expected = find(name, medium, sha256)
    if (got := built.file_sha256(path.resolve())) != expected:
        raise BadMedium(
            f"{path}: its SHA-256 is {got}, not {expected}; the file is damaged or another one: get it again"
        )
    volume = volume_of(path)
    if re.search(about["volume"], volume):
        return Medium(path.resolve(), got, volume)
    for pattern, what in about["wrong"].items():
        if re.search(pattern, volume):
            raise BadMedium(f"{path}: this is {what} (its volume is {volume!r}); guest {name!r} needs {about['what']}")
    raise BadMedium(f"{path}: its volume is {volume!r}, which is not {about['what']}; choose another guest or medium")


def missing() -> list[str]:
    """A line for each guest that is not prepared, and how to get it."""
    lines = []
    for name in wanted():
        if (paths.build() / guests.guest(name).thing / built.RECEIPT).is_file():
            continue
        path = placed(name)
        where = f"its medium lies in {path}, make guest NAME={name} prepares it" if path else how(name)
        lines.append(f"not here, and needed by no report: guest {name}: {where}")
    return lines


if __name__ == "__main__":
    print("\n".join(missing()))
