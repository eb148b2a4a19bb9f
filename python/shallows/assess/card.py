"""A card: each criterion's cells as experiments, their runs, and a row for each criterion.

Source: RFC 9743 (BCP 133), RFC 9331 section 4.3 and RFC 7928 name what an evaluation must consider. They set
no thresholds: those are this project's, and each stands with its reason in its file of `criteria/`.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from shallows.assess import cells, edits, words
from shallows.assess import programs as outside
from shallows.assess.criteria import CARDS, QUEUE, Card, card, criterion
from shallows.assess.judge import Cell, badness, confidence, judge, whole
from shallows.document.load import load
from shallows.document.paths import parse_value, set_path
from shallows.document.points import Point, expand
from shallows.errors import Fault, SpecError
from shallows.execution.jobs import Outcome
from shallows.execution.runner import Progress, Runner
from shallows.results.store import Store

__all__ = ["Row", "Work", "assess", "plan", "runnable"]

QUICK_SEEDS, FULL_SEEDS = 5, 30
LINUX_SAMPLES = "20ms"
"""How often the kernel's queues are read. Reading them 20 000 times takes half of the time of a run."""

Key = tuple[str, str, str]


class Row(NamedTuple):
    """A criterion with its cells, the worst first; `why` says why it was not run, or which words lack.

    `confidence` is that of each cell's interval, so that the row as a whole errs in 5 %. `words` are those of
    the author.
    """

    id: str
    about: dict[str, Any]
    verdict: str
    cells: list[Cell]
    why: str
    confidence: float = 0.95
    words: dict[str, str] = {}  # noqa: RUF012


class Candidate(NamedTuple):
    """The candidate: its name, the Python file that holds it or "", and its settings."""

    name: str
    module: str
    settings: dict[str, Any]


@dataclass(frozen=True)
class Work:
    """The candidate and all runs of its card, by (row, cell, control).

    `refused` says of (row, cell) why the checker or the backend refuses it. `edited` lists the criteria's
    settings that the user's own file changed. `words` are the author's, for a row that asks for them.
    `left` counts the cells that a quick card leaves out because of its backend.
    """

    card: Card
    control: str
    seeds: int
    criteria: dict[str, dict[str, Any]]
    points: dict[Key, list[Point]]
    refused: dict[tuple[str, str], str] = field(default_factory=dict)
    edited: list[str] = field(default_factory=list)
    words: dict[str, str] = field(default_factory=dict)
    programs: outside.Programs | None = None
    """The programs that are the candidate, if it is no control."""
    left: int = 0

    @property
    def python(self) -> bool:
        """Whether the candidate is a class in Python."""
        return any("python" in points[0].experiment for points in self.points.values())

    @property
    def runs(self) -> int:
        """The number of runs."""
        return sum(map(len, self.points.values()))


def plan(
    control: str,
    quick: bool,
    rows: Sequence[str] = (),
    criteria: Path | None = None,
    kind: str = CARDS[0],
    programs: outside.Programs | None = None,
    backend: str = "simulator",
) -> Work:
    """All runs of a card. Raises SpecError for a control or a row that there is not.

    `backend` chooses cells and seeds of a quick card, and what is measured where Linux lacks a number.

    `control` is that, or a queue discipline if `kind` is `criteria.QUEUE`. `criteria` is a TOML file, whose
    tables change bounds of rows (`[C2]` with `at_most = 1.5`) or give the author's words. With `programs`
    these are the candidate, and `control` is their name. All runs then count from their start.
    """
    if kind not in (*CARDS, QUEUE):
        raise SpecError([Fault("--card", f"must be one of {', '.join(CARDS)}", kind)])
    chosen = card(kind)
    if unknown := [row for row in rows if row not in chosen.rows]:
        rule = f"must be one of {chosen.rows[0]} to {chosen.rows[-1]}"
        raise SpecError([Fault("--row", rule, unknown[0])])
    read = {row: criterion(kind, row) for row in rows or chosen.rows}
    left = sum(cells.choose(about, quick, backend) for about in read.values())
    if programs is None:
        candidate = _named(control, "--queue" if kind == QUEUE else "CONTROL")
    else:
        candidate = Candidate(outside.PLACE["kind"], "", {"name": outside.PLACE["name"]})
    told = edits.apply(read, chosen, criteria) if criteria else edits.Edits([], {})
    asked = any("words" in about for about in read.values())
    spoken = words.of(candidate.name, candidate.module) if asked and programs is None else {}
    if backend == cells.LINUX:
        for cell in itertools.chain.from_iterable(about.get("cells", ()) for about in read.values()):
            cell["set"] = chosen.linux | cell["set"]
    if backend == cells.LINUX and programs is None:  # packets of programs are read as often as queues
        for about in read.values():
            if probed := about.get("experiment"):
                probed.setdefault("probe", {}).setdefault("queue_trace", LINUX_SAMPLES)
    seeds = QUICK_SEEDS if quick else FULL_SEEDS
    name = control.rpartition(":")[2] if programs is None else control
    work = Work(chosen, name, seeds, read, {}, {}, told.words, spoken | told.given, programs, left)
    refusals = [
        error
        for row in read
        for cell in read[row].get("cells", ())
        if (error := _add(work, candidate, row, cell))
    ]
    if refusals and len(refusals) == sum(len(about.get("cells", ())) for about in read.values()):
        raise refusals[0]
    return work


