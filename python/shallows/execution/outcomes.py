"""The outcomes of a sweep, as a sequence and as tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from shallows.document.points import Point
from shallows.execution.jobs import Outcome
from shallows.results.notebook import of_sweep
from shallows.tables.seeds import alike, over_seeds

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Sweep"]


class Sweep(Sequence[Outcome]):
    """The outcomes of a sweep, in the file's order, seeds fastest."""

    def __init__(self, outcomes: Sequence[Outcome]):
        self._outcomes = list(outcomes)

    def __len__(self) -> int:
        return len(self._outcomes)

    def __getitem__(self, index: Any) -> Any:
        return self._outcomes[index]

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row a run: `label`, the varied settings, `seed`, `status`, metrics with units in names.

        A single point has no label.
        """
        import polars as pl

        rows = []
        for outcome in self:
            about = {"seed": outcome.point.seed, "status": outcome.status}
            rows.append(_labelled(outcome.point) | about | (outcome.metrics or {}))
        return pl.DataFrame(rows, infer_schema_length=None)

    @property
    def failed(self) -> list[Outcome]:
        """Those that failed; each has its `error`."""
        return [outcome for outcome in self if outcome.error]

    def over_seeds(self) -> pl.DataFrame:
        """One row a point: each metric's mean over its seeds with its 95 % interval (`_low`, `_high`).

        `independent` is the number of runs that count: 1, and no interval, where the seeds change nothing.
        """
        import polars as pl

        points: dict[str, list[Outcome]] = {}
        for outcome in self:
            if outcome.metrics is not None:
                points.setdefault(repr((outcome.point.label, outcome.point.params)), []).append(outcome)
        rows = []
        for outcomes in points.values():
            metrics = [one.metrics for one in outcomes if one.metrics]
            row = _labelled(outcomes[0].point)
            row |= {"seeds": len(outcomes), "independent": 1 if alike(metrics) else len(outcomes)}
            for name, estimate in over_seeds(metrics).items():
                row |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
            rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)

    def to_pandas(self) -> Any:
        """`frame` for pandas, which must be installed."""
        return self.frame.to_pandas()

    def to_arrow(self) -> Any:
        """`frame` for pyarrow, which must be installed."""
        return self.frame.to_arrow()

    def _repr_html_(self) -> str:
        return of_sweep(self)


def _labelled(point: Point) -> dict[str, Any]:
    """The label of a point, if it has one, and its settings as cells of a table."""
    label = {"label": point.label} if point.label else {}
    return label | {k: json.dumps(v) if isinstance(v, list | dict) else v for k, v in point.params.items()}
