"""One quantity against another beside the laws it should follow: points with intervals, lines of theory.

Unlike `curves`, a series may hold several points at one x, and each panel has axes of its own.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shallows.figures import style
from shallows.statistics.estimates import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Value = float | Estimate | None
Points = Mapping[float, Value] | Sequence[tuple[float, Value]]


class Panel(NamedTuple):
    """One panel. Per series x, y and the interval's ends (NaN where there is none)."""

    series: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]
    theory: dict[str, tuple[np.ndarray, np.ndarray]]
    levels: dict[str, float]
    places: dict[str, float]
    labels: tuple[str, str]
    log: str


def panel(
    series: Mapping[str, Points],
    labels: tuple[str, str],
    theory: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
    levels: Mapping[str, float] | None = None,
    places: Mapping[str, float] | None = None,
    log: str = "",
) -> Panel:
    """`series[name]` holds pairs of x and a number or estimate (None is left out); `theory` are bare lines.

    `levels` and `places`: horizontal and vertical lines by name. `log`: the axes with a logarithmic scale, of
    "x" and "y". `labels` of x and y, with units. Error: another letter in `log`.
    """
    if set(log) - set("xy"):
        raise ValueError(f'log: letters of "xy", got "{log}"')
    lines = {name: _line(values) for name, values in series.items()}
    forms = {name: (np.asarray(x, float), np.asarray(y, float)) for name, (x, y) in (theory or {}).items()}
    return Panel(lines, forms, dict(levels or {}), dict(places or {}), labels, log)


def _line(points: Points) -> tuple[np.ndarray, ...]:
    rows = []
    for x, value in points.items() if isinstance(points, Mapping) else points:
        if isinstance(value, Estimate):
            low, high = value.ci or (np.nan, np.nan)
            rows.append((x, value.value, low, high))
        elif value is not None:
            rows.append((x, value, np.nan, np.nan))
    return tuple(np.array(rows, dtype=float).reshape(-1, 4).T)


@style.styled
def draw(panels: Mapping[str, Panel], line: str = "o-", sharey: bool = False) -> "Figure":
    """Panels under their titles, three in a row; `line`: "o-", "o" or "-", points, a line, or both."""
    count = len(panels)
    width = min(style.COLUMN_INCH * count, style.PAGE_INCH) if count > 1 else style.COLUMN_INCH * 1.3
    rows = -(-count // 3)
    figure, axes = style.canvas(
        -(-count // rows),
        rows,
        width_inch=width,
        height_inch=(3.1 if count > 1 else 2.5) * rows,
        sharey=sharey,
    )
    for ax, (title, shown) in zip(axes, panels.items(), strict=False):
        _panel(ax, shown, line)
        ax.set_title(title)
    # When all are drawn: a limit set on the first of several that share it would cut the others off.
    for ax, shown in zip(axes, panels.values(), strict=False):
        if "y" not in shown.log:
            ax.set_ylim(bottom=min(0, ax.dataLim.ymin))
    for ax in axes[count:]:
        ax.set_axis_off()
    _legends(figure, axes[:count])
    return figure


def _legends(figure: "Figure", axes: "list[Axes]") -> None:
    """One legend below where all panels show the same, else one below each, where it hides nothing."""
    named = [dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True)) for ax in axes]
    if len(axes) > 1 and len(named[0]) > 1 and all(set(n) == set(named[0]) for n in named):
        style.legend_outside(figure, named[0], "lower center", most=3)
        return
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.26)} if len(axes) > 1 else {"loc": "best"}
    for ax in axes:
        style.legend(ax, **place)


def _at_the_foot(ax, x, colour: str) -> None:
    """A logarithmic axis has no zero: such points are triangles at its foot."""
    for place in x:
        ax.plot(place, 0, "v", color=colour, transform=ax.get_xaxis_transform(), clip_on=False, markersize=5)
        ax.annotate("0", (place, 0), xycoords=("data", "axes fraction"), xytext=(4, 3), fontsize=6,
                    textcoords="offset points", color=colour)  # fmt: skip


def _panel(ax, shown: Panel, line: str) -> None:
    for k, (name, (x, y, low, high)) in enumerate(shown.series.items()):
        nothing = (y <= 0) if "y" in shown.log else np.zeros(len(y), bool)
        ax.plot(x, np.where(nothing, np.nan, y), line, color=style.colour(k), label=name)
        _at_the_foot(ax, x[nothing], style.colour(k))
        known = ~np.isnan(low) & ~nothing
        ax.vlines(x[known], low[known], high[known], color=style.colour(k), linewidth=1.2)
    for k, (name, (x, y)) in enumerate(shown.theory.items()):
        ax.plot(x, y, ("--", ":", "-.", (0, (5, 1)))[k % 4], color=style.INK, linewidth=0.8, label=name)
    for name, level in shown.levels.items():
        ax.axhline(level, color=style.QUIET, linewidth=0.8, linestyle="--")
        ax.annotate(name, (1, level), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=6,
                    color=style.QUIET)  # fmt: skip
    for name, place in shown.places.items():
        ax.axvline(place, color=style.QUIET, linewidth=0.8, linestyle=":")
        ax.annotate(name, (place, 1), xycoords=("data", "axes fraction"), ha="right", va="top", fontsize=6,
                    rotation=90, color=style.QUIET)  # fmt: skip
    for letter in shown.log:
        style.logarithmic(ax, letter)
    ax.set(xlabel=shown.labels[0], ylabel=shown.labels[1])
