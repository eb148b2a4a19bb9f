"""Tuning: strict reading, the same study for the same seed and after any stop, winners on fresh seeds."""

import json
import subprocess
import sys

import jsonschema
import numpy as np
import pytest
from conftest import ROOT, shallows, write_toml
from shallows.document.points import expand
from shallows.errors import SpecError
from shallows.execution.runner import Runner
from shallows.results.store import Store
from shallows.studies.tune.search import Candidate, Trial, choose, front_of, judge, tune
from shallows.studies.tune.section import Constraint, Objective, read
from sweeping import wait_for_runs

pytest.importorskip("optuna")

STUDY = {
    "duration": "5ms",
    "topology": {"kind": "star", "senders": 3, "rate": "1Gbps", "delay": "10us"},
    "queue": {"kind": "threshold", "limit": "100pkt", "mark_at": "20pkt"},
    "transport": {"cc": "dctcp"},
    "traffic": {"long": {"kind": "bulk", "from": "s*", "to": "r0", "jitter": "1ms"}},
    "tune": {
        "trials": 10,
        "batch": 4,
        "seeds": 2,
        "confirm": 4,
        "parameters": {
            "queue.mark_at": {"low": 2, "high": 90, "unit": "pkt"},
            "transport.cc.g": {"low": 0.01, "high": 1.0, "log": True},
        },
        "objectives": {
            "bottleneck_mean_packets": "minimise",
            "long.goodput_bps": {"goal": "maximise", "margin": 0.01},
        },
    },
}


def with_tune(**changes):
    return STUDY | {"tune": {k: v for k, v in (STUDY["tune"] | changes).items() if v is not None}}


def study(tmp_path, name="study", **changes):
    return read(write_toml(tmp_path / f"{name}.toml", with_tune(**changes)))


def test_equal_seeds_give_equal_studies_whatever_the_threads(tmp_path):
    what = study(tmp_path)
    one, two = (tune(what, Runner.of(store=tmp_path / str(n), workers=n)) for n in (1, 3))
    assert one == two
    assert len(one.trials) == 10 and one.front
    again = tune(study(tmp_path, seed=2), Runner.of(store=tmp_path / "1"))
    assert [t.settings for t in again.trials] != [t.settings for t in one.trials]


def test_a_study_killed_at_any_moment_goes_on_to_the_same_result(tmp_path):
    file = write_toml(tmp_path / "s.toml", with_tune(trials=12) | {"duration": "300ms"})
    command = [sys.executable, "-m", "shallows", "tune", str(file), "--store", str(tmp_path / "runs")]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for_runs(process, tmp_path / "runs", 6)
    process.kill()
    process.communicate()
    assert not (tmp_path / "reports").exists()
    seen = []
    went_on = tune(
        read(file), Runner.of(store=tmp_path / "runs"), progress=lambda done, failed: seen.append(done)
    )
    assert went_on == tune(read(file), Runner.of(store=tmp_path / "whole"))
    assert {r.hash for r in Store(tmp_path / "runs").runs()} == {
        r.hash for r in Store(tmp_path / "whole").runs()
    }
    assert seen[-1] == pytest.approx(13 * 2 + (len(went_on.winners) + 1) * 4)


@pytest.mark.parametrize("sampler", ["nsga2", "random"])
def test_other_samplers(tmp_path, sampler):
    found = tune(study(tmp_path, sampler=sampler, batch=5), Runner.of(store=tmp_path / "runs"))
    assert {t.state for t in found.trials} == {"feasible"}
    assert all(2 <= int(t.settings["queue.mark_at"].removesuffix("pkt")) <= 90 for t in found.trials)


def test_winners_and_baselines_run_on_seeds_that_no_trial_used(tmp_path):
    what = study(tmp_path, baselines={"deep": {"queue.mark_at": "90pkt"}})
    found = tune(what, Runner.of(store=tmp_path / "runs"))
    assert (what.seeds, what.confirm) == ([1, 2], [3, 4, 5, 6])
    assert [one.name for one in found.baselines] == ["deep"]
    assert all(len(v) == 4 for one in found.winners for v in one.values.values())
    seeds = {run.seed for run in Store(tmp_path / "runs").runs()}
    assert seeds == {1, 2, 3, 4, 5, 6}
    shallow = min(found.winners, key=lambda one: np.mean(one.values["bottleneck_mean_packets"]))
    row = next(c for c in found.contests if c.winner == shallow.name).rows[0]
    assert row.verdict == "real" and row.difference.high < 0


