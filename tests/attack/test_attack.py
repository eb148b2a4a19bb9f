"""Attacks: equal finds for any number of workers and after a stop, small finds, refusals before a search."""

import json
import tomllib

import pytest
from conftest import shallows, write_toml
from shallows.attack import objective as objectives
from shallows.attack import show
from shallows.attack.attack import attack
from shallows.attack.confirm import Confirmed, confirm
from shallows.attack.search import Laboratory, Tried
from shallows.attack.shrink import Find, shrink
from shallows.attack.space import read
from shallows.errors import SpecError
from shallows.execution.runner import Runner
from shallows.results.store import Store

pytest.importorskip("optuna")

FILE = {
    "duration": "100ms",
    "topology": {
        "kind": "dumbbell",
        "left": 2,
        "right": 2,
        "rate": "10Mbps",
        "access_rate": "100Mbps",
        "delay": "1ms",
    },
    "queue": {"kind": "drop-tail", "limit": "20pkt"},
    "transport": {"cc": "newreno"},
    "traffic": {
        "long": {"kind": "bulk", "from": "l0", "to": "r0"},
        "pulse": {"kind": "datagrams", "from": "l1", "to": "r1", "bytes": "1000B", "rate": "1Mbps"},
    },
    "attack": {
        "generations": 3,
        "population": 6,
        "parameters": {
            "traffic.pulse.rate": {"low": 1, "high": 12, "unit": "Mbps"},
            "queue.limit": {"low": 5, "high": 40, "unit": "pkt"},
        },
        "schedules": {
            "cut": {
                "link": "left<->right",
                "what": "rate",
                "steps": 3,
                "at": {"low": 10, "high": 90, "unit": "ms"},
                "to": {"low": 1, "high": 10, "unit": "Mbps"},
            }
        },
    },
}
AGAINST = "long.goodput_bps < 40 %"


def file_of(tmp_path, **changes):
    table = {k: v for k, v in (FILE["attack"] | changes).items() if v is not None}
    return write_toml(tmp_path / "attack.toml", FILE | {"attack": table})


def attacked(tmp_path, store, against=AGAINST, workers=1, reference=(), **changes):
    what = read(file_of(tmp_path, **changes), reference=reference)
    return attack(what, objectives.read(against, what), Runner.of(store=tmp_path / store, workers=workers))


def refused(tmp_path, against=AGAINST, reference=(), budget=None, **changes):
    with pytest.raises(SpecError) as error:
        what = read(file_of(tmp_path, **changes), reference=reference)
        attack(what, objectives.read(against, what), Runner.of(store=tmp_path / "refused"), budget)
    return str(error.value)


def test_the_number_of_workers_changes_nothing(tmp_path):
    one, two = (attacked(tmp_path, str(n), workers=n) for n in (1, 2))
    assert one.find is not None
    assert (one.tried, one.find) == (two.tried, two.find)
    other = attacked(tmp_path, "1", seed=2)
    assert [t.candidate for t in other.tried] != [t.candidate for t in one.tried]


def test_an_attack_that_was_stopped_resumes_to_the_same_find(tmp_path):
    what = read(file_of(tmp_path))
    runner = Runner.of(store=tmp_path / "stopped", workers=1)

    def stop(done, failed):
        if done > 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attack(what, objectives.read(AGAINST, what), runner, progress=stop)
    before = {run.hash for run in Store(tmp_path / "stopped").runs()}
    again, whole = attacked(tmp_path, "stopped"), attacked(tmp_path, "whole")
    after = {run.hash for run in Store(tmp_path / "stopped").runs()}
    assert before < after == {run.hash for run in Store(tmp_path / "whole").runs()}
    assert (again.tried, again.find) == (whole.tried, whole.find)


def test_a_find_is_smaller_and_keeps_its_effect(tmp_path):
    found = attacked(tmp_path, "runs")
    first, small = found.find.first, found.find.tried
    assert len(small.candidate) < len(first.candidate)
    assert found.objective.near(small.value, first.value, found.base.value)
    assert {n.name for n in found.find.neighbours} == set(small.candidate)


def test_a_name_without_effect_on_the_value_goes_and_a_needed_one_stays(tmp_path):
    what = read(file_of(tmp_path))
    lab = Laboratory(what, objectives.read(AGAINST, what), Runner.of(store=tmp_path / "runs"))
    [base] = lab.run(what.points({}))
    lab.base = base
    early = {"cut.0.at": 10, "cut.0.to": 1, "cut.1.at": 90, "cut.1.to": 2}
    [[as_written], [first]] = lab.measure([{}, early])
    small = shrink(lab, first, as_written)
    assert small.candidate == {"cut.0.at": 10, "cut.0.to": 1}


