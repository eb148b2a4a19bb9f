"""Distribution of message completion times, one panel a size bin, one colour a scheme."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from shallows.figures import style
from shallows.figures.fct import bin_name
from shallows.tables.metrics import SIZE_EDGES_BYTES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Tables = Mapping[str, pl.DataFrame]


class FctBins(NamedTuple):
    """Per size bin and label: completion times in us, ascending. Bins without a message are left out."""

    bins: dict[str, dict[str, np.ndarray]]


def info(runs: Mapping[str, Tables], edges_bytes: Sequence[int] = SIZE_EDGES_BYTES) -> FctBins:
    """Messages of all classes that ended. Error: none did in any run."""
    ends = [*edges_bytes[1:], None]
    bins = {}
    for low, high in zip(edges_bytes, ends, strict=True):
        inside = (pl.col("bytes") > low) & (pl.lit(True) if high is None else pl.col("bytes") <= high)
        times = {}
        for label, tables in runs.items():
            ended = tables["messages"].filter(inside & pl.col("fct_ps").is_not_null())
            times[label] = np.sort(ended["fct_ps"].to_numpy() / 1e6)
        if any(map(len, times.values())):
            bins[bin_name(low, high)] = times
    if not bins:
        raise ValueError("no message ended in any run")
    return FctBins(bins)


@style.styled
def draw(info: FctBins) -> "Figure":
    """Steps on a logarithmic axis, panels by size."""
    columns = min(len(info.bins), 3)
    rows = -(-len(info.bins) // columns)
    width = style.COLUMN_INCH if columns == 1 else style.PAGE_INCH
    figure, axes = style.canvas(columns, rows, width_inch=width, height_inch=2.1 * rows, sharey=True)
    for ax in axes[len(info.bins) :]:
        ax.set_visible(False)
    for number, (ax, (name, times)) in enumerate(zip(axes, info.bins.items(), strict=False)):
        for k, (label, values) in enumerate(times.items()):
            share = np.arange(1, len(values) + 1) / max(len(values), 1)
            ax.plot(values, share, drawstyle="steps-post", color=style.colour(k, label), label=label)
        counts = sorted({len(values) for values in times.values()})
        count = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        ax.set(title=f"{name}: {count} messages", ylim=(0, 1.02))
        style.logarithmic(ax, "x")
        if number >= len(info.bins) - columns:
            ax.set_xlabel("completion time (us)")
        if number % columns == 0:
            ax.set_ylabel("share of messages")
    style.legend(axes[0], loc="lower right")
    return figure
