"""A quantity over two parameters as numbered heat maps; panels share one colour scale."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from shallows.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Surface(NamedTuple):
    """Per title a matrix, rows by y and columns by x, NaN where there was no point."""

    panels: dict[str, np.ndarray]
    x: list[float]
    y: list[float]
    labels: tuple[str, str, str]


def info(
    tables: Mapping[str, pl.DataFrame], x: str, y: str, value: str, labels: tuple[str, str, str]
) -> Surface:
    """One panel a table with columns x, y, value; `labels` of x, y and value, units included.

    Error: two rows for one point.
    """
    xs = sorted({v for table in tables.values() for v in table[x]})
    ys = sorted({v for table in tables.values() for v in table[y]})
    panels = {}
    for title, table in tables.items():
        matrix = np.full((len(ys), len(xs)), np.nan)
        for a, b, number in table.select(x, y, value).iter_rows():
            if not np.isnan(matrix[ys.index(b), xs.index(a)]):
                raise ValueError(f"{title}: two values at {x} = {a}, {y} = {b}")
            matrix[ys.index(b), xs.index(a)] = number
        panels[title] = matrix
    return Surface(panels, xs, ys, labels)


@style.styled
def draw(info: Surface, digits: int = 1) -> "Figure":
    """Heat maps with each value written in its cell."""
    columns = len(info.panels)
    width = style.COLUMN_INCH if columns == 1 else style.PAGE_INCH
    figure, axes = style.canvas(columns, width_inch=width, height_inch=2.4, sharey=True)
    every = np.concatenate([m[~np.isnan(m)] for m in info.panels.values()])
    low, high = (every.min(), every.max()) if len(every) else (0.0, 1.0)
    for ax, (title, matrix) in zip(axes, info.panels.items(), strict=True):
        shown = ax.imshow(matrix, origin="lower", aspect="auto", cmap=style.SURFACE, vmin=low, vmax=high)
        for (row, column), number in np.ndenumerate(matrix):
            if not np.isnan(number):
                dark = number < (low + high) / 2
                ax.text(column, row, f"{number:.{digits}f}", ha="center", va="center", fontsize=6,
                        color="white" if dark else "black")  # fmt: skip
        ax.grid(False)
        ax.set_xticks(range(len(info.x)), [f"{v:g}" for v in info.x])
        ax.set_yticks(range(len(info.y)), [f"{v:g}" for v in info.y])
        ax.set(title=title, xlabel=info.labels[0])
    axes[0].set_ylabel(info.labels[1])
    figure.colorbar(shown, ax=axes, label=info.labels[2])
    return figure
