"""An index of the store for pages: of each run a row and the words that a search finds, without its manifest.

A manifest is read once, when its file is new or has changed; a look at the store costs one `stat` a run.
The index keeps about a kilobyte of each run.
"""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shallows.document.settings import flat
from shallows.errors import StoreError

if TYPE_CHECKING:
    from shallows.results.store import Store

__all__ = ["Index", "Row", "is_sound"]

MOST_TEXT = 60_000
"""The most characters of a run's settings that a search looks through."""

MOST_CELL = 200
"""The most characters of a cell."""


@dataclass(frozen=True, slots=True)
class Row:
    """A run as the list of results shows it. One with a damaged or odd manifest has only its name."""

    hash: str
    damaged: bool = True
    title: str = "(damaged)"
    cc: str = ""
    queue: str = ""
    topology: str = ""
    seed: int | str = ""
    backend: str = ""
    finished: str = ""
    words: bytes = b""

    def fits(self, words: list[str]) -> bool:
        """Whether its settings have all words of a search."""
        if not words:
            return True
        text = zlib.decompress(self.words).decode() if self.words else self.hash
        return all(word in text for word in words)


class Index:
    """The rows of a store's runs. Safe for several threads."""

    def __init__(self, store: Store):
        self.store = store
        self._rows: dict[str, tuple[tuple[int, int, int], Row]] = {}
        self._lock = threading.Lock()

    def rows(self, search: str = "") -> list[Row]:
        """The runs that fit every word of a search, the newest first: `queue.mark_at=20pkt`, a hash."""
        with self._lock:
            self._refresh()
            rows = [row for _, row in self._rows.values()]
        words = search.lower().split()
        found = [row for row in rows if row.fits(words)]
        found.sort(key=lambda row: (row.finished, row.hash), reverse=True)
        return found

    def _refresh(self) -> None:
        seen = set()
        try:
            entries = [entry.name for entry in os.scandir(self.store.path)]
        except OSError:
            entries = []
        for name in entries:
            if len(name) != 20 or not set(name) <= set("0123456789abcdef"):
                continue
            try:
                state = (self.store.path / name / "manifest.json").stat()
                mark = (state.st_mtime_ns, state.st_size, state.st_ino)
            except OSError:
                mark = (0, 0, 0)
            known = self._rows.get(name)
            if known is None or known[0] != mark:
                row = self._read(name)
                if row is None:
                    continue
                self._rows[name] = (mark, row)
            seen.add(name)
        for name in self._rows.keys() - seen:
            del self._rows[name]

    def _read(self, name: str) -> Row | None:
        """The row of a run; None if another release wrote it."""
        try:
            run = self.store.listed(name)
        except StoreError:
            return None
        if run is None or not is_sound(run.manifest):
            return Row(name)
        experiment, manifest = run.experiment, run.manifest
        loads = experiment["traffic"].values()
        settings = (f"{path}={value}" for path, value in flat(experiment).items())
        text = " ".join([name, *settings]).lower()[:MOST_TEXT]
        return Row(
            name,
            damaged=False,
            title=str(experiment.get("title") or "(no title)")[:MOST_CELL],
            cc=", ".join(sorted({str(load["transport"]["cc"]["kind"]) for load in loads}))[:MOST_CELL],
            queue=str(experiment["queue"]["kind"])[:MOST_CELL],
            topology=str(experiment["topology"]["kind"])[:MOST_CELL],
            seed=manifest["seed"],
            backend=str(manifest.get("backend", ""))[:MOST_CELL],
            finished=str(manifest.get("finished_at", ""))[:19],
            words=zlib.compress(text.encode(errors="replace"), 1),
        )


def is_sound(manifest: Mapping[str, Any]) -> bool:
    """Whether a manifest has the form that pages rely on. A digest finds accidents, not forgers."""
    experiment, tables = manifest.get("experiment"), manifest.get("tables")
    if not isinstance(experiment, Mapping) or not isinstance(tables, Mapping):
        return False
    if not isinstance(manifest.get("seed"), int) or not all(
        isinstance(mark, Mapping) for mark in tables.values()
    ):
        return False
    loads = experiment.get("traffic")
    if not isinstance(loads, Mapping):
        return False
    controls = [_at(load, "transport", "cc") for load in loads.values()]
    places = [*controls, experiment.get("queue"), experiment.get("topology")]
    return all(isinstance(place, Mapping) and isinstance(place.get("kind"), str) for place in places)


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
