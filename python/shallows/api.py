"""What one calls from a script or a notebook: `run`, `sweep`, `reproduce`, and progress for who looks on.

run = shallows.run("mine.toml", settings=["queue.mark_at=20pkt"])
run.metrics["goodput_bps_total"], run.tables["queues"], run.figure("queue_time")
shallows.sweep("mine.toml").frame
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.document.load import load
from shallows.document.points import expand, one_run
from shallows.execution.jobs import Outcome
from shallows.execution.many import run_points
from shallows.results.store import Store, StoredRun

if TYPE_CHECKING:
    import polars as pl

    from shallows.studies.paper.reproduce import Reproduction

__all__ = ["Sweep", "reproduce", "run", "sweep"]


def run(
    experiment: Any,
    *,
    settings: Iterable[str] = (),
    algorithms: Iterable[Any] = (),
    store: Store | str | Path | None = None,
    progress: bool | None = None,
) -> StoredRun:
    """Runs one experiment (a file, a table or an `Experiment`), or finds it in the store.

    `settings` (`path=value`) stand over it; `algorithms` are classes and topology functions written in Python
    that it may name. `progress`: whether to show it; by default in a notebook or terminal. Raises SpecError
    with all faults before anything runs, RunError, StoreError, and what an algorithm raises.
    """
    from shallows.execution.single import simulate

    point = one_run(load(experiment, settings, algorithms))
    with _progress("run", 1, progress) as report:
        return simulate(point.experiment, store=store, progress=report)


def sweep(
    experiment: Any,
    *,
    settings: Iterable[str] = (),
    algorithms: Iterable[Any] = (),
    store: Store | str | Path | None = None,
    workers: int | None = None,
    progress: bool | None = None,
) -> Sweep:
    """Runs every point and seed of an experiment on `workers` cores (default: all); see `run`.

    A run that fails is an outcome with its error, and the others go on.
    """
    points = expand(load(experiment, settings, algorithms))
    store = store if isinstance(store, Store) else Store(store)
    with _progress("sweep", len(points), progress) as report:
        return Sweep(run_points(points, store, workers=workers, metrics=True, progress=report))


def reproduce(target: str | None = None, *, quick: bool = False, **options: Any) -> Reproduction:
    """Reproduces `PAPER`, `PAPER/FIGURE` or everything: figures, claims with verdicts, an HTML report.

    `options` are those of `shallows.studies.paper.reproduce.reproduce`: workers, store, out.
    """
    from shallows.studies.paper.reproduce import reproduce as whole

    return whole(target, quick=quick, **options)


class Sweep(Sequence[Outcome]):
    """The outcomes of a sweep, in the file's order, seeds fastest."""

    def __init__(self, outcomes: Sequence[Outcome]):
        self._outcomes = list(outcomes)

    def __len__(self) -> int:
        return len(self._outcomes)

    def __getitem__(self, index: Any) -> Any:
        return self._outcomes[index]

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row a run: what the sweep varied, `seed`, `status`, and its metrics, units in their names."""
        import json

        import polars as pl

        rows = []
        for outcome in self:
            params = {
                k: json.dumps(v) if isinstance(v, list | dict) else v for k, v in outcome.point.params.items()
            }
            about = {"seed": outcome.point.seed, "status": outcome.status}
            rows.append(params | about | (outcome.metrics or {}))
        return pl.DataFrame(rows, infer_schema_length=None)

    @property
    def failed(self) -> list[Outcome]:
        """Those that failed; each has its `error`."""
        return [outcome for outcome in self if outcome.error]

    def over_seeds(self) -> pl.DataFrame:
        """One row a point: each metric's mean over its seeds with its 95 % interval (`_low`, `_high`)."""
        import polars as pl

        from shallows.statistics.estimates import over_seeds

        points: dict[str, list[Outcome]] = {}
        for outcome in self:
            if outcome.metrics is not None:
                points.setdefault(repr(outcome.point.params), []).append(outcome)
        rows = []
        for outcomes in points.values():
            row = {**outcomes[0].point.params, "seeds": len(outcomes)}
            for name, estimate in over_seeds([one.metrics for one in outcomes if one.metrics]).items():
                low, high = estimate["ci95"] or (None, None)
                row |= {name: estimate["mean"], f"{name}_low": low, f"{name}_high": high}
            rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)

    def to_pandas(self) -> Any:
        """`frame` for pandas, which must be installed."""
        return self.frame.to_pandas()

    def to_arrow(self) -> Any:
        """`frame` for pyarrow, which must be installed."""
        return self.frame.to_arrow()

    def _repr_html_(self) -> str:
        from shallows.results.notebook import of_sweep

        return of_sweep(self)


# ---- progress ----


@contextmanager
def _progress(what: str, total: int, wanted: bool | None) -> Iterator[Callable[..., None] | None]:
    from shallows import terminal

    display = _notebook()
    if wanted is False or (wanted is None and display is None and not sys.stderr.isatty()):
        yield None
    elif display is not None:
        bar = _Bar(display, what, total)
        try:
            yield bar.report
        finally:
            bar.close()
    else:
        with terminal.progress(what, total) as report:
            yield report


def _notebook() -> Callable[..., Any] | None:
    """IPython's `display`, if this is a notebook's kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display

    return display


class _Bar:
    """A bar of plain HTML: nothing to install in the browser, and gone at the end."""

    def __init__(self, display: Callable[..., Any], what: str, total: int):
        self._what, self._total, self._began = what, total, time.monotonic()
        self._handle = display({"text/html": self._html(0, 0)}, raw=True, display_id=True)

    def _html(self, done: float, failed: int) -> str:
        share = done / self._total if self._total else 1.0
        elapsed = time.monotonic() - self._began
        left = f", about {elapsed / share - elapsed:.0f} s left" if share > 0.02 else ""
        bad = f", {failed} failed" if failed else ""
        count = f" {int(done)}/{self._total}" if self._total > 1 else ""
        return f"<progress value='{share:.4f}'></progress> {self._what}{count}{bad}{left}"

    def report(self, done: float, failed: int = 0) -> None:
        """Tells how far it is."""
        self._handle.update({"text/html": self._html(done, failed)}, raw=True)

    def close(self) -> None:
        """Takes it away."""
        self._handle.update({"text/html": ""}, raw=True)
