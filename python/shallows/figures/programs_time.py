"""Programs over time: the share of each flow, the round-trip time of TCP's sockets, and the queues."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from shallows.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BACKGROUND = "the file's loads"
BINS = 100
"""Parts of the time, in each of which the shares are those of the data that arrived."""
LEAST_SHARE = 0.01
"""A flow with less of the data than this is left out."""

Lines = dict[str, tuple[np.ndarray, np.ndarray]]


class ProgramsTime(NamedTuple):
    """Lines by name, instants in ms: shares in %, smoothed round-trip times in ms, queues in packets.

    `receiver` is the host whose arriving data are shared out: the one to which most data came.
    """

    receiver: str
    shares: Lines
    rtts: Lines
    queues: Lines


def info(tables: Mapping[str, pl.DataFrame | None]) -> ProgramsTime:
    """The lines of a run of programs, by its tables. Raises ValueError without any trace."""
    flows, trace, queue = (tables.get(name) for name in ("program_flows", "program_trace", "queue_trace"))
    receiver, shares, rtts = "", {}, {}
    if flows is not None and trace is not None and not flows.is_empty():
        by_host = flows.group_by("dst").agg(pl.col("data_bytes").sum()).sort("data_bytes", "dst")
        receiver = by_host["dst"][-1]
        counts = {
            _name(row): _series(trace, row["flow"], "data_bytes")
            for row in flows.filter(pl.col("dst") == receiver).iter_rows(named=True)
        }
        if loads := _background(tables, receiver):
            counts[BACKGROUND] = loads
        shares = _shares({name: pair for name, pair in counts.items() if len(pair[0])})
        least = LEAST_SHARE * float(flows["data_bytes"].sum())
        rtts = {
            _name(row): (times, values / 1e9)
            for row in flows.filter(pl.col("data_bytes") >= least).iter_rows(named=True)
            for times, values in [_series(trace, row["flow"], "srtt_ps")]
            if len(times)
        }
    queues: Lines = {}
    if queue is not None:
        for (port,), rows in queue.group_by("port", maintain_order=True):
            if int(rows["packets"].max() or 0) > 0:
                queues[str(port)] = rows["time_ps"].to_numpy() / 1e9, rows["packets"].to_numpy()
    if not (shares or rtts or queues):
        raise ValueError("needs probe.flow_trace or probe.queue_trace")
    return ProgramsTime(receiver, shares, rtts, queues)


def _name(row: Mapping[str, object]) -> str:
    return f"{row['protocol']} {row['src']}:{row['src_port']} to {row['dst']}:{row['dst_port']}"


def _series(trace: pl.DataFrame, flow: int, column: str) -> tuple[np.ndarray, np.ndarray]:
    rows = trace.filter(pl.col("flow") == flow, pl.col(column).is_not_null())
    return rows["time_ps"].to_numpy() / 1e9, rows[column].to_numpy().astype(float)


def _background(
    tables: Mapping[str, pl.DataFrame | None], receiver: str
) -> tuple[np.ndarray, np.ndarray] | None:
    """The bytes of the file's own connections that have arrived at the receiver, all together."""
    loads, trace = tables.get("flows"), tables.get("flow_trace")
    if loads is None or trace is None:
        return None
    ids = loads.filter(pl.col("dst") == receiver)["id"].to_list()
    rows = trace.filter(pl.col("flow").is_in(ids)).group_by("time_ps").agg(pl.col("arrived_bytes").sum())
    rows = rows.sort("time_ps")
    return (rows["time_ps"].to_numpy() / 1e9, rows["arrived_bytes"].to_numpy().astype(float)) if ids else None


def _shares(counts: Lines) -> Lines:
    """The share of each count in all that arrived in a part of the time, in %; counts only grow."""
    if not counts:
        return {}
    end = max(times[-1] for times, _ in counts.values())
    edges = np.linspace(0.0, end, BINS + 1)
    grown = {
        name: np.diff(np.interp(edges, times, values, left=0.0)) for name, (times, values) in counts.items()
    }
    whole = np.sum(list(grown.values()), axis=0)
    middle = (edges[:-1] + edges[1:]) / 2
    some = whole > 0
    total = float(whole.sum())
    return {
        name: (middle[some], 100 * part[some] / whole[some])
        for name, part in grown.items()
        if total and part.sum() / total >= LEAST_SHARE
    }


@style.styled
def draw(info: ProgramsTime) -> "Figure":
    """A panel for each quantity that there is, over one axis of time."""
    panels = [
        (f"share of the data to {info.receiver} (%)", info.shares),
        ("smoothed RTT (ms)", info.rtts),
        ("queue (packets)", info.queues),
    ]
    panels = [(label, lines) for label, lines in panels if lines]
    rows = len(panels)
    figure, axes = style.canvas(
        rows=rows, width_inch=style.PAGE_INCH, height_inch=0.9 + 1.6 * rows, sharex=True
    )
    names = list(dict.fromkeys(name for _, lines in panels for name in lines))
    colours = style.palette(names)
    handles = {}
    for ax, (label, lines) in zip(axes, panels, strict=True):
        for name, (times, values) in lines.items():
            [handles[name]] = ax.plot(times, values, color=colours[name], linewidth=0.8)
        ax.set_ylabel(label)
        ax.set_ylim(bottom=0)
    style.time_axis(axes[-1])
    style.legend_outside(figure, handles, "lower center", most=3)
    return figure
