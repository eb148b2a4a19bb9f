"""Numbers that a criterion takes from a run's traces, where no metric of the whole run shows them.

Each is a pure function of the tables (docs/reference/tables.md). `flow_trace` gives rates at the receivers,
`port_trace` packets at a port, `flows` reductions of windows. A backend that lacks the trace gives no number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from shallows.tables.metrics import Tables

__all__ = ["KINDS", "measure"]


def measure(wanted: Mapping[str, Any], tables: Tables) -> float | None:
    """The number that a criterion's table `measure` names; None if the run lacks its trace.

    Times are in seconds, rates in bit/s. Raises KeyError for a kind or a setting that there is not.
    """
    settings = dict(wanted)
    return KINDS[settings.pop("kind")](tables, **settings)


def least_rate(tables: Tables, classes: str, from_s: float, until_s: float, window_s: float) -> float | None:
    """The least rate of a class in windows that follow each other, in bit/s."""
    rates = _rates(tables, classes, np.arange(from_s, until_s + window_s / 2, window_s))
    return None if rates is None else float(rates.min())


def recovery(
    tables: Tables, classes: str, at_s: float, until_s: float, window_s: float, bps: float
) -> float | None:
    """Seconds from `at_s` to the end of the first window in which a class reaches a rate.

    If no window reaches it, the value is `until_s - at_s`, which is then a lower bound.
    """
    arrived = _arrived(tables, classes)
    if arrived is None:
        return None
    begins = np.arange(at_s, until_s - window_s + 1e-9, window_s / 4)
    data = np.interp(begins + window_s, *arrived) - np.interp(begins, *arrived)
    reached = np.flatnonzero(data * 8 / window_s >= bps)
    return float(begins[reached[0]] + window_s - at_s) if len(reached) else until_s - at_s


def packets(tables: Tables, port: str, classes: str, from_s: float, until_s: float) -> float | None:
    """Packets of a class that come to a port in a second, between two instants."""
    rows = _at_port(tables, port, classes, from_s, until_s)
    return None if rows is None else int(rows["packets_in"].sum()) / (until_s - from_s)


def worst_loss(
    tables: Tables, port: str, classes: str, from_s: float, until_s: float, window_s: float
) -> float | None:
    """The largest share of a class's packets that a port drops, of windows that follow each other."""
    rows = _at_port(tables, port, classes, from_s, until_s)
    if rows is None:
        return None
    window = (pl.col("time_ps") - 1 - int(from_s * 1e12)) // int(window_s * 1e12)
    sums = rows.group_by(window.alias("window")).agg(pl.col("packets_in", "drops").sum())
    shares = sums.filter(pl.col("packets_in") > 0).select(pl.col("drops") / pl.col("packets_in"))
    return float(shares.to_series().max() or 0.0)  # type: ignore[arg-type]


def reductions(tables: Tables, classes: str, beside: str) -> float:
    """Reductions of a class's windows on marks, over those of another class; 0 if neither reduces any."""
    sums = {
        each: int(tables["flows"].filter(pl.col("class") == each)["ecn_reductions"].sum())
        for each in (classes, beside)
    }
    return sums[classes] / max(sums[beside], 1)


KINDS = {each.__name__: each for each in (least_rate, recovery, packets, worst_loss, reductions)}


def _arrived(tables: Tables, classes: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Instants in s and the bytes of a class that arrived until then."""
    trace = tables["flow_trace"]
    if trace.is_empty():
        return None
    chosen = tables["flows"].filter(pl.col("class") == classes)["id"]
    mine = trace.filter(pl.col("flow").is_in(chosen.implode()))
    total = mine.group_by("time_ps").agg(pl.col("arrived_bytes").sum()).sort("time_ps")
    return total["time_ps"].to_numpy() / 1e12, total["arrived_bytes"].to_numpy().astype(float)


def _rates(tables: Tables, classes: str, edges_s: np.ndarray) -> np.ndarray | None:
    """The rate of a class between edges, in bit/s."""
    arrived = _arrived(tables, classes)
    return None if arrived is None else np.diff(np.interp(edges_s, *arrived)) * 8 / np.diff(edges_s)


def _at_port(tables: Tables, port: str, classes: str, from_s: float, until_s: float) -> pl.DataFrame | None:
    """Rows of a class's intervals at a port that end after `from_s` and until `until_s`."""
    trace = tables["port_trace"]
    if trace.is_empty():
        return None
    inside = (pl.col("time_ps") > int(from_s * 1e12)) & (pl.col("time_ps") <= int(until_s * 1e12))
    return trace.filter(inside & (pl.col("port") == port) & (pl.col("class") == classes))
