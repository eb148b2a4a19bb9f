"""`./shallows audit`: a second reading of the rules, over the recorded packets of a run.

Nothing here is shared with the core: neither code, nor names, nor constants. A test holds that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shallows.audit import (  # noqa: F401  Each module lists its rules.
    buffers,
    controllers,
    delays,
    explicit,
    loads,
    overloads,
    rates,
    recovery,
    repair,
    resuming,
    rules,
    windows,
)
from shallows.audit.rule import RULES, Breach
from shallows.audit.trace import Trace

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Outcome", "Rejected", "audit"]


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
    """Result of an audit: rules broken, rules applied, and parts not audited, with the reason."""

    rejected: tuple[Rejected, ...]
    rules: int
    packets: int
    unaudited: Mapping[str, str]


OUTSIDE = {
    "rates": "the audit has no law of the rates of D3, BBR and other paced controls",
    "windows of other controls": "the audit has no law of Copa and others",
    "probes": "the audit has no rule for loss probes, nor for the pipe of RACK",
    "switch headers": "no trace has the headers of protocols with explicit feedback; RCP, SDC and RACS are"
    " judged by what they do to their senders",
}
"""Parts that no rule covers."""


def audit(tables: Mapping[str, pl.DataFrame], experiment: Mapping[str, Any]) -> Outcome:
    """Holds the tables of a run with `probe.audit` against all rules. `experiment` is resolved."""
    trace = Trace(tables, experiment)
    found = [Rejected(r.name, r.source, breach) for r in RULES for breach in r.check(trace) or ()]
    return Outcome(tuple(found), len(RULES), len(tables["packets"]), {**trace.unaudited, **OUTSIDE})
