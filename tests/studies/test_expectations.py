"""Expectations: how they are read, refused and judged, and what CI gets of them."""

import json
import shutil
import subprocess
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
import shallows
import yaml
from conftest import ROOT
from pages.blocks import blocks_of
from shallows.document.points import Point
from shallows.errors import SpecError
from shallows.execution.jobs import Outcome
from shallows.studies.outcomes.expectations import judge, read
from shallows.testing import CheckFailed, expect

INCAST = {
    "duration": "20ms",
    "topology": {"kind": "star", "senders": 4, "rate": "10Gbps", "delay": "5us"},
    "transport": {"cc": "dctcp"},
    "queue": {"kind": "threshold"},
    "traffic": {
        "query": {"kind": "incast", "from": "s*", "to": "r0", "response": "20KB", "jitter": "20us"},
    },
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return shallows.run(INCAST, store=tmp_path_factory.mktemp("runs"))


def judged(text, *metrics, run=None):
    """The verdict on runs with these metrics, one a seed, and the words beside it."""
    experiment = run.manifest["experiment"]
    outcomes = [
        Outcome(Point("", {}, seed, experiment, ""), "", "done", run, metrics=each)
        for seed, each in enumerate(metrics, 1)
    ]
    (one,) = judge(read([text], [experiment]), outcomes)
    return one.verdict, one.measured


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("drops < 4", "holds"),
        ("drops < 3", "differs"),
        ("drops <= 3", "holds"),
        ("drops == 3", "holds"),
        ("drops != 3", "differs"),
        ("drops > 2.5", "holds"),
        ("goodput_bps_total >= 1Gbps", "holds"),
        ("query.fct_p99_ps < 1us", "differs"),
        ("jain > 90%", "holds"),
        ("marks > 2 * drops", "holds"),
        ("marks > 4*drops", "differs"),
        ("drops < marks", "holds"),
        ("query.alpha < 1", "not-determined"),  # has no value
    ],
)
def test_one_run_is_judged_by_its_value(run, text, verdict):
    metrics = {"drops": 3, "marks": 10, "goodput_bps_total": 1e9, "query.fct_p99_ps": 2e6, "jain": 0.95}
    assert judged(text, metrics | {"query.alpha": None}, run=run)[0] == verdict


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([10, 11, 12], "holds"),  # 11 [8.5, 13.5]
        ([18, 19, 26], "not-determined"),  # 21 [10.2, 31.8]
        ([30, 31, 32], "differs"),
        ([10, 10, 10], "holds"),  # equal in runs that differ
        ([10, 30, 10], "not-determined"),
    ],
)
def test_several_seeds_are_judged_by_the_whole_interval(run, values, verdict):
    metrics = [{"marks": value, "drops": seed} for seed, value in enumerate(values)]
    assert judged("marks < 20", *metrics, run=run)[0] == verdict


def test_two_metrics_are_compared_seed_by_seed(run):
    """Both vary by a factor of ten from seed to seed, and one is always the larger by one."""
    metrics = [{"marks": 10**n + 1 + n % 2, "drops": 10**n} for n in range(1, 5)]
    assert judged("marks > drops", *metrics, run=run)[0] == "holds"
    assert judged("marks == drops", *metrics, run=run)[0] == "differs"


