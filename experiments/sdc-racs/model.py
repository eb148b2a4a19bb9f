"""The model of section 3.4 with the thesis' numbers, for figures 3.2 to 3.5 and tables 3.2, 3.3."""

from typing import NamedTuple

import numpy as np
from shallows.theory import aimd
from shallows.theory.aimd import Parameters

FLOWS = {"A": 15, "B": 5, "C": 1}
CLASS_C = Parameters(0.5, 0.5)
ALPHA = 0.5
"""Alpha of classes A and B. The thesis prints none; the footnote to figure 3.5 says that both use the same
value, and section 3.3 that it is below 1. Class C's is the one number printed."""
RTT_S = 300e-6
PACKET_BITS = 12_000
PIPE_PACKETS = 1e9 * RTT_S / PACKET_BITS  # 25
GAINS_A = (2, 5, 10, 50, 100)  # table 3.2
GAINS_B = (1, 2, 5, 10)  # table 3.3
THRESHOLDS = tuple(range(10, 101, 10))  # figures 3.4, 3.5
CROWDS = (1, 2, 4)  # times the flows, for the sentence after figure 3.5
SIZES = {"A": 50, "B": 100, "C": 100_000}
LONGEST_PACKETS = 1_000_000  # class C in figures 3.4 and 3.5
SETTINGS = {
    "flows": FLOWS,
    "sizes": [f"{size}pkt" for size in SIZES.values()],
    "size of figure 3.4": LONGEST_PACKETS,
    "class C": CLASS_C,
    "alpha": ALPHA,
    "greatest beta": 0.9,
    "link": ["1Gbps", "300us", "25pkt"],
    "gains": [*GAINS_A, *GAINS_B],
    "thresholds": [f"{size}pkt" for size in THRESHOLDS],
}
"""Numbers that texts of the figures may name."""


class Classes(NamedTuple):
    """A network of the thesis: by class, the parameters averaged over a flow's life, and what they give."""

    own: dict[str, Parameters]
    effective: dict[str, Parameters]
    mbps: dict[str, float]
    fct_ms: dict[str, float]
    window_packets: dict[str, float]
    total_mbps: float
    ended_a_second: float


def classes(
    gain_a, gain_b, a_packets=SIZES["A"], b_packets=SIZES["B"], c_packets=SIZES["C"], alpha=ALPHA, flows=FLOWS
):
    """Classes A and B with these gains over class C, for flows as large as their class allows.

    `a_packets` and `b_packets` are the thresholds of classes A and B; a flow's parameters are those of
    eqs. (3.16) and (3.17), its throughput eq. (3.12), its completion time eq. (3.14).
    """
    own = {
        "A": aimd.for_gain(gain_a, CLASS_C, alpha),
        "B": aimd.for_gain(gain_b, CLASS_C, alpha),
        "C": CLASS_C,
    }
    sizes = {"A": a_packets, "B": b_packets, "C": c_packets}
    order = list(own.values())
    mixed = {name: aimd.effective(order, [a_packets, b_packets], size) for name, size in sizes.items()}
    each = [mixed[name] for name, count in flows.items() for _ in range(count)]
    alphas, betas = zip(*each, strict=True)
    first = dict(zip(flows, np.cumsum([0, *flows.values()]), strict=False))
    rates = aimd.throughputs(alphas, betas, PIPE_PACKETS, RTT_S)
    windows = aimd.mean_windows(alphas, betas, PIPE_PACKETS)
    return Classes(
        own,
        mixed,
        {name: float(rates[at]) * PACKET_BITS / 1e6 for name, at in first.items()},
        {name: 1e3 * sizes[name] / float(rates[at]) for name, at in first.items()},
        {name: float(windows[at]) for name, at in first.items()},
        float(rates.sum()) * PACKET_BITS / 1e6,
        aimd.flows_completed(
            list(flows.values()), [sizes[name] / float(rates[at]) for name, at in first.items()], 1.0
        ),
    )


def by_threshold(alpha=ALPHA):
    """Networks by class A's threshold, as in figures 3.4 and 3.5."""
    return {a: classes(10, 2, a_packets=a, c_packets=LONGEST_PACKETS, alpha=alpha) for a in THRESHOLDS}


def by_crowd(alpha=ALPHA):
    """Times of the network by crowd: how many times as many flows of each class there are."""
    crowds = {times: {name: times * count for name, count in FLOWS.items()} for times in CROWDS}
    return {
        times: classes(10, 2, c_packets=LONGEST_PACKETS, alpha=alpha, flows=flows)
        for times, flows in crowds.items()
    }


def row(label, found):
    """A network's row of a table."""
    out = dict(label)
    for name in FLOWS:
        out |= {
            f"beta' {name}": round(found.effective[name].beta, 4),
            f"{name} (Mb/s)": round(found.mbps[name], 2),
        }
    return out | {"FCT of A (ms)": round(found.fct_ms["A"], 2), "FCT of B (ms)": round(found.fct_ms["B"], 2),
                  "flows ended in 1 s, eq. (3.15)": round(found.ended_a_second)}  # fmt: skip
