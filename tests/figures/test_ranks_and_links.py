"""Figures of training jobs: they draw the numbers of the tables."""

import numpy as np
import polars as pl
import pytest
from shallows.figures import link_load, rank_time, style


def table(**columns):
    return pl.DataFrame(columns)


TABLES = {
    "flows": table(id=[0, 1], src=["h0", "h1"], dst=["h1", "h0"]),
    "steps": table(traffic=["sum", "sum"]),
    "rounds": table(
        traffic=["sum", "sum", "fan"], round=[0, 1, 0], fct_ps=[5_000_000, 9_000_000, 99_000_000]
    ),
    "messages": table(
        flow=[0, 1, 0, 1],
        traffic=["sum"] * 4,
        round=[0, 0, 1, 1],
        start_ps=[0, 0, 10_000_000, 10_000_000],
        end_ps=[4_000_000, 5_000_000, 13_000_000, 19_000_000],
        fct_ps=[4_000_000, 5_000_000, 3_000_000, 9_000_000],
        ideal_ps=[3_000_000] * 4,
    ),
    "queues": table(
        port=[
            "leaf0->spine0",
            "leaf0->spine1",
            "spine0->leaf0",
            "spine1->leaf0",
            "leaf0->h0",
            "h0->leaf0",
        ],
        is_switch=[1, 1, 1, 1, 1, 0],
        utilisation=[0.9, 0.2, 0.1, 0.0, 0.5, 0.5],
    ),
    "shares": table(
        port=["leaf0->spine0", "leaf0->spine0", "leaf0->spine1", "leaf0->spine1"],
        flow=[0, 1, 2, 0],
        reverse=[0, 0, 0, 1],
    ),
}


def test_ranks_show_the_slowest_operation_and_what_exceeds_the_ideal():
    found = rank_time.info(TABLES)
    assert found.title == "sum, round 1" and found.hosts == ["h1", "h0"]
    assert found.place.tolist() == [0, 1]
    assert found.due == pytest.approx([0.013, 0.013]) and found.end == pytest.approx([0.013, 0.019])
    figure = rank_time.draw(found)
    alone, late = figure.axes[0].containers
    assert [bar.get_width() for bar in alone] == pytest.approx([0.003, 0.003])
    assert [bar.get_width() for bar in late] == pytest.approx([0, 0.006])
    assert style.image(figure)


def test_ranks_without_an_operation_that_ended_are_an_error():
    with pytest.raises(ValueError, match="no operation ended"):
        rank_time.info(TABLES, "fan")


def test_links_show_utilisation_and_connections_with_data():
    found = link_load.info(TABLES)
    assert found.switches == ["leaf0", "spine0", "spine1"] and found.nodes == ["leaf0", "spine0", "spine1"]
    no = np.nan
    assert np.array_equal(found.load, [[no, 0.9, 0.2], [0.1, no, no], [0.0, no, no]], equal_nan=True)
    assert found.connections.tolist() == [[0, 2, 1], [0, 0, 0], [0, 0, 0]]
    figure = link_load.draw(found)
    assert [text.get_text() for text in figure.axes[0].texts] == ["2", "1", "0", "0"]
    assert style.image(figure)


def test_a_map_without_shares_has_no_counts_and_one_of_a_star_shows_hosts():
    star = {"queues": TABLES["queues"].filter(pl.col("port") == "leaf0->h0")}
    found = link_load.info(star)
    assert found.nodes == ["h0"] and found.load.tolist() == [[0.5]]
    assert not link_load.draw(found).axes[0].texts
    with pytest.raises(ValueError, match="no port of a switch"):
        link_load.info({"queues": TABLES["queues"].filter(pl.col("is_switch") == 0)})
