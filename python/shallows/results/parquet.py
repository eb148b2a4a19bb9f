"""Tables as Parquet files: equal tables give equal bytes."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from polars._typing import ParquetCompression

__all__ = ["columns", "empty", "files", "without_rows"]

CODEC: ParquetCompression = "zstd"


def files(tables: Mapping[str, pl.DataFrame]) -> Iterator[tuple[str, bytes]]:
    """The name and the file of each table with rows, in their order."""
    for name, table in tables.items():
        if len(table):
            yield name, _by_polars(table)


def columns(table: pl.DataFrame) -> dict[str, str]:
    """The names of a table's columns, with their types as polars writes them."""
    return {name: str(kind) for name, kind in zip(table.columns, table.dtypes, strict=True)}


def without_rows(columns: Mapping[str, str]) -> pl.DataFrame:
    """A table without rows, from the names and types that `columns` gives."""
    return pl.DataFrame(schema={name: getattr(pl, kind) for name, kind in columns.items()})


def empty(columns: Mapping[str, str]) -> bytes:
    """The file of a table without rows."""
    return _by_polars(without_rows(columns))


def _by_polars(table: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression=CODEC, statistics=False)
    return buffer.getvalue()
