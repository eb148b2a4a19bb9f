"""The rate of a link over time as a CSV: a time, and the rate from then on."""

from __future__ import annotations

from collections.abc import Mapping

from shallows.importing.parts.content import Content, Reader
from shallows.importing.parts.csv_rows import (
    UNITS,
    header_of,
    is_number,
    one_column_each,
    read_rows,
    time_columns,
    times,
)
from shallows.importing.parts.source import Head, Source

RATES = {"rate": "", "rate_bps": "bps", "rate_kbps": "Kbps", "rate_mbps": "Mbps", "rate_gbps": "Gbps"}
"""Columns of rates, with the unit of their plain numbers."""


def _recognises(head: Head) -> bool:
    cells = {*header_of(head)}
    return len(cells) == 2 and bool(cells & {*RATES}) and bool(cells & {*time_columns(("at",))})


def _read(source: Source, options: Mapping[str, str]) -> Content:
    columns = time_columns(("at",))
    content = Content()
    lines: list[int] = []
    for line, row in read_rows(source, (), (*columns, *RATES), "at and rate, such as at_ms and rate_mbps"):
        if not lines:
            one_column_each(source, row, ("at",), needed="at")
            if len([*RATES.keys() & row.keys()]) != 1:
                source.stop(line, f"must have one column of rates: {', '.join(RATES)}", [*row])
        column = next(name for name in RATES if name in row)
        content.rows.append(
            {"at": ""}
            | times(source, line, row, columns)
            | {"rate": _rate(source, line, row[column], RATES[column])}
        )
        lines.append(line)
    content.lines = lines
    content.understood = [f"{len(lines)} rates of one link"]
    return content


def _rate(source: Source, line: int, text: str, unit: str) -> str:
    """A rate as the experiment file has it: a link without one carries nothing."""
    if not is_number(text):
        return text
    if not float(text):
        return "none"
    if not unit:
        rule = f'needs a unit: name the column rate_mbps (or rate_bps, rate_gbps ...), or write "{text}Mbps"'
        source.refuse(line, rule, text)
    return f"{text}{unit}"


READER = Reader(
    "link-rates",
    "rates",
    "rates of a link over time as CSV",
    "the form of Shallows",
    "at_ms,rate_mbps\n0,48\n1500,12.5\n2000,0\n2200,30\n",
    _recognises,
    _read,
    columns={
        "at": f"time with its unit, from 0 on; at_s, or another of {', '.join(UNITS)}, has plain numbers",
        "rate": "rate with its unit, 0 for none; rate_bps, rate_kbps, rate_mbps, rate_gbps are plain",
    },
)
