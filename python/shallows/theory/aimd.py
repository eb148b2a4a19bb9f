"""AIMD sources with parameters of their own through one bottleneck: a positive-systems model.

Munir, "Improving Flow Completion Times in Data Center Networks" (thesis, NUST 2012), section 3.4, after
Shorten, Wirth and Leith, IEEE/ACM Trans. Networking 14 (2006). Flow i adds alpha_i packets a round trip and
keeps the share beta_i of its window when all together exceed the pipe; all are synchronised and have one
round trip. Windows and sizes in packets. Slow start and all that happens within a round trip are neglected.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shallows.theory.dctcp import bdp_packets
from shallows.theory.registry import closed_form, positive

Floats = Sequence[float] | np.ndarray


class Parameters(NamedTuple):
    """Additive increase in packets a round trip, and the share of the window that a decrease leaves."""

    alpha: float
    beta: float


def transition(alphas: Floats, betas: Floats) -> np.ndarray:
    """The matrix A of eq. (3.8): windows at one backoff from those at the last, n x n."""
    a, b = np.asarray(alphas, float), np.asarray(betas, float)
    return np.diag(b) + np.outer(a, 1 - b) / a.sum()


def fixed_point(alphas: Floats, betas: Floats, pipe_packets: float) -> np.ndarray:
    """Windows at a backoff in the steady state, eqs. (3.9) and (3.10): theta alpha_i / (1 - beta_i).

    They sum to P + sum of alpha, eq. (3.5). Errors: ValueError for parameters out of range.
    """
    a, b = np.asarray(alphas, float), np.asarray(betas, float)
    if a.shape != b.shape or not (a > 0).all() or not ((b > 0) & (b < 1)).all():
        raise ValueError("each flow needs alpha > 0 and 0 < beta < 1")
    positive(pipe=pipe_packets)
    x = a / (1 - b)
    return (pipe_packets + a.sum()) / x.sum() * x


def mean_windows(alphas: Floats, betas: Floats, pipe_packets: float) -> np.ndarray:
    """Mean windows over the sawtooth, T S_av of eq. (3.12): half way from beta_i w to w."""
    return fixed_point(alphas, betas, pipe_packets) * (1 + np.asarray(betas, float)) / 2


def throughputs(alphas: Floats, betas: Floats, pipe_packets: float, rtt_s: float) -> np.ndarray:
    """Mean throughput of each flow in packets a second, eq. (3.12); their sum is eq. (3.13)."""
    return mean_windows(alphas, betas, pipe_packets) / rtt_s


def flows_completed(counts: Floats, fct_s: Floats, period_s: float) -> float:
    """Flows that end in a period, eq. (3.15): the sum of T N_i / AFCT_i. Successors follow at once.

    `counts` and `fct_s` (mean completion times in seconds) are by class.
    """
    return float(np.sum(period_s * np.asarray(counts, dtype=float) / np.asarray(fct_s, dtype=float)))


def effective(classes: Sequence[Parameters], thresholds: Floats, size_packets: float) -> Parameters:
    """Parameters of a flow averaged over the classes that it passes as it drains, eqs. (3.16) and (3.17).

    `classes` from the highest priority down, `thresholds` the greatest remaining size of each but the last
    (the last has none). A flow starts in the class of its whole size and ends in the first.
    """
    positive(size=size_packets)
    edges = _edges(classes, thresholds)
    shares = [
        max(min(size_packets, high) - low, 0.0) / size_packets for low, high in itertools.pairwise(edges)
    ]
    return Parameters(
        sum(share * p.alpha for share, p in zip(shares, classes, strict=True)),
        sum(share * p.beta for share, p in zip(shares, classes, strict=True)),
    )


def _edges(classes: Sequence[Parameters], thresholds: Floats) -> list[float]:
    edges = [0.0, *(float(t) for t in thresholds), np.inf]
    if len(edges) != len(classes) + 1 or edges != sorted(edges):
        raise ValueError(f"{len(classes)} classes need {len(classes) - 1} rising thresholds")
    return edges


def gain(one: Parameters, other: Parameters) -> float:
    """Throughput of a flow with parameters `one` over that of one with `other`, eq. (3.18)."""
    return _strength(one) / _strength(other)


def _strength(p: Parameters) -> float:
    return p.alpha * (1 + p.beta) / (1 - p.beta)


def for_gain(wanted: float, other: Parameters, alpha: float) -> Parameters:
    """Parameters with this alpha whose gain over `other` is as wanted: eq. (3.18) solved for beta.

    Error: ValueError where that takes a beta that is not above 0.
    """
    ratio = wanted * _strength(other) / alpha
    beta = (ratio - 1) / (ratio + 1)
    if not beta > 0:
        raise ValueError(f"no beta above 0 gives a gain of {wanted} with alpha {alpha}")
    return Parameters(alpha, beta)


@closed_form
def aimd(
    rate_bps: int = 1_000_000_000,
    rtt_ps: int = 300_000_000,
    flows_1: int = 1,
    alpha_1: float = 1.0,
    beta_1: float = 0.5,
    flows_2: int = 1,
    alpha_2: float = 1.0,
    beta_2: float = 0.5,
    packet_bytes: int = 1500,
) -> dict[str, float]:
    """Two kinds of synchronised AIMD flows on one link: windows, throughputs, and the gain of one kind.

    `alpha` in packets a round trip, `beta` the share of the window that a decrease leaves, `rtt` without
    queueing. Windows below one packet cannot be sent; the model does not mind.

    Source: Munir 2012, section 3.4, eqs. (3.5) to (3.13) and (3.18); Shorten, Wirth and Leith, ToN 14 (2006)
    """
    positive(flows_1=flows_1, flows_2=flows_2)
    pipe = bdp_packets(rate_bps, rtt_ps, packet_bytes)
    alphas = [alpha_1] * flows_1 + [alpha_2] * flows_2
    betas = [beta_1] * flows_1 + [beta_2] * flows_2
    top = fixed_point(alphas, betas, pipe)
    each = throughputs(alphas, betas, pipe, rtt_ps * 1e-12) * packet_bytes * 8
    return {
        "pipe_packets": pipe,
        "window_max_1_packets": float(top[0]),
        "window_max_2_packets": float(top[-1]),
        "throughput_1_bps": float(each[0]),
        "throughput_2_bps": float(each[-1]),
        "throughput_total_bps": float(each.sum()),
        "gain": gain(Parameters(alpha_1, beta_1), Parameters(alpha_2, beta_2)),
    }


@closed_form
def aimd_effective(
    size_packets: int = 1000,
    threshold_a_packets: int = 50,
    threshold_b_packets: int = 100,
    alpha_a: float = 0.5,
    beta_a: float = 0.9,
    alpha_b: float = 0.5,
    beta_b: float = 0.7,
    alpha_c: float = 0.5,
    beta_c: float = 0.5,
) -> dict[str, float]:
    """AIMD parameters of a flow averaged over three classes of remaining size.

    Source: Munir 2012, section 3.4.4, eqs. (3.16) and (3.17)
    """
    classes = [Parameters(alpha_a, beta_a), Parameters(alpha_b, beta_b), Parameters(alpha_c, beta_c)]
    mean = effective(classes, [threshold_a_packets, threshold_b_packets], size_packets)
    return {"alpha": mean.alpha, "beta": mean.beta}
