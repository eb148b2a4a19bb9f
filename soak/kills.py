"""Sweeps killed with signal 9, several on one store at once: a directory named as a run is whole, always."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from shallows.authoring import examples
from shallows.errors import ShallowsError
from shallows.results.store import Store

EXPERIMENT = """
duration = "1ms"
topology = { kind = "star", senders = 2, rate = "1Gbps", delay = "5us" }
queue = { kind = "threshold", limit = "20pkt", mark_at = "5pkt" }
transport = { cc = "dctcp" }
seeds = 200
[traffic.long]
kind = "bulk"
from = "s*"
to = "r0"
"""


def kill(draws: random.Random, place: Path) -> list[str]:
    """Starts one to three sweeps on a store, kills each at some moment, and checks all stored runs."""
    file, store = place / "killed.toml", place / "killed"
    plugin = draws.random() < 0.3  # then runs are made in processes
    module = str(Path(examples.__file__).with_name("aimd.py"))
    python = f"[python]\nmodules = [{json.dumps(module)}]\n" if plugin else ""
    file.write_text(EXPERIMENT.replace('"dctcp"', '"aimd"' if plugin else '"dctcp"') + python)
    command = [sys.executable, "-m", "shallows", "sweep", str(file), "--store", str(store), "--workers", "2"]
    count = draws.choice([1, 1, 2, 3])
    sweeps = [_start(command) for _ in range(count)]
    before = len(names(store))
    until = time.monotonic() + 60
    while len(names(store)) == before and time.monotonic() < until:
        if before >= 200 or all(sweep.poll() is not None for sweep in sweeps):
            break
        time.sleep(0.002)
    for sweep in sweeps:
        time.sleep(draws.random() * 0.05)
        os.killpg(sweep.pid, signal.SIGKILL)
        sweep.wait()
    found = [each for name in names(store) for each in _check(Store(store), name)]
    if len(names(store)) >= 200:
        _clear(store)
    return found


def names(store: Path) -> list[str]:
    """The runs that a store shows."""
    return sorted(path.name for path in store.glob("[0-9a-f]*"))


def _start(command: list[str]) -> subprocess.Popen[bytes]:
    nowhere = subprocess.DEVNULL
    # A group of its own: children die with it.
    return subprocess.Popen(command, start_new_session=True, stdout=nowhere, stderr=nowhere)


def _check(store: Store, name: str) -> list[str]:
    try:
        store.check(name)
    except ShallowsError as error:
        return [f"after a kill: {error}"]
    return []


def _clear(store: Path) -> None:
    import shutil

    shutil.rmtree(store)
