"""The store as a page shows it: runs found by settings, and their differences."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shallows.document.settings import flat

if TYPE_CHECKING:
    from shallows.results.store import Store, StoredRun

NAME = re.compile(r"^[0-9a-f]{20}$")
MOST_LISTED = 2000

__all__ = ["differences", "listed", "run_of", "varied"]


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
