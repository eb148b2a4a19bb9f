"""Many runs, each stored as it ends: in threads of this process, or wherever an `Executor` takes them.

The simulator runs without the interpreter's lock, so threads are enough for one machine; `shallows.cluster`
takes runs to several. A sweep that was stopped, even by kill -9, goes on where it was: the runs that ended
are in the store.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol

from shallows.errors import Cancelled, Fault, RunError, ShallowsError, SpecError
from shallows.points import Point, expand
from shallows.run import Running, identify, simulate_point
from shallows.spec import load
from shallows.store import Store, StoredRun

Status = Literal["done", "stored", "failed"]

Job = tuple[str, Point]
"""A run to make: its hash and its point."""

Ended = tuple[list["Outcome"], float]
"""What an executor tells a few times a second: outcomes that are new, and shares of runs under way."""

__all__ = [
    "Ended",
    "Executor",
    "Job",
    "Outcome",
    "Threads",
    "Work",
    "default_workers",
    "parse_shard",
    "run_points",
    "run_sweep",
]


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


@dataclass(frozen=True)
class Work:
    """What is the same for all runs of a sweep: the store, the backend, whether metrics are wanted.

    `modules` says where the Python modules are that the experiments name (`plugins.paths`).
    """

    store: Store
    backend: str = "simulator"
    metrics: bool = False
    modules: Mapping[tuple[str, str], str] | None = None

    def do(self, job: Job, running: Running) -> Outcome:
        """One run in this thread, or the stored one. A run that fails is an outcome.

        Raises Cancelled if stopped through `running`, StoreError, and MemoryError.
        """
        from shallows.metrics import metrics

        name, point = job
        if self.modules:
            from shallows import plugins

            plugins.learn(self.modules)
        try:
            found = self.store.find(name)
            run = found or simulate_point(point.experiment, self.store, backend=self.backend, running=running)
        except Cancelled:
            raise
        except (RunError, SpecError) as error:
            return Outcome(point, name, "failed", error=str(error))
        except Exception as error:
            if "python" not in point.experiment or isinstance(error, ShallowsError):
                raise
            return Outcome(point, name, "failed", error="".join(traceback.format_exception(error)).rstrip())
        numbers = metrics(run.tables) if self.metrics else None
        kept = StoredRun(run.path, run.manifest)  # without the tables that the metrics have read
        return Outcome(point, name, "stored" if found else "done", kept, metrics=numbers)


class Executor(Protocol):
    """Where runs are made. The one contract: each run ends in the store, and its outcome is yielded once."""

    def run(self, jobs: Iterator[Job], work: Work) -> Generator[Ended, None, None]:
        """Takes the jobs as it has room for them. Closing the generator stops all. Raises StoreError."""
        ...


@dataclass(frozen=True)
class Threads:
    """This process: as many threads as given, else as it may use cores."""

    count: int | None = None
    do: Callable[[Work, Job, Running], Outcome] | None = None
    """What each thread does with a job, if not run it itself."""

    def run(self, jobs: Iterator[Job], work: Work) -> Generator[Ended, None, None]:
        """See `Executor`."""
        do = self.do or _do
        count = self.count or default_workers()
        running = Running()
        with ThreadPoolExecutor(count) as pool:
            waiting: set[Future[Outcome]] = set()
            try:
                while True:
                    # A few ahead, not all: a hundred thousand waiting futures would cost memory for nothing.
                    for job in take(jobs, 2 * count - len(waiting)):
                        waiting.add(pool.submit(do, work, job, running))
                    if not waiting:
                        return
                    ended, waiting = wait(waiting, timeout=0.1, return_when=FIRST_COMPLETED)
                    yield [future.result() for future in ended], running.progress()
            except BaseException:
                running.cancel()
                for future in waiting:
                    future.cancel()
                raise


def _do(work: Work, job: Job, running: Running) -> Outcome:
    try:
        return work.do(job, running)
    except MemoryError:
        return Outcome(job[1], job[0], "failed", error="out of memory")


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
            from shallows import plugins

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
        from shallows.apart import Processes

        return Processes(workers)
    return Threads(workers)


def take(jobs: Iterator[Job], count: int) -> Iterator[Job]:
    """The next jobs, `count` at most."""
    for _, job in zip(range(count), jobs, strict=False):
        yield job


def default_workers() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def parse_shard(text: str) -> tuple[int, int]:
    """`i/n` as (i, n): the i-th of n equal parts, counted from 1. Raises SpecError."""
    number, _, count = text.partition("/")
    if number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count):
        return int(number), int(count)
    raise SpecError([Fault("--shard", "must be i/n with 1 <= i <= n, as in 2/8", text)])
