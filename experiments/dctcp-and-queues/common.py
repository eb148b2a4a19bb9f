"""Common to the figures of this paper: networks, queues, measures, and means over seeds.

Queues are counted as `tc` counts them, without the packet that is being sent.
"""

import numpy as np
import polars as pl

PORT = "switch->r0"
SPEC = "../fig1/spec.toml"
PACKET = 1500  # bytes of a full packet, and tc-red's avpkt


def star(senders, rate, rtt, host_rate=None):
    """A star by the settings that make it; `rtt` of an empty network, "4ms"."""
    number, unit = float(rtt.rstrip("msu")), rtt.lstrip("0123456789.")
    nanoseconds = round(number * {"us": 1e3, "ms": 1e6}[unit] / 4)
    settings = {"topology.senders": senders, "topology.rate": rate, "topology.delay": f"{nanoseconds}ns"}
    return settings | ({"topology.sender_rate": host_rate} if host_rate else {})


def bdp(rate_bps, rtt_us):
    """Packets that the empty path holds."""
    return rate_bps * rtt_us / 8e6 / PACKET


def step(k, limit):
    """DCTCP's own marking: one threshold on the queue that a packet finds."""
    return {"kind": "threshold", "mark_at": f"{k}pkt", "limit": f"{limit}pkt", "not_ect": "drop"}


def red(least, most, burst, probability, rate, limit=600, ecn=True):
    """tc-red with thresholds in packets; under a shaper, as in Mininet and on our Linux."""
    return {
        "kind": "tc-red",
        "min": f"{least * PACKET}B",
        "max": f"{most * PACKET}B",
        "limit": f"{limit * PACKET}B",
        "avpkt": f"{PACKET}B",
        "burst": burst,
        "probability": probability,
        "bandwidth": rate,
        "ecn": ecn,
        "shaped": True,
    }


def red_step(k, burst, rate, limit=600):
    """tc-red as the document made a threshold of it: min = K, max = K + 1 packets, an average over
    `burst`."""
    return red(k, k + 1, burst, 0.5, rate, limit)


MARKINGS = {
    "least": "on tc-red's average, burst K",
    "burst-100": "on tc-red's average, burst 100",
    "queue": "on the queue",
}
"""The ways in which DCTCP's switch marks: the values of the dimension `switch`, in words."""


def marking(how, k, rate, limit):
    """A queue that marks from K packets on, in one of the ways of `MARKINGS`."""
    return step(k, limit) if how == "queue" else red_step(k, k if how == "least" else 100, rate, limit)


def scheme(title, cc, queue, ecn="auto"):
    """A sender and a queue as a point of a sweep."""
    return {"title": title, "transport.cc": cc, "transport.ecn": ecn, "queue": queue}


def seen(tables):
    """Measures of the bottleneck and of the flows of a run."""
    queue = tables["queues"].filter(pl.col("port") == PORT).row(0, named=True)
    flows = tables["flows"].filter(pl.col("dst") == "r0")
    # Only the simulator knows waits; its queue counts the packet that is being sent too.
    sent = 0 if queue["mean_wait_ps"] is None else 1
    lengths, shares = _distribution(tables, sent)
    low, high = (float(lengths[np.searchsorted(shares, q)]) for q in (0.01, 0.99))
    return {
        "throughput": queue["utilisation"],
        "mean": queue["mean_packets"] - sent * queue["utilisation"],
        "sd": queue["sd_packets"],
        "low": low,
        "median": float(lengths[np.searchsorted(shares, 0.5)]),
        "high": high,
        "swing": high - low,
        "span": float(lengths[-1] - lengths[0]),
        "peak": queue["max_packets"] - sent,
        "empty": float(shares[0]) if lengths[0] == 0 else 0.0,
        "marks": queue["marks"] / queue["packets_out"],
        "drops": queue["drops"] or 0,
        "alpha": flows["alpha"].mean(),
    }


def _distribution(tables, sent):
    """Lengths without the packet being sent, and the share of time at or below each."""
    histogram = tables["queue_histogram"].filter(pl.col("port") == PORT).sort("packets")
    lengths = np.maximum(histogram["packets"].to_numpy().astype(float) - sent, 0)
    shares = histogram["time_ps"].to_numpy().cumsum() / histogram["time_ps"].sum()
    # Whether one packet was being sent or none, nothing waited.
    last = np.append(lengths[1:] != lengths[:-1], True)
    return lengths[last], np.minimum(shares[last], 1.0)
