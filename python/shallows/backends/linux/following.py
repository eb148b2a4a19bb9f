"""Links that follow a trace of rates: lines of the guest's plan, and what Linux cannot do beside them.

The guest releases each packet when the one before it has been transmitted (guest, following.c).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from shallows.backends.linux import links
from shallows.backends.linux.qdiscs import Qdisc, polices
from shallows.backends.linux.readback import Asked, number
from shallows.errors import Fault

MOST_BPS = 1_000_000_000
"""The highest rate of a trace: each packet takes several calls of the guest."""

ALONE = {
    "duplicate": "copies have a wire of their own, whose rate does not follow",
    "burst_begins": "each change of netem's rate ends a burst",
}
"""Settings of a port that cannot stand beside a trace, and the reasons."""

__all__ = ["at_end", "faults", "lines", "mean_bps", "of_network", "traced"]


def traced(port: Mapping[str, Any]) -> bool:
    """Whether a port of the network follows a trace."""
    return isinstance(port.get("trace"), Mapping)


def faults(experiment: Mapping[str, Any]) -> list[Fault]:
    """Settings of an experiment that Linux cannot have beside a trace."""
    found = []
    for name, port in experiment["port"].items():
        if port.get("trace", "none") == "none":
            continue
        for key, why in ALONE.items():
            if port.get(key):
                rule = f"cannot stand beside a trace on Linux: {why}"
                found.append(Fault(f"port.{name}.{key}", rule, port[key]))
    return found


def of_network(experiment: Mapping[str, Any], network: Mapping[str, Any]) -> list[Fault]:
    """Faults of traces in the network that `_core.plan` describes."""
    following = [port for port in network["ports"] if traced(port)]
    found = []
    for port in following:
        path = f"port.{port['name']}.trace"
        highest = max(rate for _, rate in port["trace"]["pieces"])
        if highest > MOST_BPS:
            rule = (
                "must stay at 1Gbps or below on Linux, where each packet of such a link is released by itself"
            )
            found.append(Fault(path, rule, f"{highest}bps"))
        if port.get("changes"):
            rule = "cannot stand beside an event of its link on Linux: both would set its wire"
            found.append(Fault(path, rule, port["name"]))
        if polices(port["queue"]):
            rule = "cannot stand beside a policer on Linux: the packet that wakes its port would take tokens"
            found.append(Fault(path, rule, port["name"]))
        if network["nodes"][port["from"]]["host"]:
            for name, load in experiment["traffic"].items():
                if (burst := load["transport"].get("burst", 1)) > 1:
                    rule = "must be 1 on Linux where a host's own link follows a trace"
                    found.append(Fault(f"traffic.{name}.transport.burst", rule, burst))
    return found[:1]


def lines(link: links.Link, port: Mapping[str, Any], frame: int, under: Qdisc, seed: int) -> Iterable[str]:
    """Lines of the plan: the pieces of one rate each, and the link that follows them."""
    trace = port["trace"]
    yield from (f"piece {at // 1000} {rate}" for at, rate in trace["pieces"])
    limit = under.words.split()[-1] if under.kind in ("pfifo", "bfifo") else links.LIMIT_BYTES
    lost, seeded = links.losses(link, seed)
    ends = f"{link.near} {link.port} {link.far} {link.wire}"
    wire = f"{link.delay_ps // 1000} {lost} {seeded}"
    yield f"follow {ends} {frame} {wire} {limit} {(trace['period_ps'] or 0) // 1000}"


def at_end(link: links.Link, seed: int) -> dict[tuple[Any, ...], Asked]:
    """The report of tc about a link that has followed: its bucket has no tokens of its own."""
    shaper, wire = (link.port, "tbf", "1:"), (link.wire, "netem", "1:")
    shows = {name: value for name, value in links.wire(link, seed)[1].items() if name != "rate.rate"}
    bucket = {"rate": number(1), "stab.overhead": number(-links.ETHERNET_BYTES)}
    return {
        shaper: Asked(f"shaper of {link.name} after its last packet", shaper, bucket),
        wire: Asked(f"wire of {link.name} after its last packet", wire, shows),
    }


def mean_bps(trace: Mapping[str, Any], since_ps: int, until_ps: int) -> float:
    """The mean of a trace's rate between two times, in bit/s."""
    carried = _carried(trace, until_ps) - _carried(trace, since_ps)
    return carried / (until_ps - since_ps)


def _carried(trace: Mapping[str, Any], until_ps: int) -> int:
    """Bits that the link can carry until a time, times 10^12."""
    pieces, period = trace["pieces"], trace["period_ps"]
    ends = [at for at, _ in pieces[1:]]

    def within(until: int) -> int:
        spans = zip(pieces, [*ends, period or until_ps], strict=True)
        return sum(rate * max(min(end, until) - at, 0) for (at, rate), end in spans)

    if period is None:
        return within(until_ps)
    return until_ps // period * within(period) + within(until_ps % period)
