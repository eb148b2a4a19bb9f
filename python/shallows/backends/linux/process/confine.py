"""A limit that the host's kernel sets: a machine writes to its own directory and nowhere else.

Programs in a machine have no way to the host's files by the guest's own rules. This is the second wall, which
stands where the host has Landlock (Linux 5.13 and later; landlock(7)). It needs no privileges.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["available", "to"]

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""System calls, of the same number on every architecture (asm-generic/unistd.h)."""

_PR_SET_NO_NEW_PRIVS = 38
_VERSION = 1
_PATH_BENEATH = 1

# linux/landlock.h: all that changes files, by the version of the interface that brought it.
_WRITE_FILE = 1 << 1
_CHANGES = {1: _WRITE_FILE | sum(1 << bit for bit in range(4, 13)), 2: 1 << 13, 3: 1 << 14}
_TRUNCATE = 1 << 14

_DEVICES = ("/dev/null", "/dev/zero")

_LIBC = ctypes.CDLL(None, use_errno=True)


def available() -> bool:
    """Whether the host's kernel has Landlock."""
    return _version() >= 1


@contextmanager
def to(directory: Path) -> Iterator[Callable[[], None]]:
    """A function for a child process before it starts a program: from there on it writes only in `directory`.

    Where the host has no Landlock it does nothing.
    """
    version = _version()
    if version < 1:
        yield lambda: None
        return
    handled = sum(rights for since, rights in _CHANGES.items() if since <= version)
    rules = _call(_CREATE_RULESET, struct.pack("=Q", handled), 8, 0)
    try:
        _allow(rules, directory, handled)
        for device in _DEVICES:
            _allow(rules, Path(device), handled & (_WRITE_FILE | _TRUNCATE))
        yield lambda: _restrict(rules)
    finally:
        os.close(rules)


def _version() -> int:
    return int(_LIBC.syscall(_CREATE_RULESET, None, 0, _VERSION))


def _allow(rules: int, path: Path, rights: int) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        _call(_ADD_RULE, rules, _PATH_BENEATH, struct.pack("=Qi", rights, place), 0)
    finally:
        os.close(place)


def _restrict(rules: int) -> None:
    _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _call(_RESTRICT_SELF, rules, 0)


def _call(number: int, *arguments: int | bytes) -> int:
    result = int(_LIBC.syscall(number, *arguments))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"Landlock: {os.strerror(error)}")
    return result
