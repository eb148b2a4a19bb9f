"""Output of `compare`: JSON, and a table for each scheme."""

from __future__ import annotations

import json
from typing import Any

from shallows import terminal
from shallows.statistics.estimates import Estimate
from shallows.studies.compare.comparison import LEVEL, Comparison, Row, differing

__all__ = ["cells", "differences", "document", "record", "show"]


def document(found: Comparison, report: str | None = None) -> dict[str, Any]:
    """The JSON of `compare`; `report` is where the page was written, null if it was not."""
    what = found.what
    return {
        "title": what.title,
        "baseline": what.schemes[0].name,
        "seeds": what.seeds,
        "level": LEVEL,
        "correction": "holm",
        "family": found.family,
        "allowed": what.allowed,
        "schemes": [
            {"name": s.name, "settings": s.settings, "hashes": [run.hash for run in found.runs[s.name]]}
            for s in what.schemes
        ],
        "differing": [
            {"setting": path, "values": values} for path, values in differing(what.schemes).items()
        ],
        "arrivals": [
            {"traffic": traffic, "scheme": scheme, "same": same}
            for traffic, by in found.arrivals.items()
            for scheme, same in by.items()
        ],
        "comparisons": [record(row) for row in found.rows],
        "warnings": found.warnings,
        "report": report,
    }


MOST_SETTINGS = 12
"""Settings that differ between schemes in the terminal."""


def differences(found: Comparison) -> tuple[list[str], list[list[str]]]:
    """The settings that differ between the schemes: heads, and rows with a value of each scheme."""
    schemes = found.what.schemes
    rows = [
        [
            path,
            *(
                "-" if each is None else each if isinstance(each, str) else json.dumps(each)
                for each in values
            ),
        ]
        for path, values in differing(schemes).items()
    ]
    return ["setting", *(scheme.name for scheme in schemes)], rows


def record(row: Row) -> dict[str, Any]:
    """A row for the JSON."""

    def value(estimate: Estimate | None) -> float | None:
        return None if estimate is None else estimate.value

    def interval(estimate: Estimate | None) -> list[float] | None:
        return None if estimate is None else estimate.ci

    return {
        "metric": row.metric,
        "scheme": row.scheme,
        "baseline_mean": value(row.baseline_mean),
        "scheme_mean": value(row.scheme_mean),
        "difference": value(row.difference),
        "difference_ci95": interval(row.difference),
        "ratio": value(row.ratio),
        "ratio_ci95": interval(row.ratio),
        "p": row.p,
        "p_adjusted": row.p_adjusted,
        "verdict": row.verdict,
        "note": row.note,
    }


def cells(row: Row) -> dict[str, str]:
    """A row for people, every value in a unit of its size."""

    def text(estimate: Estimate | None, name: str = row.metric) -> str:
        if estimate is None:
            return "-"
        value = terminal.readable(name, estimate.value)
        if estimate.ci is None:
            return value
        low, high = (terminal.readable(name, end) for end in estimate.ci)
        return f"{value} [{low}, {high}]"

    def mean(estimate: Estimate | None) -> str:
        return "-" if estimate is None else terminal.readable(row.metric, estimate.value)

    return {
        "metric": row.metric,
        "base": mean(row.baseline_mean),
        "scheme": mean(row.scheme_mean),
        "difference": text(row.difference),
        "ratio": text(row.ratio, ""),
        "p": "-" if row.p_adjusted is None else f"{row.p_adjusted:.2g}",
        "verdict": row.verdict,
        "note": row.note,
    }


def show(found: Comparison, report: object) -> None:
    """A table a scheme, the warnings, and where the page is."""
    base = found.what.schemes[0].name
    heads, differ = differences(found)
    shown = differ[:MOST_SETTINGS]
    terminal.print_table("What differs between the schemes", heads, shown)
    if len(differ) > len(shown):
        terminal.say(f"and {len(differ) - len(shown)} more settings; the report lists all")
    print()
    for scheme in found.what.schemes[1:]:
        rows = []
        for row in found.rows:
            if row.scheme == scheme.name:
                cell = cells(row)
                keys = ("metric", "base", "scheme", "difference", "ratio", "p", "verdict")
                rows.append([cell[key] for key in keys])
        columns = ("metric", base, scheme.name, "difference [95 %]", "ratio [95 %]", "p", "verdict")
        terminal.print_table(f"{scheme.name} against {base}: {len(found.what.seeds)} seeds", columns, rows)
        print()
    terminal.say(f"p adjusted by Holm's method for {found.family} comparisons; real: below {1 - LEVEL:.2g}")
    for load, by in found.arrivals.items():
        differ = [name for name, same in by.items() if not same]
        if differ:
            terminal.say(f"the arrivals of {load} under {', '.join(differ)} differ from those under {base}")
    for warning in found.warnings:
        terminal.say(f"note: {warning}")
    terminal.say(f"report: {report}")
