"""Earlier finds that warm a search: the values that a folder's experiments give to the ranges of `[attack]`.

Each file is an experiment, such as a `find.toml`. A range takes the file's value if it lies within the range,
and is drawn otherwise. Files are read in the order of their paths, so that equal folders give equal searches.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from shallows import _core
from shallows.attack.space import Space
from shallows.document.load import load
from shallows.document.paths import Document, split_path
from shallows.errors import Fault, SpecError
from shallows.studies.tune.section import Parameter

KINDS = ("span", "rate", "bytes")

__all__ = ["number", "read"]


def read(folder: Path, space: Space) -> list[dict[str, Any]]:
    """The drawn values of each file of a folder that has one within its range; at most a generation of them.

    Raises SpecError if there is no such file, or if one cannot be read.
    """
    files = sorted(folder.rglob("*.toml")) if folder.is_dir() else []
    if not files:
        rule = "must be a folder with experiments, such as find.toml of an earlier attack"
        raise SpecError([Fault("--corpus", rule, folder)])
    found = [values for file in files if (values := _values(load(file), space))]
    if not found:
        rule = f"has no experiment with a value within the ranges of [attack], in {len(files)} files"
        raise SpecError([Fault("--corpus", rule, folder, "leave --corpus out")])
    return found[: space.population]


def _values(document: Document, space: Space) -> dict[str, Any]:
    variables = space.variables
    given: dict[str, Any] = {}
    for one in space.parameters:
        given[one.path] = _at(document, one.path)
    for name, schedule in space.schedules.items():
        events = [event for event in document.get("event", {}).values() if _is_step(event, schedule)]
        events = events[: schedule.steps]
        given[f"{name}.steps"] = len(events) or None
        for step, event in enumerate(events):
            given |= {f"{name}.{step}.at": event["at"], f"{name}.{step}.to": event[schedule.what]}
    for name, loss in space.losses.items():
        numbers = document.get("port", {}).get(loss.link, {}).get("drop_packets", [])[: loss.packets]
        given[f"{name}.steps"] = len(numbers) or None
        given |= {f"{name}.{step}.packet": number for step, number in enumerate(numbers)}
    known = {name: _drawn(variables[name], value) for name, value in given.items() if name in variables}
    return {name: value for name, value in known.items() if value is not None}


def _at(document: Any, path: str) -> Any:
    for key in split_path(path):
        document = document.get(key) if isinstance(document, dict) else None
    return document


def _is_step(event: Any, schedule: Any) -> bool:
    return event.get("link") == schedule.link and schedule.what in event


def _drawn(one: Parameter, value: Any) -> Any:
    """The value as the sampler draws it, or None if the range has it not."""
    if one.choices is not None:
        return value if value in one.choices else None
    found = number(value, one.unit)
    if found is None or one.low is None or one.high is None or not one.low <= found <= one.high:
        return None
    return round(found) if isinstance(one.low, int) and isinstance(one.high, int) else found


def number(value: Any, unit: str) -> float | None:
    """A setting as a number in a unit: "1ms" in us is 1000."""
    if not unit:
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    parts = re.fullmatch(r"([0-9.]+)(\S+)", str(value))
    if parts is None:
        return None
    if parts[2] == unit:
        return float(parts[1])
    for kind in KINDS:
        try:
            return _core.parse_quantity(kind, str(value)) / _core.parse_quantity(kind, f"1{unit}")
        except ValueError:
            continue
    return None
