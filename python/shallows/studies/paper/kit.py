"""What figures of every paper need of their runs: rows chosen by settings, compared, summed up and tabled.

rows = Rows(runs.frame(seen))
rows.at(workers=30).change("mbps", {"title": "DT-CWA"}, {"title": "DCTCP"})
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from shallows.statistics.estimates import (
    Estimate,
    mean_ci,
    paired_change,
    paired_difference,
    paired_ratio,
)

__all__ = ["Rows", "percent"]


def percent(estimate: Estimate) -> Estimate:
    """A fraction in per cent."""
    value, low, high, n = estimate
    return Estimate(100 * value, *(None if end is None else 100 * end for end in (low, high)), n)


class Rows:
    """One row a run: what the sweep varied, the seed, and what was made of the run's tables."""

    def __init__(self, frame: pl.DataFrame):
        self.frame = frame

    def __len__(self) -> int:
        return len(self.frame)

    def __contains__(self, which: Mapping[str, Any]) -> bool:
        return len(self.at(**which)) > 0

    def at(self, **which: Any) -> "Rows":
        """The rows with these values, in the order of their seeds."""
        chosen = [pl.col(name) == value for name, value in which.items()]
        return Rows(self.frame.filter(*chosen).sort("seed", maintain_order=True))

    def values(self, column: str) -> list[Any]:
        """The distinct values of a column, in the order of their first rows."""
        return self.frame[column].unique(maintain_order=True).to_list()

    def samples(self, column: str, **which: Any) -> np.ndarray:
        """A column of these rows, one sample a seed."""
        return self.at(**which).frame[column].to_numpy()

    def estimate(self, column: str, **which: Any) -> Estimate:
        """The mean over the seeds, with its interval."""
        return mean_ci(self.samples(column, **which))

    def difference(self, column: str, new: Mapping[str, Any], base: Mapping[str, Any]) -> Estimate:
        """A column of `new` less that of `base`, paired by seed."""
        return paired_difference(self.samples(column, **new), self.samples(column, **base))

    def change(self, column: str, new: Mapping[str, Any], base: Mapping[str, Any]) -> Estimate:
        """The relative change of a column from `base` to `new` in per cent, paired by seed."""
        return percent(paired_change(self.samples(column, **new), self.samples(column, **base)))

    def ratio(self, column: str, new: Mapping[str, Any], base: Mapping[str, Any]) -> Estimate:
        """A column of `new` over that of `base`: the geometric mean over seeds."""
        return paired_ratio(self.samples(column, **new), self.samples(column, **base))

    def curve(self, column: str, x: str, by: str) -> dict[Any, dict[Any, Estimate]]:
        """`{series: {x: Estimate}}` for `figures.curves`; points without a value are left out."""
        found: dict[Any, dict[Any, Estimate]] = {}
        for series in self.values(by):
            mine = self.at(**{by: series})
            points = {
                value: mine.at(**{x: value}).frame[column].drop_nulls() for value in sorted(mine.values(x))
            }
            found[series] = {value: mean_ci(each.to_numpy()) for value, each in points.items() if len(each)}
        return found

    def table(
        self, columns: Sequence[str], keys: Sequence[str], text: Callable[[Estimate], str] = str
    ) -> pl.DataFrame:
        """Means with intervals as text, a row for each combination of `keys`; a dash where there is none."""
        rows = []
        for combination in self.frame.select(keys).unique(maintain_order=True).iter_rows(named=True):
            mine = self.at(**combination).frame
            known = {name: mine[name].drop_nulls().to_numpy() for name in columns}
            rows.append(combination | {n: text(mean_ci(v)) if len(v) else "-" for n, v in known.items()})
        return pl.DataFrame(rows)
