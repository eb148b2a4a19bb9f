"""`./shallows run` and `./shallows sweep`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shallows import terminal
from shallows.cli.options import (
    By,
    CsvDir,
    Expect,
    File,
    Formats,
    How,
    Json,
    Junit,
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
    from shallows.document.paths import Document
    from shallows.document.points import Point
    from shallows.execution.jobs import Outcome
    from shallows.execution.runner import Runner
    from shallows.studies.outcomes.expectations import Expectation, Judged

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
    qlog: Annotated[
        list[str],
        typer.Option("--qlog", metavar="FLOW=FILE", help="Writes a connection of TCP as qlog: 0=0.qlog."),
    ] = [],  # noqa: B006
    metric: Metric = [],  # noqa: B006
    by: By = None,
    sizes: Sizes = None,
    percentiles: Percentiles = None,
    over_seeds: OverSeeds = False,
    point: Annotated[
        str | None,
        typer.Option(
            "--point", metavar="N", help="One point of a sweep: its number or label.", show_default=False
        ),
    ] = None,
    csv: CsvDir = None,
    formats: Formats = [],  # noqa: B006
    expect: Expect = [],  # noqa: B006
    junit: Junit = None,
    report: Page = False,
    out: Out = Path("reports"),
    *,
    how: How,
    as_json: Json = False,
) -> None:
    """Runs one experiment. Prints a summary, stores the run, draws a figure."""
    from shallows.cli import captures as files
    from shallows.cli import show_run
    from shallows.document.points import chosen, expand

    document = _document(file, settings, seeds, sizes, percentiles)
    if "sweep" in document and point is None:
        hint = f"{program()} sweep {file} runs all; --point 1 runs the first"
        raise SpecError([Fault("sweep", "describes several experiments; run takes one", hint=hint)])
    captures = files.asked(pcap, qlog, document)
    points = expand(document) if point is None else chosen(expand(document), point)
    captures.of_one_run(len(points))
    page = out if report else None
    asked = _Asked(
        f"run-{file.stem}", document, points, metric, by, over_seeds, page, csv, formats, expect, junit
    )
    runner = asked.runner(how)
    with how.report(file.name, len(points)) as told:
        outcomes = runner.run(points, metrics=True, progress=told)
    judged = asked.judge(file.name, outcomes)
    failed = [outcome for outcome in outcomes if outcome.error]
    if failed:
        raise show_run.failure(failed)
    title = document.get("title") or file.name
    if as_json:
        terminal.print_json(show_run.document(outcomes) | show_run.expectations_json(judged))
    elif metric or by or over_seeds:
        asked.table(title, outcomes)
    else:
        show_run.show(title, outcomes, formats)
    asked.page(outcomes, as_json)
    if outcomes[0].run:
        captures.write(outcomes[0].run)
    _end(judged, as_json)


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
    csv: CsvDir = None,
    formats: Formats = [],  # noqa: B006
    expect: Expect = [],  # noqa: B006
    junit: Junit = None,
    report: Page = False,
    out: Out = Path("reports"),
    *,
    how: How,
    as_json: Json = False,
) -> None:
    """Runs all points of a sweep on all cores. The same command resumes an interrupted sweep."""
    from shallows.cli import show_run
    from shallows.document.points import expand
    from shallows.execution.runner import parse_shard
    from shallows.studies.outcomes import rows

    if resume:
        terminal.note("--resume is deprecated and has no effect, because every sweep resumes; 0.3 refuses it")
    number, count = parse_shard(shard) if shard else (1, 1)
    document = _document(file, settings, seeds, sizes, percentiles)
    points = expand(document)[number - 1 :: count]
    page = out if report else None
    asked = _Asked(
        f"sweep-{file.stem}", document, points, metric, by, over_seeds, page, csv, formats, expect, junit
    )
    runner = asked.runner(how)
    if job_script:
        typer.echo(_job_script(how.slurm), nl=False)
        return
    with how.report(file.name, len(points)) as told:
        outcomes = runner.run(points, metrics=True, progress=told)
    judged = asked.judge(file.name, outcomes)
    if as_json:
        averages = {"over_seeds": rows.over_all_seeds(outcomes)} if over_seeds else {}
        terminal.print_json(show_run.sweep_document(outcomes) | averages | show_run.expectations_json(judged))
    else:
        asked.table(file.name, outcomes)
        show_run.show_failures(outcomes)
    asked.page(outcomes, as_json)
    if any(outcome.error for outcome in outcomes):
        raise typer.Exit(1)
    _end(judged, as_json)


def _end(judged: Sequence[Judged], as_json: bool) -> None:
    """Shows the verdicts; status 1 unless all expectations hold."""
    from shallows.cli import show_run

    if judged and not as_json:
        show_run.show_expectations(judged)
    if any(each.verdict != "holds" for each in judged):
        raise typer.Exit(1)


def _document(
    file: Path, settings: list[str], seeds: int | None, sizes: str | None, percentiles: str | None
) -> Document:
    from shallows.document.load import load
    from shallows.document.points import with_seeds
    from shallows.document.summary import with_options

    return with_seeds(with_options(load(file, settings), sizes, percentiles), seeds)


@dataclass(frozen=True)
class _Asked:
    """A command's wishes beside the experiment: metrics of its table, and a page in `out`."""

    name: str
    document: Document
    points: Sequence[Point]
    metric: list[str]
    by: str | None
    over_seeds: bool
    out: Path | None
    csv: Path | None
    formats: Sequence[str]
    expect: Sequence[str]
    junit: Path | None

    def expectations(self) -> list[Expectation]:
        """The expectations, read. Raises SpecError."""
        from shallows.studies.outcomes import expectations

        if self.junit and not self.expect:
            raise SpecError([Fault("--junit", "requires --expect")])
        first = {point.label: point.experiment for point in self.points}
        return expectations.read(self.expect, first.values(), summary=self.points[0].summary)

    def judge(self, title: str, outcomes: Sequence[Outcome]) -> list[Judged]:
        """The verdicts on the expectations, written to the JUnit file that was asked for."""
        from shallows.studies.outcomes import expectations

        judged = expectations.judge(self.expectations(), outcomes)
        if self.junit:
            expectations.write_junit(self.junit, title, judged, outcomes)
        return judged

    def runner(self, how: How) -> Runner:
        """The runner, after all that can be refused before anything runs. Raises SpecError."""
        from shallows.studies.outcomes.report import page_of_runs
        from shallows.studies.page.csv_tables import directory
        from shallows.tables import metric_names

        if self.metric:
            first = {point.label: point.experiment for point in self.points}
            patterns = [f"*{m}" if self.by else m for m in self.metric]
            metric_names.check(patterns, first.values(), "--metric", self.points[0].summary)
        self.expectations()
        if self.out:
            page_of_runs(self.name, self.out)
        if self.csv:
            directory(self.csv)
        return how.runner()

    def table(self, title: str, outcomes: Sequence[Outcome]) -> None:
        """Prints the chosen metrics, and what must be known to read them."""
        from shallows.studies.outcomes import rows

        heads, found = rows.table(outcomes, self.metric, self.by, self.over_seeds)
        if found:
            terminal.print_table(title, heads, found)
        for warning in rows.warnings(outcomes, self.over_seeds):
            terminal.say(f"note: {warning}")

    def page(self, outcomes: Sequence[Outcome], as_json: bool) -> None:
        """Writes the page and the CSV files, if they are asked for, and prints their places."""
        from shallows.studies.outcomes.report import write_runs
        from shallows.studies.page.csv_tables import write_tables

        if self.csv:
            tell = terminal.note if as_json else terminal.say
            tell(f"tables: {write_tables(outcomes, self.csv)}")
        if self.out:
            title = self.document.get("title") or self.name
            given = (self.out, command_line(), self.metric, self.by, self.formats)
            page = write_runs(self.name, title, outcomes, self.document, *given)
            (terminal.note if as_json else terminal.say)(f"report: {page}")


def _job_script(slurm: str | None) -> str:
    if slurm is None:
        raise SpecError([Fault("--job-script", "requires --slurm")])
    from shallows.execution.dask.connect import job_script

    return job_script(slurm)
