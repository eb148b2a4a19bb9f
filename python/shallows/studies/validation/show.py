"""Output of `validate`: JSON, and a table."""

from __future__ import annotations

from typing import Any

from shallows import terminal
from shallows.studies.validation import judge
from shallows.studies.validation.runs import Result, Validation

__all__ = ["document", "rows", "show"]

SHOWN = (
    "throughput_bps", "goodput_bps", "queue_mean", "queue_p5", "queue_p50", "queue_p95", "queue_p99",
    "marks", "drops", "packets", "alpha", "least_share", "first_share", "retransmissions", "timeouts",
    "fct_mean_ps", "fct_p99_ps",
)  # fmt: skip
"""The numbers of each backend, judged or not."""


def document(found: Validation, report: str | None = None) -> dict[str, Any]:
    """The JSON of `validate`; `report` is where the page was written."""
    return {
        "backends": found.backends,
        "rules": (judge.__doc__ or "").strip(),
        "summary": {backend: found.counts(backend) for backend in found.others},
        "cells": [_cell(found, result) for result in found.results],
        "about": found.about,
        "notes": found.notes,
        "report": report,
    }


def _cell(found: Validation, result: Result) -> dict[str, Any]:
    cell, (table, why) = result.cell, result.group
    return {
        "name": cell.name,
        "table": table,
        "why": why,
        "cc": cell.cc,
        "flows": cell.flows,
        "rate_bps": cell.rate_bps,
        "rtt_ps": cell.rtt_ps,
        "queue": cell.queue,
        "compared": {
            backend: [
                judge.as_record(c)
                | {"explanation": "" if c.agrees else found.matrix.why(cell.name, c.what, backend)}
                for c in result.compared(backend)
            ]
            for backend in found.others
        },
        "numbers": {
            backend: {what: _mean([run[what] for run in runs]) for what in SHOWN}
            for backend, runs in result.runs.items()
        },
        "absent": result.absent,
    }


def _mean(values: list[float | None]) -> dict[str, float | int] | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    found = judge.mean(known)
    return {"mean": found.value, "standard_error": found.error, "seeds": found.n}


def rows(found: Validation, backend: str) -> list[tuple[Any, ...]]:
    """A line for each cell and judged quantity against a backend."""
    lines: list[tuple[Any, ...]] = []
    for result in found.results:
        table, why = result.group
        compared = result.compared(backend)
        if not compared:
            absent = result.absent.get(backend, why)
            lines.append((result.cell.name, table, "", "", "", "", "", absent))
        for c in compared:
            said = "agrees" if c.agrees else "differs"
            note = "" if c.agrees else found.matrix.why(result.cell.name, c.what, backend)
            lines.append(
                (
                    result.cell.name,
                    table,
                    c.what,
                    _side(c.what, c.ours),
                    _side(c.what, c.theirs),
                    _relative(c),
                    said,
                    note or ("" if table == "main" else why),
                )
            )
    return lines


def _side(what: str, side: judge.Mean) -> str:
    scale, unit = {"throughput_bps": (1e6, " Mb/s"), "fct_mean_ps": (1e9, " ms")}.get(what, (1.0, ""))
    return f"{side.value / scale:.5g} ± {side.error / scale:.2g}{unit}"


def _relative(c: judge.Compared) -> str:
    return f"{100 * c.difference / c.theirs.value:+.1f} %" if c.theirs.value else f"{c.difference:+.3g}"


def show(found: Validation, page: str) -> None:
    """Prints the cells as a table, then the counts and where the page is."""
    for backend in found.others:
        columns = ("cell", "table", "what", "simulator", backend, "difference", "verdict", "note")
        terminal.print_table(f"Simulator against {backend}", columns, rows(found, backend))
        counts = found.counts(backend)
        terminal.say(", ".join(f"{count} {name}" for name, count in counts.items()))
    for note in found.notes:
        terminal.say(note)
    for result in found.results:
        for reason in result.failed:
            terminal.say(f"failed: {result.cell.name}: {reason}")
    terminal.say(f"report: {page}")
