"""Writes an experiment as TOML, and the rows of its loads as CSV files beside it."""

from __future__ import annotations

import csv
import io
import json
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from shallows.errors import StoreError
from shallows.files import write_whole
from shallows.importing.compose import LINKS, Composed

__all__ = ["planned", "write", "write_checked"]

_COLUMNS = {
    "flows": ("from", "to", "bytes", "start", "deadline"),
    "datagrams": ("at", "bytes"),
    "rates": ("at", "rate"),
    "messages": ("id", "from", "to", "bytes", "after", "delay", "start"),
    "sizes": ("size_bytes", "cdf_percent"),
}


def planned(composed: Composed, out: Path) -> list[Path]:
    """The files that `write` makes."""
    return [out, *(out.with_name(f"{out.stem}-{name}.csv") for name in composed.rows)]


def write_checked(
    composed: Composed, out: Path, head: Iterable[str], check: Callable[[Path], object]
) -> list[Path]:
    """Writes the files after `check` has read the experiment. Raises StoreError, and the error of `check`."""
    try:
        with tempfile.TemporaryDirectory(prefix=f".{out.stem}-", dir=out.parent) as place:
            made = write(composed, Path(place) / out.name, head)
            check(made[0])
            return [path.replace(out.with_name(path.name)) for path in reversed(made)][::-1]
    except OSError as error:
        raise StoreError(f"cannot write {out}: {error.strerror or error}") from error


def write(composed: Composed, out: Path, head: Iterable[str]) -> list[Path]:
    """Writes the experiment and its CSV files; returns their paths. Raises StoreError."""
    made = []
    try:
        for name, (gives, rows) in composed.rows.items():
            path = out.with_name(f"{out.stem}-{name}.csv")
            _table_of(composed.document, name, gives)["name"] = path.name
            write_whole(path, _csv(gives, rows).encode())
            made.append(path)
        comments = "".join(f"# {line}\n" for line in head)
        write_whole(out, (comments + _toml(composed.document)).encode())
    except OSError as error:
        raise StoreError(f"cannot write {out}: {error.strerror or error}") from error
    return [out, *made]


def _table_of(document: Mapping[str, Any], name: str, gives: str) -> dict[str, Any]:
    """The table that names the file: that of a load, of its sizes, or of a port's trace."""
    if gives in LINKS:
        (port,) = document["port"].values()
        return port["trace"]
    load = document["traffic"][name]
    return load["sizes"] if gives == "sizes" else load


def _csv(gives: str, rows: list[Any]) -> str:
    text = io.StringIO()
    if gives == "opportunities":
        return "".join(f"{at}\n" for at in rows)
    writer = csv.writer(text, lineterminator="\n")
    if gives == "sizes":
        writer.writerow(_COLUMNS[gives])
        writer.writerows([f"{size:.15g}", f"{percent:.15g}"] for size, percent in rows)
        return text.getvalue()
    used = {key for row in rows for key in row}
    columns = [column for column in _COLUMNS[gives] if column in used]
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row.get(column, "")) for column in columns])
    return text.getvalue()


def _cell(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _toml(document: Mapping[str, Any]) -> str:
    """Top values first, then a table each; links and other lists of tables have a line each."""
    lines = [
        f"{_key(key)} = {_value(value)}" for key, value in document.items() if not isinstance(value, dict)
    ]
    for key, value in document.items():
        if isinstance(value, dict):
            lines += _table(_key(key), value, nested=key in ("traffic", "switch", "priority", "port"))
    return "\n".join(lines) + "\n"


def _table(path: str, table: Mapping[str, Any], nested: bool) -> list[str]:
    if nested:
        return [line for key, value in table.items() for line in _table(f"{path}.{_key(key)}", value, False)]
    return ["", f"[{path}]", *(f"{_key(key)} = {_value(value)}" for key, value in table.items())]


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + "".join(f"  {_value(inner)},\n" for inner in value) + "]"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value)  # text, numbers and truth are the same in JSON and TOML
