"""The limit cycle of a marked queue by describing functions: DCTCP's single threshold, DT-DCTCP's two.

Chen, Cheng, Ren, Shu and Lin, Ease the Queue Oscillation: Analysis and Enhancement of DCTCP, ICDCS 2013,
after the fluid model of Alizadeh, Javanmard, Prabhakar, Analysis of DCTCP, SIGMETRICS 2011, eq. (1) to (3):

    W' = 1/R - (W a / 2R) p(t - R),    a' = (g / R) (p(t - R) - a),    q' = N W / R - C

with p = 1 while the switch marks. Linearised about W0 = R C / N, a0 = p0 = sqrt(2 / W0), in x = w R
(w the angular frequency, R the round trip with the queue at its threshold), marks move the queue by

    G(jx) = sqrt(2 N C R) / 2 (2g + jx) e^(-jx) / ((g + jx) (1 / W0 + jx) (1 + jx)),  negative.

Its first factor is the amplitude of DCTCP's sawtooth (Alizadeh 2010 eq. 8). The switch marks from K1
(rising) to K2 (falling); of a queue q0 + X sin(t) it makes a wave whose fundamental is N(X) X. The limit
cycle is where N(X) G = -1. The mean mark must be p0 as well, which fixes q0; Chen et al. leave the mean out
and set q0 = 0, and both are given. Queues and windows in packets, times in round trips R.
"""

import cmath
import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from shallows.theory.dctcp import bdp_packets
from shallows.theory.registry import closed_form, positive


class Cycle(NamedTuple):
    """A limit cycle: half its swing `x_packets`, its centre, its period in round trips."""

    x_packets: float
    centre_packets: float
    period: float


NONE = Cycle(math.nan, math.nan, math.nan)


def root(f: Callable[[float], float], low: float, high: float) -> float:
    """Where f changes sign between `low` and `high`, by halving. f(low) and f(high) differ in sign."""
    rises = f(high) > 0
    for _ in range(55):
        middle = (low + high) / 2
        low, high = (low, middle) if (f(middle) > 0) == rises else (middle, high)
    return (low + high) / 2


class Plant(NamedTuple):
    """G: `gain` is sqrt(2 N C R) / 2, `window` W0, `g` DCTCP's weight."""

    gain: float
    window: float
    g: float

    def size(self, x: float) -> float:
        """|G| at x = w R."""
        below = math.hypot(self.g, x) * math.hypot(1 / self.window, x) * math.hypot(1, x)
        return self.gain * math.hypot(2 * self.g, x) / below

    def lag(self, x: float) -> float:
        """-arg G at x = w R, from 0 on without jumps."""
        rises = math.atan(x / self.g) + math.atan(x * self.window) + math.atan(x) + x
        return rises - math.atan(x / (2 * self.g))

    def crossing(self, lag: float) -> float:
        """The x at which G lags by so much."""
        return root(lambda x: self.lag(x) - lag, 0.0, lag + math.pi)


def describing(u1: float, u2: float) -> complex:
    """N(X) X of a switch that marks from u1 = (K1 - q0) / X, rising, to u2 = (K2 - q0) / X, falling.

    Chen et al. 2013: 2 / (pi X) sqrt(1 - (K / X)^2) for one threshold; with K1 < K2 it leads.
    """
    return complex(math.sqrt(1 - u1 * u1) + math.sqrt(1 - u2 * u2), u2 - u1) / math.pi


def marked_share(u1: float, u2: float) -> float:
    """The share of the cycle that is marked."""
    return (math.pi - math.asin(u1) - math.asin(u2)) / (2 * math.pi)


Switch = Callable[[float], tuple[float, complex]]
"""A function of a swing X: gives the centre q0, and the fundamental N(X) X of the marks."""


