"""Long-run rates: published constants and tables, limits, and the round process followed step by step."""

import math

import numpy as np
import pytest
from shallows import theory
from shallows.theory import rounds
from shallows.theory.steady_state import (
    coupling,
    cubic_rate,
    dctcp_rate,
    on_and_off,
    prague_rate,
    reno_rate,
)

CASES = [(0.01, 1.0, 0.5), (0.05, 1.0, 0.975), (0.01, 0.5, 0.7), (0.002, 1.0, 0.5), (0.2, 1.0, 0.9)]


@pytest.mark.parametrize("grows", [False, True])
@pytest.mark.parametrize(("p", "step", "beta"), CASES)
def test_independent_marks_follow_the_rounds(p, step, beta, grows):
    random = np.random.default_rng(7).random(200_000)
    window, sent, halves = 10.0, 0.0, []
    for number, chance in enumerate(random):
        sent += window
        if chance > (1 - p) ** window:
            window = beta * window + (step if grows else 0.0)
        else:
            window += step
        if number % 2000 == 1999:
            halves.append(sent / 2000)
            sent = 0.0
    error = np.std(halves) / math.sqrt(len(halves))
    found = rounds.independent(p, step, beta, grows)
    assert abs(found - np.mean(halves)) < 4 * error + 0.005 * found  # the grid is a quarter step


@pytest.mark.parametrize("grows", [False, True])
@pytest.mark.parametrize(("p", "step", "beta"), CASES)
def test_periodic_marks_send_one_over_p_a_period(p, step, beta, grows):
    mean = rounds.periodic(p, step, beta, grows)
    top = (2 * mean - (step if grows else 0)) / (1 + beta)
    count = (1 - beta) * top / step + (0 if grows else 1)
    assert count * mean == pytest.approx(1 / p)


@pytest.mark.parametrize(("per_ack", "periodic", "by_chance"), [(1, 1.22, 1.31), (2, 0.87, 0.93)])
def test_reno_has_the_constants_of_mathis(per_ack, periodic, by_chance):
    got = reno_rate(p=1e-4, per_ack=per_ack)
    assert got["periodic_limit_packets"] / 100 == pytest.approx(periodic, abs=0.006)
    assert got["independent_limit_packets"] / 100 == pytest.approx(by_chance, abs=0.006)
    for limit, rounded in [("periodic_limit", "periodic"), ("independent_limit", "independent")]:
        assert got[f"{rounded}_packets"] == pytest.approx(got[f"{limit}_packets"], rel=0.02)
    assert got["slides_bps"] == pytest.approx(1.22e2 * 1448 * 8 / 0.04)


def test_the_ideal_tcp_constant():
    assert rounds.independent_limit(1.0 - 1e-12, 1.0, 0.5) == pytest.approx(1.3098, abs=5e-5)


@pytest.mark.parametrize(("loss", "window"), [(1e-4, 187), (1e-5, 1054), (1e-7, 33325), (1e-8, 187400)])
def test_cubic_has_the_windows_of_rfc_8312(loss, window):
    assert cubic_rate(p=loss, rtt_ps=10**11)["cubic_packets"] == pytest.approx(
        window, abs=0.5, rel=1e-4
    )  # table 1


def test_the_slides_cubic_is_that_of_2008():
    got = cubic_rate(beta=0.8)
    assert got["cubic_packets"] == pytest.approx(got["slides_packets"], rel=0.005)
    assert cubic_rate()["cubic_packets"] == pytest.approx(1.054 * (0.04 / 0.01) ** 0.75, rel=1e-3)


def test_friendly_cubic_sends_as_reno_does_with_periodic_marks():
    # RFC 8312 section 4.2: 3 (1 - beta) / (1 + beta) is chosen so.
    for beta in (0.5, 0.7, 0.8):
        got = cubic_rate(p=0.01, beta=beta)
        assert got["friendly_periodic_limit_packets"] == pytest.approx(math.sqrt(150))
    assert got["window_packets"] == got["friendly_periodic_packets"]
    assert cubic_rate(p=1e-8, rtt_ps=10**11)["window_packets"] == pytest.approx(187400, rel=1e-3)


def test_dctcp_by_steps_and_by_probability():
    for p in (0.02, 0.05, 0.1):
        frozen, growing = dctcp_rate(p), dctcp_rate(p, grows=1)
        assert growing["slides_step_packets"] == pytest.approx(2 / p**2)
        assert on_and_off(p, 1.0, 1e-6, grows=True) == pytest.approx(2 / p**2, rel=p)
        assert growing["step_packets"] < 0.85 * growing["slides_step_packets"]  # g = 1/16 is not small
        assert growing["spread_packets"] == pytest.approx(growing["slides_probabilistic_packets"])
        # With chance marks a round without one adds its step unpunished: x (1 - exp(-x)) = 2, x = 2.24.
        assert growing["independent_packets"] * p == pytest.approx(2.24, rel=0.02)
        # Linux grows in no marked round: x (1 - exp(-x)) = 2 exp(-x), x = 1.06.
        assert frozen["independent_packets"] * p == pytest.approx(1.06, rel=0.04)
        assert frozen["spread_packets"] * p == pytest.approx(math.sqrt(3) - 1)


@pytest.mark.parametrize("gain", [1 / 4, 1 / 16, 1 / 256])
@pytest.mark.parametrize("level", [30.0, 200.0, 800.0])
def test_a_step_of_dctcp_followed_round_by_round(level, gain):
    alpha, window, sent, marked = 0.1, level, [], []
    for _ in range(60_000):
        hit = window >= level
        sent.append(window)
        marked.append(window * hit)
        alpha += gain * (hit - alpha)
        window = window * (1 - alpha / 2) if hit else window + 1
    settled = slice(20_000, None)
    share = sum(marked[settled]) / sum(sent[settled])
    mean = sum(sent[settled]) / 40_000
    # The window at the cut lies up to a step above the level.
    assert on_and_off(share, 1.0, gain, grows=False) == pytest.approx(mean, rel=0.02, abs=1)


def test_prague_sends_alike_whatever_the_round_trip():
    rates = [prague_rate(rtt_ps=rtt)["independent_bps"] for rtt in (10**9, 10**10, 25 * 10**9)]
    assert rates == pytest.approx([rates[0]] * 3)
    assert prague_rate(rtt_ps=10**11)["independent_bps"] == dctcp_rate(rtt_ps=10**11)["independent_bps"]


def test_coupling_as_in_the_slides_and_rfc_9332():
    got = coupling()
    assert got["p_classic"] == pytest.approx((0.2 / 8) ** 2)
    assert got["slides_ratio"] == pytest.approx(1, abs=0.03)  # k = 8 for 8 ms and 40 ms
    assert got["slides_k_of_equal_rates"] == pytest.approx(1.64 * 5, abs=0.03)
    alone = coupling(rtt_classic_ps=10**10, rtt_scalable_ps=10**10)
    assert alone["slides_k_of_equal_rates"] == pytest.approx(1.64, abs=0.005)  # RFC 9332 eq. (7)
    assert coupling(k=got["derived_k_of_equal_rates"])["derived_ratio"] == pytest.approx(1, abs=0.01)


def test_what_has_no_steady_state_is_refused():
    for name, assignment in [("reno-rate", "p=0"), ("dctcp-rate", "p=1"), ("cubic-rate", "beta=1")]:
        with pytest.raises(theory.registry.SpecError):
            theory.evaluate(name, [assignment])
