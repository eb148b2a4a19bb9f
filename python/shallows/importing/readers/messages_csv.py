"""The messages of a graph as a CSV: id, from, to, bytes and, if wanted, after, delay, start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shallows.importing.parts.content import Content, Reader
from shallows.importing.parts.csv_rows import header_of, one_column_each, read_rows, size, time_columns, times
from shallows.importing.parts.source import Head, Source

TIMES = ("delay", "start")
_NEEDED = ("id", "from", "to", "bytes")


def _recognises(head: Head) -> bool:
    return {*_NEEDED} <= {*header_of(head)}


def _read(source: Source, options: Mapping[str, str]) -> Content:
    columns = time_columns(TIMES)
    about = " and may have after, delay, start; delay_us, start_ms ... hold plain numbers"
    content = Content()
    lines: list[int] = []
    hosts: dict[str, None] = {}
    for line, row in read_rows(source, _NEEDED, ("after", *columns), about):
        if not lines:
            one_column_each(source, row, TIMES)
        message: dict[str, Any] = {key: row[key] for key in ("id", "from", "to")}
        message |= {"bytes": size(row["bytes"]), "after": row.get("after", "").split()}
        content.rows.append(message | times(source, line, row, columns))
        lines.append(line)
        hosts |= {row["from"]: None, row["to"]: None}
    content.lines, content.hosts = lines, [*hosts]
    content.understood = [f"{len(lines)} messages between {len(hosts)} hosts"]
    return content


READER = Reader(
    "messages-csv",
    "messages",
    "messages of a graph as CSV",
    "the form of Shallows",
    "id,from,to,bytes,after,delay_us\nthere,s0,r0,5000,,\nback,r0,s0,5KB,there,12.5\n",
    _recognises,
    _read,
    suffix=".csv",
    columns={
        "id": "name of the message among those of the file",
        "from": "sending host",
        "to": "receiving host",
        "bytes": 'bytes as a plain number, or an amount such as "10KB"',
        "after": "if wanted, ids of messages that come before, with blanks between: "
        "those to the sender are delivered, those from it are sent",
        "delay": "if wanted, computation of the sender then, with its unit; delay_us ... has plain numbers",
        "start": "if wanted, soonest start of that computation; start_us ... holds plain numbers",
    },
)
