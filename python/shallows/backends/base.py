"""What every backend shares: the handle by which its runs are watched and stopped."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from shallows.errors import Cancelled

if TYPE_CHECKING:
    from shallows._core import Simulation

__all__ = ["BACKENDS", "Running"]


BACKENDS = ("simulator", "linux")


class Running:
    """A handle on simulations in other threads: their progress, and a way to stop them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._simulations: dict[Simulation, int | None] = {}
        self._cancelled = False
        self._machines: dict[int, float] = {}

    def tell(self, share: float | None) -> None:
        """What share of its run the machine of this thread has done; None when it is gone."""
        with self._lock:
            if share is None:
                self._machines.pop(threading.get_ident(), None)
            else:
                self._machines[threading.get_ident()] = share

    def add(self, simulation: Simulation, calls_python: bool = False) -> None:
        """Watches a simulation that is about to run in this thread. Raises Cancelled if all are to stop."""
        with self._lock:
            if self._cancelled:
                raise Cancelled("stopped on request")
            self._simulations[simulation] = threading.get_ident() if calls_python else None

    def remove(self, simulation: Simulation) -> None:
        """Forgets a simulation that has ended."""
        with self._lock:
            self._simulations.pop(simulation, None)

    def cancel(self) -> None:
        """Stops all that run, and all that would start; an algorithm in Python also within a call of it."""
        with self._lock:
            self._cancelled = True
            for simulation, thread in self._simulations.items():
                simulation.cancel()
                if thread is not None:
                    _raise_in(thread)

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancelled

    def progress(self) -> float:
        """Sum of the shares done of the simulations that run now."""
        with self._lock:
            return sum(each.progress() for each in self._simulations) + sum(self._machines.values())


def _raise_in(thread: int) -> None:
    """Has Cancelled raised in another thread as soon as it executes Python: its loop may have no end."""
    import ctypes

    set_exception = ctypes.pythonapi.PyThreadState_SetAsyncExc
    set_exception(ctypes.c_ulong(thread), ctypes.py_object(Cancelled))
