"""A chosen set of stored runs as a sweep file: the command line that gives exactly these runs."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from shallows.document.points import expand, key_of
from shallows.document.settings import flat, text_of
from shallows.errors import ShallowsError
from shallows.results.store import StoredRun

__all__ = ["sweep_text"]


def sweep_text(runs: Sequence[StoredRun]) -> str | None:
    """A file whose sweep has these runs and no other; None where one file cannot say them.

    That is so for runs whose points have different seeds, of several backends, or with algorithms in Python.
    The file is checked: its experiments are those of these runs.
    """
    if any(run.manifest.get("backend") != "simulator" or "python" in run.experiment for run in runs):
        return None
    bases, rows = _apart([run.experiment for run in runs])
    seeds: dict[str, set[int]] = {}
    points: dict[str, dict[str, Any]] = {}
    for row, run in zip(rows, runs, strict=True):
        name = json.dumps(row, sort_keys=True)
        points[name] = row
        seeds.setdefault(name, set()).add(run.seed)
    if len({frozenset(each) for each in seeds.values()}) != 1:
        return None
    text = _text(bases, sorted(next(iter(seeds.values()))), list(points.values()))
    return text if _keys_of(text) == {key_of(run.experiment) for run in runs} else None


def _apart(experiments: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Settings common to all, and those of each: by path, or whole sections."""
    flats = [flat(each) for each in experiments]
    paths = dict.fromkeys(path for each in flats for path in each)
    differ = [p for p in paths if len({json.dumps(each.get(p, "absent")) for each in flats}) > 1]
    # A setting that only some have belongs to another kind of component: the whole section differs.
    whole = {path.split(".")[0] for path in differ if any(path not in each for each in flats)}
    single = [path for path in differ if path.split(".")[0] not in whole | {"title", "seed"}]
    rows = [
        {path: each[path] for path in single}
        | {section: experiment[section] for section in sorted(whole) if section in experiment}
        for each, experiment in zip(flats, experiments, strict=True)
    ]
    base = {key: value for key, value in experiments[0].items() if key not in whole | {"seed"}}
    return base, rows


def _text(base: Mapping[str, Any], seeds: list[int], points: list[dict[str, Any]]) -> str:
    columns = {path: list({json.dumps(row.get(path)): row.get(path) for row in points}.values())
               for row in points for path in row}  # fmt: skip
    full = math.prod(map(len, columns.values())) == len(points) and all(
        row.keys() == columns.keys() for row in points
    )
    sweep: dict[str, Any] = {"grid": columns} if full else {"points": points}
    head: dict[str, Any] = {"seeds": seeds}
    return text_of(head | dict(base) | ({"sweep": sweep} if columns else {}))


def _keys_of(text: str) -> set[str]:
    """Keys of the runs that a file describes; none if it is at fault."""
    try:
        return {point.key for point in expand(tomllib.loads(text))}
    except (ShallowsError, ValueError):
        return set()
