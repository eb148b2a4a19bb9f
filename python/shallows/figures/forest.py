"""Values with their confidence intervals, one row each: paired differences, or bars of a comparison."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from shallows.figures import style
from shallows.statistics.estimates import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Forest(NamedTuple):
    """Rows from the top, per series; `reference` is the line of no difference, or None."""

    rows: list[str]
    series: dict[str, list[Estimate | None]]
    label: str
    reference: float | None


def info(
    series: Mapping[str, Mapping[str, Estimate | None]], label: str, reference: float | None = 0.0
) -> Forest:
    """`series[name][row]`; rows in order of first appearance, without those that have no estimate.

    `label` of the axis, unit included.
    """
    given = [row for values in series.values() for row, estimate in values.items() if estimate is not None]
    rows: list[str] = list(dict.fromkeys(given))
    columns = {name: [values.get(row) for row in rows] for name, values in series.items()}
    return Forest(rows, columns, label, reference)


@style.styled
def draw(info: Forest, published: Sequence[float | None] | None = None, log: bool = False) -> "Figure":
    """Points with whiskers; published values, one a row, as grey crosses; `log` for a logarithmic axis."""
    count = max(len(info.series), 1)
    height = 0.7 + 0.16 * len(info.rows) * max(count, 1.3)
    figure, (ax,) = style.canvas(height_inch=height, width_inch=style.PAGE_INCH)
    if info.reference is not None:
        ax.axvline(info.reference, color=style.INK, linewidth=0.6)
    for k, (name, estimates) in enumerate(info.series.items()):
        shift = (k - (count - 1) / 2) * 0.7 / count
        rows = [(i + shift, e) for i, e in enumerate(estimates) if e is not None]
        named = [row for row, e in zip(info.rows, estimates, strict=True) if e is not None]
        ax.plot([], [], "o", color=style.colour(k, name), label=name)
        for row, (at, e) in zip(named, rows, strict=True):
            colour = style.colour(k, row if count == 1 else name)
            ax.plot([e.value], [at], "o", color=colour)
            if e.ci is not None:
                ax.plot(e.ci, [at, at], color=colour, linewidth=1.2)
    if published is not None:
        crosses = [(x, i) for i, x in enumerate(published) if x is not None]
        ax.plot(*zip(*crosses, strict=True), "x", color=style.PUBLISHED, label="published")
    ax.set_yticks(range(len(info.rows)), info.rows)
    if log:
        style.logarithmic(ax, "x")
    ax.set(xlabel=info.label, ylim=(len(info.rows) - 0.5, -0.5))
    ax.grid(False, axis="y")
    style.legend(ax, loc="best")
    return figure
