"""The describing-function limit cycle, against integrals, its own equations, and the linearised model."""

import cmath
import math

import numpy as np
import pytest
from shallows.theory import evaluate
from shallows.theory.limit_cycle import (
    NONE,
    Plant,
    balanced,
    cycle,
    describing,
    limit_cycle,
    marked_share,
    unbiased,
)


@pytest.mark.parametrize(("u1", "u2"), [(0.0, 0.0), (0.4, 0.4), (0.2, 0.7), (0.7, 0.2), (-0.3, 0.5)])
def test_the_describing_function_is_the_first_fourier_coefficient(u1, u2):
    t = (np.arange(200_000) + 0.5) * 2 * np.pi / 200_000 - np.pi / 2
    marked = (t >= math.asin(u1)) & (t <= math.pi - math.asin(u2))
    # The fundamental of the marks over that of the queue, sin t.
    wave = complex(2 * np.mean(marked * np.sin(t)), 2 * np.mean(marked * np.cos(t)))
    assert describing(u1, u2) == pytest.approx(wave, abs=1e-4)
    assert marked_share(u1, u2) == pytest.approx(np.mean(marked), abs=1e-4)


def test_one_threshold_is_the_published_form():
    k, x = 40.0, 65.0  # Chen et al. 2013: N = 2 / (pi X) sqrt(1 - (K / X)^2)
    assert describing(k / x, k / x) / x == pytest.approx(2 / (math.pi * x) * math.sqrt(1 - (k / x) ** 2))


def linearised(s, flows, rate, rtt, g):
    """q / p by solving the linearised fluid equations as they stand; rate in packets a second."""
    w0 = rate * rtt / flows
    a0 = math.sqrt(2 / w0)
    p = cmath.exp(-s * rtt)
    a = g / rtt * p / (s + g / rtt)
    w = (-w0 / (2 * rtt) * (a + p) * a0) / (s + a0 * a0 / (2 * rtt))
    return flows / rtt * w / (s + 1 / rtt)  # q' = N W / R - C with R = d + q / C


@pytest.mark.parametrize("x", [0.05, 0.3, 1.0, 4.0])
def test_the_plant_is_the_linearised_fluid_model(x):
    flows, rate, rtt, g = 3, 1e6, 150e-6, 0.0625
    plant = Plant(math.sqrt(2 * flows * rate * rtt) / 2, rate * rtt / flows, g)
    direct = -linearised(1j * x / rtt, flows, rate, rtt, g)
    assert plant.size(x) == pytest.approx(abs(direct))
    assert cmath.exp(-1j * plant.lag(x)) == pytest.approx(direct / abs(direct))
    assert plant.crossing(plant.lag(x)) == pytest.approx(x)


PLANT = Plant(gain=60.0, window=40.0, g=0.0625)


@pytest.mark.parametrize(("k1", "k2"), [(65, 65), (60, 62)])
def test_a_cycle_closes_the_loop_with_the_right_mean(k1, k2):
    share = math.sqrt(2 / PLANT.window)
    x_packets, q0, period = cycle(PLANT, balanced(k1, k2, share))
    u1, u2 = (k1 - q0) / x_packets, (k2 - q0) / x_packets
    assert marked_share(u1, u2) == pytest.approx(share)
    x = 2 * math.pi / period
    loop = describing(u1, u2) / x_packets * PLANT.size(x) * cmath.exp(-1j * PLANT.lag(x))
    assert loop == pytest.approx(-1, abs=1e-6)


def test_without_the_mean_a_cycle_needs_a_gain_of_pi_k():
    x = PLANT.crossing(math.pi)
    assert cycle(PLANT, unbiased(65, 65)) == NONE
    strong = Plant(gain=1.01 * math.pi * 10 / PLANT.size(x) * PLANT.gain, window=40.0, g=0.0625)
    weak = strong._replace(gain=strong.gain / 1.03)
    # X^4 - (2 G / pi)^2 (X^2 - K^2) = 0 has a real root from G = pi K on; it is sqrt(2) K there.
    assert cycle(strong, unbiased(10, 10)).x_packets == pytest.approx(math.sqrt(2) * 10, rel=0.2)
    assert cycle(weak, unbiased(10, 10)) == NONE


def test_early_release_swings_less_and_faster_than_one_threshold_and_hysteresis_more():
    share, k = math.sqrt(2 / PLANT.window), 60
    early, single, late = (cycle(PLANT, balanced(k - d, k + d, share)) for d in (1, 0, -1))
    assert early.x_packets < single.x_packets < late.x_packets
    assert early.period < single.period < late.period


def test_a_queue_that_stays_below_the_upper_threshold_knows_the_lower_one_only():
    wide = limit_cycle(k1_packets=20, k2_packets=60)
    assert wide["mean_packets"] + wide["amplitude_packets"] / 2 < 60
    assert wide["mean_packets"] < 20


def test_where_no_sinusoid_fits_there_is_null():
    got = evaluate("limit-cycle", ["rate=10Gbps", "rtt=100us", "k1=80", "k2=50", "flows=5"])["outputs"]
    assert got["amplitude_packets"] is None and got["sawtooth_amplitude_packets"] > 0
