"""Common functions of the figures of document 003: rates by batches, ratios, and which cells count."""

import importlib

import numpy as np
import polars as pl
import pytest
from shallows.studies.paper.study import find

figure = next(f for f in find("dctth") if f.name == "grid-dualq")
common = importlib.import_module(figure.module.__name__.rsplit(".", 2)[0] + ".common")

S = 10**12


def run(cubic_bps, dctcp_bps, end_s=100, warmup_s=10):
    """Two flows with rates that are functions of time, traced each second; flow 1 starts at 3 s."""
    rows = []
    for flow, rate, start in ((0, cubic_bps, 0), (1, dctcp_bps, 3)):
        times = np.arange(start + 1, end_s + 1)
        total = np.cumsum([rate(t) / 8 for t in times]).astype(int)
        rows += [
            {"time_ps": int(t) * S, "flow": flow, "delivered_bytes": int(b)}
            for t, b in zip(times, total, strict=True)
        ]
    return {
        "flow_trace": pl.DataFrame(rows),
        "flows": pl.DataFrame({"id": [0, 1], "class": ["cubic", "dctcp"]}),
        "queues": pl.DataFrame({"over_ps": [(end_s - warmup_s) * S]}),
    }


def test_goodput_over_time_is_that_of_each_flow():
    ((time_s, mbps),) = common.goodput_curves(run(lambda t: 8e6, lambda t: 16e6), "dctcp", 5)
    assert time_s[:2].tolist() == [10, 15] and mbps == pytest.approx(np.full(19, 16.0))


def test_batches_part_the_time_after_the_warmup():
    rates = common.batch_mbps(
        run(lambda t: 1e6 if t <= 10 else 8e6 if t <= 20 else 4e6, lambda t: 0), "cubic"
    )
    assert rates == pytest.approx([8.0] + [4.0] * 8)


def test_the_ratio_is_taken_in_each_batch_and_needs_both_kinds():
    tables = run(lambda t: 8e6, lambda t: 4e6)
    assert common.ratios(tables).tolist() == pytest.approx([2.0] * common.BATCHES)
    alone = tables | {"flows": tables["flows"].filter(pl.col("class") == "cubic")}
    assert common.ratios(alone) is None


def row(cubic, dctcp, low, high):
    ends = {"ratio": (low + high) / 2, "ratio_low": low, "ratio_high": high}
    return {"cubic": cubic, "dctcp": dctcp, "flows": cubic + dctcp} | ends


def test_all_within_is_decided_by_the_intervals():
    inside, across, outside = row(1, 1, 0.9, 1.1), row(2, 1, 1.9, 2.1), row(1, 2, 2.1, 2.3)
    assert common.all_within(pl.DataFrame([inside])).value is True
    assert common.all_within(pl.DataFrame([inside, across])).value is None
    found = common.all_within(pl.DataFrame([inside, across, outside]))
    assert found.value is False and "farthest from 1 with 1 Cubic and 2 DCTCP" in found.note


def test_the_floor_parts_the_cells_at_thirteen_flows():
    cells = pl.DataFrame([row(n, m, 1, 1) for n in range(11) for m in range(11) if n + m])
    assert common.above_floor(cells)["flows"].max() == 13
    assert common.above_floor(cells, 4)["flows"].max() == 6
    assert len(common.mixed(cells)) == 100


def test_at_the_floor_cubic_gets_what_is_left():
    windows, ratios = common.floor_line()
    assert windows[0] == pytest.approx(common.BDP_PACKETS / 14)
    assert ratios[-1] == pytest.approx((common.BDP_PACKETS - 20) / 10 / 2)
