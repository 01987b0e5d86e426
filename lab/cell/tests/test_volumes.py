# SPDX-License-Identifier: MIT
"""Arrays: their descriptions, jobs, devices, topologies, images and sums."""

import tomllib
from dataclasses import replace

import pytest

from lab.cell import (
    agent,
    attempt,
    boot,
    built,
    catalogue,
    cells,
    config,
    identity,
    images,
    job,
    judge,
    members,
    papers,
    run,
    trace,
    volumes,
)
from lab.cell.errors import ConfigError, EnvironmentMissing
from lab.cell.tests import fake_disk

PAPER = papers.ids()[0]
IDE, SCSI = "ide-ahci.deskstar-75gxp.md-raid0-8.t32.both", "scsi-virtio.ultrastar-36zx.md-raid0-4.t64.both"
HARDWARE = """
[host_bus]
value = "ultra2-scsi"
[level]
value = "raid5"
[members]
value = 3
[spares]
value = 1
[member_bus]
value = "ata-100"
[member_buses]
value = 2
[max_tags]
value = 64
[stripe_unit_kb]
value = 64
[rebuild_kib_s]
value = 10240
"""


def postmark(array, file_system="ffs"):
    row = next(row for row in cells.sheet(PAPER) if row["array"] != "none" and row["workload"] == "postmark")
    return cells._cell(PAPER, row | {"array": array, "file_system": file_system}, 1)


def run_of(cell):
    return cells.Run(cell.run, cell.paper, cell.controller, cell.drive, cell.tags, (cell,))


@pytest.mark.parametrize("name", volumes.kinds())
def test_volumes_every_kind_is_described(name):
    kind = volumes.volume(name)
    assert 1 <= kind.least <= kind.most <= 15
    array = volumes.Software(kind, kind.most)
    for lines in (kind.host_make, kind.make, kind.assemble, kind.check, kind.stop):
        assert not any("{" in line for line in array.commands(lines, 64, "a b"))
    assert array.apart or (kind.make and kind.assemble and kind.check and kind.stop)
    assert array.apart == (not kind.disk)


def test_volumes_ids(lab):
    cell = postmark("md-raid0-4")
    assert cell.id == "ide-ahci.deskstar-75gxp.md-raid0-4.t32.both.ffs.postmark.s01"
    assert identity.image_of(cell).name == "deskstar-75gxp.md-raid0-4.ffs"
    assert cells.runs("full")[IDE].array == "md-raid0-8"
    assert [row["array"] for row in cells.sheet(PAPER) if "table5" in row["tables"]] == ["none"] * 192


def test_volumes_raw_job_makes_the_array(lab):
    text = job.job_text(cells.run("full", SCSI)).splitlines()
    assert text[1:6] == ["modules virtio_scsi sd_mod md-mod raid0", *(f"wait_disk sd{letter}" for letter in "abcd")]
    assert text.index("workload tools") < text.index("exec name-disks 4")
    queues = [line for line in text if line.startswith("set") and line.endswith("queue_depth 64")]
    assert queues == [f"set /run/disk/disk{number}.sys/device/queue_depth 64" for number in range(4)]
    making = next(line for line in text if "mdadm --create" in line)
    assert "--chunk=64" in making and making.endswith(" ".join(f"/run/disk/disk{number}" for number in range(4)))
    assert text[text.index(making) + 1] == "wait_disk md0"
    assert all("--device /dev/md0 " in line for line in text if line.startswith("exec rawio"))
    assert text[-7:] == [
        *("cell check 1", "exec md-check /dev/md0 0", "end", "exec mdadm --stop /dev/md0"),
        *("cell shutdown 1", "end", "poweroff"),
    ]


def test_volumes_file_system_job_assembles(lab):
    one = run_of(postmark("md-raid5-4"))
    text = job.job_text(one)
    assert "mdadm --assemble" in text and "mdadm --create" not in text
    assert "exec mount -t ufs -o rw,strictatime,ufstype=44bsd,metadata=ffs,lookup=exclusive /dev/md0 /mnt" in text
    assert "exec ufs-check /dev/md0\nexec md-check /dev/md0 64\nend\nexec mdadm --stop /dev/md0" in text
    # What Linux knows of the array counts, not what it knows of its disks.
    assert "set /sys/block/md0/bdi/min_ratio 99" in text and text.count("min_ratio") == 1
    made = job.job_text(identity.image_run(identity.image_of(one.cells[0])))
    assert "mdadm --create" in made and "exec ufs-newfs /dev/md0" in made and "exec mdadm --stop /dev/md0" in made


