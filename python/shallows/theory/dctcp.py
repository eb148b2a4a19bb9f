"""DCTCP's steady state: N synchronised long flows through one marking queue.

Alizadeh et al., Data Center TCP (DCTCP), SIGCOMM 2010, section 3.3. Windows and queues in packets; the
model neglects slow start, timeouts and everything that is not synchronised.
"""

import math

from shallows.theory.registry import closed_form, positive


def bdp_packets(rate_bps: int, rtt_ps: int, packet_bytes: int) -> float:
    """C x RTT, packets of `packet_bytes` on the wire."""
    positive(rate=rate_bps, rtt=rtt_ps, packet=packet_bytes)
    return rate_bps * rtt_ps / (8e12 * packet_bytes)


def alpha(window_packets: float) -> float:
    """The fixed point of alpha when a flow is marked at window W*: eq. (6), solved exactly.

    alpha^2 (1 - alpha / 4) = (2 W* + 1) / (W* + 1)^2; about sqrt(2 / W*). At most 1.
    """
    right = (2 * window_packets + 1) / (window_packets + 1) ** 2
    low, high = 0.0, 1.0
    if right >= 0.75:
        return 1.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if middle * middle * (1 - middle / 4) < right else (low, middle)
    return (low + high) / 2


@closed_form
def dctcp(
    rate_bps: int = 10_000_000_000,
    rtt_ps: int = 100_000_000,
    k_packets: int = 65,
    flows: int = 2,
    packet_bytes: int = 1500,
) -> dict[str, float]:
    """DCTCP's sawtooth: window, alpha, queue bounds, period, and the least K that keeps the link full.

    `rtt` is the round trip without queueing, `packet` the size on the wire. `_approximate` outputs use
    alpha = sqrt(2 / W*) as the paper's eq. (8), (9) and (12) do; the others solve eq. (6) exactly. With
    `least_k` the approximate queue does not empty whatever the number of flows (worst: (C RTT + K) / 8).

    Source: Alizadeh et al., SIGCOMM 2010, section 3.3, eq. (3) to (13)
    """
    bdp = bdp_packets(rate_bps, rtt_ps, packet_bytes)
    positive(flows=flows)
    marked_at = (bdp + k_packets) / flows  # eq. (3)
    share = alpha(marked_at)
    swing = flows * (marked_at + 1) * share / 2  # eq. (7), (8)
    approximate = math.sqrt(2 * flows * (bdp + k_packets)) / 2  # eq. (8)
    top = k_packets + flows  # eq. (10)
    return {
        "bdp_packets": bdp,
        "window_at_mark_packets": marked_at,
        "alpha": share,
        "amplitude_packets": swing,
        "amplitude_approximate_packets": approximate,
        "queue_max_packets": float(top),
        "queue_min_packets": max(top - swing, 0.0),  # eq. (11)
        "queue_min_approximate_packets": max(top - approximate, 0.0),  # eq. (12)
        "period_round_trips": (marked_at + 1) * share / 2,  # eq. (9)
        "period_approximate_round_trips": approximate / flows,  # eq. (9)
        "least_k_packets": bdp / 7,  # eq. (13)
    }


@closed_form
def dctcp_gain(
    rate_bps: int = 10_000_000_000,
    rtt_ps: int = 100_000_000,
    k_packets: int = 65,
    packet_bytes: int = 1500,
) -> dict[str, float]:
    """The bound on DCTCP's gain g: alpha must remember at least one marking period of a single flow.

    `g_max` is eq. (15), 1.386 / sqrt(2 (C RTT + K)); `g_max_exact` solves (1 - g)^T = 1/2, eq. (14),
    without its ln(1 - g) = -g; `g_max_without_two` leaves the 2 under the root out, a slip to compare with.

    Source: Alizadeh et al., SIGCOMM 2010, section 3.3, eq. (14) and (15)
    """
    bdp = bdp_packets(rate_bps, rtt_ps, packet_bytes)
    period = math.sqrt(2 * (bdp + k_packets)) / 2
    return {
        "bdp_packets": bdp,
        "period_round_trips": period,
        "g_max": 1.386 / (2 * period),
        "g_max_exact": 1 - 0.5 ** (1 / period),
        "g_max_without_two": 1.386 / math.sqrt(bdp + k_packets),
    }
