"""The program's answer as the tables of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from shallows.tables.metrics import Tables

__all__ = ["PORT", "tables"]

PORT = "switch->r0"
"""The port that a cell is about."""


def tables(
    answer: dict[str, Any], arguments: Mapping[str, Any], experiment: Mapping[str, Any], like: Tables
) -> dict[str, pl.DataFrame]:
    """Every table that the simulator makes of the same experiment, with its columns and types (`like`).

    Values that the program does not report are null. Queues are without the packet in service, as on Linux.
    """
    import polars as pl

    rows = _rows(answer, arguments, experiment)
    return {name: pl.DataFrame(rows.get(name, []), schema=like[name].schema) for name in like}


def _rows(
    answer: dict[str, Any], arguments: Mapping[str, Any], experiment: Mapping[str, Any]
) -> dict[str, list[dict[str, Any]]]:
    port = answer["port"]
    waiting, over_ps = port["waiting_ps"], (arguments["duration-ns"] - arguments["warmup-ns"]) * 1000
    total = sum(waiting)
    mean = sum(n * time for n, time in enumerate(waiting)) / total
    load, about = next(iter(experiment["traffic"].items()))
    same = {"traffic": load, "class": about["class"], "cc": arguments["cc"], "dst": "r0"}
    queue = {
        "port": PORT,
        "rate_bps": arguments["rate"],
        "over_ps": over_ps,
        "mean_packets": mean,
        "max_packets": len(waiting) - 1,
        **{f"p{q}_packets": _percentile(waiting, total * q // 100) for q in (5, 50, 95, 99)},
        "utilisation": port["bytes_out"] * 8e12 / over_ps / arguments["rate"],
        "is_switch": 1,
        **{key: port[key] for key in ("packets_out", "bytes_out", "marks", "drops_full", "drops_aqm")},
        "drops": port["drops_full"] + port["drops_aqm"],
    }
    flows = [
        flow
        | same
        | {"id": i, "src": f"s{i}", "arrived_bytes": flow["delivered_bytes"], "delivered_bytes": None}
        | {"goodput_bps": _goodput(flow, arguments)}
        for i, flow in enumerate(answer["flows"])
    ]
    rounds = [
        {"traffic": load, "round": i, "responses": len(flows), "start_ps": start}
        | ({"end_ps": end, "fct_ps": end - start} if end else {})
        for i, (start, end) in enumerate(answer["rounds"])
    ]
    histogram = [{"port": PORT, "packets": n, "time_ps": time} for n, time in enumerate(waiting) if time]
    return {"queues": [queue], "flows": flows, "rounds": rounds, "queue_histogram": histogram}


def _percentile(waiting: list[int], time: int) -> int:
    """The length below or at which the queue was for that much of its time."""
    for length, spent in enumerate(waiting):
        time -= spent
        if time <= 0:
            return length
    return len(waiting) - 1


def _goodput(flow: dict[str, Any], arguments: Mapping[str, Any]) -> float:
    begin = max(flow["start_ps"], arguments["warmup-ns"] * 1000)
    return flow["delivered_bytes"] * 8e12 / (arguments["duration-ns"] * 1000 - begin)
