# SPDX-License-Identifier: MIT
"""Each rule of archives, of cells that are written here: what is taken, what is left out, and what is refused with
which words. Archives that were corrupted at random, test_archive.py has."""

import dataclasses
import hashlib
import io
import json
import shutil
import tarfile
from collections import Counter
from dataclasses import replace

import pytest
import zstandard

from lab.cell import archive, cells, config, evidence, judge, lock, papers, paths, run, store
from lab.cell.errors import EnvironmentMissing, SpindleError
from lab.cell.tests import written

PROFILE = "smoke"
SAID = {"elapsed_ns": 7_000_000, "bytes": 65536, "requests": 8, "children": 4, "concurrent_max": 4}


def cell(seed):
    """A cell whose id ends with its seed."""
    return cells.Cell(
        papers.ids()[0], "scsi-virtio", "ultrastar-36zx", "1", "both", "raw", "rawio", ("op=read", "pattern=random"),
        "1", seed, (),
    )  # fmt: skip


CELLS = tuple(cell(seed) for seed in (1, 2, 3, 4))
NAMES = [one.id for one in CELLS]
RUN = cells.Run("a run", CELLS[0].paper, "scsi-virtio", "ultrastar-36zx", "1", CELLS)


def files_of(one, metrics=(), **about):
    """The files of a cell that ran."""
    report = written.report(one.id, SAID | dict(metrics), "done")
    trace = f"{judge.trace.HEADER}\n# cell {one.id} seed {one.seed} now_ns 0 start_delay_ns 0\n"
    trace += "".join(f"disk0 R {16 * n} 16 0 {n} {n} {n + 1} {n + 1} 1 miss\n" for n in range(8))
    files = evidence.pack(written.ABOUT | {"id": one.id} | about, report.encode(), trace, "", "command")
    return files | result_of(one, judge.derive(one, evidence.unpack(one.id, files)))


def result_of(one, result, **changes):
    return {store.RESULT: store.result_text(result | changes).encode()}


def result_in(files):
    return json.loads(files[store.RESULT])


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A checkout with a profile of four cells in one run, none of which has a result; returns where they lie."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(paths, "BUILD", tmp_path / "build")
    monkeypatch.delenv(lock.HOLDS, raising=False)
    monkeypatch.setattr(config, "require_profile", lambda profile: None)
    monkeypatch.setattr(cells, "cells", lambda profile: CELLS[::-1])
    monkeypatch.setattr(cells, "runs", lambda profile: {RUN.id: RUN})

    def made_of(one, build):
        assert (one, build) == (RUN, tmp_path / "build")
        return {name: {"identity": written.IDENTITY} for name in NAMES}

    monkeypatch.setattr(run, "made_of", made_of)
    return tmp_path / "results" / PROFILE / "cells"


def put(lab, *some, files=None):
    """Results of some cells in their place."""
    for one in some:
        folder = lab / one.id
        folder.mkdir(parents=True)
        for name, data in (files or files_of(one)).items():
            (folder / name).write_bytes(data)


def kept(lab):
    return {folder.name: archive.read_files(folder) for folder in sorted(lab.iterdir())}


def packed(plain, size=None):
    found = []
    packer = archive.Packer(len(plain) if size is None else size, found.append)
    packer.write(plain)
    packer.close()
    return b"".join(found)


def members_of(base):
    return [
        archive.Member(name, file, len(data), hashlib.sha256(data).hexdigest())
        for name, files in base.items()
        for file, data in sorted(files.items())
    ]


def plain_of(base):
    members = members_of(base)
    return b"".join(archive.plain(members, lambda member: base[member.cell][member.name]))


def archived(tmp_path, base):
    path = tmp_path / "one.tar.zst"
    path.write_bytes(packed(plain_of(base)))
    return path


# ---- the form ----------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 511, 512, 513, 8192, 8193, 10240, 20000])
def test_tar_is_the_one_that_others_write(size):
    """With one member behind the manifest, whose size decides what fills the last record."""
    data = bytes(range(256)) * (size // 256 + 1)
    base = {"a": {"command": data[:size]}}
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, text in (("manifest.json", archive.manifest_text(members_of(base))), ("a/command", data[:size])):
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text))
    plain = plain_of(base)
    assert plain == file.getvalue()
    assert archive.plain_size(archive.manifest_text(members_of(base)), members_of(base)) == len(plain)


