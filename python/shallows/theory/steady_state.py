"""Long-run rates of Reno, CUBIC, DCTCP and a Prague-like sender under a given mark or loss probability.

Each form sets the slides' constant ("Data Center to the Home", De Schepper et al. 2015) beside what
follows from the growth rule and the mark process: `periodic` marks come every 1 / p packets,
`independent` ones by chance, packet by packet. `_limit` is for p towards 0; the others count whole
rounds. Windows are packets sent a round trip; `rtt` includes queueing. No timeouts, no slow start.
"""

import math

from shallows.theory import rounds
from shallows.theory.registry import closed_form, positive

RENO, CUBIC, DCTCP = 1.22, 1.17, 2.0  # the slides' constants


def _rates(windows: dict[str, float], rtt_ps: int, mss_bytes: int) -> dict[str, float]:
    """Each window in packets, and as goodput."""
    positive(rtt=rtt_ps, mss=mss_bytes)
    rates = {f"{name}_bps": window * mss_bytes * 8e12 / rtt_ps for name, window in windows.items()}
    return {f"{name}_packets": window for name, window in windows.items()} | rates


def _aimd(p: float, step: float, beta: float, grows: int) -> dict[str, float]:
    return {
        "periodic_limit": rounds.periodic_limit(p, step, beta),
        "periodic": rounds.periodic(p, step, beta, bool(grows)),
        "independent_limit": rounds.independent_limit(p, step, beta),
        "independent": rounds.independent(p, step, beta, bool(grows)),
    }


@closed_form
def reno_rate(
    p: float = 0.01,
    rtt_ps: int = 40_000_000_000,
    mss_bytes: int = 1448,
    per_ack: float = 1.0,
    beta: float = 0.5,
    grows: int = 0,
) -> dict[str, float]:
    """Reno's window and rate: 1.22 / sqrt(p) in the slides, by mark process and growth beside it.

    `per_ack` is b, segments acknowledged at once, `beta` what a mark leaves of the window, `grows` 1
    where the window grows in a marked round too. Periodic marks give sqrt(3/2) = 1.2247, independent ones
    1.3098.

    Source: Mathis et al., CCR 27(3) 1997, eq. (3) and its table of constants; Ott, Kemperman and Mathis 1996
    """
    positive(per_ack=per_ack)
    windows = {"slides": RENO / math.sqrt(p)} if p > 0 else {}
    return _rates(windows | _aimd(p, 1 / per_ack, beta, grows), rtt_ps, mss_bytes)


@closed_form
def cubic_rate(
    p: float = 0.01,
    rtt_ps: int = 40_000_000_000,
    mss_bytes: int = 1448,
    beta: float = 0.7,
    c: float = 0.4,
    grows: int = 0,
) -> dict[str, float]:
    """CUBIC's window and rate: the cubic and the Reno-friendly region, the larger of which it follows.

    The cubic region sends (C (3 + beta) / (4 (1 - beta)))^(1/4) (RTT / p)^(3/4) a round trip: 1.054 with
    RFC 8312's beta of 0.7; the slides' 1.17 is the same with 0.8, as in the paper of 2008. The friendly
    region adds 3 (1 - beta) / (1 + beta) a round trip. `friendly_` outputs are those of `reno-rate` with
    that growth; `window_packets` is the larger periodic one. Independent marks in the cubic region have
    no form here.

    Source: RFC 8312 section 5.1 eq. (5), (6) and section 4.2 eq. (4); RFC 9438 sections 4.3, 5.1; Ha,
    Rhee and Xu 2008
    """
    positive(p=p, c=c)
    step = 3 * (1 - beta) / (1 + beta)
    stretch = (rtt_ps / 1e12 / p) ** 0.75
    friendly = {f"friendly_{name}": value for name, value in _aimd(p, step, beta, grows).items()}
    cubic = (c * (3 + beta) / (4 * (1 - beta))) ** 0.25 * stretch
    windows = {"slides": CUBIC * stretch, "cubic": cubic} | friendly
    windows["window"] = max(cubic, friendly["friendly_periodic"])
    return _rates(windows, rtt_ps, mss_bytes)


@closed_form
def dctcp_rate(
    p: float = 0.1,
    rtt_ps: int = 10_000_000_000,
    mss_bytes: int = 1448,
    per_ack: float = 1.0,
    gain: float = 0.0625,
    grows: int = 0,
) -> dict[str, float]:
    """DCTCP's window and rate: 2 / p^2 by a step threshold, 2 / p by probability, in the slides.

    On and off marking marks every packet of one round in N and cuts by half of alpha, which the mark has just
    raised to g / (1 - (1 - g)^N): 1 / N for a gain towards 0, as in the slides, but 1.7 times that for
    g = 1/16 and N = 20. With probabilistic marks most rounds hold one, so that a sender that stops growing
    in marked rounds (Linux) sends about half as much as one that does not: `independent` counts rounds, the
    share left being 1 - p / 2, for a gain well below the rate of cuts.

    Source: De Schepper et al. 2015 (slides); RFC 8257 section 3.3; the forms by rounds derived here
    """
    positive(per_ack=per_ack, gain=gain)
    step, beta = 1 / per_ack, 1 - p / 2
    rounds.check(p, step, beta)
    windows = {
        "slides_step": DCTCP / (p * p),
        "slides_probabilistic": DCTCP / p,
        "step": on_and_off(p, step, gain, bool(grows)),
        "independent": rounds.independent(p, step, beta, bool(grows)),
        "spread": spread(p, step, bool(grows)),
    }
    return _rates(windows, rtt_ps, mss_bytes)


