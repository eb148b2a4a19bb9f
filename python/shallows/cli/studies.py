"""`./shallows compare`, `tune`, `reproduce` and `validate`: each prints its findings and writes a report."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from shallows import terminal
from shallows.cli.options import (
    CsvDir,
    File,
    Formats,
    How,
    Json,
    Out,
    Settings,
    StorePath,
    Workers,
    command_line,
    makes_runs,
)
from shallows.errors import FigureError

__all__ = ["compare", "reproduce", "tune", "validate"]


@makes_runs
def compare(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Experiment files (TOML).")],
    vary: Annotated[
        list[str], typer.Option(metavar="KEY=A,B", help="A scheme for each value; several multiply.")
    ] = [],  # noqa: B006
    scheme: Annotated[
        list[str], typer.Option(metavar="NAME=KEY=VALUE,...", help="A scheme: name and settings over FILE.")
    ] = [],  # noqa: B006
    settings: Settings = [],  # noqa: B006
    seeds: Annotated[
        int | None, typer.Option(min=2, help="Runs with seeds 1 to N.", show_default=False)
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="The scheme to compare with; default: the first.")
    ] = None,
    metric: Annotated[
        list[str], typer.Option(help="Compares these metrics, * matches any text; default: the main ones.")
    ] = [],  # noqa: B006
    allow: Annotated[
        list[str], typer.Option(metavar="KEY", help="A further setting in which schemes may differ.")
    ] = [],  # noqa: B006
    csv: CsvDir = None,
    formats: Formats = [],  # noqa: B006
    out: Out = Path("reports"),
    *,
    how: How,
    as_json: Json = False,
) -> None:
    """Compares schemes, seed by seed. One page has the real differences."""
    from shallows.studies.compare import comparison, report, section, show

    what = section.read(
        files,
        settings=settings,
        vary=vary,
        schemes=scheme,
        baseline=baseline,
        metrics=metric,
        allow=allow,
        seeds=seeds,
    )
    name = "-".join(file.stem for file in files)
    report.page_of_comparison(name, out, csv)
    runner = how.runner()
    with how.report("compare", len(what.schemes) * len(what.seeds)) as told:
        found = comparison.compare(what, runner, told)
    page = report.write_comparison(found, name, out, command_line(), formats, csv)
    if csv:
        terminal.note(f"tables: {csv}")
    if as_json:
        terminal.print_json(show.document(found, str(page)))
    else:
        show.show(found, page)


@makes_runs
def tune(
    file: File,
    settings: Settings = [],  # noqa: B006
    out: Out = Path("reports"),
    *,
    how: How,
    as_json: Json = False,
) -> None:
    """Searches the settings that a file's [tune] asks for. The same command resumes."""
    from shallows.studies.tune import report, search, section, show

    what = section.read(file, settings)
    report.page_of_tuning(file.stem, out)
    runner = how.runner()
    with how.report("tune", what.most_runs) as told:
        found = search.tune(what, runner, told)
    page = report.write_tuning(found, file.stem, out, command_line())
    if as_json:
        terminal.print_json(show.document(found, str(page)))
    else:
        show.show(found, page)


@makes_runs
def reproduce(
    target: Annotated[
        str | None, typer.Argument(metavar="[PAPER[/FIGURE]]", help="Default: all.", show_default=False)
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Fewer seeds and points: in under a minute on the simulator; Linux takes longer."
        ),
    ] = False,
    most_seeds: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Adds seeds to undecided claims, up to N; default on Linux without --quick: 24 for most.",
            metavar="N",
            show_default=False,
        ),
    ] = None,
    out: Out = Path("reports"),
    formats: Formats = [],  # noqa: B006
    debug: Annotated[
        bool, typer.Option("--debug", help="Prints Python's traceback if a figure.py fails.")
    ] = False,
    *,
    how: How,
    as_json: Json = False,
) -> None:
    """Runs the studies of a paper. The report has figures, and claims with verdicts."""
    from shallows.studies.paper.reproduce import reproduce as whole
    from shallows.studies.paper.show import show

    runner = how.runner()
    try:
        result = whole(
            target,
            runner,
            quick=quick,
            most_seeds=most_seeds,
            out=out,
            progress=how.report,
            formats=formats,
        )
    except FigureError as error:
        if debug:
            terminal.note(error.traceback.rstrip())
        raise
    if as_json:
        terminal.print_json({"headline": result.headline, "claims": result.claims})
    else:
        show(result)
    if result.exit_status:
        raise typer.Exit(result.exit_status)


def validate(
    cells: Annotated[
        str | None, typer.Option(metavar="PATTERN", help="Only cells with a matching name: 'dctcp-10G-*'.")
    ] = None,
    backend: Annotated[
        list[str],
        typer.Option(help="The other side: linux or ns3; default: both, ns3 if installed."),
    ] = [],  # noqa: B006
    matrix: Annotated[
        Path | None, typer.Option(help="A matrix file; default: the matrix of the package.")
    ] = None,
    out: Out = Path("reports"),
    store: StorePath = None,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Compares the simulator with Linux and ns-3. A matrix has its cells; ns-3 is Debian's libns3-dev.

    An interrupted validation resumes by the same command.
    """
    from dataclasses import replace

    from shallows.results.store import Store
    from shallows.studies.validation import matrix as cells_of
    from shallows.studies.validation import runs, show
    from shallows.studies.validation.report import page_of_validation, write_validation

    backends, notes = runs.choose(backend)
    chosen = cells_of.read(matrix).chosen(cells)
    page_of_validation(out)
    total = runs.total_cost(chosen, backends)
    with terminal.progress("validate", math.ceil(total) or 1) as report:
        found = replace(runs.validate(chosen, Store(store), backends, workers, report), notes=notes)
    page = write_validation(found, out, command_line())
    if as_json:
        terminal.print_json(show.document(found, str(page)))
    else:
        show.show(found, str(page))
    if found.exit_status:
        raise typer.Exit(found.exit_status)