def test_tar_ends_with_two_empty_blocks_in_its_last_record():
    for before in range(0, 3 * 10240, 512):
        tail = len(archive._tail(before))
        assert (before + tail) % 10240 == 0 and 1024 <= tail < 1024 + 10240


def test_manifest_has_one_form():
    text = archive.manifest_text([archive.Member("a", "command", 5, written.DIGEST)])
    assert text.decode() == (
        '{\n "schema": "spindle-archive/1",\n "count": 1,\n "cells": [\n  {\n   "id": "a",\n   "files": {\n'
        f'    "command": {{\n     "size": 5,\n     "sha256": "{written.DIGEST}"\n    }}\n   }}\n  }}\n ]\n}}\n'
    )


def some_lines():
    """More than a MiB of what each level of compression makes something else of."""
    return "".join(
        f"disk0 R {n * 7919 % 100_003} 16 {n % 7} {n * 1000} {n * 1001} miss\n" for n in range(40_000)
    ).encode()


def test_compressed_form_is_of_level_3_with_a_checksum():
    """It does not depend on the pieces in which the bytes come."""
    plain = some_lines()
    packer = zstandard.ZstdCompressor(level=3, write_checksum=True).compressobj(size=len(plain))
    parts = [packer.compress(plain[at : at + (1 << 20)]) for at in range(0, len(plain), 1 << 20)]
    wanted = b"".join([*parts, packer.flush()])
    assert packed(plain) == wanted
    found = []
    pieces = archive.Packer(len(plain), found.append)
    for at in range(0, len(plain), 12345):
        pieces.write(plain[at : at + 12345])
    pieces.close()
    assert b"".join(found) == wanted


def test_member_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        archive.Member("a", "command", 5, written.DIGEST).size = 6


# ---- the head of a file ------------------------------------------------------


def opened(head, packed_bytes=1 << 40):
    return archive.Reader(io.BytesIO(head), io.BytesIO(head), packed_bytes)


def header(size=None, window_log=None, **more):
    """The beginning of a compressed file that says how large it will be."""
    more = {"write_checksum": True, "write_content_size": size is not None} | more
    if window_log is None:
        compressor = zstandard.ZstdCompressor(level=3, **more)
    else:
        parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=window_log, **more)
        compressor = zstandard.ZstdCompressor(compression_params=parameters)
    packer = compressor.compressobj(**({} if size is None else {"size": size}))
    return packer.compress(bytes(1 << 20)) + packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)


@pytest.mark.parametrize(
    ("size", "packed_bytes", "good"),
    [(64 << 30, 1 << 40, True), ((64 << 30) + 1, 1 << 40, False), (2_000_000, 2000, True), (2_000_001, 2000, False)],
)
def test_reader_refuses_what_would_unpack_to_too_much(size, packed_bytes, good):
    """64 GiB, and 1000 times the size of the file."""
    if good:
        assert opened(header(size), packed_bytes).size == size
    else:
        with pytest.raises(archive._Damaged, match=f"it would unpack to {size} bytes, which is more than the lab"):
            opened(header(size), packed_bytes)


@pytest.mark.parametrize(("log", "good"), [(23, True), (24, False)])
def test_reader_refuses_what_would_need_too_much_memory(log, good):
    """8 MiB are the most."""
    if good:
        opened(header(1 << 30, log))
    else:
        with pytest.raises(archive._Damaged, match="it would need more memory to unpack than the lab accepts"):
            opened(header(1 << 30, log))


@pytest.mark.parametrize("head", [header(), header(2_000_000, write_checksum=False)], ids=["no size", "no checksum"])
def test_reader_needs_size_and_checksum(head):
    with pytest.raises(archive._Damaged, match="its first bytes are not those of an archive of results"):
        opened(head)


def test_reader_reads_the_longest_header():
    """18 bytes: magic number, flags, window, a dictionary's number, and the size in 8 bytes."""
    head = bytes.fromhex("28b52ffdc75801020304") + (2_000_000).to_bytes(8, "little")
    assert opened(head).size == 2_000_000


