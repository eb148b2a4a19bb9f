"""The experiments of a paper: run what is missing, measure, judge each claim, draw, and write the report."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows import terminal
from shallows.backends.kernels import kernel_of
from shallows.document.points import Point
from shallows.errors import Fault, FigureError, SpecError, StoreError
from shallows.execution.jobs import Outcome
from shallows.execution.runner import Runner
from shallows.studies.paper import more_seeds
from shallows.studies.paper.about import check
from shallows.studies.paper.claims import Claim, Measured, as_measured
from shallows.studies.paper.joint import together
from shallows.studies.paper.readings import BASE, Reading
from shallows.studies.paper.study import Run, Runs, Study, find, located, short_names
from shallows.studies.paper.verdicts import (
    Found,
    conclude,
    in_quick,
    record,
    unexpected,
    verdict,
    with_causes,
)
from shallows.words import did_you_mean

if TYPE_CHECKING:
    import polars as pl

TRACEBACK = "figure-error.txt"
"""The file of a slip in a figure.py, in the directory of reports."""

Progress = Callable[[str, int], AbstractContextManager[terminal.Report]]


@dataclass(frozen=True)
class Section:
    """One figure's part of a report. `images`: name to SVG; `failed`: reasons of runs that failed.

    `numbers`: values that its text and others' may name beside claims. `tried`: readings beside the base.
    """

    figure: Study
    runs: Runs
    claims: list[dict[str, Any]]
    images: dict[str, bytes] = field(repr=False)
    tables: "dict[str, pl.DataFrame]"
    failed: list[str]
    numbers: dict[str, dict[str, Any]] = field(default_factory=dict)
    tried: list[Reading] = field(default_factory=list)
    others: dict[tuple[str, str], bytes] = field(default_factory=dict, repr=False)
    """The drawings in the formats beside SVG that were asked for, by name and suffix."""


@dataclass(frozen=True)
class Reproduction:
    """The result: one section a figure, and the report that was written for each paper."""

    sections: list[Section]
    reports: list[Path]
    skipped: list[str] = field(default_factory=list)
    """Figures that the backend cannot run, with the reason."""
    headline: dict[str, str] = field(default_factory=dict)
    """By paper, its headline with its values; a paper of which some figures were not run may have none."""

    @cached_property
    def claims(self) -> list[dict[str, Any]]:
        """Records of all claims, in the shape of `reproduce --json`."""
        return [record for section in self.sections for record in section.claims]

    @property
    def exit_status(self) -> int:
        """0, or 1 if a run failed or a verdict is not the one recorded for it."""
        failed = any(section.failed for section in self.sections)
        return 1 if failed or unexpected(self.claims) else 0


@dataclass(frozen=True)
class _Job:
    """A figure under one reading, and its runs by experiment. `notes`: by claim, on its further seeds.

    `judged`: the reading by which the runs are judged, where a backend has its own for the base.
    """

    figure: Study
    reading: Reading
    points: Mapping[str, Sequence[Point]]
    judged: Reading
    notes: Mapping[str, str] = field(default_factory=dict)


def reproduce(
    target: str | None,
    runner: Runner,
    *,
    quick: bool = False,
    most_seeds: int | None = None,
    out: Path | str = "reports",
    root: Path | None = None,
    progress: Progress = terminal.progress,
    formats: Sequence[str] = (),
) -> Reproduction:
    """Reproduces `PAPER`, `PAPER/FIGURE` or everything, and writes `out/<paper>/`.

    Readings beside the base are run on the simulator alone. Claims that the base reading leaves undecided
    get more seeds, up to `most_seeds` (`more_seeds`); None: as the figure says, else the backend,
    and none in quick. `formats` are those of the figures beside SVG: pdf, png.
    Errors: SpecError with all faults of all files, before anything runs; StoreError; FigureError for a slip
    in a figure.py, whose traceback is saved in `out`.
    """
    try:
        return _reproduce(target, runner, quick, most_seeds, Path(out), root, progress, formats)
    except FigureError as error:
        raise _saved(error, Path(out)) from error.__cause__


def _saved(error: FigureError, out: Path) -> FigureError:
    """The error with the place of its traceback, which it writes."""
    if not error.traceback:
        return error
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / TRACEBACK).write_text(error.traceback, encoding="utf-8")
    except OSError as why:
        raise StoreError(f"{out / TRACEBACK} cannot be written: {why.strerror or why}; {error}") from error
    return FigureError(f"{error}; Python's traceback: {out / TRACEBACK}", error.traceback)


def _reproduce(
    target: str | None,
    runner: Runner,
    quick: bool,
    most_seeds: int | None,
    out: Path,
    root: Path | None,
    progress: Progress,
    formats: Sequence[str],
) -> Reproduction:
    from shallows.studies.paper.report import headlines, page_of, write_report

    backend = runner.backend.name
    figures, skipped = _possible(find(target, root), backend)
    jobs = _jobs(figures, quick, backend)
    for paper in dict.fromkeys(figure.paper for figure in figures):
        page_of(located(target)[1] or paper, out, quick, backend)
    outcomes = _run(jobs, runner, progress)
    most = {figure.path: _most_seeds(figure, backend, quick, most_seeds) for figure in figures}
    if any(most.values()):
        jobs = [_second_look(job, outcomes, quick, most[job.figure.path]) for job in jobs]
        outcomes |= _run(jobs, runner, progress, outcomes)
    sections = []
    for figure in figures:
        its_jobs = [job for job in jobs if job.figure is figure]
        sections.append(_section(figure, its_jobs, outcomes, quick, backend, formats))
    sections = _with_causes(sections)
    reports = []
    for paper in dict.fromkeys(figure.paper for figure in figures):
        mine = [section for section in sections if section.figure.paper == paper]
        reports.append(write_report(paper, mine, out, located(target)[1] or paper, quick, backend))
    return Reproduction(sections, reports, skipped, headlines(sections))


def _with_causes(sections: Sequence[Section]) -> list[Section]:
    """The sections, each cause kept only where the claim that shows it holds in this very reproduction."""
    judged = []
    for section in sections:
        paper = [r for other in sections if other.figure.paper == section.figure.paper for r in other.claims]
        ids = {record["id"] for record in section.claims}
        claims = [record for record in with_causes(paper) if record["id"] in ids]
        judged.append(Section(**vars(section) | {"claims": claims}))
    return judged


def _possible(figures: Sequence[Study], backend: str) -> tuple[list[Study], list[str]]:
    """Those that the backend can run, and why not the others.

    Errors: SpecError if it can run none, and with all faults of what figures declare.
    """
    faults, reasons = [], {}
    for figure in figures:
        try:
            reasons[figure.path] = figure.excluded(backend)
        except SpecError as error:
            faults += error.faults
    if faults:
        raise SpecError(faults)
    skipped = [
        f"{f.paper}/{f.name} is not run on {backend}: {reasons[f.path]}" for f in figures if reasons[f.path]
    ]
    chosen = [figure for figure in figures if not reasons[figure.path]]
    if not chosen:
        raise SpecError(
            [
                Fault(
                    "--backend",
                    "cannot run it: " + "; ".join(dict.fromkeys(filter(None, reasons.values()))),
                    backend,
                )
            ]
        )
    return chosen, skipped


def _jobs(figures: Sequence[Study], quick: bool, backend: str) -> list[_Job]:
    """Every figure under every reading, the base first. Errors: all faults of all files."""
    faults, jobs = [], []
    for figure in figures:
        try:
            figure.check()
            base = _Job(figure, BASE, figure.points(quick), figure.readings.on(figure.name, backend))
            if not quick:  # which leaves points out
                more_seeds.check(figure, base.points)
            tried = figure.tried(quick) if backend == "simulator" else []
            jobs.append(base)
            for each in tried:
                points = base.points if figure.as_base(each) else figure.points(quick, each)
                jobs.append(_Job(figure, each, points, each))
        except SpecError as error:
            where = f"{figure.paper}/{figure.name}: "
            faults += [replace(fault, path=where + fault.path) for fault in error.faults]
    for paper in dict.fromkeys(figure.path.parent for figure in figures) if not faults else ():
        faults += _faults_of_about(paper)
    if faults:
        raise SpecError(faults)
    return jobs


def _faults_of_about(paper: Path) -> list[Fault]:
    """The faults of a paper's paper.toml, whose headline may name claims of all its figures."""
    every = find(paper.name, paper.parent)
    try:
        about = every[0].about
    except SpecError as error:
        found = error.faults
    else:
        found = check(about, every) if about else []
    return [replace(fault, path=f"{paper.name}: {fault.path}") for fault in found]


