"""The runner: the backend, the threads or machines, and the store of a command's runs.

The simulator runs without the interpreter's lock, so threads are enough for one machine; `execution.dask`
takes runs to several. A sweep that was stopped, even by kill -9, resumes: the runs that ended
are in the store.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shallows.backends.base import Backend, Running
from shallows.document.points import Point
from shallows.errors import Fault, RunError, SpecError
from shallows.execution.backends import all_cores
from shallows.execution.backends import backend as backend_of
from shallows.execution.jobs import Ended, Executor, Job, Outcome, Work, identify, make
from shallows.execution.room import workers_in_memory
from shallows.execution.threads import Threads, default_workers, leave
from shallows.interrupts import load_for_threads
from shallows.results.store import Store, StoredRun

__all__ = ["Progress", "Runner", "parse_shard"]

Progress = Callable[[float, int], None]
"""Called a few times a second with the numbers of runs that are done, shares included, and that failed."""


@dataclass(frozen=True)
class Runner:
    """Makes runs. `workers` is how many at a time on this machine; an `executor` takes them elsewhere."""

    store: Store
    backend: Backend
    workers: int | None = None
    executor: Executor | None = None
    limit_s: float | None = None
    """The time limit of one run on this machine."""

    @classmethod
    def of(
        cls,
        *,
        store: Store | str | Path | None = None,
        workers: int | None = None,
        threads: int | None = None,
        allow_memory: bool = False,
        executor: Executor | None = None,
        backend: str | Backend = "simulator",
        limit_s: float | None = None,
    ) -> Runner:
        """By the options that all entry points share. Raises SpecError with all faults."""
        faults = []
        for option, number in (("workers", workers), ("threads", threads)):
            if number is not None and (isinstance(number, bool) or number < 1):
                faults.append(Fault(f"--{option}", "must be a whole number from 1", number))
        if executor is not None and workers is not None:
            faults.append(Fault("--workers", "applies to local runs; an executor has its own", workers))
        if limit_s is not None and executor is None and backend != "simulator":
            name = backend if isinstance(backend, str) else backend.name
            faults.append(Fault("--timeout", f"does not apply to the backend {name}", f"{limit_s:g} s"))
        if faults:
            raise SpecError(faults)
        if threads is not None and workers is None and executor is None:
            workers = max(1, default_workers() // threads)
        place = store if isinstance(store, Store) else Store(store)
        return cls(place, backend_of(backend, threads, allow_memory), workers, executor, limit_s)

    def identify(self, points: Iterable[Point]) -> list[Job]:
        """The job of each point. Raises SpecError with all that the backend cannot do, each fault once."""
        jobs: list[Job] = []
        faults: dict[Fault, None] = {}
        for point in points:
            try:
                jobs.append(identify(point, self.backend))
            except SpecError as error:
                faults |= dict.fromkeys(error.faults)
        if faults:
            raise SpecError(list(faults))
        return jobs

    def one(self, point: Point, progress: Progress | None = None) -> StoredRun:
        """The run of a point. Ctrl-C stops it and stores nothing.

        Raises SpecError, RunError, StoreError, and what an algorithm raises.
        """
        if self.executor is not None:
            [outcome] = self.run([point], progress=progress)
            if outcome.run is None:
                raise RunError(outcome.error or "the run failed")
            return outcome.run
        [job] = self.identify([point])
        self.store.prepare()
        found = self.store.find(job.name)
        return found or self._watched(job, progress)

    def _watched(self, job: Job, progress: Progress | None) -> StoredRun:
        running = Running(self.limit_s)
        load_for_threads()
        pool = ThreadPoolExecutor(1)
        waiting: list[Future[StoredRun]] = []
        try:
            # In here, since a Ctrl-C may come before `submit` returns, when the run has begun.
            alone = all_cores(self.backend)
            waiting.append(pool.submit(make, job, self.store, alone, running))
            while True:
                try:
                    return waiting[0].result(timeout=0.1)
                except NotYet:
                    if waiting[0].done():
                        raise
                    running.stop_late()
                    if progress:
                        progress(running.progress(), 0)
        except BaseException:
            running.cancel()
            raise
        finally:
            leave(pool, waiting)

    def run(
        self, points: Sequence[Point], *, metrics: bool = False, progress: Progress | None = None
    ) -> list[Outcome]:
        """Runs the points that are not stored yet and returns the outcomes of all, in the points' order.

        They run in threads (or processes, where they call algorithms written in Python, which threads would
        do one at a time), or where the executor takes them. Equal experiments are run once. A run that fails
        is recorded and the others go on. Each outcome has its metrics if `metrics`. Ctrl-C stops all at once;
        ended runs are stored. Raises SpecError; StoreError, and stops, as soon as the store cannot be used
        or is full.
        """
        return self.run_jobs(self.identify(points), metrics=metrics, progress=progress)

    def run_jobs(
        self, jobs: Sequence[Job], *, metrics: bool = False, progress: Progress | None = None
    ) -> list[Outcome]:
        """Does what `run` does, for points that have been identified."""
        outcomes: dict[str, Outcome] = {}
        failed = 0
        with closing(self.stream(jobs, metrics)) as ended:
            for new, share in ended:
                outcomes |= {outcome.hash: outcome for outcome in new}
                failed += sum(outcome.status == "failed" for outcome in new)
                if progress:
                    progress(len(outcomes) + share, failed)
        return [replace(outcomes[job.name], point=job.point) for job in jobs]

    def stream(self, jobs: Sequence[Job], metrics: bool = False) -> Generator[Ended, None, None]:
        """Outcomes as the runs end, equal ones once, where the first stands. Closing it stops all."""
        self.store.prepare()
        distinct: dict[str, Job] = {}
        for job in jobs:
            distinct.setdefault(job.name, job)
        self.store.require_writable(set(distinct))
        modules = _modules([job.point for job in jobs])
        place = self.executor or self._local([job.point for job in distinct.values()], modules)
        with closing(
            place.run(iter(distinct.values()), Work(self.store, self.backend, metrics, modules, self.limit_s))
        ) as ended:
            yield from ended

    def _local(self, points: Sequence[Point], modules: Mapping[Any, str] | None) -> Executor:
        """Processes for runs that call Python, where another process can import what they call.

        Threads would do them one at a time, and a call that ends the process, or never returns, would take
        this process with it.
        """
        workers = self.workers or default_workers()
        if not getattr(self.backend, "allow_memory", True):  # the simulator alone holds memory here
            workers = workers_in_memory((point.memory for point in points), workers)
        calls = any(
            one["section"] != "topology"
            for point in points
            for one in point.experiment.get("python", {}).get("components", [])
        )
        if modules and calls:
            from shallows.execution.processes import Processes

            return Processes(workers)
        return Threads(workers)


def _modules(points: Sequence[Point]) -> dict[tuple[str, str], str] | None:
    """Where the Python modules of the points are; None if there are none, or some class is in no file."""
    found: dict[tuple[str, str], str] = {}
    for point in points:
        if "python" in point.experiment:
            from shallows.authoring import modules

            paths = modules.paths(point.experiment)
            if paths is None:
                return None
            found |= paths
    return found or None


def parse_shard(text: str) -> tuple[int, int]:
    """`i/n` as (i, n): the i-th of n equal parts, counted from 1. Raises SpecError."""
    number, _, count = text.partition("/")
    if number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count):
        return int(number), int(count)
    raise SpecError([Fault("--shard", "must be i/n with 1 <= i <= n, as in 2/8", text)])
