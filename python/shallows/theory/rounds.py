"""Windows that grow by a step a round trip and are cut by a share when a packet is marked.

The sender counts in rounds: each sends the window; if any of its packets is marked, the next window is
the share `beta` of it, else it is `step` packets larger. `grows` says whether a marked round adds its step
too: ns-2 and the RFCs' pseudocode go on growing, Linux does not (state CWR). All windows are in packets;
the results are means over rounds, which is packets sent a round trip.
"""

import math

import numpy as np

from shallows.theory.registry import positive


def check(p: float, step: float, beta: float) -> None:
    """Refuses what has no steady state. Raises ValueError."""
    positive(p=p, step=step)
    if p >= 1:
        raise ValueError("p must be < 1")
    if not 0 < beta < 1:
        raise ValueError("beta must be > 0 and < 1")


def periodic_limit(p: float, step: float, beta: float) -> float:
    """One mark every 1 / p packets, for p towards 0: sqrt(step (1 + beta) / (2 (1 - beta) p)).

    Source: Mathis et al., CCR 27(3) 1997, eq. (3), for any step and share as Floyd, Handley and Padhye 2000
    """
    check(p, step, beta)
    return math.sqrt(step * (1 + beta) / (2 * (1 - beta) * p))


def periodic(p: float, step: float, beta: float, grows: bool) -> float:
    """One mark every 1 / p packets, counted in whole rounds of the sawtooth.

    Frozen, the rounds of a period send beta W, beta W + step, ..., W: (1 - beta) W / step + 1 of them.
    Growing, the first is beta W + step. A period sends 1 / p; W follows from a quadratic equation.
    """
    check(p, step, beta)
    square = (1 - beta) * (1 + beta) / (2 * step)
    linear = (1 - beta) / 2 if grows else (1 + beta) / 2
    top = (-linear + math.sqrt(linear * linear + 4 * square / p)) / (2 * square)
    return ((1 + beta) * top + (step if grows else 0)) / 2


def independent_limit(p: float, step: float, beta: float) -> float:
    """Each packet marked with probability p apart from all others, for p towards 0.

    V = W^2 p / (2 step) grows by one for 1 / p packets, an exponential time, and is cut to q V, q =
    beta^2. A mark finds the sum of q^k E_k with independent exponential E_k of mean 1, whose
    moments are E[V^s] = Gamma(1 + s) (q^(1+s); q) / (q; q) with infinite q-Pochhammer products; packets a
    round trip are 1 / E[1 / W]. For step 1 and beta 1/2 it is 1.3098 / sqrt(p).

    Source: Ott, Kemperman and Mathis, "The Stationary Behavior of Ideal TCP Congestion Avoidance", 1996
    (1.3098); the product form derived here
    """
    check(p, step, beta)
    q = beta * beta
    powers = q ** np.arange(0, math.ceil(-40 / math.log(q)) + 1)
    product = float(np.prod((1 - q * powers) / (1 - beta * powers)))
    return math.sqrt(2 * step / p) * product / math.sqrt(math.pi)


def independent(p: float, step: float, beta: float, grows: bool) -> float:
    """Packets a round trip with independent marks of probability p, and at most one cut a round.

    The stationary distribution of the window, on a grid of a quarter step, by iteration; beyond a mean of
    400 steps the limit, which is then less than 0.3 % away.
    """
    limit = independent_limit(p, step, beta)
    if limit > 400 * step:
        return limit
    fine = step / 4
    size = math.ceil((8 * limit + 40 * step) / fine)
    windows = fine * np.arange(1, size + 1)
    spared = (1 - p) ** windows
    cut = np.clip((beta * windows + (step if grows else 0)) / fine - 1, 0, size - 1)
    low = np.floor(cut).astype(int)
    high = np.minimum(low + 1, size - 1)
    share = cut - low
    density = np.full(size, 1 / size)
    for _ in range(100_000):
        marked = density * (1 - spared)
        after = np.bincount(low, marked * (1 - share), size) + np.bincount(high, marked * share, size)
        unmarked = density * spared
        after[4:] += unmarked[:-4]
        after[-1] += unmarked[-4:].sum()
        moved = np.abs(after - density).sum()
        density = after
        if moved < 1e-10:
            break
    return float(windows @ density)
