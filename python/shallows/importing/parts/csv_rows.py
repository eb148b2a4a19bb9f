"""Rows of a CSV file: a header or none, commas, semicolons or tabs, with the line of each row."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping

from shallows.errors import Fault, SpecError
from shallows.importing.parts.source import MOST_ROWS, Head, Source

__all__ = ["UNITS", "header_of", "is_number", "read_rows", "size", "time_columns", "times"]

UNITS = ("s", "ms", "us", "ns", "ps")
"""Units of time that the name of a column may end in: `start_us` holds plain numbers."""

_NAMES = {
    "from": ("src", "source", "sender"),
    "to": ("dst", "dest", "destination", "target", "receiver"),
    "bytes": ("size", "size_bytes", "flow_size", "flow_size_bytes"),
    "start": ("start_time",),
    "at": ("time", "timestamp"),
    "rate": ("capacity", "bandwidth", "datarate"),
    "delay": ("latency",),
}
"""Names that other programs have for columns, by ours."""

OTHER_NAMES = {other: ours for ours, others in _NAMES.items() for other in others}

Row = dict[str, str]


def header_of(head: Head) -> list[str]:
    """The cells of the first line, in lower case, by our names."""
    return [ours(cell) for cell in _cells(head.lines[0])] if head.lines else []


def ours(name: str) -> str:
    """Our name of a column: `from` of `src`, `start_us` of `start_time_us`."""
    if name in OTHER_NAMES:
        return OTHER_NAMES[name]
    stem, _, unit = name.rpartition("_")
    return f"{OTHER_NAMES[stem]}_{unit}" if stem in OTHER_NAMES else name


def read_rows(
    source: Source, columns: tuple[str, ...], optional: Iterable[str] = (), about: str = ""
) -> Iterator[tuple[int, Row]]:
    """Each row with its line, without empty ones and those that begin with `#`.

    Raises SpecError for a file that cannot be read, has other columns or too many rows.
    """
    header: list[str] = []
    found = 0
    for line, cells in _table(source):
        if not header:
            known = {*columns, *optional}
            header = [cell if cell in known else ours(cell) for cell in map(str.lower, cells)]
            if not set(columns) <= set(header) <= known:
                rule = f"must have the columns {', '.join(columns)}{about}"
                place = f" (line {line} of {source.path.name})"
                raise SpecError([*source.faults, Fault("", rule + place, cells, code="unknown-key")])
            if len(set(header)) < len(header):
                source.stop(line, "must name each column once", cells)
            continue
        if len(cells) > len(header):
            source.refuse(line, f"has {len(cells)} values for {len(header)} columns", cells[len(header)])
            continue
        found += 1
        if found > MOST_ROWS:
            source.stop(line, f"holds more than {MOST_ROWS} rows, the most that are allowed")
        yield line, dict(zip(header, [*cells, *[""] * (len(header) - len(cells))], strict=True))
    if not header:
        source.stop(None, f"must have the columns {', '.join(columns)}{about}", "nothing")


def time_columns(times: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Every name of a column of times, with its meaning and its unit, if it has one."""
    with_units = {f"{time}_{unit}": (time, unit) for time in times for unit in UNITS}
    return {time: (time, "") for time in times} | with_units


def times(
    source: Source, line: int, row: Mapping[str, str], columns: Mapping[str, tuple[str, str]]
) -> dict[str, str]:
    """The times of a row that are not empty; a plain number gets the unit of its column.

    Refuses a plain number of a column without a unit, since nothing says which unit it is.
    """
    for column, (time, unit) in columns.items():
        if not row.get(column) or not is_number(row[column]):
            continue
        if not math.isfinite(float(row[column])):
            source.refuse(line, f"{time} must be a finite number", row[column])
        elif not unit and float(row[column]):
            name = f"name the column {time}_us (or {time}_s, {time}_ms ...)"
            rule = f'needs a unit: {name}, or write "{row[column]}us"'
            source.refuse(line, rule, row[column])
    return {
        time: f"{row[column]}{unit}" if is_number(row[column]) else row[column]
        for column, (time, unit) in columns.items()
        if row.get(column)
    }


def one_column_each(source: Source, header: Iterable[str], times: Iterable[str], needed: str = "") -> None:
    """Refuses two columns for one time, and none for the one that is needed."""
    known, header = time_columns(times), [*header]
    for time in times:
        many = [column for column in header if known.get(column, ("",))[0] == time]
        if len(many) > 1 or (not many and time == needed):
            rule = f"must have one column for {time}: {time}, or {time}_ with one of {', '.join(UNITS)}"
            code = "conflict" if many else "missing"
            raise SpecError([*source.faults, Fault("", rule, many, code=code)])


def size(text: str | None) -> str:
    """An amount of data as the experiment file would have it; a plain number is in bytes."""
    text = (text or "").strip()
    return f"{text}B" if text.isdigit() else text


def is_number(text: str) -> bool:
    """Whether a text is a number, as columns with a unit in their names hold."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _table(source: Source) -> Iterator[tuple[int, list[str]]]:
    number = 0

    def lines() -> Iterator[str]:
        nonlocal number, delimiter
        for at, line in source.lines():
            number = at
            if line.strip() and not line.lstrip().startswith("#"):
                delimiter = delimiter or _delimiter(line)
                yield line if delimiter == "," else line.replace(delimiter, ",")

    delimiter = ""
    reader = csv.reader(lines(), skipinitialspace=True, strict=True)
    try:
        for cells in reader:
            yield number, [cell.strip() for cell in cells]
    except csv.Error as error:
        source.stop(number, f"is not a row of a CSV file: {error}")


def _delimiter(line: str) -> str:
    return next((mark for mark in (",", ";", "\t") if mark in line), ",")


def _cells(line: str) -> list[str]:
    return [cell.strip().strip('"').lower() for cell in line.split(_delimiter(line))]
