"""Small multiples: one small plot for each pair of two settings, as a matrix; one colour a series.

A hundred plots as one drawing: each cell is scaled into its box of a single pair of axes, which takes
a second where a hundred pairs of axes take half a minute.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shallows.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Curve = tuple[np.ndarray, np.ndarray]
GAP = 0.14
"""Space between two cells, as a share of their width and height."""


class Cells(NamedTuple):
    """Its content. `curves[row, column][series]` are curves (x, y); `top[row, column]` ends the y axis.

    x runs over `x_range` and y from 0 in every cell. `labels` of the columns, the rows, x and y, with units.
    `notes[row, column]`: a few characters in the cell's corner.
    """

    rows: list
    columns: list
    curves: dict[tuple, dict[str, list[Curve]]]
    top: dict[tuple, float]
    x_range: tuple[float, float]
    labels: tuple[str, str, str, str]
    notes: dict[tuple, str]


def info(
    curves: Mapping[tuple, Mapping[str, Sequence[Curve]]],
    x_range: tuple[float, float],
    labels: tuple[str, str, str, str],
    top: Mapping[tuple, float] | None = None,
    notes: Mapping[tuple, str] | None = None,
) -> Cells:
    """Cells by (row, column), both sorted. A cell without `top` ends at its own largest y.

    Error: an empty range of x.
    """
    if not x_range[1] > x_range[0]:
        raise ValueError(f"x must span a range, got {x_range[0]} to {x_range[1]}")
    plain = {place: {name: list(lines) for name, lines in cell.items()} for place, cell in curves.items()}
    tops = {place: (top or {}).get(place, _largest(cell)) for place, cell in plain.items()}
    rows, columns = ({place[k] for place in plain} for k in (0, 1))
    return Cells(sorted(rows), sorted(columns), plain, tops, x_range, labels, dict(notes or {}))


def _largest(cell: Mapping[str, Sequence[Curve]]) -> float:
    return max((float(y.max()) for lines in cell.values() for _, y in lines if len(y)), default=1.0)


def histogram(values: np.ndarray, weights: np.ndarray, edges: np.ndarray) -> Curve:
    """A distribution as an outline over bins: share of the weight in each; values beyond are cut off."""
    total = weights.sum()
    shares, _ = np.histogram(values, edges, weights=weights / total if total else weights)
    return np.repeat(edges, 2)[1:-1], np.repeat(shares, 2)


@style.styled
def draw(info: Cells, width_inch: float = style.PAGE_INCH, linewidth: float = 0.4) -> "Figure":
    """A box a cell, first row on top. A bar that rises beyond its cell is cut at the edge."""
    from matplotlib.collections import LineCollection

    across, down = len(info.columns), len(info.rows)
    figure, (ax,) = style.canvas(
        width_inch=width_inch, height_inch=0.75 + (width_inch - 0.6) * down / across * 0.8
    )
    boxes, lines = [], {}
    for place, cell in info.curves.items():
        left, bottom = info.columns.index(place[1]), -info.rows.index(place[0])
        side = 1 - GAP
        right, above = left + side, bottom + side
        boxes.append([(left, bottom), (right, bottom), (right, above), (left, above), (left, bottom)])
        for name, curves in cell.items():
            lines.setdefault(name, []).extend(
                _into(curve, info.x_range, info.top[place], left, bottom, side) for curve in curves
            )
        if place in info.notes:
            ax.text(left + side - 0.03, bottom + side - 0.04, info.notes[place], ha="right", va="top",
                    fontsize=4.5, color=style.INK)  # fmt: skip
    ax.add_collection(LineCollection(boxes, colors="#c8c8c8", linewidths=0.4))
    for k, (name, segments) in enumerate(lines.items()):
        ax.add_collection(
            LineCollection(
                segments, colors=style.colour(k), linewidths=linewidth, label=name, joinstyle="round"
            )
        )
    _axes(ax, info)
    handles, names = ax.get_legend_handles_labels()
    style.legend_outside(figure, dict(zip(names, handles, strict=True)), "upper right", most=len(names))
    return figure


def _into(curve: Curve, x_range: tuple[float, float], top: float, left: int, bottom: int, side: float):
    """The curve in the coordinates of the drawing."""
    x = (np.asarray(curve[0], dtype=float) - x_range[0]) / (x_range[1] - x_range[0])
    inside = (x >= 0) & (x <= 1)
    y = np.clip(np.asarray(curve[1], dtype=float) / (top or 1.0), 0, 1)
    return np.column_stack([left + side * x[inside], bottom + side * y[inside]])


def _axes(ax, info: Cells) -> None:
    columns, rows, x, y = info.labels
    middle = (1 - GAP) / 2
    ax.set_xticks([k + middle for k in range(len(info.columns))], [str(c) for c in info.columns])
    ax.set_yticks([middle - k for k in range(len(info.rows))], [str(r) for r in info.rows])
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.tick_params(length=0)
    ax.grid(False)
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set(xlabel=columns, ylabel=rows)
    ax.set_xlim(-GAP / 2, len(info.columns) - GAP / 2)
    ax.set_ylim(1 - len(info.rows) - GAP / 2 - 0.12, 1 - GAP / 2)
    low, high = info.x_range
    ax.text(0, 1 - len(info.rows) - GAP, f"in each cell: {x} {low:g} to {high:g} across; {y} up", fontsize=6,
            va="top", color=style.QUIET)  # fmt: skip
