"""Goodput over time from traces: of each flow, together, and by batches of one run."""

import numpy as np
import polars as pl
import pytest
from shallows.tables.goodput import batch_mbps, delivered, goodput_curves, total_gbps
from synthetic import traced_run as run


def test_goodput_over_time_is_that_of_each_flow():
    ((time_s, mbps),) = goodput_curves(run(lambda t: 8e6, lambda t: 16e6), "dctcp", 5)
    assert time_s[:2].tolist() == [10, 15] and mbps == pytest.approx(np.full(19, 16.0))


def test_batches_part_the_time_after_the_warmup():
    rates = batch_mbps(run(lambda t: 1e6 if t <= 10 else 8e6 if t <= 20 else 4e6, lambda t: 0), "cubic")
    assert rates == pytest.approx([8.0] + [4.0] * 8)


def test_a_flow_is_followed_from_its_start_at_the_multiples_of_the_step():
    ((seconds, data),) = delivered(run(lambda t: 8e6, lambda t: 16e6, end_s=9), "dctcp", 2)
    assert seconds.tolist() == [4, 6, 8] and data.tolist() == [2e6, 6e6, 10e6]
    assert delivered(run(lambda t: 8e6, lambda t: 16e6), "none", 2) == []


def test_a_class_without_flows_has_no_batches():
    assert batch_mbps(run(lambda t: 8e6, lambda t: 16e6), "none") is None


def test_the_number_of_batches_is_a_choice():
    rates = batch_mbps(run(lambda t: 8e6, lambda t: 0), "cubic", batches=3)
    assert rates == pytest.approx([8.0] * 3)


def test_flows_together_by_class_by_load_and_by_step():
    tables = run(lambda t: 8e9, lambda t: 16e9, end_s=9)
    tables["flows"] = tables["flows"].with_columns(traffic=pl.Series(["a", "b"]))
    ends, gbps = total_gbps(tables, traffic="b")
    assert ends.tolist() == [5e6, 6e6, 7e6, 8e6, 9e6] and gbps == pytest.approx([16.0] * 5)
    assert total_gbps(tables, ["cubic"])[1] == pytest.approx([8.0] * 8)
    assert total_gbps(tables, traffic="b", step_us=3e6)[0].tolist() == [9e6]
    ends, gbps = total_gbps(tables)
    assert gbps[-1] == pytest.approx(24.0) and len(gbps) == 8
