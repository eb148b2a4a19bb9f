"""The protocol of a backend, and the handle that watches and stops its runs."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from shallows.errors import Cancelled, RunError, TimedOut

if TYPE_CHECKING:
    import polars as pl

    from shallows.document.paths import Document

__all__ = ["Backend", "Made", "Running", "Watched"]


@dataclass(frozen=True)
class Made:
    """A run that has ended: its tables, and the manifest's account of its making.

    `about` holds `counts` and `cpu_s`, and further facts of the backend.
    """

    tables: dict[str, pl.DataFrame]
    about: dict[str, Any] = field(repr=False)


class Backend(Protocol):
    """A program that runs experiments. Other processes and machines get a pickled copy."""

    @property
    def name(self) -> str:
        """Its name: of `--backend`, in manifests and in the hashes of runs."""
        ...

    def check(self, experiment: Document) -> None:
        """Raises SpecError with all that a resolved experiment asks and this backend cannot do."""
        ...

    def fingerprint(self) -> str:
        """Hash of the programs that decide a run's tables, beside the experiment."""
        ...

    def run(self, experiment: Document, running: Running) -> Made:
        """Runs a resolved experiment in this thread. Raises RunError, and Cancelled through `running`."""
        ...


def chosen(backend: Backend, experiment: Document) -> Backend:
    """The backend as the experiment chooses it, by its method `chosen` where it has one.

    Linux takes a kernel by name (`linux.kernel`).
    """
    choose = getattr(backend, "chosen", None)
    return backend if choose is None else choose(experiment)


class Watched(Protocol):
    """A run under way: a simulation, or a process that makes one."""

    def cancel(self) -> None:
        """Stops it; called from another thread."""
        ...

    def progress(self) -> float:
        """The share that is done, from 0 to 1; called from another thread."""
        ...


class Running:
    """A handle on runs in other threads: their progress, and a way to stop them.

    A run that takes longer than `limit_s` is stopped by `stop_late`. `alone` says that this process does
    nothing but make runs, one at a time, so that what changes in it was changed by the run.
    """

    def __init__(self, limit_s: float | None = None, alone: bool = False) -> None:
        self._lock = threading.Lock()
        self._limit_s, self.alone = limit_s, alone
        self._watched: dict[Watched, int | None] = {}
        self._began: dict[Watched, float] = {}
        self._late: set[Watched] = set()
        self._cancelled = False
        self._machines: dict[int, float] = {}

    def tell(self, share: float | None) -> None:
        """The share of its run that the machine of this thread has done; None when it is gone."""
        with self._lock:
            if share is None:
                self._machines.pop(threading.get_ident(), None)
            else:
                self._machines[threading.get_ident()] = share

    def add(self, run: Watched, calls_python: bool = False) -> None:
        """Watches a run that is about to start in this thread. Raises Cancelled if all are to stop."""
        with self._lock:
            if self._cancelled:
                raise Cancelled("stopped on request")
            self._watched[run] = threading.get_ident() if calls_python else None
            self._began[run] = time.monotonic()

    def remove(self, run: Watched) -> None:
        """Forgets a run that has ended."""
        with self._lock:
            self._watched.pop(run, None)
            self._began.pop(run, None)

    def stop_late(self) -> None:
        """Stops each run that has taken longer than its limit. To be called a few times a second."""
        if self._limit_s is None:
            return
        with self._lock:
            before = time.monotonic() - self._limit_s
            late = {run for run, began in self._began.items() if began < before} - self._late
            self._late |= late
            for run in late:
                _stop(run, self._watched[run])

    def stopped(self, run: Watched) -> RunError | None:
        """Why the run was stopped through this handle, as the error to raise; None if it was not."""
        if run in self._late:
            return TimedOut(f"the run took longer than {self._limit_s:g} s (--timeout)")
        return Cancelled("stopped on request") if self._cancelled else None

    def cancel(self) -> None:
        """Stops all that run, and all that would start; an algorithm in Python also within a call of it."""
        with self._lock:
            self._cancelled = True
            for run, thread in self._watched.items():
                _stop(run, thread)

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancelled

    def progress(self) -> float:
        """Sum of the shares done of all that runs now."""
        with self._lock:
            return sum(each.progress() for each in self._watched) + sum(self._machines.values())


def _stop(run: Watched, thread: int | None) -> None:
    run.cancel()
    if thread is not None:
        _raise_in(thread)


def _raise_in(thread: int) -> None:
    """Has Cancelled raised in another thread as soon as it executes Python: its loop may have no end."""
    import ctypes

    set_exception = ctypes.pythonapi.PyThreadState_SetAsyncExc
    set_exception(ctypes.c_ulong(thread), ctypes.py_object(Cancelled))
