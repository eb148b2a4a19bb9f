"""How much memory the machine, the control group and the process's own limits can still give."""

from __future__ import annotations

from pathlib import Path

__all__ = ["free_memory"]

_OF_ALL = Path("/proc/meminfo")
_OF_GROUP = Path("/sys/fs/cgroup")


def free_memory(of_all: Path = _OF_ALL, of_group: Path = _OF_GROUP) -> int | None:
    """Bytes that this process can take before the system refuses, swaps or kills; None if unknown.

    Linux: `MemAvailable` (proc(5)), the rest of a control group's limit (cgroup v2, `memory.max`), and the
    rest of the limits of the process (`ulimit -v`, `ulimit -d`), which batch systems set.
    """
    found = [bytes_ for bytes_ in (_available(of_all), _left(of_group), _of_process()) if bytes_ is not None]
    return min(found, default=None)


_RESERVE = 200_000_000
"""Bytes below a limit of the process that stay free for Python, libraries and threads."""


def _of_process(statm: Path = Path("/proc/self/statm")) -> int | None:
    """The rest of the limits of address space and of data, from getrlimit(2)."""
    try:
        import resource
    except ImportError:  # no Unix
        return None
    left = []
    for limit, field in ((resource.RLIMIT_AS, 0), (resource.RLIMIT_DATA, 5)):
        most, _ = resource.getrlimit(limit)
        if most != resource.RLIM_INFINITY:
            try:
                taken = int(statm.read_text().split()[field]) * resource.getpagesize()
            except (OSError, IndexError, ValueError):
                taken = 0
            left.append(max(0, most - taken - _RESERVE))
    return min(left, default=None)


def _available(meminfo: Path) -> int | None:
    try:
        lines = meminfo.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, rest = line.partition(":")
        if name == "MemAvailable":
            return int(rest.split()[0]) * 1024
    return None


def _left(group: Path) -> int | None:
    try:
        most, now = (group / "memory.max").read_text(), (group / "memory.current").read_text()
    except OSError:
        return None
    # The cache of the group's files can be given back, so that this is a lower bound.
    return None if most.strip() == "max" else max(0, int(most) - int(now))