def test_volumes_ide_disks_have_a_bus_each(lab):
    one = cells.run("full", IDE)
    topology = tomllib.loads(job.topology_text(one, "/c"))
    assert topology["host_bus"]["rate_kb_s"] == one.settings.value("host_bus_kb_s")
    assert [bus["name"] for bus in topology["bus"]] == [f"bus{number}" for number in range(8)]
    assert [(unit["name"], unit["bus"]) for unit in topology["unit"][:8]] == [
        (f"disk{number}", f"bus{number}") for number in range(8)
    ]
    command = " ".join(job.qemu_command(one, "BUILD", "WORK", ""))
    assert "ide-hd,bus=ahci0.5,drive=disk5,serial=disk5 -device ich9-ahci,id=ahci1 -device" in command
    assert command.endswith("ide-hd,bus=ahci1.1,drive=disk7,serial=disk7")
    assert "filename=BUILD/volumes/tools.erofs" in command and "serial=tools" in command
    assert "filename=WORK/disk7.img,topology=WORK/topology.toml,unit=disk7,write-cache=on" in command


def apart(controller, array, **more):
    """The first point of the second paper's sheet on disks side by side, on this controller."""
    paper = next(name for name in papers.ids() if any(row["array"].startswith("disks-") for row in cells.sheet(name)))
    row = next(row for row in cells.sheet(paper) if row["array"].startswith("disks-"))
    return run_of(cells._cell(paper, row | {"controller": controller, "array": array} | more, 1))


def test_volumes_disks_side_by_side():
    one = apart("scsi-virtio", "disks-3", drive="ultrastar-36zx")
    text = job.job_text(one)
    assert "exec name-disks 3" in text and "set /run/disk/disk2.sys/queue/scheduler" in text
    where = " ".join(f"--device /run/disk/disk{number}" for number in range(3))
    assert f"exec sqlio {where} --seed 1" in text
    # Nothing is made, waited for, checked or stopped.
    assert f"cell {job.ARRAY_LABEL} 1" not in text and f"cell {job.CHECK_LABEL} 1" not in text
    topology = tomllib.loads(job.topology_text(one, "/c"))
    assert topology["host_bus"] == {
        "rate_kb_s": one.settings.value("host_bus_kb_s"),
        "write_rate_kb_s": one.settings.value("host_bus_write_kb_s"),
        "request_ns": one.settings.value("host_bus_request_ns"),
    }


def test_volumes_host_bus_costs_nothing_by_itself(lab):
    topology = tomllib.loads(job.topology_text(cells.runs("full")[SCSI], "/c"))
    assert list(topology["host_bus"]) == ["rate_kb_s"]


def test_volumes_card_shows_drives_singly():
    one = apart("ide-card-3w5400", "disks-2")
    topology = tomllib.loads(job.topology_text(one, "/c"))
    assert "host_bus" not in topology
    assert [array["name"] for array in topology["array"]] == ["disk0", "disk1"]
    assert [array["members"] for array in topology["array"]] == [["m0"], ["m1"]]
    assert {array["card"] for array in topology["array"]} == {"card"}
    drives = [unit for unit in topology["unit"] if "drive" in unit]
    assert [(unit["name"], unit["bus"], unit["member"]) for unit in drives] == [
        ("m0", "bus0", True),
        ("m1", "bus1", True),
    ]
    command = " ".join(job.qemu_command(one, "BUILD", "WORK", ""))
    assert "unit=disk1 " in command and "write-cache" not in command
    # The card and its link are what the controller is.
    names = identity.topology_names(one)
    assert {"arrays/3w5400-single", "buses/pci-3w5400", "buses/ata-33"} <= {*names["controller"]}
    assert not names["array"]


def test_volumes_side_by_side_is_for_sweeps():
    row = next(row for row in cells.sheet(PAPER) if row["workload"] == "rawio") | {"array": "disks-2"}
    with pytest.raises(ConfigError, match="which only sqlio takes; write none, or an array"):
        cells.check_workload(row, "here")


def test_volumes_no_card_is_the_default():
    """Images are made behind the first controller that queues."""
    assert all(not catalogue.queueing_controller(kind).card for kind in ("ata", "scsi"))


def test_volumes_scsi_disks_share_a_bus(lab):
    topology = tomllib.loads(job.topology_text(cells.run("full", SCSI), "/c"))
    assert len(topology["bus"]) == 1
    assert [unit["bus"] for unit in topology["unit"][:4]] == ["bus0"] * 4


def test_volumes_piix_channels(lab):
    piix = catalogue.controller("ide-piix")
    assert [piix.bus_of(number) for number in range(4)] == [0, 1, 0, 1]
    assert [argument.split(",")[1:3] for argument in piix.devices(["a", "b", "c", "d"])] == [
        ["bus=ide.0", "unit=0"],
        ["bus=ide.1", "unit=0"],
        ["bus=ide.0", "unit=1"],
        ["bus=ide.1", "unit=1"],
    ]


