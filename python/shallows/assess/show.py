"""The card as a table on the terminal, as JSON, and each row's reading in one sentence."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shallows import terminal
from shallows.assess.card import Row, Work
from shallows.assess.criteria import CARDS, QUEUE
from shallows.assess.judge import ROW_ERROR, Cell

__all__ = ["bound", "command", "document", "note", "reading", "show"]

NOTE = (
    "The thresholds are this project's, each with its reason in --json. "
    f"The cells of a row share an error of {100 * ROW_ERROR:g} %, so their intervals are wider than 95 %. "
    "A row is worse than the yardstick only if a cell is worse than with each of {yardsticks} in its place. "
    "A card shows what was run, and no compliance."
)
LEFT = (
    " A quick card on Linux leaves out {left} cells, since a run of the kernel takes seconds of processor"
    " time. Without --quick it has all cells."
)
WAYS = {"at_most": "at most ", "at_least": "at least "}


def note(work: Work) -> str:
    """The remark of the card's source on thresholds, and the way to read the card."""
    left = LEFT.format(left=work.left) if work.left else ""
    return f"{work.card.note} {NOTE.format(yardsticks=', '.join(work.card.yardsticks))}{left}"


def document(work: Work, rows: list[Row], repeat: str) -> dict[str, Any]:
    """For JSON: every row, also those that are not run."""
    return {
        "card": work.card.name,
        "control": work.control,
        "seeds": work.seeds,
        "note": note(work),
        "edited": work.edited,
        "rows": [_row(work, row, repeat) for row in rows],
    }


def _row(work: Work, row: Row, repeat: str) -> dict[str, Any]:
    about = row.about
    return {
        "id": row.id,
        "title": about["title"],
        "section": about["section"],
        "need": about["need"],
        "verdict": row.verdict,
        "why": row.why,
        "reading": reading(work.control, row),
        "sentence": about.get("sentence", ""),
        "bound": {key: about[key] for key in WAYS if key in about},
        "words": row.words,
        "confidence": row.confidence,
        "reason": about.get("reason", ""),
        "repeat": "" if not row.cells else repeat if "worst_of" in about else f"{repeat} --row {row.id}",
        "cells": [_cell(cell) for cell in row.cells],
    }


def _cell(cell: Cell) -> dict[str, Any]:
    found = cell.estimate
    return {
        "name": cell.name,
        "measured": cell.about["sentence"],
        "verdict": cell.verdict,
        "mean": found.value if found else None,
        "ci": found.ci if found else None,
        "bound": {key: cell.about[key] for key in WAYS if key in cell.about},
        "against": cell.against,
        "yardsticks": cell.beside,
        "error": cell.error,
    }


def reading(control: str, row: Row) -> str:
    """A row's result in words: how many cells have its verdict, and the worst cell; or the author's words."""
    if "words" in row.about:
        said = [f"{name.capitalize()}: {text}" for name, text in row.words.items()]
        lacking = [f"{row.why[0].upper()}{row.why[1:]}."] if row.why else []
        return " ".join([*lacking, *said])
    if row.why or not row.cells:
        return f"Not run: {row.why}."
    worst = row.cells[0]
    left = [cell for cell in row.cells if cell.verdict == "not run"]
    more = f" {len(left)} of {len(row.cells)} cells did not run: {left[0].error}." if left else ""
    if worst.estimate is None:
        return f"The cell {worst.name} of {control} has no result: {worst.error}.{more}"
    ran = len(row.cells) - len(left)
    alike = sum(cell.verdict == row.verdict for cell in row.cells)
    how = {"shown": "within the bound", "not determined": "not determined"}.get(
        row.verdict, "beyond the bound"
    )
    many = f"{alike} of {ran} cell{'s' if ran > 1 else ''} {'is' if alike == 1 else 'are'} {how}"
    sentence = worst.about["sentence"].replace("the yardstick", worst.against or "the yardstick")
    comma = "," if "," in sentence else ""
    found = f"{sentence}{comma} is {worst.estimate}, and the bound is {bound(worst.about)}"
    return f'{many}. The worst cell is "{worst.name}": {found}.{more}'


def bound(about: Mapping[str, Any]) -> str:
    """A bound in words: `at most 2`."""
    return next((f"{way}{about[key]:g}" for key, way in WAYS.items() if key in about), "")


def show(work: Work, rows: list[Row], repeat: str) -> None:
    """A line for each row with its worst cell, then each reading, and how to repeat a row."""
    table = []
    for row in rows:
        worst = row.cells[0] if row.cells else None
        about = [row.id, row.about["title"], f"{row.about['section']} {row.about['need']}"]
        if worst is None or row.verdict == "not run":
            table.append([*about, row.verdict, "", "", ""])
        else:
            estimate = worst.error or (str(worst.estimate) if worst.estimate else "")
            table.append([*about, row.verdict, estimate, bound(worst.about), worst.name])
    title = f"{work.control}: {work.card.title}, {work.seeds} seeds"
    heads = ("row", "criterion", "section", "verdict", "worst cell [interval]", "bound", "which cell")
    terminal.print_table(title, heads, table)
    for row in rows:
        terminal.say(f"{row.id}: {reading(work.control, row)}")
    for text in work.edited:
        terminal.say(f"edited threshold: {text}")
    terminal.say(note(work))
    terminal.say(f"repeat a row: {repeat} --row {next((row.id for row in rows if row.cells), rows[0].id)}")


def command(
    program: str,
    control: str,
    quick: bool,
    backend: str,
    kernel: str | None,
    criteria: Path | None = None,
    kind: str = CARDS[0],
    programs: tuple[str, str] | None = None,
) -> str:
    """The command that makes the card. `programs` are the commands of the sender and the receiver."""
    subject = ["--queue", control] if kind == QUEUE else [control]
    if programs:
        subject = ["--sender", programs[0], "--receiver", programs[1]]
    more = ["--card", kind] if kind in CARDS[1:] else []
    more += ["--quick"] if quick else []
    more += ["--backend", backend] if backend != "simulator" else []
    more += ["--kernel", kernel] if kernel else []
    more += ["--criteria", str(criteria)] if criteria else []
    return f"{program} {shlex.join(['assess', *subject, *more])}"
