"""`./shallows import`: an experiment from the files of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shallows import terminal
from shallows.document.named_files import ROWS
from shallows.document.places import program
from shallows.errors import Fault, SpecError

__all__ = ["import_files"]

MOST_CHECKED = 20_000
"""The most rows of a load that an import checks a second time: a million would take gigabytes."""


def import_files(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Networks, flows, sizes or training steps in formats of others.", show_default=False
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="OUT.toml", help="The experiment to write.", show_default=False),
    ],
    hosts: Annotated[
        str | None,
        typer.Option(
            "--hosts", metavar="NAME", help="Names of hosts: h{} makes h7 of 7.", show_default=False
        ),
    ] = None,
    option: Annotated[
        list[str], typer.Option("--option", metavar="NAME=VALUE", help="A choice that a file leaves open.")
    ] = [],  # noqa: B006 - typer reads it as "none given"
    force: Annotated[bool, typer.Option("--force", help="Overwrites files that are there.")] = False,
) -> None:
    """Makes an experiment of files that other programs write, and prints what it understood and ignored."""
    from shallows.document.load import load
    from shallows.document.points import expand
    from shallows.importing.compose import compose
    from shallows.importing.files import read_parts
    from shallows.importing.write import planned, write_checked

    if out.suffix != ".toml":
        raise SpecError([Fault("--out", "must end in .toml", out)])
    if not out.parent.is_dir():
        raise SpecError([Fault("--out", "must name a file in a directory that is there", out)])
    parts = read_parts(files, option)
    composed = compose(parts, hosts, f"Imported from {', '.join(dict.fromkeys(part.name for part in parts))}")
    taken = [path for path in planned(composed, out) if path.exists()]
    if taken and not force:
        hint = "--force overwrites it"
        raise SpecError(
            [Fault("--out", "exists already and is not overwritten", path, hint) for path in taken]
        )
    lines = []
    for part in parts:
        lines.append(f"{part.name}: {part.reader.title}")
        lines += [f"  {line}" for line in part.content.understood]
        lines += [f"  not taken over: {line}" for line in part.content.ignored]
    lines += [f"chosen: {line}" for line in composed.chosen]

    def check(path: Path) -> None:
        document = load(path)
        for name, (gives, rows) in composed.rows.items():
            if (
                gives in ("flows", "messages", "datagrams") and len(rows) > MOST_CHECKED
            ):  # its reader has checked them all, with its hosts
                told = f"the first {MOST_CHECKED} of {len(rows)} rows are checked; a run checks all"
                lines.append(f"traffic.{name}: {told}")
                document["traffic"][name][ROWS[gives]] = rows[:MOST_CHECKED]
        expand(document)

    made = write_checked(composed, out, lines, check)
    terminal.say("\n".join([*lines, *(f"wrote {path}" for path in made), f"next: {program()} run {out}"]))