def _add(work: Work, candidate: Candidate, row: str, cell: dict[str, Any]) -> SpecError | None:
    """Adds the runs of a cell, or the reason why the checker refuses the candidate in it."""
    found: dict[Key, list[Point]] = {}
    beside = [Candidate(name, "", {}) for name in work.card.yardsticks]
    for label, each in zip((work.control, *work.card.yardsticks), (candidate, *beside), strict=True):
        document = _filled(work.criteria[row]["experiment"], each) | {"seeds": work.seeds}
        if each.module:
            document["python"] = {"modules": [each.module]}
        for path, value in cell["set"].items():
            set_path(document, path, _filled(value, each))
        if work.programs:
            document["warmup"] = "0s"  # programs have none, and a ratio needs equal spans
        try:
            points = list(expand(load(document)))
            mine = work.programs is not None and label == work.control
            if mine and (why := outside.refusal(points[0].experiment)):
                raise SpecError([Fault("traffic", why)])
            found[row, cell["name"], label] = points
        except SpecError as error:
            if label != work.control or label in work.card.yardsticks:
                raise
            work.refused[row, cell["name"]] = f"the experiment refuses this candidate: {error.faults[0]}"
            return error
    work.points.update(found)
    return None


def _named(control: str, at: str) -> Candidate:
    """The candidate that a user wrote: `cubic`, `mine.py:gentle`, `bbr3,beta=0.8`, or `codel,target=1ms`."""
    file, colon, rest = control.rpartition(":")
    name, *settings = rest.split(",")
    found = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key.strip():
            raise SpecError([Fault(at, "must be NAME,key=value,...", control)])
        found[key.strip()] = parse_value(text)
    return Candidate(name, str(Path(file).resolve()) if colon else "", found)


def _filled(part: Any, candidate: Candidate) -> Any:
    """The template with the candidate in its place, and its settings beside its name."""
    if isinstance(part, dict):
        filled = {key: _filled(value, candidate) for key, value in part.items()}
        return filled | candidate.settings if part.get("kind") == "$QUEUE" else filled
    if part == "$CONTROL" and candidate.settings:
        return {"kind": candidate.name, **candidate.settings}
    return candidate.name if part in ("$CONTROL", "$QUEUE") else copy.deepcopy(part)


def assess(work: Work, runner: Runner, progress: Progress | None = None, repeat: bool = True) -> list[Row]:
    """Runs the card, or finds its runs in the store. A run that fails is named, and the card goes on.

    With `repeat` one run of a candidate in Python is made twice, and differences fail its cell.
    """
    work = runnable(work, runner)
    found = _outcomes(work, runner, progress)
    if repeat:
        _repeat(work.control, runner, found)
    rows = [_row(work, row, about, found) for row, about in work.criteria.items() if "worst_of" not in about]
    rows += [_worst_of(row, about, rows) for row, about in work.criteria.items() if "worst_of" in about]
    return sorted(rows, key=lambda row: work.card.rows.index(row.id))


def runnable(work: Work, runner: Runner) -> Work:
    """The work without the cells that a backend refuses, each with the reason.

    Raises SpecError if it refuses all.
    """
    refused, errors = dict(work.refused), []
    for (row, cell, label), points in work.points.items():
        mine = work.programs is not None and label == work.control
        chosen = replace(runner, backend=work.programs) if mine and work.programs else runner
        try:
            chosen.identify(points[:1])
        except SpecError as error:
            errors.append(error)
            refused.setdefault(
                (row, cell), f"the backend {chosen.backend.name} refuses it: {error.faults[0]}"
            )
    left = {key: points for key, points in work.points.items() if key[:2] not in refused}
    if errors and not left:
        raise errors[0]
    return replace(work, points=left, refused=refused)


