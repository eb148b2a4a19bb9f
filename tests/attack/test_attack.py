"""Attacks: equal finds for any number of workers and after a stop, small finds, refusals before a search."""

import json
import subprocess
import sys
import tomllib
from types import SimpleNamespace

import pytest
from conftest import shallows, write_toml
from shallows import api
from shallows.attack import corpus, page, show, storage, words
from shallows.attack import objective as objectives
from shallows.attack.attack import Attacked, attack
from shallows.attack.confirm import Confirmed, confirm
from shallows.attack.search import Laboratory, Tried
from shallows.attack.shrink import Find, Neighbour, shrink
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


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder and the result of a whole attack, which tests read and do not change."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, attacked(folder, "runs")


def test_the_number_of_workers_changes_nothing(tmp_path, whole):
    one, two = whole[1], attacked(tmp_path, "2", workers=2)
    assert one.find is not None
    assert (one.tried, one.find) == (two.tried, two.find)


def test_another_seed_tries_others(tmp_path, whole):
    other = attacked(tmp_path, "runs", seed=2, generations=1)
    first = [t.candidate for t in whole[1].tried[: len(other.tried)]]
    assert other.tried and [t.candidate for t in other.tried] != first


def test_an_attack_that_was_stopped_resumes_to_the_same_find(tmp_path, whole):
    what = read(file_of(tmp_path))
    runner = Runner.of(store=tmp_path / "stopped", workers=1)

    def stop(done, failed):
        if done > 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attack(what, objectives.read(AGAINST, what), runner, progress=stop)
    before = {run.hash for run in Store(tmp_path / "stopped").runs()}
    folder, undisturbed = whole
    again = attacked(tmp_path, "stopped")
    after = {run.hash for run in Store(tmp_path / "stopped").runs()}
    assert before < after == {run.hash for run in Store(folder / "runs").runs()}
    assert (again.tried, again.find) == (undisturbed.tried, undisturbed.find)


def test_a_find_is_smaller_and_keeps_its_effect(whole):
    found = whole[1]
    first, small = found.find.first, found.find.tried
    assert len(small.candidate) < len(first.candidate)
    assert found.objective.near(small.value, first.value, found.base.value)
    assert {n.name for n in found.find.neighbours} == set(small.candidate)


@pytest.mark.parametrize(
    ("load", "transport", "against"),
    [
        ({"kind": "datagrams", "bytes": "1000B", "rate": "1Mbps"}, {"cc": "newreno"}, "drops > 0"),
        ({"kind": "bulk"}, {"cc": "newreno", "cwnd_max": "2pkt"}, "drops > 0"),
    ],
    ids=["a rate below the capacity", "a window below the buffer"],
)
def test_a_control_that_is_safe_by_construction_yields_no_find(tmp_path, load, transport, against):
    ranges = {"port.left->right.jitter": {"low": 1, "high": 2000, "unit": "us"}}
    cut = FILE["attack"]["schedules"]["cut"] | {"to": {"low": 2, "high": 10, "unit": "Mbps"}}
    table = {"generations": 2, "population": 4, "parameters": ranges, "schedules": {"cut": cut}}
    traffic = {"long": load | {"from": "l0", "to": "r0"}}
    document = FILE | {"transport": transport, "traffic": traffic, "attack": table}
    what = read(write_toml(tmp_path / "safe.toml", document))
    found = attack(what, objectives.read(against, what), Runner.of(store=tmp_path / "runs", workers=1))
    assert found.find is None
    assert {one.state for one in found.tried} == {"feasible"} and {one.value for one in found.tried} == {0}


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
    ("against", "told"),
    [
        ("long.goodput_bps < 200 %", "holds for the file as written already"),
        ("long.goodput_bps < 0 %", "must have a share above zero"),
        ("drops < 0", "can never hold"),
        ("drops >= 0", "can never fail"),
        ("long.goodput_bps == 1bps", "which give a direction"),
        ("long.goodputt < 10 %", "must begin with a metric"),
        ("long.goodput_bps < 1.2.3 %", "must be a rate"),
    ],
)
def test_objectives_that_show_nothing_are_refused(tmp_path, against, told):
    assert told in refused(tmp_path, against)


