"""Figures: numbers without pixels, then every kind drawn once, to equal bytes."""

import math

import numpy as np
import polars as pl
import pytest
from shallows.figures import (
    cells,
    curves,
    fct,
    flow_time,
    forest,
    goodput_time,
    network,
    queue_cdf,
    queue_time,
    relation,
    scatter,
    style,
    surface,
    time_sequence,
)
from shallows.statistics.estimates import Estimate
from synthetic import small_run, tables

RUNS = {"DCTCP": small_run(), "xDCTCP": small_run(65.0)}
GRID = pl.DataFrame({"ns": [0.1, 0.2, 0.1], "nl": [0.5, 0.5, 0.6], "us": [70.0, 71.0, 72.0]})
ROWS = {"wait": Estimate(-4.8, -5.1, -4.5, 20), "one seed": Estimate(1.0, None, None, 1), "none": None}
CLOUD = scatter.cloud([3, 2, 4, 1], [3, 2, 2, 1], {"DCTCP": 0})

LINE = np.array([0.0, 5.0, 10.0]), np.array([1.0, 3.0, 2.0])
CELLS = {(0, 1): {"a": [LINE, LINE]}, (2, 1): {"b": [LINE]}, (2, 0): {}}
MATRIX = cells.info(CELLS, (0, 10), ("columns", "rows", "time (s)", "rate"), {(0, 1): 6.0}, {(2, 1): "7"})
PANEL = relation.panel(
    {"a": {1: 2.0, 10: Estimate(3.0, 2.0, 4.0, 5), 20: None}, "b": [(1, 2.0), (1, 4.0)]},
    ("x (ms)", "y"), {"law": ([1, 2], [2, 1])}, {"level": 1.0}, {"place": 5.0}, log="x",
)  # fmt: skip

CURVES = {
    "one": curves.Panel({"a": {1: Estimate(2.0, 1.0, 3.0, 5), 10: Estimate(4.0, None, None, 1)}}, "y (ms)"),
    "log": curves.Panel({"b": {3: Estimate(5.0, 4.0, 6.0, 5)}}, "z", log=True, lines={"bound": 5.5}),
}

