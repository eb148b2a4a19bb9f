"""Goodput over time from `flow_trace`: of each flow, of several together, and by batches of one long run."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from shallows.tables.metrics import Tables

__all__ = ["BATCHES", "batch_mbps", "delivered", "goodput_curves", "total_gbps"]

BATCHES = 9
"""Parts of the time after the warm-up, whose means are nearly independent if each part is much longer than
the slowest swing. Law and Kelton, Simulation Modeling and Analysis, section 9.5.3."""


def delivered(tables: Tables, name: str, step_s: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """The delivery of each flow of a class: instants in s, multiples of `step_s`, and bytes until then.

    Only instants of the trace count: `probe.flow_trace` must divide `step_s`.
    """
    chosen = tables["flows"].filter(pl.col("class") == name)["id"].to_numpy()
    trace = tables["flow_trace"]
    flow, time_ps = trace["flow"].to_numpy(), trace["time_ps"].to_numpy()
    rows = np.flatnonzero(np.isin(flow, chosen) & (time_ps % int(step_s * 1e12) == 0))
    rows = rows[np.lexsort((time_ps[rows], flow[rows]))]
    seconds, data = time_ps[rows] / 1e12, trace["arrived_bytes"].to_numpy()[rows].astype(float)
    begins = np.flatnonzero(np.diff(flow[rows])) + 1
    return list(zip(np.split(seconds, begins), np.split(data, begins), strict=True)) if len(rows) else []


def goodput_curves(tables: Tables, name: str, step_s: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """The goodput of each flow of a class: ends of intervals of `step_s` in s, and Mb/s in each."""
    return [(t[1:], np.diff(b) * 8e-6 / np.diff(t)) for t, b in delivered(tables, name, step_s) if len(t) > 1]


def batch_mbps(tables: Tables, name: str, batches: int = BATCHES) -> np.ndarray | None:
    """The mean goodput of a flow of a class in each batch, in Mb/s; None without such flows.

    Batches are equal parts of the time of the statistics. The trace needs instants at whole seconds.
    """
    flows = delivered(tables, name, 1)
    if not flows:
        return None
    end_s: Any = tables["flow_trace"]["time_ps"].max()
    over_s: Any = tables["queues"]["over_ps"].max()
    end_s, over_s = end_s / 1e12, over_s / 1e12
    edges = np.linspace(end_s - over_s, end_s, batches + 1)
    total = sum(np.interp(edges, t, b) for t, b in flows)
    return np.diff(total) * 8e-6 / np.diff(edges) / len(flows)


def total_gbps(
    tables: Tables, classes: Sequence[str] = (), traffic: str = "", step_us: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the trace's intervals in us, and the payload of flows together that arrives in each in Gb/s.

    The flows of these classes and of this load; by default all. `step_us`: only instants that are its
    multiples; 0: every instant of the trace.
    """
    flows = tables["flows"]
    if classes:
        flows = flows.filter(pl.col("class").is_in(list(classes)))
    if traffic:
        flows = flows.filter(pl.col("traffic") == traffic)
    mine = tables["flow_trace"].filter(pl.col("flow").is_in(flows["id"].implode()))
    if step_us:
        mine = mine.filter(pl.col("time_ps") % int(step_us * 1e6) == 0)
    total = mine.group_by("time_ps").agg(pl.col("arrived_bytes").sum()).sort("time_ps")
    times = total["time_ps"].to_numpy().astype(float)
    bits = 8e3 * np.diff(total["arrived_bytes"].to_numpy().astype(float))
    return times[1:] / 1e6, bits / np.diff(times)
