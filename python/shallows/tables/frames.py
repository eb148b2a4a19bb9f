"""Tables from the columns of the core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


__all__ = ["to_frame"]


_NULLS = {"u64?": 2**64 - 1, "u32?": 2**32 - 1}


def to_frame(columns: Sequence[tuple[str, str, Any]]) -> pl.DataFrame:
    """A table from the core's columns; a dtype that ends in `?` has nulls (the largest integer, NaN)."""
    import numpy as np
    import polars as pl

    series = []
    for name, dtype, data in columns:
        kind = dtype.removesuffix("?")
        if isinstance(data, tuple):
            words, codes = pl.Series(data[0], dtype=pl.String), np.frombuffer(data[1], dtype="<u4")
            series.append(words.gather(codes).alias(name))
            continue
        values = pl.Series(name, np.frombuffer(data, dtype=f"<{kind[0]}{int(kind[1:]) // 8}"))
        if dtype in _NULLS:
            values = values.set(values == _NULLS[dtype], None)
        elif dtype == "f64?":
            values = values.fill_nan(None)
        series.append(values)
    return pl.DataFrame(series)
