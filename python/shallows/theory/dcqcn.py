"""DCQCN's fluid model: its fixed point, the stability about it, and its course over time.

Zhu, Ghobadi, Misra and Padhye, ECN or Delay: Lessons Learnt from Analysis of DCQCN and TIMELY, CoNEXT 2016,
figure 1, after Zhu et al., SIGCOMM 2015. Per flow, with the marking probability p and its own rate R_C at
the far end of the control loop, a time tau* ago:

    alpha' = (g / tau') ((1 - (1-p)^(tau' R_C)) - alpha)
    R_T'   = -(R_T - R_C) / tau a + R_AI R_C (c + e)
    R_C'   = -R_C alpha / (2 tau) a + (R_T - R_C) / 2 R_C (b + d)
    q'     = sum R_C - C

with a = 1 - (1-p)^(tau R_C), b = p / ((1-p)^-B - 1), c = (1-p)^(F B) b, and d and e as b and c with T R_C
packets in place of B. Rates in packets a second, queues in packets, times in seconds. Hyper increase and
the pauses of PFC are not in the model.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shallows.theory.registry import closed_form, positive

__all__ = ["Course", "Loop", "dcqcn", "fluid", "margin"]


class State(NamedTuple):
    """A flow's R_C and R_T in packets a second, and alpha; or their rates of change."""

    rate: float
    target: float
    alpha: float


class Loop(NamedTuple):
    """One port and its flows. The defaults are the paper's, in packets of 1000 bytes at 40 Gb/s.

    Rates in packets a second, sizes in packets, times in seconds.
    """

    flows: int
    delay: float
    """tau*: from the mark to the rate that follows it, at the port."""
    rate: float = 5e6
    kmin: float = 5.0
    kmax: float = 200.0
    pmax: float = 0.01
    additive: float = 5e3
    timer: float = 55e-6
    counter: float = 1e4
    rounds: int = 5
    spacing: float = 50e-6
    """tau: least time between two notifications."""
    memory: float = 55e-6
    """tau': time after which alpha is brought up."""
    g: float = 1 / 256

    def mark(self, queue: float) -> float:
        """Probability of a mark: eq. (1)."""
        if queue > self.kmax:
            return 1.0
        return max(0.0, (queue - self.kmin) / (self.kmax - self.kmin) * self.pmax)

    def changes(self, rate: float, target: float, alpha: float, p: float, then: float) -> State:
        """d/dt of rate, target and alpha; `p` and the rate `then` are a loop's delay old. Eq. (3) to (5)."""
        unmarked = math.log1p(-p) if p < 1 else -math.inf
        cut = -math.expm1(self.spacing * then * unmarked)
        by_bytes, by_time, beyond = self.increases(p, then)
        return State(
            -rate * alpha / (2 * self.spacing) * cut + (target - rate) / 2 * then * (by_bytes + by_time),
            -(target - rate) / self.spacing * cut + self.additive * then * beyond,
            self.g / self.memory * (-math.expm1(self.memory * then * unmarked) - alpha),
        )

    def increases(self, p: float, then: float) -> tuple[float, float, float]:
        """Increases a packet by the counter and by the timer, b and d; those beyond fast recovery, c + e."""
        packets = (self.counter, self.timer * then)
        if p <= 0:
            return 1 / packets[0], 1 / packets[1], 1 / packets[0] + 1 / packets[1]
        if p >= 1:
            return 0.0, 0.0, 0.0
        unmarked = math.log1p(-p)
        # Beyond 700 the exponential overflows, and there is next to no increase.
        b, d = (p / math.expm1(min(-n * unmarked, 700.0)) for n in packets)
        late = [math.exp(self.rounds * n * unmarked) for n in packets]
        return b, d, late[0] * b + late[1] * d


