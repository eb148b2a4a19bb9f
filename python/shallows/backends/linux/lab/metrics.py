"""Numbers of a run of programs by name, for expectations: `s0.1.ended_ps`, `s0->r0.mean_bps`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from shallows.backends.linux.lab.streams import names

if TYPE_CHECKING:
    import polars as pl

    from shallows.backends.linux.lab.outcome import Outcome

OF_PORTS = (
    "packets_out",
    "bytes_out",
    "drops",
    "marks",
    "mean_packets",
    "p50_packets",
    "p99_packets",
    "max_packets",
    "utilisation",
)
"""Columns of `queues` that are metrics."""

OF_PROGRAMS = ("status", "ended_ps")
"""Metrics of a command."""

OF_FLOWS = ("bytes", "data_bytes", "span_ps", "mean_bps", "share")
"""Metrics of all that programs sent from a host to another."""

__all__ = ["metrics"]


def metrics(outcome: Outcome) -> dict[str, float | None]:
    """The numbers by name; null where there is none, as the end of a program that had not ended.

    - `HOST.N.status` and `.ended_ps` of the N-th command of a host;
    - `PORT.drops` and other columns of `queues`;
    - `SRC->DST.bytes`, `.data_bytes`, `.mean_bps` and `.span_ps` of all that programs sent from one host to
      another, and `SRC->DST.tcp.` or `.udp.` of one protocol;
    - `SRC->DST.share`, and `.tcp.share`: of the data that arrived at DST while these arrived, the file's own
      loads included (with `probe.flow_trace`).
    """
    found: dict[str, float | None] = {}
    for name, each in zip(names(outcome.programs), outcome.programs, strict=True):
        found[f"{name}.status"] = each.status
        found[f"{name}.ended_ps"] = None if each.ended_s is None else round(each.ended_s * 1e9) * 1000
    if outcome.queues is not None:
        for row in outcome.queues.iter_rows(named=True):
            found |= {f"{row['port']}.{key}": row[key] for key in OF_PORTS}
    for name, flows in _groups(outcome):
        first, last = _span(flows)
        span = last - first
        data = int(flows["data_bytes"].sum())
        found[f"{name}.bytes"], found[f"{name}.data_bytes"] = int(flows["bytes"].sum()), data
        found[f"{name}.span_ps"] = span
        found[f"{name}.mean_bps"] = data * 8e12 / span if span else None
        found[f"{name}.share"] = _share(outcome, flows)
    return found


def _groups(outcome: Outcome) -> Iterator[tuple[str, pl.DataFrame]]:
    flows = outcome.tables.get("program_flows")
    if flows is None:
        return
    for (source, target), own in flows.group_by("src", "dst", maintain_order=True):
        yield f"{source}->{target}", own
        for (protocol,), of_one in own.group_by("protocol", maintain_order=True):
            yield f"{source}->{target}.{protocol}", of_one


def _span(flows: pl.DataFrame) -> tuple[int, int]:
    """When the first packet of flows arrived, and the last."""
    return min(flows["first_ps"].to_list()), max(flows["last_ps"].to_list())


def _share(outcome: Outcome, flows: pl.DataFrame) -> float | None:
    """The share of the data that arrived at the flows' receiver from their first packet to their last."""
    import polars as pl

    trace = outcome.tables.get("program_trace")
    if trace is None:
        return None
    first, last = _span(flows)
    target = flows["dst"][0]
    all_flows = outcome.tables["program_flows"]
    numbers = all_flows.filter(pl.col("dst") == target)["flow"]
    own = _grown(trace.filter(pl.col("flow").is_in(flows["flow"].to_list())), "data_bytes", first, last)
    programs = _grown(trace.filter(pl.col("flow").is_in(numbers.to_list())), "data_bytes", first, last)
    background, loads = outcome.tables.get("flow_trace"), outcome.flows
    others = 0.0
    if background is not None and loads is not None:
        ids = loads.filter(pl.col("dst") == target)["id"].to_list()
        others = _grown(background.filter(pl.col("flow").is_in(ids)), "arrived_bytes", first, last)
    whole = programs + others
    return own / whole if whole else None


def _grown(trace: pl.DataFrame, column: str, first: int, last: int) -> float:
    """How much a count that only grows has grown between two instants, summed over flows."""
    import polars as pl

    counted = trace.filter(pl.col(column).is_not_null())
    before = counted.filter(pl.col("time_ps") <= first).group_by("flow").agg(pl.col(column).max())
    after = counted.filter(pl.col("time_ps") <= last).group_by("flow").agg(pl.col(column).max())
    return float(int(after[column].sum()) - int(before[column].sum()))
