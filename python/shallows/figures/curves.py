"""Means with their confidence intervals against a number, one line a series, one panel a quantity."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from shallows.figures import style
from shallows.statistics.estimates import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


DASHES = ("--", "-.", ":")


class Panel(NamedTuple):
    """`series[name][x]` with the label of the vertical axis, unit included; `log` for a logarithmic one.

    `floor`: where a logarithmic axis begins, for values that may be zero; smaller values stand there, at "0".
    `lines` are drawn across with their names; `references[name][x]` are values without an interval, such as a
    closed form's, drawn in black and then grey dashes; `published[name]` are points (x, y), drawn as crosses.
    """

    series: Mapping[str, Mapping[float, Estimate]]
    label: str
    log: bool = False
    lines: Mapping[str, float] = {}
    published: Mapping[str, Sequence[tuple[float, float]]] = {}
    references: Mapping[str, Mapping[float, float]] = {}
    floor: float = 0.0

    def at(self, value: float) -> float:
        """Where a value is drawn."""
        return max(value, self.floor) if self.floor else value


class Curves(NamedTuple):
    """Panels side by side over one kind of abscissa."""

    panels: Mapping[str, Panel]
    xlabel: str
    log_x: bool = False


def info(panels: Mapping[str, Panel], xlabel: str, log_x: bool = False) -> Curves:
    """Panels by title; an empty title for none. Series of the same name have the same colour in each."""
    return Curves(dict(panels), xlabel, log_x)


@style.styled
def draw(info: Curves, columns: int = 2) -> "Figure":
    """Up to `columns` panels a row; whiskers are the intervals."""
    count = len(info.panels)
    across = min(columns, count)
    rows = -(-count // across)
    figure, axes = style.canvas(across, rows, width_inch=style.PAGE_INCH, height_inch=0.4 + 2.1 * rows)
    names = list(dict.fromkeys(name for panel in info.panels.values() for name in panel.series))
    colours = style.palette(names)
    for ax, (title, panel) in zip(axes, info.panels.items(), strict=False):
        for name, points in panel.series.items():
            k = names.index(name)
            xs = sorted(points)
            # Colours come again; squares and dashes tell the second from the first.
            dash, marker = ("-", "o") if k < len(style.COLOURS) else ("--", "s")
            ys = [panel.at(points[x].value) for x in xs]
            ax.plot(xs, ys, marker=marker, markersize=3, linestyle=dash, color=colours[name], label=name)
            for x in xs:
                if (ends := points[x].ci) is not None:
                    ax.plot([x, x], [panel.at(y) for y in ends], color=colours[name], linewidth=1.0)
        for name, level in panel.lines.items():
            ax.axhline(level, color=style.QUIET, linewidth=0.6, linestyle="--")
            ax.annotate(name, (1, level), xycoords=("axes fraction", "data"), fontsize=6, ha="right",
                        va="bottom", color=style.INK)  # fmt: skip
        for k, (name, level) in enumerate(panel.references.items()):
            dash, colour = DASHES[k % len(DASHES)], style.INK if k < len(DASHES) else style.QUIET
            xs = sorted(level)
            ax.plot(xs, [level[x] for x in xs], linestyle=dash, color=colour, linewidth=0.8, label=name)
        for name, crosses in panel.published.items():
            drawn = [(x, panel.at(y)) for x, y in crosses]
            ax.plot(*zip(*drawn, strict=True), "x", color=style.PUBLISHED, label=name)
        if panel.floor:
            _from_floor(ax, panel.floor)
        elif panel.log:
            style.logarithmic(ax, "y")
        else:
            low, high = ax.get_ylim()
            below = low if ax.dataLim.ymin < 0 else 0  # a loss of a gain is to be seen too
            ax.set_ylim(below, max(1.05 * high, 0))
        if info.log_x:
            ax.set_xscale("log")
            ticks = sorted({x for points in panel.series.values() for x in points})
            ax.set_xticks(ticks, [f"{x:g}" for x in ticks])
            ax.minorticks_off()
        ax.set(title=title, xlabel=info.xlabel, ylabel=panel.label)
    for ax in axes[count:]:
        ax.set_visible(False)
    handles = {
        label: h for ax in axes[:count] for h, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    if len(handles) > 1:
        style.legend_outside(figure, handles, "lower center", most=4)
    return figure


def _from_floor(ax: "Axes", floor: float) -> None:
    """A logarithmic axis by decades, zero at its lowest line."""
    top = max(10 * floor, 1.3 * ax.get_ylim()[1])
    decades = range(1, 1 + math.floor(math.log10(top / floor)))
    ticks = [floor] + [floor * 10**k for k in decades]
    ax.set_yscale("log")
    ax.set_yticks(ticks, ["0"] + [f"{tick:g}" for tick in ticks[1:]])
    ax.minorticks_off()
    ax.set_ylim(0.8 * floor, top)
