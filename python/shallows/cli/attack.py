"""`./shallows attack`: conditions under which a metric is as bad as can be."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shallows import terminal
from shallows.cli.options import File, How, Json, Out, Settings, command_line, makes_runs, seconds
from shallows.errors import NOTHING, Fault, SpecError

if TYPE_CHECKING:
    from shallows.attack.space import Space
    from shallows.execution.runner import Runner

__all__ = ["attack"]


@makes_runs
def attack(
    file: File,
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="TEXT", help="What to search for: 'long.goodput_bps < 10 %'."),
    ] = None,
    fabric: Annotated[
        bool,
        typer.Option("--fabric", help="Fails each cable of the file's network, and looks for deadlocks."),
    ] = False,
    reference: Annotated[
        list[str],
        typer.Option(
            "--reference",
            metavar="KEY=VALUE",
            help="Shares in % refer to the same conditions with this setting: 'transport.cc=cubic'.",
        ),
    ] = [],  # noqa: B006
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="SPAN", help="Refuses a search that would take longer, by its first runs: 10min."
        ),
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Tries the values of the experiments there first: earlier finds."),
    ] = None,
    on: Annotated[
        str | None, typer.Option("--on", metavar="BACKEND", help="Runs the find there as well: linux.")
    ] = None,
    settings: Settings = [],  # noqa: B006
    out: Out = Path("reports"),
    *,
    how: How,
    as_json: Json = False,
) -> None:
    """Searches for a worst case, and makes it small. The same command resumes."""
    from shallows.attack import corpus as earlier
    from shallows.attack import objective, show, space
    from shallows.attack.attack import attack as whole
    from shallows.attack.confirm import confirm

    if fabric:
        others = {"--reference": reference, "--budget": budget, "--corpus": corpus, "--on": on}
        _fabric(file, against, settings, out, how, as_json, others)
        return
    if against is None:
        raise SpecError([Fault("--against", "is missing", NOTHING, "try 'long.goodput_bps < 10 %'")])
    what = space.read(file, settings, reference)
    sought = objective.read(against, what)
    seeds = [] if corpus is None else earlier.read(corpus, what)
    show.folder(file.stem, out)
    budget_s = None if budget is None else seconds(budget, "--budget")
    elsewhere = None if on is None else _backend(on, what, how)
    runner = how.runner()
    total = what.generations * what.population * (2 if reference else 1) * (2 if what.first else 1)
    with how.report("attack", total) as told:
        found = whole(what, sought, runner, budget_s, told, seeds)
    confirmed = None if elsewhere is None else confirm(found, elsewhere, str(on))
    where = show.write(found, file.stem, out, runner, command_line(), confirmed)
    if as_json:
        terminal.print_json(show.document(found, confirmed) | {"report": str(where)})
    else:
        show.show(found, where, confirmed)


def _fabric(
    file: Path,
    against: str | None,
    settings: list[str],
    out: Path,
    how: How,
    as_json: bool,
    others: Mapping[str, Any],
) -> None:
    from shallows.attack import fabric, fabric_show, objective

    if faults := [Fault(name, "cannot be used with --fabric", one) for name, one in others.items() if one]:
        raise SpecError(faults)
    what = fabric.space_of(file, settings)
    sought = None if against is None else objective.read(against, what)
    fabric_show.folder(file.stem, out)
    found = fabric.search(what, sought, how.runner())
    where = fabric_show.write(found, file.stem, out)
    if as_json:
        terminal.print_json(fabric_show.document(found) | {"report": str(where)})
    else:
        fabric_show.show(found, sought, where)


def _backend(on: str, what: Space, how: How) -> Runner:
    """The runner of the other backend. Raises SpecError if it cannot run the file as written."""
    from dataclasses import replace

    runner = replace(how, backend=on, threads=None).runner()
    runner.identify(what.points({}))
    return runner
