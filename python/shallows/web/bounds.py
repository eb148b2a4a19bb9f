"""Bounds of the processes in which a page's wishes are done."""

from __future__ import annotations

import resource
import signal

__all__ = ["confine"]


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