def test_volumes_real_controllers_attach_several():
    for name in catalogue.names("controllers"):
        one = catalogue.controller(name)
        arguments = one.devices([f"disk{number}" for number in range(one.most_disks)])
        assert len(set(arguments)) == len(arguments)


def test_volumes_hardware_array_is_one_disk(lab):
    path = catalogue.entry_path("arrays", "raid5-ide-4")
    path.write_text(HARDWARE)
    one = run_of(replace(postmark("md-raid0-4"), controller="scsi-virtio", array="raid5-ide-4", tags="64"))
    assert one.id == "scsi-virtio.deskstar-75gxp.raid5-ide-4.t64.both.ffs.postmark.s01"
    topology = tomllib.loads(job.topology_text(one, "/c"))
    assert topology["array"] == [
        {
            "name": "disk0",
            "controller": "raid5-ide-4",
            "members": ["m0", "m1", "m2"],
            "spares": ["m3"],
            "max_tags": 64,
        }
    ]
    drives = topology["unit"][:4]
    assert [(unit["name"], unit["bus"], unit["member"]) for unit in drives] == [
        *(("m0", "bus0", True), ("m1", "bus1", True), ("m2", "bus0", True), ("m3", "bus1", True))
    ]
    assert {unit["drive"] for unit in drives} == {"deskstar-75gxp"} and {unit["max_tags"] for unit in drives} == {31}
    text = job.job_text(one)
    assert "wait_disk sda\n" in text and "/dev/sda /mnt" in text and "tools" not in text
    assert "unit=disk0" in " ".join(job.qemu_command(one, "BUILD", "WORK", ""))
    assert len(identity.image_paths(lab, identity.image_of(one.cells[0]))) == 1
    work = lab / "work"
    work.mkdir()
    (work / "topology.toml").write_text(job.topology_text(one, "."))
    assert boot.disk_bytes(lab, work / "topology.toml", "disk0") == fake_disk.ARRAY_SECTORS * 512


def test_volumes_image_has_a_file_for_each_disk(lab):
    made = images.make(identity.Image("ffs", "ultrastar-36zx", array="md-raid1-2"), lab)
    assert [path.name.split(".")[-2:] for path in made] == [["disk0", "img"], ["disk1", "img"]]
    assert all(path.stat().st_size == 1000000 * 512 for path in made)
    assert sorted(made[0].parent.iterdir()) == made
    images.drop_others(identity.Image("ffs", "ultrastar-36zx"), [made[0].with_name("none")])
    assert all(path.is_file() for path in made), "another array's image is another image"


def test_volumes_image_of_another_paper_stays(lab, monkeypatch):
    """A paper that has no such assumption has no such image, and hinders nobody."""
    real, named = config.paper, papers.ids()
    own = real(PAPER)["assumptions"]
    changed = [item | {"value": 128} if item["id"] == "memory_mib" else item for item in own]
    made_up = {"other2000": {"assumptions": changed}, "without2000": {"assumptions": []}}
    monkeypatch.setattr(config, "paper", lambda name: made_up.get(name) or real(name))
    monkeypatch.setattr(papers, "ids", lambda: (*named, *made_up))
    image = identity.Image("ffs", "ultrastar-36zx", set=("write_cache=false",))
    here, there = (identity.image_paths(lab, replace(image, paper=paper))[0] for paper in (PAPER, "other2000"))
    assert here != there
    old = here.with_name(f"{image.name}.{'0' * 16}.img")
    here.parent.mkdir(parents=True, exist_ok=True)
    for path in (here, there, old):
        path.touch()
    images.drop_others(image, [here])
    assert here.exists() and there.exists() and not old.exists()


def test_volumes_tools_are_needed(lab):
    (lab / "volumes" / "tools.erofs").unlink()
    boot.require_built(cells.run("full", "ide-ahci.deskstar-75gxp.t32.both"), lab)
    with pytest.raises(EnvironmentMissing, match=r"volumes/tools.erofs: missing; run `make lab`"):
        boot.require_built(cells.run("full", SCSI), lab)


def test_volumes_identity_has_the_tools(lab):
    one = run_of(postmark("md-raid0-4"))
    labels = built.labels(one, lab)
    before = identity.of_cell(one, one.cells[0], labels)
    assert len(before["array"]) == 64
    single = run_of(replace(one.cells[0], array="none"))
    assert "array" not in identity.of_cell(single, single.cells[0], built.labels(single, lab))
    after = identity.of_cell(one, one.cells[0], labels | {"volumes": "0" * 64})
    assert before["array"] != after["array"] and before["file_system"] != after["file_system"]


