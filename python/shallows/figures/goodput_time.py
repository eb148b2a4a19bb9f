"""Goodput over time: of flows from `flow_trace`, or arrivals of each class at a port from `port_trace`."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from shallows.figures import style
from shallows.tables.metrics import Tables, bottleneck_port

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class GoodputTime(NamedTuple):
    """Per label: ends of the intervals in ms and the mean rate in each, in Gbit/s."""

    series: dict[str, tuple[np.ndarray, np.ndarray]]
    label: str


def info(tables: Tables, flows: Iterable[int] | None = None, bin_ms: float = 1.0) -> GoodputTime:
    """Bytes of each flow (default: all traced) that arrived in each bin of at least one trace interval.

    Bytes count as they arrive, in order or not, each once. So a repaired hole causes no peak.
    """
    trace = tables["flow_trace"]
    chosen = sorted(trace["flow"].unique()) if flows is None else flows
    series = {}
    for flow in chosen:
        rows = trace.filter(pl.col("flow") == flow).sort("time_ps")
        bins = -(-rows["time_ps"].to_numpy() // int(bin_ms * 1e9))  # an interval ends with its last instant
        last = np.flatnonzero(np.diff(bins, append=bins[-1:] + 1))
        series[f"flow {flow}"] = _rates(
            rows["time_ps"].to_numpy()[last], rows["arrived_bytes"].to_numpy()[last]
        )
    return GoodputTime(series, "goodput (Gbit/s)")


def arrivals(tables: Tables, port: str | None = None) -> GoodputTime:
    """Bytes on the wire of each class that arrived at `port` (default: the busiest switch port)."""
    name = port or bottleneck_port(tables["queues"])
    trace = tables["port_trace"].filter(pl.col("port") == (name or ""))
    series = {}
    for label in trace["class"].unique().sort():
        rows = trace.filter(pl.col("class") == label).sort("time_ps")
        time_ps = np.concatenate([[0], rows["time_ps"].to_numpy()])
        series[label] = _rates(time_ps, np.concatenate([[0], rows["bytes_in"].cum_sum().to_numpy()]))
    return GoodputTime(series, "arrivals (Gbit/s)")


def _rates(time_ps: np.ndarray, total_bytes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    time_ps = time_ps.astype(np.int64)
    spans_ns = np.diff(time_ps) / 1e3
    return time_ps[1:] / 1e9, np.diff(total_bytes.astype(np.int64)) * 8 / spans_ns


@style.styled
def draw(info: GoodputTime) -> "Figure":
    """Steps that end with their interval, one colour a series."""
    figure, (ax,) = style.canvas()
    for k, (label, (time_ms, gbps)) in enumerate(info.series.items()):
        ax.plot(time_ms, gbps, drawstyle="steps-pre", color=style.colour(k, label), label=label)
    ax.set(ylabel=info.label)
    style.time_axis(ax)
    ax.set_ylim(bottom=0)
    style.legend(ax, loc="best", ncols=2)
    return figure
