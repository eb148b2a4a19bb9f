"""The AIMD model of Munir 2012, section 3.4: its example exactly, its equations against each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shallows.theory import aimd
from shallows.theory.aimd import Parameters

A, B, C = Parameters(0.7, 0.9), Parameters(0.6, 0.8), Parameters(0.5, 0.5)
FLOWS = st.lists(st.tuples(st.floats(0.05, 5), st.floats(0.05, 0.95)), min_size=1, max_size=12)


def test_the_example_of_a_thousand_packets():
    """Section 3.4.4: alpha' = 0.9 alpha_C + 0.05 alpha_B + 0.05 alpha_A, and so for beta."""
    got = aimd.effective([A, B, C], [50, 100], 1000)
    assert got.alpha == pytest.approx(0.9 * 0.5 + 0.05 * 0.6 + 0.05 * 0.7, abs=1e-15)
    assert got.beta == pytest.approx(0.9 * 0.5 + 0.05 * 0.8 + 0.05 * 0.9, abs=1e-15)
    weights = [aimd.effective([Parameters(float(i == j), 0.5) for j in range(3)], [50, 100], 1000).alpha
               for i in range(3)]  # fmt: skip
    assert weights == [0.05, 0.05, 0.9]


def test_a_flow_within_the_first_class_keeps_its_parameters():
    assert aimd.effective([A, B, C], [50, 100], 50) == pytest.approx(A)
    half = aimd.effective([A, B, C], [50, 100], 100)
    assert half == pytest.approx(((A.alpha + B.alpha) / 2, (A.beta + B.beta) / 2))
    with pytest.raises(ValueError, match="rising thresholds"):
        aimd.effective([A, B, C], [100, 50], 10)


@given(FLOWS, st.floats(1, 5000))
def test_the_fixed_point_stays_and_draws_everything_to_it(flows, pipe):
    alphas, betas = zip(*flows, strict=True)
    stays, step = aimd.fixed_point(alphas, betas, pipe), aimd.transition(alphas, betas)
    assert stays.sum() == pytest.approx(pipe + sum(alphas))  # eq. (3.5)
    assert step @ stays == pytest.approx(stays)  # eq. (3.7)
    assert step.sum(axis=0) == pytest.approx(1)  # a backoff and the growth after it keep the sum
    start = np.zeros(len(flows))
    start[0] = stays.sum()
    assert np.linalg.matrix_power(step, 2000) @ start == pytest.approx(stays, rel=1e-6)


@given(FLOWS, st.floats(1, 5000))
def test_throughputs_stand_in_the_ratio_of_the_gain(flows, pipe):
    alphas, betas = zip(*flows, strict=True)
    each = aimd.throughputs(alphas, betas, pipe, 300e-6)
    first, last = Parameters(*flows[0]), Parameters(*flows[-1])
    assert each[0] / each[-1] == pytest.approx(aimd.gain(first, last))


def test_parameters_for_a_gain():
    for wanted in (1, 2, 10, 100):
        found = aimd.for_gain(wanted, C, alpha=0.5)
        assert aimd.gain(found, C) == pytest.approx(wanted)
    assert aimd.for_gain(1, C, alpha=0.5) == pytest.approx(C)
    assert aimd.for_gain(2, C, alpha=0.5).beta == pytest.approx(5 / 7)
    with pytest.raises(ValueError, match="no beta"):
        aimd.for_gain(0.1, C, alpha=0.5)


def test_equal_flows_share_equally_and_fill_three_quarters():
    got = aimd.aimd(flows_1=2, flows_2=3)
    assert got["pipe_packets"] == 25 and got["gain"] == 1
    assert got["window_max_1_packets"] == pytest.approx((25 + 5) / 5)
    assert got["throughput_total_bps"] == pytest.approx(0.75 * 1e9 * 30 / 25)
    with pytest.raises(ValueError, match="beta"):
        aimd.aimd(beta_1=1.0)