@pytest.mark.parametrize(
    ("against", "words"),
    [
        ("long.goodput_bps < 200 %", "holds for the file as written already"),
        ("long.goodput_bps < 0 %", "must have a share above zero"),
        ("drops < 0", "can never hold"),
        ("drops >= 0", "can never fail"),
        ("long.goodput_bps == 1bps", "which give a direction"),
        ("long.goodputt < 10 %", "must begin with a metric"),
    ],
)
def test_objectives_that_show_nothing_are_refused(tmp_path, against, words):
    assert words in refused(tmp_path, against)


def test_ranges_without_effect_are_refused_together(tmp_path):
    idle = {
        "traffic.pulse.rate": {"low": 1, "high": 12, "unit": "Mbps"},
        "transport.max_rto": {"low": 50, "high": 60, "unit": "s"},
        'port."r0->right".loss': {"choices": [0.0, 0.0]},
    }
    told = refused(tmp_path, parameters=idle)
    assert "transport.max_rto: has no effect" in told and "loss: has no effect" in told
    assert "pulse.rate" not in told


def test_a_budget_that_cannot_hold_the_search_is_refused(tmp_path):
    assert "cannot hold 3 generations of 6 candidates" in refused(tmp_path, budget=1e-6)


def test_all_faults_of_the_section_appear_at_once(tmp_path):
    told = refused(
        tmp_path,
        population=1,
        parameters={"queue.limit": {"low": 9, "high": 3}},
        schedules={"cut": {"link": "a", "what": "colour"}},
    )
    for path in ("attack.population", "queue.limit", "cut.what", "cut.at"):
        assert path in told
    seeded = write_toml(tmp_path / "seeded.toml", FILE | {"seed": 3})
    with pytest.raises(SpecError, match=r"seed: cannot be used with \[attack\]"):
        read(seeded)
    legal = refused(tmp_path, parameters={"queue.depth": {"low": 1, "high": 3}})
    assert "queue.depth" in legal
    assert "must be a share in %" in refused(tmp_path, "drops > 1", reference=["transport.cc=cubic"])


def test_a_reference_sees_the_conditions_of_each_candidate(tmp_path):
    found = attacked(tmp_path, "runs", "long.goodput_bps < 1 %", reference=["transport.cc=cubic"])
    assert found.find is None
    legal = [one for one in found.tried if one.state == "feasible"]
    for one in legal:
        own, other = (each["long.goodput_bps"] for each in (one.metrics, one.reference))
        assert one.value == own / other
    assert len({one.reference["long.goodput_bps"] for one in legal}) > 1


def test_constraints_bind(tmp_path):
    bound = {"pulse.datagrams": {"at_most": 80}}
    found = attacked(tmp_path, "runs", constraints=bound)
    assert {one.state for one in found.tried} == {"feasible", "infeasible"}
    assert found.best.metrics["pulse.datagrams"] <= 80


def test_an_effect_that_vanishes_under_jitter_is_an_artefact():
    one = Tried(0, {}, "feasible", 0.1)

    def verdict(seeds, jittered):
        return Find(one, one, 1, seeds, jittered, []).verdict

    assert verdict([True] * 4, [True] * 4) == "weakness"
    assert verdict([True] * 4, [False] * 4) == "artefact"
    assert verdict([True, True, True, False], [True] * 4) == "not-determined"


def test_a_find_is_confirmed_seed_by_seed_against_the_file_as_written_there(tmp_path):
    found = attacked(tmp_path, "runs")
    told = confirm(found, Runner.of(store=tmp_path / "elsewhere"), "other")
    assert told.verdict == "confirmed"
    assert told.values[0] == found.find.tried.value
    assert len(told.values) == 1 + found.space.check
    assert told.base == found.base.value
    assert "On other: confirmed" in show.find_text(found, found.find, told)


def test_what_a_backend_does_not_show_confirms_nothing():
    assert Confirmed("other", 1.0, (0.1, 0.5), (True, False)).verdict == "not-determined"
    assert Confirmed("other", 1.0, (0.5, 0.5), (False, False)).verdict == "not-confirmed"
    assert Confirmed("other", 0.1, (0.1,), (True,), "holds as written").verdict == "not-determined"
    assert Confirmed("other", note="the run failed").verdict == "failed"


def test_the_command_writes_a_find_that_run_repeats(tmp_path):
    file = file_of(tmp_path)
    done = shallows("attack", file, "--against", AGAINST, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    place = tmp_path / "reports/attack-attack"
    assert tomllib.loads((place / "find.toml").read_text())["seed"] == 1
    assert (place / "search.svg").read_bytes()[:5] == b"<?xml"
    again = shallows("run", place / "find.toml", "--expect", told["find"]["expect"], cwd=tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr
