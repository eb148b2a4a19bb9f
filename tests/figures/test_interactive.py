"""Figures that carry their numbers: the numbers drawn, and figures that stay images."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest
from shallows.figures import forest, interactive, network, queue_cdf, style, surface
from test_figures import DRAWN, GRID, ROWS, RUNS


def numbers(svg):
    found = [e for e in ElementTree.fromstring(svg).iter() if e.get("id") == "shallows"]
    return json.loads(found[0].text) if found else None


@pytest.mark.parametrize("kind", DRAWN)
def test_every_kind_of_figure_carries_its_numbers_and_equal_bytes(kind):
    svg = interactive.picture(DRAWN[kind]())
    assert svg == interactive.picture(DRAWN[kind]())
    found = numbers(svg)
    assert found["panels"] and any(one["rows"] for panel in found["panels"] for one in panel["series"])
    for panel in found["panels"]:
        x, y, width, height = panel["box"]
        assert x >= 0 and x + width <= 1.001 and y >= 0 and y + height <= 1.001


def test_the_numbers_are_those_that_the_figure_was_drawn_from():
    [panel] = numbers(interactive.picture(queue_cdf.draw(queue_cdf.info(RUNS))))["panels"]
    packets, share = queue_cdf.info(RUNS).series["DCTCP"]
    one = next(one for one in panel["series"] if one["name"] == "DCTCP")
    assert one["rows"] == [list(row) for row in zip(packets.tolist(), share.tolist(), strict=True)]
    assert one["step"] == "end" and panel["x"]["label"] == "queue of port switch->r0 (packets)"


def test_whiskers_belong_to_their_series_and_rows_keep_their_names():
    svg = interactive.picture(forest.draw(forest.info({"a": ROWS, "b": ROWS}, "change (us)")))
    [panel] = numbers(svg)["panels"]
    assert [word for _, word in panel["y"]["ticks"]] == ["wait", "one seed"]
    assert panel["y"]["limits"] == [1.5, -0.5], "the first row is on top"
    whiskers = [one for one in panel["series"] if one["name"] == "a" and not one["marker"]]
    assert [row[0] for row in whiskers[0]["rows"]] == [-5.1, -4.5]


def test_a_heat_map_has_a_cell_for_each_number():
    [panel] = numbers(
        interactive.picture(surface.draw(surface.info({"a": GRID}, "ns", "nl", "us", ("ns", "nl", "us"))))
    )["panels"]
    [cells] = panel["series"]
    assert sorted(row[4] for row in cells["rows"]) == [70, 71, 72] and cells["value"] == "us"
    assert [note["text"] for note in panel["notes"]] == ["70.0", "71.0", "72.0"]


def test_a_long_series_keeps_its_extremes():
    figure, (ax,) = style.canvas()
    y = np.zeros(100_000)
    y[54_321], y[12_345] = 7.0, -3.0
    ax.plot(np.arange(100_000), y)
    [panel] = numbers(interactive.picture(figure))["panels"]
    [one] = panel["series"]
    assert len(one["rows"]) <= interactive.MOST_POINTS
    assert [54_321, 7] in one["rows"] and [12_345, -3] in one["rows"]


def test_titles_are_text_and_a_drawing_without_axes_stays_an_image():
    figure, (ax,) = style.canvas()
    ax.plot([0, 1], [float("nan"), 2], label="<script>&amp;</metadata>")
    [panel] = numbers(interactive.picture(figure))["panels"]
    assert panel["series"][0]["name"] == "<script>&amp;</metadata>"
    assert panel["series"][0]["rows"] == [[0, None], [1, 2]]
    drawn = network.Network([["a"], ["b"]], [("a", "b", 1.0)], {"b"})
    assert numbers(interactive.picture(network.draw(drawn))) is None


@style.styled
def bars():
    figure, (ax,) = style.canvas()
    ax.bar([0, 1], [1, 2], 0.2, color=style.colour(0, "SDC"), label="SDC")
    ax.plot([0, 1], [1, 2], "x", color=style.PUBLISHED, label="published")
    return figure


def test_bars_with_a_name_are_drawn_too():
    assert interactive.picture(bars())
