"""Distribution of message completion times, one panel a size bin, one colour a scheme."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from shallows.document.summary import SIZE_EDGES_BYTES
from shallows.figures import style
from shallows.figures.fct import bin_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Tables = Mapping[str, pl.DataFrame]


class FctBins(NamedTuple):
    """Per size bin and label: completion times in us, ascending, and how many messages did not end.

    Bins in which no message ended under any label are left out.
    """

    bins: dict[str, dict[str, np.ndarray]]
    unfinished: dict[str, dict[str, int]]


def info(runs: Mapping[str, Tables], edges_bytes: Sequence[int] = SIZE_EDGES_BYTES) -> FctBins:
    """Messages of all classes by size. Error: none ended in any run."""
    ends = [*edges_bytes[1:], None]
    bins, unfinished = {}, {}
    for low, high in zip(edges_bytes, ends, strict=True):
        inside = (pl.col("bytes") > low) & (pl.lit(True) if high is None else pl.col("bytes") <= high)
        times, missing = {}, {}
        for label, tables in runs.items():
            mine = tables["messages"].filter(inside)
            ended = mine.filter(pl.col("fct_ps").is_not_null())
            missing[label] = len(mine) - len(ended)
            times[label] = np.sort(ended["fct_ps"].to_numpy() / 1e6)
        if any(map(len, times.values())):
            bins[bin_name(low, high)], unfinished[bin_name(low, high)] = times, missing
    if not bins:
        raise ValueError("no message ended in any run")
    return FctBins(bins, unfinished)


def _span(counts: Sequence[int]) -> str:
    """Ascending numbers as a range."""
    return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


@style.styled
def draw(info: FctBins) -> "Figure":
    """Steps on a logarithmic axis, panels by size. A curve ends below 1 if messages did not end."""
    columns = min(len(info.bins), 3)
    rows = -(-len(info.bins) // columns)
    width = style.COLUMN_INCH if columns == 1 else style.PAGE_INCH
    figure, axes = style.canvas(columns, rows, width_inch=width, height_inch=2.1 * rows, sharey=True)
    for ax in axes[len(info.bins) :]:
        ax.set_visible(False)
    for number, (ax, (name, times)) in enumerate(zip(axes, info.bins.items(), strict=False)):
        for k, (label, values) in enumerate(times.items()):
            missing = info.unfinished[name][label]
            share = np.arange(1, len(values) + 1) / max(len(values) + missing, 1)
            ax.plot(values, share, drawstyle="steps-post", color=style.colour(k, label), label=label)
        counts = sorted({len(values) for values in times.values()})
        ax.set(title=f"{name}: {_span(counts)} messages", ylim=(0, 1.02))
        lost = sorted({*info.unfinished[name].values()})
        if lost[-1]:
            ax.text(0.98, 0.02, f"{_span(lost)} did not end", transform=ax.transAxes, ha="right", fontsize=6)
        style.logarithmic(ax, "x")
        if number >= len(info.bins) - columns:
            ax.set_xlabel("completion time (us)")
        if number % columns == 0:
            ax.set_ylabel("share of messages")
    style.legend(axes[0], loc="upper left")
    return figure
