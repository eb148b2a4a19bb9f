"""The live page's results, jobs and export: hostile names, jobs, films in one file."""

import json
import os
import subprocess
import sys
import time
import tomllib

import pytest
import shallows
from conftest import ROOT
from shallows.document.points import expand
from shallows.document.settings import flat, sources, text_of
from shallows.errors import RunError, SpecError
from shallows.results.store import Store
from shallows.studies.page.place import MARKER
from shallows.web.jobs.queue import Jobs
from shallows.web.limits import Limits
from shallows.web.live.export import page_of
from shallows.web.pages.commands import made_by, python_of
from shallows.web.pages.papers import measured_here
from shallows.web.pages.runs import differences, listed, run_of, varied
from shallows.web.pages.sweep_file import sweep_text

QUICKSTART = (ROOT / "experiments/quickstart.toml").read_text()
SHORT = QUICKSTART.replace('"50ms"', '"4ms"').replace('"10ms"', '"1ms"')


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    path = folder / "short.toml"
    path.write_text(SHORT)
    for marks in ("20pkt", "65pkt"):
        shallows.run(path, settings=[f"queue.mark_at={marks}"], store=folder / "runs", progress=False)
    return Store(folder / "runs")


@pytest.fixture
def jobs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = Jobs(Limits(jobs=2), Store(tmp_path / "runs"), False)
    yield made
    made.close()


def ended(job):
    until = time.monotonic() + 60
    while job.ended is None:
        assert time.monotonic() < until, job.lines
        time.sleep(0.05)
    return job


# ---- results ----


def test_runs_are_found_by_their_settings(store):
    assert len(listed(store)) == 2 == len(listed(store, "dctcp star"))
    [one] = listed(store, "queue.mark_at=20pkt")
    assert listed(store, one.hash) == [one] and listed(store, "queue.mark_at=20pkt cubic") == []
    assert varied(listed(store)) == {
        "queue.mark_at": [run.experiment["queue"]["mark_at"] for run in listed(store)]
    }
    a, b = listed(store)
    assert [path for path, *_ in differences(flat(a.experiment), flat(b.experiment))] == ["queue.mark_at"]


@pytest.mark.parametrize(
    "name", ["", "..", "../x", "0" * 19, "g" * 20, "/etc/passwd", "0" * 20, "A" * 20, "%2e%2e"]
)
def test_only_names_of_runs_are_looked_up(store, name):
    assert run_of(store, name) is None


def test_a_stored_run_is_a_file_again_with_sources(store, tmp_path):
    run = listed(store, "20pkt")[0]
    again = tmp_path / "again.toml"
    again.write_text(text_of(run.experiment))
    assert shallows.run(again, store=store.path, progress=False).hash == run.hash
    told = {path: (value, default, source) for path, value, default, source in sources(run.experiment)}
    assert told["queue.mark_at"][:2] == ("20pkt", "65pkt") and "Alizadeh" in told["queue.mark_at"][2]
    assert told["traffic.long.transport.cc.g"][1] == "0.0625"


def test_chosen_runs_are_one_sweep_file_which_finds_them_all(store, tmp_path):
    text = sweep_text(listed(store))
    assert text is not None and "[sweep.grid]" in text
    path = tmp_path / "sweep.toml"
    path.write_text(text)
    outcomes = shallows.sweep(path, store=store.path, progress=False)
    assert {each.status for each in outcomes} == {"stored"}
    assert {each.run.hash for each in outcomes} == {run.hash for run in store.runs()}


def test_other_queues_and_seeds_are_a_sweep_file_only_if_one_file_can_say_them(tmp_path):
    path = tmp_path / "short.toml"
    path.write_text(SHORT)

    def stored(*settings):
        return shallows.run(path, settings=settings, store=tmp_path / "runs", progress=False)

    drop_tail = 'queue={kind="drop-tail",limit="50pkt"}'
    runs = [stored(), stored("seed=2"), stored(drop_tail), stored(drop_tail, "seed=2")]
    text = sweep_text(runs)
    assert text is not None and "[[sweep.grid.queue]]" in text
    assert len(expand(tomllib.loads(text))) == 4
    assert sweep_text(runs[:3]) is None  # only one of the two queues has a second seed
    text = sweep_text([runs[0], runs[2], stored(drop_tail, "duration=5ms")])
    assert text is not None and "[[sweep.points]]" in text
    assert len(expand(tomllib.loads(text))) == 3