def test_a_message_that_was_cut_off_when_it_was_older_than_the_bound_leaves_it_open(tmp_path):
    """10 ms at 1 Gb/s carry 1.25 MB: the second message of 1 MB is cut off after some 2 ms."""
    document = INCAST | {
        "duration": "10ms",
        "topology": INCAST["topology"] | {"rate": "1Gbps"},
        "traffic": {
            "two": {
                "kind": "table",
                "flows": [{"from": "s0", "to": "r0", "bytes": "1MB", "start": at} for at in ("0s", "8ms")],
            },
        },
    }
    cut = shallows.run(document, store=tmp_path)
    assert cut.metrics["two.messages_unfinished"] == 1
    expect(cut, "two.fct_p99_ps < 9ms", "two.messages == 1")
    late = shallows.run(
        document,
        settings=[
            'traffic.two.flows=[{from="s0",to="r0",bytes="10KB",start="0s"},'
            '{from="s0",to="r0",bytes="9MB",start="0s"}]'
        ],
        store=tmp_path,
    )
    with pytest.raises(CheckFailed, match=r"not-determined.*1 of 2 messages did not end, one after 10 ms"):
        expect(late, "two.fct_p99_ps < 9ms")
    # 9 MB alone take 72 ms: after 10 ms its slowdown may still be below 2.
    expect(late, "two.slowdown_p99 < 2")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("drops", 'must be like "web.fct_p99_ps < 2ms"'),
        ("drop < 1", 'did you mean "drops"?'),
        ("drops < 1ms", "must end with a number"),
        ("query.fct_p99_ps < 20", "needs a unit"),
        ("drops >= 0", "can never fail: drops is 0 or more"),
        ("jain <= 1", "can never fail: jain is from 0 to 1"),
        ("jain > 100%", "can never hold"),
        ("drops < 0", "can never hold"),
        ("drops < nan", "must end with a number"),
        ("drops > query.fct_p99_ps", "one unit"),
        ("drops > 0 * marks", "a factor above zero"),
        ("drops > 1.2 * drops", "two different metrics"),
        ("drops > 2 * dropss", 'did you mean "drops"?'),
    ],
)
def test_an_expectation_that_means_nothing_is_refused(run, text, told):
    with pytest.raises(SpecError) as error:
        read([text, "drops == 0"], [run.manifest["experiment"]])
    (fault,) = error.value.faults
    assert told in f"{fault}" and fault.path == "--expect"


def test_all_faults_are_told_at_once(run):
    with pytest.raises(SpecError) as error:
        read(["drop < 1", "drops"], [run.manifest["experiment"]])
    assert len(error.value.faults) == 2


# ---- the command ----


def command(*arguments, where):
    return subprocess.run(
        [ROOT / "shallows", *arguments], cwd=where, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "incast.toml"
    path.write_text(blocks(ROOT / "docs/how-to/ci.md")["incast.toml"])
    return path


def blocks(page):
    """The files that a page writes, by name."""
    return {block.value: block.text for block in blocks_of(page) if block.note == "file"}


def test_the_status_the_table_the_json_and_junit_agree(file, tmp_path):
    fine, wrong = "query.timeouts == 0", "query.fct_p99_ps < 1us"
    shown = command("run", file, "--expect", fine, "--junit", "a.xml", where=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "holds" in shown.stdout.split("Expectations")[1]
    both = ("--expect", fine, "--expect", wrong, "--seeds", "2")
    shown = command("run", file, *both, "--junit", "b.xml", "--json", where=tmp_path)
    assert shown.returncode == 1
    told = json.loads(shown.stdout)["expectations"]
    assert [each["verdict"] for each in told] == ["holds", "differs"]
    cases = ElementTree.parse(tmp_path / "b.xml").getroot().findall(".//testcase")
    assert [case.get("name") for case in cases] == [fine, wrong]
    assert [case.find("failure") is not None for case in cases] == [False, True]


def test_a_sweep_is_asked_at_each_point(file, tmp_path):
    varied = ("--set", 'sweep.grid={"queue.mark_at"=["5pkt","65pkt"]}', "--expect", "marks > 0", "--json")
    shown = command("sweep", file, *varied, where=tmp_path)
    told = json.loads(shown.stdout)["expectations"]
    assert len({each["label"] for each in told}) == 2


def test_junit_without_an_expectation_is_refused(file, tmp_path):
    shown = command("run", file, "--junit", "a.xml", where=tmp_path)
    assert shown.returncode == 2 and "--junit: requires --expect" in shown.stderr
    assert not (tmp_path / "runs").exists()


# ---- the page ----


def test_the_workflow_of_the_page_runs_as_written(file, tmp_path):
    """Its own steps, in a folder laid out as it says."""
    (tmp_path / "shallows").symlink_to(ROOT)
    (tmp_path / "ci").mkdir()
    shutil.copy(file, tmp_path / "ci")
    steps = yaml.safe_load(blocks(ROOT / "docs/how-to/ci.md")["transport.yml"])["jobs"]["transport"]["steps"]
    (step,) = [each["run"] for each in steps if "run" in each]
    subprocess.run(step, shell=True, cwd=tmp_path, check=True, capture_output=True, timeout=120)
    assert ElementTree.parse(tmp_path / "results.xml").getroot().get("name") == "incast.toml"


def test_the_tests_of_the_page_pass(file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = SimpleNamespace()
    exec(blocks(ROOT / "docs/how-to/ci.md")["test_incast.py"], vars(module))
    module.test_twenty_answers_at_once()
    module.test_it_repeats()
