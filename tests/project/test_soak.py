"""A fixed small part of the soak (`make soak HOURS=1` is the rest), and all that it has ever found."""

import itertools
import json
import random

import pytest

from soak import audits, disks, documents, experiments, guests, kills, pages, readers, regressions, runs


@pytest.mark.parametrize("path", regressions.kept(), ids=lambda path: path.stem)
def test_what_was_found_stays_mended(path):
    kept = json.loads(path.read_text())
    checks = {
        "run": lambda document: runs.faults(document, threads=2),
        "audit": audits.faults,
        "check": documents.faults,
    }
    assert checks[kept["kind"]](kept["document"]) == []


@pytest.mark.parametrize("seed", range(4))
def test_random_legal_experiments_keep_all_laws_and_repeat(seed):
    """Seven of each seed. About every second draw is legal, so that a hundred have seven for certain."""
    drawn = (experiments.draw(random.Random(f"suite {seed} {number}")) for number in range(100))
    legal = list(itertools.islice(filter(None, drawn), 7))
    assert len(legal) == 7
    for number, experiment in enumerate(legal):
        assert runs.faults(experiment, threads=1 + number % 2) == [], experiments.as_text(experiment)


def test_random_experiments_pass_their_audit():
    drawn = (audits.draw(random.Random(f"suite audit {number}")) for number in range(100))
    legal = list(itertools.islice(filter(None, drawn), 8))
    assert len(legal) == 8
    for experiment in legal:
        assert audits.faults(experiment) == [], experiments.as_text(experiment)


def test_random_experiments_meet_every_component():
    met = set()
    for number in range(400):
        document = experiments._written(random.Random(number))
        met |= {document["topology"]["kind"], document["queue"]["kind"], document["transport"]["profile"]}
        kinds = {load["kind"] for load in document["traffic"].values()}
        met |= kinds | ({"udp"} if "datagrams" in kinds else set())  # the profile of such loads
        met |= {document.get("port_control", {}).get("kind")}
        cc = document["transport"]["cc"]
        met |= {cc if isinstance(cc, str) else cc["kind"]}
    left_out = {"graph", "table"}  # they are read from the user's own tables
    for section in ("topology", "queue", "transport", "traffic", "port_control", "transport.cc"):
        assert set(experiments._sections()[section]) - left_out <= met, section


def test_mutated_documents_get_an_answer_in_words():
    chance = random.Random("suite")
    answers = [documents.draw(chance) for _ in range(400)]
    assert [fault for text in answers for fault in documents.faults(text) + documents.settings(chance)] == []
    assert len(set(answers)) > 350
    assert len(documents.seeds()) >= 30


def test_what_is_drawn_depends_on_the_seed_alone():
    """A mutation inside an odd value once changed it for all later drawings, and put it into itself."""
    before = repr(documents.ODD)
    drawn = [documents.draw(random.Random(f"odd {k}")) for k in range(3000)]
    assert repr(documents.ODD) == before
    assert documents.draw(random.Random("odd 7")) == drawn[7]


def test_damaged_files_flipped_bits_and_captures(tmp_path):
    chance = random.Random("suite")
    run = readers.make_store(tmp_path)
    assert [fault for _ in range(60) for fault in readers.flip(chance, run)] == []
    assert [fault for _ in range(60) for fault in readers.toml(chance, tmp_path)] == []
    assert readers.capture(run, tmp_path) == []


def test_sweeps_that_are_killed_leave_whole_runs(tmp_path):
    chance = random.Random("suite")
    assert [fault for _ in range(2) for fault in kills.kill(chance, tmp_path)] == []
    assert kills.names(tmp_path / "killed")


def test_full_disks(tmp_path):
    if not disks.possible():
        pytest.skip("mounting a small disk takes Linux and root")
    assert disks.full(random.Random("suite"), tmp_path) == []


def test_readers_of_the_live_page_leave_nothing_behind(tmp_path):
    assert pages.visit(random.Random("suite"), tmp_path) == []


@pytest.mark.skipif(not guests.possible(), reason="run ./shallows linux build")
def test_programs_on_linux_repeat_and_leave_nothing_behind(tmp_path):
    chance = random.Random("suite")
    assert [fault for _ in range(3) for fault in guests.execute(chance, tmp_path)] == []


def test_the_soak_can_find_and_makes_small(monkeypatch, tmp_path):
    monkeypatch.setattr(regressions, "PLACE", tmp_path)
    document = {"a": {"b": [1, 2, {"c": "wrong"}], "d": 2}, "e": {"f": 3}}
    small = regressions.smallest(document, lambda each: "wrong" in json.dumps(each))
    assert small == {"a": {"b": [{"c": "wrong"}]}}
    assert json.loads(regressions.keep("run", ["wrong"], small).read_text())["document"] == small
    assert runs.faults({**(experiments.draw(random.Random(3)) or {}), "queue": 7})
    assert documents.faults('{"a": 1') == []
