# SPDX-License-Identifier: MIT
"""A machine's disk on the lab's QEMU: how the command differs from the lean guest's."""

from lab.cell import attempt, identity, job
from vagrant import measure


def test_only_the_system_is_another():
    one = attempt.run_of(attempt.parse(["--workload", "rawio", "--", "op=read", "pattern=random"]))
    lean = job.qemu_command(one, "/build", "/scratch", identity.kernel_append())
    own = measure.from_disk(lean, "/build", "/scratch")
    assert not {"-kernel", "-initrd", "-append"} & set(own)
    changed = [(old, new) for old, new in zip([word for word in lean if word in own or "=" in word], own, strict=False)]
    assert changed
    root = next(word for word in own if "node-name=root," in word)
    assert "filename=/scratch/system.img" in root and "read-only" not in root
    assert next(word for word in own if "drive=root" in word).endswith(",bootindex=0")
    # All but system disk and time limit is as it was: the disk under test, its model, the job.
    assert len([word for word in lean if word not in own]) == 3 + 3 + 3
    assert own.count("-blockdev") == lean.count("-blockdev")


def test_a_disk_that_is_not_there(capsys, tmp_path):
    assert measure.main(["--disk", str(tmp_path / "none")]) == 1
    assert "there is no such file" in capsys.readouterr().err
