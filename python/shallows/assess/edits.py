"""A user's own file of bounds and words: a table for each row that it changes."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from shallows.assess.criteria import Card
from shallows.errors import Fault, SpecError

__all__ = ["Edits", "apply"]


class Edits(NamedTuple):
    """Each change of a bound in words, and the author's words by their names."""

    words: list[str]
    given: dict[str, str]


def apply(read: dict[str, dict[str, Any]], card: Card, file: Path) -> Edits:
    """Puts the file's bounds over the criteria's. Raises SpecError for all that is wrong in it."""
    try:
        changes = tomllib.loads(file.read_text("utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise SpecError([Fault("--criteria", f"cannot be read: {error}", file)]) from None
    found, faults = Edits([], {}), []
    for row, settings in changes.items():
        if row not in card.rows or not isinstance(settings, dict):
            rule = f"must be a table of a row, {card.rows[0]} to {card.rows[-1]}"
            faults.append(Fault(f"--criteria: {row}", rule, settings))
            continue
        for key, value in settings.items():
            if rule := _refused(read.get(row), key, value):
                faults.append(Fault(f"--criteria: {row}.{key}", rule, value))
            elif row in read and isinstance(value, str):
                found.given[key] = value
            elif row in read:
                found.words.append(f"{row}.{key}: {value:g} in place of {read[row][key]:g}")
                read[row][key] = value
    if faults:
        raise SpecError(faults)
    return found


def _refused(about: dict[str, Any] | None, key: str, value: Any) -> str:
    """The rule that a setting breaks, or nothing. Only the value counts if the row is not on the card."""
    if about is not None and "words" in about:
        if key not in about["words"]:
            return f"must be one of {', '.join(about['words'])}"
        return "" if isinstance(value, str) and value.strip() else "must be a text"
    if about is None and isinstance(value, str):
        return ""
    if about is not None and (key not in ("at_most", "at_least") or key not in about):
        return "must be the row's bound, at_most or at_least"
    number = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    return "" if number else "must be a number above zero"