@pytest.mark.parametrize(("mode", "reason"), [("", None), ("damaged", "its check exited with 4: e2fsck: bitmaps")])
def test_volumes_result_of_a_cell(lab, mode, reason):
    (lab / "mode").write_text(mode)
    one = run_of(postmark("md-raid0-4"))
    images.ensure(identity.image_of(one.cells[0]), lab)
    (lab / "work").mkdir()
    result = run.execute(one, lab, lab / "work", lambda line: None).results[one.id]
    assert result["cell"]["array"] == "md-raid0-4" and len(result["identity"]["array"]) == 64
    if reason:
        assert reason in result["reason"]
    else:
        assert result["status"] == "ok" and result["metrics"]["devices"]["disk0"]["write_bytes"] == 8192


def test_volumes_results_of_the_array_itself(lab):
    (lab / "work").mkdir()
    results = run.execute(cells.run("quick", IDE), lab, lab / "work", lambda line: None).results
    assert {result["status"] for result in results.values()} == {"ok"}
    counts = [result["metrics"]["devices"]["disk0"] for result in results.values()]
    assert {count["reads"] + count["writes"] for count in counts} == {1280}


def test_volumes_tools_that_moved_are_in_the_result(lab):
    assert identity.guest_built(lab, "md-raid0-4")["moved"] == ["mdadm 4.2-5 -> 4.2-6"]
    assert identity.guest_built(lab)["moved"] == []


def test_volumes_array_that_cannot_be_started(lab):
    one = run_of(postmark("md-raid0-4"))
    said = agent.Report(
        cells={"array": agent.CellReport(problem="exec mdadm: exit status 1", errors=["mdadm: no disk"])}
    )
    (cell,) = one.cells
    verdict = judge.verdict(cell, judge.facts(one, said, {}, None, "", [])[cell.id])
    assert verdict == (None, "array 'md-raid0-4' cannot be started: exec mdadm: exit status 1: mdadm: no disk")


def request(device, lbn, start_ns, op="R"):
    return trace.Request(device, op, lbn, 16, 0, start_ns, start_ns, start_ns + 10, start_ns + 10, 1, "miss")


def test_members_distances_are_on_each_disk():
    requests = [request("disk0", 0, 0), request("disk10", 800, 1), request("disk0", 16, 2), request("disk10", 816, 3)]
    requests += [request("m0", 5000, 4), request("disk2", 0, 5, "W")]
    whole = members.summarize(requests, ["disk0", "disk2", "disk10"])
    assert (whole.reads, whole.writes, whole.sequential_share, whole.seek_distance_mean_lbn) == (4, 1, 1.0, 0.0)
    assert list(members.each(requests)) == ["m0", "disk0", "disk2", "disk10"]
    assert members.each(requests)["disk0"]["reads"] == 2
    assert members.summarize(requests, ["disk7"]) is None


def test_attempt_says_why_qemu_did_not_start(lab, capsys):
    (lab / "mode").write_text("no-start")
    assert attempt.main(["--", "true"]) == 1
    assert "error: QEMU exited with status 1: " in capsys.readouterr().err


def test_attempt_unknown_array(lab, capsys):
    assert attempt.main(["--array", "md-raid9-4", "--", "true"]) == 1
    assert "error: attempt: array 'md-raid9-4' is neither in" in capsys.readouterr().err


def test_volumes_host_command_that_fails(lab, monkeypatch, tmp_path):
    kind = replace(volumes.volume("md-raid0"), host_make=("python -c 'raise SystemExit(\"no\")' {images}",))
    monkeypatch.setattr(volumes, "software", lambda array: volumes.Software(kind, 2))
    with pytest.raises(ConfigError, match=r"array 'md-raid0-4': `python -c ...` failed: no"):
        boot.make_on_host(cells.run("full", SCSI), [tmp_path / "disk0.img"])


def test_run_that_hung_after_a_disk_failed_says_so():
    """Device-mapper's mirrors and RAID 5 without notes of their own hang then (lab/volumes/README.md)."""
    console = (
        "[    3.98] I/O error, dev sdb, sector 63\n[    3.99] md/raid1:mdX: Disk failure on dm-1, disabling device.\n"
    )
    report = agent.parse("")
    found = [
        judge.run_problem(judge.TIME_LIMIT_STATUS, None, text, "", report) for text in (console, "[    1.00] idle\n")
    ]
    assert found[0].startswith(
        "the guest hung after 'md/raid1:mdX: Disk failure on dm-1, disabling device.': the limit"
    )
    assert found[1].startswith("the guest hung: the limit of virtual time was reached")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["op=write"], "--workload rawio: pattern is missing; write op=read or op=write"),
        (["op=write", "pattern=random", "bytes=1"], "no parameter is called 'bytes'"),
    ],
)
def test_attempt_knows_the_parameters_of_rawio(lab, capsys, words, said):
    assert attempt.main(["--workload", "rawio", "--", *words]) == 1
    assert said in capsys.readouterr().err


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
