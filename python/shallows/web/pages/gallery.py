"""The gallery: experiments worth seeing.

An entry is `gallery/NAME.toml`, an experiment file like any other, and `NAME.about.toml`: title, three
sentences, settings to drag, hints for the eye, a second scheme, the metric of its picture. `NAME.svg` is that
picture; tools/gallery_pictures.py draws it.
"""

from __future__ import annotations

import functools
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "gallery"

__all__ = ["Entry", "entries", "entry", "first"]


@dataclass(frozen=True)
class Entry:
    """An experiment of the gallery. `picture` is SVG, empty before it is drawn."""

    name: str
    text: str
    about: dict[str, Any]
    picture: str

    @property
    def second(self) -> str:
        """Settings of the scheme beside it, as `--set` takes them, or nothing."""
        return shlex.join(self.about.get("second", ()))


@functools.cache
def entries() -> tuple[Entry, ...]:
    """All, in the order that their `place` gives."""
    found = []
    for path in FOLDER.glob("*.about.toml"):
        name = path.name.removesuffix(".about.toml")
        about = tomllib.loads(path.read_text())
        drawn = FOLDER / f"{name}.svg"
        picture = drawn.read_text() if drawn.exists() else ""
        found.append(Entry(name, (FOLDER / f"{name}.toml").read_text(), about, picture))
    return tuple(sorted(found, key=lambda each: (each.about["place"], each.name)))


def entry(name: str) -> Entry | None:
    """The entry of a name."""
    return next((each for each in entries() if each.name == name), None)


def first() -> Entry:
    """The one that the laboratory opens with."""
    return entries()[0]
