"""The store as a page shows it: runs found by settings, and their differences."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shallows.document.settings import flat
from shallows.errors import StoreError
from shallows.web.pages.index import Index, is_sound

if TYPE_CHECKING:
    from shallows.results.store import Store, StoredRun

NAME = re.compile(r"^[0-9a-f]{20}$")
MOST_LISTED = 2000

__all__ = ["differences", "listed", "run_of", "varied"]


def run_of(store: Store, name: str) -> StoredRun | None:
    """The stored run of a name; None for any other text, a damaged run, and one of an odd form."""
    try:
        run = store.find(name) if NAME.match(name) else None
    except (StoreError, KeyError, TypeError, AttributeError, ValueError):
        return None
    return run if run is not None and is_sound(run.manifest) else None


def listed(source: Index | Store, search: str = "", most: int = MOST_LISTED) -> list[StoredRun]:
    """Stored runs, the newest first, that fit every word of a search: `queue.mark_at=20pkt`, a hash."""
    index = source if isinstance(source, Index) else Index(source)
    names = (row.hash for row in index.rows(search) if not row.damaged)
    found = (index.store.listed(name) for name in itertools.islice(names, most))
    return [run for run in found if run is not None]


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
