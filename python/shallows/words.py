"""Words that help the reader of a fault."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterable
from typing import Any

__all__ = ["did_you_mean", "shorten", "show"]

MOST_GUESSED = 200
"""A longer word is no mistyped name, and comparing it would take minutes."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`did you mean "...?"` for the nearest known word, or the empty text."""
    if len(word) > MOST_GUESSED:
        return ""
    near = difflib.get_close_matches(word, list(known), n=1)
    return f'did you mean "{near[0]}"?' if near else ""


def show(value: Any) -> str:
    """A value for a fault's text: as JSON, at most 200 characters."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=os.fspath)
    except (TypeError, ValueError):
        text = type(value).__name__ if isinstance(value, int) else str(value)
    return shorten(text, 200)


def shorten(text: str, most: int) -> str:
    """A text of at most so many characters."""
    return text if len(text) <= most else text[: most - 3] + "..."
