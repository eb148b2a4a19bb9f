"""The cards: a folder each, with `card.toml` and a file for each of its rows."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

__all__ = ["CARDS", "QUEUE", "Card", "card", "criterion"]

CARDS = ("rfc9743", "l4s", "datacentre")
"""The cards of a congestion control."""
QUEUE = "queue"
"""The card of a queue discipline."""


class Card(NamedTuple):
    """A card's title and note, its rows in their order, and the controls in the candidate's place."""

    name: str
    title: str
    note: str
    yardsticks: tuple[str, ...]
    rows: tuple[str, ...]
    linux: dict[str, Any]
    """Settings of every experiment where the backend is Linux: the kernel has no others."""


@cache
def card(name: str) -> Card:
    """The card of this name: one of CARDS, or QUEUE."""
    found = _read(name, "card")
    rows = tuple(f"{found['letter']}{number}" for number in range(1, found["rows"] + 1))
    linux = found.get("linux", {})
    return Card(name, found["title"], found["note"], tuple(found["yardsticks"]), rows, linux)


def criterion(card: str, row: str) -> dict[str, Any]:
    """A row's file."""
    return _read(card, row.lower())


def _read(card: str, stem: str) -> dict[str, Any]:
    place = files("shallows.assess.criteria") / card / f"{stem}.toml"
    return tomllib.loads(place.read_text("utf-8"))
