"""TIMELY and its patched law as fluid models: fixed point, stability, and course over time.

Zhu, Ghobadi, Misra and Padhye, ECN or Delay, CoNEXT 2016, sections 4.1 to 4.3, after Mittal et al., SIGCOMM
2015. With q_1 and q_2 the queue a time tau' and tau' + tau* ago, and between the two thresholds:

    q'  = sum R - C,    tau* = max(Seg / R, D_minRTT),    tau' = q / C + MTU / C + D_prop
    g'  = (alpha / tau*) ((q_1 - q_2) / (C D_minRTT) - g)
    R'  = delta / tau* if g <= 0, else -(g beta / tau*) R                        (Mittal 2015)
    R'  = ((1 - w) delta - w beta R (q_1 - q*) / q*) / tau*,  q* = C T_low         (patched)

with w = 2 g + 1/2 between 0 and 1. Below T_low R' = delta / tau*, above T_high R' = -(beta / tau*)
(1 - C T_high / q_1) R. The original has no fixed point. Rates in bit/s, queues in bits, times in seconds.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from shallows.theory.dcqcn import Course, margin
from shallows.theory.registry import closed_form, positive

__all__ = ["Law", "fluid", "timely_patched"]

T_HIGH = 500e-6


class Law(NamedTuple):
    """The constants of one law. Rates in bit/s, the segment in bits, times in seconds."""

    patched: bool
    rate: float = 10e9
    delta: float = 10e6
    beta: float = 0.8
    weight: float = 0.875
    """alpha, of a new difference of round trips."""
    t_low: float = 50e-6
    min_rtt: float = 20e-6
    segment: float = 16e3 * 8
    propagation: float = 4e-6
    packet: float = 8e3

    def interval(self, rate: float) -> float:
        """tau*: the time between two samples."""
        return max(self.segment / rate, self.min_rtt)

    def delay(self, queue: float) -> float:
        """tau': how old a sample is."""
        return (queue + self.packet) / self.rate + self.propagation

    def change(self, rate: float, gradient: float, queue: float) -> float:
        """R' tau* for the queue that the sample saw."""
        low, high = self.rate * self.t_low, self.rate * T_HIGH
        if queue < low:
            return self.delta
        if queue > high:
            return -self.beta * (1 - high / queue) * rate
        if self.patched:
            share = min(max(2 * gradient + 0.5, 0.0), 1.0)
            return (1 - share) * self.delta - share * self.beta * rate * (queue - low) / low
        return self.delta if gradient <= 0 else -gradient * self.beta * rate


def fluid(
    law: Law,
    starts: Sequence[tuple[float, float]],
    duration_s: float,
    step_s: float = 1e-6,
    jitter: Callable[[int], float] | None = None,
) -> Course:
    """The model over time. `starts`: for each flow the instant in s and its first rate in bit/s.

    `jitter(step)` is added to tau' of that step, in seconds: it changes which queue is seen. Euler's
    method; each tenth step is recorded, the rates as a row a flow. A flow's rate stays below the link's.
    """
    steps = round(duration_s / step_s)
    queues, shown = [0.0] * (steps + 1), []
    rates, gradients = [0.0] * len(starts), [0.0] * len(starts)
    queue = 0.0
    for k in range(steps):
        queues[k] = queue
        late = round((law.delay(queue) + (jitter(k) if jitter else 0.0)) / step_s)
        seen = queues[k - late] if k >= late else 0.0
        for flow, (start, first) in enumerate(starts):
            if rates[flow] == 0.0:
                rates[flow] = first if k * step_s >= start else 0.0
                continue
            rate, interval = rates[flow], law.interval(rates[flow])
            before = k - late - round(interval / step_s)
            rise = seen - (queues[before] if before >= 0 else 0.0)
            change = law.change(rate, gradients[flow], seen)
            gradients[flow] += (
                step_s * law.weight / interval * (rise / (law.rate * law.min_rtt) - gradients[flow])
            )
            rates[flow] = min(max(rate + step_s * change / interval, 1e6), law.rate)
        queue = max(0.0, queue + step_s * (sum(rates) - law.rate))
        if k % 10 == 0:
            shown.append(tuple(rates))
    return Course(
        np.arange(0, steps, 10) * step_s, np.array(queues[0:steps:10]) / 8, np.array(shown).T.copy()
    )


@closed_form
def timely_patched(
    rate_bps: int = 10_000_000_000,
    flows: int = 2,
    propagation_ps: int = 4_000_000,
    delta_bps: int = 10_000_000,
    beta: float = 0.008,
    t_low_ps: int = 50_000_000,
    min_rtt_ps: int = 20_000_000,
    segment_bytes: int = 16_000,
    weight: float = 0.875,
    slope: float = 2.0,
    packet_bytes: int = 1000,
) -> dict[str, float | None]:
    """Patched TIMELY's resting queue and round trip, its stability, and how fast two flows meet.

    `queue` is C T_low (1 + N delta / (beta C)), which counts the whole round trip as queue; `rtt` is the
    same as a time, where a flow rests whatever part of it is queue. `slope` is that of w(g), 2 in the text.
    `phase_margin` is that of the linearised model with all flows alike; `propagation` is D_prop. `meet` is
    the time in which the difference of two flows falls from C to a tenth of C / N, exponentially with
    delta (N - 1) / (2 Seg).

    Source: Zhu et al., CoNEXT 2016, section 4.3, eq. (29) to (31); the time from an earlier draft of it
    """
    positive(rate=rate_bps, flows=flows, delta=delta_bps, beta=beta, t_low=t_low_ps, min_rtt=min_rtt_ps)
    positive(segment=segment_bytes, weight=weight, packet=packet_bytes)
    beyond = flows * delta_bps / (beta * rate_bps)
    queue = rate_bps * t_low_ps / 8e12 * (1 + beyond)
    seconds = t_low_ps / 1e12 * (1 + beyond)
    share, segment = rate_bps / flows, 8.0 * segment_bytes
    apart = math.inf if flows < 2 else 2e12 * segment * math.log(10 * flows) / (delta_bps * (flows - 1))
    interval = max(segment / share, min_rtt_ps / 1e12)
    delay = seconds + 8 * packet_bytes / rate_bps + propagation_ps / 1e12

    def gain(w: np.ndarray) -> np.ndarray:
        """The open loop about the fixed point: the queue's level and its gradient, each with its age."""
        s = 1j * w
        level = beta * share / (2 * interval * rate_bps * t_low_ps / 1e12)
        rise = (1 - np.exp(-s * interval)) / (rate_bps * min_rtt_ps / 1e12)
        gradient = rise * weight / (s * interval + weight) * 2 * delta_bps * slope / interval
        moved = (level + gradient) * np.exp(-s * delay) / (s + delta_bps / (2 * share * interval))
        return flows / s * moved

    return {
        "queue_bytes": queue,
        "rtt_ps": 1e12 * seconds,
        "share_bps": share,
        "sample_ps": 1e12 * interval,
        "phase_margin_degrees": margin(gain),
        "meet_ps": apart,
    }
