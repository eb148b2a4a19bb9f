"""Many runs, each stored as it ends: in threads of this process, or wherever an `Executor` takes them.

The simulator runs without the interpreter's lock, so threads are enough for one machine; `execution.dask`
takes runs to several. A sweep that was stopped, even by kill -9, goes on where it was: the runs that ended
are in the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from shallows.document.load import load
from shallows.document.points import Point, expand
from shallows.errors import Fault, SpecError
from shallows.execution.jobs import Executor, Outcome, Work
from shallows.execution.single import identify
from shallows.execution.threads import Threads, default_workers
from shallows.results.store import Store

__all__ = ["parse_shard", "run_points", "run_sweep"]


def run_sweep(
    experiment: Any,
    *,
    settings: Iterable[str] = (),
    algorithms: Iterable[Any] = (),
    store: Store | str | Path | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[float, int], None] | None = None,
) -> list[Outcome]:
    """Runs every point and seed of an experiment; see `run_points`.

    `algorithms` are classes and topology functions written in Python that it may name. Raises SpecError with
    all faults.
    """
    points = expand(load(experiment, settings, algorithms))
    store = store if isinstance(store, Store) else Store(store)
    return run_points(points, store, workers=workers, executor=executor, metrics=True, progress=progress)


def run_points(
    points: Sequence[Point],
    store: Store,
    *,
    workers: int | None = None,
    executor: Executor | None = None,
    backend: str = "simulator",
    metrics: bool = False,
    progress: Callable[[float, int], None] | None = None,
) -> list[Outcome]:
    """Runs the points that are not stored yet and returns the outcomes of all, in the points' order.

    They run in `workers` threads (or processes, where they call algorithms written in Python, which threads
    would do one at a time), or where `executor` takes them. Equal experiments are run once. A run
    that fails is recorded and the others go on. Each outcome has its metrics if `metrics`.
    `progress(done, failed)` is called a few times a second, `done` counting runs and shares of runs. Ctrl-C
    stops all at once; what has ended is stored. Raises StoreError, and stops, as soon as the store cannot be
    used or is full.
    """
    store.prepare()
    names = [identify(point.experiment, backend)["hash"] for point in points]
    store.require_writable(set(names))
    jobs = iter(dict(zip(names, points, strict=True)).items())  # equal ones once, where the first stands
    outcomes: dict[str, Outcome] = {}
    failed = 0
    modules = _modules(points)
    place = executor or _place(points, workers, modules)
    with closing(place.run(jobs, Work(store, backend, metrics, modules))) as ended:
        for new, share in ended:
            outcomes |= {outcome.hash: outcome for outcome in new}
            failed += sum(outcome.status == "failed" for outcome in new)
            if progress:
                progress(len(outcomes) + share, failed)
    return [replace(outcomes[name], point=point) for name, point in zip(names, points, strict=True)]


def _modules(points: Sequence[Point]) -> dict[tuple[str, str], str] | None:
    """Where the Python modules of the points are; None if there are none, or some class is in no file."""
    found: dict[tuple[str, str], str] = {}
    for point in points:
        if "python" in point.experiment:
            from shallows.authoring import modules as plugins

            paths = plugins.paths(point.experiment)
            if paths is None:
                return None
            found |= paths
    return found or None


def _place(points: Sequence[Point], workers: int | None, modules: Mapping[Any, str] | None) -> Executor:
    """Processes for several runs that call Python, where another process can import what they call."""
    calls = any(
        one["section"] != "topology"
        for point in points
        for one in point.experiment.get("python", {}).get("components", [])
    )
    if modules and calls and len(points) > 1 and (workers or default_workers()) > 1:
        from shallows.execution.processes import Processes

        return Processes(workers)
    return Threads(workers)


def parse_shard(text: str) -> tuple[int, int]:
    """`i/n` as (i, n): the i-th of n equal parts, counted from 1. Raises SpecError."""
    number, _, count = text.partition("/")
    if number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count):
        return int(number), int(count)
    raise SpecError([Fault("--shard", "must be i/n with 1 <= i <= n, as in 2/8", text)])
