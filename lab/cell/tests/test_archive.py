# SPDX-License-Identifier: MIT
"""Results carried from one checkout to another, and archives that are refused."""

import errno
import functools
import io
import json
import os
import random
import re
import shutil
import tarfile
from collections import Counter

import pytest
import zstandard

from lab.cell import agent, archive, cells, evidence, identity, paths, run, store
from lab.cell.errors import SpindleError

PROFILE = "smoke"
RUN = "ide-piix.deskstar-75gxp.tnone.both"
FS_RUN = "scsi-virtio.ultrastar-36zx.t64.both.ffs.postmark-x0.05.s01"
SHARE, ALL = 800, 10_000
"""Corrupted archives that are tried: by every test run, and by the nightly ones."""


@pytest.fixture
def results(lab, monkeypatch):
    """Two finished runs; returns the folder of their cells."""
    monkeypatch.setenv("FAKE_REQUESTS", "16")
    for path in identity.image_paths(lab, identity.start_of(cells.run(PROFILE, FS_RUN))):
        path.parent.mkdir(exist_ok=True)
        path.touch()
    for name in (RUN, FS_RUN):
        run.serve(PROFILE, name)
    return paths.ROOT / "results" / PROFILE / "cells"


COUNT = 7
"""Cells of the two runs."""


def content(results):
    """Every file below the results."""
    return {str(path.relative_to(results)): path.read_bytes() for path in results.rglob("*") if path.is_file()}


def test_archive_round_trip_and_same_bytes(results, tmp_path):
    one, two = tmp_path / "one.tar.zst", tmp_path / "two.tar.zst"
    assert archive.export(PROFILE, one) == (COUNT, [])
    archive.export(PROFILE, two)
    assert one.read_bytes() == two.read_bytes()
    before = content(results)
    shutil.rmtree(results)
    assert archive.take(PROFILE, one) == (COUNT, 0, {})
    assert content(results) == before
    assert archive.take(PROFILE, one) == (0, COUNT, {})
    assert content(results) == before


def test_archive_is_a_plain_tar(results, tmp_path):
    """Other programs read it; the manifest comes first and names all that follows."""
    path = tmp_path / "one.tar.zst"
    archive.export(PROFILE, path)
    with zstandard.open(path) as plain, tarfile.open(fileobj=io.BytesIO(plain.read())) as tar:
        names = tar.getnames()
        manifest = json.load(tar.extractfile(names[0]))
    assert names[0] == "manifest.json" and manifest["schema"] == "spindle-archive/1" and manifest["count"] == COUNT
    assert names[1:] == [f"{cell['id']}/{name}" for cell in manifest["cells"] for name in cell["files"]]
    assert set(archive.MOST_FILE_BYTES) == set(store.FILES)


def test_archive_leaves_out_other_inputs_and_failures(results, tmp_path, monkeypatch):
    first = min(results.iterdir())
    result = json.loads((first / "result.json").read_text())
    (first / "result.json").write_text(json.dumps(result | {"status": "failed", "reason": "x", "metrics": None}))
    assert archive.export(PROFILE, tmp_path / "one.tar.zst") == (COUNT - 1, [])
    shutil.rmtree(results)
    real = run.made_of

    def other(*given):
        return {
            cell_id: made | {"identity": made["identity"] | {"model": "0" * 64}}
            for cell_id, made in real(*given).items()
        }

    monkeypatch.setattr(run, "made_of", other)
    taken, there, left_out = archive.take(PROFILE, tmp_path / "one.tar.zst")
    assert (taken, there, dict(left_out)) == (0, 0, {"it was made from another version of: model": COUNT - 1})
    assert content(results) == {}


def test_archive_of_another_profile_is_left_out(results, tmp_path):
    archive.export(PROFILE, tmp_path / "one.tar.zst")
    taken, there, left_out = archive.take("quick", tmp_path / "one.tar.zst")
    assert left_out == {"it is not a cell of profile quick": 1} and taken == COUNT - 1 and there == 0


def test_archive_export_leaves_out_what_does_not_follow(results, tmp_path):
    folder = results / f"{RUN}.rawio-read-random.s01"
    text = (folder / "result.json").read_text()
    (folder / "result.json").write_text(re.sub(r'"rate_mb_s": [0-9.]+', '"rate_mb_s": 99.0', text))
    count, left_out = archive.export(PROFILE, tmp_path / "one.tar.zst")
    assert count == COUNT - 1
    assert left_out == [(folder.name, "result.json: it does not follow from report and trace: metrics")]
    assert archive.give(PROFILE, tmp_path / "one.tar.zst") == 1


