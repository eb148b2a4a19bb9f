"""The report card: every row is on it, CUBIC turns none, and planted faults turn the right ones."""

from pathlib import Path

import pytest
from conftest import ROOT
from shallows.assess import card, judge, show
from shallows.assess.criteria import NAMES
from shallows.errors import SpecError
from shallows.execution.jobs import Outcome
from shallows.execution.runner import Runner

CONTROLS = Path(__file__).with_name("controls.py")
TURNED = {"worse than the yardstick", "not shown"}
FAULTS = {
    "ignores-ecn": ["C13"],
    "unfair-to-long-rtts": ["C4"],
    "never-backs-off": ["C2", "C3", "C6", "C7", "C13"],
    "bursts-after-idle": ["C20"],
    "collapses-on-reordering": ["C19"],
    "starves-at-low-rate": ["C16"],
    "ignores-rate-cut": ["C21"],
    "hides-marks": ["C13"],
}


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    return Runner.of(store=tmp_path_factory.mktemp("store"), workers=2)


def verdicts(control, runner, *rows):
    return {row.id: row for row in card.assess(card.plan(control, True, rows), runner)}


def turned(found):
    return [row for row, each in found.items() if each.verdict in TURNED]


def test_every_row_has_a_file_with_a_reason():
    home = ROOT / "python/shallows/assess/criteria"
    assert {f"{name.lower()}.toml" for name in NAMES} == {path.name for path in home.glob("*.toml")}
    for row, about in card.plan("cubic", True).criteria.items():
        told = about.get("not_run") or about.get("worst_of") or (about["reason"] and about["cells"])
        assert told, row


def test_cubic_turns_no_row(runner):
    found = verdicts("cubic", runner)
    assert tuple(found) == NAMES
    assert turned(found) == []
    assert {row for row, each in found.items() if each.verdict == "not run"} == {"C22", "C24"}


@pytest.mark.parametrize(("fault", "rows"), FAULTS.items())
def test_a_planted_fault_turns_its_rows(fault, rows, runner):
    assert turned(verdicts(f"{CONTROLS}:good", runner, *rows)) == []
    assert turned(verdicts(f"{CONTROLS}:{fault}", runner, *rows)) == rows


def test_the_cells_of_a_row_share_the_error():
    cells = [{"against": ["cubic", "newreno"]}, {"against": []}, {}]
    assert judge.confidence({"cells": cells}) == pytest.approx(1 - 0.05 / 4)
    assert judge.confidence({"cells": cells, "against": ["cubic"]}) == pytest.approx(1 - 0.05 / 4)
    assert judge.confidence({"cells": [{}]}) == pytest.approx(0.95)


def test_a_yardstick_without_a_value_leaves_its_cell_undecided():
    """The other yardstick alone judged the cell, without a word."""

    def runs(value):
        return [Outcome(None, "", "done", metrics={"drops": value})] * 2

    about = {"metric": "drops", "at_most": 1.0, "against": ["cubic", "newreno"], "cells": [{}]}
    others = {"cubic": runs(4.0), "newreno": runs(None)}
    cell = judge.judge("one", about, 0.95, runs(2.0), others)
    assert (cell.verdict, cell.error) == ("failed", "newreno has no such value")
    both = others | {"newreno": runs(4.0)}
    assert judge.judge("one", about, 0.95, runs(2.0), both).verdict == "shown"


def test_a_row_is_the_worst_of_others_only_if_the_card_has_them(runner):
    [row] = verdicts("newreno", runner, "C10").values()
    assert (row.verdict, row.cells) == ("not run", [])
    assert "not on this card" in row.why


def test_a_control_that_crashes_is_named_and_the_card_goes_on(runner):
    found = verdicts(f"{CONTROLS}:crashes", runner, "C2", "C13")
    assert found["C2"].verdict == "failed"
    assert "division by zero" in found["C2"].cells[0].error
    assert found["C2"].cells[0].beside["cubic"] > 0


def test_a_control_that_the_checker_refuses_everywhere_runs_nothing():
    with pytest.raises(SpecError, match="nonsense"):
        card.plan("nonsense", True, ["C2"])


def test_a_row_that_the_backend_does_not_measure_is_not_run(runner):
    work = card.plan("newreno", True, ["C18"])
    work.criteria["C18"]["metric"] = "candidate.moods"
    [row] = card.assess(work, runner)
    assert (row.verdict, row.why) == ("not run", "this backend has no candidate.moods")


def test_a_row_repeats_on_its_backend():
    said = show.command("./shallows", "cubic", True, "linux", "7.2", Path("mine.toml"))
    assert said == "./shallows assess cubic --quick --backend linux --kernel 7.2 --criteria mine.toml"


def test_an_unknown_row_runs_nothing():
    with pytest.raises(SpecError, match="C99"):
        card.plan("cubic", True, ["C99"])


def test_an_edited_bound_is_named(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("[C3]\nat_most = 3\n")
    work = card.plan("cubic", True, ["C3"], file)
    assert work.criteria["C3"]["at_most"] == 3
    assert work.edited == ["C3.at_most: 3 in place of 2"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[C99]\nat_most = 1\n", "C99"),
        ("[C3]\nat_least = 1\n", "must be the row's bound"),
        ("[C3]\nat_most = 'much'\n", "must be a number above zero"),
        ("C3", "cannot be read"),
    ],
)
def test_a_bad_edit_runs_nothing(text, told, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(SpecError, match=told):
        card.plan("cubic", True, ["C3"], file)