DRAWN = {
    "curves": lambda: curves.draw(curves.info(CURVES, "flows", log_x=True)),
    "cells": lambda: cells.draw(MATRIX),
    "relation": lambda: relation.draw({"one": PANEL, "other": PANEL}),
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


def test_a_figure_that_a_reader_draws_is_drawn():
    """`image` skips the pass that lays out. A reader's canvas has that pass alone."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure, (ax,) = style.canvas()
    ax.plot([0, 1], [0, 1])
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    assert len(set(bytes(canvas.buffer_rgba()))) > 10


def test_drawing_leaves_the_readers_settings_alone():
    import matplotlib

    before = dict(matplotlib.rcParams)
    DRAWN["fct"]()
    assert dict(matplotlib.rcParams) == before


def test_queue_cdf_reaches_one():
    packets, share = queue_cdf.info(RUNS).series["DCTCP"]
    assert packets.tolist() == [0, 40, 60, 80] and share.tolist() == [0.1, 0.5, 0.9, 1.0]


def texts(figure):
    axes = figure.axes
    return " ".join(
        [ax.get_title(loc=where) for ax in axes for where in ("left", "center")]
        + [ax.get_xlabel() for ax in axes]
    )


def test_a_figure_of_a_queue_names_its_port():
    for kind in (queue_time, queue_cdf):
        assert "port switch->r0" in texts(kind.draw(kind.info({"": small_run()})))


def test_queue_time_is_cut_to_the_window():
    time_ms, packets = queue_time.info({"": small_run()}, from_ms=2, to_ms=4).series[""]
    assert time_ms.tolist() == [2, 3, 4] and packets.tolist() == [60, 40, 50]


@pytest.mark.parametrize(("scale", "said", "first"), [(1, "time (ms)", "2"), (10_000, "time (s)", "20")])
def test_long_times_are_in_seconds(scale, said, first):
    info = queue_time.info({"": small_run()}, from_ms=2, to_ms=4)
    info.series[""] = (info.series[""][0] * scale, info.series[""][1])
    (ax,) = queue_time.draw(info).axes
    ax.set_xticks([2 * scale])
    ax.figure.canvas.draw()
    assert ax.get_xlabel() == said and ax.get_xticklabels()[0].get_text() == first


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


def test_cells_are_sorted_and_end_at_their_own_largest_value_unless_told():
    assert (MATRIX.rows, MATRIX.columns) == ([0, 2], [0, 1])
    assert MATRIX.top == {(0, 1): 6.0, (2, 1): 3.0, (2, 0): 1.0}
    with pytest.raises(ValueError, match="x must span"):
        cells.info(CELLS, (3, 3), ("", "", "", ""))


def test_a_cell_scales_its_curves_into_its_box_and_cuts_at_its_edge():
    figure = cells.draw(cells.info({(0, 0): {"a": [LINE]}}, (0, 10), ("c", "r", "x", "y"), {(0, 0): 2.0}))
    (curve,) = figure.axes[0].collections[1].get_segments()
    side = 1 - cells.GAP
    assert curve.tolist() == [[0.0, side / 2], [side / 2, side], [side, side]]


def test_a_histogram_is_an_outline_of_shares():
    x, y = cells.histogram(np.array([0, 1, 2, 9]), np.array([1.0, 1.0, 2.0, 4.0]), np.array([0, 2, 4]))
    assert x.tolist() == [0, 2, 2, 4] and y.tolist() == [0.25, 0.25, 0.25, 0.25]
    assert cells.histogram(np.array([1]), np.array([0.0]), np.array([0, 2]))[1].tolist() == [0, 0]


def test_values_below_zero_are_seen():
    """A gain that is a loss was cut off at zero."""
    panels = {
        "": curves.Panel({"a": {1: Estimate(-24.0, -27.0, -21.0, 5), 2: Estimate(6.0, 5.0, 7.0, 5)}}, "gain")
    }
    shown = {"": relation.panel({"a": [(1, -24.0), (2, 6.0)]}, ("x", "y"))}
    for figure in (curves.draw(curves.info(panels, "flows")), relation.draw(shown)):
        low, high = figure.axes[0].get_ylim()
        assert low <= -24 and high >= 6
    above = curves.draw(curves.info(CURVES, "flows")).axes[0]
    assert above.get_ylim()[0] == 0


def test_a_legend_is_no_wider_than_its_figure():
    """Long labels were cut off on both sides."""
    points = {1: Estimate(1.0, 0.5, 1.5, 5), 2: Estimate(2.0, 1.5, 2.5, 5)}
    named = {f"a sender with a long name, least window {k}": points for k in range(6)}
    shown = {title: relation.panel(named, ("x", "y")) for title in "ab"}
    for figure in (curves.draw(curves.info({"": curves.Panel(named, "y")}, "x")), relation.draw(shown)):
        figure.canvas.draw()
        box = figure.legends[0].get_window_extent()
        assert box.x0 >= 0 and box.x1 <= figure.bbox.width


def test_panels_that_share_an_axis_show_the_largest_of_all():
    """The second panel's points reach higher than the first one's."""
    shown = {name: relation.panel({"a": [(1, y)]}, ("x", "y")) for name, y in (("low", 1.0), ("high", 9.0))}
    for ax in relation.draw(shown, sharey=True).axes:
        assert ax.get_ylim()[0] == 0 and ax.get_ylim()[1] > 9


def test_a_relation_keeps_points_with_and_without_intervals():
    x, y, low, high = PANEL.series["a"]
    assert x.tolist() == [1, 10] and y.tolist() == [2, 3] and [low[1], high[1]] == [2, 4] and np.isnan(low[0])
    assert PANEL.series["b"][0].tolist() == [1, 1]
    with pytest.raises(ValueError, match='letters of "xy"'):
        relation.panel({}, ("", ""), log="z")


def test_nothing_stands_at_the_foot_of_a_logarithmic_axis():
    shown = relation.panel({"a": [(1, 0.0), (2, 5.0), (4, 7.0)]}, ("x", "y"), log="y")
    line, foot = relation.draw({"": shown}).axes[0].get_lines()
    assert np.isnan(line.get_ydata()[0]) and line.get_ydata()[1:].tolist() == [5, 7]
    assert foot.get_xdata() == [1] and foot.get_marker() == "v" and not foot.get_clip_on()


def test_a_series_of_curves_keeps_its_colour_and_the_axis_its_numbers():
    figure = curves.draw(curves.info(CURVES | {"again": CURVES["one"]}, "flows", log_x=True))
    colours = [{line.get_label(): line.get_color() for line in ax.get_lines()} for ax in figure.axes]
    assert colours[0]["a"] == colours[2]["a"] != colours[1]["b"]
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["1", "10"]
    assert not figure.axes[3].get_visible()


def test_a_network_is_layered_from_its_receiver_by_its_ports():
    ports = ["s0->switch", "switch->s0", "s1->switch", "switch->s1", "switch->r0", "r0->switch"]
    queues = pl.DataFrame(
        {
            "port": ports,
            "is_switch": [p.startswith("switch") for p in ports],
            "rate_bps": [10**9] * 4 + [10**10] * 2,
        }
    )
    found = network.info({"queues": queues})
    assert found.layers == [["r0"], ["switch"], ["s0", "s1"]] and found.switches == {"switch"}
    assert [rate for _, _, rate in found.links] == [1, 1, 10]
    assert any("10 Gb/s" in text.get_text() for text in network.draw(found).axes[0].texts)
    with pytest.raises(ValueError, match="no port leads to x"):
        network.info({"queues": queues}, sink="x")


def test_a_transport_has_one_colour_in_every_figure():
    named = {"RACS": {1.0: ROWS["wait"]}, "SDC": {1.0: ROWS["wait"]}}
    figure = curves.draw(curves.info({"": curves.Panel(named, "us")}, "flows"))
    lines = {line.get_label(): line.get_color() for line in figure.axes[0].get_lines()}
    assert lines["RACS"] == style.TRANSPORTS["RACS"] == style.colour(3, "RACS") != lines["SDC"]
    rows = forest.draw(forest.info({"": {"SDC": ROWS["wait"]}}, "us"))
    assert style.TRANSPORTS["SDC"] in [line.get_color() for line in rows.axes[0].get_lines()]


def test_time_sequence_tells_repeats_from_first_packets():
    row = {"flow": 0, "reverse": 0, "pure_ack": 0, "payload": 1000, "stamp_ps": 0, "lost": 0, "seq": 0}
    row |= {"port": "a->b", "landed_ps": 0, "time_ps": 0} | {"sack0_first": None, "sack0_beyond": None}
    ms = 10**9
    packets = [
        row | {"time_ps": 1 * ms, "lost": 1, "stamp_ps": 1},
        row | {"time_ps": 2 * ms, "seq": 1000, "stamp_ps": 2},
        row | {"time_ps": 5 * ms, "stamp_ps": 5},
        row
        | {"time_ps": 3 * ms, "landed_ps": 4 * ms, "port": "b->a", "reverse": 1, "pure_ack": 1, "payload": 0}
        | {"sack0_first": 1000, "sack0_beyond": 2000},
    ]
    frame = pl.DataFrame(packets, infer_schema_length=None)
    queues = pl.DataFrame({"port": ["a->b", "b->a"], "drops_wire": [1, 0], "drops_cut": [0, 0]})
    flows = pl.DataFrame({"id": [0], "src": ["a"], "dst": ["b"]})
    found = {"flows": flows, "packets": frame, "queues": queues}
    got = time_sequence.info(found)
    assert got.sent[0].tolist() == [1, 2] and got.sent[1].tolist() == [0, 1]
    assert (got.again[0].tolist(), got.lost[0].tolist(), got.acked[0].tolist()) == ([5], [1], [4])
    assert [each.tolist() for each in got.sacked] == [[4], [1], [2]]
    assert time_sequence.info(found, from_ms=3).sent[0].tolist() == []
    assert style.image(time_sequence.draw(got)) == style.image(time_sequence.draw(got))
    with pytest.raises(ValueError, match="set probe"):
        time_sequence.info(found, flow=1)