def test_reader_takes_what_it_is_asked_for():
    plain = some_lines()
    data = packed(plain)
    reader = opened(data)
    assert reader.take(5) == plain[:5] and reader.take(0) == b""
    reader.expect(plain[5:9], "another")
    with pytest.raises(archive._Damaged, match=r"^another$"):
        reader.expect(b"x", "another")
    assert reader.take(len(plain) - 10) == plain[10:]
    reader.close()
    reader = opened(data)
    with pytest.raises(archive._Damaged, match="it ends too early"):
        reader.take(len(plain) + 1)
    reader = opened(data)
    reader.take(len(plain) - 1)
    with pytest.raises(archive._Damaged, match="something stands behind its end"):
        reader.close()
    for more, error in ((b"x", zstandard.ZstdError), (packed(b""), archive._Damaged), (data, archive._Damaged)):
        reader = opened(data + more)
        reader.take(len(plain))
        with pytest.raises(error):
            reader.close()
    other = zstandard.ZstdCompressor(level=9, write_checksum=True).compress(plain)
    reader = opened(other)
    with pytest.raises(archive._Damaged, match="it is not in the one form that the lab writes"):
        reader.take(len(plain))
        reader.close()


# ---- the manifest ------------------------------------------------------------


def manifest(members):
    return archive.manifest_text(members)


def whole(cell="a", **changes):
    """The members of a cell; `changes`: of its `command`."""
    members = [archive.Member(cell, file, 0, written.DIGEST) for file in store.FILES]
    return [replace(members[0], **changes), *members[1:]]


@pytest.mark.parametrize(
    "data",
    [b"", b"no json", b"{}", b"[]", b"null", b'{"cells": 5}', b'{"cells": [5]}', b'{"cells": [{"id": "a"}]}',
     b'{"cells": [{"id": "a", "files": []}]}', b'{"cells": [{"id": "a", "files": {"command": 5}}]}',
     b"[" * 100_000, b"\xff"],
    ids=lambda data: data[:50].decode(errors="replace"),
)  # fmt: skip
def test_manifest_that_is_none(data):
    with pytest.raises(archive._Damaged, match=r"its manifest.json is no list of cells and files"):
        archive.read_manifest(data)


@pytest.mark.parametrize("name", ["..", "../x", "/x", "", "a/b", ".a", "a" * 252, "\u0663"])
def test_manifest_names_no_other_place(name):
    with pytest.raises(archive._Damaged, match="names a file that no cell has"):
        archive.read_manifest(manifest(whole(name)))


@pytest.mark.parametrize(
    "changes",
    [{"name": "more"}, {"cell": 5}, {"cell": None}, {"size": True}, {"size": 1.5}, {"size": "5"}, {"size": None},
     {"sha256": 5}, {"sha256": None}],
)  # fmt: skip
def test_manifest_has_files_of_cells(changes):
    members = whole(**changes)
    with pytest.raises(archive._Damaged, match="names a file that no cell has"):
        archive.read_manifest(manifest(members))


MIB = 1 << 20
MOST = {
    "command": MIB, "console.log": 64 * MIB, "evidence.json": 4 * MIB, "io.trace": 1024 * MIB, "report.txt": 64 * MIB,
    "result.json": 4 * MIB,
}  # fmt: skip


@pytest.mark.parametrize("name", store.FILES)
def test_manifest_sizes_have_bounds(name):
    for size, good in ((-1, False), (0, True), (1, True), (MOST[name], True), (MOST[name] + 1, False)):
        members = [replace(member, size=size if member.name == name else 5) for member in whole()]
        if good:
            assert archive.read_manifest(manifest(members)) == members
        else:
            with pytest.raises(archive._Damaged, match=f"has a size or a sum of a/{name} that no file of a cell has"):
                archive.read_manifest(manifest(members))


@pytest.mark.parametrize("digest", ["", "0" * 63, "0" * 65, "z" * 64, "A" * 64])
def test_manifest_has_sums(digest):
    with pytest.raises(archive._Damaged, match="has a size or a sum of a/command that no file of a cell has"):
        archive.read_manifest(manifest(whole(sha256=digest)))


def test_manifest_has_all_files_of_its_cells_in_order():
    good = [*whole("a"), *whole("b")]
    assert archive.read_manifest(manifest(good)) == good
    for members in (good[1:], good[:-1], [*whole("b"), *whole("a")], [good[1], good[0], *good[2:]]):
        with pytest.raises(archive._Damaged, match="does not name just the files of its cells, in order"):
            archive.read_manifest(manifest(members))


