"""Tables from the columns of the core."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


__all__ = ["to_frame"]


_NULLS = {"u64?": 2**64 - 1, "u32?": 2**32 - 1}


def to_frame(columns: Sequence[tuple[str, str, Any]]) -> pl.DataFrame:
    """A table from the core's columns; a dtype that ends in `?` has nulls (the largest integer, NaN)."""
    import numpy as np
    import polars as pl

    if all(not (data[1] if isinstance(data, tuple) else data) for _, _, data in columns):
        return _empty(tuple((name, dtype) for name, dtype, _ in columns)).clone()
    series, made = [], []
    for name, dtype, data in columns:
        column = pl.col(name)
        if isinstance(data, tuple):
            words, values = pl.Series(data[0], dtype=pl.String), np.frombuffer(data[1], dtype="<u4")
            made.append(pl.lit(words).gather(column).alias(name))
        else:
            values = np.frombuffer(data, dtype=_plain(dtype))
            if dtype in _NULLS and (values == _NULLS[dtype]).any():
                made.append(pl.when(column != _NULLS[dtype]).then(column).alias(name))
            elif dtype == "f64?" and np.isnan(values).any():
                made.append(column.fill_nan(None))
        series.append(pl.Series(name, values))
    frame = pl.DataFrame(series)
    return frame.with_columns(made) if made else frame  # one call a table: calls are dear


def _plain(dtype: str) -> str:
    """NumPy's name of a number's type."""
    kind = dtype.removesuffix("?")
    return f"<{kind[0]}{int(kind[1:]) // 8}"


@cache
def _empty(columns: tuple[tuple[str, str], ...]) -> pl.DataFrame:
    """A table without rows, as most of a run's tables are."""
    import numpy as np
    import polars as pl

    return pl.DataFrame(
        [
            pl.Series(name, [], dtype=pl.String)
            if dtype == "str"
            else pl.Series(name, np.empty(0, _plain(dtype)))
            for name, dtype in columns
        ]
    )
