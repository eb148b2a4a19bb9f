"""The report card: every row is on it, CUBIC turns none, and planted faults turn the right ones."""

from pathlib import Path

import jsonschema
import pytest
from conftest import ROOT, shallows
from shallows.assess import card, show
from shallows.assess.criteria import NAMES
from shallows.errors import SpecError
from shallows.execution.runner import Runner

CONTROLS = Path(__file__).with_name("controls.py")
TURNED = "worse than the yardstick"


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    return Runner.of(store=tmp_path_factory.mktemp("store"))


def verdicts(control, runner, *rows):
    return {row.id: row for row in card.assess(card.plan(control, True, rows), runner)}


def test_every_row_has_a_file_with_a_reason():
    home = ROOT / "python/shallows/assess/criteria"
    assert {f"{name.lower()}.toml" for name in NAMES} == {path.name for path in home.glob("*.toml")}
    for row, about in card.plan("cubic", True).criteria.items():
        assert about["not_run"] if "not_run" in about else about["reason"] and about["cells"], row


def test_cubic_turns_no_row(runner):
    found = verdicts("cubic", runner)
    assert tuple(found) == NAMES
    assert {row.verdict for row in found.values()} == {"shown", "not run"}


@pytest.mark.parametrize(
    ("fault", "turned"),
    [("ignores-ecn", ["C13"]), ("never-backs-off", ["C3", "C6", "C13"])],
)
def test_a_planted_fault_turns_its_rows(fault, turned, runner):
    good = verdicts(f"{CONTROLS}:good", runner, *turned)
    found = verdicts(f"{CONTROLS}:{fault}", runner, *turned)
    assert {row: found[row].verdict for row in turned} == dict.fromkeys(turned, TURNED)
    # Reno's rules take more from a CUBIC than another CUBIC does, where the buffer has 4 BDP: C6 is no proof.
    assert {row for row in turned if good[row].verdict == TURNED} <= {"C6"}


def test_a_control_that_crashes_is_named_and_the_card_goes_on(runner):
    found = verdicts(f"{CONTROLS}:crashes", runner, "C2", "C13")
    assert found["C2"].verdict == "failed"
    assert "division by zero" in found["C2"].cells[0].error
    assert found["C2"].cells[0].beside["cubic"] > 0


def test_a_row_that_the_backend_does_not_measure_is_not_run(runner):
    work = card.plan("newreno", True, ["C2"])
    work.criteria["C2"]["metric"] = "candidate.moods"
    [row] = card.assess(work, runner)
    assert (row.verdict, row.why) == ("not run", "this backend has no candidate.moods")


def test_a_row_repeats_on_its_backend():
    said = show.command("./shallows", "cubic", True, "linux", "7.2")
    assert said == "./shallows assess cubic --quick --backend linux --kernel 7.2"


def test_an_unknown_row_or_control_runs_nothing():
    with pytest.raises(SpecError, match="C99"):
        card.plan("cubic", True, ["C99"])
    with pytest.raises(SpecError, match="nonsense"):
        card.plan("nonsense", True, ["C2"])


def test_the_command_answers_by_its_schema(tmp_path):
    import json

    done = shallows("assess", "newreno", "--quick", "--row", "C2", "--row", "C22", "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    schema = json.loads((ROOT / "python/shallows/cli/schemas/assess.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(found)
    assert [row["verdict"] == "not run" for row in found["rows"]] == [False, True]
    assert found["rows"][0]["repeat"].endswith("assess newreno --quick --row C2")
    assert found["note"] == show.NOTE
