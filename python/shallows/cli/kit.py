"""`./shallows kit` and `check-kit`: an experiment or a paper as one zip, and its repetition."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from shallows import terminal
from shallows.cli.options import How, Json, Seeds, Settings, command_line, makes_runs

__all__ = ["check_kit", "kit"]

MOST = 12
"""Differences that are printed."""


@makes_runs
def kit(
    target: Annotated[
        str, typer.Argument(metavar="FILE|PAPER", help="An experiment, PAPER or PAPER/FIGURE.")
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT.zip", help="The kit to write.", show_default=False)],
    settings: Settings = [],  # noqa: B006 - typer reads it as "none given"
    seeds: Seeds = None,
    quick: Annotated[bool, typer.Option("--quick", help="The quick form of a paper.")] = False,
    sources: Annotated[
        bool, typer.Option("--sources/--no-sources", help="Adds the sources of Shallows to the kit.")
    ] = True,
    *,
    how: How,
    as_json: Json = False,
) -> None:
    """Packs an experiment or a paper for reviewers. The zip has files, results, and a page that runs it."""
    from shallows.kit.make import check, make
    from shallows.kit.subject import subject_of

    subject = subject_of(target, settings, seeds, quick)
    check(subject, out)
    made = make(subject, how.runner(), out, command_line(), with_sources=sources, progress=how.report)
    if as_json:
        terminal.print_json(
            {
                "kit": str(out),
                "bytes": made.size,
                "runs": made.record.runs,
                "verdicts": made.record.verdicts,
                "lacking": list(made.lacking),
            }
        )
        return
    terminal.say(f"{out}: {_what(made.record.runs, made.record.verdicts)}, {made.size / 1e6:.1f} MB")
    for sentence in made.lacking:
        terminal.say(f"note: {sentence}")


@makes_runs
def check_kit(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="An unpacked kit.", show_default=False)],
    *,
    how: How,
    as_json: Json = False,
) -> None:
    """Repeats an unpacked kit. All tables and verdicts are compared with those that it records."""
    from shallows import _core
    from shallows.kit import record
    from shallows.kit.make import counted
    from shallows.kit.repeat import PLACE, repeat

    told = record.read(folder)
    own = replace(how, backend=told["backend"], store=how.store or folder / PLACE / "runs")
    found, differences = repeat(folder, told, own.runner(), command_line(), how.report)
    same = told["source_hash"] == _core.source_hash()
    if as_json:
        terminal.print_json(
            {
                "runs": len(found.runs),
                "verdicts": len(found.verdicts),
                "same_sources": same,
                "differences": [vars(each) for each in differences],
                "failed": list(found.failed),
            }
        )
    else:
        rows = [(each.name, each.recorded[:20], each.found[:20]) for each in differences[:MOST]]
        if rows:
            terminal.print_table(
                f"{counted(differences, 'difference')}", ("run or claim", "recorded", "found here"), rows
            )
        for reason in found.failed[:MOST]:
            terminal.say(f"failed: {reason}")
        outcome = "not all as recorded" if differences or found.failed else "as recorded"
        terminal.say(f"{_what(told['runs'], told['verdicts'])}: {outcome}")
        if not same:
            made = told["source_hash"][:12]
            terminal.say(f"note: the kit was made by other sources ({told['version']}, {made})")
    if differences or found.failed:
        raise typer.Exit(1)


def _what(runs: Collection[str], verdicts: Collection[str]) -> str:
    from shallows.kit.make import counted

    return counted(runs, "run") + (f", {counted(verdicts, 'verdict')}" if verdicts else "")
