"""The card: each criterion's cells as experiments, their runs, and a row for each criterion.

Source: RFC 9743 (BCP 133) names what an evaluation must consider and sets no thresholds. The thresholds are
this project's; each stands with its reason in its file of `criteria/`.
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from shallows.assess.criteria import NAMES
from shallows.assess.judge import Cell, badness, confidence, judge
from shallows.document.load import load
from shallows.document.paths import set_path
from shallows.document.points import Point, expand
from shallows.errors import Fault, SpecError
from shallows.execution.jobs import Outcome
from shallows.execution.runner import Progress, Runner

__all__ = ["YARDSTICKS", "Row", "Work", "assess", "plan"]

YARDSTICKS = ("cubic", "newreno")
QUICK_SEEDS, FULL_SEEDS = 5, 30

Key = tuple[str, str, str]


class Row(NamedTuple):
    """A criterion with its cells, the worst first; `why` says why it was not run.

    `confidence` is that of each cell's interval, so that the row as a whole errs in 5 %.
    """

    id: str
    about: dict[str, Any]
    verdict: str
    cells: list[Cell]
    why: str
    confidence: float = 0.95


@dataclass(frozen=True)
class Work:
    """The candidate and all runs of its card, by (row, cell, control).

    `refused` says of (row, cell) why the checker refuses the candidate there. `edited` lists the criteria's
    settings that the user's own file changed.
    """

    control: str
    seeds: int
    criteria: dict[str, dict[str, Any]]
    points: dict[Key, list[Point]]
    refused: dict[tuple[str, str], str] = field(default_factory=dict)
    edited: list[str] = field(default_factory=list)

    @property
    def runs(self) -> int:
        """The number of runs."""
        return sum(map(len, self.points.values()))


def plan(control: str, quick: bool, rows: Sequence[str] = (), criteria: Path | None = None) -> Work:
    """All runs of a card. Raises SpecError for a control or a row that there is not.

    `criteria` is a TOML file whose tables change settings of rows: `[C2]` with `at_most = 1.5`.
    """
    if unknown := [row for row in rows if row not in NAMES]:
        raise SpecError([Fault("--row", f"must be one of C1 to {NAMES[-1]}", unknown[0])])
    home = files("shallows.assess.criteria")
    read = {row: tomllib.loads((home / f"{row.lower()}.toml").read_text()) for row in rows or NAMES}
    edited = _edit(read, criteria) if criteria else []
    work = Work(_named(control)[0], QUICK_SEEDS if quick else FULL_SEEDS, read, {}, {}, edited)
    refusals = [
        error
        for row in read
        for cell in read[row].get("cells", ())
        if (error := _add(work, control, row, cell))
    ]
    if refusals and len(refusals) == sum(len(about.get("cells", ())) for about in read.values()):
        raise refusals[0]
    return work


def _add(work: Work, control: str, row: str, cell: dict[str, Any]) -> SpecError | None:
    """Adds the runs of a cell, or the reason why the checker refuses the candidate in it."""
    name, module = _named(control)
    found: dict[Key, list[Point]] = {}
    for each in (name, *YARDSTICKS):
        document = _filled(work.criteria[row]["experiment"], each) | {"seeds": work.seeds}
        if module and each == name:
            document["python"] = {"modules": [module]}
        for path, value in cell["set"].items():
            set_path(document, path, copy.deepcopy(value))
        try:
            found[row, cell["name"], each] = list(expand(load(document)))
        except SpecError as error:
            if each in YARDSTICKS:
                raise
            work.refused[row, cell["name"]] = str(error.faults[0])
            return error
    work.points.update(found)
    return None


def _edit(read: dict[str, dict[str, Any]], file: Path) -> list[str]:
    """Puts the file's bounds over the criteria's, and returns each change in words."""
    try:
        changes = tomllib.loads(file.read_text("utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise SpecError([Fault("--criteria", f"cannot be read: {error}", file)]) from None
    words, faults = [], []
    for row, settings in changes.items():
        if row not in NAMES or not isinstance(settings, dict):
            faults.append(
                Fault(f"--criteria: {row}", f"must be a table of a row, C1 to {NAMES[-1]}", settings)
            )
            continue
        for key, value in settings.items():
            where = f"--criteria: {row}.{key}"
            known = read.get(row, {}).get(key)
            if row in read and (key not in ("at_most", "at_least") or known is None):
                faults.append(Fault(where, "must be the row's bound, at_most or at_least", value))
            elif not isinstance(value, int | float) or isinstance(value, bool) or not value > 0:
                faults.append(Fault(where, "must be a number above zero", value))
            elif row in read:
                read[row][key] = value
                words.append(f"{row}.{key}: {value:g} in place of {known:g}")
    if faults:
        raise SpecError(faults)
    return words


def _named(control: str) -> tuple[str, str]:
    """The control's name and the file that holds it: `cubic`, or `mine.py:gentle`."""
    file, colon, name = control.rpartition(":")
    return name, str(Path(file).resolve()) if colon else ""


def _filled(part: Any, control: str) -> Any:
    """The template with the control in its place."""
    if isinstance(part, dict):
        return {key: _filled(value, control) for key, value in part.items()}
    return control if part == "$CONTROL" else copy.deepcopy(part)


def assess(work: Work, runner: Runner, progress: Progress | None = None) -> list[Row]:
    """Runs the card, or finds its runs in the store. A run that fails is named, and the card goes on."""
    every = [point for points in work.points.values() for point in points]
    outcomes = iter(runner.run(every, metrics=True, progress=progress))
    found = {key: [next(outcomes) for _ in points] for key, points in work.points.items()}
    rows = [_row(work, row, about, found) for row, about in work.criteria.items() if "worst_of" not in about]
    rows += [_worst_of(row, about, rows) for row, about in work.criteria.items() if "worst_of" in about]
    return sorted(rows, key=lambda row: NAMES.index(row.id))


def _worst_of(row: str, about: dict[str, Any], rows: Sequence[Row]) -> Row:
    """A criterion that other rows show, such as tail drop: its cells are their worst ones."""
    names = about["worst_of"]
    those = [each for each in rows if each.id in names and each.cells]
    if len(those) < len(names):
        return Row(
            row,
            about,
            "not run",
            [],
            f"it is the worst of {names[0]} to {names[-1]}, and some are not on this card",
        )
    cells = [each.cells[0]._replace(name=f"{each.id}, {each.cells[0].name}") for each in those]
    cells.sort(key=badness, reverse=True)
    return Row(row, about, cells[0].verdict, cells, "", min(each.confidence for each in those))


def _row(work: Work, row: str, about: dict[str, Any], found: dict[Key, list[Outcome]]) -> Row:
    if why := about.get("not_run", ""):
        return Row(row, about, "not run", [], why)
    level = confidence(about)
    cells = [_cell(work, row, about, cell, level, found) for cell in about["cells"]]
    cells.sort(key=badness, reverse=True)
    worst = cells[0]
    return Row(row, about, worst.verdict, cells, worst.error if worst.verdict == "not run" else "", level)


def _cell(
    work: Work,
    row: str,
    about: dict[str, Any],
    cell: dict[str, Any],
    level: float,
    found: dict[Key, list[Outcome]],
) -> Cell:
    name = cell["name"]
    whole = {key: value for key, value in (about | cell).items() if key not in ("cells", "experiment")}
    if why := work.refused.get((row, name)):
        return Cell(name, "not run", None, {}, f"the experiment refuses this control: {why}", whole)
    others = {each: found[row, name, each] for each in YARDSTICKS}
    return judge(name, whole, level, found[row, name, work.control], others)