def test_one_objective_takes_the_best_and_constraints_bind(tmp_path):
    metric, goal = "long.goodput_bps", {"bottleneck_mean_packets": "minimise"}
    free = tune(study(tmp_path, sampler="random"), Runner.of(store=tmp_path / "runs"))
    bound = float(np.median([t.values[metric] for t in free.trials]))
    bounds = {metric: {"at_least": bound}}
    found = tune(
        study(tmp_path, sampler="random", objectives=goal, constraints=bounds),
        Runner.of(store=tmp_path / "runs"),
    )
    assert [t.settings for t in found.trials] == [t.settings for t in free.trials]
    kept = [t for t in found.trials if t.values[metric] >= bound]
    assert [t.number for t in kept] == [t.number for t in found.trials if t.state == "feasible"]
    assert 0 < len(kept) < len(found.trials)
    best = min(kept, key=lambda t: t.values["bottleneck_mean_packets"])
    assert found.winners[0].settings == best.settings


def test_settings_that_are_illegal_together_are_recorded_not_run(tmp_path):
    parameters = {
        "queue.mark_at": {"choices": ["20pkt", "80pkt"]},
        "queue.limit": {"choices": ["30pkt", "100pkt"]},
    }
    found = tune(study(tmp_path, parameters=parameters, sampler="random"), Runner.of(store=tmp_path / "runs"))
    illegal = [t for t in found.trials if t.state == "illegal"]
    assert illegal and all("queue.mark_at" in t.note for t in illegal)
    assert all(t.settings == {"queue.mark_at": "80pkt", "queue.limit": "30pkt"} for t in illegal)


def test_a_metric_without_a_value_is_no_value(tmp_path):
    found = tune(
        study(tmp_path, objectives={"long.fct_mean_ps": "minimise"}), Runner.of(store=tmp_path / "runs")
    )
    assert {t.state for t in found.trials} == {"no-value"}
    assert found.winners == [] and found.contests == []


OBJECTIVES = [
    Objective(metric="delay", goal="minimise"),
    Objective(metric="rate", goal="maximise", margin=0.01),
]


def trial(number, delay, rate, state="feasible"):
    return Trial(number, {}, state, {"delay": delay, "rate": rate})


def test_the_front_is_what_no_feasible_trial_dominates():
    points = [(1, 1), (2, 3), (3, 2), (4, 4), (4, 4), (5, 1), (0, 9)]
    trials = [trial(k, *p) for k, p in enumerate(points[:-1])] + [trial(6, *points[-1], state="infeasible")]
    assert front_of(OBJECTIVES, trials) == [0, 1, 3]
    assert front_of(OBJECTIVES[:1], trials) == [0, 1, 2, 3, 5]


def test_fresh_seeds_go_to_those_that_seem_to_dominate():
    front = [
        trial(k, *p) for k, p in enumerate([(1, 50), (2, 99.5), (3, 100), (4, 100), (5, 100.5), (9, 101)])
    ]
    rivals = [trial(0, 8, 100), trial(1, 4.5, 100), trial(2, 0, 0, "failed")]
    assert [t.number for t in choose(OBJECTIVES, front, rivals, 2)] == [1, 3]
    assert [t.number for t in choose(OBJECTIVES, front, rivals, 4)] == [1, 2, 3, 4]
    assert [t.number for t in choose(OBJECTIVES, front, rivals, 9)] == [1, 2, 3, 4, 0, 5]
    assert [t.number for t in choose(OBJECTIVES, front, [], 3)] == [0, 2, 5]
    assert [t.number for t in choose(OBJECTIVES[:1], front, rivals, 2)] == [0, 1]


NOISE = np.random.default_rng(3).normal(0, 0.1, 12)


def candidate(name, delay, rate):
    values = {"delay": (delay + NOISE).tolist(), "rate": (rate * (1 + NOISE / 1000)).tolist()}
    return Candidate(name, {}, values)


@pytest.mark.parametrize(
    ("delay", "rate", "verdict"),
    [
        (9.0, 100.0, "dominates"),
        (9.0, 99.5, "dominates"),
        (9.0, 110.0, "dominates"),
        (9.0, 98.0, "does-not-dominate"),
        (11.0, 110.0, "does-not-dominate"),
        (10.0, 100.0, "not-determined"),
    ],
)
def test_a_winner_dominates_by_intervals_only(delay, rate, verdict):
    base = candidate("base", 10.0, 100.0)
    shaken = candidate("new", delay, rate)
    shaken.values["delay"] = (np.array(shaken.values["delay"]) + NOISE[::-1]).tolist()
    (contest,) = judge(OBJECTIVES, [shaken], [base])
    assert contest.verdict == verdict


