"""Reports of runs and sweeps: their numbers, every setting with its source, and a file to repeat it."""

import csv
import json
import re

import pytest
import shallows
from conftest import SMALL
from shallows.document.load import load
from shallows.document.points import expand
from shallows.document.settings import flat, sources
from shallows.errors import SpecError, StoreError
from shallows.studies.outcomes import report
from shallows.studies.outcomes.figures import _numbers
from shallows.tables.metric_names import meaning, names

SWEPT = SMALL | {"seeds": 2, "sweep": {"grid": {"queue.mark_at": ["5pkt", "10pkt"]}}}


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    return shallows.sweep(SWEPT, store=tmp_path_factory.mktemp("runs"), progress=False)


def written(tmp_path, outcomes, document=SWEPT, name="sweep-small"):
    page = report.write_runs(name, "Small <b>", outcomes, document, tmp_path, "./shallows sweep small.toml")
    return page, page.read_text()


def test_a_sweep_has_a_row_a_point_and_a_file_that_repeats_it(swept, tmp_path):
    page, html = written(tmp_path, swept)
    assert "2 points, 4 runs, seeds 1 to 2" in html and "./shallows sweep small.toml" in html
    assert "Small &lt;b&gt;" in html and "<b>" not in html
    for text in ("5pkt", "10pkt", "Metrics against queue.mark_at", "RFC 8257 s.3.3 step 9"):
        assert text in html, text
    again = expand(load(page.with_name("experiment.toml")))
    assert [point.key for point in again] == [outcome.point.key for outcome in swept]


def test_the_csv_has_the_metrics_of_each_run(swept, tmp_path):
    page, _ = written(tmp_path, swept)
    with page.with_name("metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["hash"] for row in rows] == [outcome.hash for outcome in swept]
    for row, outcome in zip(rows, swept, strict=True):
        assert float(row["goodput_bps_total"]) == outcome.metrics["goodput_bps_total"]


def test_a_run_shows_every_metric_with_its_meaning_and_every_setting(swept, tmp_path):
    _, html = written(tmp_path, [swept[0]], swept[0].run.experiment, "run-small")
    for name, value in swept[0].metrics.items():
        assert value is None or f"<code>{name}</code>" in html, name
    for path in flat(swept[0].run.experiment):
        assert json.dumps(path)[1:-1].replace("\\", "") in html.replace("&#34;", '"'), path
    assert "Mean queue over time at the switch port with the highest utilisation." in html


def test_failures_are_on_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "shallows.backends.simulator.Simulator.run",
        lambda *_: (_ for _ in ()).throw(shallows.RunError("it broke")),
    )
    failed = shallows.sweep(SWEPT, store=tmp_path / "runs", progress=False)
    _, html = written(tmp_path, failed)
    assert "Failed: it broke" in html and "<h2>Figures" not in html


def test_a_directory_of_somebody_else_is_not_replaced(tmp_path):
    (tmp_path / "run-mine").mkdir()
    (tmp_path / "run-mine" / "thesis.tex").write_text("years of work")
    with pytest.raises(StoreError, match="was not made by Shallows"):
        report.page_of_runs("run-mine", tmp_path)


def test_the_command_writes_the_page_of_a_stored_run(swept, tmp_path, capsys):
    from shallows.cli.report import report as command

    run = swept[0].run
    command(run.hash, tmp_path, run.path.parent)
    page = re.search(r"report: (\S+)", capsys.readouterr().out)[1]
    assert page == str(tmp_path / f"run-{run.hash}" / "index.html")
    for name in ("0" * 20, "../x", "*"):
        with pytest.raises(SpecError, match="there is no such run"):
            command(name, tmp_path, run.path.parent)


def test_every_setting_has_its_source():
    [point] = expand(SMALL | {"port": {"s*->*": {"queue": {"kind": "codel", "target": "1ms"}}}})
    told = {path: (value, default, source) for path, value, default, source in sources(point.experiment)}
    assert set(told) == {path for path, value in flat(point.experiment).items() if value != {}} | {
        path for path in told if path.endswith(".kind")
    }
    assert told['port."s*->*".queue.target'] == ("1ms", "5ms", "RFC 8289 s.4.4")
    loads = [path for path in told if path.endswith("transport.mss")]
    assert loads and all("Ethernet" in told[path][2] for path in loads)


def test_every_metric_of_a_run_has_a_meaning(swept):
    assert [name for name in names(swept[0].run.experiment) if not meaning(name)] == []


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (["5pkt", "10pkt"], ([5.0, 10.0], "pkt")),
        ([0.5, 1, "2"], ([0.5, 1.0, 2.0], "")),
        (["5pkt", "10us"], ([], "")),
        (["codel", "pie"], ([], "")),
        ([None, 1], ([], "")),
    ],
)
def test_numbers_need_one_unit(values, found):
    assert _numbers(values) == found


LABELLED = SMALL | {
    "seeds": 2,
    "traffic": {
        "web": {
            "kind": "messages",
            "from": "s*",
            "to": "r0",
            "bytes": "20KB",
            "interval": "200us",
            "phase": "random",
        }
    },
    "sweep": {
        "grid": {"topology.delay": ["10us", "20us"]},
        "points": [
            {"label": "Surge", "transport.cc": {"kind": "dctcp"}},
            {"label": "Tide", "transport.cc": {"kind": "cubic"}, "queue": {"kind": "codel", "limit": "1MB"}},
        ],
    },
}


def test_a_report_keeps_labels_and_obeys_by_and_metric(tmp_path):
    """Schemes were Python's repr of their tables, and the page showed other metrics than those named."""
    outcomes = shallows.sweep(LABELLED, store=tmp_path / "runs", progress=False)
    page = report.write_runs(
        "sweep-labels", "t", outcomes, LABELLED, tmp_path, "x", metric=["slowdown_p*"], by="class"
    )
    html = page.read_text()
    first = html.split("<h2>Results</h2>")[1].split("<h2>")[0]
    assert first.count("10us, Surge") == 1 and first.count("20us, Tide") == 1 and "{" not in first
    heads = re.findall(r"<th(?: [^>]*)?>(.*?)</th>", first)
    assert [re.sub("<wbr>", "", head) for head in heads] == [
        "label", "class", "slowdown p50", "slowdown p95", "slowdown p99",
    ]  # fmt: skip
    assert "What the labels stand for" in html and "transport.cc = {&#34;kind&#34;: &#34;cubic&#34;}" in html
    svg = page.with_name("metrics-against-topology-delay.svg").read_text()
    assert "Surge" in html and "{&#x27;" not in svg and "{'" not in svg
    with page.with_name("metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert json.loads(rows[-1]["transport.cc"]) == {"kind": "cubic"} and rows[-1]["label"].endswith("Tide")
