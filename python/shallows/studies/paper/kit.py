"""The kit of figures: rows of runs, chosen by settings, compared, summarised and tabulated.

rows = Rows(runs.frame(seen))
rows.at(workers=30).change("mbps", {"title": "DT-CWA"}, {"title": "DCTCP"})
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from shallows.statistics.estimates import Estimate, mean_ci, paired_change, paired_difference

__all__ = ["Rows", "percent"]


def percent(estimate: Estimate) -> Estimate:
    """A fraction in per cent."""
    value, low, high, n = estimate
    return Estimate(100 * value, *(None if end is None else 100 * end for end in (low, high)), n)


class Rows:
    """Rows of runs, as `Runs.frame` gives them: a column `seed`, settings, and measured columns.

    `which` chooses rows by values of columns, such as `title="DCTCP", workers=30`. Samples are one a seed, in
    the order of the seeds. Units are those of the columns.
    """

    def __init__(self, frame: pl.DataFrame):
        self.frame = frame

    def __len__(self) -> int:
        return len(self.frame)

    def at(self, **which: Any) -> "Rows":
        """The rows with these values, in the order of their seeds."""
        # Series, not expressions: figures ask thousands of times, and a query costs more to plan than to run.
        frame = self.frame
        for name, value in which.items():
            frame = frame.filter(frame[name] == value)
        return Rows(frame if frame["seed"].is_sorted() else frame.sort("seed", maintain_order=True))

    def samples(self, column: str, **which: Any) -> np.ndarray:
        """A column of these rows, one sample a seed."""
        return self.at(**which).frame[column].to_numpy()

    def estimate(self, column: str, **which: Any) -> Estimate:
        """The mean over the seeds, with its interval. Error: ValueError if a sample is missing."""
        return mean_ci(self.samples(column, **which))

    def by(self, column: str, key: str, **which: Any) -> dict[Any, Estimate]:
        """The mean over the seeds for each value of `key`, ascending. Error: as `estimate`."""
        mine = self.at(**which)
        return {value: mine.estimate(column, **{key: value}) for value in mine.frame[key].unique().sort()}

    def curve(self, column: str, x: str, by: str = "title", **which: Any) -> dict[Any, dict[Any, Estimate]]:
        """`{series: {x: Estimate}}` for `figures.curves`; samples without a value are left out."""
        mine = self.at(**which)
        found: dict[Any, dict[Any, Estimate]] = {}
        for series in mine.frame[by].unique(maintain_order=True):
            rows = mine.at(**{by: series})
            values = rows.frame[x].unique().sort()
            points = {value: rows.at(**{x: value}).frame[column].drop_nulls() for value in values}
            found[series] = {value: mean_ci(each.to_numpy()) for value, each in points.items() if len(each)}
        return found

    def difference(self, column: str, new: Mapping[str, Any], base: Mapping[str, Any]) -> Estimate:
        """A column of `new` less that of `base`, paired by seed."""
        return paired_difference(self.samples(column, **new), self.samples(column, **base))

    def change(self, column: str, new: Mapping[str, Any], base: Mapping[str, Any]) -> Estimate:
        """The relative change of a column from `base` to `new` in per cent, paired by seed."""
        return percent(paired_change(self.samples(column, **new), self.samples(column, **base)))

    def table(self, columns: Sequence[str], keys: Sequence[str]) -> pl.DataFrame:
        """Means with intervals as text, a row for each combination of `keys`; a dash where there is none."""
        rows = []
        for combination in self.frame.select(keys).unique(maintain_order=True).iter_rows(named=True):
            mine = self.at(**combination).frame
            known = {name: mine[name].drop_nulls().to_numpy() for name in columns}
            rows.append(combination | {n: str(mean_ci(v)) if len(v) else "-" for n, v in known.items()})
        return pl.DataFrame(rows)