def test_manifest_has_one_to_so_many_cells(monkeypatch):
    monkeypatch.setattr(archive, "MOST_CELLS", 2)
    for names, good in (((), False), (("a",), True), (("a", "b"), True), (("a", "b", "c"), False)):
        members = [member for name in names for member in whole(name)]
        if good:
            assert archive.read_manifest(manifest(members)) == members
        else:
            with pytest.raises(archive._Damaged, match="is not in the one form that the lab writes"):
                archive.read_manifest(manifest(members))
    with pytest.raises(archive._Damaged, match="is not in the one form that the lab writes"):
        archive.read_manifest(manifest(whole()) + b" ")


class Said(Exception):
    """How much was read behind the first block."""


def first_block(monkeypatch, tmp_path, block):
    """Unpack what begins with a block."""

    class Reader:
        size = 0

        def __init__(self, *given):
            self.blocks = [block]

        def take(self, size):
            if not self.blocks:
                raise Said(size)
            return self.blocks.pop()

    (tmp_path / "file").touch()
    monkeypatch.setattr(archive, "Reader", Reader)
    return archive.unpack(tmp_path / "file", tmp_path)


@pytest.mark.parametrize("size", [0, 5, 64 * MIB])
def test_first_member_is_the_manifest(monkeypatch, tmp_path, size):
    with pytest.raises(Said, match=f"^{size}$"):
        first_block(monkeypatch, tmp_path, archive._header("manifest.json", size))


def with_sum(block):
    """A header whose checksum fits."""
    plain = block[:148] + b" " * 8 + block[156:]
    return block[:148] + f"{sum(plain):06o}".encode() + b"\0 " + block[156:]


@pytest.mark.parametrize(
    ("block", "said"),
    [
        (archive._header("manifest.json", 64 * MIB + 1), "its first member is not manifest.json"),
        (archive._header("a/command", 5), "its first member is not manifest.json"),
        (with_sum(b"\xff" + archive._header("manifest.json", 5)[1:]), "its first member is none"),
        (bytes(512), "its first member is none"),
        (b"x" * 512, "its first member is none"),
    ],
    ids=["too large", "another", "no text", "zeros", "garbage"],
)
def test_first_member_is_another(monkeypatch, tmp_path, block, said):
    with pytest.raises(archive._Damaged, match=f"^{said}$"):
        first_block(monkeypatch, tmp_path, block)


# ---- whether the files of a cell agree ---------------------------------------


def test_files_of_a_cell_agree():
    one = CELLS[0]
    files = files_of(one)
    found = archive.agree(one.id, files)
    archive.follows(one, found, files[store.RESULT])


def test_files_of_a_cell_that_are_missing_are_named(tmp_path):
    with pytest.raises(evidence.EvidenceError, match=r"^command: No such file or directory$"):
        archive.read_files(tmp_path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": NAMES[1]}, f"it is of cell {NAMES[1]!r}"),
        ({"status": "failed", "reason": "x", "metrics": None}, "the cell failed, and archives hold finished cells"),
        ({"identity": written.IDENTITY | {"qemu": "1" * 64}}, "its identity is not the one that evidence.json has"),
        ({"read": {"assumptions": {"a": 1}, "catalogue": {}}}, "its read is not the one that evidence.json has"),
        ({"lock": {"guest": written.DIGEST, "moved": ["a 1 -> 2"]}}, "its lock is not the one that evidence.json has"),
    ],
)
def test_result_that_does_not_agree(change, said):
    files = files_of(CELLS[0])
    changed = result_of(CELLS[0], result_in(files), **change)
    with pytest.raises(evidence.EvidenceError, match=rf"^result.json: {said}$"):
        archive.agree(NAMES[0], files | changed)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"no json", "it is no JSON"),
        (b"[" * 100_000, "it is no JSON"),
        (None, "it is not in the one form that the lab"),
    ],
    ids=["text", "deep", "another form"],
)
def test_result_that_is_none(data, said):
    files = files_of(CELLS[0])
    with pytest.raises(evidence.EvidenceError, match=rf"^result.json: {said}"):
        archive.agree(NAMES[0], files | {store.RESULT: data or files[store.RESULT] + b" "})


def test_trace_of_another_cell_does_not_agree():
    files, other = files_of(CELLS[0]), files_of(CELLS[1])
    about = evidence.about_of(files["evidence.json"])
    swapped = files | {"io.trace": other["io.trace"]}
    about["files"] = {name: evidence.sha256(swapped[name]) for name in evidence.FILES}
    swapped["evidence.json"] = evidence.text_of(about).encode()
    with pytest.raises(evidence.EvidenceError, match=r"^io.trace: it is not of this cell$"):
        archive.agree(NAMES[0], swapped)


