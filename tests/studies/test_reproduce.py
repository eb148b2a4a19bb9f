"""From a figure's directory to claims, exit status and report, with a stand-in for the simulator."""

import json
import re

import pytest
from shallows.errors import FigureError, SpecError, StoreError
from shallows.execution.runner import Runner
from shallows.studies.page.markdown import to_html
from shallows.studies.page.place import cell
from shallows.studies.paper.first_screen import sentences
from shallows.studies.paper.report import head
from shallows.studies.paper.reproduce import reproduce
from shallows.studies.paper.show import show
from shallows.studies.paper.study import find, short_names
from study_fixture import declare, fake_simulator, write_paper

KEYS = (
    "id paper figure kind statement published measured unit ci95 range n_seeds n_of tolerance verdict "
    "expected_verdict"
)


@pytest.fixture
def paper(tmp_path):
    return {
        "root": write_paper(tmp_path / "experiments"),
        "runner": Runner.of(store=tmp_path / "runs"),
        "out": tmp_path / "out",
    }


def test_full(paper, monkeypatch, capsys):
    ran = fake_simulator(monkeypatch)
    got = reproduce("paper", **paper)
    delay, gain, unmeasured = got.claims
    assert list(delay) == [
        *KEYS.split(),
        *["readings", "cause", "because", "backend", "kernel", "note", "sentence", "where", "joint"],
    ]
    assert (
        delay["verdict"] == "holds" and delay["n_seeds"] == 3 and delay["ci95"][0] < 72.1 < delay["ci95"][1]
    )
    assert gain["measured"] is True and gain["verdict"] == "holds" and gain["note"].startswith("-1 [-1, -1]")
    assert unmeasured["verdict"] == "not-determined" and "not measured" in unmeasured["because"]
    assert got.exit_status == 0 and len(ran) == 6
    reproduce("paper/fig", **paper)
    assert len(ran) == 6  # nothing is run twice
    show(got)
    assert "as recorded" in capsys.readouterr().out


def test_verdicts_on_linux_name_their_kernel(paper, monkeypatch):
    """They have changed with the third number of a version."""
    fake_simulator(monkeypatch, about={"linux": {"kernel": {"version": "7.2.12", "hash": "ab12"}}})
    got = reproduce("paper", **paper)
    assert {record["kernel"] for record in got.claims} == {"7.2.12 (ab12)"}
    assert "mode), on Linux 7.2.12 (ab12)." in got.reports[0].read_text()


def test_quick_has_its_own_settings_and_expectations(paper, monkeypatch):
    ran = fake_simulator(monkeypatch)
    got = reproduce("paper", quick=True, **paper)
    assert len(ran) == 2 and {c["verdict"] for c in got.claims} == {"not-determined"} and got.exit_status == 0
    assert "quick mode" in got.reports[0].read_text()


def test_quick_settings_go_by_pattern_and_a_pattern_without_a_match_is_refused(paper):
    quick = paper["root"] / "paper" / "fig" / "quick.toml"
    quick.write_text('["*"]\nseeds = 1\n["s*c"]\nduration = "1ms"\n["x"]\nseeds = 2\n["y*"]\nseeds = 2\n')
    with pytest.raises(SpecError) as refused:
        reproduce("paper", quick=True, **paper)
    assert [fault.path.rsplit(": ", 1)[1] for fault in refused.value.faults] == ["x", "y*"]
    assert refused.value.faults[0].rule == "matches no experiment of the figure; it has spec"
    quick.write_text('["*"]\nseeds = 1\nduration = "3ms"\n["s*c"]\nduration = "2ms"\n')
    (figure,) = find("paper", paper["root"])
    document = figure.documents(quick=True)["spec"]
    assert (document["seeds"], document["duration"]) == (1, "2ms")


def test_an_unexpected_verdict_is_status_one(paper, monkeypatch):
    fake_simulator(monkeypatch)
    claims = paper["root"] / "paper" / "fig" / "claims.toml"
    claims.write_text(claims.read_text().replace("published = 73.0", "published = 99.0"))
    got = reproduce("paper", **paper)
    assert got.claims[0]["verdict"] == "differs" and got.exit_status == 1
    assert "Verdicts that differ from the recorded ones: 1" in got.reports[0].read_text()


