"""Congestion window, alpha and smoothed round-trip time of chosen flows over time, from `flow_trace`."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from shallows.figures import style
from shallows.tables.metrics import Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANELS = {
    "cwnd_bytes": ("cwnd (KB)", 1e-3),
    "alpha": ("alpha", 1.0),
    "pacing_bps": ("pacing rate (Gb/s)", 1e-9),
    "srtt_ps": ("smoothed RTT (us)", 1e-6),
    "flight_bytes": ("in flight (KB)", 1e-3),
    "ssthresh_bytes": ("ssthresh (KB)", 1e-3),
}
"""Columns that can be drawn, each with its axis label and factor from the column's unit."""


class FlowTime(NamedTuple):
    """Per panel and per flow label: instants in ms and values in the unit of the panel's label."""

    panels: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]]


def info(
    tables: Tables,
    columns: Iterable[str] = ("cwnd_bytes", "alpha", "srtt_ps"),
    flows: Iterable[int] | None = None,
    from_ms: float = 0.0,
    to_ms: float = np.inf,
) -> FlowTime:
    """Traces of `flows` (default: the first of each class) in [from, to].

    A column without a value has no panel, as the window of a control that has none.
    Errors: no trace of a flow; a column that is not in `PANELS`.
    """
    classes = dict(tables["flows"].select("id", "class").rows())
    if flows is None:
        flows = tables["flows"].group_by("class").agg(pl.col("id").min()).sort("class")["id"]
    panels: dict[str, dict] = {column: {} for column in columns}
    for flow in flows:
        time_ms = pl.col("time_ps") / 1e9
        trace = tables["flow_trace"].filter((pl.col("flow") == flow) & time_ms.is_between(from_ms, to_ms))
        if trace.is_empty():
            raise ValueError(f"no trace of flow {flow}: set probe.flow_trace")
        for column, lines in panels.items():
            _, factor = PANELS[column]
            values = trace.filter(pl.col(column).is_not_null())
            lines[f"{classes[flow]}, flow {flow}"] = (
                values["time_ps"].to_numpy() / 1e9,
                values[column].to_numpy() * factor,
            )
    some = {column: lines for column, lines in panels.items() if any(len(x) for x, _ in lines.values())}
    return FlowTime(some or panels)


@style.styled
def draw(info: FlowTime) -> "Figure":
    """One panel a quantity, one colour a flow."""
    rows = len(info.panels)
    figure, axes = style.canvas(rows=rows, height_inch=0.7 + 1.2 * rows, sharex=True)
    for ax, (column, lines) in zip(axes, info.panels.items(), strict=True):
        for k, (label, (time_ms, values)) in enumerate(lines.items()):
            ax.plot(time_ms, values, color=style.colour(k, label), label=label, linewidth=0.8)
        ax.set(ylabel=PANELS[column][0])
        ax.set_ylim(bottom=0)
    style.time_axis(axes[-1])
    handles, labels = axes[0].get_legend_handles_labels()
    style.legend_outside(figure, dict(zip(labels, handles, strict=True)), "upper center", most=3)
    return figure
