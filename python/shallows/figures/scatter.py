"""Cost against gain of many points, with Pareto fronts and named points; published beside ours."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shallows.figures import style
from shallows.statistics.estimates import Samples, pareto_front

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Cloud(NamedTuple):
    """Points of one panel. `front`: indices, ascending cost. `named`: label to index."""

    cost: np.ndarray
    gain: np.ndarray
    front: np.ndarray
    named: dict[str, int]


class Scatter(NamedTuple):
    """Panels by title, with the labels of the two axes (units included)."""

    clouds: dict[str, Cloud]
    cost_label: str
    gain_label: str


def cloud(cost: Samples, gain: Samples, named: Mapping[str, int] | None = None) -> Cloud:
    """A panel's points; less cost and more gain are better."""
    cost, gain = np.asarray(cost, dtype=float), np.asarray(gain, dtype=float)
    return Cloud(cost, gain, pareto_front(cost, gain), dict(named or {}))


def info(clouds: Mapping[str, Cloud], cost_label: str, gain_label: str) -> Scatter:
    """Panels that share both axes."""
    return Scatter(dict(clouds), cost_label, gain_label)


@style.styled
def draw(info: Scatter) -> "Figure":
    """One panel a cloud, cost upwards and gain to the right, as the document's figure 2 has it."""
    columns = len(info.clouds)
    width = style.COLUMN_INCH if columns == 1 else style.PAGE_INCH
    figure, axes = style.canvas(columns, width_inch=width, height_inch=2.6, sharex=True, sharey=True)
    for ax, (title, points) in zip(axes, info.clouds.items(), strict=True):
        ax.plot(points.gain, points.cost, ".", color=style.QUIET, alpha=0.6, label="all points")
        front = points.front
        if len(front):
            ax.plot(points.gain[front], points.cost[front], "o-", color=style.colour(0), label="Pareto front")
        for k, (name, i) in enumerate(points.named.items()):
            ax.plot(points.gain[i], points.cost[i], "D*sP"[k % 4], color=style.colour(k + 1), label=name,
                    markersize=6, markeredgecolor="white", markeredgewidth=0.5, linestyle="none")  # fmt: skip
        ax.set(title=title, xlabel=info.gain_label)
    axes[0].set_ylabel(info.cost_label)
    style.legend(axes[-1], loc="best")
    return figure
