"""The store as a page shows it: runs found by settings, what differs, where settings come from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shallows.results.store import Store, StoredRun

NAME = re.compile(r"^[0-9a-f]{20}$")
MOST_LISTED = 2000

__all__ = ["differences", "flat", "listed", "run_of", "sources", "text_of", "varied"]


def run_of(store: Store, name: str) -> StoredRun | None:
    """The stored run of a name; None for any other text."""
    return store.find(name) if NAME.match(name) else None


def listed(store: Store, search: str = "") -> list[StoredRun]:
    """Stored runs, the newest first, that fit every word of a search: `queue.mark_at=20pkt`, `dctcp`, a hash.

    At most `MOST_LISTED`.
    """
    words = search.lower().split()
    found = []
    for run in store.runs():
        if words:
            text = " ".join(
                [run.hash, *(f"{path}={value}" for path, value in flat(run.experiment).items())]
            ).lower()
            if not all(word in text for word in words):
                continue
        found.append(run)
    found.sort(key=lambda run: str(run.manifest.get("finished_at", "")), reverse=True)
    return found[:MOST_LISTED]


def flat(value: Any, path: str = "") -> dict[str, Any]:
    """Every setting of an experiment by its path. Lists are values."""
    if isinstance(value, Mapping):
        found: dict[str, Any] = {}
        for key, inner in value.items():
            name = key if re.fullmatch(r"[\w-]+", str(key)) else json.dumps(str(key))
            found |= flat(inner, f"{path}.{name}" if path else str(name))
        return found
    return {path: value}


def differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Paths whose values differ, with both; None where one has none."""
    return [
        (path, a.get(path), b.get(path))
        for path in [*a, *(p for p in b if p not in a)]
        if a.get(path) != b.get(path)
    ]


def varied(runs: Sequence[StoredRun]) -> dict[str, list[Any]]:
    """Settings that differ among runs, with the value of each run."""
    every = [flat(run.experiment) for run in runs]
    paths = dict.fromkeys(path for each in every for path in each)
    columns = {path: [each.get(path) for each in every] for path in paths}
    return {path: values for path, values in columns.items() if len(set(map(repr, values))) > 1}


def text_of(experiment: Mapping[str, Any]) -> str:
    """A resolved experiment as a TOML file."""
    import tomlkit

    return tomlkit.dumps(_without_none(experiment))


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_none(inner) for key, inner in value.items() if inner is not None}
    return [_without_none(inner) for inner in value] if isinstance(value, list) else value


@cache
def _declared() -> dict[str, list[tuple[str, dict[str, Any]]]]:
    from shallows.document.schema import schema

    return {
        section["path"]: [
            (component["name"], param) for component in section["components"] for param in component["params"]
        ]
        for section in schema()["sections"]
    }


def sources(experiment: Mapping[str, Any]) -> Iterable[tuple[str, Any, str, str]]:
    """Each setting with its value, its default, and the source of the default."""
    for path, value in flat(experiment).items():
        section, _, name = re.sub(r"^(traffic|port|switch)\.(\"[^\"]*\"|[\w-]+)", r"\1", path).rpartition(".")
        section = re.sub(r"^traffic\.(transport.*)$", r"\1", section)
        table: Any = experiment
        for key in re.findall(r"\"(?:[^\"\\]|\\.)*\"|[\w-]+", path)[:-1]:
            table = (
                table.get(json.loads(key) if key.startswith('"') else key, {})
                if isinstance(table, Mapping)
                else {}
            )
        kind = table.get("kind") if isinstance(table, Mapping) else None
        fitting = [
            p
            for component, p in _declared().get(section, [])
            if p["name"] == name and kind in (None, component)
        ]
        param = fitting[0] if fitting else {}
        default = param.get("default")
        yield path, value, "" if default is None else str(default), str(param.get("source") or "")