def test_ranges_without_effect_are_refused_together(tmp_path):
    idle = {
        "traffic.pulse.rate": {"low": 1, "high": 12, "unit": "Mbps"},
        "transport.max_rto": {"low": 50, "high": 60, "unit": "s"},
        'port."r0->right".loss': {"choices": [0.0, 0.0]},
    }
    told = refused(tmp_path, parameters=idle)
    assert "transport.max_rto: has no effect" in told and "loss: has no effect" in told
    assert "pulse.rate" not in told


def test_a_range_whose_ends_agree_has_an_effect_between_them(tmp_path):
    """Choices with equal ends were refused, although the one between them changes the run."""
    choices = {"queue.limit": {"choices": ["20pkt", "5pkt", "20pkt"]}}
    small = {"parameters": choices, "schedules": {}, "generations": 1, "population": 4}
    found = attacked(tmp_path, "runs", "long.goodput_bps < 1 %", **small)
    assert len({one.value for one in found.tried}) == 2
    assert len(list(Store(tmp_path / "runs").runs())) <= found.runs <= storage.most_runs(found.space)


def test_a_run_that_fails_is_a_find_with_its_file(tmp_path):
    what = read(file_of(tmp_path, schedules={}), reference=["transport.cc=cubic"])
    sought = objectives.read(AGAINST, what)
    why = "the law of packets is broken"
    tried = [
        Tried(number, {"queue.limit": number}, "failed", note=why, seed=3, by_reference=True)
        for number in (7, 9)
    ]
    found = Attacked(what, sought, Tried(0, {}, "feasible", 1.0), tried, None, None, 2, 0.0)
    where = show.keep(found, "attack", tmp_path)
    [file] = where.glob("fault-*.toml")
    text = file.read_text()
    assert file.name == "fault-7.toml" and why in text and "./shallows run fault-7.toml" in text
    document = tomllib.loads(text)
    assert (document["seed"], document["queue"]["limit"]) == (3, "7pkt")
    assert document["transport"]["cc"] == "cubic", "the run of the reference failed"


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


def test_faults_of_the_section_and_of_its_ranges_in_the_file_appear_together(tmp_path):
    told = refused(
        tmp_path,
        generation=3,
        schedules={},
        parameters={
            "queue.limit": {"low": 9, "high": 3},
            "queue.limt": {"low": 1, "high": 3},
            "seed": {"low": 1, "high": 3},
        },
        losses={"few": {"link": "l0->left", "packets": 40, "numbers": {"low": 1.5, "high": 3}}},
        constraints={"drops": {"at_most": "3"}, "dorps": {"at_most": 3}},
    )
    for rule in (
        "attack.generation: unknown key",
        'attack.parameters."queue.limit": low must be below high',
        "attack.parameters: queue.limt: unknown key",
        "attack.parameters.seed: cannot vary",
        "attack.losses.few.packets: must be <= 16",
        "attack.losses.few.numbers: must be { low, high } of whole numbers",
        'attack.constraints.drops.at_most: must be a number, got "3"',
        'names no metric of these runs, got "dorps" (did you mean "drops"?)',
    ):
        assert rule in told
    assert "cannot be given together" not in told


def test_times_of_events_may_vary(tmp_path):
    """Their names end like those of a schedule's times, which the check of ranges keeps at their middle."""
    down = {"down": {"at": "50ms", "link": "left<->right", "state": "down"}}
    table = {
        "generations": 1,
        "population": 4,
        "parameters": {"event.down.at": {"low": 20, "high": 99, "unit": "ms"}},
    }
    what = read(write_toml(tmp_path / "attack.toml", FILE | {"event": down, "attack": table}))
    runner = Runner.of(store=tmp_path / "runs", workers=1)
    assert attack(what, objectives.read("long.goodput_bps < 1 %", what), runner).best is not None


def test_a_part_of_a_setting_varies_beside_the_whole(tmp_path):
    """`queue` in the place of `queue.limit` had wiped the limit out, since it came later."""
    ranges = {
        "queue.limit": {"low": 5, "high": 40, "unit": "pkt"},
        "queue": {"choices": [{"kind": "codel"}, {"kind": "drop-tail"}]},
    }
    what = read(file_of(tmp_path, parameters=ranges, schedules={}))
    document = what.document({"queue.limit": 7, "queue": {"kind": "codel"}})
    assert document["queue"] == {"kind": "codel", "limit": "7pkt"}


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
    assert verdict([True] * 4, [True, False, False, False]) == "not-determined", "chance, not order"
    assert verdict([True, True, True, False], [True] * 4) == "not-determined"
    assert verdict([True, False, False, False], [False] * 4) == "not-determined", (
        "luck of one seed, not of order"
    )


