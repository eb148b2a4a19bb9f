"""Rules of loads: when data are handed to senders.

`starts` is exact. `poisson` is a test of Kolmogorov and Smirnov, which rejects one right run in a million.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import log, sqrt
from typing import TYPE_CHECKING, Any

from shallows.audit.quantities import level, picoseconds
from shallows.audit.rule import CHANCE, Breach, Runs, rule, slack

if TYPE_CHECKING:
    import numpy as np

    from shallows.audit.trace import Trace

FEWEST = 50
"""Arrivals below which a distribution is not judged."""


def _loads(trace: Trace, kind: str, named: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, load in trace.experiment["traffic"].items():
        if load["kind"] == kind:
            if trace.warmup:
                return trace.skip(named, "tables have no connection that was complete before warmup")
            if load.get("primer", "0B") not in ("0B", 0):
                trace.skip(named, "a primer comes before the load's own data")
            else:
                yield name, load


@rule("starts", "docs/reference/traffic.md: `start`, `stagger`, `jitter`, `interval` and `count` of a load")
def starts_by_plan(trace: Trace) -> Iterator[Breach]:
    """Connections of a bulk load and messages at intervals start when the experiment says so."""
    import numpy as np
    import polars as pl

    for name, load in _loads(trace, "bulk", "starts"):
        rows = trace.tables["flows"].filter(pl.col("traffic") == name).sort("id")
        found = rows["start_ps"].to_numpy().astype("i8")
        begin, apart, jitter = (picoseconds(load[key]) for key in ("start", "stagger", "jitter"))
        # Numbers of connections follow the times of their starts.
        wanted = begin + apart * np.arange(len(found))
        wrong = (
            (found < wanted) | (found > wanted + jitter) if not jitter else _unplanned(found, wanted, jitter)
        )
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            text = f"a connection of {name} starts at {found[at]} ps, and its turn is at {wanted[at]} ps"
            yield Breach(text, int(found[at]), str(rows["src"][at]), int(wrong.sum()))
    for name, load in _loads(trace, "messages", "starts"):
        yield from _at_intervals(trace, name, load)


def _unplanned(found: np.ndarray, wanted: np.ndarray, jitter: int) -> np.ndarray:
    """In order of time each start lies between its plan and that with the whole jitter."""
    import numpy as np

    ordered = np.sort(found)
    return (ordered < wanted) | (ordered > wanted + jitter)


def _at_intervals(trace: Trace, name: str, load: Mapping[str, Any]) -> Iterator[Breach]:
    import polars as pl

    ends = trace.tables["flows"].select("id", "src", "dst")
    rows = trace.tables["messages"].filter(pl.col("traffic") == name)
    rows = rows.join(ends, left_on="flow", right_on="id").sort("start_ps")
    every, begin, apart = (picoseconds(load[key]) for key in ("interval", "start", "stagger"))
    wanted_size = level(load["bytes"])
    pairs = rows.partition_by("src", "dst", as_dict=True)
    places = {begin + apart * place for place in range(len(pairs))}
    for (src, dst), own in pairs.items():
        at = own["start_ps"].to_numpy().astype("i8")
        place = f"{src} to {dst}"
        if load["phase"] == "aligned" and int(at[0]) not in places:
            yield Breach(f"the first message of {name} is at none of its planned starts", int(at[0]), place)
        if load["phase"] == "random" and not begin <= at[0] < max(places) + every:
            yield Breach(f"the first message of {name} is not in its first interval", int(at[0]), place)
        odd = (at[1:] - at[:-1]) != every
        if odd.any():
            first = int(odd.argmax()) + 1
            text = f"a message of {name} starts {at[first] - at[first - 1]} ps after the one before"
            yield Breach(text, int(at[first]), place, int(odd.sum()))
        if wanted_size and (own["bytes"] != wanted_size[0]).any():
            yield Breach(f"a message of {name} does not have {load['bytes']}", int(at[0]), place)
        most = None if load["count"] in ("none", None) else int(load["count"])
        full = (trace.duration - 1 - int(at[0])) // every + 1
        if len(at) < min(full, most or full) or len(at) > (most or full + 1):
            text = f"{len(at)} messages of {name} started, and {most or full} are due"
            yield Breach(text, int(at[-1]), place)


def _distance(sample: np.ndarray) -> float:
    """Greatest distance of a sample from the uniform distribution, Kolmogorov's."""
    import numpy as np

    ordered, n = np.sort(sample), len(sample)
    steps = np.arange(n)
    return float(max((ordered - steps / n).max(), ((steps + 1) / n - ordered).max()))


@rule(
    "poisson",
    "Massart 1990: sup |F_n - F| exceeds sqrt(ln(2 / c) / 2n) with chance c at most; c = 10^-6",
    Runs.BOTH,
)
def arrives_at_random(trace: Trace) -> Iterator[Breach]:
    """Arrivals of a Poisson load are as many as its rate says, at uniform times, with exponential gaps."""
    import numpy as np
    import polars as pl

    for name, load in _loads(trace, "poisson", "poisson"):
        stop = load.get("stop", "none")
        begin = picoseconds(load["start"])
        end = min(trace.duration, trace.duration if stop == "none" else picoseconds(stop))
        end = max(begin, end)  # a load that starts after the end has no arrivals
        flows = trace.tables["flows"].filter(pl.col("traffic") == name)
        every = np.sort(flows["start_ps"].to_numpy().astype("i8"))
        together = load["fan_in"] * load["transport"].get("qps", 1)  # each queue pair is a flow
        at = every[::together]  # two arrivals may have the same time
        if (np.unique(every, return_counts=True)[1] % together).any():
            text = f"{len(flows)} flows of {name} at {len(at)} times are not {together} each"
            yield Breach(text, int(at[0]) if len(at) else begin, name)
        if len(at) and not begin <= at[0] <= at[-1] <= end:
            yield Breach(f"a flow of {name} arrives outside of {begin} to {end} ps", int(at[0]), name)
            continue
        mean = None if load["every"] in ("none", None) else picoseconds(load["every"])
        if mean:
            due = (end - begin) / mean
            # A Poisson count is a sum of draws whose probabilities are as small as one likes.
            if abs(len(at) - due) > slack(due):
                text = f"{len(at)} arrivals of {name}, and {due:.1f} are due"
                yield Breach(text, end, name)
        if len(at) < FEWEST:
            trace.skip("poisson", f"{name} has fewer than {FEWEST} arrivals")
            continue
        bound = sqrt(log(2 / CHANCE) / (2 * len(at)))
        gaps = np.diff(at, prepend=begin)
        # A sample is nearer to the law of its own mean (Lilliefors 1969), so the bound holds.
        laws = {
            "times are not uniform": (at - begin) / (end - begin),
            "gaps are not exponential": 1 - np.exp(-gaps / (mean or gaps.mean())),
        }
        for text, sample in laws.items():
            distance = _distance(sample)
            if distance > bound:
                words = f"arrivals of {name}: {text}: distance {distance:.3f}, and {bound:.3f} is the bound"
                yield Breach(words, int(at[0]), name)
