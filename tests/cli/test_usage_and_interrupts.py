"""Names, titles and mistakes on the command line: shown as they are, refused in words."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT, shallows

BLOCKS = (
    subprocess.run(["env", "--block-signal=INT", "true"], capture_output=True, check=False).returncode == 0
)


@pytest.mark.parametrize(
    "args",
    [
        ["run", "--json"],
        ["run", "small.toml", "--seeds", "0", "--json"],
        ["run", "small.toml", "--nonsense", "--json"],
        ["--json", "nonsense"],
        ["sweep", "small.toml", "--workers", "many", "--json"],
        ["linux", "build", "--jobs", "0", "--json"],
    ],
    ids=" ".join,
)
def test_json_for_mistakes_of_usage_too(tmp_path, small_file, args):
    """Fault 22."""
    done = shallows(*args, cwd=tmp_path)
    assert done.returncode == 2
    error = json.loads(done.stdout)["error"]
    assert error["kind"] == "UsageError"
    assert error["message"]
    assert error["faults"] == []
    assert done.stderr


def test_full_and_closed_outputs_are_told_without_a_traceback(tmp_path):
    """Fault 24."""
    for redirect, status in ((">/dev/full", 1), (">&-", 0), ("2>&-", 0), (">&- 2>&-", 0), ("2>/dev/full", 0)):
        command = f"{sys.executable} -m shallows list cc --json {redirect}"
        done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == status, (redirect, done.stderr)
        assert "Traceback" not in done.stderr
        assert "Exception ignored" not in done.stderr
        if redirect == ">/dev/full":
            assert "standard output cannot be written: No space left" in done.stderr


@pytest.mark.parametrize("loaded", ["shallows.terminal", "typer", "matplotlib"])
def test_an_interrupt_while_it_loads_ends_without_a_traceback(tmp_path, small_file, loaded):
    """Fault 24: half a second of imports answered Ctrl-C with a traceback."""
    command = [sys.executable, "-X", "importtime", "-m", "shallows", "run", str(small_file)]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if line.rstrip().endswith(f" {loaded}"):
            break
    else:
        pytest.fail(f"{loaded} is not imported")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    assert process.returncode in (130, -signal.SIGINT)


@pytest.mark.parametrize("wait_s", [0.0, 0.02, 0.05])
@pytest.mark.skipif(not BLOCKS, reason="env here cannot block signals (GNU coreutils 8.31 can)")
def test_an_interrupt_while_python_begins_waits_until_shallows_does(tmp_path, wait_s):
    """Fault 13: Python answers its first 50 ms with a traceback: `./shallows` blocks Ctrl-C until then."""
    command = ["env", "--block-signal=INT", sys.executable, "-m", "shallows", "list", "cc"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    time.sleep(wait_s)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (-signal.SIGINT, "")
    assert "--block-signal=INT" in (ROOT / "shallows").read_text()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads the CPU time in /proc")
def test_an_interrupt_ends_a_run_that_several_threads_work(tmp_path):
    """A run that would take hours, cut into cells. Nothing of it is stored."""
    file = ROOT / "experiments" / "bench" / "fat-tree-128.toml"
    command = [sys.executable, "-m", "shallows", "run", file, "--set", "duration='1000s'", "--threads", "2"]
    process = subprocess.Popen(
        [*command, "--store", tmp_path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while _cpu_s(process.pid) < 4:  # the imports take less than two
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def _cpu_s(process: int) -> float:
    """CPU time of a process and all its threads, in seconds. Source: proc(5), fields 14 and 15 of stat."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
