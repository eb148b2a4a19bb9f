"""Runs in threads of this process: the simulator runs without the interpreter's lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from shallows.backends.base import Running
from shallows.execution.jobs import Ended, Job, Outcome, Work
from shallows.interrupts import load_for_threads

__all__ = ["Threads", "default_workers", "leave", "take"]

GRACE_S = 0.7
"""The time that cancelled runs may take to end: Ctrl-C acts within a second."""


@dataclass(frozen=True)
class Threads:
    """This process: as many threads as given, else as it may use cores."""

    count: int | None = None
    do: Callable[[Work, Job, Running], Outcome] | None = None
    """The work of each thread on a job; by default it runs it."""

    def run(self, jobs: Iterator[Job], work: Work) -> Generator[Ended, None, None]:
        """See `Executor`."""
        do = self.do or _do
        count = self.count or default_workers()
        running = Running(work.limit_s)
        load_for_threads()
        pool = ThreadPoolExecutor(count)
        waiting: set[Future[Outcome]] = set()
        try:
            while True:
                # A few ahead, not all: a hundred thousand waiting futures would cost memory for nothing.
                for job in take(jobs, 2 * count - len(waiting)):
                    waiting.add(pool.submit(do, work, job, running))
                if not waiting:
                    break
                ended, waiting = wait(waiting, timeout=0.1, return_when=FIRST_COMPLETED)
                yield [future.result() for future in ended], running.progress()
                running.stop_late()
        except BaseException:
            running.cancel()
            leave(pool, waiting)
            raise
        pool.shutdown()


def leave(pool: ThreadPoolExecutor, waiting: Collection[Future[Any]]) -> None:
    """Ends a pool whose runs have been cancelled, without waiting for a call that does not return."""
    pool.shutdown(wait=False, cancel_futures=True)
    wait(waiting, timeout=GRACE_S)


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
