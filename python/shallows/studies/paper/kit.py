"""Helpers for figures of every paper: rows chosen by settings, compared, summarised and tabulated.

rows = Rows(runs.frame(seen))
rows.at(workers=30).change("mbps", {"title": "DT-CWA"}, {"title": "DCTCP"})
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from shallows.statistics.estimates import Estimate, mean_ci, paired_change, paired_difference

__all__ = ["Rows", "curve", "of", "percent", "samples", "table_of"]


def percent(estimate: Estimate) -> Estimate:
    """A fraction in per cent."""
    value, low, high, n = estimate
    return Estimate(100 * value, *(None if end is None else 100 * end for end in (low, high)), n)


def of(frame: pl.DataFrame, **which: Any) -> pl.DataFrame:
    """The rows with these values, in the order of their seeds."""
    # Series and no expressions: figures ask thousands of times, and a query costs more to plan than to run.
    for name, value in which.items():
        frame = frame.filter(frame[name] == value)
    return frame if frame["seed"].is_sorted() else frame.sort("seed", maintain_order=True)


def samples(frame: pl.DataFrame, column: str, **which: Any) -> np.ndarray:
    """A column of these rows, one sample a seed."""
    return of(frame, **which)[column].to_numpy()


def curve(
    frame: pl.DataFrame, column: str, x: str, by: str = "title", **which: Any
) -> dict[Any, dict[Any, Estimate]]:
    """`{series: {x: Estimate}}` for `figures.curves`; points without a value are left out."""
    mine = of(frame, **which)
    found: dict[Any, dict[Any, Estimate]] = {}
    for series in mine[by].unique(maintain_order=True):
        rows = of(mine, **{by: series})
        points = {value: of(rows, **{x: value})[column].drop_nulls() for value in rows[x].unique().sort()}
        found[series] = {value: mean_ci(each.to_numpy()) for value, each in points.items() if len(each)}
    return found


def table_of(frame: pl.DataFrame, columns: Sequence[str], keys: Sequence[str]) -> pl.DataFrame:
    """Means with intervals as text, a row for each combination of `keys`; a dash where there is none."""
    rows = []
    for combination in frame.select(keys).unique(maintain_order=True).iter_rows(named=True):
        mine = of(frame, **combination)
        known = {name: mine[name].drop_nulls().to_numpy() for name in columns}
        rows.append(combination | {n: str(mean_ci(v)) if len(v) else "-" for n, v in known.items()})
    return pl.DataFrame(rows)


class Rows:
    """Rows of runs with what figures do to them: chosen, compared with each other, summed up, tabled."""

    def __init__(self, frame: pl.DataFrame):
        self.frame = frame

    def __len__(self) -> int:
        return len(self.frame)

    def at(self, **which: Any) -> "Rows":
        """The rows with these values, in the order of their seeds."""
        return Rows(of(self.frame, **which))

    def samples(self, column: str, **which: Any) -> np.ndarray:
        """A column of these rows, one sample a seed."""
        return samples(self.frame, column, **which)

    def estimate(self, column: str, **which: Any) -> Estimate:
        """The mean over the seeds, with its interval."""
        return mean_ci(self.samples(column, **which))

    def difference(self, column: str, new: Mapping[str, Any], base: Mapping[str, Any]) -> Estimate:
        """A column of `new` less that of `base`, paired by seed."""
        return paired_difference(self.samples(column, **new), self.samples(column, **base))

    def change(self, column: str, new: Mapping[str, Any], base: Mapping[str, Any]) -> Estimate:
        """The relative change of a column from `base` to `new` in per cent, paired by seed."""
        return percent(paired_change(self.samples(column, **new), self.samples(column, **base)))

    def curve(self, column: str, x: str, by: str = "title") -> dict[Any, dict[Any, Estimate]]:
        """`{series: {x: Estimate}}` for `figures.curves`."""
        return curve(self.frame, column, x, by)

    def table(self, columns: Sequence[str], keys: Sequence[str]) -> pl.DataFrame:
        """Means with intervals as text, a row for each combination of `keys`."""
        return table_of(self.frame, columns, keys)
