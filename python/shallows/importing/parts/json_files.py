"""JSON with the line of its damage."""

from __future__ import annotations

import json

from shallows.importing.parts.source import Source

__all__ = ["parse_json"]


def parse_json(source: Source) -> object:
    """The value of a JSON file. Raises SpecError with the line of the damage."""
    try:
        return json.loads(
            source.text(), parse_constant=lambda word: source.stop(None, "must have finite numbers", word)
        )
    except json.JSONDecodeError as error:
        source.stop(error.lineno, f"is damaged JSON: {error.msg}")
    except ValueError as error:
        source.stop(None, f"is damaged JSON: {error}")
    return None
