"""Expected verdicts of a card's rows, from a TOML file with lines such as `C6 = "shown"`."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal

from shallows.assess.card import Row
from shallows.assess.criteria import Card
from shallows.assess.judge import ORDER
from shallows.errors import Fault, SpecError
from shallows.statistics.expected import Expectation, Judged, write_junit

__all__ = ["judge", "junit", "read"]

AT = "--expect"


def read(file: Path, card: Card, rows: Collection[str]) -> dict[str, list[str]]:
    """The allowed verdicts of each row that the file names. Raises SpecError for all that is wrong in it.

    `rows` are those of the card that run. A row has one verdict or a list of them.
    """
    try:
        found = tomllib.loads(file.read_text("utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise SpecError([Fault(AT, f"cannot be read: {error}", file)]) from None
    wanted, faults = {}, []
    if not found:
        faults.append(Fault(AT, 'must have a line such as C6 = "shown"', file))
    for row, value in found.items():
        verdicts = value if isinstance(value, list) else [value]
        if row not in card.rows:
            rule = f"must be one of {card.rows[0]} to {card.rows[-1]}"
            faults.append(Fault(f"{AT}: {row}", rule, row))
        elif row not in rows:
            faults.append(Fault(f"{AT}: {row}", "must be a row that runs; --row leaves it out", row))
        elif not verdicts or any(each not in ORDER for each in verdicts):
            faults.append(Fault(f"{AT}: {row}", f"must be one or several of {', '.join(ORDER)}", value))
        else:
            wanted[row] = verdicts
    if faults:
        raise SpecError(faults)
    return wanted


def judge(wanted: Mapping[str, Sequence[str]], rows: Sequence[Row]) -> list[Judged]:
    """Whether each row that is named has a verdict that is allowed."""
    found = []
    for row in rows:
        if row.id not in wanted:
            continue
        allowed = " or ".join(wanted[row.id])
        expectation = Expectation(f"{row.id} = {allowed}", row.id, "==", 0.0)
        worst = row.cells[0] if row.cells else None
        words = [row.verdict, row.why or (worst.error if worst else ""), f"in {worst.name}" if worst else ""]
        estimate = worst.estimate if worst else None
        measured = ", ".join([*filter(None, words), *([str(estimate)] if estimate else [])])
        verdict: Literal["holds", "differs"] = "holds" if row.verdict in wanted[row.id] else "differs"
        found.append(Judged(expectation, "", verdict, measured, estimate))
    return found


def junit(path: Path, control: str, judged: Sequence[Judged], rows: Sequence[Row]) -> None:
    """Writes the expectations as JUnit's XML, and each run that failed in a row that nobody named."""
    named = {each.expectation.metric for each in judged}
    errors = [
        (f"{row.id}, {cell.name}", cell.error)
        for row in rows
        for cell in row.cells
        if cell.verdict == "failed" and row.id not in named
    ]
    write_junit(path, f"assess {control}", judged, errors)