def test_result_that_does_not_follow_is_told_by_its_first_difference():
    one = CELLS[0]
    files = files_of(one)
    found, result = archive.agree(one.id, files), result_in(files)
    begun = "^result.json: it does not follow from report and trace: "
    for change, said in (
        ({"trace": "1" * 64, "metrics": result["metrics"] | {"rate_mb_s": 99.0}}, "metrics"),
        ({"trace": "1" * 64, "report": "1" * 64}, "report"),
        # Equal and not the same.
        ({"cell": result["cell"] | {"scale": 1.0}}, "cell"),
        ({"more": 1}, "more"),
    ):
        with pytest.raises(evidence.EvidenceError, match=f"{begun}{said}$"):
            archive.follows(one, found, result_of(one, result, **change)[store.RESULT])
    crashed = replace(found, about=found.about | {"boot": found.about["boot"] | {"status": 1}})
    with pytest.raises(evidence.EvidenceError, match=rf"{begun}status \(QEMU exited with status 1: no message\)$"):
        archive.follows(one, crashed, files[store.RESULT])


# ---- export ------------------------------------------------------------------


def spoiled(lab, one, name="report.txt"):
    """A result with another file than those that it follows from."""
    put(lab, one, files=files_of(one) | {name: b"another\n"})


def failed(lab, one):
    files = files_of(one)
    put(lab, one, files=files | result_of(one, result_in(files), status="failed", reason="x", metrics=None))


def test_export_takes_what_fits_and_leaves_out_what_is_not_whole(lab, tmp_path):
    """Whatever is passed over, those behind it are taken."""
    put(lab, CELLS[3])
    assert archive.collect(PROFILE, "*")[0] == members_of({NAMES[3]: files_of(CELLS[3])})
    for way, left_out in (
        (failed, []), (spoiled, [(NAMES[1], "report.txt: it is not the file that evidence.json names")])
    ):  # fmt: skip
        way(lab, CELLS[1])
        assert archive.collect(PROFILE, "*") == (members_of({NAMES[3]: files_of(CELLS[3])}), left_out)
        shutil.rmtree(lab / NAMES[1])
    put(lab, CELLS[0])
    assert archive.collect(PROFILE, "*.s04")[0] == members_of({NAMES[3]: files_of(CELLS[3])})
    assert {member.cell for member in archive.collect(PROFILE, "*")[0]} == {NAMES[0], NAMES[3]}


def test_export_of_nothing_says_why(lab, tmp_path):
    target = tmp_path / "one.tar.zst"
    nothing = rf"^{target}: nothing to export: no finished cell of profile smoke fits '\*'"
    with pytest.raises(SpindleError, match=f"{nothing}$"):
        archive.export(PROFILE, target)
    spoiled(lab, CELLS[0])
    spoiled(lab, CELLS[1], "console.log")
    with pytest.raises(SpindleError, match=f"{nothing}; {NAMES[0]}: report.txt: it is not the file that "):
        archive.export(PROFILE, target)


def test_export_and_take_carry_all_bytes(lab, tmp_path):
    put(lab, *CELLS[:3])
    path, before = tmp_path / "one.tar.zst", kept(lab)
    assert archive.export(PROFILE, path) == (3, [])
    assert path.read_bytes() == packed(plain_of(before))
    shutil.rmtree(tmp_path / "results")
    assert archive.take(PROFILE, path) == (3, 0, Counter())
    assert kept(lab) == before
    assert archive.take(PROFILE, path) == (0, 3, Counter())
    assert kept(lab) == before and sorted(path.name for path in tmp_path.iterdir()) == ["one.tar.zst", "results"]


def test_export_of_what_changes_meanwhile(lab, tmp_path, monkeypatch):
    put(lab, CELLS[0])
    real = archive.collect

    def collect(*given):
        found = real(*given)
        (lab / NAMES[0] / "console.log").write_text("more")
        return found

    monkeypatch.setattr(archive, "collect", collect)
    with pytest.raises(
        SpindleError, match=r"console.log: it changed while it was exported; give the same command again"
    ):
        archive.export(PROFILE, tmp_path / "one.tar.zst")
    assert not list(tmp_path.glob("*.zst")) and not list(tmp_path.glob(".*"))


