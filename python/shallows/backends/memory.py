"""How much memory the machine can still give."""

from __future__ import annotations

from pathlib import Path

__all__ = ["free_memory"]

_OF_ALL = Path("/proc/meminfo")
_OF_GROUP = Path("/sys/fs/cgroup")


def free_memory(of_all: Path = _OF_ALL, of_group: Path = _OF_GROUP) -> int | None:
    """Bytes that a program can take before the machine swaps or kills; None if unknown.

    Linux: `MemAvailable` (proc(5)), and the rest of a control group's limit (cgroup v2, `memory.max`).
    """
    found = [bytes_ for bytes_ in (_available(of_all), _left(of_group)) if bytes_ is not None]
    return min(found, default=None)


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
