"""`./shallows attack`: conditions under which a metric is as bad as can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shallows import terminal
from shallows.attack.fabric.names import Search
from shallows.cli.options import File, How, Json, Out, Settings, command_line, makes_runs, seconds
from shallows.errors import NOTHING, Fault, SpecError

if TYPE_CHECKING:
    from shallows.attack.attack import Attacked
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
        typer.Option(
            "--fabric",
            help="Searches the file's network: failed cables, storms of pauses, incasts, placements.",
        ),
    ] = False,
    search: Annotated[
        list[Search],
        typer.Option("--search", help="With --fabric: this search alone; may be given several times."),
    ] = [],  # noqa: B006
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
        _fabric(file, against, settings, out, how, as_json, search, others)
        return
    if search:
        raise SpecError([Fault("--search", "applies to --fabric only", ", ".join(search))])
    if against is None:
        raise SpecError([Fault("--against", "is missing", NOTHING, "try 'long.goodput_bps < 10 %'")])
    what = space.read(file, settings, reference)
    sought = objective.read(against, what)
    earlier_finds = [] if corpus is None else earlier.read(corpus, what)
    show.folder(file.stem, out)
    budget_s = None if budget is None else seconds(budget, "--budget")
    elsewhere = None if on is None else _backend(on, what, how)
    runner = how.runner()
    total = what.generations * what.population * what.seeds
    total *= (2 if reference else 1) * (2 if what.first else 1)

    def stopped(found: Attacked) -> None:
        show.show_stopped(found, show.keep(found, file.stem, out))

    with how.report("attack", total) as told:
        found = whole(what, sought, runner, budget_s, told, earlier_finds, stopped)
    show.keep(found, file.stem, out)  # so that Ctrl-C in what follows loses no find
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
    only: Sequence[str],
    others: Mapping[str, Any],
) -> None:
    from shallows.attack import objective
    from shallows.attack.fabric import search, show

    if faults := [Fault(name, "cannot be used with --fabric", one) for name, one in others.items() if one]:
        raise SpecError(faults)
    what = search.space_of(file, settings)
    sought = None if against is None else objective.read(against, what)
    show.folder(file.stem, out)
    found = search.search(what, sought, how.runner(), only)
    where = show.write(found, file.stem, out)
    if as_json:
        terminal.print_json(show.document(found) | {"report": str(where)})
    else:
        show.show(found, sought, where)


def _backend(on: str, what: Space, how: How) -> Runner:
    """The runner of the other backend. Raises SpecError if it cannot run the file as written."""
    from dataclasses import replace

    try:
        runner = replace(how, backend=on, threads=None).runner()
    except SpecError as error:
        renamed = {"--backend": "--on"}
        raise SpecError(
            [replace(fault, path=renamed.get(fault.path, fault.path)) for fault in error.faults]
        ) from None
    runner.identify(what.points({}))
    return runner
