"""A table of flows as a CSV: from, to, bytes, start and, if wanted, deadline."""

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

TIMES = ("start", "deadline")
_NEEDED = ("from", "to", "bytes")


def _recognises(head: Head) -> bool:
    cells = {*header_of(head)}
    return {*_NEEDED} <= cells and "id" not in cells


def _read(source: Source, options: Mapping[str, str]) -> Content:
    about = ", start and may have deadline; start_us, deadline_ms ... hold plain numbers"
    columns = time_columns(TIMES)
    content = Content()
    lines: list[int] = []
    hosts: dict[str, None] = {}
    for line, row in read_rows(source, _NEEDED, tuple(columns), about):
        if not lines:
            one_column_each(source, row, TIMES, needed="start")
        flow: dict[str, Any] = {"from": row["from"], "to": row["to"], "bytes": size(row["bytes"])}
        flow |= {"start": ""} | times(source, line, row, columns)
        content.rows.append(flow)
        lines.append(line)
        hosts |= {row["from"]: None, row["to"]: None}
    content.lines, content.hosts = lines, [*hosts]
    content.understood = [f"{len(lines)} flows between {len(hosts)} hosts"]
    return content


READER = Reader(
    "flows-csv",
    "flows",
    "a table of flows as CSV",
    "the form of Shallows",
    "from,to,bytes,start_us\ns0,r0,10000,0\ns1,r0,20KB,12.5\n",
    _recognises,
    _read,
    suffix=".csv",
    columns={
        "from": "sending host",
        "to": "receiving host",
        "bytes": 'bytes as a plain number, or an amount such as "10KB"',
        "start": f"start with its unit; start_us, or with another of {', '.join(UNITS)}, has plain numbers",
        "deadline": "if wanted, time that the flow has, or empty; deadline_ms ... as for start",
    },
)
