"""`./shallows run` and `./shallows sweep`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shallows import terminal
from shallows.cli.options import (
    By,
    File,
    How,
    Json,
    Metric,
    Out,
    OverSeeds,
    Page,
    Percentiles,
    Seeds,
    Settings,
    Sizes,
    command_line,
    makes_runs,
)
from shallows.document.places import program
from shallows.errors import Fault, SpecError

if TYPE_CHECKING:
    from shallows.document.points import Point
    from shallows.execution.jobs import Outcome

__all__ = ["run", "sweep"]


@makes_runs
def run(
    file: File,
    settings: Settings = [],  # noqa: B006 - typer reads it as "none given"
    seeds: Seeds = None,
    pcap: Annotated[
        list[str],
        typer.Option(
            "--pcap", metavar="LINK_OR_HOST=FILE", help="Writes packets for Wireshark: s0=s0.pcapng."
        ),
    ] = [],  # noqa: B006
    metric: Metric = [],  # noqa: B006
    by: By = None,
    sizes: Sizes = None,
    percentiles: Percentiles = None,
    over_seeds: OverSeeds = False,
    report: Page = False,
    out: Out = Path("reports"),
    *,
    how: How,
    as_json: Json = False,
) -> None:
    """Runs one experiment: prints a summary, stores the run, draws a figure."""
    from shallows.cli import show_run
    from shallows.document.load import load
    from shallows.document.points import expand
    from shallows.document.summary import with_options
    from shallows.results import pcapng
    from shallows.studies.outcomes import report as pages
    from shallows.studies.outcomes import rows

    document = with_options(load(file, settings), sizes, percentiles)
    if "sweep" in document:
        hint = f"{program()} sweep {file}"
        raise SpecError([Fault("sweep", "describes several experiments; run takes one", hint=hint)])
    captures = pcapng.parse_requests(pcap)
    if captures:
        pcapng.probe_for(document, captures)
    document = document if seeds is None else _with_seeds(document, seeds)
    points = expand(document)
    if captures and len(points) > 1:
        raise SpecError([Fault("--pcap", f"needs exactly one run, not {len(points)}", hint="--seeds 1")])
    _check(metric, by, points)
    if report:
        pages.page_of_runs(f"run-{file.stem}", out)
    runner = how.runner()
    with how.report(file.name, len(points)) as told:
        outcomes = runner.run(points, metrics=True, progress=told)
    failed = [outcome for outcome in outcomes if outcome.error]
    if as_json and not failed:
        terminal.print_json(show_run.document(outcomes))
    elif not failed:
        title = document.get("title") or file.name
        if metric or by or over_seeds:
            terminal.print_table(title, *rows.table(outcomes, metric, by, over_seeds))
            for warning in rows.warnings(outcomes, over_seeds):
                terminal.say(f"note: {warning}")
        else:
            show_run.show(title, outcomes)
    else:
        raise show_run.failure(failed)
    if report:
        _page(f"run-{file.stem}", outcomes, document, (out, metric, by), as_json)
    for name, path in captures.items():
        count = pcapng.write(outcomes[0].run, name, path)
        terminal.note(f"{path}: {count} packets of {name}")


@makes_runs
def sweep(
    file: File,
    settings: Settings = [],  # noqa: B006
    seeds: Seeds = None,
    shard: Annotated[
        str | None,
        typer.Option(metavar="I/N", help="The I-th of N equal parts, for job arrays.", show_default=False),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", hidden=True, help="Deprecated: every sweep resumes."),
    ] = False,
    job_script: Annotated[
        bool, typer.Option("--job-script", help="Prints the script of one --slurm job, and runs nothing.")
    ] = False,
    metric: Metric = [],  # noqa: B006
    by: By = None,
    sizes: Sizes = None,
    percentiles: Percentiles = None,
    over_seeds: OverSeeds = False,
    report: Page = False,
    out: Out = Path("reports"),
    *,
    how: How,
    as_json: Json = False,
) -> None:
    """Runs all points of a sweep on all cores. The same command resumes an interrupted sweep."""
    from shallows.cli import show_run
    from shallows.document.load import load
    from shallows.document.points import expand
    from shallows.document.summary import with_options
    from shallows.execution.runner import parse_shard
    from shallows.studies.outcomes import report as pages
    from shallows.studies.outcomes import rows

    if resume:
        terminal.note("--resume is deprecated and has no effect, because every sweep resumes; 0.3 refuses it")
    number, count = parse_shard(shard) if shard else (1, 1)
    document = with_options(load(file, settings), sizes, percentiles)
    document = document if seeds is None else _with_seeds(document, seeds)
    points = expand(document)[number - 1 :: count]
    _check(metric, by, points)
    if report:
        pages.page_of_runs(f"sweep-{file.stem}", out)
    runner = how.runner()
    if job_script:
        typer.echo(_job_script(how.slurm), nl=False)
        return
    with how.report(file.name, len(points)) as told:
        outcomes = runner.run(points, metrics=True, progress=told)
    if as_json:
        averages = {"over_seeds": rows.over_all_seeds(outcomes)} if over_seeds else {}
        terminal.print_json(show_run.sweep_document(outcomes) | averages)
    else:
        heads, found = rows.table(outcomes, metric, by, over_seeds)
        if found:
            terminal.print_table(file.name, heads, found)
        for warning in rows.warnings(outcomes, over_seeds):
            terminal.say(f"note: {warning}")
        show_run.show_failures(outcomes)
    if report:
        _page(f"sweep-{file.stem}", outcomes, document, (out, metric, by), as_json)
    if any(outcome.error for outcome in outcomes):
        raise typer.Exit(1)


def _page(
    name: str,
    outcomes: Sequence[Outcome],
    document: dict[str, Any],
    wanted: tuple[Path, list[str], str | None],
    as_json: bool,
) -> None:
    from shallows.studies.outcomes.report import write_runs

    title, (out, metric, by) = document.get("title") or name, wanted
    page = write_runs(name, title, outcomes, document, out, command_line(), metric, by)
    (terminal.note if as_json else terminal.say)(f"report: {page}")


def _check(metric: list[str], by: str | None, points: Sequence[Point]) -> None:
    """Refuses patterns that match no metric, before anything runs."""
    if metric:
        from shallows.tables import metric_names

        first = {point.label: point.experiment for point in points}
        metric_names.check(
            [f"*{m}" if by else m for m in metric], first.values(), "--metric", points[0].summary
        )


def _job_script(slurm: str | None) -> str:
    if slurm is None:
        raise SpecError([Fault("--job-script", "requires --slurm")])
    from shallows.execution.dask.connect import job_script

    return job_script(slurm)


def _with_seeds(document: dict[str, Any], seeds: int) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != "seed"} | {"seeds": seeds}
