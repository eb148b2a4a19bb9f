"""Tables as Parquet files: equal tables give equal bytes."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from polars._typing import ParquetCompression

__all__ = ["columns", "empty", "files"]

SMALL_BYTES = 2**20
"""The most bytes of tables that are made together. A larger one is made alone, in its own file."""

CODEC: ParquetCompression = "zstd"


def files(tables: Mapping[str, pl.DataFrame]) -> Iterator[tuple[str, bytes]]:
    """The name and the file of each table with rows, in their order.

    Each call of the writer costs as much as a table of some hundred rows, so small tables share one.
    """
    small = {name: t for name, t in tables.items() if len(t) and t.estimated_size() <= SMALL_BYTES}
    made = dict(zip(small, _together(list(small.values())), strict=True))
    for name, table in tables.items():
        if name in made:
            yield name, made.pop(name)
        elif len(table):
            [alone] = _together([table])
            yield name, alone


def columns(table: pl.DataFrame) -> dict[str, str]:
    """The names of a table's columns, with their types as polars writes them."""
    return {name: str(kind) for name, kind in table.schema.items()}


def empty(columns: Mapping[str, str]) -> bytes:
    """The file of a table without rows."""
    [made] = _together([pl.DataFrame(schema={name: getattr(pl, kind) for name, kind in columns.items()})])
    return made


def _together(tables: list[pl.DataFrame]) -> list[bytes]:
    buffers = [io.BytesIO() for _ in tables]
    pl.collect_all(
        [
            table.lazy().sink_parquet(buffer, compression=CODEC, statistics=False, lazy=True)
            for table, buffer in zip(tables, buffers, strict=True)
        ]
    )
    return [buffer.getvalue() for buffer in buffers]
