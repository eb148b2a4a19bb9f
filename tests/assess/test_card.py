"""The report card: every row is on it, CUBIC turns none, and planted faults turn the right ones."""

from pathlib import Path

import pytest
from conftest import ROOT
from shallows.assess import card, cells, judge, show
from shallows.assess.criteria import CARDS, QUEUE, criterion
from shallows.assess.criteria import card as named
from shallows.errors import SpecError
from shallows.execution.jobs import Outcome
from shallows.execution.runner import Runner

CONTROLS = Path(__file__).with_name("controls.py")
TURNED = {"worse than the yardstick", "not shown"}
FAULTS = {
    "ignores-ecn": ["C13"],
    "unfair-to-long-rtts": ["C4"],
    "never-backs-off": ["C3", "C7"],  # C2, C6 and C13 turn too, at a cost of minutes
    "bursts-after-idle": ["C20"],
    "collapses-on-reordering": ["C19"],
    "starves-at-low-rate": ["C16"],
    "ignores-rate-cut": ["C21"],
    "counts-acks": ["C18"],
    "hides-marks": ["C13"],
}


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    return Runner.of(store=tmp_path_factory.mktemp("store"), workers=2)


def verdicts(control, runner, *rows, kind=CARDS[0]):
    return {row.id: row for row in card.assess(card.plan(control, True, rows, kind=kind), runner)}


def turned(found):
    return [row for row, each in found.items() if each.verdict in TURNED]


@pytest.mark.parametrize("kind", [*CARDS, QUEUE])
@pytest.mark.parametrize("quick", [True, False])
def test_every_row_has_a_file_with_a_reason(kind, quick):
    home = ROOT / "python/shallows/assess/criteria" / kind
    rows = named(kind).rows
    assert {f"{row.lower()}.toml" for row in rows} | {"card.toml"} == {path.name for path in home.glob("*")}
    for row in rows:
        about = criterion(kind, row)
        cells.choose(about, quick)
        judged = about.get("reason") and (about.get("cells") or about.get("words"))
        assert about.get("not_run") or about.get("worst_of") or judged, row
        names = [cell["name"] for cell in about.get("cells", ())]
        assert len(set(names)) == len(names), row


@pytest.mark.parametrize(
    ("kind", "subject"), [("l4s", "prague"), ("datacentre", "dctcp"), (QUEUE, "codel"), (CARDS[0], "cubic")]
)
def test_the_checker_takes_every_cell_of_a_full_card(kind, subject):
    work = card.plan(subject, False, kind=kind)
    assert work.refused == {}
    controls = {control for _, _, control in work.points}
    assert controls == {subject, *work.card.yardsticks}
    assert all(len(points) == card.FULL_SEEDS for points in work.points.values())


def test_a_grid_has_a_cell_for_each_combination():
    grid = {
        "only": "full",
        "rates_mbps": [20, 10_000],
        "round_trips_ms": [40],
        "buffers_bdp": [0.01, 1],
        "mixes": [[1, 4]],
        "set": {"duration": "4s"},
    }
    about = {"cells": [{"name": "first", "set": {}}], "grids": [grid]}
    quick = {"cells": about["cells"], "grids": [grid]}
    cells.choose(quick, True)
    assert [cell["name"] for cell in quick["cells"]] == ["first"]
    cells.choose(about, False)
    found = {cell["name"]: cell["set"] for cell in about["cells"]}
    assert list(found)[1:3] == ["1:4, 20 Mb/s, 40 ms, 0.01 BDP", "1:4, 20 Mb/s, 40 ms, 1 BDP"]
    one = found["1:4, 20 Mb/s, 40 ms, 1 BDP"]
    assert one["queue.limit"] == "67pkt", "20 Mb/s times 40 ms"
    assert found["1:4, 20 Mb/s, 40 ms, 0.01 BDP"]["queue.limit"] == "4pkt"
    assert (one["topology.delay"], one["topology.access_delay"]) == ("19000us", "500us"), (
        "twice 19 + 2 x 0.5 ms"
    )
    assert (one["traffic.candidate.flows"], one["traffic.bystander.flows"]) == (1, 4)
    assert one["duration"] == "4s"
    assert "1:4, 10 Gb/s, 40 ms, 1 BDP" in found