def _outcomes(work: Work, runner: Runner, progress: Progress | None) -> dict[Key, list[Outcome]]:
    """The runs of each cell. Those of programs have a backend of their own."""
    mine = {key for key in work.points if work.programs and key[2] == work.control}
    found: dict[Key, list[Outcome]] = {}
    for keys, backend in ((work.points.keys() - mine, runner.backend), (mine, work.programs)):
        if not keys or backend is None:
            continue
        chosen = [key for key in work.points if key in keys]
        done = sum(map(len, found.values()))
        told = _after(done, progress) if progress else None
        every = [point for key in chosen for point in work.points[key]]
        outcomes = iter(replace(runner, backend=backend).run(every, metrics=True, progress=told))
        found |= {key: [next(outcomes) for _ in work.points[key]] for key in chosen}
    return found


def _after(done: int, progress: Progress) -> Progress:
    """The report of runs that follow others."""
    return lambda many, failed: progress(done + many, failed)


def _repeat(control: str, runner: Runner, found: dict[Key, list[Outcome]]) -> None:
    """Makes the candidate's first run again. Its code may ask a clock or the system, which no check sees."""
    for (_, _, label), outcomes in found.items():
        first = outcomes[0]
        if label != control or first.run is None or "python" not in first.point.experiment:
            continue
        with TemporaryDirectory() as place:
            [again] = replace(runner, store=Store(place), executor=None).run([first.point])
            same = again.run is not None and all(
                table.equals(again.run.tables[name]) for name, table in first.run.tables.items()
            )
        if not same:
            told = f"the control is not repeatable: {again.error or 'a second run gave other tables'}"
            outcomes[0] = replace(first, status="failed", run=None, error=told)
        return


def _worst_of(row: str, about: dict[str, Any], rows: Sequence[Row]) -> Row:
    """A criterion that other rows show, such as tail drop: its cells are their worst with such a queue."""
    names = about["worst_of"]
    worst = {each.id: [cell for cell in each.cells if _queue(each, cell) == about["queue"]] for each in rows}
    those = [each for each in rows if each.id in names and worst[each.id]]
    if len(those) < len(names):
        return Row(
            row,
            about,
            "not run",
            [],
            f"it is the worst of {names[0]} to {names[-1]}, and some are not on this card",
        )
    found = [worst[each.id][0]._replace(name=f"{each.id}, {worst[each.id][0].name}") for each in those]
    found.sort(key=badness, reverse=True)
    return Row(row, about, found[0].verdict, found, "", min(each.confidence for each in those))


def _queue(row: Row, cell: Cell) -> str:
    """The discipline of a cell."""
    given = cell.about["set"].get("queue", row.about["experiment"]["queue"])
    return str(given["kind"])


def _row(work: Work, row: str, about: dict[str, Any], found: dict[Key, list[Outcome]]) -> Row:
    if why := about.get("not_run", ""):
        return Row(row, about, "not run", [], why)
    if wanted := about.get("words"):
        given = {name: work.words[name] for name in wanted if work.words.get(name)}
        lacking = [name for name in wanted if name not in given]
        why = f"the author gives no {' and no '.join(lacking)}" if lacking else ""
        return Row(row, about, "not shown" if lacking else "shown", [], why, words=given)
    level = confidence(about)
    judged = [_cell(work, row, about, cell, level, found) for cell in about["cells"]]
    judged.sort(key=badness, reverse=True)
    worst = judged[0]
    return Row(row, about, worst.verdict, judged, worst.error if worst.verdict == "not run" else "", level)


def _cell(
    work: Work,
    row: str,
    about: dict[str, Any],
    cell: dict[str, Any],
    level: float,
    found: dict[Key, list[Outcome]],
) -> Cell:
    name = cell["name"]
    about = whole(about, cell)
    if why := work.refused.get((row, name)):
        return Cell(name, "not run", None, {}, why, about)
    others = {each: found[row, name, each] for each in work.card.yardsticks}
    own = found[row, name, work.control]
    return judge(name, about, level, own, others)._replace(run=own[0].run)