def on_and_off(p: float, step: float, gain: float, grows: bool) -> float:
    """DCTCP's mean window where a share p of its packets is marked, all those of one round in N.

    A period of N rounds grows by `step` in each, but for the marked one where it is frozen, and ends with a
    cut by alpha / 2 from W. The marked round is the largest: p N (1 - alpha / 4) = 1.
    """
    alpha = p
    for _ in range(60):
        period = 1 / (p * (1 - alpha / 4))
        alpha = gain / (1 - (1 - gain) ** period)
    top = 2 * step * (period if grows else period - 1) / alpha
    return top * (1 - alpha / 4)


def spread(p: float, step: float, grows: bool) -> float:
    """DCTCP's window where marks are spread evenly, one in 1 / p packets (RFC 9332's `recur`).

    Growing, each round adds the step and is cut by p W / 2 if marked: W = 2 step / p where every round
    holds a mark, p W >= 1. Frozen, rounds hold a mark with probability x = p W below 1, and x^2 / 2 =
    step (1 - x).
    """
    rounds.check(p, step, 1 - p / 2)
    if grows:
        return (2 * step if step >= 0.5 else math.sqrt(2 * step)) / p
    return (math.sqrt(step * step + 2 * step) - step) / p


@closed_form
def prague_rate(
    p: float = 0.1,
    rtt_ps: int = 10_000_000_000,
    rtt_virtual_ps: int = 25_000_000_000,
    mss_bytes: int = 1448,
    grows: int = 0,
) -> dict[str, float]:
    """A Prague-like sender's window and rate: DCTCP's, as if the round trip were `rtt_virtual`.

    Below the virtual round trip additive increase and reduction are scaled so that the rate does not
    depend on the true one: packets in the longer of the two are DCTCP's. `window` is in packets a true
    round trip.

    Source: RFC 9331 section 4.3 (RTT dependence no worse than Reno's); the scaling of
    draft-briscoe-iccrg-prague-congestion-control, not verified
    """
    positive(rtt_virtual=rtt_virtual_ps)
    longer = max(rtt_ps, rtt_virtual_ps)
    dctcp = dctcp_rate(p, longer, mss_bytes, grows=grows)
    names = ("slides_probabilistic", "independent", "spread")
    windows = {name: dctcp[f"{name}_packets"] * rtt_ps / longer for name in names}
    return _rates(windows, rtt_ps, mss_bytes)


@closed_form
def coupling(
    p: float = 0.2,
    k: float = 8.0,
    rtt_classic_ps: int = 40_000_000_000,
    rtt_scalable_ps: int = 8_000_000_000,
    mss_bytes: int = 1448,
    grows: int = 0,
) -> dict[str, float]:
    """Reno and DCTCP under coupled marks, p_classic = (p / k)^2: the ratio of rates, and k for equal ones.

    Both round trips include queueing, which a dual queue makes unequal. In the slides the ratio is (1.22
    / 2) k RTT_scalable / RTT_classic, so equal rates need k = 1.63 RTT_classic / RTT_scalable: 8 for 8 ms
    and 40 ms. RFC 9332's 2 makes rates equal for a ratio of 1.22. `derived_` outputs take independent
    marks by rounds, whose ratio and k depend on p.

    Source: De Schepper et al. 2015 (slides); RFC 9332 section 2.1 eq. (1), appendix C.2
    """
    positive(p=p, k=k, rtt_classic=rtt_classic_ps, rtt_scalable=rtt_scalable_ps)
    classic = (p / k) ** 2
    reno = reno_rate(classic, rtt_classic_ps, mss_bytes, grows=grows)
    dctcp = dctcp_rate(p, rtt_scalable_ps, mss_bytes, grows=grows)
    apart = rtt_classic_ps / rtt_scalable_ps
    derived = reno["independent_bps"] / dctcp["independent_bps"]
    return {
        "p_classic": classic,
        "slides_classic_bps": reno["slides_bps"],
        "slides_scalable_bps": dctcp["slides_probabilistic_bps"],
        "slides_ratio": RENO / DCTCP * k / apart,
        "slides_k_of_equal_rates": DCTCP / RENO * apart,
        "derived_classic_bps": reno["independent_bps"],
        "derived_scalable_bps": dctcp["independent_bps"],
        "derived_ratio": derived,
        "derived_k_of_equal_rates": _equal(p, apart, grows),
    }


def _equal(p: float, apart: float, grows: int) -> float:
    """The k at which both send as much, by bisection: the classic rate rises with k."""
    scalable = rounds.independent(p, 1.0, 1 - p / 2, bool(grows))
    low, high = p * 1.01, 1000.0 * apart
    for _ in range(40):
        middle = math.sqrt(low * high)
        classic = rounds.independent((p / middle) ** 2, 1.0, 0.5, bool(grows))
        low, high = (middle, high) if classic < scalable * apart else (low, middle)
    return math.sqrt(low * high)