def _most_seeds(figure: Study, backend: str, quick: bool, asked: int | None) -> int:
    """The most seeds of a claim of the figure: as asked for, else by the figure, else by the backend."""
    if asked is not None:
        return asked
    return 0 if quick else (more_seeds.MOST_SEEDS | figure.declared.most_seeds).get(backend, 0)


def _second_look(job: _Job, outcomes: Mapping[str, Outcome], quick: bool, most: int) -> _Job:
    """The base reading of a figure with further seeds for the claims that the first runs leave undecided."""
    figure = job.figure
    runs, failed = _runs(job, outcomes)
    seeds = figure.declared.samples == "seeds"
    if not most or job.reading.departures or failed or not runs or not seeds:
        return job
    measured = _measured(figure, runs, failed)
    found = {}
    for claim in figure.claims:
        with figure.running(f"measure, claim {claim.id}"):
            found[claim.id] = _found(claim, BASE, measured, runs)
    second = more_seeds.further(figure, figure.documents(quick), job.points, found, most)
    return replace(job, points=second.points, notes=second.notes)


def _run(
    jobs: Sequence[_Job], runner: Runner, progress: Progress, known: Collection[str] = ()
) -> dict[str, Outcome]:
    """Runs every distinct experiment once, whichever figures and readings need it. By the points' keys.

    Those that are `known` are left out.
    """
    every = (p for job in jobs for group in job.points.values() for p in group)
    distinct = {point.key: point for point in every if point.key not in known}
    if not distinct:
        return {}
    with progress("reproduce", len(distinct)) as report:
        done = runner.run(list(distinct.values()), progress=report)
    return {outcome.point.key: outcome for outcome in done}


