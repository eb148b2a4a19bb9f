"""Time and sequence of a connection at its sender: packets sent, sent again, lost, and acknowledged.

After Shepard's graphs (MIT/LCS/TR-494, 1991), with the blocks of SACK as vertical strokes.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from shallows.figures import style
from shallows.tables.metrics import Tables
from shallows.tables.story import Seen, see

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class TimeSequence(NamedTuple):
    """Times in ms and first bytes in KB. `sacked` has times, and the first bytes and ends of blocks."""

    sent: tuple[np.ndarray, np.ndarray]
    again: tuple[np.ndarray, np.ndarray]
    lost: tuple[np.ndarray, np.ndarray]
    acked: tuple[np.ndarray, np.ndarray]
    sacked: tuple[np.ndarray, np.ndarray, np.ndarray]


def info(
    tables: Tables, flow: int | None = None, from_ms: float = 0.0, to_ms: float = np.inf
) -> TimeSequence:
    """Packets and acknowledgements at the sender of a flow (default: the first) in [from, to].

    Errors: ValueError if the run did not record the packets of the flow at its sender.
    """
    chosen = next(iter(tables["flows"]["id"].sort()), 0) if flow is None else flow
    seen = see(tables, chosen)
    if seen is None or seen.sent.is_empty():
        raise ValueError(f"no packets of flow {chosen} at its sender: set probe.audit, or probe.packets")
    sent, acks = seen.sent, seen.acks
    first = pl.struct("seq", "payload").is_first_distinct()
    return TimeSequence(
        _points(sent.filter(first), "time_ps", from_ms, to_ms),
        _points(sent.filter(~first), "time_ps", from_ms, to_ms),
        _points(_data_lost(seen), "time_ps", from_ms, to_ms),
        _points(acks, "landed_ps", from_ms, to_ms),
        _blocks(acks, from_ms, to_ms),
    )


def _data_lost(seen: Seen) -> pl.DataFrame:
    return seen.lost.filter((pl.col("reverse") == 0) & pl.col("payload").is_not_null())


def _points(frame: pl.DataFrame, column: str, from_ms: float, to_ms: float) -> tuple[np.ndarray, np.ndarray]:
    inside = frame.filter((pl.col(column) / 1e9).is_between(from_ms, to_ms))
    return inside[column].to_numpy() / 1e9, inside["seq"].to_numpy() / 1e3


def _blocks(acks: pl.DataFrame, from_ms: float, to_ms: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first block of each acknowledgement, which RFC 2018 section 4 reserves for the newest data."""
    inside = acks.filter(
        (pl.col("landed_ps") / 1e9).is_between(from_ms, to_ms) & pl.col("sack0_first").is_not_null()
    )
    times = inside["landed_ps"].to_numpy() / 1e9
    return times, inside["sack0_first"].to_numpy() / 1e3, inside["sack0_beyond"].to_numpy() / 1e3


@style.styled
def draw(info: TimeSequence) -> "Figure":
    """Dots for packets, crosses for losses, a line for acknowledged data, strokes for SACK."""
    figure, (ax,) = style.canvas(height_inch=2.8)
    ax.plot(*info.acked, drawstyle="steps-post", color=style.QUIET, label="acknowledged", linewidth=0.8)
    if len(info.sacked[0]):
        ax.vlines(*info.sacked, color=style.COLOURS[4], linewidth=0.8, label="newest block of SACK")
    marks = (("sent", info.sent, ".", 0), ("sent again", info.again, "o", 2), ("lost", info.lost, "x", 1))
    for label, (time_ms, kilobytes), marker, colour in marks:
        if len(time_ms):
            ax.plot(time_ms, kilobytes, marker, color=style.COLOURS[colour], label=label, markersize=3)
    ax.set(ylabel="first byte (KB)")
    style.time_axis(ax)
    style.legend(ax, loc="lower right")  # sequences rise
    return figure
