"""Common to the figures of this paper: schemes, and what a port and its flows do over time."""

import numpy as np
import polars as pl

PORT = "switch->r0"
BACKENDS = {"linux": "queue pairs, their controls and flow control by priority are not in Linux's TCP"}


def dcqcn(gbps, **settings):
    """DCQCN as a point of a sweep: marks by the authors' ramp, which is proportional to the rate."""
    return {
        "title": "DCQCN",
        "transport.cc": {"kind": "dcqcn", "parameters": "vendor"} | settings,
        "transport.cnp_interval": "4us",
        "port_control": "none",
        "queue": ramp(gbps),
    }


def ramp(gbps):
    """Marks at departure: from 100 to 400 KB at 25 Gb/s, a fifth of the packets at the upper end."""
    scale = gbps / 25
    return {"kind": "ramp", "kmin": f"{100 * scale:.0f}KB", "kmax": f"{400 * scale:.0f}KB", "pmax": 0.2}


def queue(tables, port=PORT):
    """Times in us and the queue of a port in bytes at them."""
    trace = tables["queue_trace"].filter(pl.col("port") == port)
    return trace["time_ps"].to_numpy() / 1e6, trace["bytes"].to_numpy().astype(float)


def waiting(tables, port=PORT):
    """Times in us and the bytes that wait behind the packet that is being sent.

    All packets have one size, as the authors' simulator counts the queue of a port.
    """
    trace = tables["queue_trace"].filter(pl.col("port") == port)
    packets = trace["packets"].cast(pl.Float64)
    behind = trace["bytes"] * (packets - 1).clip(lower_bound=0) / packets.clip(lower_bound=1)
    return trace["time_ps"].to_numpy() / 1e6, behind.to_numpy()


def drained_us(tables, below, after_us=0.0):
    """The first time in us after the greatest queue from `after_us` on with at most `below` bytes.

    The end of the run where there is none: the queue lasted for longer.
    """
    times, length = queue(tables)
    times, length = times[times >= after_us], length[times >= after_us]
    peak = int(np.argmax(length))
    rest = np.flatnonzero(length[peak:] <= below)
    return float(times[peak + rest[0]] if len(rest) else times[-1])
