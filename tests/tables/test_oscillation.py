"""Swings of queues whose cycles are known."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shallows.studies.paper.study import find
from shallows.tables.oscillation import oscillation, queue_steps


def saw(cycles, low, high, noise=0):
    """A sawtooth that rises by one packet a microsecond and falls at once; each step may flicker."""
    rise = np.arange(low, high + 1, dtype=float)
    levels = np.tile(rise, cycles)
    times = np.arange(len(levels), dtype=float) * 1e6
    if noise:
        levels = np.repeat(levels, 2)
        levels[1::2] += noise
        times = np.repeat(times, 2)
        times[1::2] += 0.1e6
    return times, levels


@given(st.integers(4, 30), st.integers(0, 50), st.integers(10, 60))
def test_a_sawtooth_has_its_swing_and_its_period(cycles, low, swing):
    got = oscillation(*saw(cycles, low, low + swing))
    assert got.amplitude_packets == swing and got.period_ps == pytest.approx((swing + 1) * 1e6)
    assert got.cycles == cycles - 2 or got.cycles == cycles - 1
    assert got.mean_packets == pytest.approx(low + swing / 2, abs=swing / 2 / cycles + 0.5)
    uniform = np.sqrt(((swing + 1) ** 2 - 1) / 12)  # of a uniform law over swing + 1 values
    assert got.sd_packets == pytest.approx(uniform, rel=0.05)


def test_single_arrivals_and_departures_are_no_cycles():
    clean, rough = oscillation(*saw(10, 0, 40)), oscillation(*saw(10, 0, 40, noise=1))
    assert rough.cycles == clean.cycles and rough.amplitude_packets == 41


def test_a_queue_that_stands_or_swings_once_has_no_cycle():
    still = oscillation(np.array([0.0, 5.0, 9.0]), np.array([7.0, 7.0, 7.0]))
    assert still.sd_packets == 0 and still.amplitude_packets is None and still.cycles == 0
    once = oscillation(*saw(2, 0, 10))
    assert once.amplitude_packets is None and once.period_ps is None


def test_a_claim_about_periods_is_undecided_where_a_run_has_none():
    [figure] = find("dctcp-and-queues/fig1")
    start = figure.module.WARMUP_PS["document"]

    def run(cycles):
        times, packets = saw(cycles, 0, 40)
        rows = {"time_ps": times + start, "port": figure.module.PORT, "packets": packets}
        return SimpleNamespace(tables={"queue_trace": pl.DataFrame(rows)})

    def periods(*cycles):
        runs = SimpleNamespace(where=lambda spec, title: [run(each) for each in cycles])
        return figure.module.periods(runs, "document")

    assert periods(9, 9) == pytest.approx([41e-3, 41e-3]) and periods(9, 2) == []
    assert figure.module.longer(periods(9, 9), [0.03, 0.031]).value is True
    assert figure.module.longer(periods(9, 9), periods(2, 9)).value is None


def test_times_weigh_the_levels():
    got = oscillation(np.array([0.0, 9.0, 10.0]), np.array([0.0, 10.0, 0.0]))
    assert got.mean_packets == 1 and got.sd_packets == 3


def test_a_trace_gives_its_port_from_an_instant_on():
    rows = [(0, "a", 5), (10, "a", 6), (10, "b", 1), (20, "a", 7)]
    trace = pl.DataFrame(rows, schema=["time_ps", "port", "packets"], orient="row")
    times, packets = queue_steps(trace, "a", 10)
    assert times.tolist() == [10, 20] and packets.tolist() == [6, 7]
    with pytest.raises(ValueError, match="no queue trace of c"):
        queue_steps(trace, "c")