def test_constraints_measure_by_how_much_they_are_broken():
    assert Constraint(metric="x", at_least=3.0).excess(2.0) == 1.0
    assert Constraint(metric="x", at_most=3.0).excess(5.0) == 2.0
    both = Constraint(metric="x", at_least=1.0, at_most=3.0)
    assert [both.excess(v) for v in (0.5, 2.0, 4.0)] == [0.5, -1.0, 1.0]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"trials": None}, "tune.trials"),
        ({"trials": 0}, "tune.trials"),
        ({"trails": 3}, "tune.trails"),
        ({"seeds": None}, "tune.seeds"),
        ({"seeds": []}, "tune.seeds"),
        ({"confirm": [2, 3]}, "tune.confirm"),
        ({"confirm": 1}, "tune.confirm"),
        ({"sampler": "grid"}, "tune.sampler"),
        ({"parameters": None}, "tune.parameters"),
        ({"parameters": {"transport.cc.g": [0.1]}}, 'tune.parameters."transport.cc.g"'),
        ({"parameters": {"transport.cc.g": {"low": 1, "high": 0.5}}}, 'tune.parameters."transport.cc.g"'),
        (
            {"parameters": {"transport.cc.g": {"low": 0, "high": 1.0, "log": True}}},
            'tune.parameters."transport.cc.g"',
        ),
        (
            {"parameters": {"queue.mark_at": {"low": 0.5, "high": 2, "unit": "pkt"}}},
            'tune.parameters."queue.mark_at"',
        ),
        ({"parameters": {"transport.cc.g": {"choices": [0.1]}}}, 'tune.parameters."transport.cc.g"'),
        (
            {"parameters": {"transport.cc.g": {"low": 0.1, "hihg": 2}}},
            'tune.parameters."transport.cc.g".hihg',
        ),
        (
            {"parameters": {"transport.cc.gain": {"low": 0.1, "high": 1}}},
            "tune.parameters: transport.cc.gain",
        ),
        ({"parameters": {"transport.cc.g": {"low": 0.1, "high": 9.0}}}, "tune.parameters: transport.cc.g"),
        ({"objectives": None}, "tune.objectives"),
        ({"objectives": {"jain": "maximize"}}, "tune.objectives.jain"),
        ({"objectives": {"goodput": "maximise"}}, "tune.objectives"),
        ({"objectives": {"jain": {"goal": "maximise", "margin": 2}}}, "tune.objectives.jain"),
        ({"constraints": {"dropss": {"at_most": 0}}}, "tune.constraints"),
        ({"constraints": {"drops": {"at_most": 0, "at_least": 3}}}, "tune.constraints.drops"),
        ({"constraints": {"drops": 3}}, "tune.constraints.drops"),
        ({"baselines": {"b": {"queue.mark_att": "3pkt"}}}, "tune.baselines.b: queue.mark_att"),
        ({"baselines": ["b"]}, "tune.baselines"),
    ],
    ids=str,
)
def test_what_is_no_study_is_refused_before_anything_runs(tmp_path, changes, path):
    with pytest.raises(SpecError) as caught:
        study(tmp_path, **changes)
    assert any(fault.path.startswith(path) for fault in caught.value.faults), caught.value


def test_all_faults_come_at_once_and_seeds_of_the_file_are_refused(tmp_path):
    with pytest.raises(SpecError) as caught:
        study(tmp_path, trials=0, sampler="grid", objectives={"jain": "up"})
    assert {f.path for f in caught.value.faults} == {
        "tune.trials",
        "tune.sampler",
        "tune.objectives.jain.goal",
    }
    with pytest.raises(SpecError, match="seeds: cannot be used"):
        read(write_toml(tmp_path / "x.toml", STUDY | {"seeds": 3}))
    with pytest.raises(SpecError, match="tune: is missing"):
        read(write_toml(tmp_path / "y.toml", {k: v for k, v in STUDY.items() if k != "tune"}))
    with pytest.raises(SpecError, match="shallows tune"):
        expand(STUDY)


def test_the_command_line_prints_the_json_of_its_schema(tmp_path):
    file = write_toml(tmp_path / "s.toml", with_tune(trials=4, winners=1))
    done = shallows("tune", file, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    schema = json.loads((ROOT / "python/shallows/cli/schemas/tune.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(found)
    page = (tmp_path / found["report"]).read_text()
    assert "fresh seeds" in page and page.count("data:image/svg+xml") == 1
    assert (tmp_path / found["report"]).with_name("trials.csv").read_text().count("\n") == 5
    again = shallows("tune", file, cwd=tmp_path)
    assert "Winners and baselines on 4 fresh seeds" in again.stdout
