"""A trace of datagrams as a CSV: the time of each, and its bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shallows.importing.parts.content import Content, Reader
from shallows.importing.parts.csv_rows import (
    UNITS,
    header_of,
    one_column_each,
    read_rows,
    size,
    time_columns,
    times,
)
from shallows.importing.parts.source import Head, Source

ENDS = ("sender", "receiver")
"""The hosts that an import gives the trace, since the file names none."""


def _recognises(head: Head) -> bool:
    cells = {*header_of(head)}
    return "bytes" in cells and bool(cells & {*time_columns(("at",))}) and len(cells) == 2


def _read(source: Source, options: Mapping[str, str]) -> Content:
    columns = time_columns(("at",))
    content = Content(hosts=[*ENDS])
    lines: list[int] = []
    for line, row in read_rows(source, ("bytes",), tuple(columns), " and at; at_us, at_ms ... are plain"):
        if not lines:
            one_column_each(source, row, ("at",), needed="at")
        datagram: dict[str, Any] = (
            {"at": ""} | times(source, line, row, columns) | {"bytes": size(row["bytes"])}
        )
        content.rows.append(datagram)
        lines.append(line)
    content.lines = lines
    content.understood = [f"{len(lines)} datagrams of one sender"]
    return content


READER = Reader(
    "datagrams-csv",
    "datagrams",
    "a trace of datagrams as CSV",
    "the form of Shallows",
    "at_us,bytes\n0,1200\n20000,160\n20400,1.2KB\n",
    _recognises,
    _read,
    columns={
        "at": f"time of sending with its unit; at_us, or another of {', '.join(UNITS)}, has plain numbers",
        "bytes": 'payload as a plain number of bytes, or an amount such as "1.2KB"',
    },
)
