"""Sweeps: resumed after kill -9, the same bytes for any number of threads, Ctrl-C, failures, full disks."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import shallows
from conftest import SMALL, write_toml
from shallows.document.points import expand
from shallows.errors import SpecError, StoreError
from shallows.execution.runner import Runner, parse_shard
from shallows.results.store import Store
from sweeping import Failing, table_bytes, wait_for_runs

SWEPT = SMALL | {"seeds": 3, "sweep": {"grid": {"transport.cc.g": [0.05, 0.1]}}}


def test_the_number_of_threads_changes_no_byte_and_no_order(tmp_path):
    found = {}
    for workers in (1, 2, 7):
        outcomes = shallows.sweep(SWEPT, store=tmp_path / str(workers), workers=workers)
        found[workers] = [o.hash for o in outcomes], table_bytes(tmp_path / str(workers))
    assert found[1] == found[2] == found[7]
    assert len(found[1][0]) == 6


def test_a_second_sweep_finds_all_and_runs_nothing(tmp_path):
    first = shallows.sweep(SWEPT, store=tmp_path)
    again = shallows.sweep(SWEPT, store=tmp_path)
    assert {o.status for o in first} == {"done"}
    assert {o.status for o in again} == {"stored"}
    assert [o.hash for o in first] == [o.hash for o in again]


def test_equal_points_run_once(tmp_path):
    document = SMALL | {"sweep": {"points": [{"transport.cc.g": 0.1}, {"transport.cc.g": 0.10}]}}
    outcomes = shallows.sweep(document, store=tmp_path, workers=2)
    assert len({o.hash for o in outcomes}) == len(list(tmp_path.iterdir())) == 1


LONG = SMALL | {
    "duration": "1s",
    "seeds": 4,
    "sweep": {"grid": {"transport.cc.g": [0.05, 0.1, 0.2]}},
}


def start(file: Path, store: Path) -> subprocess.Popen:
    command = [
        sys.executable,
        "-m",
        "shallows",
        "sweep",
        str(file),
        "--store",
        str(store),
        "--workers",
        "2",
        "--json",
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_a_sweep_killed_at_any_moment_goes_on_to_the_same_results(tmp_path):
    file, store = write_toml(tmp_path / "long.toml", LONG), tmp_path / "runs"
    for count in (1, 5):
        process = start(file, store)
        wait_for_runs(process, store, count)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    before = {path.name for path in store.glob("[0-9a-f]*")}
    assert 5 <= len(before) < 12
    process = start(file, store)
    answer = json.loads(process.communicate(timeout=120)[0])
    assert process.returncode == 0
    status = {point["hash"]: point["status"] for point in answer["points"]}
    assert {name for name, word in status.items() if word == "stored"} == before
    whole = tmp_path / "whole"
    shallows.sweep(LONG, store=whole)
    assert table_bytes(store) == table_bytes(whole)


def test_ctrl_c_stops_soon_keeps_what_ended_and_says_so(tmp_path):
    file, store = write_toml(tmp_path / "long.toml", LONG), tmp_path / "runs"
    process = start(file, store)
    wait_for_runs(process, store, 1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert process.returncode == 130
    assert b"interrupted" in err
    assert b"Traceback" not in err
    assert json.loads(out)["error"]["kind"] == "Interrupted"
    assert [run.path.name for run in Store(store).runs()] == sorted(path.name for path in store.iterdir())


def test_a_run_that_fails_is_recorded_and_the_others_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr("shallows._core.Simulation", Failing)
    seen = []
    outcomes = Runner.of(store=tmp_path, workers=2).run(
        expand(SMALL | {"seeds": 3}),
        progress=lambda done, failed=0: seen.append((done, failed)),
    )
    assert [o.status for o in outcomes] == ["done", "failed", "done"]
    assert outcomes[1].error == "seed 2 is unlucky"
    assert outcomes[1].metrics is None
    assert len(list(tmp_path.iterdir())) == 2
    assert seen[-1] == (3, 1)


def test_a_full_disk_stops_the_sweep_and_leaves_no_half_run(tmp_path, monkeypatch):
    def full(*_):
        raise StoreError("no space left on the disk")

    monkeypatch.setattr(Store, "save", full)
    with pytest.raises(StoreError, match="no space left"):
        shallows.sweep(SWEPT, store=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_python_goes_on_while_rust_runs(tmp_path):
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.wait(0.005):
            ticks.append(time.monotonic())

    ticker = threading.Thread(target=tick)
    ticker.start()
    began = time.monotonic()
    Runner.of(store=tmp_path, workers=1).run(expand(SMALL | {"duration": "1s"}))
    took = time.monotonic() - began
    stop.set()
    ticker.join()
    assert len(ticks) > 20 * took


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "1/0", "a/b", "1/2/3", "-1/2", "1.5/2"])
def test_shards_that_mean_nothing_are_refused(text):
    with pytest.raises(SpecError, match="i/n"):
        parse_shard(text)


def test_shards_cover_every_point_once():
    points = list(range(10))
    parts = [points[i - 1 :: n] for i, n in (parse_shard(f"{k}/3") for k in (1, 2, 3))]
    assert sorted(point for part in parts for point in part) == points