def test_the_newest_report_of_a_paper_or_of_one_figure_decides(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def report(name, verdict, at):
        folder = tmp_path / "reports" / name
        folder.mkdir(parents=True)
        (folder / MARKER).write_text("")
        claim = {"id": "xdctcp/fig2/optimum", "figure": "fig2", "verdict": verdict}
        (folder / "claims.json").write_text(json.dumps({"claims": [claim]}))
        os.utime(folder, (at, at))

    report("xdctcp-quick", "differs", 1000)
    assert measured_here("xdctcp", "quick", ["fig2"])["fig2/optimum"]["verdict"] == "differs"
    report("xdctcp-fig2-quick", "holds", 2000)
    assert measured_here("xdctcp", "quick", ["fig2"])["fig2/optimum"]["verdict"] == "holds"
    assert measured_here("xdctcp", "full", ["fig2"]) == {}


# ---- jobs ----


def test_a_job_is_the_command_line_with_its_store_and_hashes(jobs, tmp_path):
    job = ended(jobs.start("run", SHORT, {}))
    assert job.state == "done", job.lines
    path = tmp_path / "mine.toml"
    path.write_text(SHORT)
    by_hand = shallows.run(path, store=tmp_path / "other", progress=False)
    assert [run.hash for run in Store(tmp_path / "runs").runs()] == [by_hand.hash]
    assert job.shown.startswith("./shallows run mine.toml --store ")


def test_a_comparison_of_two_schemes_and_a_failure(jobs):
    job = jobs.start("compare", SHORT, {"second": ["queue.mark_at=10pkt"], "seeds": 2, "workers": 1})
    bad = jobs.start("run", SHORT.replace("mark_at", "mark_att"), {})
    assert ended(job).state == "done", job.lines
    assert ended(bad).state == "failed" and any("mark_att" in line for line in bad.lines)


def test_a_job_is_cancelled_and_too_many_are_refused(jobs):
    long = (
        SHORT.replace('"4ms"', '"500s"')
        .replace('queue_trace = "20us"', "")
        .replace('flow_trace = "100us"', "")
    )
    running = [jobs.start("run", long, {}), jobs.start("run", long, {"settings": ["seed=2"]})]
    with pytest.raises(SpecError, match="under way already"):
        jobs.start("run", long, {})
    for job in running:
        jobs.cancel(job)
        assert ended(job).state == "cancelled"


@pytest.mark.parametrize(
    ("kind", "text", "options"),
    [
        ("run", "[python]\nmodules = ['os.py']\n", {}),
        ("run", SHORT, {"settings": ['python.modules=["x.py"]']}),
        ("compare", SHORT, {"vary": ["python.modules=x.py"]}),
        ("compare", SHORT, {"second": ['python.modules=["x.py"]']}),
        ("compare", SHORT, {"second": ["traffic.long.name=/etc/passwd"]}),
        ("sweep", SHORT + '[sweep.grid]\n"traffic.long.name" = ["/etc/x.csv"]\n', {}),
        ("reproduce", "", {"target": "../../etc"}),
        ("reproduce", "", {"target": "--help"}),
        ("reproduce", "", {"target": "xdctcp; rm"}),
        ("validate", SHORT, {}),
        ("linux", SHORT, {}),
    ],
)
def test_work_that_a_page_may_not_start(jobs, kind, text, options):
    with pytest.raises(SpecError):
        jobs.start(kind, text, options)
    assert jobs.all() == []


@pytest.mark.parametrize(
    ("command", "python"),
    [
        ("./shallows run mine.toml --set 'queue.mark_at=20pkt' --json",
         'shallows.run("mine.toml", settings=["queue.mark_at=20pkt"])'),
        ("./shallows compare one.toml two.toml --seeds 5 --store runs --json",
         'shallows.compare("one.toml", "two.toml", seeds=5, store="runs")'),
        ("./shallows compare one.toml --vary queue.mark_at=20pkt,65pkt --vary queue=codel,pie",
         'shallows.compare("one.toml", vary=["queue.mark_at=20pkt,65pkt", "queue=codel,pie"])'),
        ("./shallows reproduce xdctcp/fig2 --quick", 'shallows.reproduce("xdctcp/fig2", quick=True)'),
    ],
)  # fmt: skip
def test_a_command_line_in_python(command, python):
    assert python_of(command) == python


def test_a_report_says_its_command(tmp_path):
    (tmp_path / "index.html").write_text(
        "<p>Made by <code>./shallows tune a.toml --set &#39;b=1&#39;</code>."
    )
    assert made_by(tmp_path) == "./shallows tune a.toml --set 'b=1'"
    (tmp_path / "index.html").write_text(
        "Made by <code>./shallows run /tmp/shallows-jobs-x_1/0a9f/b.toml</code>"
    )
    assert made_by(tmp_path) == "./shallows run b.toml"
    assert made_by(tmp_path / "nowhere") is None


# ---- films in one file ----


def test_an_exported_film_is_bounded_whole_and_the_same_each_time(store):
    experiment = listed(store, "20pkt")[0].experiment | {"title": "<script>alert(1)</script>"}
    page = page_of(experiment)
    assert page == page_of(experiment) and len(page) < 1_500_000
    assert "<script>alert(1)" not in page and "&lt;script&gt;alert(1)" in page
    assert "http://" not in page.replace("http://www.w3.org", "") and "https://" not in page
    with pytest.raises(RunError, match="Python"):
        page_of(experiment | {"python": {"components": []}})


def test_a_slow_machine_exports_the_same_bytes(store, monkeypatch):
    experiment = listed(store, "20pkt")[0].experiment
    page = page_of(experiment)
    monkeypatch.setattr("shallows.web.live.film.QUICK_S", 0.0)
    monkeypatch.setattr("shallows.web.live.film.SLOW_S", 0.0)
    assert page_of(experiment) == page


def test_the_command_exports_a_run_and_refuses_other_names(store, tmp_path):
    def export(*words):
        command = [sys.executable, "-m", "shallows", "export", *words, "--store", str(store.path)]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)

    name = listed(store)[0].hash
    assert export(name, "film.html").returncode == 0 and (tmp_path / "film.html").stat().st_size > 100_000
    for words in (
        (name, "film.txt"),
        ("0" * 20, "film.html"),
        (name, "nowhere/film.html"),
        ("nothing.toml", "x.html"),
    ):
        assert export(*words).returncode == 2


def test_settings_of_the_export_are_those_of_the_run(store):
    run = listed(store, "65pkt")[0]
    shown = page_of(run.experiment).split("<pre>")[1].split("</pre>")[0]
    assert (
        json.loads(shown.replace("&#34;", '"').replace("&gt;", ">").replace("&#39;", "'")) == run.experiment
    )