def test_export_that_cannot_be_written(lab, tmp_path, monkeypatch):
    put(lab, CELLS[0])
    said = r"it cannot be written: No such file or directory; write it elsewhere$"
    with pytest.raises(SpindleError, match=said):
        archive.export(PROFILE, tmp_path / "no/such/one.tar.zst")
    for number in (archive.errno.ENOSPC, archive.errno.EDQUOT):
        error = OSError(number, "No room")

        def fsync(file, error=error):
            raise error

        monkeypatch.setattr(archive.os, "fsync", fsync)
        with pytest.raises(SpindleError, match="it cannot be written: No room; make room and give the same command"):
            archive.export(PROFILE, tmp_path / "one.tar.zst")
    assert not list(tmp_path.glob("*.zst")) and not list(tmp_path.glob(".*"))


# ---- import ------------------------------------------------------------------


def test_take_leaves_out_what_is_not_to_be_had(lab, tmp_path):
    """Whatever is left out, those behind it are taken, and each is counted."""
    strangers = [replace(CELLS[0], drive=name) for name in ("aaa", "bbb")]
    others = [files_of(one, identity=written.IDENTITY | {"model": "1" * 64, "qemu": "1" * 64}) for one in CELLS[:2]]
    base = {one.id: renamed(one) for one in strangers}
    base |= dict(zip(NAMES[:2], others, strict=True))
    base |= {one.id: files_of(one) for one in CELLS[2:]}
    taken = archive.take(PROFILE, archived(tmp_path, dict(sorted(base.items()))))
    assert taken == (
        2, 0, {"it is not a cell of profile smoke": 2, "it was made from another version of: model, qemu": 2}
    )  # fmt: skip
    assert kept(lab) == {name: base[name] for name in NAMES[2:]}


def renamed(one):
    """Files that agree with each other, of a cell that no profile has."""
    files = files_of(CELLS[0])
    lines = evidence.decompress(files["io.trace"]).replace(NAMES[0], one.id)
    about = evidence.about_of(files["evidence.json"]) | {"id": one.id}
    about = {name: about[name] for name in evidence.KEYS if name not in ("schema", "files")}
    made = evidence.pack(about, files["report.txt"], lines, "", "command")
    return made | result_of(one, result_in(files), id=one.id)


def test_take_of_what_lies_there(lab, tmp_path):
    """A good one of the same inputs stays, another one of them is told, and anything else is replaced."""
    base = {one.id: files_of(one) for one in CELLS}
    path = archived(tmp_path, base)
    put(lab, CELLS[0])
    put(lab, CELLS[1], files=files_of(CELLS[1], {"elapsed_ns": 8_000_000}))
    put(lab, CELLS[2], files=files_of(CELLS[2], {"elapsed_ns": 8_000_000}))
    failed(lab, CELLS[3])
    there = kept(lab)
    said = "another result of the same inputs lies here; one of the two is wrong, so run the cell again"
    assert archive.take(PROFILE, path) == (1, 1, {said: 2})
    assert kept(lab) == {name: there[name] for name in NAMES[:3]} | {NAMES[3]: base[NAMES[3]]}
    shutil.rmtree(lab / NAMES[1])
    put(lab, CELLS[1], files=files_of(CELLS[1], identity=written.IDENTITY | {"qemu": "1" * 64}))
    (lab / NAMES[2] / "result.json").write_bytes(b"")
    assert archive.take(PROFILE, path) == (2, 2, {})
    assert kept(lab) == base


def refused(path, said):
    with pytest.raises(archive.ArchiveError, match=f"^{path}: refused, nothing was taken: {said}; export it again$"):
        archive.take(PROFILE, path)


def test_take_refuses_a_file_that_is_not_the_one_that_is_named(lab, tmp_path):
    base = {one.id: files_of(one) for one in CELLS[:2]}
    plain = plain_of(base)
    path = tmp_path / "one.tar.zst"
    start = plain.index(f"{NAMES[1]}/command".encode()) + 512
    path.write_bytes(packed(plain[:start] + b"C" + plain[start + 1 :]))
    refused(path, f"{NAMES[1]}/command is not the file that manifest.json names")
    path.write_bytes(packed(plain[: start + 7] + b"x" + plain[start + 8 :]))
    refused(path, f"something stands behind {NAMES[1]}/command")
    path.write_bytes(packed(plain[: start - 1] + b"x" + plain[start:]))
    refused(path, f"{NAMES[1]}/command is not where manifest.json has it")
    path.write_bytes(packed(plain[:-1] + b"x"))
    refused(path, "something stands behind its last member")
    path.write_bytes(packed(plain + bytes(10240)))
    refused(path, "it has another size than its manifest.json says")
    path.write_bytes(packed(plain) + packed(b""))
    refused(path, "something stands behind its end")
    path.write_bytes(b"no archive at all, but some text")
    refused(path, r"not a whole archive of results \(.*\)")
    assert not list(lab.iterdir())


