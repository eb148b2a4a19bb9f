"""Measures at instants, against traces whose rates and losses are known by hand."""

import polars as pl
import pytest
from shallows.assess.measures import measure

S = 10**12


@pytest.fixture(scope="module")
def tables():
    """A class at 8 Mb/s until 10 s, at 0 until 14 s, then at 4 Mb/s; a port that drops in one second."""
    times = list(range(21))
    arrived = [1_000_000 * min(t, 10) + 500_000 * max(0, t - 14) for t in times]
    flow_trace = pl.DataFrame({"time_ps": [t * S for t in times], "flow": 0, "arrived_bytes": arrived})
    drops = [50 if t == 12 else 0 for t in times[1:]]
    ports = {"time_ps": [t * S for t in times[1:]], "port": "a->b", "class": "x", "packets_in": 100}
    return {
        "flows": pl.DataFrame({"id": [0], "class": ["x"]}),
        "flow_trace": flow_trace,
        "port_trace": pl.DataFrame(ports | {"drops": drops}),
    }


def test_rates(tables):
    windows = {"kind": "least_rate", "classes": "x", "from_s": 0, "window_s": 5}
    assert measure(windows | {"until_s": 10}, tables) == 8e6
    assert measure(windows | {"until_s": 20}, tables) == pytest.approx(0.8e6)


def test_recovery_ends_with_the_first_window_that_reaches_the_rate(tables):
    wanted = {"kind": "recovery", "classes": "x", "at_s": 12, "until_s": 20, "window_s": 1}
    assert measure(wanted | {"bps": 4e6}, tables) == 3
    assert measure(wanted | {"bps": 2e6}, tables) == 2.5
    assert measure(wanted | {"bps": 9e6}, tables) == 8, "the bound of what never comes"


def test_packets_and_losses_at_a_port(tables):
    at = {"port": "a->b", "classes": "x", "from_s": 10, "until_s": 20}
    assert measure({"kind": "packets", **at}, tables) == 100
    assert measure({"kind": "worst_loss", "window_s": 5, **at}, tables) == 0.1
    assert measure({"kind": "worst_loss", "window_s": 1, **at}, tables) == 0.5


def test_without_its_trace_a_measure_has_no_value(tables):
    bare = tables | {"flow_trace": tables["flow_trace"].clear(), "port_trace": tables["port_trace"].clear()}
    rates = {"kind": "least_rate", "classes": "x", "from_s": 0, "until_s": 1, "window_s": 1}
    assert measure(rates, bare) is None
    at = {"kind": "packets", "port": "a->b", "classes": "x", "from_s": 0, "until_s": 1}
    assert measure(at, bare) is None


def test_reductions_of_a_class_over_those_of_another():
    flows = pl.DataFrame({"id": [0, 1, 2], "class": ["x", "x", "y"], "ecn_reductions": [3, 5, 4]})
    wanted = {"kind": "reductions", "classes": "x", "beside": "y"}
    assert measure(wanted, {"flows": flows}) == 2
    assert measure(wanted, {"flows": flows.with_columns(ecn_reductions=pl.lit(0))}) == 0
