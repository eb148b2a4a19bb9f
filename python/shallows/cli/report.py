"""`./shallows report`: the page of stored runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shallows import terminal
from shallows.cli.options import Json, Out, StorePath, command_line
from shallows.document.places import program
from shallows.errors import Fault, SpecError
from shallows.words import did_you_mean

__all__ = ["report"]


def report(
    name: Annotated[
        str, typer.Argument(metavar="HASH", help="The run's name in the store.", show_default=False)
    ],
    out: Out = Path("reports"),
    store: StorePath = None,
    as_json: Json = False,
) -> None:
    """Writes the page of a stored run. It has results, figures, and every setting with its source."""
    from shallows.document.points import Point
    from shallows.execution.jobs import Outcome
    from shallows.results.store import Store
    from shallows.studies.outcomes import report as pages
    from shallows.tables.metrics import with_sizes

    place = Store(store)
    run = place.find(name) if len(name) == 20 and name.isalnum() else None
    if run is None:
        rule = f"there is no such run in {place.path}"
        known = did_you_mean(name, [each.hash for each in place.runs()])
        hint = known or f"{program()} run FILE prints its hash"
        raise SpecError([Fault("report", rule, name, hint)])
    point = Point("", {}, run.seed, run.experiment, "")
    outcome = Outcome(point, run.hash, "stored", run, metrics=with_sizes(run.tables))
    title = run.experiment.get("title") or f"Run {run.hash}"
    pages.page_of_runs(f"run-{run.hash}", out)
    page = pages.write_runs(f"run-{run.hash}", title, [outcome], run.experiment, out, command_line())
    if as_json:
        terminal.print_json({"hash": run.hash, "report": str(page)})
    else:
        terminal.say(f"report: {page}")
