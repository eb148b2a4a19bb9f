"""Ratios of two backends' means, one panel a quantity, one point a cell."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from shallows.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Point = tuple[str, str, bool, Any, Any, bool]
"""Cell, congestion control, whether it is held to the criteria, the two means, whether they agree."""


class Agreement(NamedTuple):
    """Points by quantity, and the name of the backend below the line of the fraction."""

    points: Mapping[str, Sequence[Point]]
    backend: str


def info(points: Mapping[str, Sequence[Point]], backend: str) -> Agreement:
    """Points by quantity; means above 0."""
    return Agreement(dict(points), backend)


@style.styled
def draw(info: Agreement) -> "Figure":
    """Filled: agrees; open: differs; small: stands apart."""
    count = len(info.points)
    figure, axes = style.canvas(
        min(2, count), -(-count // 2), width_inch=style.PAGE_INCH, height_inch=0.4 + 2.4 * -(-count // 2)
    )
    controls = sorted({point[1] for points in info.points.values() for point in points})
    for ax, (what, points) in zip(axes, info.points.items(), strict=False):
        for _, cc, main, ours, theirs, agrees in points:
            colour = style.colour(controls.index(cc))
            ratio = ours.value / theirs.value
            spread = 2 * ratio * ((ours.error / ours.value) ** 2 + (theirs.error / theirs.value) ** 2) ** 0.5
            ax.errorbar(
                theirs.value, ratio, yerr=spread, marker="o" if main else "^", markersize=4 if main else 3,
                color=colour, markerfacecolor=colour if agrees else "none", linewidth=0.7, linestyle="none",
                label=cc,
            )  # fmt: skip
        ax.axhline(1.0, color=style.QUIET, linewidth=0.6, linestyle="--")
        ax.set_xscale("log")
        ax.set(title=what, xlabel=info.backend, ylabel=f"simulator / {info.backend}")
    for ax in axes[count:]:
        ax.set_visible(False)
    handles = {
        label: handle
        for ax in axes[:count]
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    style.legend_outside(figure, handles, "lower center", most=4)
    return figure
