"""The kit of figures: rows chosen by settings, compared seed by seed, summed up and tabled."""

import polars as pl
import pytest
from shallows.statistics.estimates import mean_ci
from shallows.studies.paper.kit import Rows, percent

FRAME = pl.DataFrame(
    {
        "title": ["new", "new", "base", "base", "base"],
        "workers": [10, 10, 10, 10, 20],
        "seed": [2, 1, 1, 2, 1],
        "mbps": [33.0, 22.0, 20.0, 30.0, None],
    }
)


def test_rows_come_in_the_order_of_their_seeds():
    assert Rows(FRAME).at(title="new").frame["mbps"].to_list() == [22.0, 33.0]
    assert Rows(FRAME).at(workers=10).samples("mbps", title="base").tolist() == [20.0, 30.0]
    assert len(Rows(FRAME).at(workers=30)) == 0


def test_comparisons_are_paired_by_seed():
    rows = Rows(FRAME).at(workers=10)
    assert rows.change("mbps", {"title": "new"}, {"title": "base"}).value == pytest.approx(10.0)
    assert rows.difference("mbps", {"title": "new"}, {"title": "base"}).value == pytest.approx(2.5)
    assert rows.estimate("mbps", title="base") == mean_ci([20.0, 30.0])
    assert percent(mean_ci([0.1])).value == pytest.approx(10.0)


def test_curves_leave_out_what_has_no_value_and_tables_say_so():
    assert Rows(FRAME).curve("mbps", "workers")["base"] == {10: mean_ci([20.0, 30.0])}
    text = Rows(FRAME).table(["mbps"], ["title", "workers"])
    assert text["title"].to_list() == ["new", "base", "base"] and text["mbps"].to_list()[2] == "-"


def test_by_a_key_each_value_has_an_estimate_and_a_missing_sample_is_refused():
    assert Rows(FRAME).by("mbps", "workers", title="new") == {10: mean_ci([22.0, 33.0])}
    assert list(Rows(FRAME).at(workers=10).by("mbps", "title")) == ["base", "new"]
    with pytest.raises(ValueError, match="samples are missing"):
        Rows(FRAME).by("mbps", "workers", title="base")


def test_a_curve_may_be_of_chosen_rows():
    assert Rows(FRAME).curve("mbps", "workers", title="new") == {"new": {10: mean_ci([22.0, 33.0])}}
