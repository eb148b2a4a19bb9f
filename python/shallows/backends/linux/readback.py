"""Compares the requested qdiscs with those that the kernel reports."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

UNCHECKED = {"avpkt", "bandwidth", "burst"}
"""Words that tc works into other numbers (RED's), or rounds to its ticks (the shaper's)."""

FLAGS = {
    "ecn": "ecn",
    "bytemode": "bytemode",
    "harddrop": "harddrop",
    "nodrop": "nodrop",
    "adaptative": "adaptive",
}

OFF = {"noecn": "ecn", "nopacing": "pacing"}
"""Words that switch something off."""

SHOWN_IF_OFF = {"pacing"}
"""Options that tc reports where they are off, and else leaves out."""

__all__ = ["differences", "disciplines"]


def disciplines(log: str) -> list[dict[str, Any]]:
    """All that `tc -j qdisc show` printed into a log. One that this tc does not know has no options."""
    found = []
    for line in log.splitlines():
        if line.startswith("[{"):
            found += json.loads(re.sub(r"\{\[Unknown qdisc[^]]*\]\s*\}", "{}", line))
    return found


def differences(asked: Iterable[tuple[str, str]], has: list[dict[str, Any]]) -> list[str]:
    """Where a device's discipline is not what `asked` for it; each asked is a device and the words for tc."""
    by_place = {(each["dev"], each["kind"]): each["options"] for each in has}
    found = []
    for device, words in asked:
        kind, *settings = words.split()
        if (device, kind) not in by_place:
            found.append(f"{device} has no {kind}")
            continue
        options = by_place[device, kind]
        found += [f"{kind} of {device}: {text}" for text in _differences(settings, options)]
    return found


def _differences(words: list[str], options: dict[str, Any]) -> Iterable[str]:
    wanted = {name: False for name in FLAGS.values() if name in options}
    places = iter(words)
    for word in places:
        if word in FLAGS:
            wanted[FLAGS[word]] = True
        elif word in OFF:
            wanted[OFF[word]] = False
        else:
            wanted[word] = next(places)
    for name, value in wanted.items():
        if name in UNCHECKED or (
            name == "limit" and "lat" in options
        ):  # the shaper reports its limit as a time
            continue
        if isinstance(value, bool):
            has = bool(options.get(name, name in SHOWN_IF_OFF))
            if has != value:
                yield f"{name} is {has} after {value} was asked"
        elif not _same(value, options.get(name)):
            yield f"{name} is {options.get(name)} after {value} was asked"


def _same(asked: str, has: Any) -> bool:
    if not isinstance(has, int | float):
        return False
    if asked.endswith("us"):  # kept in 1024 ns by some, in ns by others, and cut when reported
        return abs(has - float(asked.removesuffix("us"))) <= 2
    if asked.endswith("bit"):  # reported in bytes a second
        return abs(has * 8 - float(asked.removesuffix("bit"))) <= 8
    return abs(has - float(asked)) <= 1e-6 * abs(float(asked))
