"""The studies of the package: complete, checked, and free of faults at run time."""

import re
import tomllib

import pytest
from shallows.document.places import experiments_path
from shallows.studies.paper.about import check
from shallows.studies.paper.claims import LINUX_MODES, MODES
from shallows.studies.paper.prose import settings_of, typed_numbers
from shallows.studies.paper.study import find
from shallows.tables.metrics import delays
from synthetic import small_run

FIGURES = find()
PAPERS = sorted({figure.path.parent for figure in FIGURES})
IDS = [f"{figure.paper}/{figure.name}" for figure in FIGURES]


@pytest.mark.parametrize("figure", FIGURES, ids=IDS)
def test_a_figure_is_complete(figure):
    assert figure.readme.startswith("# ")
    assert figure.declared.measure and figure.module.__doc__
    if figure.reference() is not None:
        assert len(figure.reference())


@pytest.mark.parametrize("figure", FIGURES, ids=IDS)
def test_each_claim_has_its_expected_verdicts(figure):
    for claim in figure.claims:
        assert set(claim.expected) - set(LINUX_MODES) == set(MODES), (
            f"{claim.id}: expected for {', '.join(MODES)}"
        )


@pytest.mark.parametrize("figure", FIGURES, ids=IDS)
@pytest.mark.parametrize("quick", [False, True], ids=["full", "quick"])
def test_every_experiment_of_a_figure_is_legal(figure, quick):
    pytest.importorskip("shallows._core")
    points = figure.points(quick)
    assert set(points) == set(figure.specs()) and all(points.values())


@pytest.mark.parametrize("paper", sorted({figure.path.parent for figure in FIGURES}), ids=lambda p: p.name)
def test_every_experiment_file_of_a_paper_is_used(paper):
    """`specs` names the files, or a README the command: a file without a name would never run."""
    named = [*paper.rglob("*.py"), *paper.rglob("variants.toml"), *paper.rglob("README.md")]
    text = "".join(path.read_text(encoding="utf-8") for path in named)
    others = ("claims.toml", "paper.toml", "quick.toml", "variants.toml", "readings.toml")
    files = [path.name for path in paper.rglob("*.toml") if path.name not in others]
    assert [name for name in files if name not in text] == []


def test_figures_come_in_the_order_of_the_papers_readme():
    assert [f.name for f in find("xdctcp")][:4] == ["table", "fig2", "fig3", "fig4"]


def test_the_papers_readme_names_every_figure():
    for figure in FIGURES:
        assert f"`{figure.name}`" in (figure.path.parent / "README.md").read_text(encoding="utf-8")


def test_quickstart_is_legal():
    pytest.importorskip("shallows._core")
    from shallows.document.load import load
    from shallows.document.points import expand

    assert len(expand(load(experiments_path() / "quickstart.toml"))) == 1


def test_delays_four_ways():
    got = delays(small_run(), ("short",))
    assert got["wait_us"] == 72 and got["delay_us"] == 122 and got["srtt_us"] == 174
    assert got["fct_us"] == pytest.approx(1100 / 3) and delays(small_run(), ("none",))["fct_us"] is None


@pytest.mark.parametrize("figure", FIGURES, ids=IDS)
def test_a_published_claim_has_a_figure_or_table_that_shows_it(figure):
    """`reproduce` refuses a name in `shows` that was not drawn."""
    shown = {claim for claims in figure.shows.values() for claim in claims}
    published = {claim.id for claim in figure.claims if claim.kind == "published"}
    assert published <= shown
    assert all(figure.shows.values()), "shows names a figure or table that shows no claim"


@pytest.mark.parametrize("figure", FIGURES, ids=IDS)
def test_a_statement_and_a_caption_stand_alone(figure):
    """A report lists published claims apart from the rest: "The same: class B" says nothing there."""
    leans = re.compile(r"and |with it |there |it |its |(.*: )?the same\b(?! (link|throughput|work))", re.I)
    said = [*(claim.statement for claim in figure.claims), *figure.declared.captions.values()]
    assert [text for text in said if leans.match(text)] == []


@pytest.mark.parametrize("figure", FIGURES, ids=IDS)
def test_quick_never_contradicts_full(figure):
    held = ("holds", "holds-if")
    for claim in figure.claims:
        verdicts = [claim.expected[mode] for mode in MODES]
        opposite = "differs" in verdicts and any(verdict in held for verdict in verdicts)
        assert not opposite, f"{claim.id}: {verdicts}; full_only says why quick cannot decide it"


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_the_same_reason_has_the_same_tolerance(paper):
    found = {}
    for path in sorted(paper.glob("*/claims.toml")):
        for table in tomllib.loads(path.read_text(encoding="utf-8"))["claim"]:
            given = table.get("tolerance")
            if given and not re.search(r"\bdigits?\b", given["because"]):
                size = (given.get("absolute"), given.get("relative"), table.get("unit", ""))
                found.setdefault((given["because"], size[2]), set()).add(size)
    assert {because: sizes for because, sizes in found.items() if len(sizes) > 1} == {}


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_a_paper_has_a_headline_without_typed_numbers_and_a_key_figure(paper):
    figures = [figure for figure in FIGURES if figure.path.parent == paper]
    about = figures[0].about
    assert about and check(about, figures) == []
    known = frozenset().union(*map(settings_of, figures))
    assert typed_numbers("\n\nThe document:\n\n" + about.headline, known) == []
    figure, _, drawing = about.figure.partition("/")
    (key,) = [each for each in figures if each.name == figure]
    assert f'"{drawing}": ' in (key.path / "figure.py").read_text(encoding="utf-8"), "no such drawing"


@pytest.mark.parametrize("figure", FIGURES, ids=IDS)
def test_what_is_folded_or_captioned_is_a_name_of_a_figure_or_table(figure):
    """A caption of nothing, or a fold of nothing, is a name that has changed."""
    source = (figure.path / "figure.py").read_text(encoding="utf-8")
    for name in (*figure.declared.folded, *figure.declared.captions):
        assert source.count(f'"{name}"') >= 2, name
