"""The remains of programs' runs: outputs, ends, tables and notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shallows.errors import Interrupted, RunError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Broken", "Ended", "Outcome", "Stopped"]

NOT_FINISHED = 124
"""The exit status of a run in which a program that was waited for had not ended, as that of timeout(1)."""


@dataclass(frozen=True)
class Ended:
    """A program after the run: its exit status or the signal that ended it, and what it wrote."""

    host: str
    command: str
    status: int | None
    signal: int | None
    stopped: bool  # at the end of the run, which it had not reached by itself
    ended_s: float | None
    stdout: bytes
    stderr: bytes
    server: bool = False  # for which the run does not wait

    @property
    def failed(self) -> bool:
        """Whether it ended by itself and not with 0."""
        return not self.stopped and self.status != 0

    @property
    def unfinished(self) -> bool:
        """Whether the run was to wait for it, and ended before."""
        return self.stopped and not self.server


@dataclass(frozen=True)
class Outcome:
    """The remains of a run of programs. Of one that broke there are no tables, and `error` says why."""

    programs: tuple[Ended, ...]
    queues: pl.DataFrame | None
    flows: pl.DataFrame | None
    ended_s: float | None
    about: dict[str, Any]
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    """Further tables by name: `program_flows`, and those of probes that were asked for."""

    notes: tuple[str, ...] = ()
    orphans: tuple[tuple[str, str], ...] = ()
    """Processes that programs left behind: host and command."""

    error: str | None = None

    @property
    def status(self) -> int:
        """1 if the run broke or a program failed, 124 if one is unfinished, else 0."""
        if self.error is not None or any(each.failed for each in self.programs):
            return 1
        return NOT_FINISHED if any(each.unfinished for each in self.programs) else 0


class Broken(RunError):
    """A machine that did not reach the end of its run. `outcome` has what programs wrote until then."""

    def __init__(self, why: str, outcome: Outcome):
        super().__init__(why)
        self.outcome = outcome


class Stopped(Interrupted):
    """A run of programs that the user stopped. `outcome` has what programs wrote until then."""

    def __init__(self, why: str, outcome: Outcome):
        super().__init__(why)
        self.outcome = outcome