def fixed_point(loop: Loop) -> tuple[float, State]:
    """The probability at which every flow rests at C / N, by bisection of eq. (9), and that state."""
    rate = loop.rate / loop.flows

    def rest(p: float) -> State:
        """R_T and alpha where their own equations rest."""
        beyond = loop.additive * rate * loop.increases(p, rate)[2] * loop.spacing
        cut, alpha = (-math.expm1(time * rate * math.log1p(-p)) for time in (loop.spacing, loop.memory))
        return State(rate, rate + beyond / cut, alpha)

    low, high = 1e-9, 0.999
    for _ in range(100):
        p = math.sqrt(low * high)
        grows = loop.changes(*rest(p), p, rate).rate > 0
        low, high = (p, high) if grows else (low, p)
    return p, rest(p)


def phase_margin(loop: Loop) -> float:
    """Degrees by which the linearised loop is stable (below 0: it is not), all flows moving together.

    The ramp goes on beyond Kmax here, as in the paper's figure 3.
    """
    p, state = fixed_point(loop)
    at = np.array([*state, p, state.rate])
    slopes = np.empty((3, 5))
    for k in range(5):
        step = np.zeros(5)
        step[k] = 1e-5 * at[k]
        rise = np.subtract(loop.changes(*(at + step)), loop.changes(*(at - step)))
        slopes[:, k] = rise / (2 * step[k])
    ramp = loop.pmax / (loop.kmax - loop.kmin)

    def gain(w: np.ndarray) -> np.ndarray:
        """The open loop: a mark's effect on the rates, the queue, and the next mark, a delay later."""
        late = np.exp(-1j * w * loop.delay)
        own = np.multiply.outer(1j * w, np.eye(3)) - slopes[:, :3]
        own[:, :, 0] -= np.multiply.outer(late, slopes[:, 4])
        marks = np.broadcast_to(slopes[:, 3:4].astype(complex), (len(w), 3, 1))
        return -ramp * loop.flows * np.linalg.solve(own, marks)[:, 0, 0] / (1j * w) * late

    return margin(gain)


def margin(gain: Callable[[np.ndarray], np.ndarray], low: float = 1e1, high: float = 1e7) -> float:
    """The least phase margin in degrees over all crossings of |gain| = 1, w from `low` to `high` a second."""
    frequencies = np.geomspace(low, high, 4000)
    values = gain(frequencies)
    sizes, phases = np.log(np.abs(values)), np.degrees(np.unwrap(np.angle(values)))
    falls = np.flatnonzero((sizes[:-1] >= 0) & (sizes[1:] < 0))
    shares = sizes[falls] / (sizes[falls] - sizes[falls + 1])
    return float(np.min(180 + phases[falls] + shares * (phases[falls + 1] - phases[falls]), initial=math.inf))


class Course(NamedTuple):
    """Over time: instants in s, the queue in bytes, the rate of each flow in bit/s."""

    time_s: np.ndarray
    queue_bytes: np.ndarray
    rate_bps: np.ndarray


def fluid(
    loop: Loop,
    duration_s: float,
    step_s: float = 2e-6,
    packet_bytes: int = 1000,
    jitter: Callable[[int], float] | None = None,
    at_arrival: bool = False,
) -> Course:
    """The model over time, all flows alike: from line rate, alpha 1 and an empty queue.

    With `at_arrival` packets are marked as they come, so that a mark is older by the queue's own time.
    `jitter(step)` is added to the delay of that step, in seconds. The step should divide the delay. Adams and
    Bashforth's method of second order, since Euler's would make a loop at the edge of stability swing;
    each tenth step is recorded.
    """
    steps = round(duration_s / step_s)
    queues, rates = [0.0] * (steps + 1), [loop.rate] * (steps + 1)
    rate, target, alpha, queue = loop.rate, loop.rate, 1.0, 0.0
    old, then = State(0.0, 0.0, 0.0), -1
    for k in range(steps):
        queues[k], rates[k] = queue, rate
        late = k - round((loop.delay + (jitter(k) if jitter else 0.0)) / step_s)
        if at_arrival:  # the last packet that has left by then
            while then < late and then + 1 + queues[max(then + 1, 0)] / loop.rate / step_s <= late:
                then += 1
        else:
            then = late
        p, before = (loop.mark(queues[then]), rates[then]) if then >= 0 else (0.0, loop.rate)
        new = loop.changes(rate, target, alpha, p, before)
        last = rate
        rate = min(max(rate + step_s * (1.5 * new.rate - 0.5 * old.rate), 1.0), loop.rate)
        target = min(max(target + step_s * (1.5 * new.target - 0.5 * old.target), 1.0), loop.rate)
        alpha += step_s * (1.5 * new.alpha - 0.5 * old.alpha)
        queue = max(0.0, queue + step_s * (loop.flows * (rate + last) / 2 - loop.rate))
        old = new
    shown = slice(0, steps, 10)
    bits = 8 * packet_bytes
    return Course(
        np.arange(0, steps, 10) * step_s,
        np.array(queues[shown]) * packet_bytes,
        np.array(rates[shown]) * bits,
    )


