"""Files with the messages of a `graph` load: CSV or JSON.

A CSV has the columns id, from, to, bytes and may have after, delay, start. `after` holds ids with blanks
between them. Values have units (10KB, 1.5ms), or the column's name has: `bytes` takes plain numbers, and so
do delay_us, start_ms ... A JSON file holds a list of tables with the same keys, as an experiment file would
have them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from shallows.document.csv_rows import UNITS, lines, read_rows, size
from shallows.errors import Fault, SpecError

__all__ = ["MAX_MESSAGES", "read_messages", "with_lines"]

MAX_MESSAGES = 1_000_000
"""The most messages of a graph."""

_TIMES = ("delay", "start")
_PLACE = re.compile(r"traffic\.(.+)\.messages\.(\d+)(\..+)?")


def read_messages(name: str) -> list[Any]:
    """The messages of a file. Raises SpecError where it cannot be read or has another form."""
    rows = _from_json(Path(name)) if name.endswith(".json") else _from_csv(Path(name))
    if len(rows) > MAX_MESSAGES:
        rule = f"holds {len(rows)} messages; at most {MAX_MESSAGES} are allowed"
        raise SpecError([Fault("", rule, name, code="out-of-range")])
    return rows


def with_lines(faults: Iterable[Fault], document: Mapping[str, Any]) -> list[Fault]:
    """The faults, those of messages from a file with their line in it."""
    known: dict[str, list[int]] = {}
    return [_with_line(fault, document, known) for fault in faults]


def _with_line(fault: Fault, document: Mapping[str, Any], known: dict[str, list[int]]) -> Fault:
    found = _PLACE.fullmatch(fault.path)
    load = document.get("traffic", {}).get(found[1], {}) if found else {}
    name = load.get("name")
    if not found or not isinstance(name, str) or "messages" in load:
        return fault
    number = int(found[2])
    if name.endswith(".json"):
        return replace(fault, rule=f"{fault.rule} (entry {number + 1} of {Path(name).name})")
    if name not in known:
        known[name] = lines(Path(name))
    return replace(fault, rule=f"{fault.rule} (line {known[name][number]} of {Path(name).name})")


def _from_json(path: Path) -> list[Any]:
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise SpecError([Fault("", f"cannot be read: {why}", path)]) from None
    except RecursionError:
        raise SpecError([Fault("", "cannot be read: nested too deeply", path)]) from None
    if not isinstance(rows, list):
        raise SpecError([Fault("", "must hold a list of messages", path, code="wrong-type")])
    return rows


def _from_csv(path: Path) -> list[dict[str, Any]]:
    columns = {f"{time}{end}": time for time in _TIMES for end in ("", *(f"_{unit}" for unit in UNITS))}
    about = " and may have after, delay, start; delay_us, start_ms ... hold plain numbers"
    rows = read_rows(path, ("id", "from", "to", "bytes"), ("after", *columns), about)
    given = [column for column in (rows[0] if rows else ()) if column in columns]
    for time in _TIMES:
        many = [column for column in given if columns[column] == time]
        if len(many) > 1:
            rule = f"must have one column for {time}: {time}, or {time}_ with one of {', '.join(UNITS)}"
            raise SpecError([Fault("", rule, many, code="conflict")])
    return [_message(row, {column: columns[column] for column in given}) for row in rows]


def _message(row: Mapping[str, str | None], given: Mapping[str, str]) -> dict[str, Any]:
    """A message as the experiment file would have it."""
    message: dict[str, Any] = {key: (row[key] or "").strip() for key in ("id", "from", "to")}
    message |= {"bytes": size(row["bytes"]), "after": (row.get("after") or "").split()}
    for column, time in given.items():
        value = (row[column] or "").strip()
        if value:
            message[time] = f"{value}{column.removeprefix(time).removeprefix('_')}"
    return message
