"""Metrics over seeds; seeds that change nothing; messages that did not end.

Every command that averages over seeds does it here, so that all follow one rule. Runs that are equal in every
metric are one observation, however many seeds they had: their mean has no interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shallows.statistics.estimates import Estimate, mean_within
from shallows.tables import metric_names
from shallows.tables.metrics import Number

__all__ = ["SEEDS_CHANGE_NOTHING", "alike", "estimate", "over_seeds", "records", "unfinished"]

SEEDS_CHANGE_NOTHING = "the seeds change nothing here: add jitter or call it deterministic"


def alike(runs: Sequence[Mapping[str, Any]]) -> bool:
    """Whether several seeds gave the same value of every metric: equal runs are no independent evidence."""
    return len(runs) > 1 and all(one == runs[0] for one in runs)


def estimate(name: str, samples: Sequence[float], same: bool = False) -> Estimate:
    """The mean of a metric over seeds with its 95 % interval, which stays within what is possible.

    `same`: the runs are `alike`, so that there is one observation. A metric that is equal in all seeds of
    runs that differ has no interval either: its samples show no spread.
    """
    if same:
        return Estimate(float(samples[0]), None, None, 1)
    found = mean_within(samples, *metric_names.bounds(name))
    flat = all(each == samples[0] for each in samples)
    return Estimate(float(samples[0]), None, None, found.n) if flat else found


def over_seeds(runs: Sequence[Mapping[str, Any]]) -> dict[str, Estimate]:
    """The estimate of each metric that is a number in every run of these seeds."""
    same, found = alike(runs), {}
    for name in runs[0] if runs else ():
        values = [metrics.get(name) for metrics in runs]
        if all(isinstance(value, int | float) for value in values):
            found[name] = estimate(name, values, same)  # type: ignore[arg-type]
    return found


def records(runs: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """`over_seeds` for JSON: mean, 95 % interval or null, and the number of independent runs."""
    return {
        name: {"mean": each.value, "ci95": each.ci, "n": each.n} for name, each in over_seeds(runs).items()
    }


def unfinished(runs: Sequence[Mapping[str, Number]]) -> dict[str, tuple[int, int]]:
    """The messages, rounds and steps that did not end in these runs, and of how many.

    By class or load, named as in a sentence: `messages of web`, `rounds of g`.
    """
    found = {}
    for name in dict.fromkeys(name for metrics in runs for name in metrics):
        stem, _, last = name.rpartition(".")
        what = last.removesuffix("_unfinished")
        if what == last or "." in stem:
            continue
        missing = sum(int(metrics.get(name) or 0) for metrics in runs)
        ended = sum(int(metrics.get(f"{stem}.{what}") or 0) for metrics in runs)
        if missing:
            found[f"{what} of {stem}"] = (missing, missing + ended)
    return found
