"""The loads as lines of the guest's plan: sender, size and time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from shallows.backends.linux import controls, transports
from shallows.document.schema import facts

if TYPE_CHECKING:
    import polars as pl

IDLE = "no-traffic"
"""Name of the load that stands for the transport's settings where a file has no traffic; it sends nothing."""

__all__ = ["IDLE", "can_run", "in_rounds", "lines"]


def in_rounds(load: Mapping[str, Any]) -> bool:
    """Whether the guest makes the load's rounds itself: its answers wait for requests."""
    return facts("traffic", load["kind"])["elsewhere"].get("linux") == "rounds"


def can_run(kind: str) -> bool:
    """Whether Linux runs such loads: their times are known beforehand, or the guest makes them."""
    about = facts("traffic", kind)
    return not about["closed_loop"] or "linux" in about["elsewhere"]


def lines(
    experiment: Mapping[str, Any],
    hosts: Mapping[str, int],
    ends: Mapping[str, Mapping[str, list[int]]],
    flows: pl.DataFrame,
    messages: pl.DataFrame,
    numbers: Mapping[str, int],
) -> Iterator[str]:
    """Lines for all loads; `hosts` are the hosts' numbers by name, `ends` those that each load names.

    `numbers` are the quantities of the experiment (`_core.plan`).

    `flows` and `messages` are the simulator's tables of the experiment: sends of open loops with times.
    """
    every = experiment["traffic"]
    loads = transports.tcp_loads(experiment)
    names = sorted({controls.kernel_name(load["transport"]) for load in loads.values()})
    yield from (f"control {name}" for name in names)
    control = {name: names.index(controls.kernel_name(load["transport"])) for name, load in loads.items()}
    number = {name: i for i, name in enumerate(every)}
    open_loops = {name for name, load in loads.items() if not in_rounds(load)}
    place: dict[int, int] = {}
    for flow in flows.iter_rows(named=True):
        load = flow["traffic"]
        if load in open_loops:
            place[flow["id"]] = len(place)
            pair = f"{hosts[flow['src']]} {hosts[flow['dst']]}"
            yield f"open {number[load]} {pair} {control[load]} {flow['start_ps'] // 1000}"
            if flow["bytes"] is None:
                yield f"send {place[flow['id']]} {flow['start_ps'] // 1000} -1"
    for message in messages.iter_rows(named=True):
        if message["flow"] in place:
            yield f"send {place[message['flow']]} {message['start_ps'] // 1000} {message['bytes']}"
    for name, load in loads.items():
        if in_rounds(load):
            yield from _rounds(f"traffic.{name}", number[name], load, control[name], ends[name], numbers)


def _rounds(
    path: str,
    number: int,
    load: Mapping[str, Any],
    control: int,
    ends: Mapping[str, list[int]],
    numbers: Mapping[str, int],
) -> Iterator[str]:
    workers = ends["from"]
    count = len(workers) if load["workers"] == "none" else load["workers"]
    each = (
        numbers[f"{path}.response"]
        if load["response"] != "none"
        else max(numbers[f"{path}.total"] // count, 1)
    )
    request = numbers[f"{path}.request"]
    rounds = 0 if load["rounds"] == "none" else load["rounds"]
    spans = " ".join(str(numbers[f"{path}.{key}"] // 1000) for key in ("start", "gap", "jitter"))
    fresh = int(load["connection"] == "fresh")
    to = ends["to"][0]
    yield f"rounds {number} {to} {control} {each} {request} {rounds} {spans} {fresh}"
    yield from (f"worker {workers[i % len(workers)]}" for i in range(count))