def _runs(job: _Job, outcomes: Mapping[str, Outcome]) -> tuple[Runs, list[str]]:
    """The runs of a figure under one reading, and why those that failed did."""
    runs, failed = [], []
    for spec, group in job.points.items():
        names = short_names(sorted({path for point in group for path in point.params}))
        for point in group:
            outcome = outcomes[point.key]
            params = {names[path]: value for path, value in point.params.items()}
            if outcome.run is None:
                failed.append(f"{spec} {params} seed {point.seed}: {outcome.error}")
            else:
                runs.append(Run(spec, params, point.seed, outcome.run, point.label))
    given = job.figure.readings.given(job.judged)
    return Runs(runs, job.figure.reference(), given), failed


def _section(
    figure: Study,
    jobs: Sequence[_Job],
    outcomes: Mapping[str, Outcome],
    quick: bool,
    backend: str,
    formats: Sequence[str],
) -> Section:
    import polars as pl

    by_reading = {job.reading.id: _runs(job, outcomes) for job in jobs}
    failed = [reason for _, reasons in by_reading.values() for reason in reasons]
    runs, _ = by_reading[BASE.id]
    measured = {job.reading.id: _measured(figure, *by_reading[job.reading.id]) for job in jobs}
    tried = [job.reading for job in jobs[1:]]
    kernel = _kernel(outcomes[point.key] for points in jobs[0].points.values() for point in points)
    judged: dict[str, list[Found]] = {}
    for claim in figure.claims:
        with figure.running(f"measure, claim {claim.id}"):
            judged[claim.id] = [
                _found(claim, reading, measured[reading.id], by_reading[reading.id][0])
                for reading in (BASE, *_concerning(claim, tried))
            ]
    claims = {claim.id: claim for claim in figure.claims}
    judged |= {name: together(claim, claims, judged, tried) for name, claim in claims.items() if claim.joint}
    records = []
    for claim in figure.claims:
        base, *others = judged[claim.id]
        if _concerning(claim, [jobs[0].judged]):  # the reading of a backend
            base = base._replace(reading=jobs[0].judged)
        base = _with_note(base, jobs[0].notes.get(claim.id))
        concluded = conclude(claim, base, others)
        if quick:
            concluded = in_quick(claim, concluded, _concerning(claim, figure.left_out))
        records.append(
            record(
                claim,
                concluded,
                paper=figure.paper,
                figure=figure.name,
                mode="quick" if quick else "full",
                n_of=_sampled(figure, claim),
                backend=backend if runs or failed else "theory",
                kernel=kernel,
            )
        )
    whole = not by_reading[BASE.id][1]
    images, others = _drawn(figure, runs, formats) if whole else ({}, {})
    tables = figure.answer("tables", runs) if whole else {}
    if wrong := [title for title, table in tables.items() if not isinstance(table, pl.DataFrame)]:
        raise FigureError(f'{figure.place}: tables must return polars DataFrames; "{wrong[0]}" is none')
    if whole:
        _check_names(figure, [*images, *tables])
    numbers = _numbers(figure, runs, whole)
    return Section(figure, runs, records, images, tables, failed, numbers, tried, others)


