"""The cells of a criterion: those that its file lists, and those of its grids, for a full or a quick card.

A quick card leaves cells and grids with `only = "full"` out. A grid has rates, round trips and buffers of a
dumbbell, and mixes of candidates and bystanders. Each combination is a cell.

A run of the kernel costs seconds. So a quick card on Linux has of each row the cells with `linux.quick`, or
the first one. Other keys of a cell's table `linux` override the cell's there: Linux lacks some numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["LINUX", "choose"]

LINUX = "linux"
"""The backend, and the key of a cell that says what differs on it."""

PACKET_BITS = 1500 * 8
LEAST_PACKETS = 4
"""A buffer holds this at least: RFC 5681 section 4.2 lets a receiver acknowledge every second segment."""


def choose(about: dict[str, Any], quick: bool, backend: str = "simulator") -> int:
    """Leaves in a criterion the cells of the card, with those of its grids as cells.

    Returns how many cells a quick card leaves out on this backend alone.
    """
    grids = about.pop("grids", [])
    if "cells" not in about:
        return 0
    every = [*about["cells"], *(cell for grid in grids for cell in _grid(grid))]
    found = [cell for cell in every if not (quick and cell.get("only") == "full")]
    whole = len(found)
    if quick and backend == LINUX:
        found = [cell for cell in found if cell.get(LINUX, {}).get("quick")] or found[:1]
    about["cells"] = [_on(cell, backend) for cell in found]
    return whole - len(found)


def _on(cell: Mapping[str, Any], backend: str) -> dict[str, Any]:
    """The cell as the backend measures it."""
    own = cell.get(LINUX, {}) if backend == LINUX else {}
    whole = {**cell, **own}
    return {key: value for key, value in whole.items() if key not in (LINUX, "quick")}


def _grid(grid: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The cells of a grid, whose `set` they share."""
    axes = (grid["rates_mbps"], grid["round_trips_ms"], grid["buffers_bdp"], grid["mixes"])
    for rate, round_trip, buffer, (candidates, bystanders) in itertools.product(*axes):
        packets = round(buffer * rate * 1000 * round_trip / PACKET_BITS)
        access_us = round_trip * 1000 / 80
        yield {
            "name": f"{candidates}:{bystanders}, {_rate(rate)}, {round_trip:g} ms, {buffer:g} BDP",
            "only": grid["only"],
            "set": grid["set"]
            | {
                "topology.rate": f"{rate:g}Mbps",
                "topology.access_rate": f"{10 * rate:g}Mbps",
                "topology.access_delay": f"{access_us:g}us",
                "topology.delay": f"{round_trip * 500 - 2 * access_us:g}us",
                "queue.limit": f"{max(packets, LEAST_PACKETS)}pkt",
                "traffic.candidate.flows": candidates,
                "traffic.bystander.flows": bystanders,
            },
        }


def _rate(mbps: float) -> str:
    return f"{mbps / 1000:g} Gb/s" if mbps >= 1000 else f"{mbps:g} Mb/s"