def test_a_find_is_confirmed_seed_by_seed_against_the_file_as_written_there(tmp_path, whole):
    found = whole[1]
    told = confirm(found, Runner.of(store=tmp_path / "elsewhere"), "other")
    assert told.verdict == "confirmed"
    assert told.values[0] == found.find.tried.value
    assert len(told.values) == 1 + found.space.check
    assert told.base == found.base.value
    assert "On other: confirmed" in show.find_text(found, found.find, told)


def test_a_page_without_the_counts_of_the_simulator_has_no_worst_moment():
    """A search on Linux ended in an error after all of its runs."""
    assert page._moment(None, None, None, SimpleNamespace(manifest={"counts": {}})) is None


def test_a_verdict_names_the_setting_by_which_a_search_finds_more(tmp_path):
    one, space = Tried(0, {}, "feasible", 0.1), SimpleNamespace(seeds=1)

    def told(seeds, jittered):
        find = Find(one, one, 1_200_000, seeds, jittered, [])
        return words.meaning(find), words.hint(SimpleNamespace(space=space), find)

    assert told([True] * 2, [True] * 2)[1] == ""
    assert told([True] * 2, [False] * 2)[1].endswith('[port."*->*"] jitter = "1.2us"')
    assert "a matter of chance" in told([True] * 2, [True, False])[0]
    luck, seeds = told([False] * 2, [False] * 2)
    assert luck == "it holds on none of the further seeds" and seeds.endswith("attack.seeds = 3")


def test_a_backend_that_is_unknown_is_a_fault_of_its_option(tmp_path):
    done = shallows("attack", file_of(tmp_path), "--against", AGAINST, "--on", "windows", cwd=tmp_path)
    assert done.returncode == 2 and "--on: must be one of" in done.stderr


def test_what_a_backend_does_not_show_confirms_nothing():
    assert Confirmed("other", 1.0, (0.1, 0.5), (True, False)).verdict == "not-determined"
    assert Confirmed("other", 1.0, (0.5, 0.5), (False, False)).verdict == "not-confirmed"
    assert Confirmed("other", 0.1, (0.1,), (True,), "holds as written").verdict == "not-determined"
    assert Confirmed("other", note="the run failed").verdict == "failed"


def test_a_silence_is_one_of_a_flow_that_waits_for_data(tmp_path):
    """Flows whose messages had all arrived were said to get nothing until the end of the run."""
    bulk, few = ({"kind": kind, "from": "l0", "to": "r0"} for kind in ("bulk", "messages"))
    few |= {"bytes": "3KB", "count": 1, "interval": "10ms"}
    down = {"down": {"at": "30ms", "link": "left<->right", "state": "down"}}
    changes = {"traffic": {"long": bulk, "few": few}, "event": down, "probe": {"flow_trace": "1ms"}}
    base = {key: value for key, value in FILE.items() if key != "attack"}
    run = api.run(base | changes, store=tmp_path / "runs")
    [told] = page.silences(run)
    assert told == "Flow 0 (long, l0 to r0) gets nothing for 70 ms, from 30 ms on."
    late = few | {"start": "40ms"}
    both = page.silences(
        api.run(base | changes | {"traffic": {"long": bulk, "few": late}}, store=tmp_path / "runs")
    )
    assert [one[:12] for one in both] == ["Flow 0 (long", "Flow 1 (few,"]


def of_seeds(*states_and_values, least=True):
    """A candidate of several seeds, by state and value on each."""
    lab = SimpleNamespace(objective=SimpleNamespace(least=least))
    tried = [
        Tried(0, {}, state, value, note=state, seed=seed, excesses=(float(seed),))
        for seed, (state, value) in enumerate(states_and_values, 1)
    ]
    return Laboratory._least_bad(lab, tried)


def test_a_candidate_of_several_seeds_has_the_value_that_is_least_bad_for_the_victim():
    lucky = [("feasible", 0.1), ("feasible", 0.7), ("feasible", 0.2)]
    least, most = of_seeds(*lucky), of_seeds(*lucky, least=False)
    assert (least.value, least.seed, least.values) == (0.7, 2, (0.1, 0.7, 0.2))
    assert (most.value, most.seed) == (0.1, 1)
    assert least.excesses == (3.0,), "the worst breach of each constraint"


