"""The commit at which an expectation ceased to hold, found by `git bisect` in a work tree of its own.

The user's tree keeps its files and its branch. Verdicts are written down commit by commit, so that the same
command resumes after an interruption.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from shallows.errors import Fault, ShallowsError, SpecError

__all__ = ["Bisection", "NotBuilt", "Step", "commit_of"]

FIRST = re.compile(r"^([0-9a-f]{40,64}) is the first bad commit", re.MULTILINE)
ONLY_SKIPPED = re.compile(r"only 'skip'ped commits left", re.MULTILINE)


class NotBuilt(Exception):
    """A commit that cannot be judged: the bisection skips it."""


@dataclass(frozen=True)
class Step:
    """A commit with its verdict: `holds`, `differs` or `skipped`, and what was measured there."""

    commit: str
    subject: str
    verdict: str
    measured: str


def git(tree: Path, *words: str) -> str:
    """The output of git in a tree. Raises ShallowsError with what it says."""
    ran = subprocess.run(["git", "-C", str(tree), *words], capture_output=True, text=True, errors="replace")
    if ran.returncode:
        said = (ran.stderr or ran.stdout).strip()[-600:]
        raise ShallowsError(f"git {words[0]} failed in {tree}: {said or ran.returncode}")
    return ran.stdout


def commit_of(tree: Path, name: str, at: str) -> str:
    """The commit of a name. Raises SpecError for a tree without history, or an unknown name."""
    if shutil.which("git") is None:
        raise SpecError([Fault("--tree", "needs git, which is not installed", hint="sudo apt install git")])
    try:
        git(tree, "rev-parse", "--git-dir")
    except ShallowsError:
        rule = "must be a tree with git's history, in which commits are searched"
        raise SpecError([Fault("--tree", rule, tree)]) from None
    try:
        return git(tree, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").strip()
    except ShallowsError:
        raise SpecError([Fault(at, f"must be a commit, a tag or a branch of {tree}", name)]) from None


@dataclass(frozen=True)
class Bisection:
    """A search between two commits. `place` holds its work tree and its verdicts."""

    tree: Path
    good: str
    bad: str
    place: Path

    @property
    def work(self) -> Path:
        """The files of the commit that is judged."""
        return self.place / "tree"

    def run(self, judge: Callable[[Path], tuple[str, str]], tell: Callable[[Step, str], None]) -> Step:
        """The first bad commit.

        `judge` takes the tree and returns `holds` or `differs` and what was measured; it raises NotBuilt for
        a commit to be skipped. `tell` gets each step, and how many commits are left. Raises ShallowsError if
        the ends are not as they should be, or only skipped commits are left.
        """
        self._begin()
        for end, wanted in ((self.bad, "differs"), (self.good, "holds")):
            step = self._step(end, judge)
            tell(step, "")
            if step.verdict != wanted:
                name, how = ("BAD", "must not hold") if end == self.bad else ("GOOD", "must hold")
                raise ShallowsError(
                    f"the expectation {how} at {name} ({step.commit[:12]}), and {_what(step)} there: "
                    f"{step.measured}"
                )
        said = self._start()
        while True:
            if found := FIRST.search(said):
                return self._step(found[1], judge)
            if ONLY_SKIPPED.search(said):
                raise ShallowsError(
                    "only commits that cannot be judged are left; git bisect names them:\n" + said
                )
            here = git(self.work, "rev-parse", "HEAD").strip()
            step = self._step(here, judge)
            said = self._mark(step)
            tell(step, _left(said))

    def steps(self) -> Iterator[Step]:
        """The verdicts so far."""
        try:
            for commit, told in json.loads(self._file.read_text()).items():
                yield Step(commit, *told)
        except (OSError, ValueError):
            return

    @property
    def _file(self) -> Path:
        return self.place / "verdicts.json"

    def _begin(self) -> None:
        """A work tree of the user's repository, without a branch; anew if an interruption broke it."""
        self.place.mkdir(parents=True, exist_ok=True)
        git(self.tree, "worktree", "prune")
        if not (self.work / ".git").exists():
            shutil.rmtree(self.work, ignore_errors=True)
            git(self.tree, "worktree", "prune")
            git(self.tree, "worktree", "add", "--detach", "--force", str(self.work), self.bad)

    def _start(self) -> str:
        git(self.work, "bisect", "reset", self.bad)
        git(self.work, "bisect", "start")
        git(self.work, "bisect", "bad", self.bad)
        return git(self.work, "bisect", "good", self.good)

    def _mark(self, step: Step) -> str:
        word = {"holds": "good", "differs": "bad", "skipped": "skip"}[step.verdict]
        ran = subprocess.run(
            ["git", "-C", str(self.work), "bisect", word], capture_output=True, text=True, errors="replace"
        )
        return ran.stdout + ran.stderr  # where only skipped ones are left, its status is 2

    def _step(self, commit: str, judge: Callable[[Path], tuple[str, str]]) -> Step:
        known = {step.commit: step for step in self.steps()}
        if commit not in known:
            if git(self.work, "rev-parse", "HEAD").strip() != commit:
                git(self.work, "checkout", "--quiet", "--force", "--detach", commit)
            try:
                verdict, measured = judge(self.work)
            except NotBuilt as why:
                verdict, measured = "skipped", str(why)
            subject = git(self.work, "log", "-1", "--format=%s", commit).strip()
            known[commit] = Step(commit, subject, verdict, measured)
            self._write(list(known.values()))
        return known[commit]

    def _write(self, steps: Sequence[Step]) -> None:
        told = {step.commit: [step.subject, step.verdict, step.measured] for step in steps}
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps(told, indent=1))
        new.replace(self._file)

    def end(self) -> None:
        """Removes the work tree, which has as many files as a kernel; the verdicts stay."""
        git(self.work, "bisect", "reset", self.bad)
        git(self.tree, "worktree", "remove", "--force", str(self.work))


def _what(step: Step) -> str:
    return (
        "it does"
        if step.verdict == "holds"
        else "it does not"
        if step.verdict == "differs"
        else "it was skipped"
    )


def _left(said: str) -> str:
    found = re.search(r"\((roughly \d+ steps?)\)", said)
    return found[1] if found else ""
