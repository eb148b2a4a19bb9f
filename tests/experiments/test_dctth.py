"""Common functions of the figures of document 003: rates by batches, ratios, and which cells count."""

import importlib

import polars as pl
import pytest
from shallows.studies.paper.study import find
from synthetic import traced_run as run

figure = next(f for f in find("dctth") if f.name == "grid-dualq")
common = importlib.import_module(figure.module.__name__.rsplit(".", 2)[0] + ".common")


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
