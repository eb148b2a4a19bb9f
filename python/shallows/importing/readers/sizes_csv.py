"""Flow sizes as a CSV: bytes and percent, with a header or without."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from shallows.importing.parts.content import Content, Reader
from shallows.importing.parts.csv_rows import header_of, is_number
from shallows.importing.parts.points import of_points
from shallows.importing.parts.source import Head, Source

_SIZES = ("size_bytes", "bytes", "size", "flow_size", "flow_size_bytes")
_PERCENTS = ("cdf_percent", "percent", "cdf_percentage")
_SHARES = ("cdf", "share", "probability", "cumulative", "fraction")


def _recognises(head: Head) -> bool:
    cells = header_of(head)
    if len(cells) == 1 and not is_number(cells[0].split()[0] if cells[0] else "0"):
        cells = cells[0].split()  # names with blanks between
    if len(cells) != 2 or not head.lines:
        return False
    return (cells[0] in _SIZES and cells[1] in (*_PERCENTS, *_SHARES)) or all(map(is_number, cells))


def _read(source: Source, options: Mapping[str, str]) -> Content:
    scale = [1.0, ""]

    def points() -> Iterator[tuple[int, float, float]]:
        first = True
        for line, text in source.lines():
            if not text.strip() or text.lstrip().startswith("#"):
                continue
            commas = text.replace(";", ",").replace("\t", ",")
            parts = commas.split(",") if "," in commas else commas.split()
            cells = [cell.strip().strip('"').lower() for cell in parts]
            named = first and not is_number(cells[0])
            first = False
            if named:
                if len(cells) != 2 or cells[0] not in _SIZES or cells[1] not in (*_PERCENTS, *_SHARES):
                    rule = "must have the columns size_bytes, cdf_percent"
                    source.stop(line, f"{rule}, or size_bytes, cdf with shares to 1", cells)
                scale[0] = 100.0 if cells[1] in _SHARES else 1.0
                continue
            if len(cells) != 2:
                source.refuse(line, "must hold two numbers: bytes and percent", cells)
            elif not (is_number(cells[0]) and is_number(cells[1])):
                source.refuse(line, "must hold numbers only", cells)
            else:
                size = source.number(line, cells[0], "a size in bytes")
                yield line, size, source.number(line, cells[1], "a share") * scale[0]

    return of_points(source, points())


READER = Reader(
    "sizes-csv",
    "sizes",
    "flow sizes as CSV: bytes and percent of flows not larger",
    "the form of the distributions that come with Shallows",
    "size_bytes,cdf_percent\n0,0\n10000,50\n1000000,100\n",
    _recognises,
    _read,
    suffix=".csv",
    columns={
        "size_bytes": "size in bytes; `bytes` and `size` are names for it too",
        "cdf_percent": "percent of flows not larger; as `cdf`, a share from 0 to 1",
    },
)
