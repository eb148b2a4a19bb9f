"""Notebook displays of experiments and results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from shallows.document.paths import flatten
from shallows.terminal import readable, show

if TYPE_CHECKING:
    from shallows.results.store import StoredRun

__all__ = ["of_experiment", "of_run", "of_sweep", "table"]

MOST_ROWS = 40
"""The rows of a table that are shown; further ones are only counted."""


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table; quantities are shown in a unit of their size, by the unit in their column's name."""
    rows = list(rows)
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = []
    for row in rows[:MOST_ROWS]:
        cells = (readable(name, value) for name, value in zip(columns, row, strict=True))
        body.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    more = f"<p>and {len(rows) - MOST_ROWS} more</p>" if len(rows) > MOST_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>{more}"


def of_run(run: StoredRun) -> str:
    """Title, summary, the busiest queues."""
    metrics = {name: value for name, value in run.metrics.items() if value is not None}
    rows = [(name, readable(name, value)) for name, value in metrics.items()]
    queues = run.tables["queues"].filter(run.tables["queues"]["is_switch"] == 1)
    queues = queues.sort(["utilisation", "port"], descending=[True, False]).head(5)
    columns = ["port", "utilisation", "mean_packets", "p99_packets", "mean_wait_ps", "drops", "marks"]
    title = escape(run.experiment.get("title") or "Run") + f" <small>seed {run.seed}, {run.hash}</small>"
    summary = f"<details><summary>{len(rows)} metrics</summary>{table(('metric', 'value'), rows)}</details>"
    return f"<h4>{title}</h4>{table(columns, queues.select(columns).iter_rows())}{summary}"


def of_sweep(sweep: Sequence[Any]) -> str:
    """Outcomes (`shallows.Sweep`), one row a run: varied settings, and columns of every run."""
    from shallows.tables.metrics import SWEEP_COLUMNS

    names = list(dict.fromkeys(name for outcome in sweep for name in outcome.point.params))
    rows = []
    for outcome in sweep:
        row = [show(outcome.point.params.get(name)) for name in names] + [outcome.point.seed, outcome.status]
        rows.append(row + [(outcome.metrics or {}).get(name) for name in SWEEP_COLUMNS])
    errors = dict.fromkeys(outcome.error for outcome in sweep if outcome.error)
    told = "".join(f"<pre>{escape(error)}</pre>" for error in errors)
    return f"<h4>{len(sweep)} runs</h4>{table([*names, 'seed', 'status', *SWEEP_COLUMNS], rows)}{told}"


def of_experiment(document: Mapping[str, Any]) -> str:
    """Its settings as written, by section."""
    rows = [(path, show(value)) for path, value in flatten(document)]
    title = escape(str(document.get("title") or "Experiment"))
    return f"<h4>{title}</h4>{table(('setting', 'value'), rows)}"
