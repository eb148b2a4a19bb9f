"""The loads as lines of the guest's plan: sender, size and time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from shallows.backends.linux import controls

if TYPE_CHECKING:
    import polars as pl

__all__ = ["lines", "named"]


def lines(
    experiment: Mapping[str, Any], hosts: Mapping[str, int], flows: pl.DataFrame, messages: pl.DataFrame
) -> Iterator[str]:
    """Lines for all loads; `hosts` are the hosts' numbers by name.

    `flows` and `messages` are the simulator's tables of the experiment: what open loops send when.
    """
    loads = experiment["traffic"]
    names = sorted({controls.kernel_name(load["transport"]) for load in loads.values()})
    yield from (f"control {name}" for name in names)
    control = {name: names.index(controls.kernel_name(load["transport"])) for name, load in loads.items()}
    number = {name: i for i, name in enumerate(loads)}
    open_loops = {name for name, load in loads.items() if load["kind"] != "incast"}
    place: dict[int, int] = {}
    for flow in flows.iter_rows(named=True):
        load = flow["traffic"]
        if load in open_loops:
            place[flow["id"]] = len(place)
            ends = f"{hosts[flow['src']]} {hosts[flow['dst']]}"
            yield f"open {number[load]} {ends} {control[load]} {flow['start_ps'] // 1000}"
            if flow["bytes"] is None:
                yield f"send {place[flow['id']]} {flow['start_ps'] // 1000} -1"
    for message in messages.iter_rows(named=True):
        if message["flow"] in place:
            yield f"send {place[message['flow']]} {message['start_ps'] // 1000} {message['bytes']}"
    for name, load in loads.items():
        if load["kind"] == "incast":
            yield from _rounds(number[name], load, control[name], hosts)


def _rounds(number: int, load: Mapping[str, Any], control: int, hosts: Mapping[str, int]) -> Iterator[str]:
    from shallows._core import parse_quantity

    workers = named(load["from"], hosts)
    count = len(workers) if load["workers"] == "none" else load["workers"]
    each = (
        parse_quantity("bytes", load["response"])
        if load["response"] != "none"
        else max(parse_quantity("bytes", load["total"]) // count, 1)
    )
    request = parse_quantity("bytes", load["request"])
    rounds = 0 if load["rounds"] == "none" else load["rounds"]
    spans = " ".join(str(parse_quantity("span", load[key]) // 1000) for key in ("start", "gap", "jitter"))
    fresh = int(load["connection"] == "fresh")
    to = named(load["to"], hosts)[0]
    yield f"rounds {number} {to} {control} {each} {request} {rounds} {spans} {fresh}"
    yield from (f"worker {workers[i % len(workers)]}" for i in range(count))


def named(names: str | list[str], hosts: Mapping[str, int]) -> list[int]:
    """Numbers of hosts by name, list, pattern or range: each once, in the network's order."""
    found: set[int] = set()
    for pattern in [names] if isinstance(names, str) else names:
        low, dots, high = pattern.partition("..")
        if dots:
            stem = low.rstrip("0123456789")
            first, last = low[len(stem) :], high[len(stem) :]
            digits = len(first) if len(first) == len(last) else 0
            chosen = [f"{stem}{i:0{digits}}" for i in range(int(first), int(last) + 1)]
        else:
            chosen = [name for name in hosts if fnmatchcase(name, pattern)]
        found |= {hosts[name] for name in chosen}
    return sorted(found)
