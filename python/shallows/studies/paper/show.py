"""Output of `reproduce`: claims with their verdicts, the headlines, and the paths of the reports."""

from collections.abc import Mapping
from typing import Any

from shallows import terminal
from shallows.studies.paper import numbers
from shallows.studies.paper.claims import KINDS
from shallows.studies.paper.readings import CAUSE_WORDS
from shallows.studies.paper.reproduce import Reproduction
from shallows.studies.paper.verdicts import headline

__all__ = ["show"]

COLUMNS = ("id", "kind", "statement", "published", "measured", "unit", "verdict", "cause", "expected")


def show(result: Reproduction) -> None:
    """Prints the claims as a table, one headline a paper and kind, then where the reports are."""
    terminal.print_table("Claims", COLUMNS, [_row(record) for record in result.claims])
    for paper in dict.fromkeys(record["paper"] for record in result.claims):
        mine = [record for record in result.claims if record["paper"] == paper]
        if text := result.headline.get(paper):
            terminal.say(f"{paper}: {text}")
        for kind in KINDS:
            if any(record["kind"] == kind for record in mine):
                terminal.say(f"{paper}: {headline(mine, kind)}")
    for reason in result.skipped:
        terminal.say(f"skipped: {reason}")
    for section in result.sections:
        for reason in section.failed:
            terminal.say(f"failed: {section.figure.name}: {reason}")
    for report in result.reports:
        terminal.say(f"report: {report}")


def _row(record: Mapping[str, Any]) -> tuple[str, ...]:
    ends = record["ci95"] or record["range"] or (None, None)
    cause = record["cause"]
    return (
        record["id"],
        record["kind"],
        record["statement"],
        numbers.published(record["published"]),
        numbers.estimate(record["measured"], *ends, like=repr(record["published"])),
        record["unit"],
        record["verdict"],
        CAUSE_WORDS[cause["kind"]] if cause else "",
        _expected(record),
    )


def _expected(record: Mapping[str, Any]) -> str:
    if record["expected_verdict"] is None:
        return "none recorded"
    return "as recorded" if record["verdict"] == record["expected_verdict"] else record["expected_verdict"]
