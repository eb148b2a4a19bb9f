"""Memory: the free amount, a run that would not fit, and a run that comes to hold too much."""

import json
import subprocess
import sys

import pytest
import shallows
from conftest import SMALL
from shallows import _core
from shallows.backends.memory import free_memory
from shallows.backends.simulator import Simulator
from shallows.document.points import expand
from shallows.errors import RunError, ShallowsError, SpecError
from shallows.execution import room
from shallows.execution.runner import Runner

FLOOD = {
    "duration": "1000s",
    "topology": {"kind": "star", "senders": 2, "rate": "400Gbps"},
    "queue": {"kind": "drop-tail", "limit": "none"},
    "transport": {"cc": {"kind": "cbr", "rate": "150Gbps"}},
    "event": {"slow": {"at": "1us", "link": "switch->r0", "rate": "1Kbps"}},
    "traffic": {"t": {"kind": "bulk", "from": "s*", "to": "r0"}},
}


def test_what_is_free_is_read_from_the_system(tmp_path):
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal:  2000 kB\nMemFree: 10 kB\nMemAvailable:   1000 kB\n")
    assert free_memory(meminfo, tmp_path) == 1000 * 1024
    (tmp_path / "memory.current").write_text("1000\n")
    for most, free in (("max\n", 1000 * 1024), ("5000\n", 4000), ("10\n", 0)):
        (tmp_path / "memory.max").write_text(most)
        assert free_memory(meminfo, tmp_path) == free
    assert free_memory(tmp_path / "none", tmp_path / "none") is None


def test_the_checker_estimates():
    answer = json.loads(_core.check(json.dumps(SMALL | {"seed": 1})))
    memory = answer["memory"]
    assert memory["bytes"] == sum(part["bytes"] for part in memory["parts"]) > 0
    assert {"ports", "packets under way"} <= {part["what"] for part in memory["parts"]}


def test_a_run_that_does_not_fit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("shallows.backends.simulator.free_memory", lambda: 1000)
    with pytest.raises(ShallowsError, match=r"memory: must fit: the run would take about .*--allow-memory"):
        shallows.run(SMALL, store=tmp_path)
    assert shallows.run(SMALL, store=tmp_path, allow_memory=True).metrics
    assert Runner.of(allow_memory=True).backend == Simulator(allow_memory=True)
    with pytest.raises(SpecError, match="--allow-memory: does not apply to the backend linux"):
        Runner.of(allow_memory=True, backend="linux")


def test_a_run_that_holds_too_much_ends(tmp_path, monkeypatch):
    monkeypatch.setattr("shallows.backends.simulator.free_memory", lambda: 30_000_000)
    with pytest.raises(RunError, match=r"the run holds .* packets that wait or travel: limit the queues"):
        shallows.run(FLOOD, store=tmp_path)


def test_fewer_workers_where_the_largest_runs_do_not_fit_together(capsys, monkeypatch):
    assert [room.fitting([1, 2, 3], 4, free) for free in (None, 100, 6, 5, 4, 2)] == [4, 4, 4, 2, 1, 1]
    assert room.fitting([], 4, 0) == 4
    monkeypatch.setattr(room, "free_memory", lambda: 7_000_000_000)
    assert room.workers_in_memory([3_000_000_000] * 9, 4) == 2
    assert "2 of 4 runs at a time, since a run takes up to 3.0 GB and 7.0 GB" in capsys.readouterr().err
    assert room.workers_in_memory([1000] * 9, 4) == 4
    assert capsys.readouterr().err == ""


def test_a_sweep_asks_how_many_runs_fit(tmp_path, monkeypatch, capsys):
    points = expand(SMALL | {"seeds": 3})
    assert points[0].memory > 10_000
    monkeypatch.setattr(room, "free_memory", lambda: points[0].memory + 1)
    Runner.of(store=tmp_path / "runs", workers=2).run(points)
    assert "shallows: 1 of 2 runs at a time" in capsys.readouterr().err
    Runner.of(store=tmp_path / "other", workers=2, allow_memory=True).run(points[:1])
    assert capsys.readouterr().err == ""


def test_limits_of_the_process_count(tmp_path):
    """T6: with `ulimit -v 2500000` a long wire ended in an abort: status 134, no words, no JSON."""
    flood = FLOOD | {"title": "flood"}
    text = "import json, resource, sys\nimport shallows, polars\n"
    text += "from shallows.backends.memory import free_memory\n"
    text += "def limit(n):\n    resource.setrlimit(resource.RLIMIT_AS, (n, resource.RLIM_INFINITY))\n"
    text += "taken = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
    text += "limit(taken + 600_000_000)\nassert 0 < free_memory() <= 400_000_000, free_memory()\n"
    text += f"shallows.run({flood!r}, store=sys.argv[1], progress=False)\n"
    done = subprocess.run(
        [sys.executable, "-c", text, "runs"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 1, (done.returncode, done.stderr)
    assert "must fit" in done.stderr or "the run holds" in done.stderr
