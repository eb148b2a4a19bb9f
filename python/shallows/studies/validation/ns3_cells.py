"""The cells that run on ns-3, and their seeds.

A budget decides which cells are run: a cell may take `BUDGET_S` of CPU time at the pace of `cost`. It runs on
as many of its seeds as fit, and not at all if not even two do; its duration is never cut.
"""

from __future__ import annotations

from shallows.backends.ns3.command import Refusal, arguments
from shallows.studies.validation.matrix import Cell

__all__ = ["BUDGET_S", "COST_S", "cost", "not_run", "seeds"]


BUDGET_S = 60.0


COST_S = (26e-6, 0.3)
"""Seconds a packet of the bottleneck (3 hops, with half an acknowledgement) and seconds a run."""


def cost(cell: Cell) -> float:
    """About how many CPU seconds one of its runs takes."""
    per_packet, per_run = COST_S
    return cell.packets * per_packet + per_run


def seeds(cell: Cell) -> int:
    """How many of its seeds fit into the budget."""
    fit = min(len(cell.points), int(BUDGET_S // cost(cell)))
    return fit if fit >= min(2, len(cell.points)) else 0


def not_run(cell: Cell) -> str:
    """Why a cell is not run on ns-3, or nothing."""
    if cell.not_run:
        return cell.not_run
    try:
        arguments(cell.points[0].experiment, [0])
    except Refusal as why:
        return str(why)
    if not seeds(cell):
        return (
            f"too long for ns-3: {cell.packets / 1e6:.1f} million packets a run, about {cost(cell):.0f} s "
            f"of the {BUDGET_S:.0f} s that a cell has"
        )
    return ""
