"""git bisect with an expectation as the test, on small trees."""

import subprocess

import pytest
from shallows.backends.linux import cache, kernel
from shallows.cli.linux_bisect import bisect
from shallows.errors import Interrupted, ShallowsError, SpecError
from shallows.studies.outcomes.bisect import Bisection, NotBuilt, commit_of


def git(tree, *words):
    own = ["-c", "user.name=x", "-c", "user.email=x@y.z", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", "-C", tree, *own, *words], check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture
def tree(tmp_path):
    """Ten commits; the seventh makes `number` too large."""
    place = tmp_path / "tree"
    place.mkdir()
    git(place, "init", "-q", "-b", "main")
    for number in range(1, 11):
        (place / "number").write_text("9" if number >= 7 else "1")
        (place / "other").write_text(f"{number}")
        git(place, "add", "-A")
        git(place, "commit", "-qm", f"commit {number}")
        git(place, "tag", f"c{number}")
    return place


def judge(place):
    number = (place / "number").read_text()
    return ("holds" if number == "1" else "differs"), number


def search(tree, good="c1", bad="c10"):
    ends = [commit_of(tree, name, at) for name, at in ((good, "GOOD"), (bad, "BAD"))]
    return Bisection(tree, *ends, tree.parent / "place")


def test_the_first_bad_commit_is_found_and_the_tree_stays(tree):
    (tree / "other").write_text("not committed")
    told = []
    asked = search(tree)
    found = asked.run(judge, lambda step, left: told.append((step.subject, step.verdict)))
    assert (found.subject, found.measured) == ("commit 7", "9")
    assert told[:2] == [("commit 10", "differs"), ("commit 1", "holds")] and len(told) <= 6
    asked.end()
    assert (tree / "other").read_text() == "not committed"
    assert git(tree, "rev-parse", "--abbrev-ref", "HEAD") == "main\n"
    assert git(tree, "worktree", "list").count("\n") == 1


def test_an_interrupted_search_resumes(tree):
    judged = []

    def stopping(place):
        judged.append(place)
        if len(judged) == 4:
            raise KeyboardInterrupt
        return judge(place)

    with pytest.raises(KeyboardInterrupt):
        search(tree).run(stopping, lambda step, left: None)
    assert len(list(search(tree).steps())) == 3
    judged.clear()
    again = []
    assert (
        search(tree).run(lambda place: again.append(place) or judge(place), lambda *_: None).subject
        == "commit 7"
    )
    assert 0 < len(again) <= 2


@pytest.mark.parametrize("raised", [Interrupted("interrupted"), ShallowsError("tcp.c: error")])
def test_an_interrupted_build_is_no_verdict(tree, tmp_path, monkeypatch, raised):
    """It was written down as skipped, so that the same command went on without this commit."""
    file = tmp_path / "net.toml"
    file.write_text(
        'duration = "1ms"\ntopology = { kind = "star", senders = 1, rate = "1Gbps", delay = "1us" }\n'
        'queue = "drop-tail"\ntransport = { profile = "linux", cc = "cubic" }\n'
        '[traffic]\na = { kind = "bulk", from = "s0", to = "r0" }\n'
    )

    def build(*_):
        raise raised

    monkeypatch.setattr(kernel, "find", lambda: None)
    monkeypatch.setattr(kernel, "build", build)
    monkeypatch.setattr(cache, "cache", lambda: tmp_path / "cache")
    with pytest.raises(ShallowsError, match=r"interrupted|must not hold at BAD"):
        bisect("c1", "c10", file, tree, "bottleneck_utilisation > 90%")
    verdicts = list((tmp_path / "cache/bisect").glob("*/verdicts.json"))
    assert len(verdicts) == (0 if isinstance(raised, Interrupted) else 1)


def test_a_commit_that_is_not_built_is_skipped(tree):
    def breaks(place):
        if (place / "other").read_text() in ("5", "6"):
            raise NotBuilt("tcp.c: error")
        return judge(place)

    told = []
    with pytest.raises(ShallowsError, match="only commits that cannot be judged are left"):
        search(tree).run(breaks, lambda step, left: told.append(step.verdict))
    assert "skipped" in told


def test_ends_that_are_not_good_and_bad_are_refused(tree):
    with pytest.raises(ShallowsError, match=r"must not hold at BAD .* it does there: 1"):
        search(tree, "c1", "c3").run(judge, lambda *_: None)
    with pytest.raises(ShallowsError, match=r"must hold at GOOD .* it does not there: 9"):
        search(tree, "c8", "c10").run(judge, lambda *_: None)


def test_names_and_trees_without_history_are_refused(tree, tmp_path):
    with pytest.raises(SpecError, match="GOOD: must be a commit, a tag or a branch"):
        commit_of(tree, "c99", "GOOD")
    (tmp_path / "bare").mkdir()
    with pytest.raises(SpecError, match="must be a tree with git's history"):
        commit_of(tmp_path / "bare", "c1", "GOOD")