@pytest.mark.parametrize("state", ["failed", "no-value", "infeasible"])
def test_a_candidate_that_is_no_find_on_one_seed_is_none(state):
    told = of_seeds(("feasible", 0.1), (state, 0.05 if state == "infeasible" else None), ("feasible", 0.2))
    assert told.state == state and told.note == state
    assert told.value == (0.2 if state == "infeasible" else None)


def test_a_search_on_several_seeds_is_the_same_for_any_workers_and_holds_on_each(tmp_path):
    """Losses by chance: the best of one seed is luck, and the find of three seeds holds on each of them."""
    chance = {'port."left->right".loss': {"low": 0.001, "high": 0.3}}
    changes = {"parameters": chance, "schedules": {}, "generations": 1, "population": 4, "check": 2}
    against = "long.goodput_bps < 70 %"
    one, two = (attacked(tmp_path, f"many{n}", against, workers=n, seeds=3, **changes) for n in (1, 2))
    assert (one.tried, one.find) == (two.tried, two.find)
    assert [len(each.values) for each in one.tried] == [3] * len(one.tried)
    assert all(each.value == max(each.values) for each in one.tried)
    assert any(each.value > each.values[0] for each in one.tried), "the first seed alone was lucky"
    assert one.find is not None
    small = one.find.tried
    assert all(one.objective.holds(value) for value in small.values) and len(small.values) == 3
    text = show.find_text(one, one.find)
    assert tomllib.loads(text)["seed"] == small.seed and "the least bad of 3 seeds" in text
    assert list(one.space.further_seeds) == [4, 5]


def test_an_attack_takes_no_more_runs_than_it_says(tmp_path):
    few = {"generations": 1, "population": 4, "schedules": {}, "first": "60ms", "seeds": 2, "check": 2}
    found = attacked(tmp_path, "runs", "long.goodput_bps < 80 %", **few)
    stored = len(list(Store(tmp_path / "runs").runs()))
    assert found.find is not None, "so that it is shrunk and checked as well"
    assert stored <= found.runs <= storage.most_runs(found.space)


def test_an_attack_whose_runs_do_not_fit_the_disk_is_refused(tmp_path, monkeypatch):
    full = SimpleNamespace(total=10**9, used=10**9 - 1000, free=1000)
    monkeypatch.setattr(storage.shutil, "disk_usage", lambda place: full)
    assert "--store: may take" in refused(tmp_path)


