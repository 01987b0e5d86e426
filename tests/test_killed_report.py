# SPDX-License-Identifier: MIT
"""A report stays whole: how the check of killed commands sees that it is not, and a rendering that is killed."""

import importlib.util
import os
import signal
import subprocess
import sys
import time

import pytest

from lab.cell import paths

SPEC = importlib.util.spec_from_file_location("kill_report", paths.ROOT / "tests" / "kill_report.py")
kill_report = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(kill_report)


def test_kill_report_sees_what_is_gone_and_what_is_not_whole(tmp_path):
    good = {"report.pdf": "%PDF-1.5 x %%EOF\n", "report.html": "<html></html>\n", "summary.json": "{}\n"}
    for folder in (tmp_path, tmp_path / "paper"):
        folder.mkdir(exist_ok=True)
        for name, text in good.items():
            (folder / name).write_text(text)
    before = kill_report.reports(tmp_path)
    assert len(before) == 6 and kill_report.broken(tmp_path, before) == []
    for name, text in good.items():
        (tmp_path / "paper" / name).write_text(text[:-3])
        assert kill_report.broken(tmp_path, before) == [f"{tmp_path / 'paper' / name} is not whole"]
        (tmp_path / "paper" / name).write_text(text)
    (tmp_path / "report.pdf").unlink()
    assert kill_report.broken(tmp_path, before) == [f"{tmp_path / 'report.pdf'} is gone"]


WORKFLOW = """
rule report:
    input: "data.txt"
    output: update("report.pdf")
    shell: "echo half >.report.pdf.new; touch begun; sleep 30; mv .report.pdf.new {output}"
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda how: how.name)
@pytest.mark.slow
def test_report_stays_until_the_new_one_takes_its_place(tmp_path, how):
    """Snakemake removes a rule's output before it runs the rule, unless `update` marks it."""
    (tmp_path / "Snakefile").write_text(WORKFLOW)
    (tmp_path / "report.pdf").write_text("whole")
    (tmp_path / "data.txt").write_text("newer")
    os.utime(tmp_path / "report.pdf", (1, 1))
    program = [sys.executable, "-m", "snakemake", "--cores", "1", "--nolock", "--rerun-incomplete", "--quiet", "all"]
    # Whoever runs the tests in the background of a shell has SIGINT ignored, and would pass that on.
    process = subprocess.Popen(
        program, cwd=tmp_path, start_new_session=True, stdin=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    for _ in range(600):
        if (tmp_path / "begun").exists():
            break
        time.sleep(0.1)
    assert (tmp_path / "begun").exists() and (tmp_path / "report.pdf").read_text() == "whole"
    os.killpg(process.pid, how)
    process.wait(timeout=60)
    assert (tmp_path / "report.pdf").read_text() == "whole"
