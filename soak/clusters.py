"""Sweeps on a dask cluster whose workers are killed, stopped and late: the runs are those of one machine."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from shallows.results.store import Store

from soak.kills import EXPERIMENT, names

SWEEP_S = 300.0
"""A sweep that has not ended after so long is a finding."""

SILENT = "import sys; from distributed.cli.dask_worker import main; sys.exit(main())"


def possible() -> bool:
    """Whether dask's distributed is installed (`--extra cluster`)."""
    return find_spec("distributed") is not None


def disturb(draws: random.Random, place: Path) -> list[str]:
    """A sweep of 30 runs by two to four workers, of which all but the first are disturbed."""
    folder = place / f"cluster-{draws.randrange(2**32):08x}"
    folder.mkdir()
    file, scheduler = folder / "swept.toml", folder / "scheduler.json"
    file.write_text(EXPERIMENT.replace("seeds = 200", "seeds = 30").replace('"1ms"', '"20ms"'))
    processes = [
        _start(folder, scheduler, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard")
    ]
    try:
        late = draws.random() < 0.3
        workers = [_worker(folder, scheduler, k) for k in range(draws.choice([2, 3, 4]))]
        processes += workers
        sweep = _sweep(folder, file, "runs", "--cluster", str(scheduler))
        processes.append(sweep)
        for worker in workers[1:]:
            time.sleep(draws.random() * 4)
            how = draws.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP])
            with contextlib.suppress(ProcessLookupError):
                worker.send_signal(how)
        if late:
            processes.append(_worker(folder, scheduler, 9))
        try:
            _, errors = sweep.communicate(timeout=SWEEP_S)
        except subprocess.TimeoutExpired:
            return [f"the sweep runs after {SWEEP_S:g} s"]
        found = []
        if sweep.returncode != 0 or "Traceback" in errors:
            found.append(f"status {sweep.returncode}: {errors[-800:]}")
        alone = _sweep(folder, file, "alone")
        alone.communicate()
        if not found and _digests(folder / "runs") != _digests(folder / "alone"):
            found.append("the runs differ from those of one machine")
        return found
    finally:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _start(folder: Path, scheduler: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, *words, "--scheduler-file", str(scheduler)]
    nowhere = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=folder, stdout=nowhere, stderr=nowhere, text=True)


def _worker(folder: Path, scheduler: Path, number: int) -> subprocess.Popen[str]:
    options = ["--nthreads", "1", "--no-dashboard", "--no-nanny", "--name", f"worker{number}"]
    return _start(folder, scheduler, "-c", SILENT, *options)


def _sweep(folder: Path, file: Path, store: str, *options: str) -> subprocess.Popen[str]:
    until = time.monotonic() + 60
    while options and not Path(options[1]).exists() and time.monotonic() < until:
        time.sleep(0.05)
    command = [sys.executable, "-m", "shallows", "sweep", str(file), "--store", str(folder / store), *options]
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )


def _digests(store: Path) -> dict[str, str]:
    """The tables of each run of a store."""
    found = {}
    for name in names(store):
        Store(store).check(name)
        files = sorted((store / name).glob("*.parquet"))
        found[name] = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    return found
