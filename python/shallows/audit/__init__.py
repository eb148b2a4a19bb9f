"""`./shallows audit`: a second reading of the rules, over the recorded packets of a run.

Nothing here is shared with the core: neither code, nor names, nor constants. A test holds that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from shallows.audit.rule import RULES, Breach, Runs
from shallows.audit.trace import Trace

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Outcome", "Rejected", "audit"]

for _module in iter_modules(__path__):  # Each module lists its rules.
    import_module(f"{__name__}.{_module.name}")


@dataclass(frozen=True)
class Rejected:
    """A rule that a run breaks, its source, and the first place."""

    rule: str
    source: str
    breach: Breach

    def __str__(self) -> str:
        """One line."""
        what, time, place, rows = self.breach
        return f"{self.rule}: {place} at {time} ps: {what} ({rows} times; {self.source})"


@dataclass(frozen=True)
class Outcome:
    """Result of an audit: rules broken, rules applied, and parts not audited, with the reason.

    `parted` has the standards from which a run of the kernel parts, of the number `standards`.
    """

    rejected: tuple[Rejected, ...]
    rules: int
    packets: int
    unaudited: Mapping[str, str]
    parted: tuple[Rejected, ...] = ()
    standards: int = 0


OUTSIDE = {
    "rates": "the audit has no law of the rates of D3, BBR and other paced controls",
    "windows of other controls": "the audit has no law of Copa and others",
    "probes": "the audit has no rule for loss probes, nor for how much RACK sends",
    "switch headers": "no trace has the headers of protocols with explicit feedback; RCP, SDC and RACS are"
    " judged by what they do to their senders",
}
"""Parts that no rule covers."""


KERNEL = {
    "windows": "the kernel's windows are sampled, so that no rule follows each of their changes",
    "drops": "a capture has no drop: packets that came, did not leave and were overtaken are lost",
    "timers": "a capture has what a host sends, and not when the kernel decided to send it",
}
"""Parts of the kernel's runs that captures do not show."""


def audit(
    tables: Mapping[str, pl.DataFrame], experiment: Mapping[str, Any], on_linux: bool = False
) -> Outcome:
    """Holds the tables of a run with `probe.audit` against all rules. `experiment` is resolved.

    A run `on_linux` may break rules, and may part from standards, which is no fault.
    """
    trace = Trace(tables, experiment, on_linux)
    chosen = [each for each in RULES if each.judges(on_linux)]
    found = [
        (each, Rejected(each.name, each.source, breach))
        for each in chosen
        for breach in each.check(trace) or ()
    ]
    rejected, parted = (
        tuple(one for each, one in found if (each.runs is Runs.STANDARD) == standard)
        for standard in (False, True)
    )
    asked = sum(each.runs is Runs.STANDARD for each in chosen)
    outside = KERNEL if on_linux else OUTSIDE
    packets = len(tables["packets"])
    return Outcome(rejected, len(chosen) - asked, packets, {**trace.unaudited, **outside}, parted, asked)
