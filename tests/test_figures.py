"""Figures: numbers without pixels, then every kind drawn once, to equal bytes."""

import math

import numpy as np
import polars as pl
import pytest
from shallows.figures import (
    fct,
    flow_time,
    forest,
    goodput_time,
    queue_cdf,
    queue_time,
    scatter,
    style,
    surface,
)
from shallows.stats import Estimate
from synthetic import small_run, tables

RUNS = {"DCTCP": small_run(), "xDCTCP": small_run(65.0)}
GRID = pl.DataFrame({"ns": [0.1, 0.2, 0.1], "nl": [0.5, 0.5, 0.6], "us": [70.0, 71.0, 72.0]})
ROWS = {"wait": Estimate(-4.8, -5.1, -4.5, 20), "one seed": Estimate(1.0, None, None, 1), "none": None}
CLOUD = scatter.cloud([3, 2, 4, 1], [3, 2, 2, 1], {"DCTCP": 0})

DRAWN = {
    "queue_time": lambda: queue_time.draw(queue_time.info(RUNS, lines={"K": 65})),
    "queue_cdf": lambda: queue_cdf.draw(queue_cdf.info(RUNS)),
    "flow_time": lambda: flow_time.draw(flow_time.info(RUNS["DCTCP"])),
    "goodput_time": lambda: goodput_time.draw(goodput_time.info(RUNS["DCTCP"])),
    "arrivals": lambda: goodput_time.draw(goodput_time.arrivals(RUNS["DCTCP"])),
    "fct": lambda: fct.draw(fct.info(RUNS)),
    "scatter": lambda: scatter.draw(scatter.info({"a": CLOUD, "b": CLOUD}, "delay (us)", "rate (Mbit/s)")),
    "surface": lambda: surface.draw(surface.info({"a": GRID}, "ns", "nl", "us", ("ns", "nl", "us"))),
    "forest": lambda: forest.draw(forest.info({"a": ROWS, "b": ROWS}, "change (us)"), published=[1, None, 2]),
}


@pytest.mark.parametrize("kind", DRAWN)
def test_equal_figures_have_equal_bytes_and_labelled_axes(kind):
    figure = DRAWN[kind]()
    assert style.image(figure) == style.image(DRAWN[kind]())
    assert b"<svg" in style.image(figure)
    plots = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
    assert (
        all(ax.get_xlabel() for ax in plots[-1:]) and any(ax.get_ylabel() for ax in plots)
    ) or kind == "forest"


def test_images_carry_no_date(tmp_path):
    figure = DRAWN["queue_cdf"]()
    for suffix in (".png", ".pdf", ".svg"):
        assert style.save(figure, tmp_path / f"a{suffix}").read_bytes() == style.image(figure, suffix)
    assert b"Date" not in style.image(figure, ".pdf") and b"dc:date" not in style.image(figure)
    with pytest.raises(ValueError, match=r"\.svg, \.pdf, \.png"):
        style.image(figure, ".bmp")


def test_drawing_leaves_the_readers_settings_alone():
    import matplotlib

    before = dict(matplotlib.rcParams)
    DRAWN["fct"]()
    assert dict(matplotlib.rcParams) == before


def test_queue_cdf_reaches_one():
    packets, share = queue_cdf.info(RUNS).series["DCTCP"]
    assert packets.tolist() == [0, 40, 60, 80] and share.tolist() == [0.1, 0.5, 0.9, 1.0]


def test_queue_time_is_cut_to_the_window():
    time_ms, packets = queue_time.info({"": small_run()}, from_ms=2, to_ms=4).series[""]
    assert time_ms.tolist() == [2, 3, 4] and packets.tolist() == [60, 40, 50]


def test_goodput_of_a_flow_and_arrivals_of_a_class():
    time_ms, gbps = goodput_time.info(small_run()).series["flow 0"]
    assert time_ms.tolist() == list(range(1, 9)) and gbps == pytest.approx([3.0] * 8)
    _, gbps = goodput_time.arrivals(small_run()).series["long"]
    assert gbps == pytest.approx([0.36] * 9)


def test_flow_time_takes_the_first_flow_of_each_class():
    panels = flow_time.info(small_run()).panels
    assert list(panels["alpha"]) == ["long, flow 0", "short, flow 2"]
    assert panels["cwnd_bytes"]["long, flow 0"][1][:2].tolist() == [60.0, 61.5]


def test_fct_by_size():
    got = fct.info({"DCTCP": small_run()}, quantile="p50")
    assert got.times_us["DCTCP"].tolist() == [100, 400, 600]
    assert got.bins == ["≤ 10 KB", "≤ 1 MB"] and got.slowdown["DCTCP"] == [2.0, 10.0]
    assert fct.info({"a": small_run()}, classes=["none"]).bins == []


def test_surface_refuses_two_values_of_a_point():
    got = surface.info({"a": GRID}, "ns", "nl", "us", ("", "", ""))
    assert got.panels["a"][0].tolist() == [70, 71] and math.isnan(got.panels["a"][1, 1])
    with pytest.raises(ValueError, match=r"two values at ns = 0\.1"):
        surface.info({"a": pl.concat([GRID, GRID])}, "ns", "nl", "us", ("", "", ""))


def test_pareto_front_of_a_cloud():
    assert CLOUD.front.tolist() == [3, 1, 0] and isinstance(CLOUD.cost, np.ndarray)


@pytest.mark.parametrize(
    "make",
    [
        lambda: queue_time.info({"a": tables()}),
        lambda: queue_cdf.info({"a": tables()}),
        lambda: flow_time.info(small_run(), flows=[1]),
    ],
)
def test_a_trace_that_was_not_recorded_is_named(make):
    with pytest.raises(ValueError, match=r"no (queue|trace)"):
        make()
