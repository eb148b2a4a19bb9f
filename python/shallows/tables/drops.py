"""The causes of dropped packets, as the core lists them (`packet/fate.rs`), and their columns."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from shallows.document.schema import schema

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Cause", "causes", "with_total"]

STEM = "drops_"


class Cause(NamedTuple):
    """A cause: its column, the place of the loss (`port` or `wire`), and the cause in words."""

    column: str
    at: str
    why: str

    @property
    def meaning(self) -> str:
        """The meaning of the column."""
        return f"of `packets_out`, lost {self.why}" if self.at == "wire" else f"dropped {self.why}"

    @property
    def name(self) -> str:
        """The cause in one word, such as `full`."""
        return self.column.removeprefix(STEM)


@cache
def causes(at: str = "") -> tuple[Cause, ...]:
    """Every cause in the order of the columns, or those at the `port` or on the `wire`."""
    known = (Cause(**each) for each in schema()["drop_causes"])
    return tuple(cause for cause in known if at in ("", cause.at))


def with_total(frame: pl.DataFrame) -> pl.DataFrame:
    """A table of queues with the column `drops`, which older stored runs lack, and each cause's column.

    A release that lacks a cause counted no packet under it.
    """
    import polars as pl

    if STEM + "full" not in frame.columns:
        return frame
    at = "" if STEM + "wire" in frame.columns else "port"
    columns = [cause.column for cause in causes(at)]
    whole = frame.with_columns(
        pl.lit(0, pl.UInt64).alias(column) for column in columns if column not in frame.columns
    )
    if "drops" in frame.columns:
        return whole
    return whole.with_columns(pl.sum_horizontal(columns).cast(pl.UInt64).alias("drops"))