@closed_form
def dcqcn(
    rate_bps: int = 40_000_000_000,
    flows: int = 10,
    delay_ps: int = 4_000_000,
    kmin_bytes: int = 5_000,
    kmax_bytes: int = 200_000,
    pmax: float = 0.01,
    additive_bps: int = 40_000_000,
    timer_ps: int = 55_000_000,
    counter_bytes: int = 10_000_000,
    rounds: int = 5,
    spacing_ps: int = 50_000_000,
    memory_ps: int = 55_000_000,
    g: float = 1 / 256,
    packet_bytes: int = 1000,
) -> dict[str, float | None]:
    """DCQCN's resting queue and marks in the fluid model, and how far that rest is from an oscillation.

    `delay` is the control loop's, tau*: four links of a star. `timer`, `counter` and `rounds` are T, B and
    F, `additive` is R_AI, `spacing` tau and `memory` tau'. `queue` solves eq. (9); where its probability
    is beyond `pmax` the queue stands at Kmax. `printed_` outputs take the cube root of eq. (11), which
    leaves out that few increases go beyond fast recovery. `phase_margin` is that of the equations as
    printed, linearised numerically; null where the queue stands at Kmax.

    Source: Zhu et al., CoNEXT 2016, figure 1 and section 3.2, eq. (6) to (11)
    """
    positive(rate=rate_bps, flows=flows, packet=packet_bytes, pmax=pmax, additive=additive_bps, g=g)
    positive(timer=timer_ps, counter=counter_bytes, spacing=spacing_ps, memory=memory_ps)
    positive(kmax_above_kmin=kmax_bytes - kmin_bytes)
    bits = 8 * packet_bytes
    loop = Loop(
        flows, delay_ps / 1e12, rate_bps / bits, kmin_bytes / packet_bytes, kmax_bytes / packet_bytes, pmax,
        additive_bps / bits, timer_ps / 1e12, counter_bytes / packet_bytes, rounds, spacing_ps / 1e12,
        memory_ps / 1e12, g,
    )  # fmt: skip
    p, state = fixed_point(loop)
    wide = 1 / loop.counter + loop.flows / (loop.timer * loop.rate)
    printed = (loop.additive * loop.flows**2 / (loop.memory * loop.rate**2) * wide**2) ** (1 / 3)

    def queue(chance: float) -> float:
        """Where the ramp has this probability, at most Kmax."""
        return kmin_bytes + min(chance / pmax, 1.0) * (kmax_bytes - kmin_bytes)

    return {
        "p": p,
        "queue_bytes": queue(p),
        "alpha": state.alpha,
        "rate_bps": rate_bps / flows,
        "target_bps": state.target * 8 * packet_bytes,
        "printed_p": printed,
        "printed_queue_bytes": queue(printed),
        "phase_margin_degrees": phase_margin(loop) if p < pmax else None,
    }
