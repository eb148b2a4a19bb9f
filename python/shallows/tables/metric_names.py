"""The metrics that an experiment's runs will have, known before anything runs."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from shallows.errors import Fault, SpecError
from shallows.tables.metrics import BY_SIZE, SIZE_EDGES_BYTES, bin_word, metrics, size_bins
from shallows.words import did_you_mean

if TYPE_CHECKING:
    import polars as pl

__all__ = ["check", "names"]

_LEAST = {
    "duration": "1us",
    "seed": 1,
    "topology": {"kind": "star", "senders": 1, "rate": "1Gbps", "delay": "1us"},
    "queue": {"kind": "drop-tail", "limit": "9pkt"},
    "transport": {"cc": "newreno"},
    "traffic": {"any": {"kind": "bulk", "from": "s0", "to": "r0"}},
}
"""A run of nothing, for the columns that every run's tables have."""


def names(experiment: Mapping[str, Any]) -> list[str]:
    """What `metrics.with_sizes` may list for a resolved experiment."""
    loads = experiment["traffic"]
    classes = sorted({load["class"] for load in loads.values()})
    rounds = [name for name, load in loads.items() if load["kind"] == "incast"]
    tables = {name: _ones(table) for name, table in _columns().items()}
    tables["flows"] = _ones(_columns()["flows"], {"class": classes})
    tables["rounds"] = _ones(_columns()["rounds"], {"traffic": rounds})
    bins = [bin_word(*each) for each in size_bins(SIZE_EDGES_BYTES)]
    return [*metrics(tables), *(f"{c}.{b}.{key}" for c in classes for b in bins for key in BY_SIZE)]


def check(patterns: Iterable[str], experiments: Iterable[Mapping[str, Any]], at: str) -> None:
    """Raises SpecError for each pattern (`*` matches any text) that no metric of these experiments has."""
    known = list(dict.fromkeys(name for experiment in experiments for name in names(experiment)))
    rule = "is no metric of these runs (a * in a pattern matches any text)"
    faults = [
        Fault(at, rule, pattern, did_you_mean(pattern, known), "unknown-word")
        for pattern in patterns
        if not fnmatch.filter(known, pattern)
    ]
    if faults:
        raise SpecError(faults)


@cache
def _columns() -> dict[str, pl.DataFrame]:
    from shallows import _core
    from shallows.tables.frames import to_frame

    simulation = _core.Simulation(json.dumps(_LEAST))
    simulation.run()
    return {name: to_frame(columns).clear() for name, columns in simulation.tables().items()}


def _ones(empty: pl.DataFrame, words: Mapping[str, Sequence[str]] | None = None) -> pl.DataFrame:
    """A table with these columns and a row for each of the words that are given, all numbers 1."""
    import polars as pl

    given = dict(words or {})
    length = max(map(len, given.values()), default=0)
    fill = {name: [1 if dtype.is_numeric() else None] * length for name, dtype in empty.schema.items()}
    return pl.DataFrame(fill | given, schema=empty.schema)
