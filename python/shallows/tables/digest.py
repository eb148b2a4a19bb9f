"""One hash for all tables of a run, equal wherever the same version runs the same experiment.

SHA-256 over bytes that do not depend on how tables are kept: tables and words in the order of their names,
numbers in little-endian order, the largest integer or NaN for none. `crates/lab/src/digest.rs` has the same
law for a run in a browser.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["hash_of"]

_NONE = {"u64": 2**64 - 1, "u32": 2**32 - 1, "f64": float("nan")}
_DTYPES = {"u64": "<u8", "u32": "<u4", "f64": "<f8"}


def hash_of(tables: Mapping[str, pl.DataFrame]) -> str:
    """The hash of all tables, in 64 hex digits."""
    hashed = hashlib.sha256()
    for name in sorted(tables):
        hashed.update(_text(name) + struct.pack("<Q", tables[name].width))
        for column in tables[name].iter_columns():
            for part in _column(column):
                hashed.update(part)
    return hashed.hexdigest()


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _column(column: pl.Series) -> list[bytes]:
    import numpy as np
    import polars as pl

    kinds = {pl.UInt64: "u64", pl.UInt32: "u32", pl.Float64: "f64"}
    kind = kinds.get(type(column.dtype), "str")
    head = [_text(column.name), _text(kind), struct.pack("<Q", len(column))]
    if kind != "str":
        values = column.fill_null(_NONE[kind]).to_numpy().astype(_DTYPES[kind])
        if kind == "f64":
            values = np.where(np.isnan(values), np.nan, values).astype("<f8")  # the bits of a NaN differ
        return [*head, values.tobytes()]
    text = column.cast(pl.String)
    words = sorted(text.unique().to_list(), key=str.encode)
    codes = text.replace_strict(words, range(len(words)), return_dtype=pl.UInt32) if words else text
    data = codes.to_numpy().astype("<u4").tobytes() if words else b""
    return [*head, struct.pack("<Q", len(words)), *map(_text, words), data]
