"""Long-run windows of marked senders, followed acknowledgement by acknowledgement.

`rounds` follows whole rounds. Here a mark arrives a round trip after it was made, the flight then shrinks in
silence, whole segments are sent, and growth is counted as each sender counts it. The simulator's senders
are held against these forms within 10 % for windows between 8 and 80 segments
(`crates/spec/tests/theory/rates.rs` has the same ones, with their derivations). Windows are packets sent a
round trip; no timeouts, no queue.
"""

import math
from collections.abc import Callable

from shallows.theory.registry import closed_form, positive

CUBIC_BETA = 0.7
CUBIC_C = 0.4
CUBIC_STEP = 3 * (1 - CUBIC_BETA) / (1 + CUBIC_BETA)


def _zero(rising: Callable[[float], float]) -> float:
    """Where a rising function is zero, between 1 and 1e5."""
    low, high = 1.0, 1e5
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return low


def aimd_periodic(p: float, step: float, beta: float, less: float) -> float:
    """Every 1 / p-th packet marked; `step` segments of growth a round trip, the share `beta` left.

    From beta w to w in (1 - beta) w / step round trips of (1 + beta) w / 2 - less packets each, then 2 - beta
    round trips without growth, with beta w packets. `less` is what is not sent on average: 1/2 for growth by
    whole segments, 1/2 for fractions of one (1/4 where windows are multiples of 1/2).
    """

    def rounds(w: float) -> float:
        return (1 - beta) * w / step

    w = _zero(lambda w: rounds(w) * ((1 + beta) * w / 2 - less) + beta * w - 1 / p)
    return 1 / p / (rounds(w) + 2 - beta)


def aimd_independent(p: float, step: float, beta: float) -> float:
    """Packets marked with probability p: exponential growth between reductions, after Ott et al. 1996."""
    c = math.gamma(1.5)
    for k in range(1, 200):
        c *= (1 - beta ** (2 * k + 1)) / (1 - beta ** (2 * k))
    half = step * c * c * (1 - beta) * (1 + 1 / (2 * step))
    w = half + math.sqrt(half * half + 2 * step * c * c / p)
    return (1 / p + w) / ((1 - beta) * w / step + 2 - beta)


def cubic_independent(p: float) -> float:
    """CUBIC's Reno-friendly window: above the window before the reduction it grows as Reno (RFC 9438 s.4.3).

    That makes its growth u times as large on average, u = 1 + (1 / step - 1) exp(-u) = 1.254.
    """
    u = 1.0
    for _ in range(100):
        u = 1 + (1 / CUBIC_STEP - 1) * math.exp(-u)
    return aimd_independent(p, CUBIC_STEP * u, CUBIC_BETA)


def cubic_long(p: float, rtt_s: float) -> float:
    """CUBIC on a long path, without the Reno-friendly region, every 1 / p-th packet marked."""

    def plateau(w: float) -> float:
        return (w * (1 - CUBIC_BETA) / CUBIC_C) ** (1 / 3) / rtt_s

    w = _zero(lambda w: plateau(w) * (w * (3 + CUBIC_BETA) / 4 - 0.5) + CUBIC_BETA * w - 1 / p)
    return 1 / p / (plateau(w) + 2 - CUBIC_BETA)


def dctcp_independent(p: float) -> float:
    """DCTCP, alpha = p: a segment for each window of unmarked segments since the last reduction.

    In the limit 2.24 / p.
    """
    q = 1 - p
    return _zero(lambda w: w * p / 2 * (1 - q ** (w + 0.5)) - q ** (p * w + 1 - p / 2)) - 0.5


def prague_independent(p: float, stretch: float) -> float:
    """Prague, alpha = p: 1 / w of a segment for each unmarked one; `stretch` is RTT_virt / RTT.

    In the limit (1 + sqrt 3) / p for a stretch of 1.
    """

    def excess(w: float) -> float:
        chance = w - 0.5 + 1 / p
        wait = (chance * chance + (1 - p) / (p * p)) / (2 * chance)
        cycle = chance if stretch == 1 else stretch * (w - 0.5) + wait
        return w * p / 2 - (1 - p) * cycle / w / stretch**2

    return _zero(excess) - 0.5


@closed_form
def marked_windows(
    p: float = 0.05, rtt_ps: int = 10_000_000_000, rtt_virt_ps: int = 10_000_000_000
) -> dict[str, float]:
    """Mean windows of Reno, CUBIC, DCTCP and Prague as the simulator's senders count, 1 in 1/p marked.

    Growth stops while ECN-Echo lasts, but not Prague's; DCTCP's count of acknowledgements begins anew at each
    reduction. Good for windows of some 8 segments and more.

    Source: derived in crates/spec/tests/theory/rates.rs after Mathis et al. 1997, Ott, Kemperman and Mathis
    1996, RFC 9438 s.4.3 and 5.1, RFC 8257 s.3.3, draft-briscoe-iccrg-prague-congestion-control-04 s.2.4
    """
    positive(p=p, rtt=rtt_ps, rtt_virt=rtt_virt_ps)
    if p >= 1:
        raise ValueError("p must be < 1")
    return {
        "reno_periodic_packets": aimd_periodic(p, 1, 0.5, 0.75),
        "reno_independent_packets": aimd_independent(p, 1, 0.5),
        "cubic_periodic_packets": aimd_periodic(p, CUBIC_STEP, CUBIC_BETA, 0.5),
        "cubic_independent_packets": cubic_independent(p),
        "cubic_long_periodic_packets": cubic_long(p, rtt_ps / 1e12),
        "dctcp_independent_packets": dctcp_independent(p),
        "prague_independent_packets": prague_independent(p, max(1.0, rtt_virt_ps / rtt_ps)),
    }