def test_cubic_turns_no_row(runner):
    found = verdicts("cubic", runner)
    assert tuple(found) == named(CARDS[0]).rows
    assert turned(found) == []
    assert {row for row, each in found.items() if each.verdict == "not run"} == {"C22"}


@pytest.mark.parametrize(("fault", "rows"), FAULTS.items())
def test_a_planted_fault_turns_its_rows(fault, rows, runner):
    assert turned(verdicts(f"{CONTROLS}:good", runner, *rows)) == []
    assert turned(verdicts(f"{CONTROLS}:{fault}", runner, *rows)) == rows


PLANTED = [
    ("l4s", "prague", "cubic", ["L4", "L8"]),
    ("datacentre", "dctcp", "cubic", ["D5"]),
    (QUEUE, "codel", "codel,target=1s,limit=1000pkt", ["Q1"]),
]
"""Card, a good candidate and a bad one: CUBIC with ECT(1), CUBIC in a full buffer, a law that never acts."""


@pytest.mark.parametrize(("kind", "good", "bad", "rows"), PLANTED)
def test_a_planted_fault_turns_its_rows_of_the_other_cards(kind, good, bad, rows, runner):
    assert turned(verdicts(good, runner, *rows, kind=kind)) == []
    assert turned(verdicts(bad, runner, *rows, kind=kind)) == rows


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
    some = [Outcome(None, "", "done", metrics={"drops": value}) for value in (0.0, 2.0)]
    both = others | {"newreno": runs(4.0)}
    mixed = judge.judge("one", about, 0.95, some, both)
    assert (mixed.verdict, mixed.error) == ("not determined", "the candidate has zero in some run")
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
        ("[C24]\nscope = 3\n", "must be a text"),
        ("[C24]\nmood = 'good'\n", "must be one of deviations, scope, tunnels"),
        ("C3", "cannot be read"),
    ],
)
def test_a_bad_edit_runs_nothing(text, told, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(SpecError, match=told):
        card.plan("cubic", True, ["C3", "C24"], file)


def test_words_come_from_the_control_or_its_file(runner, tmp_path):
    built_in = verdicts("dctcp", runner, "C24")["C24"]
    assert (built_in.verdict, list(built_in.words)) == ("shown", ["deviations", "scope", "tunnels"])
    assert "RFC 8257" in show.reading("dctcp", built_in)
    [mine] = verdicts(f"{CONTROLS}:good", runner, "C24").values()
    assert (mine.verdict, mine.words) == ("not shown", {"deviations": "None: the rules of RFC 5681."})
    assert show.reading("good", mine).startswith("The author gives no scope and no tunnels. Deviations: None")
    file = tmp_path / "words.toml"
    file.write_text('[C24]\nscope = "Any path."\ntunnels = "As any."\n')
    [row] = card.assess(card.plan(f"{CONTROLS}:good", True, ["C24"], file), runner)
    assert (row.verdict, row.words["scope"]) == ("shown", "Any path.")


@pytest.mark.parametrize("name", ["nonsense", f"{CONTROLS}:nonsense", f"{CONTROLS}:bad-words"])
def test_words_of_no_control_or_no_texts_run_nothing(name):
    with pytest.raises(SpecError, match="must be a"):
        card.plan(name, True, ["C24"])


def test_a_discipline_has_settings_and_the_card_names_them():
    work = card.plan("codel,target=1ms", True, ["Q1"], kind=QUEUE)
    queue = {control: points[0].experiment["queue"] for (_, _, control), points in work.points.items()}
    assert work.control == "codel,target=1ms"
    assert queue["codel,target=1ms"]["target"] == "1ms"
    assert queue["drop-tail"]["limit"] == queue["codel,target=1ms"]["limit"] == "167pkt"
    with pytest.raises(SpecError, match="NAME,key=value"):
        card.plan("codel,target", True, ["Q1"], kind=QUEUE)


def test_an_unknown_card_runs_nothing():
    with pytest.raises(SpecError, match="rfc9743, l4s, datacentre"):
        card.plan("cubic", True, kind="wireless")