def test_take_refuses_what_does_not_agree_or_follow(lab, tmp_path):
    base = {one.id: files_of(one) for one in CELLS[:2]}
    base[NAMES[1]] |= result_of(CELLS[1], result_in(base[NAMES[1]]), trace="1" * 64)
    refused(archived(tmp_path, base), f"{NAMES[1]}: result.json: it does not follow from report and trace: trace")
    base[NAMES[1]]["report.txt"] = b"another\n"
    refused(archived(tmp_path, base), f"{NAMES[1]}: report.txt: it is not the file that evidence.json names")
    assert not list(lab.iterdir())


def test_take_tells_what_was_wrong_where_nothing_is_left_to_remove(lab, tmp_path, monkeypatch):
    def unpack(source, scratch):
        scratch.rmdir()
        raise archive._Damaged("it was cut")

    monkeypatch.setattr(archive, "unpack", unpack)
    refused(tmp_path / "one.tar.zst", "it was cut")


def test_take_needs_what_is_built(lab, tmp_path, monkeypatch):
    def made_of(one, build):
        raise EnvironmentMissing("QEMU is not built")

    monkeypatch.setattr(run, "made_of", made_of)
    said = "^import compares what was built, and `make lab` builds it: QEMU is not built$"
    with pytest.raises(SpindleError, match=said):
        archive.take(PROFILE, archived(tmp_path, {NAMES[0]: files_of(CELLS[0])}))
    assert not list(lab.iterdir())


def test_take_of_a_file_that_is_missing(lab, tmp_path):
    path = tmp_path / "none.tar.zst"
    with pytest.raises(SpindleError, match=rf"^{path}: No such file or directory \({path}\)$"):
        archive.take(PROFILE, path)


# ---- what the commands say and return ----------------------------------------


def test_give_says_what_it_wrote(lab, tmp_path, monkeypatch, capsys):
    target = tmp_path / "one.tar.zst"

    def export(profile, path, pattern, left_out=()):
        path.write_bytes(bytes(3 * MIB))
        return 5, list(left_out)

    monkeypatch.setattr(archive, "export", export)
    assert archive.give(PROFILE, target) == 0
    assert capsys.readouterr().err == f"{target}: 5 cells, 3 MiB\n"
    monkeypatch.setattr(archive, "export", lambda *given: export(*given, left_out=[("a", "why"), ("b", "so")]))
    assert archive.give(PROFILE, target) == 1
    assert (
        capsys.readouterr().err == f"{target}: left out: a: why\n{target}: left out: b: so\n{target}: 5 cells, 3 MiB\n"
    )


def test_take_all_says_what_it_took(lab, tmp_path, monkeypatch, capsys):
    """It has the results alone meanwhile."""
    outcomes = {"a": (3, 1, Counter()), "b": (0, 0, Counter({"why": 2, "so": 5})), "c": archive.ArchiveError("c: no")}

    def take(profile, source):
        assert [held.alone for (_, name), held in lock._held.items() if name == "results"] == [True]
        if isinstance(outcomes[source], Exception):
            raise outcomes[source]
        return outcomes[source]

    monkeypatch.setattr(archive, "take", take)
    assert archive.take_all(PROFILE, []) == 0
    assert archive.take_all(PROFILE, ["a"]) == 0
    assert capsys.readouterr().err == "a: 3 cells taken, 1 were there already\n"
    assert archive.take_all(PROFILE, ["b", "a"]) == 1
    assert capsys.readouterr().err == (
        "b: 0 cells taken, 0 were there already\nb: 5 left out: so\nb: 2 left out: why\n"
        "a: 3 cells taken, 1 were there already\n"
    )
    assert archive.take_all(PROFILE, ["c", "a"]) == 1
    assert capsys.readouterr().err == "error: c: no\na: 3 cells taken, 1 were there already\n"
