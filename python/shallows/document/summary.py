"""The `[summary]` section: by which sizes of messages results are grouped, and which percentiles they have.

As with `seeds`, the choice does not belong to a single run: with another choice the store has the same runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

from pydantic import Field, field_validator

from shallows.document.strict import Strict, read, refuse
from shallows.errors import Fault

__all__ = [
    "DEFAULT",
    "PERCENTILES",
    "SIZE_EDGES_BYTES",
    "Summary",
    "SummaryTable",
    "read_summary",
    "with_options",
]

SIZE_EDGES_BYTES = (0, 10_000, 100_000, 1_000_000, 10_000_000)
"""Lower edges of the size bins (low, high], the last one open: the bins of most data-centre papers."""

PERCENTILES = (50.0, 95.0, 99.0)
"""Percentiles that every summary has."""


@dataclass(frozen=True)
class Summary:
    """Lower edges of the size bins in bytes, the last bin open; and percentiles in per cent, rising."""

    edges: tuple[int, ...] = SIZE_EDGES_BYTES
    percentiles: tuple[float, ...] = PERCENTILES

    @property
    def quantiles(self) -> dict[str, float]:
        """Shares by the part of a metric's name: `p50` is 0.5, `p99_9` is 0.999."""
        return {f"p{each:g}".replace(".", "_"): each / 100 for each in self.percentiles}


DEFAULT = Summary()


class SummaryTable(Strict):
    """The grouping of results. It changes no run."""

    sizes: Annotated[list[str], Field(min_length=1)] | None = Field(
        None,
        description="Ends of the size bins, rising: a bin holds sizes up to its end, the last bin all above.",
    )
    percentiles: Annotated[list[float | int], Field(min_length=1)] | None = Field(
        None, description="Percentiles of completion times and slowdowns beside 50, 95 and 99."
    )

    @field_validator("sizes")
    @classmethod
    def _rise(cls, given: list[str] | None) -> list[str] | None:
        edges = [0, *map(_bytes, given or ())]
        if any(low >= high for low, high in pairwise(edges)):
            raise refuse("conflict", "must rise, from above zero", value=given)
        return given

    @field_validator("percentiles")
    @classmethod
    def _are_shares(cls, given: list[float | int] | None) -> list[float | int] | None:
        for each in given or ():
            if not 0 < each < 100:
                raise refuse("out-of-range", "must be greater than 0 and less than 100", value=each)
        return given


def _bytes(text: str) -> int:
    from shallows import _core

    try:
        return _core.parse_quantity("bytes", text)
    except ValueError as error:
        raise refuse("wrong-unit", f"must be amounts of data: {error}", value=text) from None


def read_summary(document: dict[str, Any], faults: list[Fault]) -> Summary:
    """Takes `[summary]` out of the document; without it the usual bins and percentiles."""
    given = document.pop("summary", None)
    if given is None:
        return DEFAULT
    table = read(SummaryTable, given, "summary", faults)
    if table is None:
        return DEFAULT
    edges = SIZE_EDGES_BYTES if table.sizes is None else (0, *map(_bytes, table.sizes))
    more = sorted({*PERCENTILES, *map(float, table.percentiles or ())})
    return Summary(edges, tuple(more))


def with_options(document: Mapping[str, Any], sizes: str | None, percentiles: str | None) -> dict[str, Any]:
    """The document with the choices of the command line, lists with commas, over its own."""
    own = document.get("summary")
    chosen = dict(own) if isinstance(own, dict) else {}
    if sizes is not None:
        chosen["sizes"] = [each.strip() for each in sizes.split(",")]
    if percentiles is not None:
        chosen["percentiles"] = [_number(each) for each in percentiles.split(",")]
    return {**document, "summary": chosen} if chosen else dict(document)


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text
