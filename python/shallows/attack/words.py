"""A find's verdict, values and margins in words, for the terminal and the page."""

from __future__ import annotations

from shallows import terminal
from shallows.attack.attack import Attacked
from shallows.attack.objective import Objective
from shallows.attack.shrink import Find, Neighbour

MEANING = {
    "weakness": "it holds on all further seeds, with and without jitter",
    "artefact": "it vanishes under a packet time of jitter: it needs the exact order of packets",
    "not-determined": "it holds on some seeds only",
}
_LUCK = "it holds on none of the further seeds"
_JITTER = "it holds on all further seeds, and with jitter on some of them: a matter of chance"

__all__ = ["hint", "margin", "meaning", "share_text", "value_text"]


def meaning(find: Find) -> str:
    """The meaning of a verdict for this find."""
    if find.verdict == "not-determined" and not any(find.seeds):
        return _LUCK
    if find.verdict == "not-determined" and all(find.seeds):
        return _JITTER
    return MEANING[find.verdict]


def hint(found: Attacked, find: Find) -> str:
    """The settings by which a search finds what holds more widely; empty for a weakness."""
    if find.verdict == "weakness":
        return ""
    if all(find.seeds):
        time = terminal.readable("jitter_ps", find.jitter_ps).replace(" ", "")
        return f'to search for what holds in any order, give [port."*->*"] jitter = "{time}"'
    seeds = max(3, 2 * found.space.seeds)
    return f"to search for what holds on more seeds, give attack.seeds = {seeds}"


def margin(near: Neighbour, value: float, unit: str) -> str:
    """The values between which the find still holds, as far as they were tried."""
    return ", ".join(f"{float(f'{end:.4g}'):.12g}{unit}" for end in near.holds_between(value))


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
