"""The trials of a tuning study: every pair of objectives, or one objective over the trials."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from shallows.figures import style
from shallows.statistics.estimates import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_PANELS = 6


class Front(NamedTuple):
    """`axes`: labels of the objectives, unit included. `tried`, `infeasible`: values of trials, one list a
    trial; `front`: those on the front, in order; `named`: winners and baselines on fresh seeds."""

    axes: list[str]
    tried: list[list[float]]
    infeasible: list[list[float]]
    front: list[list[float]]
    named: dict[str, list[Estimate]]


def info(
    axes: Sequence[str],
    tried: Sequence[Sequence[float]],
    infeasible: Sequence[Sequence[float]],
    front: Sequence[Sequence[float]],
    named: Mapping[str, Sequence[Estimate]],
) -> Front:
    """Plain lists of the drawn points. Error: nothing was tried."""
    if not tried and not infeasible:
        raise ValueError("no trial has values")
    cases = (tried, infeasible, front)
    return Front(
        list(axes), *([list(v) for v in each] for each in cases), {k: list(v) for k, v in named.items()}
    )


@style.styled
def draw(info: Front) -> "Figure":
    """Trials grey, the front joined, winners and baselines with the intervals of their fresh seeds."""
    pairs = [(i, j) for i in range(len(info.axes)) for j in range(i)][:MAX_PANELS]
    columns = max(min(len(pairs), 3), 1)
    rows = max(-(-len(pairs) // columns), 1)
    width = style.PAGE_INCH
    figure, axes = style.canvas(columns, rows, width_inch=width, height_inch=2.8 * rows)
    for ax in axes[len(pairs) or 1 :]:
        ax.set_visible(False)
    if not pairs:
        _order(axes[0], info)
    for ax, (i, j) in zip(axes, pairs, strict=False):
        _pair(ax, info, i, j)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper")
    return figure


def _pair(ax: "Axes", info: Front, i: int, j: int) -> None:
    for values, mark, label in ((info.tried, ".", "trials"), (info.infeasible, "x", "breaks a constraint")):
        if values:
            ax.plot(
                [v[j] for v in values],
                [v[i] for v in values],
                mark,
                color=style.QUIET,
                alpha=0.5,
                label=label,
            )
    joined = "-o" if len(info.axes) == 2 else "o"
    if info.front:
        ax.plot([v[j] for v in info.front], [v[i] for v in info.front], joined, color=style.colour(0),
                label="front, seeds of the trials", linewidth=0.8, markersize=2.5)  # fmt: skip
    for k, (name, estimates) in enumerate(info.named.items()):
        x, y = estimates[j], estimates[i]
        ax.errorbar(x.value, y.value, xerr=_arms(x), yerr=_arms(y), fmt="D*sP^v"[k % 6], markersize=5,
                    color=style.colour(k + 1), label=name, linewidth=0.8)  # fmt: skip
    ax.set(xlabel=info.axes[j], ylabel=info.axes[i])


def _order(ax: "Axes", info: Front) -> None:
    ax.plot(range(1, len(info.tried) + 1), [v[0] for v in info.tried], ".", color=style.QUIET, label="trials")
    for k, (name, (estimate,)) in enumerate(info.named.items()):
        ax.axhline(estimate.value, color=style.colour(k + 1), label=name)
        if estimate.ci is not None:
            ax.axhspan(*estimate.ci, color=style.colour(k + 1), alpha=0.15, linewidth=0)
    ax.set(xlabel="feasible trial, in the order of proposal", ylabel=info.axes[0])


def _arms(estimate: Estimate) -> list[list[float]] | None:
    if estimate.low is None or estimate.high is None:
        return None
    return [[estimate.value - estimate.low], [estimate.high - estimate.value]]