def test_a_failed_run_decides_nothing(paper, monkeypatch):
    fake_simulator(monkeypatch, fails=lambda e: e["seed"] == 2 and e["transport"]["cc"]["ns"] == 0.5)
    got = reproduce("paper", **paper)
    assert {c["verdict"] for c in got.claims} == {"not-determined"} and got.exit_status == 1
    assert "caught fire" in got.claims[0]["because"] and "caught fire" in got.reports[0].read_text()


def test_report_is_one_file_without_outside_assets(paper, monkeypatch, tmp_path):
    fake_simulator(monkeypatch)
    page = reproduce("paper", **paper).reports[0]
    text = page.read_text()
    assert not re.search(r'(src|href)="(?!data:|#)', text) and "@import" not in text
    assert text.count("<script") == 2, "the figures' numbers, and what shows them"
    assert str(tmp_path) not in text
    assert "What <code>x &lt; y</code> says" in text and "Published &lt;numbers&gt;" in text
    assert "./shallows reproduce paper" in text and "data:image/svg+xml;base64," in text
    assert "0.0-test" in text and "transport" in text
    names = sorted(p.name for p in page.parent.iterdir())
    assert names == [
        ".shallows-report",
        "claims.json",
        "fig-published-numbers.csv",
        "fig-queue.svg",
        "index.html",
    ]
    assert len(json.loads((page.parent / "claims.json").read_text())["claims"]) == 3
    again = reproduce("paper", **paper).reports[0]
    assert again.read_text() == text and not list(again.parent.parent.glob(".*"))


def test_report_that_cannot_be_written(paper, monkeypatch):
    fake_simulator(monkeypatch)
    paper["out"].write_text("a file")
    with pytest.raises(StoreError, match="cannot be written"):
        reproduce("paper", **paper)


def test_all_faults_of_all_files_before_anything_runs(paper, monkeypatch):
    ran = fake_simulator(monkeypatch)
    figure = paper["root"] / "paper" / "fig"
    (figure / "claims.toml").write_text("[[claim]]\nid = 3\n")
    with pytest.raises(SpecError) as caught:
        reproduce("paper", **paper)
    assert len(caught.value.faults) == 3 and caught.value.faults[0].path.startswith("paper/fig: claim[0]")
    assert not ran


def test_unknown_target_is_named_with_a_suggestion(paper):
    with pytest.raises(SpecError, match='did you mean "paper/fig"'):
        find("paper/fg", paper["root"])
    assert [f.name for f in find(None, paper["root"])] == ["fig"]


def test_measuring_what_no_claim_asks_is_a_defect(paper, monkeypatch):
    fake_simulator(monkeypatch)
    module = paper["root"] / "paper" / "fig" / "figure.py"
    module.write_text(module.read_text().replace('"delay":', '"dealy":'))
    with pytest.raises(FigureError, match=r'measure returned "dealy" \(did you mean "delay"\?\)'):
        reproduce("paper", **paper)


def test_figures_and_tables_lead_to_the_claims_that_they_show(paper, monkeypatch):
    fake_simulator(monkeypatch)
    declare(paper["root"], 'shows={"queue": ("delay",), "Published <numbers>": ("ga*", "delay")}')
    page = reproduce("paper", **paper).reports[0].read_text()
    assert page.count('href="#claim-fig-delay"') == 4 and page.count('href="#claim-fig-gain"') == 3


def test_claims_with_seeds_of_their_own_are_counted_in_seeds(paper, monkeypatch):
    fake_simulator(monkeypatch)
    declare(paper["root"], 'samples="batches"', 'seeded=["ga*"]')
    counted = {record["id"]: record["n_of"] for record in reproduce("paper", **paper).claims}
    assert counted["paper/fig/delay"] == "batches" and counted["paper/fig/gain"] == "seeds"


ABOUT = """
author = "A. Author"
year = 2019
title = "On waits"
link = "https://example.org/p.pdf"
headline = "Published: {{ published: fig/delay }}. Found: {{ fig/delay }}; less: {{ verdict: fig/gain }}."
figure = "fig/queue"
"""


def test_a_report_begins_with_document_headline_key_figure_and_sentences(paper, monkeypatch):
    fake_simulator(monkeypatch)
    (paper["root"] / "paper" / "paper.toml").write_text(ABOUT)
    got = reproduce("paper", **paper)
    page = got.reports[0].read_text()
    headline = got.headline["paper"]
    assert headline.startswith("Published: 73.0 us. Found: 7")
    assert headline.endswith("less: holds.") and headline in page
    order = ["A. Author", "On waits", "Published: 73.0 us", "Short flows wait 73 us.", "All claims by figure"]
    places = [page.index(words) for words in order]
    assert places == sorted(places)
    assert page.index('alt="fig: Queue"') < page.index("All claims by figure"), "the key figure"
    assert json.loads((got.reports[0].parent / "claims.json").read_text())["headline"] == headline


