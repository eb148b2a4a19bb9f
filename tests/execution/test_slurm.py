"""Sweeps in the jobs of a real Slurm of one node, if it is installed: apt install slurmctld slurmd munge."""

import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import SMALL, write_toml

PATH = f"{os.environ['PATH']}:/usr/sbin"
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo", "scontrol")
MISSING = [program for program in PROGRAMS if shutil.which(program, path=PATH) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"Slurm is not installed: {', '.join(MISSING)}")
pytest.importorskip("dask_jobqueue", reason="the extra `cluster` is not installed")

CONF = """ClusterName=test
SlurmctldHost={host}
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={ctld}
SlurmdPort={slurmd}
AuthType=auth/munge
AuthInfo=socket={place}/munge.socket
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd.pid
SlurmctldLogFile={place}/slurmctld.log
SlurmdLogFile={place}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
NodeName={host} CPUs=2 RealMemory=500 State=UNKNOWN
PartitionName=batch Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def words(env: dict, *command: str) -> list[str]:
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    return done.stdout.split()


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("", 0))
        return server.getsockname()[1]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """The environment of a Slurm of this machine's own, and its end."""
    place = tmp_path_factory.mktemp("slurm")
    for name in ("state", "spool"):
        (place / name).mkdir()
    (place / "key").write_bytes(os.urandom(1024))
    (place / "key").chmod(0o400)
    about = {"host": socket.gethostname(), "user": getpass.getuser(), "place": place}
    (place / "slurm.conf").write_text(CONF.format(ctld=free_port(), slurmd=free_port(), **about))
    env = os.environ | {"PATH": PATH, "SLURM_CONF": str(place / "slurm.conf")}
    files = [f"--{key}={place}/{name}" for key, name in FILES.items()]
    started = [subprocess.Popen(["munged", "--force", "--foreground", *files], env=env)]
    started += [subprocess.Popen([daemon, "-D"], env=env) for daemon in ("slurmctld", "slurmd")]
    try:
        for _ in range(100):
            states = subprocess.run(
                ["sinfo", "-h", "-o", "%t"], env=env, capture_output=True, text=True
            ).stdout
            if states.strip() == "idle":
                break
            time.sleep(0.2)
        else:
            logs = [path.read_text()[-500:] for path in place.glob("*.log")]
            pytest.skip(f"Slurm does not start here: {logs}")
        yield env
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(timeout=20)


FILES = {
    "key-file": "key",
    "socket": "munge.socket",
    "pid-file": "munged.pid",
    "log-file": "munged.log",
    "seed-file": "munged.seed",
}

JOBS = "jobs=1,cores=1,memory=400MB,walltime=00:05:00"


def sweep(env: dict, place: Path, jobs: str = JOBS) -> subprocess.Popen:
    file = write_toml(place / "small.toml", SMALL | {"seeds": 3})
    command = [sys.executable, "-m", "shallows", "sweep", str(file), "--slurm", jobs]
    return subprocess.Popen(
        command, cwd=place, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def queued(env: dict) -> list[str]:
    return subprocess.run(
        ["squeue", "-h", "-o", "%j"], env=env, capture_output=True, text=True
    ).stdout.split()


def wait_for_a_job(env: dict, process: subprocess.Popen) -> str:
    for _ in range(300):
        names = queued(env)
        if names:
            return names[0]
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    raise AssertionError("no job was submitted")


def left_in(place: Path) -> set[str]:
    return {path.name for path in place.iterdir()} - {"small.toml", "runs"}


@pytest.fixture
def drained(slurm):
    """A node that starts nothing, so that jobs stay pending."""
    node = f"nodename={socket.gethostname()}"
    subprocess.run(["scontrol", "update", node, "state=drain", "reason=test"], env=slurm, check=True)
    yield slurm
    subprocess.run(["scontrol", "update", node, "state=resume"], env=slurm, check=True)


def test_a_sweep_runs_in_a_job_and_leaves_nothing_behind(slurm, tmp_path):
    process = sweep(slurm, tmp_path)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert out.count("done") == 3
    assert left_in(tmp_path) == set()
    assert queued(slurm) == []


def test_a_job_that_slurm_refuses_ends_the_sweep_with_its_reason(slurm, tmp_path):
    process = sweep(slurm, tmp_path, JOBS + ",queue=missing")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "Slurm refused the job" in err
    assert "nvalid partition" in err
    assert left_in(tmp_path) == set()


def test_when_its_jobs_are_gone_the_sweep_ends(drained, tmp_path):
    process = sweep(drained, tmp_path)
    name = wait_for_a_job(drained, process)
    subprocess.run(["scancel", f"--name={name}"], env=drained, check=True)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "none of the 1 Slurm jobs is left" in err
    assert left_in(tmp_path) == set()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "Ctrl-C"])
def test_a_stopped_sweep_cancels_its_pending_jobs(drained, tmp_path, number):
    process = sweep(drained, tmp_path)
    wait_for_a_job(drained, process)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == {signal.SIGTERM: 143, signal.SIGINT: 130}[number]
    assert queued(drained) == []
    assert left_in(tmp_path) == set()
