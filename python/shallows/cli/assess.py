"""`./shallows assess`: the report card of a congestion control."""

from __future__ import annotations

from typing import Annotated

import typer

from shallows import terminal
from shallows.cli.options import How, Json, makes_runs
from shallows.document.places import program

__all__ = ["assess"]


@makes_runs
def assess(
    control: Annotated[
        str, typer.Argument(metavar="CONTROL", help="A built-in, or a class in Python: mine.py:gentle.")
    ],
    quick: Annotated[bool, typer.Option("--quick", help="Three seeds in place of ten.")] = False,
    row: Annotated[list[str], typer.Option(metavar="C2", help="This row only; may be repeated.")] = [],  # noqa: B006
    *,
    how: How,
    as_json: Json = False,
) -> None:
    """A control's report card after RFC 9743, with CUBIC and Reno in its place. The same command resumes."""
    from shallows.assess import card, show

    work = card.plan(control, quick, row)
    runner = how.runner()
    with how.report("assess", work.runs) as told:
        rows = card.assess(work, runner, told)
    repeat = show.command(program(), control, quick, how.backend, how.kernel)
    if as_json:
        terminal.print_json(show.document(work, rows, repeat))
    else:
        show.show(work, rows, repeat)
    if any(each.verdict == "failed" for each in rows):
        raise typer.Exit(1)
