"""Many runs: on all cores of this machine, in one process, each stored as it ends.

The simulator runs without the interpreter's lock, so threads are enough. A sweep that was stopped, even by
kill -9, goes on where it was: the runs that ended are in the store.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from shallows.errors import Cancelled, Fault, RunError, SpecError
from shallows.points import Point, expand
from shallows.run import Running, identify, simulate_point
from shallows.spec import load
from shallows.store import Store, StoredRun

Status = Literal["done", "stored", "failed"]

__all__ = ["Outcome", "default_workers", "parse_shard", "run_points", "run_sweep"]


@dataclass(frozen=True)
class Outcome:
    """What became of a point: `done` (run now), `stored` (found in the store) or `failed` (see `error`).

    `metrics` is the flat summary of `shallows.metrics.metrics`, if it was asked for and the run did not fail.
    """

    point: Point
    hash: str
    status: Status
    run: StoredRun | None = None
    error: str | None = None
    metrics: dict[str, Any] | None = None


def run_sweep(
    experiment: Any,
    *,
    settings: Iterable[str] = (),
    store: Store | str | Path | None = None,
    workers: int | None = None,
    progress: Callable[[float, int], None] | None = None,
) -> list[Outcome]:
    """Runs every point and seed of an experiment; see `run_points`. Raises SpecError with all faults."""
    points = expand(load(experiment, settings))
    store = store if isinstance(store, Store) else Store(store)
    return run_points(points, store, workers=workers, metrics=True, progress=progress)


def run_points(
    points: Sequence[Point],
    store: Store,
    *,
    workers: int | None = None,
    backend: str = "simulator",
    metrics: bool = False,
    progress: Callable[[float, int], None] | None = None,
) -> list[Outcome]:
    """Runs the points that are not stored yet and returns the outcomes of all, in the points' order.

    Equal experiments are run once. A run that fails is recorded and the others go on. Each outcome has its
    metrics if `metrics`. `progress(done, failed)` is called a few times a second, `done` counting runs and
    shares of runs. Ctrl-C stops all at once; what has ended is stored. Raises StoreError, and stops, as
    soon as the store cannot be used or is full.
    """
    store.prepare()
    workers = workers or default_workers()
    names = [identify(point.experiment, backend)["hash"] for point in points]
    jobs = iter(dict(zip(names, points, strict=True)).items())  # equal ones once, where the first stands
    outcomes: dict[str, Outcome] = {}
    running = Running()
    with ThreadPoolExecutor(workers) as pool:
        waiting: set[Future[Outcome]] = set()
        try:
            while True:
                # A few ahead, not all: a hundred thousand waiting futures would cost memory for nothing.
                for name, point in _take(jobs, 2 * workers - len(waiting)):
                    waiting.add(pool.submit(_outcome, name, point, store, backend, metrics, running))
                if not waiting:
                    break
                ended, waiting = wait(waiting, timeout=0.1, return_when=FIRST_COMPLETED)
                outcomes |= {outcome.hash: outcome for outcome in (future.result() for future in ended)}
                if progress:
                    failed = sum(outcome.status == "failed" for outcome in outcomes.values())
                    progress(len(outcomes) + running.progress(), failed)
        except BaseException:
            running.cancel()
            for future in waiting:
                future.cancel()
            raise
    return [replace(outcomes[name], point=point) for name, point in zip(names, points, strict=True)]


def _take(jobs: Iterator[tuple[str, Point]], count: int) -> Iterator[tuple[str, Point]]:
    for _, job in zip(range(count), jobs, strict=False):
        yield job


def _outcome(
    name: str, point: Point, store: Store, backend: str, with_metrics: bool, running: Running
) -> Outcome:
    from shallows.metrics import metrics

    try:
        found = store.find(name)
        run = found or simulate_point(point.experiment, store, backend=backend, running=running)
    except Cancelled:
        raise
    except (RunError, SpecError, MemoryError) as error:
        return Outcome(point, name, "failed", error=str(error) or "out of memory")
    numbers = metrics(run.tables) if with_metrics else None
    kept = StoredRun(run.path, run.manifest)  # without the tables that the metrics have read
    return Outcome(point, name, "stored" if found else "done", kept, metrics=numbers)


def default_workers() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def parse_shard(text: str) -> tuple[int, int]:
    """`i/n` as (i, n): the i-th of n equal parts, counted from 1. Raises SpecError."""
    number, _, count = text.partition("/")
    if number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count):
        return int(number), int(count)
    raise SpecError([Fault("--shard", "must be i/n with 1 <= i <= n, as in 2/8", text)])
