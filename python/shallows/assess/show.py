"""The card as a table on the terminal, and as JSON."""

from __future__ import annotations

import shlex
from typing import Any

from shallows import terminal
from shallows.assess.card import Cell, Row, Work

__all__ = ["command", "document", "show"]

NOTE = (
    "RFC 9743 sets no thresholds; those here are this project's, each with its reason in --json. "
    "A card shows what was run, and no compliance."
)


def document(work: Work, rows: list[Row], repeat: str) -> dict[str, Any]:
    """For JSON: every row, also those that are not run."""
    return {
        "control": work.control,
        "seeds": work.seeds,
        "note": NOTE,
        "rows": [_row(row, repeat) for row in rows],
    }


def _row(row: Row, repeat: str) -> dict[str, Any]:
    about = row.about
    bound = {key: about[key] for key in ("at_most", "at_least") if key in about}
    return {
        "id": row.id,
        "title": about["title"],
        "section": about["section"],
        "need": about["need"],
        "verdict": row.verdict,
        "why": row.why,
        "sentence": about.get("sentence", ""),
        "bound": bound,
        "reason": about.get("reason", ""),
        "repeat": "" if row.why else f"{repeat} --row {row.id}",
        "cells": [_cell(cell) for cell in row.cells],
    }


def _cell(cell: Cell) -> dict[str, Any]:
    found = cell.estimate
    return {
        "name": cell.name,
        "verdict": cell.verdict,
        "mean": found.value if found else None,
        "ci95": found.ci if found else None,
        "yardsticks": cell.beside,
        "error": cell.error,
    }


def show(work: Work, rows: list[Row], repeat: str) -> None:
    """A line for each row with its worst cell, then what was measured, and how to repeat a row."""
    table = []
    for row in rows:
        worst = row.cells[0] if row.cells else None
        bound = next((f"{way}{row.about[key]:g}" for key, way in WAYS.items() if key in row.about), "")
        about = [row.id, row.about["title"], f"{row.about['section']} {row.about['need']}"]
        if worst is None:
            table.append([*about, f"not run: {row.why}", "", "", ""])
        else:
            estimate = worst.error or (str(worst.estimate) if worst.estimate else "")
            table.append([*about, row.verdict, estimate, bound, worst.name])
    title = f"{work.control}: card after RFC 9743, {work.seeds} seeds"
    heads = ("row", "criterion", "section", "verdict", "worst cell [95 %]", "bound", "which cell")
    terminal.print_table(title, heads, table)
    for row in rows:
        if row.cells:
            terminal.say(f"{row.id}: {row.about['sentence']}")
    terminal.say(NOTE)
    terminal.say(f"repeat a row: {repeat} --row {next((row.id for row in rows if row.cells), 'C2')}")


WAYS = {"at_most": "at most ", "at_least": "at least "}


def command(program: str, control: str, quick: bool, backend: str, kernel: str | None) -> str:
    """The command that makes the card."""
    more = ["--quick"] if quick else []
    more += ["--backend", backend] if backend != "simulator" else []
    more += ["--kernel", kernel] if kernel else []
    return shlex.join([program, "assess", control, *more])
