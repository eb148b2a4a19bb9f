"""Runs in threads of this process: the simulator runs without the interpreter's lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from shallows.backends.base import Running
from shallows.execution.jobs import Ended, Job, Outcome, Work

__all__ = ["Threads", "default_workers", "take"]


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
        return Outcome(job.point, job.name, "failed", error="out of memory")


def take(jobs: Iterator[Job], count: int) -> Iterator[Job]:
    """The next jobs, `count` at most."""
    for _, job in zip(range(count), jobs, strict=False):
        yield job


def default_workers() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
