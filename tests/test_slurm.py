# SPDX-License-Identifier: MIT
"""Runs sent to a real Slurm: a cluster of one node, whose daemons and files last as long as this test.

Debian's packages of the group `slurm-node` and the plugin of `make slurm` are needed, and root, because slurmd starts
jobs for others. What the node has below /etc/slurm is put there for its processes alone (a mount namespace): as on any
cluster, jobs find their controller there, and not in an environment that the plugin empties.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from lab.cell import cells, paths, workflow
from lab.cell.errors import ConfigError

PROFILE = "smoke"
RUNS = ("ide-piix.deskstar-75gxp.tnone.both", "ide-ahci.deskstar-75gxp.t32.both.ffs.postmark-x0.05.s01")
"""Six cells of one boot, and one whose file system comes from an image."""
CONF = """
ClusterName=spindle
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={home}/munge.socket
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/spool
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/slurmd.pid
SlurmctldLogFile={home}/slurmctld.log
SlurmdLogFile={home}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=6000
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def free_ports(count):
    """Ports that nobody listens at now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@pytest.fixture
def slurm(monkeypatch):
    """A cluster of this machine alone; its clients find it."""
    lacking = [name for name in ("munged", "slurmctld", "slurmd", "sbatch", "unshare") if not shutil.which(name)]
    if lacking or os.geteuid():
        pytest.skip(f"a Slurm of one node needs {lacking[0] if lacking else 'root'}")
    # munge wants a folder whose parents nobody else may write to, or a sticky one; a socket's path has 108 bytes.
    home = Path(tempfile.mkdtemp(prefix="spindle-slurm-"))
    home.chmod(0o755)
    for name in ("state", "spool", "etc"):
        (home / name).mkdir()
    key = home / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    host = socket.gethostname().partition(".")[0]
    conf = home / "etc" / "slurm.conf"
    conf.write_text(CONF.format(home=home, host=host, ports=free_ports(2)))
    monkeypatch.setenv("SLURM_CONF", str(conf))
    files = [
        f"--{name}={home}/munge.{name.partition('-')[0]}" for name in ("socket", "pid-file", "log-file", "seed-file")
    ]
    node = f"mount --bind {home}/etc /etc/slurm && exec slurmd -D"
    commands = [
        ["munged", "--foreground", "--force", f"--key-file={key}", *files],
        ["slurmctld", "-D"],
        ["unshare", "--mount", "sh", "-c", node],
    ]
    daemons = []
    try:
        for command in commands:
            with open(home / f"{command[0]}.out", "wb") as out:
                daemons.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out))
            time.sleep(0.5)
        wait_until_idle(home)
        yield home
        subprocess.run(["scancel", "--quiet", "--user=root"], check=False, timeout=30)
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in reversed(daemons):
            try:
                daemon.wait(timeout=30)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(home)


def wait_until_idle(home):
    """Until the node has registered with its controller."""
    for _ in range(60):
        said = subprocess.run(["sinfo", "--noheader", "--format=%t"], capture_output=True, text=True, check=False)
        if said.stdout.strip() == "idle":
            return
        time.sleep(1)
    logs = "".join(path.read_text(errors="replace")[-2000:] for path in [*home.glob("*.log"), *home.glob("*.out")])
    raise AssertionError(f"the node is not idle: {said.stdout}{said.stderr}\n{logs}")


def files_of(profile, runs):
    """Result and trace of each cell."""
    folders = [paths.ROOT / paths.cell_dir(profile, cell.id) for run in runs for cell in cells.run(profile, run).cells]
    return {
        f"{folder.name}/{name}": (folder / name).read_bytes()
        for folder in folders
        for name in ("result.json", "io.trace")
    }


@pytest.mark.lab
@pytest.mark.nightly
def test_results_of_slurm_are_those_of_this_machine(slurm):
    local = [sys.executable, "-m", "cli", "run", "--profile", PROFILE, *RUNS]
    subprocess.run(local, cwd=paths.ROOT, check=True)
    expected = files_of(PROFILE, RUNS)
    for run in RUNS:
        for cell in cells.run(PROFILE, run).cells:
            shutil.rmtree(paths.ROOT / paths.cell_dir(PROFILE, cell.id))
    began = time.monotonic()
    sent = [sys.executable, "-m", "cli", "--slurm", "run", "--profile", PROFILE, *RUNS]
    done = subprocess.run(sent, cwd=paths.ROOT, capture_output=True, text=True, check=False)
    log = (slurm / "slurmctld.log").read_text()
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\n{log[-3000:]}"
    assert log.count("WEXITSTATUS 0") >= len(RUNS), log
    assert files_of(PROFILE, RUNS) == expected
    print(f"nightly: Slurm: {len(expected) // 2} cells in {time.monotonic() - began:.0f} s, the same bytes as without")


def test_slurm_is_refused_where_it_cannot_be(monkeypatch, tmp_path):
    monkeypatch.setenv(workflow.SLURM, str(tmp_path))
    with pytest.raises(ConfigError, match=r"has no config\.yaml"):
        workflow.slurm()
