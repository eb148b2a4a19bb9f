"""`FIGURE = Figure(...)`: every field checked at once, and a slip in a figure.py is one line."""

import subprocess
import sys

import pytest
from shallows.errors import FigureError, SpecError
from shallows.execution.runner import Runner
from shallows.studies import Figure
from shallows.studies.paper.reproduce import reproduce
from shallows.studies.paper.study import find
from study_fixture import declare, fake_simulator, write_paper


@pytest.fixture
def paper(tmp_path):
    return {
        "root": write_paper(tmp_path / "experiments"),
        "runner": Runner.of(store=tmp_path / "runs"),
        "out": tmp_path / "out",
    }


def measure(runs):
    return {}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"caption": {}}, 'FIGURE.caption: unknown key; known: specs, measure, draw'),
        ({"caption": {}}, 'did you mean "captions"?'),
        ({"specs": "spec.toml"}, "FIGURE.specs: must be a dict of experiments by name"),
        ({"specs": {"a": 3}}, "FIGURE.specs.a: must be an experiment file (.toml)"),
        ({"specs": {"a": "spec"}}, "FIGURE.specs.a: must be an experiment file (.toml)"),
        ({"specs": {"a": ("spec.toml", {}, {})}}, "FIGURE.specs.a: must be an experiment file (.toml)"),
        ({"specs": {"a": ("spec.toml", {3: 4})}}, "FIGURE.specs.a: must have texts as paths, got 3"),
        ({"measure": None}, "FIGURE.measure: must be a function"),
        ({"draw": "draw"}, 'FIGURE.draw: must be a function, got "draw"'),
        ({"shows": {"queue": "delay"}}, 'FIGURE.shows.queue: must be a list, got "delay"'),
        ({"captions": {"queue": 3}}, "FIGURE.captions.queue: must be a text, got 3"),
        ({"folded": "queue"}, "FIGURE.folded: must be a list"),
        ({"settings": [3]}, "FIGURE.settings: must be a table"),
        ({"samples": "batch"}, 'FIGURE.samples: must be one of seeds, batches, got "batch" (did you mean'),
        ({"seeded": ["a", 3]}, "FIGURE.seeded[1]: must be a text, got 3"),
        ({"backends": {"linus": "x"}}, 'must be one of simulator, linux, ns3, got "linus" (did you mean "li'),
        ({"reference": "published.txt"}, "FIGURE.reference: must be a CSV file (.csv)"),
        ({"most_seeds": {"linux": -1}}, "FIGURE.most_seeds.linux: must be >= 0, got -1"),
    ],
)  # fmt: skip
def test_an_ill_typed_field_is_refused(fields, said):
    with pytest.raises(SpecError) as refused:
        Figure(**{"specs": {}, "measure": measure} | fields)
    assert said in str(refused.value) and len(refused.value.faults) == 1


def test_what_is_missing_and_all_faults_at_once():
    with pytest.raises(SpecError) as refused:
        Figure(caption={}, samples=3)
    paths = [fault.path for fault in refused.value.faults]
    assert sorted(paths) == ["FIGURE.caption", "FIGURE.measure", "FIGURE.samples", "FIGURE.specs"]


def test_the_faults_of_all_figures_name_their_files(paper, monkeypatch):
    ran = fake_simulator(monkeypatch)
    declare(paper["root"], "caption={}")
    (paper["root"] / "paper" / "other").mkdir()
    (paper["root"] / "paper" / "other" / "figure.py").write_text("FIGURES = 3\n")
    (paper["root"] / "paper" / "other" / "claims.toml").write_text("")
    with pytest.raises(SpecError) as refused:
        reproduce("paper", **paper)
    first, second = sorted(refused.value.faults)
    assert str(first).startswith("paper/fig/figure.py: FIGURE.caption: unknown key; known: ")
    assert str(second) == (
        "paper/other/figure.py: must have FIGURE = Figure(...), with Figure from shallows.studies"
    )
    assert not ran


