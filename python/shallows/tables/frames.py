"""Tables from the columns of the core."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import polars as pl


__all__ = ["to_frame"]


_NULLS = {"u64?": 2**64 - 1, "u32?": 2**32 - 1}

_TYPES = {"u64?": "UInt64", "u32?": "UInt32", "f64?": "Float64"}

FEW_ROWS = 1000
"""Words and nulls of columns no longer than this are made in Python: a call of polars costs more."""


def to_frame(columns: Sequence[tuple[str, str, Any]]) -> pl.DataFrame:
    """A table from the core's columns; a dtype that ends in `?` has nulls (the largest integer, NaN)."""
    import numpy as np
    import polars as pl

    if all(not (data[1] if isinstance(data, tuple) else data) for _, _, data in columns):
        return _empty(tuple((name, dtype) for name, dtype, _ in columns)).clone()
    series, made = [], []
    for name, dtype, data in columns:
        words, raw = data if isinstance(data, tuple) else (None, data)
        values = np.frombuffer(raw, dtype="<u4" if words is not None else _plain(dtype))
        absent = _absent(values, dtype)
        few = len(values) <= FEW_ROWS
        if words is not None and few:
            column = pl.Series(name, [words[i] for i in values.tolist()], dtype=pl.String)
        elif absent is not None and few:
            there = zip(values.tolist(), absent.tolist(), strict=True)
            known = [None if gone else value for value, gone in there]
            column = pl.Series(name, known, dtype=getattr(pl, _TYPES[dtype]))
        else:
            column = pl.Series(name, values)
            if words is not None:
                made.append(pl.lit(pl.Series(words, dtype=pl.String)).gather(pl.col(name)).alias(name))
            elif dtype in _NULLS and absent is not None:
                made.append(pl.when(pl.col(name) != _NULLS[dtype]).then(pl.col(name)).alias(name))
            elif absent is not None:
                made.append(pl.col(name).fill_nan(None))
        series.append(column)
    frame = pl.DataFrame(series)
    return frame.with_columns(made) if made else frame  # one call a table: calls are dear


def _absent(values: np.ndarray, dtype: str) -> np.ndarray | None:
    """Which values stand for none; None where all are there."""
    import numpy as np

    if dtype in _NULLS:
        absent = values == _NULLS[dtype]
    elif dtype == "f64?":
        absent = np.isnan(values)
    else:
        return None
    return absent if absent.any() else None


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
