"""Open questions of the documents: declared strictly, with a base that follows from the rule."""

import pytest
from shallows.errors import SpecError
from shallows.studies.paper.readings import BASE, RANKS, Reading
from shallows.studies.paper.readings_file import read_readings
from shallows.studies.paper.study import find

FIGURES = find()
IDS = [f"{figure.paper}/{figure.name}" for figure in FIGURES]
PAPERS = {figure.paper: figure for figure in FIGURES}

GOOD = """
[window]
question = "How large?"
only = ["sack*"]

[window.value.2]
words = "a window of two"
rank = "text"
source = "section 4.2"
set = { "transport.initial_window" = "2pkt" }

[window.value.10]
words = "a window of ten"
rank = "today"
cause = "ours"
source = "RFC 6928"
set = { "transport.initial_window" = "10pkt" }

[rtt]
question = "How long?"

[rtt.value.300]
words = "300 us"
rank = "tool"
source = "its manual"

[rtt.value.600]
words = "600 us"
rank = "text"
source = "section 3.5"
given = 600

[figure.fig]
dimensions = ["window", "rtt"]
grids = [["window", "rtt"]]
"""


def read(tmp_path, text=GOOD):
    path = tmp_path / "readings.toml"
    path.write_text(text)
    return read_readings(path)


def test_the_base_follows_from_the_ranks_and_not_from_the_order_or_a_result(tmp_path):
    readings = read(tmp_path)
    assert readings.dimensions["rtt"].base.id == "600" and readings.dimensions["window"].base.id == "2"
    assert readings.given(BASE) == {"window": "2", "rtt": 600}


def test_one_at_a_time_then_the_grid_the_most_plausible_first(tmp_path):
    readings = read(tmp_path)
    tried = readings.of("fig")
    assert [r.id for r in tried] == ["rtt=300", "window=10", "window=10, rtt=300"]
    assert [r.cause for r in tried] == ["simulator", "ours", "ours"] and readings.of("other") == []
    assert tried[1].settings("sack-two") == {"transport.initial_window": "10pkt"}
    assert tried[1].settings("racs") == {} and readings.given(tried[2]) == {"window": "10", "rtt": "300"}


def test_a_backend_may_judge_the_runs_of_the_base_by_another_value(tmp_path):
    readings = read(tmp_path, GOOD + 'on = { linux = "rtt=300" }\n')
    assert readings.on("fig", "linux").id == "rtt=300" and readings.on("fig", "simulator") == BASE
    assert readings.on("other", "linux") == BASE


@pytest.mark.parametrize(
    ("choice", "path", "says"),
    [
        ('lnux = "rtt=300"', "figure.fig.on.lnux", 'did you mean "linux"'),
        ('linux = "rtt=301"', "figure.fig.on.linux", "must be a dimension=value of this file"),
        ('linux = "window=10"', "figure.fig.on.linux", "must be a value without settings"),
    ],
)
def test_faults_of_a_backends_reading(tmp_path, choice, path, says):
    with pytest.raises(SpecError) as caught:
        read(tmp_path, GOOD + f"on = {{ {choice} }}\n")
    assert any(fault.path.endswith(path) for fault in caught.value.faults) and says in str(caught.value)


@pytest.mark.parametrize(
    ("change", "path", "says"),
    [
        (('rank = "tool"', 'rank = "tol"'), "rtt.value.300.rank", 'did you mean "tool"'),
        (('source = "its manual"\n', ""), "rtt.value.300.source", "is required: the origin"),
        (('source = "its manual"', 'source = " "'), "rtt.value.300.source", "where the value comes from"),
        (('dimensions = ["window"', 'dimensions = ["windw"'), "figure.fig", 'did you mean "window"'),
        (('question = "How long?"', 'quesion = "How long?"'), "rtt.quesion", 'did you mean "question"'),
        (('grids = [["window"', 'grids = [["window=11"'), "figure.fig", "names an unknown value of window"),
        (('cause = "ours"', 'cause = "luck"'), "window.value.10.cause", "must be one of"),
    ],
)
def test_faults_are_named_with_their_path(tmp_path, change, path, says):
    with pytest.raises(SpecError) as caught:
        read(tmp_path, GOOD.replace(*change, 1))
    assert any(fault.path.endswith(path) for fault in caught.value.faults) and says in str(caught.value)


@pytest.mark.parametrize("figure", FIGURES, ids=IDS)
def test_a_base_value_is_already_what_the_experiments_say(figure):
    """Else the base reading that the report shows would not be the one that is run."""
    pytest.importorskip("shallows._core")
    plan = figure.readings.plan(figure.name)
    sides = [figure.readings.dimensions[name] for name in plan.dimensions]
    as_base = Reading(tuple((side, side.base) for side in sides if side.base.set))
    if not as_base.departures:
        return
    from shallows.document.paths import set_path
    from shallows.document.points import expand

    for name, document in figure.documents(quick=True).items():
        settings = as_base.settings(name)
        if not any(name.startswith(spec) for spec in plan.specs if spec != "*") and plan.specs != ("*",):
            continue
        document |= {"seeds": 1}
        before = [point.experiment for point in expand(document)]
        for path, value in settings.items():
            set_path(document, path, value)
        assert [point.experiment for point in expand(document)] == before, (name, settings)


@pytest.mark.parametrize("figure", FIGURES, ids=IDS)
def test_a_reading_that_judges_the_runs_of_the_base_has_its_experiments(figure):
    pytest.importorskip("shallows._core")
    alike = [reading for reading in figure.readings.of(figure.name) if figure.as_base(reading)]
    assert all(figure.documents(True, reading) == figure.documents(True) for reading in alike[:5])


@pytest.mark.parametrize("figure", FIGURES, ids=IDS)
def test_a_recorded_holds_if_names_a_reading_that_is_tried(figure):
    tried = {reading.id for reading in figure.readings.of(figure.name)}
    for claim in figure.claims:
        if "holds-if" in claim.expected.values():
            assert claim.holds_if in tried, claim.id


@pytest.mark.parametrize("figure", FIGURES, ids=IDS)
def test_a_cause_that_names_a_claim_names_one_that_holds(figure):
    """A cause names a claim of the same paper that is recorded to hold; a reading is a run itself."""
    held = {
        f"{other.name}/{claim.id}"
        for other in find(figure.paper)
        for claim in other.claims
        if claim.expected.get("full") in ("holds", "holds-if")
    }
    for claim in figure.claims:
        shown = claim.cause.claim if claim.cause else ""
        assert not shown or shown in held, f"{claim.id}: {claim.cause}"


@pytest.mark.parametrize("paper", PAPERS)
def test_every_value_has_words_a_rank_and_a_source(paper):
    for dimension in PAPERS[paper].readings.dimensions.values():
        for value in dimension.values:
            assert value.rank in RANKS and value.words and len(value.source) > 5
