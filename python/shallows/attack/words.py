"""A find's verdict, values and margins in words, for the terminal and the page."""

from __future__ import annotations

from shallows import terminal
from shallows.attack.attack import Attacked
from shallows.attack.objective import Objective
from shallows.attack.shrink import Neighbour

MEANING = {
    "weakness": "it holds on all further seeds, with and without jitter",
    "artefact": "it vanishes under a packet time of jitter: it needs the exact order of packets",
    "not-determined": "it holds on some seeds only",
}

__all__ = ["MEANING", "margin", "share_text", "value_text"]


def margin(near: Neighbour, value: float, unit: str) -> str:
    """The values between which the find still holds, as far as they were tried."""
    return ", ".join(f"{end:.4g}{unit}" for end in near.holds_between(value))


def value_text(found: Attacked, value: float | None) -> str:
    """A value of the objective: a share in %, a multiple, or a number with its unit."""
    if value is None:
        return "no value"
    if not found.objective.share:
        return share_text(found.objective, value)
    return f"{100 * value:.3g} %" if value < 10 else f"{value:.3g} times the reference"


def share_text(objective: Objective, value: float | None) -> str:
    """A value of an objective in a fabric: a share in %, or a number with its unit."""
    if value is None:
        return "no value"
    if objective.share:
        return f"{100 * value:.3g} %"
    return terminal.readable(objective.expectation.metric, value)
