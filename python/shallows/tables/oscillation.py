"""The oscillation of a queue from `queue_trace`: standard deviation, amplitude, period of its limit cycle.

A cycle begins where the queue, having been below `mean - band`, rises past `mean + band`: the band keeps the
saw of single arrivals and departures from counting. Its amplitude is its greatest length less its least.
"""

from typing import NamedTuple

import numpy as np
import polars as pl

BAND = 0.5
"""Half-width of the band about the mean, in standard deviations."""


class Oscillation(NamedTuple):
    """A queue's swing. Packets and ps; amplitude is peak to peak, the mean over the cycles.

    Amplitude and period are None where fewer than two whole cycles were seen.
    """

    mean_packets: float
    sd_packets: float
    amplitude_packets: float | None
    period_ps: float | None
    cycles: int


def queue_steps(trace: pl.DataFrame, port: str, from_ps: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Times in ps and packets from then on, ascending, of a `queue_trace` probed with "change".

    Error: ValueError, no row of that port in that time.
    """
    mine = trace.filter((pl.col("port") == port) & (pl.col("time_ps") >= from_ps))
    if mine.is_empty():
        raise ValueError(f"no queue trace of {port} from {from_ps} ps on: set probe.queue_trace")
    return mine["time_ps"].to_numpy().astype(float), mine["packets"].to_numpy().astype(float)


def oscillation(times_ps: np.ndarray, packets: np.ndarray) -> Oscillation:
    """The swing of a queue that stands at packets[i] from times[i] to times[i + 1]."""
    spans = np.diff(times_ps)
    if len(spans) == 0 or spans.sum() <= 0:
        raise ValueError("a swing needs at least two instants")
    levels = packets[:-1]
    mean = float(np.average(levels, weights=spans))
    sd = float(np.sqrt(np.average((levels - mean) ** 2, weights=spans)))
    starts = _rises(packets, mean - BAND * sd, mean + BAND * sd) if sd > 0 else np.array([], dtype=int)
    if len(starts) < 3:
        return Oscillation(mean, sd, None, None, max(len(starts) - 1, 0))
    tops = np.maximum.reduceat(packets, starts)[:-1]
    bottoms = np.minimum.reduceat(packets, starts)[:-1]
    period = float(times_ps[starts[-1]] - times_ps[starts[0]]) / (len(starts) - 1)
    return Oscillation(mean, sd, float((tops - bottoms).mean()), period, len(starts) - 1)


def _rises(packets: np.ndarray, low: float, high: float) -> np.ndarray:
    """Where the queue rises past `high`, having been below `low` since it last did."""
    side = np.where(packets > high, 1, np.where(packets < low, -1, 0))
    outside = np.flatnonzero(side)
    changes = np.flatnonzero((side[outside][1:] == 1) & (side[outside][:-1] == -1))
    return outside[1:][changes]
