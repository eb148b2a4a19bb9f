"""Message completion times: distribution, and slowdown by size bin; one colour a run."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from shallows.document.summary import SIZE_EDGES_BYTES
from shallows.figures import style
from shallows.tables.metrics import Tables, by_size, size_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Fct(NamedTuple):
    """Per label: completion times in us, ascending; slowdown at `quantile` per size bin (NaN: none)."""

    times_us: dict[str, np.ndarray]
    bins: list[str]
    slowdown: dict[str, list[float]]
    quantile: str
    unfinished: dict[str, int]


def info(
    runs: Mapping[str, Tables],
    classes: Sequence[str] | None = None,
    quantile: str = "p99",
    edges_bytes: Sequence[int] = SIZE_EDGES_BYTES,
) -> Fct:
    """Messages of `classes` (default: all); `quantile` is any percentile, such as p99 or p99_9."""
    times, tails, unfinished = {}, {}, {}
    shares = {quantile: float(quantile.removeprefix("p").replace("_", ".")) / 100}
    for label, tables in runs.items():
        messages = tables["messages"]
        if classes is not None:
            messages = messages.filter(pl.col("class").is_in(list(classes)))
        unfinished[label] = messages["fct_ps"].null_count()
        messages = messages.filter(pl.col("fct_ps").is_not_null())
        times[label] = np.sort(messages["fct_ps"].to_numpy() / 1e6)
        rows = by_size(messages.with_columns(pl.lit("all").alias("class")), edges_bytes, shares)
        tails[label] = {
            (row["low_bytes"], row["high_bytes"]): row[f"slowdown_{quantile}"] for row in rows.to_dicts()
        }
    bins = sorted({key for row in tails.values() for key in row})
    slowdown = {label: [row.get(key, np.nan) for key in bins] for label, row in tails.items()}
    return Fct(times, [bin_name(*key) for key in bins], slowdown, quantile, unfinished)


def bin_name(low: int, high: int | None) -> str:
    """A size bin (low, high] for people."""
    return f"> {size_name(low)}" if high is None else f"≤ {size_name(high)}"


@style.styled
def draw(info: Fct) -> "Figure":
    """Left the distribution of completion times, right the slowdown by size.

    A curve of times ends below 1 by the share of messages that did not end; the legend counts them.
    """
    figure, (left, right) = style.canvas(columns=2, width_inch=style.PAGE_INCH)
    for k, (label, times) in enumerate(info.times_us.items()):
        missing = info.unfinished[label]
        share = np.arange(1, len(times) + 1) / max(len(times) + missing, 1)
        named = f"{label} ({missing} did not end)".strip() if missing else label
        left.plot(times, share, drawstyle="steps-post", color=style.colour(k, label), label=named)
        right.plot(info.bins, info.slowdown[label], "o-", color=style.colour(k, label), label=label)
    left.set(xlabel="completion time (us)", ylabel="share of messages", ylim=(0, 1.02), xscale="log")
    right.set(xlabel="message size", ylabel=f"slowdown, {info.quantile}", ylim=(0, None))
    style.legend(left, loc="lower right")
    return figure
