"""Limits on what a page may ask for, and on the processes that answer it.

Each has its option of `./shallows web`. The message of a refusal names the limit.
"""

from __future__ import annotations

import resource
import signal
from dataclasses import dataclass

__all__ = ["Limits", "confine"]


@dataclass(frozen=True)
class Limits:
    """Bounds on what a page may run."""

    run_seconds: float = 120.0
    """Wall time of one run of the laboratory."""
    ports: int = 20_000
    """Directions of links of a network."""
    memory_bytes: int = 4_000_000_000
    """Address space of a simulation process beyond what it needs to start."""
    document_bytes: int = 200_000
    """Text of an experiment."""
    file_seconds: float = 120.0
    """Wall time in which a file of a stored run is made: a figure, a table, a film."""
    sessions: int = 8
    """Laboratories whose pages are connected at once, each with a process."""
    jobs: int = 4
    """Sweeps, comparisons and other jobs that wait or run at once."""
    pages: int = 16
    """Pages that are being made at once."""


def confine(memory_bytes: int) -> None:
    """Bounds this process to so much address space beyond its start. It writes no core and ignores Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server decides when this process ends
    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + memory_bytes, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _address_space() -> int:
    import numpy as np  # noqa: F401 - before the measurement, since it belongs to the start

    from shallows import _core  # noqa: F401

    try:
        with open("/proc/self/statm") as file:  # noqa: PTH123
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 1_000_000_000
