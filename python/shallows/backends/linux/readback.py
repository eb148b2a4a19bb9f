"""Compares what was asked of the kernel with what programs report of it, before any traffic starts.

The reports come another way than the settings went in: `tc -j` shows the settings of the guest and of tc,
`ip -j` shows devices and routes. Sysctls are read again by the guest, and each connection reports its own
settings as it opens.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    *("Asked", "Number", "Shown", "differences", "microseconds", "number"),
    *("objects", "of_devices", "of_disciplines", "of_routes"),
]


@dataclass(frozen=True)
class Number:
    """A number that a program reports, up to its rounding."""

    value: float
    within: float = 0.0

    def __str__(self) -> str:
        return f"{self.value:g}"


Shown = Number | bool | str | None
"""A reported value. None says that the option is not there."""


def number(value: float, within: float = 0.0) -> Number:
    """A number that may differ by `within`."""
    return Number(value, within)


def microseconds(picoseconds: int) -> Number:
    """A time that tc reports in us; disciplines keep it in units of 1024 ns, and tc cuts it."""
    return Number(picoseconds / 1e6, 2)


@dataclass(frozen=True)
class Asked:
    """The settings asked of one thing: a discipline, a device, or a route of a node."""

    what: str  # for a reader
    key: tuple[Any, ...]
    shows: Mapping[str, Shown] = field(default_factory=dict)


SHOWN_IF_OFF = {"pacing"}
"""Options that tc reports where they are off, and else leaves out."""


def objects(text: str) -> list[dict[str, Any]]:
    """All objects of the lists that programs printed, a list a line or over several.

    A discipline that this tc does not know has no options.
    """
    text = re.sub(r"\{\[Unknown qdisc[^]]*\]\s*\}", "{}", text)
    decoder, place, found = json.JSONDecoder(), 0, []
    while (place := text.find("[", place)) >= 0:
        more, place = decoder.raw_decode(text, place)
        found += more
    return found


def of_disciplines(text: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    """By device, kind and handle: the options that `tc -j -d qdisc show` printed, and the size table as
    `stab`.
    """
    return {
        (each["dev"], each["kind"], each["handle"]): each.get("options", {}) | {"stab": each.get("stab")}
        for each in objects(text)
    }


def of_devices(node: int, text: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    """By node and name: the devices that `ip -j -d link show` printed."""
    return {(node, each["ifname"]): each for each in objects(text)}


def of_routes(node: int, text: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    """By node and destination: device, metrics and weights of the next hops that `ip -j -d route show`
    printed.
    """
    found = {}
    for each in objects(text):
        own = {"dev": each.get("dev")}
        for metrics in each.get("metrics", ()):
            own |= metrics
        own |= {f"weight of {hop['dev']}": hop["weight"] for hop in each.get("nexthops", ())}
        found[node, each["dst"]] = own
    return found


def differences(asked: Iterable[Asked], has: Mapping[tuple[Any, ...], Mapping[str, Any]]) -> list[str]:
    """A line for each thing that is not there, and for each value that is another than was asked."""
    found = []
    for each in asked:
        if each.key not in has:
            found.append(f"{each.what} is not there")
            continue
        found += [f"{each.what}: {text}" for text in _differences(each.shows, has[each.key])]
    return found


def _differences(shows: Mapping[str, Shown], has: Mapping[str, Any]) -> Iterable[str]:
    for name, wanted in shows.items():
        found: Any = has
        for part in name.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        if isinstance(wanted, bool):
            found = bool(found) if found is not None else name in SHOWN_IF_OFF
            same = found == wanted
        elif isinstance(wanted, Number):
            same = isinstance(found, int | float) and abs(found - wanted.value) <= wanted.within
        else:
            same = found == wanted
        if not same:
            yield f"{name} is {found} after {wanted} was asked"