def cycle(plant: Plant, switch: Switch) -> Cycle:
    """The limit cycle of greatest swing; `NONE` where no swing has both its mean and a loop gain of one."""

    def excess(x_packets: float) -> float:
        wave = switch(x_packets)[1]
        return abs(wave) * plant.size(plant.crossing(math.pi + cmath.phase(wave))) / x_packets - 1

    # |N| X is at most 2 / pi, and leads or lags by at most a quarter: beyond this swing nothing is left.
    high = plant.size(plant.crossing(math.pi / 2))
    grid = [(x, excess(x)) for x in (high * 10 ** (-k / 40) for k in range(160))]
    for (above, too_wide), (below, too_narrow) in pairwise(grid):
        if math.inf > too_narrow > 0 >= too_wide:
            x_packets = root(excess, below, above)
            q0, wave = switch(x_packets)
            return Cycle(x_packets, q0, 2 * math.pi / plant.crossing(math.pi + cmath.phase(wave)))
    return NONE


def balanced(k1: float, k2: float, share: float) -> Switch:
    """The queue swings about the q0 at which it is marked `share` of the time; an infinite N where none is.

    With two thresholds a small swing that crosses both is marked too long: only larger ones have a mean.
    """

    def switch(x_packets: float) -> tuple[float, complex]:
        low, high = max(k1, k2) - x_packets, min(k1, k2) + x_packets

        def at(q0: float) -> tuple[float, float]:
            u1, u2 = (max(-1.0, min(1.0, (k - q0) / x_packets)) for k in (k1, k2))
            return u1, u2

        if low >= high or not marked_share(*at(low)) <= share <= marked_share(*at(high)):
            return math.nan, complex(math.inf)
        q0 = root(lambda q: marked_share(*at(q)) - share, low, high)
        return q0, describing(*at(q0))

    return switch


def unbiased(k1: float, k2: float) -> Switch:
    """Chen et al.: the queue swings about 0, and is marked only where X exceeds both thresholds."""

    def switch(x_packets: float) -> tuple[float, complex]:
        if x_packets <= max(k1, k2):
            return 0.0, 0j
        return 0.0, describing(k1 / x_packets, k2 / x_packets)

    return switch


@closed_form
def limit_cycle(
    rate_bps: int = 1_000_000_000,
    rtt_ps: int = 200_000_000,
    k1_packets: int = 20,
    k2_packets: int = 20,
    flows: int = 2,
    g: float = 0.0625,
    packet_bytes: int = 1500,
) -> dict[str, float]:
    """Swing and period of a DCTCP queue that is marked from K1 (rising) to K2 (falling).

    K1 = K2 is DCTCP, K1 < K2 DT-DCTCP, K1 > K2 plain hysteresis. Amplitudes are peak to peak, 2 X,
    null where no sinusoid fits (a relaxation of the whole queue, or none). `_without_mean` outputs leave the
    mean of the marks out, as Chen et al. do; `sawtooth_` is Alizadeh 2010 eq. (8), (9) for K = (K1 + K2) / 2.

    Source: Chen et al., ICDCS 2013 (describing functions); Alizadeh et al., SIGMETRICS 2011, eq. (1) to (3)
    """
    positive(flows=flows, g=g, k1=k1_packets, k2=k2_packets)
    pipe = bdp_packets(rate_bps, rtt_ps, packet_bytes) + (k1_packets + k2_packets) / 2  # C R
    window = pipe / flows
    share = math.sqrt(2 / window)
    if share >= 1:
        raise ValueError("the window must be above 2 packets, or marks never stop")
    plant = Plant(math.sqrt(2 * flows * pipe) / 2, window, g)
    whole = cycle(plant, balanced(k1_packets, k2_packets, share))
    if k1_packets < k2_packets:
        inside = cycle(plant, balanced(k1_packets, k1_packets, share))
        if inside.centre_packets + inside.x_packets <= k2_packets:
            whole = inside  # it never rises past K2, so that K1 is its one threshold
    without = cycle(plant, unbiased(k1_packets, k2_packets))
    return {
        "window_packets": window,
        "alpha": share,
        "amplitude_packets": 2 * whole.x_packets,
        "mean_packets": whole.centre_packets,
        "period_round_trips": whole.period,
        "amplitude_without_mean_packets": 2 * without.x_packets,
        "period_without_mean_round_trips": without.period,
        "sawtooth_amplitude_packets": plant.gain,
        "sawtooth_period_round_trips": plant.gain / flows,
    }
