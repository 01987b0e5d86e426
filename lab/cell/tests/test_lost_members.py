# SPDX-License-Identifier: MIT
"""Which members of a hardware array failed, and how it ended: from topology and trace."""

from dataclasses import replace

import pytest

from lab.cell import attempt, cells, config, lost_members, run, trace, volumes

UNIT = 128
MEMBERS = {"raid0": 2, "raid1": 2, "raid10": 4, "raid5": 3}


def hardware(level, members=3, rebuild_kib_s=10240):
    return volumes.Hardware("a", level, members, 0, "ata-100", 1, 64, 64, rebuild_kib_s)


def topology(level, faults, spares=0):
    names = [f"m{number}" for number in range(MEMBERS[level] + spares)]
    text = f'[[array]]\nname = "disk0"\ncontroller = "a"\nmembers = {names[: MEMBERS[level]]}\n'
    text += f"spares = {names[MEMBERS[level] :]}\n"
    for unit, marker, after_ns in faults:
        text += f'[[fault]]\nunit = "{unit}"\nafter_marker_ns = {after_ns}\n'
        text += f'marker = "{marker}"\n' if marker else ""
    return text


def traces(*lines, end_ns=1000):
    """Cell `one` begins at 100 ns with these writes, `two` at the end."""
    begin = f"{trace.HEADER}\n# cell one seed 1 now_ns 100 start_delay_ns 5\n"
    texts = [f"{device} U {lbn} 128 0 {at} {at} {at} {at} 1 through\n" for device, lbn, at in lines]
    return {"one": begin + "".join(texts), "two": f"# cell two seed 1 now_ns {end_ns} start_delay_ns 5\n"}


def state(monkeypatch, level, faults, lines=(), spares=0, **about):
    monkeypatch.setattr(volumes, "hardware", lambda name: hardware(level, MEMBERS[level], **about))
    found = lost_members.at_the_end(topology(level, faults, spares), traces(*lines), lambda: (4 * UNIT + 7) * 512)
    return found and lost_members.result_of(found)


@pytest.mark.parametrize(
    ("level", "failed", "expected"),
    [
        ("raid5", ["m1"], "degraded"),
        ("raid5", ["m1", "m2"], "lost"),
        ("raid1", ["m0"], "degraded"),
        ("raid1", ["m0", "m1"], "lost"),
        ("raid10", ["m0", "m2"], "degraded"),
        ("raid10", ["m2", "m3"], "lost"),
        ("raid0", ["m1"], "lost"),
    ],
)
def test_lost_members_without_a_spare(monkeypatch, level, failed, expected):
    found = state(monkeypatch, level, [(unit, "one", 50) for unit in failed])
    assert found == {"state": expected, "failed": [{"member": unit, "at_ns": 150} for unit in failed]}


def test_lost_members_clock_and_marker(monkeypatch):
    assert state(monkeypatch, "raid5", []) is None
    assert state(monkeypatch, "raid5", [("m1", "never", 1)]) is None, "its marker never came"
    assert state(monkeypatch, "raid5", [("m1", "two", 1)]) is None, "later than all that happened"
    assert state(monkeypatch, "raid5", [("disk7", "one", 1)]) is None, "not behind this array"
    assert state(monkeypatch, "raid5", [("m1", None, 1)])["failed"][0]["at_ns"] == 101, "from the first marker"
    order = state(monkeypatch, "raid10", [("m2", "one", 60), ("m0", "one", 50)])["failed"]
    assert [item["member"] for item in order] == ["m0", "m2"]


def test_lost_members_spare(monkeypatch):
    fault, some, all_of_it = [("m1", "one", 50)], ("m3", 0, 200), ("m3", 3 * UNIT, 300)
    assert state(monkeypatch, "raid5", fault, [some], 1)["state"] == "rebuilding"
    assert state(monkeypatch, "raid5", fault, [some, all_of_it], 1)["state"] == "whole"
    assert state(monkeypatch, "raid5", fault, [some], 1, rebuild_kib_s=0)["state"] == "degraded"
    early, later = ("m0", "one", 199), ("m0", "one", 200)
    assert state(monkeypatch, "raid5", [*fault, early], [some, all_of_it], 1)["state"] == "lost"
    assert state(monkeypatch, "raid5", [*fault, later], [some, all_of_it], 1)["state"] == "degraded"
    assert state(monkeypatch, "raid5", [*fault, later], [some, all_of_it], 2)["state"] == "rebuilding"
    assert state(monkeypatch, "raid5", [*fault, ("m3", "one", 60)], [], 1)["state"] == "degraded", "the spare failed"
    assert state(monkeypatch, "raid5", [*fault, ("m3", "one", 60)], [], 2)["state"] == "rebuilding"
    assert state(monkeypatch, "raid5", [("m3", "one", 60)], [], 1)["state"] == "whole", "nothing used it"


def test_lost_members_torn_marker(monkeypatch):
    monkeypatch.setattr(volumes, "hardware", lambda name: hardware("raid5"))
    with pytest.raises(trace.TraceError, match="the marker of cell 'one' has no time"):
        lost_members.at_the_end(topology("raid5", [("m1", "one", 1)]), {"one": "# cell one seed 1"}, lambda: 0)


def test_run_with_a_lost_member_has_no_number(lab):
    """The stand-in for QEMU knows nothing of faults: all reads are served."""
    one = cells.run("smoke", "scsi-virtio.deskstar-75gxp.raid5-ide-8.t64.both")
    cell = one.cells[0]
    results = []
    for faults in ((), (("m1", cell.id, 5),)):
        work = lab / f"work{len(results)}"
        work.mkdir()
        results.append(run.execute(replace(one, faults=faults), lab, work, lambda line: None).results[cell.id])
    whole, degraded = results
    assert whole["status"] == "ok" and "array_state" not in whole
    assert degraded["status"] == "failed" and degraded["metrics"] is None
    at_ns = degraded["array_state"]["failed"][0]["at_ns"]
    assert degraded["array_state"] == {"state": "degraded", "failed": [{"member": "m1", "at_ns": at_ns}]}
    said = f"array 'raid5-ide-8' lost members: m1 failed at {at_ns} ns; it ended degraded"
    assert degraded["reason"] == said
    config.check(degraded, "result", "result")


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("m9@1", "--fail m9@1: no drive is called 'm9'; "),
        ("m1", "--fail m1: when? Write m1@ and seconds, e.g. m1@2.5"),
        ("m1@-1", "--fail m1@-1: when? "),
    ],
)
def test_attempt_fail_is_checked(lab, capsys, word, said):
    assert attempt.main(["--array", "raid5-ide-8", "--drive", "deskstar-75gxp", "--fail", word, "--", "true"]) == 1
    assert f"error: {said}" in capsys.readouterr().err


def test_attempt_fail(lab):
    words = ["--array", "raid5-ide-8", "--drive", "deskstar-75gxp", "--fail", "m1@0.5", "--", "true"]
    assert attempt.run_of(attempt.parse(words)).faults == (("m1", "attempt", 500_000_000),)
