"""Runs that call Python, in separate processes: in threads they would wait for the interpreter's lock.

A child is `python -m shallows.execution.processes`: it reads jobs from its standard input and answers on its
standard output, pickled, until the input ends. It imports nothing of the program that started it: a script
needs no `if __name__ == "__main__"`.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from shallows.backends.base import Running
from shallows.errors import ShallowsError, TimedOut
from shallows.execution.jobs import Ended, Job, Outcome, Work
from shallows.execution.threads import Threads

__all__ = ["Processes"]


@dataclass(frozen=True)
class Processes:
    """This machine: as many processes as given, else as there are cores to use. See `jobs.Executor`."""

    count: int | None = None

    def run(self, jobs: Iterator[Job], work: Work) -> Generator[Ended, None, None]:
        """See `jobs.Executor`."""
        children = _Children()
        try:
            yield from Threads(self.count, children.do).run(jobs, work)
        finally:
            children.close()


class _Children:
    """One child for each thread that asks."""

    def __init__(self) -> None:
        self._own = threading.local()
        self._lock = threading.Lock()
        self._all: list[_Child] = []

    def do(self, work: Work, job: Job, running: Running) -> Outcome:
        """The run in this thread's child; one whose child dies is a failed one."""
        child = getattr(self._own, "child", None)
        if child is None or child.process.poll() is not None:
            child = self._own.child = _Child()
            with self._lock:
                self._all.append(child)
        running.add(child)
        try:
            answer = child.ask(work, job)
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            why = running.stopped(child)
            if isinstance(why, TimedOut):
                return Outcome(job.point, job.name, "failed", error=str(why))
            if why is not None:
                raise why from error
            status = child.process.wait()
            return Outcome(job.point, job.name, "failed", error=f"its process died (status {status})")
        finally:
            running.remove(child)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def close(self) -> None:
        """Ends all children."""
        for child in self._all:
            child.close()


class _Child:
    """A process that does one run after another; watched and cancelled as a simulation is."""

    def __init__(self) -> None:
        here = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
        with _interrupts_wait():
            self.process = subprocess.Popen(
                [sys.executable, "-m", "shallows.execution.processes"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": path},
            )

    def ask(self, work: Work, job: Job) -> Outcome | ShallowsError:
        """The outcome, or the error that stops the sweep."""
        assert self.process.stdin is not None and self.process.stdout is not None
        pickle.dump((work, job), self.process.stdin)
        self.process.stdin.flush()
        return pickle.load(self.process.stdout)

    def cancel(self) -> None:
        """Ends it; a run that it has not stored is lost."""
        self.process.kill()

    def progress(self) -> float:
        """Not known before the end."""
        return 0.0

    def close(self) -> None:
        """Lets it go, and waits."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.close()
        except OSError:  # it died with something unread
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """A child that starts here gets no Ctrl-C before it ignores it: Python would answer with a traceback."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def main() -> None:
    """A child's life."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is asked, and ends this one
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the output of an algorithm is no answer
    questions = sys.stdin.buffer
    while True:
        try:
            work, job = pickle.load(questions)
        except EOFError:
            return
        try:
            answer = work.do(job, Running(alone=True))
        except ShallowsError as error:
            answer = error
        except MemoryError:
            answer = Outcome(job.point, job.name, "failed", error="out of memory")
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    main()
