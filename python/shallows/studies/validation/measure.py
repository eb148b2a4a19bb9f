"""A run's numbers, with the same definition for every backend."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from shallows.tables.metrics import Tables


__all__ = ["numbers"]

PERCENTILES = (5, 50, 95, 99)


def numbers(tables: Tables, backend: str, ports: Sequence[str]) -> dict[str, float | None]:
    """Throughput, queue, marks, drops, alpha, shares, completion of a run, of all its bottlenecks.

    Queues are means over the bottlenecks, counts and throughput are sums. Queues are counted without the
    packet that is being sent, as Linux and our program for ns-3 count: from the simulator's mean its share of
    time is taken, and from its percentiles the one packet.
    """
    import polars as pl

    rows = tables["queues"].filter(pl.col("port").is_in(ports)).to_dicts()
    # Those who send data: the far ends of connections of an incast send requests.
    ends = {port.partition("->")[2] for port in ports}
    flows = tables["flows"].filter(pl.col("dst").is_in(ends) | (len(ports) > 1))
    sent = 1 if backend == "simulator" else 0
    goodputs = flows["goodput_bps"]
    rounds = tables["rounds"].drop_nulls("end_ps") if len(tables["rounds"]) else None
    found: dict[str, Any] = {
        "throughput_bps": sum(row["bytes_out"] * 8e12 / row["over_ps"] for row in rows),
        "goodput_bps": float(goodputs.sum()),
        "queue_mean": fmean(row["mean_packets"] - sent * row["utilisation"] for row in rows),
        **{
            f"queue_p{q}": fmean(max(row[f"p{q}_packets"] - sent, 0) for row in rows) for q in (5, 50, 95, 99)
        },
        "packets": sum(row["packets_out"] for row in rows),
        "marks": sum(row["marks"] for row in rows),
        "drops": sum(row["drops"] or 0 for row in rows),
        "alpha": flows["alpha"].mean(),
        "least_share": _least_share(flows),
        "first_share": _first_share(flows),
        "retransmissions": int(flows["retransmissions"].sum()),
        "timeouts": None if flows["timeouts"].null_count() else int(flows["timeouts"].sum()),
        "fct_mean_ps": None,
        "fct_p99_ps": None,
    }
    if rounds is not None and len(rounds):
        found["fct_mean_ps"] = rounds["fct_ps"].mean()
        found["fct_p99_ps"] = rounds["fct_ps"].quantile(0.99, "nearest")
    return {name: None if value is None else float(value) for name, value in found.items()}


def _least_share(flows: pl.DataFrame) -> float | None:
    """The least goodput over the mean of its load's flows: a load is not locked out by another's control."""
    import polars as pl

    mean = pl.col("goodput_bps").mean().over("traffic")
    return (flows["goodput_bps"] / flows.select(mean).to_series()).fill_nan(None).min()


def _first_share(flows: pl.DataFrame) -> float | None:
    """The share of the first load, if there are two."""
    import polars as pl

    if flows["traffic"].n_unique() < 2:
        return None
    total = flows["goodput_bps"].sum()
    return flows.filter(pl.col("traffic") == "load")["goodput_bps"].sum() / total if total else None
