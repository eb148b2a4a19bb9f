"""Algorithms in Python that misbehave: a message names the fault, which ends one run, not the sweep."""

import json
import random
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from conftest import SMALL, shallows, write_toml
from shallows.backends import calls
from shallows.errors import PluginError

HEAD = """
    import os, random, shallows, sys, time
    print("loaded")

    class Mine(shallows.CongestionControl):
        way: str = "well"

        def start(self, flow):
            self.mss, self.cwnd = flow.mss, flow.initial_window

        def on_ack(self, ack):
            print("heard")
            self.cwnd += self.mss * ack.acked / self.cwnd
            if self.way == "exit": os._exit(7)
            if self.way == "sys.exit": sys.exit(3)
            if self.way == "sleep":
                open("started", "w").close()
                time.sleep(100)
            if self.way == "draw": self.cwnd += random.random()

        def on_congestion(self, why, ack):
            self.cwnd /= 2

    @shallows.topology
    def broken(n: int = 2) -> shallows.Graph:
        raise LookupError("no such rack")

    @shallows.topology
    def leaves(n: int = 2) -> shallows.Graph:
        sys.exit(4)
"""


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "mine.py").write_text(textwrap.dedent(HEAD))
    document = json.loads(json.dumps(SMALL)) | {"duration": "1ms", "python": {"modules": "mine.py"}}
    return write_toml(tmp_path / "mine.toml", document | {"transport": {"cc": "mine"}})


def with_sweep(file, ways):
    file.write_text(
        file.read_text() + f'sweep = {{ grid = {{ "transport.cc.way" = {json.dumps(ways)} }} }}\n'
    )
    return file


def test_a_sweep_runs_plugins_in_processes(tmp_path, mine):
    """Fault 15: `os._exit(7)` ended the whole sweep. Fault 20: `print` stood in the JSON."""
    file = with_sweep(mine, ["exit", "well", "sys.exit"])
    done = shallows("sweep", file, "--workers", 2, "--json", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    points = json.loads(done.stdout)["points"]
    assert [point["status"] for point in points] == ["failed", "done", "failed"]
    assert "status 7" in points[0]["error"]
    assert "called sys.exit(3); in Mine.on_ack of flow" in points[2]["error"]


def test_what_a_plugin_prints_is_not_in_the_json(tmp_path, mine):
    done = shallows("run", mine, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["metrics"]
    assert "heard" in done.stderr


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("sys.exit(3)", "it called sys.exit(3) (line"),
        ("raise KeyError('x')", "KeyError: 'x' (line"),
        ("raise GeneratorExit", "GeneratorExit"),
    ],
)
def test_a_module_that_ends_the_program_is_a_fault(tmp_path, mine, line, told):
    module = tmp_path / "mine.py"
    module.write_text(module.read_text() + line + "\n")
    done = shallows("run", mine, "--json", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    [fault] = json.loads(done.stdout)["error"]["faults"]
    assert fault["path"] == "python.modules"
    assert told in fault["rule"]


@pytest.mark.parametrize(
    ("kind", "told"), [("broken", "LookupError: no such rack"), ("leaves", "it called sys.exit(4)")]
)
def test_a_topology_that_raises_is_named(tmp_path, mine, kind, told):
    done = shallows("run", mine, "--set", f"topology={{kind='{kind}'}}", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert f"topology: {kind} of mine.py failed: {told} (line" in done.stderr


def test_unseeded_random_numbers_are_named(tmp_path, mine):
    done = shallows("run", mine, "--set", "transport.cc.way=draw", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "drew from Python's global random numbers" in done.stderr
    assert "flow.random" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_plugin_that_sleeps_is_named_and_can_be_interrupted(tmp_path, mine):
    """Fault 13: Ctrl-C waited for the end of the sleep."""
    command = [sys.executable, "-m", "shallows", "run", "mine.toml", "--set", "transport.cc.way=sleep"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "has not returned" in line:
            break
    assert "Mine.on_ack" in line
    assert "mine.py" in line
    assert "time.sleep(100)" in line
    asked = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert time.monotonic() - asked < 3  # a second, and what the machine's other work takes
    assert process.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err


def test_a_timeout_ends_a_run_that_sleeps(tmp_path, mine):
    """Fault 13: a local `--timeout`."""
    file = with_sweep(mine, ["sleep", "well"])
    done = shallows("sweep", file, "--timeout", "8s", "--workers", 2, "--json", cwd=tmp_path)
    points = json.loads(done.stdout)["points"]
    assert [point["status"] for point in points] == ["failed", "done"]
    assert "longer than 8 s (--timeout)" in points[0]["error"]


def test_draws_in_a_shared_process_are_named_and_end_nothing(capsys):
    """Fault 20: in a notebook somebody else may have drawn, so that a line says it."""
    with calls.watched(alone=False):
        random.random()
    assert "Python's global random numbers were drawn from" in capsys.readouterr().err
    with calls.watched(alone=False):
        random.Random(1).random()
    assert capsys.readouterr().err == ""
    with pytest.raises(PluginError, match="cannot be repeated"), calls.watched(alone=True):
        random.random()
