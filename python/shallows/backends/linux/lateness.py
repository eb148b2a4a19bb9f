"""Packets that come late at the end of a wire: jitter, and those that are held back.

Both are netems below the wire's. netem draws each time from a table of 16 384 entries, so that one law's
table serves all wires: its entry `i` is the quantile of the law at (i + 1/2) / 16384.

Source: `net/sched/sch_netem.c` of Linux 7.2, `tabledist`.

Left out: correlated times, since netem mixes each draw with the one before, which narrows the distribution;
and what lies beyond the last entry: exponential times above 10.4 means, Pareto times above 21.3. A packet
that the wire has lost holds up none behind it, which it does in the simulator if order is kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from statistics import NormalDist
from typing import Any

from shallows.backends.linux.links import HOLDS, Link
from shallows.backends.linux.paths import drawn
from shallows.errors import Fault

LARGEST = 32767
"""The largest entry of a table."""

UNIT = 8192
"""An entry of this size is netem's jitter (NETEM_DIST_SCALE)."""

MOST_NS = 2**31 - 1
"""The largest jitter of netem."""

PARETO = 3.0
"""Shape of the law `pareto`, as in the simulator (net/wire/jitter.rs)."""

LAWS = {
    "uniform": lambda share: 2 * share,
    "normal": lambda share: min(max(1 + NormalDist().inv_cdf(share) / 3, 0.0), 2.0),
    "exponential": lambda share: -math.log(1 - share),
    "pareto": lambda share: (PARETO - 1) / PARETO * (1 - share) ** (-1 / PARETO),
}
"""By the law's name: the time, in means, below which this share of all lies."""

__all__ = ["LAWS", "faults", "last", "law", "lines", "longest", "scale_ns", "used"]


def longest(name: str) -> float:
    """The longest time of a law's table, in means."""
    return LAWS[name]((HOLDS - 0.5) / HOLDS)


@cache
def law(name: str) -> str:
    """The entries of a law's table, the largest of which is `LARGEST`."""
    most = longest(name)
    return " ".join(str(round(LAWS[name]((i + 0.5) / HOLDS) / most * LARGEST)) for i in range(HOLDS))


def scale_ns(name: str, mean_ps: int) -> int:
    """netem's jitter, with which a law's table has this mean."""
    return round(mean_ps / 1000 * longest(name) * UNIT / LARGEST)


def jitter(link: Link, port: Mapping[str, Any], number: int, seed: int) -> str:
    """Words of the jitter of a link, whose law's table has this number. tc reports no jitter without a delay;
    the guest reads it back.
    """
    kept = int(port["jitter_order"] == "kept")
    scale = scale_ns(port["jitter_law"], port["jitter_ps"])
    return f"{link.far} {link.wire} {scale} {kept} {_seed(link, seed, 'jitter')} {number}"


def held(link: Link, port: Mapping[str, Any], seed: int) -> str:
    """Words for packets that wait at the end of a wire, while the others overtake them."""
    parent = "30000" if port["jitter_ps"] else "10000"
    share = round(port["reorder"] * HOLDS)
    most = port["reorder_delay_ps"] // 1000
    return f"{link.far} {link.wire} {parent} {share} {most} {_seed(link, seed, 'reorder')}"


def lines(link: Link, port: Mapping[str, Any], laws: Sequence[str], seed: int) -> Iterator[str]:
    """Lines of the plan that make a link's packets late; `laws` are those whose tables the plan has."""
    if port["jitter_ps"]:
        yield f"jitter {jitter(link, port, laws.index(port['jitter_law']), seed)}"
    if port["reorder"]:
        yield f"hold {held(link, port, seed)}"


def last(port: Mapping[str, Any]) -> int:
    """The handle of the last netem of a wire: its own, 1, or one of those that make packets late."""
    return 2 if port["reorder"] else 3 if port["jitter_ps"] else 1


def used(ports: Sequence[Mapping[str, Any]]) -> list[str]:
    """The laws of jitter that ports have."""
    return sorted({port["jitter_law"] for port in ports if port["jitter_ps"]})


def faults(path: str, port: Mapping[str, Any], mean_ps: int) -> list[Fault]:
    """The jitter of a port that netem cannot make, which has this mean."""
    found = []
    if port.get("jitter_correlation"):
        rule = "must be 0 on Linux: netem mixes each draw with the last one, which narrows the distribution"
        found.append(Fault(f"{path}.jitter_correlation", rule, port["jitter_correlation"]))
    name = port.get("jitter_law", "uniform")
    if scale_ns(name, mean_ps) > MOST_NS:
        most = int(MOST_NS * LARGEST / UNIT / longest(name) / 1e6)
        rule = f"must be at most {most}ms with this law on Linux, whose netem keeps it in 31 bits"
        found.append(Fault(f"{path}.jitter", rule, port["jitter"]))
    return found


def _seed(link: Link, seed: int, what: str) -> int:
    return drawn(seed, what, link.name, *[str(link.times)] * bool(link.times))