def test_claims_that_are_not_measured_come_last_on_the_first_screen(paper, monkeypatch):
    fake_simulator(monkeypatch)
    claims = paper["root"] / "paper" / "fig" / "claims.toml"
    *others, unmeasured = claims.read_text().split("[[claim]]")[1:]
    claims.write_text("".join(f"[[claim]]{one}" for one in (unmeasured, *others)))
    got = reproduce("paper", **paper)
    assert [claim["measured"] is None for claim in got.claims] == [True, False, False]
    [kind] = sentences([section for section in got.sections if section.claims])
    assert [claim["unmeasured"] for claim in kind["claims"]] == [False, False, True]


@pytest.mark.parametrize(
    ("change", "path", "hint"),
    [
        (("fig/gain", "fig/gian"), "paper: paper.toml: headline", 'did you mean "fig/gain"?'),
        (("fig/queue", "fgi/queue"), "paper: paper.toml: figure", 'did you mean "fig"?'),
        (("author", "auhtor"), "paper: paper.toml: auhtor", 'did you mean "author"?'),
    ],
)
def test_faults_of_a_headline_come_before_anything_runs(paper, monkeypatch, change, path, hint):
    ran = fake_simulator(monkeypatch)
    (paper["root"] / "paper" / "paper.toml").write_text(ABOUT.replace(*change))
    with pytest.raises(SpecError) as refused:
        reproduce("paper", **paper)
    found = {fault.path: fault.hint for fault in refused.value.faults}
    assert found[path] == hint and not ran


def test_a_figure_beyond_the_document_has_claims_of_ours_and_a_heading(paper, monkeypatch):
    fake_simulator(monkeypatch)
    declare(paper["root"], "beyond=True")
    with pytest.raises(SpecError, match="must be ours in a figure beyond the document") as refused:
        reproduce("paper", **paper)
    assert len(refused.value.faults) == 3
    claims = paper["root"] / "paper" / "fig" / "claims.toml"
    claims.write_text(claims.read_text().replace('"published"', '"ours"'))
    page = reproduce("paper", **paper).reports[0].read_text()
    assert page.index("Beyond the document</h2>") < page.index('<section id="fig">')


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("dctcp_wait_p99_ms", "DCTCP wait 99th percentile (ms)"),
        ("queue_mean_packets", "queue mean (packets)"),
        ("timeouts", "timeouts"),
        ("cubic", "CUBIC"),
        ("mean time (ms)", "mean time (ms)"),
        ("ms", "ms"),
    ],
)
def test_heads_of_tables_are_words(column, said):
    assert head(column) == said


def test_a_cell_without_a_number_is_a_dash():
    assert [cell(float("nan")), cell(None), cell(1.23456), cell("a")] == ["–", "–", "1.235", "a"]


@pytest.mark.parametrize(
    "field", ['shows={"quue": ("delay",)}', 'captions={"quue": "x"}', 'folded=("quue",)']
)
def test_what_texts_name_must_be_drawn(paper, monkeypatch, field):
    fake_simulator(monkeypatch)
    declare(paper["root"], field)
    name = field.partition("=")[0]
    with pytest.raises(FigureError, match=rf'FIGURE\.{name} names "quue" \(did you mean "queue"\?\)'):
        reproduce("paper", **paper)


def test_short_names_stay_apart():
    got = short_names(["transport.cc.g", "transport.cc.ns", "a.kind", "b.kind"])
    assert list(got.values()) == ["g", "ns", "a.kind", "b.kind"]


def test_markdown():
    html = to_html("# T\ntext\n- a\n  - b\n\n[x](https://e.org/a) [y](local.md) <b> `a ** b ** c`\n\n## U")
    assert html.startswith("<h2>T</h2>\n<p>text</p>\n<ul>\n<li>a\n<ul>\n<li>b</li>")
    assert '<a href="https://e.org/a">x</a> y &lt;b&gt; <code>a ** b ** c</code>' in html
    assert html.endswith("<h3>U</h3>\n")
    assert "<td>1</td>" in to_html("| a |\n|---|\n| 1 |")
    assert "<img" not in to_html("![x](https://e.org/a.png)") and 'href="javascript' not in to_html(
        "[x](javascript:a)"
    )
