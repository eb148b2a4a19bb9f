"""The experiments of a paper: run what is missing, measure, judge each claim, draw, and write the report."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows import terminal
from shallows.document.points import Point
from shallows.errors import Fault, SpecError
from shallows.execution.jobs import Outcome
from shallows.execution.many import run_points
from shallows.execution.single import identify
from shallows.results.store import Store
from shallows.studies.paper.claims import Measured, as_measured, record, unexpected
from shallows.studies.paper.figure import Figure, Run, Runs, find, located, short_names

if TYPE_CHECKING:
    import polars as pl

Progress = Callable[[str, int], AbstractContextManager[terminal.Report]]


@dataclass(frozen=True)
class Section:
    """What a report says of one figure. `images`: name to SVG; `failed`: reasons of runs that failed."""

    figure: Figure
    runs: Runs
    claims: list[dict[str, Any]]
    images: dict[str, bytes] = field(repr=False)
    tables: "dict[str, pl.DataFrame]"
    failed: list[str]


@dataclass(frozen=True)
class Reproduction:
    """The result: one section a figure, and the report that was written for each paper."""

    sections: list[Section]
    reports: list[Path]
    skipped: list[str] = field(default_factory=list)
    """Figures that the backend cannot run, with the reason."""

    @cached_property
    def claims(self) -> list[dict[str, Any]]:
        """Records of all claims, in the shape of `reproduce --json`."""
        return [record for section in self.sections for record in section.claims]

    @property
    def exit_status(self) -> int:
        """0, or 1 if a run failed or a verdict is not the one recorded for it."""
        failed = any(section.failed for section in self.sections)
        return 1 if failed or unexpected(self.claims) else 0


def reproduce(
    target: str | None = None,
    *,
    quick: bool = False,
    backend: str = "simulator",
    workers: int | None = None,
    store: Store | str | Path | None = None,
    out: Path | str = "reports",
    root: Path | None = None,
    progress: Progress = terminal.progress,
) -> Reproduction:
    """Reproduces `PAPER`, `PAPER/FIGURE` or everything, and writes `out/<paper>/`.

    Errors: SpecError with all faults of all files, before anything runs; StoreError.
    """
    from shallows.studies.paper.report import page_of, write_report

    figures, skipped = _possible(find(target, root), backend)
    points = _points(figures, quick)
    for paper in dict.fromkeys(figure.paper for figure in figures):
        page_of(located(target)[1] or paper, Path(out))
    outcomes = _run(points, backend, workers, store if isinstance(store, Store) else Store(store), progress)
    sections = [_section(f, points[f.path], outcomes, quick, backend) for f in figures]
    reports = []
    for paper in dict.fromkeys(figure.paper for figure in figures):
        mine = [section for section in sections if section.figure.paper == paper]
        reports.append(write_report(paper, mine, Path(out), located(target)[1] or paper, quick))
    return Reproduction(sections, reports, skipped)


def _possible(figures: Sequence[Figure], backend: str) -> tuple[list[Figure], list[str]]:
    """Those that the backend can run, and why not the others. Error: SpecError if it can run none."""
    reasons = {figure.path: figure.excluded(backend) for figure in figures}
    skipped = [
        f"{f.paper}/{f.name} is not run on {backend}: {reasons[f.path]}" for f in figures if reasons[f.path]
    ]
    chosen = [figure for figure in figures if not reasons[figure.path]]
    if not chosen:
        raise SpecError([Fault("--backend", "cannot run it: " + "; ".join(skipped), backend)])
    return chosen, skipped


def _points(figures: Sequence[Figure], quick: bool) -> dict[Path, dict[str, list[Point]]]:
    faults, points = [], {}
    for figure in figures:
        try:
            _ = figure.claims
            points[figure.path] = figure.points(quick)
        except SpecError as error:
            where = f"{figure.paper}/{figure.name}: "
            faults += [fault.__class__(where + fault.path, *_rest(fault)) for fault in error.faults]
    if faults:
        raise SpecError(faults)
    return points


def _rest(fault: Any) -> tuple[str, str, str]:
    return fault.rule, fault.value, fault.hint


def _run(
    points: Mapping[Path, Mapping[str, list[Point]]],
    backend: str,
    workers: int | None,
    store: Store,
    progress: Progress,
) -> dict[str, Outcome]:
    """Runs every distinct experiment once, whichever figures need it."""
    every = (p for specs in points.values() for group in specs.values() for p in group)
    distinct = {identify(point.experiment, backend)["hash"]: point for point in every}
    if not distinct:
        return {}
    with progress("reproduce", len(distinct)) as report:
        done = run_points(list(distinct.values()), store, workers=workers, backend=backend, progress=report)
    return {outcome.hash: outcome for outcome in done}


def _section(
    figure: Figure,
    points: Mapping[str, list[Point]],
    outcomes: Mapping[str, Outcome],
    quick: bool,
    backend: str,
) -> Section:
    runs, failed = [], []
    for spec, group in points.items():
        names = short_names(sorted({path for point in group for path in point.params}))
        for point in group:
            outcome = outcomes[identify(point.experiment, backend)["hash"]]
            params = {names[path]: value for path, value in point.params.items()}
            if outcome.run is None:
                failed.append(f"{spec} {params} seed {point.seed}: {outcome.error}")
            else:
                runs.append(Run(spec, params, point.seed, outcome.run))
    found, images, tables = Runs(runs, figure.reference()), {}, {}
    if failed:
        measured = {}
    else:
        measured = figure.module.measure(found)
        images = _drawn(figure, found)
        if hasattr(figure.module, "tables"):
            tables = figure.module.tables(found)
    claims = _judged(figure, measured, found, failed, quick, backend)
    return Section(figure, found, claims, images, tables, failed)


def _drawn(figure: Figure, runs: Runs) -> dict[str, bytes]:
    from shallows.figures import style

    if not hasattr(figure.module, "draw"):
        return {}
    return {name: style.image(drawn) for name, drawn in figure.module.draw(runs, runs.reference).items()}


def _judged(
    figure: Figure,
    measured: Mapping[str, Any],
    runs: Runs,
    failed: Sequence[str],
    quick: bool,
    backend: str,
) -> list[dict[str, Any]]:
    unknown = set(measured) - {claim.id for claim in figure.claims}
    if unknown:
        raise KeyError(
            f"{figure.path.name}/figure.py measures {sorted(unknown)}, which claims.toml does not list"
        )
    why = f"{len(failed)} runs failed, first {failed[0]}" if failed else "not measured in this mode"
    n_seeds = len(runs.seeds)
    records = []
    for claim in figure.claims:
        found = measured.get(claim.id, Measured(None, note=why))
        records.append(
            record(
                claim,
                as_measured(found, n_seeds),
                paper=figure.paper,
                figure=figure.name,
                mode="quick" if quick else "full",
                backend=backend if runs or failed else "theory",
            )
        )
    return records


def show(result: Reproduction) -> None:
    """Prints the claims as a table, then where the reports are."""
    rows = [
        (r["id"], r["statement"], _value(r["published"]), _measured(r), r["unit"], r["verdict"], _expected(r))
        for r in result.claims
    ]
    terminal.print_table(
        "Claims", ("id", "statement", "published", "measured", "unit", "verdict", "expected"), rows
    )
    for reason in result.skipped:
        terminal.say(f"skipped: {reason}")
    for section in result.sections:
        for reason in section.failed:
            terminal.say(f"failed: {section.figure.name}: {reason}")
    for report in result.reports:
        terminal.say(f"report: {report}")


def _value(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    return f"{value:.5g}"


def _measured(record: Mapping[str, Any]) -> str:
    text = _value(record["measured"])
    if record["ci95"] is not None:
        text += " [{:.5g}, {:.5g}]".format(*record["ci95"])
    return text


def _expected(record: Mapping[str, Any]) -> str:
    if record["expected_verdict"] is None:
        return "none recorded"
    return "as recorded" if record["verdict"] == record["expected_verdict"] else record["expected_verdict"]
