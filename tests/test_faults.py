# SPDX-License-Identifier: MIT
"""The suite of planted faults: its lists fit the code, and it tells caught from survived; the faults themselves take
many minutes (`make nightly`)."""

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).with_name("faults.py")
SPEC = importlib.util.spec_from_file_location("faults", PATH)
faults = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(faults)

LISTED = faults.load_all(faults.LISTS)
COPIES = {kind: of() for kind, of in faults.KINDS.items()}


def test_faults_lists_are_those_of_the_kinds():
    assert {path.stem for path in faults.LISTS.iterdir()} == faults.KINDS.keys()
    assert {fault["kind"] for fault in LISTED} == faults.KINDS.keys()


@pytest.mark.parametrize("kind", faults.KINDS)
def test_faults_fit_the_code(kind):
    """Who changes code in which a fault is planted writes the fault anew."""
    copy = COPIES[kind]
    for fault in LISTED:
        if fault["kind"] == kind:
            assert list(faults.ROOT.glob(fault["target"])), fault["name"]
            # The patched source of QEMU is there only where QEMU was built.
            if (copy.source / fault["file"]).exists() or kind != "driver":
                assert faults.mutated(fault, copy.source), fault["name"]
    own = [fault for fault in LISTED if fault["kind"] == kind == "driver" and fault["file"] == "block/spindle.c"]
    assert all(faults.mutated(fault, faults.ROOT / "lab" / "qemu") for fault in own)


GOOD = {
    "name": "a",
    "why": "b",
    "file": "code_here.py",
    "old": "1",
    "new": "2",
    "target": "test_code.py",
    "filter": "one",
}


def listed(folder, *entries):
    """A list of faults for each kind, these in the list of Python's."""
    for kind in faults.KINDS:
        text = "fault = []\n"
        if kind == "python":
            entry = "[[fault]]\n{}"
            text = "\n".join(entry.format("".join(f'{k} = "{v}"\n' for k, v in one.items())) for one in entries)
        (folder / f"{kind}.toml").write_text(text)
    return folder


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([{name: text for name, text in GOOD.items() if name != "why"}], "a: lacks why"),
        ([GOOD | {"fil": "x"}], "a: has unknown fil"),
        ([GOOD | {"new": "1"}], "a: changes nothing"),
        ([GOOD, GOOD], "a: two faults have this name"),
    ],
)
def test_faults_list_is_checked(tmp_path, entries, message):
    with pytest.raises(faults.SuiteError, match=message):
        faults.load_all(listed(tmp_path, *entries))


@pytest.mark.parametrize(("code", "times"), [("VALUE = 2\n", 0), ("VALUE = 1 + 1\n", 2)])
def test_faults_text_that_moved_is_written_anew(tmp_path, code, times):
    (tmp_path / "code_here.py").write_text(code)
    with pytest.raises(faults.SuiteError, match=rf"a: its old text is in code_here.py {times} times, not once"):
        faults.mutated(GOOD, tmp_path)


@pytest.fixture
def toy(tmp_path):
    """A copy with one module and its tests."""
    (tmp_path / "code_here.py").write_text("VALUE = 1\n")
    (tmp_path / "test_code.py").write_text(
        "import time\nfrom code_here import VALUE\n"
        "def test_one():\n    assert VALUE == 1\n"
        "def test_some():\n    assert VALUE > 0\n"
        "def test_broken():\n    time.sleep(60 * (VALUE - 1))\n"
    )
    copy = faults.Pytest()
    copy.checkout = copy.root = tmp_path
    return copy


@pytest.mark.parametrize(("chosen", "caught"), [("one or some", ["test_one"]), ("some", [])])
def test_faults_are_caught_or_survive(toy, chosen, caught):
    assert toy.catchers(GOOD | {"filter": chosen}) == caught
    assert (toy.root / "code_here.py").read_text() == "VALUE = 1\n"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"filter": "nothing"}, "a: test_code.py nothing could not be run"),
        ({"target": "test_none*.py"}, "a: there is no test_none"),
        ({"new": "("}, "a: test_code.py one could not be run"),
        ({"filter": "broken"}, "a: test_code.py broken did not end in 5 s; plant it differently"),
    ],
    ids=["no such test", "no such file", "not imported", "never ends"],
)
def test_faults_that_show_nothing_are_errors(toy, change, message):
    toy.timeout_s = 5 if change == {"filter": "broken"} else 120
    with pytest.raises(faults.SuiteError, match=message):
        toy.catchers(GOOD | change)
    assert (toy.root / "code_here.py").read_text() == "VALUE = 1\n"


def test_faults_of_cargo_name_its_programs():
    outside = [{"target": f"lab/disk/tests/{name}.rs"} for name in ("power", "header", "power")]
    own = ["--manifest-path", "model/Cargo.toml", "--lib"]
    assert faults.Cargo.selected(outside) == [["--test", "header", "--test", "power"]]
    assert faults.Cargo.selected([{"target": "lab/disk/model/src/ffi.rs"}]) == [own]
    said = "---- lost stdout ----\nthread panicked\ntest result: FAILED. 3 passed; 1 failed"
    assert faults.Cargo().outcome(101, said) == (["lost"], True)
    assert faults.Cargo().outcome(0, "test result: ok. 0 passed; 0 failed; 10 filtered out") == ([], False)


def test_faults_without_the_lab_are_skipped_and_say_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(faults, "BUILD", tmp_path)
    monkeypatch.delenv("SPINDLE_NO_SKIP", raising=False)
    assert faults.main(["--kind", "driver"]) == 0
    said = capsys.readouterr().out
    assert f"driver: skipped: the lab is not built in {tmp_path}; `make lab` builds it" in said
    assert "0 of 0 faults caught" in said
    monkeypatch.setenv("SPINDLE_NO_SKIP", "1")
    assert faults.main(["--kind", "driver"]) == 2


def test_faults_are_listed_and_chosen_by_name(capsys):
    name = LISTED[0]["name"]
    assert faults.main(["--list", "--only", name]) == 0
    assert capsys.readouterr().out.split()[0] == LISTED[0]["kind"]
    assert faults.main(["--list", "--only", "no such fault"]) == 2
    assert "there is no fault no such fault" in capsys.readouterr().err