def _check_names(figure: Study, made: Sequence[str]) -> None:
    """Raises FigureError if the figure's texts name a drawing or table that it does not make."""
    declared = figure.declared
    fields = {"shows": declared.shows, "captions": declared.captions, "folded": declared.folded}
    absent = [
        f"FIGURE.{field} names {_suggested(name, made)}"
        for field, names in fields.items()
        for name in names
        if name not in made
    ]
    if absent:
        here = ", ".join(f'"{name}"' for name in made) or "nothing"
        raise FigureError(f"{figure.place}: {'; '.join(absent)}; draw and tables made {here}")


def _suggested(name: str, known: Sequence[str]) -> str:
    """The name in quotation marks, with the nearest known one."""
    hint = did_you_mean(name, known)
    return f'"{name}" ({hint})' if hint else f'"{name}"'


def _kernel(outcomes: Iterable[Outcome]) -> str | None:
    """The kernels of these runs, each once; None where there is none."""
    named = (kernel_of(outcome.run.manifest) for outcome in outcomes if outcome.run is not None)
    return ", ".join(dict.fromkeys(name for name in named if name)) or None


def _sampled(figure: Study, claim: Claim) -> str:
    """The kind of a claim's samples: `samples` of the figure, but seeds where `seeded` has its pattern."""
    seeded = any(fnmatchcase(claim.id, pattern) for pattern in figure.declared.seeded)
    return "seeds" if seeded else figure.declared.samples


def _concerning(claim: Claim, tried: Iterable[Reading]) -> list[Reading]:
    """The readings that concern a claim; a check of our own is judged under the base reading alone."""
    return [] if claim.kind == "ours" else [reading for reading in tried if reading.concerns(claim.about)]


def _measured(figure: Study, runs: Runs, failed: Sequence[str]) -> dict[str, Any]:
    """The figure's results by claim; nothing was measured where a run failed."""
    if failed:
        why = f"{len(failed)} runs failed, first {failed[0]}"
        return {claim.id: Measured(None, note=why) for claim in figure.claims}
    found = figure.answer("measure", runs)
    ids = [claim.id for claim in figure.claims]
    unknown = sorted(set(found) - set(ids))
    if unknown:
        named = ", ".join(_suggested(name, ids) for name in unknown)
        raise FigureError(f"{figure.place}: measure returned {named}, which claims.toml does not have")
    return found


def _with_note(found: Found, note: str | None) -> Found:
    """The result with a note on the seeds behind it."""
    if not note:
        return found
    notes = "; ".join(filter(None, [found.measured.note, note]))
    return found._replace(measured=found.measured._replace(note=notes))


def _found(claim: Claim, reading: Reading, measured: Mapping[str, Any], runs: Runs) -> Found:
    """The verdict under one reading. An interval of no width is suspect only where seeds change nothing."""
    found = measured.get(claim.id, Measured(None, note="not measured in this mode"))
    known = as_measured(found, len(more_seeds.concerning(claim, runs).seeds))
    if known.flat and not runs.idle_seeds:
        known = known._replace(flat=False)
    return Found(reading, known, *verdict(claim, known))


def _numbers(figure: Study, runs: Runs, whole: bool) -> dict[str, dict[str, Any]]:
    """The answer of `numbers` in figure.py: by name, a value or a value and its unit."""
    found = {}
    for name, given in figure.answer("numbers", runs).items() if whole else ():
        with figure.running(f"numbers, {name}"):
            value, unit = given if type(given) is tuple else (given, "")
            known = as_measured(value, len(runs.seeds))
        interval = None if known.low is None or known.high is None else [known.low, known.high]
        found[name] = {"measured": known.value, "ci95": interval, "unit": unit, "note": known.note}
    return found


def _drawn(
    figure: Study, runs: Runs, formats: Sequence[str]
) -> tuple[dict[str, bytes], dict[tuple[str, str], bytes]]:
    """The figure's drawings as SVG, and in other formats by name and suffix."""
    from shallows.figures import interactive

    drawn = figure.answer("draw", runs, runs.reference)
    with figure.running("draw"):
        others = interactive.in_formats(drawn, formats)
        return {name: interactive.picture(each) for name, each in drawn.items()}, others
