"""The finds of the soak: made as small as it stays wrong, and kept in tests/regressions/ for ever."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PLACE = Path(__file__).resolve().parents[1] / "tests/regressions"


def smallest(document: Any, is_wrong: Callable[[Any], bool], most: int = 400) -> Any:
    """The document without each part that it is wrong without; at most `most` tries."""
    tries = 0
    again = True
    while again and tries < most:
        again = False
        for smaller in _smaller(document):
            tries += 1
            if tries > most:
                break
            if is_wrong(smaller):
                document, again = smaller, True
                break
    return document


def _smaller(document: Any) -> Iterator[Any]:
    for way in _ways(document):
        copied = copy.deepcopy(document)
        table = copied
        for key in way[:-1]:
            table = table[key]
        del table[way[-1]]
        yield copied


def _ways(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The larger parts first."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    for key in keys:
        yield (*way, key)
    for key in keys:
        yield from _ways(value[key], (*way, key))


def keep(kind: str, found: list[str], document: Any) -> Path:
    """Writes a finding: `kind` is `run`, `audit` or `check`."""
    text = json.dumps({"kind": kind, "found": found[:5], "document": document}, indent=1, sort_keys=True)
    PLACE.mkdir(exist_ok=True)
    path = (
        PLACE
        / f"{kind}-{hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:10]}.json"
    )
    path.write_text(text + "\n", encoding="utf-8")
    return path


def kept() -> list[Path]:
    """All findings."""
    return sorted(PLACE.glob("*.json"))