@pytest.mark.parametrize(
    ("field", "path"),
    [
        ('shows={"queue": ("dealy",)}', 'paper/fig: figure.py: FIGURE.shows.queue'),
        ('seeded=("dealy",)', "paper/fig: figure.py: FIGURE.seeded"),
        ('reference="refrence.csv"', "paper/fig: figure.py: FIGURE.reference"),
    ],
)  # fmt: skip
def test_what_a_figure_names_must_be_there_before_anything_runs(paper, monkeypatch, field, path):
    ran = fake_simulator(monkeypatch)
    (paper["root"] / "paper" / "fig" / "reference.csv").write_text("a\n1\n")
    declare(paper["root"], field)
    with pytest.raises(SpecError) as refused:
        reproduce("paper", **paper)
    (fault,) = refused.value.faults
    assert fault.path == path and fault.hint.startswith("did you mean") and not ran


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("runs.frame(lambda t: {\"jain\": 1.0})", "runs.frame(lambda t: {})[\"titel\"]",
         "paper/fig/figure.py: tables (figure.py, line 21): ColumnNotFoundError: "),
        ("def measure(runs):", "def measure(runs):\n    helper = 1 / 0",
         "paper/fig/figure.py: measure (figure.py, line 14): ZeroDivisionError: division by zero"),
        ("specs={", "specs=lambda reading: {reading['rtt']: \"spec.toml\"} or {",
         "paper/fig/figure.py: specs (figure.py, line 24): KeyError: 'rtt'"),
        ("def measure(runs):", "def measure(runs)", "paper/fig/figure.py: import: SyntaxError: expected ':'"),
        ("from shallows.figures import queue_cdf", "import nowhere_at_all",
         "paper/fig/figure.py: import (figure.py, line 5): ModuleNotFoundError: No module named"),
    ],
)  # fmt: skip
def test_a_slip_is_one_line_and_its_traceback_is_saved(paper, monkeypatch, old, new, said):
    fake_simulator(monkeypatch)
    module = paper["root"] / "paper" / "fig" / "figure.py"
    assert old in module.read_text()
    module.write_text(module.read_text().replace(old, new))
    with pytest.raises(FigureError) as failed:
        reproduce("paper", **paper)
    saved = paper["out"] / "figure-error.txt"
    assert str(failed.value).startswith(said) and "\n" not in str(failed.value)
    assert str(failed.value).endswith(f"; Python's traceback: {saved}")
    assert saved.read_text() == failed.value.traceback and "Traceback (most" in saved.read_text()


@pytest.mark.parametrize(
    ("field", "said"),
    [
        (
            'measure=lambda runs: {"delay": True}',
            "measure, claim delay: TypeError: claim delay",
        ),
        ('measure=lambda runs: {"delay": "fast"}', "measure, claim delay: TypeError: measured must be"),
        ('draw=lambda runs, reference: {"queue": 3}', "draw: AttributeError: 'int' object has no attribute"),
        ('tables=lambda runs: {"x": 3}', 'tables must return polars DataFrames; "x" is none'),
        ('numbers=lambda runs: {"x": (1, 2, 3)}', "numbers, x: ValueError: too many values to unpack"),
    ],
)
def test_an_impossible_value_is_one_line_that_names_it(paper, monkeypatch, field, said):
    fake_simulator(monkeypatch)
    declare(paper["root"], field)
    with pytest.raises(FigureError) as failed:
        reproduce("paper", **paper)
    assert str(failed.value).startswith(f"paper/fig/figure.py: {said}") and "\n" not in str(failed.value)


@pytest.mark.parametrize("field", ["measure", "draw", "tables", "numbers"])
def test_an_answer_that_is_no_dict_is_one_line(paper, monkeypatch, field):
    fake_simulator(monkeypatch)
    declare(paper["root"], f"{field}=lambda *given: [3]")
    with pytest.raises(FigureError, match=rf"^paper/fig/figure\.py: {field} must return a dict, got list$"):
        reproduce("paper", **paper)


def test_specs_of_a_reading_are_checked_as_well(paper, monkeypatch):
    ran = fake_simulator(monkeypatch)
    declare(paper["root"], 'specs=lambda reading: {"spec": ("spec.toml", 3)}')
    with pytest.raises(
        SpecError, match=r"^paper/fig: figure\.py: FIGURE\.specs\.spec: must be an experiment"
    ):
        reproduce("paper", **paper)
    assert not ran


def test_a_traceback_is_printed_only_on_request(tmp_path):
    """The command line: status 1 and one line; with --debug Python's traceback before it."""
    root = write_paper(tmp_path / "papers")
    (root / "paper" / "fig" / "claims.toml").write_text("")
    (root / "paper" / "fig" / "quick.toml").write_text("")
    (root / "paper" / "fig" / "figure.py").write_text(
        "from shallows.studies import Figure\nFIGURE = Figure(specs={}, measure=lambda runs: runs.nothing)\n"
    )
    command = [sys.executable, "-m", "shallows", "reproduce", "./papers/paper", "--store", "runs"]
    plain, debug = (
        subprocess.run([*command, *more], cwd=tmp_path, capture_output=True, text=True, check=False)
        for more in ([], ["--debug"])
    )
    assert plain.returncode == debug.returncode == 1
    last = "shallows: paper/fig/figure.py: measure (figure.py, line 2): AttributeError: 'Runs' object has no "
    assert [line.startswith(last) for line in plain.stderr.splitlines()] == [True], plain.stderr
    assert "Traceback (most recent call last)" in debug.stderr
    assert debug.stderr.splitlines()[-1].startswith(last)


def test_fields_of_every_figure_are_documented():
    """docs/claims.md has a row for each field."""
    from conftest import ROOT

    text = (ROOT / "docs/claims.md").read_text()
    assert [name for name in Figure.model_fields if f"| `{name}` |" not in text] == []
    assert all(field.description for field in Figure.model_fields.values())
    assert all(isinstance(figure.declared, Figure) for figure in find())
