"""Common to the figures of this paper: packets, the closed form of an incast, and goodputs of flows."""

import numpy as np
from shallows.statistics.estimates import mean_ci

BACKENDS = {
    "linux": "Linux hosts have no NDP, and its queue disciplines trim nothing",
    "ns3": "the ns-3 backend has no NDP",
}
NDP, DCTCP = "NDP", "DCTCP"
PAYLOAD, HEADER = 9000, 64
"""Bytes of a full packet's payload, and of a header."""
RATE_BPS, HOP_US, HOPS = 10e9, 1.0, 6
FULL_US, HEADER_US = ((PAYLOAD + HEADER) * 8e6 / RATE_BPS, HEADER * 8e6 / RATE_BPS)
"""Times of a full packet and of a header on a link."""
LINK = RATE_BPS * PAYLOAD / (PAYLOAD + HEADER) / 1e9
"""Payload that fills a link, in Gb/s."""


def optimum_us(senders, packets):
    """Time of an incast whose receiver's link never rests: all packets, and the first one's way."""
    return senders * packets * FULL_US + (HOPS - 1) * FULL_US + HOPS * HOP_US


def tcp(first_ssthresh):
    """DCTCP as in the authors' examples: ports of 100 packets that mark from 15 on, flows on one path."""
    return {
        "title": DCTCP,
        "ecmp": "flow",
        "queue": {"kind": "threshold", "limit": "100pkt", "mark_at": "15pkt"},
        "transport": {
            "cc": "dctcp", "mss": "8960B", "opening": "established", "min_rto": "250ms",
            "initial_ssthresh": first_ssthresh,
        },
    }  # fmt: skip


def goodputs(tables):
    """Goodputs of a run's flows in Gb/s, the slowest first: of NDP new packets that left, whole ones.

    In the authors' simulator all that arrives counts, in any order. In order, nothing is delivered behind a
    packet whose answer was lost, until its timer expires.
    """
    flows, over_ps = tables["flows"], tables["queues"]["over_ps"].max()
    if (flows["cc"] == "line-rate").all():
        new = (flows["packets_sent"] - flows["retransmissions"]).to_numpy()
        return np.sort(new * PAYLOAD * 8e3 / over_ps)
    return np.sort(flows["goodput_bps"].to_numpy()) / 1e9


def total(tables, table, column):
    """The sum of a column."""
    return int(tables[table][column].sum() or 0)


def ranked(runs):
    """For each rank, the slowest first, the mean goodput over the seeds with its interval."""
    each = np.array([goodputs(run.tables) for run in runs])
    return {rank: mean_ci(column) for rank, column in enumerate(each.T)}
