"""Output of `attack --fabric`: cables by their harm, circles of waits, and the worst cases as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from shallows import terminal
from shallows.attack.fabric import Fabric
from shallows.attack.objective import Objective
from shallows.document.settings import text_of
from shallows.studies.page import place

SHOWN = 10

__all__ = ["document", "folder", "show", "write"]


def folder(name: str, out: Path) -> Path:
    """The directory of the outcome. Raises StoreError if something else is there, before anything runs."""
    return place.check(out, f"fabric-{place.file_name(name)}")


def document(found: Fabric) -> dict[str, Any]:
    """The JSON of `attack --fabric`."""
    return {
        "title": found.title,
        "base": found.base,
        "failures": [
            {"cable": one.cable, "value": one.value, "holds": one.holds, "note": one.note}
            for one in found.failures
        ],
        "networks": found.networks,
        "searched_without_a_cable": found.plain,
        "deadlocks": [
            {
                "without": one.cable,
                "ports": one.cycle.ports,
                "flows": [list(pair) for pair in one.cycle.flows],
                "stands": one.stands,
                "note": one.note,
            }
            for one in found.deadlocks
        ],
    }


def write(found: Fabric, name: str, out: Path) -> Path:
    """The directory with `fabric.json`, and as experiments the worst failure that fulfils the objective and
    the first deadlock. Raises StoreError."""
    worst = next((one for one in found.failures if one.holds), None)
    still = next((one for one in found.deadlocks if one.stands), None)

    def fill(new: Path) -> None:
        text = json.dumps(document(found), indent=1, ensure_ascii=False, allow_nan=False)
        (new / "fabric.json").write_text(text + "\n", encoding="utf-8")
        for file, one in (("failed-cable.toml", worst), ("deadlock.toml", still)):
            if one is not None:
                (new / file).write_text(text_of(one.document | {"seed": 1}), encoding="utf-8")

    return place.write(out, f"fabric-{place.file_name(name)}", fill).parent


def show(found: Fabric, objective: Objective | None, where: Path) -> None:
    """The worst cables, the circles, and the directory."""
    if objective is not None:
        rows = [
            [one.cable, _value(objective, one.value), "fulfils it" if one.holds else "", one.note]
            for one in found.failures[:SHOWN]
        ]
        title = f"{objective.text}: {len(found.failures)} cables, the worst first; whole network "
        terminal.print_table(title + _value(objective, found.base), ["failed cable", "value", "", ""], rows)
    if found.networks:
        circles = f"{len(found.deadlocks)} of {found.networks} networks have ports that can wait in a circle"
        terminal.say(f"{circles} (the whole one, and each without one cable)" if found.plain else circles)
    if not found.plain:
        terminal.say("not searched: networks without a cable, since routes are static or links have costs")
    for one in found.deadlocks[:SHOWN]:
        network = f"without {one.cable}" if one.cable else "the whole network"
        flows = ", ".join(f"{a} to {b}" for a, b in one.cycle.flows)
        ends = "they deadlock" if one.stands else "they do not deadlock in this run"
        terminal.say(f"{network}: {' waits for '.join(one.cycle.ports)}; flows {flows}: {ends}")
    terminal.say(f"written: {where}")


def _value(objective: Objective, value: float | None) -> str:
    if value is None:
        return "no value"
    if objective.share:
        return f"{100 * value:.3g} %"
    return terminal.readable(objective.expectation.metric, value)
