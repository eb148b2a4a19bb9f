"""Rows of a CSV file that an experiment names."""

from __future__ import annotations

import csv
from pathlib import Path

from shallows.errors import Fault, SpecError

UNITS = ("s", "ms", "us", "ns", "ps")
"""Units of time that the name of a column may end in: `start_us` holds plain numbers."""


def read_rows(
    path: Path, columns: tuple[str, ...], optional: tuple[str, ...] = (), about: str = ""
) -> list[dict[str, str]]:
    """The rows, without lines that begin with `#`.

    Raises SpecError for a file that cannot be read or has other columns.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(line for line in file if not line.startswith("#"))
            rows, header = list(reader), reader.fieldnames or []
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise SpecError([Fault("", f"cannot be read: {why}", path)]) from None
    if not set(columns) <= set(header) <= {*columns, *optional}:
        rule = f"must have the columns {', '.join(columns)}"
        raise SpecError([Fault("", rule + about, header, code="unknown-key")])
    return rows


def lines(path: Path) -> list[int]:
    """The line of each row, counted from 1. Rows that span lines count by their last."""
    numbers: list[int] = []
    with path.open(encoding="utf-8", newline="") as file:
        kept = [(number, line) for number, line in enumerate(file, 1) if not line.startswith("#")]
    reader = csv.DictReader(line for _, line in kept)
    for _ in reader:
        numbers.append(kept[reader.line_num - 1][0])
    return numbers


def size(text: str | None) -> str:
    """An amount of data as the experiment file would have it; a plain number is in bytes."""
    text = (text or "").strip()
    return f"{text}B" if text.isdigit() else text
