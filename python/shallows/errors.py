"""Every error that Shallows raises on purpose, under one root.

The command line turns `SpecError` into exit status 2, `Interrupted` into 130 and the others into 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from shallows.words import shorten, show

__all__ = [
    "NOTHING",
    "Cancelled",
    "DamagedRun",
    "Fault",
    "FigureError",
    "FileWarning",
    "Interrupted",
    "OtherFormat",
    "PluginError",
    "RunError",
    "ShallowsError",
    "SpecError",
    "StoreError",
    "TimedOut",
    "UsageError",
    "Written",
    "read_fault",
]


class ShallowsError(Exception):
    """Root of all errors raised on purpose."""


class Written(str):
    """The text of a value, which a fault prints as it is: from the checker in Rust, or for several values."""

    __slots__ = ()


_MOST = {"path": 1000, "rule": 4000, "value": 1000, "hint": 1000}
"""The most characters of a fault's parts."""

NOTHING = Written("")
"""The value of a fault at which no value is wrong, such as a key that is missing."""


@dataclass(frozen=True, order=True)
class Fault:
    """A rule that the input breaks: where, which rule, the value as written, and what might be meant.

    `value` is given as the value itself, and kept as its text: JSON, as the checker in Rust prints it.
    `code` is a stable word for programs: `unknown-key`, `missing`, `out-of-range` ...; see the reference.
    """

    path: str
    rule: str
    value: Any = NOTHING
    hint: str = ""
    code: str = "invalid"

    def __post_init__(self) -> None:
        if not isinstance(self.value, Written):
            object.__setattr__(self, "value", Written(show(self.value)))
        # Names come from files, whose keys and headers may have a million characters.
        for part, most in _MOST.items():
            text = getattr(self, part)
            if len(text) > most:
                object.__setattr__(self, part, type(text)(shorten(text, most)))

    def __str__(self) -> str:
        """One line, as the Rust checker prints it."""
        text = f"{self.path}: {self.rule}" if self.path else self.rule
        if self.value:
            text += f", got {self.value}"
        return f"{text} ({self.hint})" if self.hint else text


def read_fault(given: Fault | Mapping[str, Any] | Iterable[str]) -> Fault:
    """A fault from its fields, as the checker in Rust gives them: its value is text already."""
    if isinstance(given, Fault):
        return given
    if not isinstance(given, Mapping):
        given = dict(zip(("path", "rule", "value", "hint", "code"), given, strict=False))
    return Fault(**{**given, "value": Written(given.get("value", ""))})


class SpecError(ShallowsError):
    """The input is wrong. `faults` holds every fault found, not the first only; nothing was run."""

    def __init__(self, faults: Iterable[Fault | Mapping[str, Any] | Iterable[str]]):
        self.faults: list[Fault] = list(dict.fromkeys(map(read_fault, faults)))
        super().__init__("\n".join(map(str, self.faults)))


class UsageError(ShallowsError):
    """A command line that cannot be read: an unknown option, an argument that is missing."""


class RunError(ShallowsError):
    """A run that was started did not end as it should."""


class Cancelled(RunError):
    """A run was stopped on request."""


class TimedOut(RunError):
    """A run took longer than its limit."""


class PluginError(RunError):
    """A component in Python returned an impossible value. Its own exceptions propagate unchanged."""


class FigureError(RunError):
    """A function of a figure.py raised an exception, or returned an impossible value.

    `traceback` is Python's text of the exception, or empty.
    """

    def __init__(self, what: str, traceback: str = ""):
        super().__init__(what)
        self.traceback = traceback


class FileWarning(UserWarning):
    """A file has something that its experiment has not."""


class Interrupted(ShallowsError):
    """The user stopped the work (Ctrl-C). Finished runs are stored.

    `signal` is the number of the signal that asked for it. Commands end with status 128 + `signal`, as shells
    report a process that a signal ended.
    """

    def __init__(self, what: str, signal: int = 2):
        super().__init__(what)
        self.signal = signal


class StoreError(ShallowsError):
    """The store of runs cannot be read or written."""


class DamagedRun(StoreError):
    """A stored run is not as it was written: the disk lost something, or somebody changed it."""


class OtherFormat(StoreError):
    """A stored run was written by a release that stores runs in another way."""
