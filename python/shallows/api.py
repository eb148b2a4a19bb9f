"""The public API for scripts and notebooks: `run`, `sweep`, `compare`, `tune`, `reproduce`, `import_files`.

    run = shallows.run("mine.toml", settings=["queue.mark_at=20pkt"])
    run.metrics["goodput_bps_total"], run.tables["queues"], run.figure("queue_time")
    shallows.sweep("mine.toml").frame
    shallows.compare("mine.toml", vary={"queue": ["codel", "pie"]}, seeds=10).rows

All but the last take the same options, those of `Options`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from shallows.backends.base import Backend
from shallows.document.load import load
from shallows.document.points import expand, one_run
from shallows.errors import FileWarning
from shallows.execution.jobs import Executor
from shallows.execution.outcomes import Sweep
from shallows.execution.runner import Runner
from shallows.progress import Wanted, shown
from shallows.results.store import Store, StoredRun

if TYPE_CHECKING:
    from shallows.imported import Imported
    from shallows.studies.compare.comparison import Comparison
    from shallows.studies.paper.reproduce import Reproduction
    from shallows.studies.tune.search import Tuned

__all__ = ["Options", "compare", "import_files", "reproduce", "run", "sweep", "tune"]


class Options(TypedDict, total=False):
    """The options of `run`, `sweep`, `compare`, `tune` and `reproduce`, each by its name."""

    store: Store | str | Path | None
    """The place of the runs: a `Store` or its path; default $SHALLOWS_STORE, else `runs`."""

    workers: int | None
    """Runs at a time on this machine; default: as many as there are cores."""

    threads: int | None
    """Threads of one simulation; default one in a sweep, all cores for a single run. No result changes."""

    allow_memory: bool
    """Whether a run may take more memory than the machine has free by the estimate; default no."""

    executor: Executor | None
    """An object that makes the runs elsewhere, such as a cluster (`shallows.execution.dask`)."""

    backend: str | Backend
    """`"simulator"`, `"linux"`, `"ns3"`, or an object of your own (`shallows.backends.base.Backend`)."""

    progress: Wanted
    """Whether to show progress, by default in a notebook or terminal; or a function.

    It is called with the numbers of runs done and failed.
    """


def _runner(options: Options) -> tuple[Runner, Wanted]:
    """The runner by the options, and the wish for progress. TypeError names an unknown option."""
    given: dict[str, Any] = {"progress": None, **options}
    progress = given.pop("progress")
    return Runner.of(**given), progress


def _warn(remarks: Iterable[str]) -> None:
    """Warns about what the files of an experiment have and the experiment has not."""
    for remark in remarks:
        warnings.warn(remark, FileWarning, stacklevel=3)


def run(
    experiment: Any,
    *,
    settings: Iterable[str] = (),
    algorithms: Iterable[Any] = (),
    **options: Unpack[Options],
) -> StoredRun:
    """Runs one experiment (a file, a table or an `Experiment`), or finds it in the store.

    `settings` (`path=value`) override it; `algorithms` are classes and topology functions written in Python
    that it may name. The other options are those of `Options`. A FileWarning names each thing that a
    file of the experiment has and the experiment has not. Ctrl-C stops the run and stores nothing.
    Raises SpecError with all faults before anything runs, RunError, StoreError, and what an algorithm raises.
    """
    runner, progress = _runner(options)
    point = one_run(load(experiment, settings, algorithms))
    _warn(point.remarks)
    with shown("run", 1, progress) as report:
        return runner.one(point, report)


def sweep(
    experiment: Any,
    *,
    settings: Iterable[str] = (),
    algorithms: Iterable[Any] = (),
    **options: Unpack[Options],
) -> Sweep:
    """Runs every point and seed of an experiment; see `run`.

    A run that fails is an outcome with its error, and the others go on.
    """
    runner, progress = _runner(options)
    points = expand(load(experiment, settings, algorithms))
    _warn(dict.fromkeys(remark for point in points for remark in point.remarks))
    with shown("sweep", len(points), progress) as report:
        return Sweep(runner.run(points, metrics=True, progress=report))


def compare(
    *experiments: Any,
    settings: Iterable[str] = (),
    algorithms: Iterable[Any] = (),
    vary: Sequence[str] | Mapping[str, Sequence[Any]] = (),
    schemes: Sequence[str] | Mapping[str, Mapping[str, Any]] = (),
    baseline: str | None = None,
    metrics: Sequence[str] = (),
    allow: Sequence[str] = (),
    seeds: int | None = None,
    **options: Unpack[Options],
) -> Comparison:
    """Compares schemes on the same experiment, seed by seed: which differences are real.

    Several `experiments` are a scheme each. Of one, `vary` (`{"queue": ["codel", "pie"]}`, or texts as the
    command line takes them) and `schemes` (`{"mine": {"transport.cc": "dctcp"}}`) make schemes, beside those
    of its `[compare]` section. docs/compare.md has the rules. Raises SpecError with all faults before
    anything runs, RunError if a run fails, StoreError.
    """
    from shallows.studies.compare.comparison import compare as whole
    from shallows.studies.compare.section import read

    runner, progress = _runner(options)
    what = read(
        experiments,
        settings=list(settings),
        algorithms=list(algorithms),
        vary=vary,
        schemes=schemes,
        baseline=baseline,
        metrics=metrics,
        allow=allow,
        seeds=seeds,
    )
    with shown("compare", len(what.schemes) * len(what.seeds), progress) as report:
        return whole(what, runner, report)


def tune(
    experiment: Any,
    *,
    settings: Iterable[str] = (),
    algorithms: Iterable[Any] = (),
    **options: Unpack[Options],
) -> Tuned:
    """Searches the settings that the experiment's `[tune]` section asks for; docs/tune.md has its grammar.

    Raises SpecError with all faults before anything runs, RunError if a run on fresh seeds fails, StoreError.
    """
    from shallows.studies.tune.search import tune as whole
    from shallows.studies.tune.section import read

    runner, progress = _runner(options)
    what = read(experiment, settings=list(settings), algorithms=list(algorithms))
    with shown("tune", what.most_runs, progress) as report:
        return whole(what, runner, report)


def reproduce(
    target: str | None = None,
    *,
    quick: bool = False,
    most_seeds: int | None = None,
    out: Path | str = "reports",
    formats: Sequence[str] = (),
    **options: Unpack[Options],
) -> Reproduction:
    """Reproduces `PAPER`, `PAPER/FIGURE` or everything: figures, claims with verdicts, a report in `out`.

    Claims that are undecided get more seeds, up to `most_seeds`; None: on Linux unless `quick` 24, or as the
    figure says; else none. `formats`, `"pdf"` and `"png"`, are written beside each SVG.
    Raises SpecError with all faults of all files before anything runs; StoreError; FigureError.
    """
    from shallows.studies.paper.reproduce import reproduce as whole

    def display(what: str, total: int) -> AbstractContextManager[Any]:
        return shown(what, total, progress)

    runner, progress = _runner(options)
    return whole(
        target, runner, quick=quick, most_seeds=most_seeds, out=out, progress=display, formats=formats
    )


def import_files(
    *files: str | Path,
    out: str | Path,
    hosts: str | None = None,
    options: Mapping[str, Any] | None = None,
    force: bool = False,
) -> Imported:
    """Makes the experiment `out` of files that other programs write, as `./shallows import` does.

    The answer has the lines that the command prints, about each file and each choice.
    A FileWarning names each thing that was ignored. `hosts` (`"h{}"`) names hosts, `options` decides what a
    file leaves open, and `force` overwrites. Raises SpecError, and writes nothing then; StoreError.
    """
    from shallows.imported import import_files as whole

    found = whole(
        [Path(file) for file in files],
        Path(out),
        hosts,
        [f"{name}={value}" for name, value in (options or {}).items()],
        force,
    )
    _warn(found.ignored)
    return found