@pytest.mark.parametrize("stage", ["start", "search", "shrinking"])
def test_ctrl_c_ends_an_attack_soon_and_keeps_the_best_so_far(tmp_path, stage):
    """The command is stopped from within as a stage begins, so that no clock decides which stage it is."""
    file = file_of(tmp_path)
    text = f"""
import os, signal, sys, threading, time
import shallows.__main__
from shallows.attack import attack, search, shrink
asked = []
def stop():
    asked.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)
stage, seen = {stage!r}, []
measure = search.Laboratory.run
def run(lab, points):
    seen.append(lab)
    if stage == "start" and len(seen) == 1 or stage == "search" and len(points) == 6 and len(seen) > 4:
        stop()
    return measure(lab, points)
search.Laboratory.run = run
whole = shrink.shrink
shrink.shrink = lambda *given: stop() if stage == "shrinking" else whole(*given)
ends = os._exit
def ended(status):
    print("took", time.monotonic() - asked[0], file=sys.stderr)
    sys.stderr.flush()
    ends(status)
from shallows.cli import entry
sys.exit = ended
os._exit = ended
entry.main()
"""
    command = ["attack", str(file), "--against", AGAINST, "--store", str(tmp_path / "runs"), "--workers", "1"]
    done = subprocess.run(
        [sys.executable, "-c", text, *command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    assert float(done.stderr.split("took ")[1]) < 3  # a second, and what the machine's other work takes
    place = tmp_path / "reports/attack-attack"
    if stage == "start":
        assert not place.exists()
        return
    told = json.loads((place / "attack.json").read_text())
    assert told["stopped"] == {"search": "the search", "shrinking": "the shrinking and the checks"}[stage]
    assert len(told["candidates"]) == {"search": 6, "shrinking": 18}[stage]
    assert "The same command resumes" in done.stderr
    best = tomllib.loads((place / "best.toml").read_text())
    assert api.run(best, store=tmp_path / "again").metrics["long.goodput_bps"] > 0


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


def test_losses_by_number_are_searched_and_made_few(tmp_path):
    losses = {"cut": {"link": "l0->left", "of": "long", "packets": 4, "numbers": {"low": 1, "high": 60}}}
    changes = {"parameters": {}, "schedules": {}, "losses": losses, "generations": 2}
    found = attacked(tmp_path, "runs", "long.goodput_bps < 90 %", **changes)
    small = found.find.tried.candidate
    assert small.keys() <= {f"cut.{step}.packet" for step in range(4)} and len(small) >= 1
    port = found.space.document(small)["port"]["l0->left"]
    assert port == {"drop_packets": sorted(set(small.values())), "drop_class": "long"}


def test_a_loss_needs_whole_numbers_from_one_on(tmp_path):
    wrong = {"cut": {"link": "l0->left", "numbers": {"low": 0, "high": 60}}}
    assert "must be { low, high } of whole numbers from 1 on" in refused(tmp_path, losses=wrong)
    unknown = {"few": {"link": "l0->left", "of": "lon", "numbers": {"low": 1, "high": 60}}}
    assert "attack.losses.few: port.l0->left.drop_class" in refused(tmp_path, losses=unknown)


def test_hopeless_candidates_are_stopped_and_the_find_is_the_same_for_any_workers(tmp_path, whole):
    one, two = (attacked(tmp_path, str(n), workers=n, first="6ms") for n in (1, 2))
    stopped = [each for each in one.tried if each.state == "stopped"]
    assert stopped and all(each.value is None and "no effect within 6ms" in each.note for each in stopped)
    assert (one.tried, one.find) == (two.tried, two.find)
    slow = whole[1]
    assert not [each for each in slow.tried if each.state == "stopped"]
    first = slow.space.population  # the first generation is drawn before any value is known
    assert [t.candidate for t in one.tried[:first]] == [t.candidate for t in slow.tried[:first]]


def test_the_first_run_must_be_shorter_and_an_experiment(tmp_path):
    assert "attack.first: must be shorter than duration" in refused(tmp_path, first="3600s")
    assert "attack.first: " in refused(tmp_path, first="soon")


def test_earlier_finds_are_tried_first(tmp_path, whole):
    found = whole[1]
    what = read(file_of(tmp_path))
    place = tmp_path / "finds/one"
    place.mkdir(parents=True)
    (place / "find.toml").write_text(show.find_text(found, found.find))
    [values] = corpus.read(tmp_path / "finds", what)
    small = found.find.tried.candidate
    assert {name: values[name] for name in small} == small
    runner = Runner.of(store=tmp_path / "warm", workers=1)
    warm = attack(what, objectives.read(AGAINST, what), runner, corpus=[values])
    assert {name: warm.tried[0].candidate[name] for name in small} == small


def test_a_corpus_without_a_use_is_refused(tmp_path):
    what = read(file_of(tmp_path))
    with pytest.raises(SpecError, match="must be a folder with experiments"):
        corpus.read(tmp_path / "nowhere", what)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/a.toml").write_text('duration = "1s"\n')
    with pytest.raises(SpecError, match="no experiment with a value within the ranges"):
        corpus.read(tmp_path / "other", what)


@pytest.mark.parametrize(
    ("value", "unit", "number"),
    [("1ms", "us", 1000), ("3Gbps", "Mbps", 3000), ("2KB", "B", 2000), ("7pkt", "pkt", 7), (0.5, "", 0.5)],
)
def test_values_of_a_corpus_may_have_other_units(value, unit, number):
    assert corpus.number(value, unit) == number


def test_the_neighbourhood_ends_where_the_effect_does():
    near = Neighbour("a", [(1, True), (5, False), (9, True), (11, True), (20, True), (40, None)], True, True)
    assert near.holds_between(10) == (9, 20)


def test_the_page_says_what_happens_and_holds_the_film(tmp_path):
    file = file_of(tmp_path)
    done = shallows("attack", file, "--against", AGAINST, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    html = (tmp_path / "reports/attack-attack/find.html").read_text()
    assert "Time and sequence of flow" in html
    for part in ("What happens", "As written", "The neighbourhood", "The film", "The search", "srcdoc="):
        assert part in html
