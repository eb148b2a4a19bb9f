"""A run's numbers, with the same definition for every backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shallows.backends.ns3.tables import PORT

if TYPE_CHECKING:
    from shallows.tables.metrics import Tables


__all__ = ["numbers"]


def numbers(tables: Tables, backend: str) -> dict[str, float | None]:
    """Throughput, queue, marks, drops, alpha, shares, completion of a run.

    Queues are counted without the packet that is being sent, as Linux and our program for ns-3 count: from
    the simulator's mean its share of time is taken, and from its percentiles the one packet.
    """
    import polars as pl

    queue = tables["queues"].filter(pl.col("port") == PORT).row(0, named=True)
    flows = tables["flows"].filter(pl.col("dst") == "r0")
    sent = 1 if backend == "simulator" else 0
    goodputs = flows["goodput_bps"]
    rounds = tables["rounds"].drop_nulls("end_ps") if len(tables["rounds"]) else None
    found: dict[str, Any] = {
        "throughput_bps": queue["utilisation"] * queue["rate_bps"],
        "goodput_bps": float(goodputs.sum()),
        "queue_mean": queue["mean_packets"] - sent * queue["utilisation"],
        **{f"queue_p{q}": max(queue[f"p{q}_packets"] - sent, 0) for q in (5, 50, 95, 99)},
        "packets": queue["packets_out"],
        "marks": queue["marks"],
        "drops": (queue["drops_full"] or 0) + (queue["drops_aqm"] or 0),
        "alpha": flows["alpha"].mean(),
        "least_share": float(goodputs.min() * len(flows) / goodputs.sum()) if goodputs.sum() else None,
        "retransmissions": int(flows["retransmissions"].sum()),
        "timeouts": None if flows["timeouts"].null_count() else int(flows["timeouts"].sum()),
        "fct_mean_ps": None,
        "fct_p99_ps": None,
    }
    if rounds is not None and len(rounds):
        found["fct_mean_ps"] = rounds["fct_ps"].mean()
        found["fct_p99_ps"] = rounds["fct_ps"].quantile(0.99, "nearest")
    return {name: None if value is None else float(value) for name, value in found.items()}