def test_archive_export_of_nothing(lab, tmp_path):
    with pytest.raises(SpindleError, match="nothing to export: no finished cell of profile smoke fits"):
        archive.export(PROFILE, tmp_path / "one.tar.zst")
    assert not list(tmp_path.glob("*.zst")) and not list(tmp_path.glob(".*.new"))


def test_archive_export_is_whole_or_not_at_all(results, tmp_path, monkeypatch):
    path = tmp_path / "one.tar.zst"
    path.write_bytes(b"an older one")
    monkeypatch.setattr(archive.os, "fsync", lambda number: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space")))
    with pytest.raises(SpindleError, match="cannot be written: No space; make room and give the same command again"):
        archive.export(PROFILE, path)
    assert path.read_bytes() == b"an older one"
    assert not (tmp_path / ".one.tar.zst.new").exists()


def test_archive_needs_the_built_lab(results, tmp_path, lab):
    archive.export(PROFILE, tmp_path / "one.tar.zst")
    shutil.rmtree(results)
    (lab / "qemu" / "qemu-system-x86_64").unlink()
    with pytest.raises(SpindleError, match="import compares what was built, and `make lab` builds it"):
        archive.take(PROFILE, tmp_path / "one.tar.zst")
    assert content(results) == {}


def test_archive_replaces_what_is_no_result(results, tmp_path):
    path = tmp_path / "one.tar.zst"
    archive.export(PROFILE, path)
    before = content(results)
    folders = sorted(results.iterdir())
    (folders[0] / "result.json").write_bytes(b"")
    text = (folders[1] / "result.json").read_text()
    (folders[1] / "result.json").write_text(re.sub(r'"elapsed_ns": [0-9]+', '"elapsed_ns": 5', text))
    taken, there, left_out = archive.take(PROFILE, path)
    assert (taken, there) == (1, COUNT - 2)
    assert list(left_out) == [
        "another result of the same inputs lies here; one of the two is wrong, so run the cell again"
    ]
    (folders[1] / "result.json").write_text(text)
    assert content(results) == before


def test_archive_missing(lab, tmp_path):
    with pytest.raises(SpindleError, match="No such file"):
        archive.take(PROFILE, tmp_path / "none.tar.zst")


def packed(plain: bytes, size: int | None = None) -> bytes:
    """The bytes of a tar in the one compressed form."""
    found = []
    packer = archive.Packer(len(plain) if size is None else size, found.append)
    packer.write(plain)
    packer.close()
    return b"".join(found)


def honest(base: dict) -> bytes:
    """An archive of these cells with a manifest that fits."""
    members = [
        archive.Member(cell, name, len(data), archive._sha256(data))
        for cell, files in sorted(base.items())
        for name, data in sorted(files.items())
    ]
    return packed(b"".join(archive.plain(members, lambda member: base[member.cell][member.name])))


def test_archive_that_would_unpack_to_too_much(lab, tmp_path):
    path = tmp_path / "bomb.tar.zst"
    path.write_bytes(packed(bytes(1 << 28)))
    with pytest.raises(archive.ArchiveError, match=r"it would unpack to 268435456 bytes, which is more than"):
        archive.take(PROFILE, path)
    window = zstandard.ZstdCompressionParameters.from_level(3, window_log=27, write_checksum=1)
    path.write_bytes(zstandard.ZstdCompressor(compression_params=window).compress(random.Random(1).randbytes(1 << 24)))
    with pytest.raises(archive.ArchiveError, match="it would need more memory to unpack than"):
        archive.take(PROFILE, path)


def test_archive_trace_that_would_unpack_to_too_much(results):
    name = f"{RUN}.rawio-read-random.s01"
    files = archive.read_files(results / name)
    files["io.trace"] = evidence.compress("\n" * (1 << 24))
    about = evidence.about_of(files["evidence.json"])
    about["files"]["io.trace"] = evidence.sha256(files["io.trace"])
    files["evidence.json"] = evidence.text_of(about).encode()
    with pytest.raises(evidence.EvidenceError, match=r"io.trace: it would unpack to more than [0-9]+ bytes"):
        archive.agree(name, files)


# Corrupted archives. A way to corrupt takes the cells and a source of chance, and returns an archive's bytes.


def chosen(chance, base):
    """A copy of the cells that may be changed, and a cell and a file of it."""
    copy = {cell: dict(files) for cell, files in base.items()}
    cell = chance.choice(sorted(copy))
    return copy, cell, chance.choice(sorted(copy[cell]))


def flipped(chance, data: bytes) -> bytes:
    """One bit is another."""
    found = bytearray(data)
    found[chance.randrange(len(found))] ^= 1 << chance.randrange(8)
    return bytes(found)


def cut(chance, data: bytes) -> bytes:
    """A part is missing, at the end or inside."""
    begin = chance.randrange(len(data))
    return data[:begin] + (data[begin + chance.randrange(1, 2000) :] if chance.random() < 0.5 else b"")


def longer(chance, data: bytes) -> bytes:
    """Something stands behind the end."""
    more = chance.choice([b"\0", b"\n", chance.randbytes(chance.randrange(1, 600)), bytes(10240), data[-512:], data])
    return data + more


def of_bytes(way):
    """The archive's own bytes are changed."""
    return lambda chance, base: way(chance, honest(base))


def of_a_file(way):
    """A file of a cell is changed, and the manifest is made anew."""

    def corrupted(chance, base):
        copy, cell, name = chosen(chance, base)
        copy[cell][name] = way(chance, copy[cell][name])
        return honest(copy)

    return corrupted


def members_of(data: bytes) -> list[tuple[tarfile.TarInfo, bytes]]:
    """What is in an archive."""
    plain = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
        return [(entry, tar.extractfile(entry).read()) for entry in tar]


def tar_of(members: list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    """An archive packed again."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for entry, data in members:
            entry.size = len(data) if entry.isreg() else 0
            tar.addfile(entry, io.BytesIO(data))
    return packed(file.getvalue())


def repacked(chance, base):
    """The tar is packed again with members that are not as they were; the manifest stays."""
    members = members_of(honest(base))
    at = chance.randrange(len(members))
    entry, data = members[at]
    way = chance.randrange(10)
    if way == 0:
        other = chance.choice([number for number in range(len(members)) if number != at])
        members[at], members[other] = members[other], members[at]
    elif way == 1:
        members.insert(chance.randrange(len(members) + 1), (entry, data))
    elif way == 2:
        name = chance.choice([f"../{entry.name}", f"/{entry.name}", f"./{entry.name}", entry.name + "x", "x", ""])
        entry.name = name
    elif way == 3:
        members.insert(chance.randrange(len(members) + 1), (tarfile.TarInfo("foreign/result.json"), b"{}"))
    elif way == 4:
        del members[at]
    elif way == 5:
        entry.type, entry.linkname = chance.choice([tarfile.SYMTYPE, tarfile.LNKTYPE]), "/etc/passwd"
    elif way == 6:
        entry.type = chance.choice([tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
    elif way == 7:
        members[at] = (entry, flipped(chance, data))
    elif way == 8:
        entry.mode, entry.mtime, entry.uname = chance.choice([(0o755, 0, ""), (0o644, 1, ""), (0o644, 0, "root")])
    else:
        chance.shuffle(members)
        if members[0][0].name == "manifest.json":
            members.append(members.pop(0))
    return tar_of(members)


def packed_otherwise(chance, base):
    """The same tar, but compressed in another form, or with something in its padding or behind its end."""
    plain = zstandard.ZstdDecompressor().decompressobj().decompress(honest(base))
    way = chance.randrange(4)
    if way == 0:
        return zstandard.ZstdCompressor(level=chance.choice([1, 2, 5, 9, 12]), write_checksum=True).compress(plain)
    if way == 1:
        return zstandard.ZstdCompressor(level=3, write_checksum=False).compress(plain)
    if way == 2:
        return packed(plain[: -chance.randrange(1, 1024)] + b"x")
    half = len(plain) // 2
    return packed(plain[:half]) + packed(plain[half:])


def manifest_edited(chance, base):
    """The manifest itself is not what the lab writes, or names another thing."""
    members = members_of(honest(base))
    text = members[0][1].decode()
    listed = json.loads(text)
    cell = chance.choice(listed["cells"])
    name = chance.choice(sorted(cell["files"]))
    way = chance.randrange(9)
    if way == 0:
        listed["count"] += chance.choice([-1, 1, 10**9])
    elif way == 1:
        cell["files"][name]["size"] = chance.choice([0, -1, 10**18, 1.5, None, True, "5"])
    elif way == 2:
        cell["files"][name]["sha256"] = chance.choice(["", "0" * 64, None, "z" * 64])
    elif way == 3:
        cell["files"]["more"] = cell["files"][name]
    elif way == 4:
        del cell["files"][name]
    elif way == 5:
        cell["id"] = chance.choice(["..", "", "a/b", None, 5, "a" * 1000, "\u0663"])
    elif way == 6:
        listed["cells"].append(cell)
    elif way == 7:
        listed = chance.choice([[], None, {}, {"cells": 5}, {"cells": [5]}, listed | {"schema": "spindle-archive/2"}])
    else:
        listed["more"] = 1
    edited = (json.dumps(listed, indent=1) + "\n").encode()
    return tar_of([(members[0][0], edited), *members[1:]])


def evidence_anew(files):
    """evidence.json with the hashes of the files as they are now."""
    about = evidence.about_of(files["evidence.json"])
    about["files"] = {name: evidence.sha256(files[name]) for name in evidence.FILES}
    files["evidence.json"] = evidence.text_of(about).encode()


def number_edited(chance, base):
    """A rate, or another number of a result, is better than it was."""
    copy, cell, _ = chosen(chance, base)
    result = json.loads(copy[cell]["result.json"])
    numbers = sorted(key for key, value in result["metrics"].items() if isinstance(value, (int, float)))
    key = "rate_mb_s" if "rate_mb_s" in numbers and chance.random() < 0.4 else chance.choice(numbers)
    result["metrics"][key] = chance.choice([result["metrics"][key] + 1, result["metrics"][key] * 2 + 1, 1])
    copy[cell]["result.json"] = store.result_text(result).encode()
    return honest(copy) if copy[cell] != base[cell] else number_edited(chance, base)


def line_of_trace_edited(chance, base):
    """A number in a line of the trace, or a whole line; evidence.json is made anew half of the time."""
    copy, cell, _ = chosen(chance, base)
    lines = evidence.decompress(copy[cell]["io.trace"]).splitlines()
    at = chance.randrange(len(lines))
    way = chance.randrange(5)
    if way == 0 and at > 1:
        fields = lines[at].split(" ")
        field = chance.randrange(2, 10)
        fields[field] = str(int(fields[field]) + chance.choice([1, 8, 1000]))
        lines[at] = " ".join(fields)
    elif way == 1:
        del lines[at]
    elif way == 2:
        lines.insert(at, lines[at])
    elif way == 3:
        lines.insert(at, chance.choice(["# drained 1 commands now_ns 5", "# no", "", "garbage", "\ufffd\0"]))
    else:
        lines[at] = lines[at][: chance.randrange(len(lines[at]))]
    copy[cell]["io.trace"] = evidence.compress("".join(f"{line}\n" for line in lines))
    if chance.random() < 0.5:
        evidence_anew(copy[cell])
    return honest(copy)


def line_of_report_edited(chance, base):
    """A line on the cell itself says another thing; evidence.json is made anew half of the time."""
    copy, cell, _ = chosen(chance, base)
    text = copy[cell]["report.txt"].decode()
    lines = text.splitlines()
    own = agent.lines_of(text, cell).splitlines()
    at = lines.index(chance.choice(own))
    number, payload = lines[at].split(" ", 3)[1::2]
    way = chance.randrange(4)
    if way == 0:
        payload = re.sub(r"([0-9]+)$", lambda found: str(int(found[1]) + 1), payload) + (
            "" if re.search(r"[0-9]$", payload) else " more"
        )
        lines[at] = f"@spindle {number} {agent.cksum(payload.encode())} {payload}"
    elif way == 1:
        del lines[at]
    elif way == 2:
        lines.insert(at, lines[at])
    else:
        lines[at] = lines[at][:-1]
    copy[cell]["report.txt"] = "".join(f"{line}\n" for line in lines).encode()
    if chance.random() < 0.5:
        evidence_anew(copy[cell])
    return honest(copy)


def foreign(chance, base):
    """A cell under another one's name, in its place or beside it, or under a name that no profile has."""
    copy, cell, _ = chosen(chance, base)
    files = dict(copy[cell])
    ids = sorted(one.id for one in cells.cells(PROFILE))
    other = chance.choice([name for name in [*ids, "no.such.cell", "x"] if name != cell])
    if chance.random() < 0.5:
        files["result.json"] = files["result.json"].replace(cell.encode(), other.encode())
    if chance.random() < 0.5:
        about = evidence.about_of(files["evidence.json"]) | {"id": other}
        files["evidence.json"] = evidence.text_of(about).encode()
    if chance.random() < 0.5:
        del copy[cell]
    copy[other] = files
    return honest(copy)


def failed(chance, base):
    """A cell that failed, or that says it did not."""
    copy, cell, _ = chosen(chance, base)
    result = json.loads(copy[cell]["result.json"])
    if chance.random() < 0.5:
        result |= {"status": "failed", "reason": "it was slow", "metrics": None}
    else:
        about = evidence.about_of(copy[cell]["evidence.json"])
        about["boot"] |= chance.choice(
            [{"status": -9}, {"status": 70}, {"killed_because": "x"}, {"trace_problem": "y"}]
        )
        about |= chance.choice([{}, {"last": not about["last"]}])
        about |= {"drained": {"commands": 3, "now_ns": 5}}
        copy[cell]["evidence.json"] = evidence.text_of(about).encode()
    copy[cell]["result.json"] = store.result_text(result).encode()
    return honest(copy)


def swapped(chance, base):
    """Two cells have each other's trace, report or result; evidence.json is made anew half of the time."""
    copy, cell, _ = chosen(chance, base)
    other = chance.choice([name for name in sorted(copy) if name != cell])
    # The cells of one boot have the same report and console.
    names = [name for name in ("io.trace", "result.json", "evidence.json") if copy[cell][name] != copy[other][name]]
    name = chance.choice(names)
    copy[cell][name], copy[other][name] = copy[other][name], copy[cell][name]
    if name == "io.trace" and chance.random() < 0.5:
        evidence_anew(copy[cell])
        evidence_anew(copy[other])
    return honest(copy)


def identity_edited(chance, base):
    """A cell says that it was made from something else, or from nothing else."""
    copy, cell, _ = chosen(chance, base)
    result = json.loads(copy[cell]["result.json"])
    key = chance.choice(sorted(result["identity"]))
    if chance.random() < 0.8:
        result["identity"][key] = flipped_digit(chance, result["identity"][key])
    else:
        result["lock"]["moved"] = ["fio 1 -> 2"]
    copy[cell]["result.json"] = store.result_text(result).encode()
    return honest(copy)


def flipped_digit(chance, digest: str) -> str:
    """Another digest."""
    at = chance.randrange(len(digest))
    return (
        digest[:at] + chance.choice([digit for digit in "0123456789abcdef" if digit != digest[at]]) + digest[at + 1 :]
    )


AS_IT_WAS = {
    "bit of the archive flipped": of_bytes(flipped),
    "archive cut": of_bytes(cut),
    "bytes behind the archive": of_bytes(longer),
    "tar packed again": repacked,
    "packed in another form": packed_otherwise,
    "manifest edited": manifest_edited,
}
MADE_ANEW = {
    "bit of a file flipped": of_a_file(flipped),
    "file cut": of_a_file(cut),
    "bytes behind a file": of_a_file(longer),
    "number edited": number_edited,
    "line of a trace edited": line_of_trace_edited,
    "line of a report edited": line_of_report_edited,
    "foreign cell": foreign,
    "failed cell": failed,
    "files swapped": swapped,
    "identity edited": identity_edited,
}
"""Their manifest fits."""


def corrupted_are_refused(results, path, monkeypatch, total):
    """Counts by kind, none of which was taken in any part."""
    base = {path.name: archive.read_files(path) for path in sorted(results.iterdir())}
    kept = [f"{RUN}.rawio-read-random.s01", f"{RUN}.rawio-write-sequential.s01", FS_RUN]
    base = {name: base[name] for name in kept}
    shutil.rmtree(results)
    # What is built here does not change meanwhile.
    monkeypatch.setattr(run, "made_of", functools.lru_cache(run.made_of))
    good, chance, counts = honest(base), random.Random(12), Counter()
    for number in range(total):
        ways = MADE_ANEW if number % 2 else AS_IT_WAS
        kind = sorted(ways)[number // 2 % len(ways)]
        data = ways[kind](chance, base)
        if data == good:
            data, kind = longer(chance, good), "bytes behind the archive"
        path.write_bytes(data)
        with pytest.raises(archive.ArchiveError, match="refused, nothing was taken: "):
            print(number, kind, archive.take(PROFILE, path))
        assert not os.listdir(results), (number, kind)
        counts[kind] += 1
    path.write_bytes(good)
    assert archive.take(PROFILE, path) == (len(base), 0, {}), "the untouched archive"
    assert {cell.name: archive.read_files(cell) for cell in results.iterdir()} == base
    return counts


@pytest.mark.slow
def test_archive_corrupted_is_never_taken_in_any_part(results, tmp_path, monkeypatch):
    counts = corrupted_are_refused(results, tmp_path / "one.tar.zst", monkeypatch, SHARE)
    assert set(counts) == {*AS_IT_WAS, *MADE_ANEW} and sum(counts.values()) == SHARE


@pytest.mark.nightly
def test_archive_10000_corrupted_are_never_taken_in_any_part(results, tmp_path, monkeypatch):
    counts = corrupted_are_refused(results, tmp_path / "one.tar.zst", monkeypatch, ALL)
    for kind, count in sorted(counts.items()):
        print(f"nightly: {count} archives refused: {kind}")
    assert sum(counts.values()) == ALL
    print(f"nightly: {ALL} corrupted archives refused, the untouched one taken")
