"""Common to the figures of this study: DCQCN beside flow control alone, and how a run's flows share."""

import polars as pl

BACKENDS = {
    "linux": "Linux hosts have no queue pairs and obey no pause frames",
    "ns3": "the ns-3 backend has no flow control by priority",
}
ALONE, DCQCN = "PFC alone", "PFC and DCQCN"
RATE_BPS = 40e9
PAYLOAD, FRAME = 1024, 1086
"""Bytes of a full packet: of data, and with Ethernet, IPv4, UDP, BTH and both checksums."""

_DCQCN = {
    "title": DCQCN,
    "transport.cc": "dcqcn",
    "priority.3.queue": {"kind": "ramp", "kmin": "5KB", "kmax": "200KB", "pmax": 0.01},
    "duration": "100ms",
    "warmup": "60ms",
}
SCHEMES = [{"title": ALONE}, _DCQCN]
"""Flow control alone, and DCQCN with the marks of its paper above it, measured when its rates have met."""


def rates(tables):
    """Mean wire rate of a flow of each load in Gb/s, pauses of all ports, and packets lost."""
    flows = tables["flows"].group_by("traffic").agg(pl.col("goodput_bps").mean())
    queues = tables["queues"]
    found = {name: bps * FRAME / PAYLOAD / 1e9 for name, bps in flows.iter_rows()}
    lost = int(queues["drops"].sum())
    return found | {"pauses": int(tables["pauses"]["paused"].sum()), "lost": lost}
