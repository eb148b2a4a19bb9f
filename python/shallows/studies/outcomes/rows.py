"""Metrics of runs as rows: chosen by name, by class or size of message, run by run or over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from shallows import terminal
from shallows.execution.jobs import Outcome
from shallows.results.store import StoredRun
from shallows.tables import seeds
from shallows.tables.metrics import BY_SIZE, SWEEP_COLUMNS, bin_word, size_bins

BY_CLASS = ("goodput_bps", "wait_mean_ps", "messages", "fct_mean_ps", "fct_p99_ps", "slowdown_p99")
"""Shown of a class unless other metrics are named."""

QUEUE_COLUMNS = (
    "port",
    "utilisation",
    "mean_packets",
    "p99_packets",
    "max_packets",
    "mean_wait_ps",
    "drops",
    "marks",
)
"""Columns of the table of the busiest queues; `drops` are those for any reason."""

__all__ = [
    "BY_CLASS",
    "QUEUE_COLUMNS",
    "busiest",
    "groups",
    "has_labels",
    "notes",
    "over_all_seeds",
    "table",
    "warnings",
]


def table(
    outcomes: Sequence[Outcome],
    metric: Sequence[str] = (),
    by: str | None = None,
    over: bool = False,
    labelled: bool | None = None,
) -> tuple[list[str], list[list[Any]]]:
    """The heads and the rows: one a run, or a point with `over`; with `by` one for each class, or size.

    `labelled`: points are named by their labels; by default if the sweep gives them labels of its own.

    Without an outcome that did not fail there are neither heads nor rows.
    """
    chosen = groups(outcomes) if over else [[one] for one in outcomes if one.metrics is not None]
    if not chosen:
        return [], []
    labelled = has_labels(outcomes) if labelled is None else labelled
    found: list[tuple[list[Any], dict[str, str]]] = []
    for group in chosen:
        shown = _shown(group)
        sizes = [bin_word(*each) for each in size_bins(group[0].point.summary.edges)]
        for place, cells in _by(shown, _classes(group), by, sizes):
            found.append(([*_about(group, outcomes, over, labelled).values(), *place], cells))
    keys = list(dict.fromkeys(key for _, cells in found for key in cells if _wanted(key, metric, by)))
    heads = [*_about(chosen[0], outcomes, over, labelled), *_heads(by)]
    return [*heads, *keys], [[*place, *(cells.get(key, "-") for key in keys)] for place, cells in found]


def has_labels(outcomes: Sequence[Outcome]) -> bool:
    """Whether points are named by labels: the file gives some, or varies a setting that is a table."""
    points = [outcome.point for outcome in outcomes]
    tables = (isinstance(value, dict | list) for point in points for value in point.params.values())
    return any(point.labelled for point in points) or any(tables)


def warnings(outcomes: Sequence[Outcome], over: bool = False) -> list[str]:
    """Warnings about these results: seeds that change nothing, messages that did not end.

    `over`: the results are means over seeds.
    """
    found = []
    chosen = groups(outcomes)
    if over:
        still = [g[0].point.label for g in chosen if seeds.alike([each.metrics or {} for each in g])]
        if still:
            which = "" if len(still) == len(chosen) else f"{', '.join(still)}: "
            found.append(f"{which}{seeds.SEEDS_CHANGE_NOTHING}; means stand for one run and have no interval")
    unfinished: dict[str, list[tuple[str, int, int]]] = {}
    for group in chosen:
        for what, (missing, of) in seeds.unfinished([each.metrics or {} for each in group]).items():
            unfinished.setdefault(what, []).append((group[0].point.label, missing, of))
    found += dict.fromkeys(told for each in outcomes for told in each.point.remarks)
    for what, points in unfinished.items():
        counts = ", ".join(
            f"{label}: {missing} of {of}" if label else f"{missing} of {of}"
            for label, missing, of in points[:MOST]
        )
        more = f", and in {len(points) - MOST} more points" if len(points) > MOST else ""
        found.append(f"{what} did not all end ({counts}{more}): times and slowdowns are those of the others")
    return found


MOST = 12
"""The most points that a warning names."""


def over_all_seeds(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Each point's label, settings, number of seeds, and the metrics' means with 95 % intervals."""
    return [
        {
            "label": group[0].point.label,
            "params": group[0].point.params,
            "seeds": len(group),
            "metrics": seeds.records([outcome.metrics or {} for outcome in group]),
        }
        for group in groups(outcomes)
    ]


def groups(outcomes: Sequence[Outcome]) -> list[list[Outcome]]:
    """The outcomes of each point that did not fail."""
    found: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.metrics is not None:
            found.setdefault(repr((outcome.point.label, outcome.point.params)), []).append(outcome)
    return list(found.values())


def notes(runs: Iterable[StoredRun]) -> list[str]:
    """The notes of the manifests for a reader of the results, each line once."""
    return list(dict.fromkeys(note for run in runs for note in run.manifest.get("notes", ())))


def busiest(run: StoredRun, most: int) -> tuple[list[list[str]], int]:
    """The queues of the busiest ports, each with `QUEUE_COLUMNS`; and the number of ports in use."""
    queues = run.tables["queues"]
    busy = queues.filter(queues["packets_in"] > 0).sort(["utilisation", "port"], descending=[True, False])
    rows = busy.head(most).select(QUEUE_COLUMNS).iter_rows(named=True)
    return [[terminal.readable(name, row[name]) for name in QUEUE_COLUMNS] for row in rows], len(busy)


def _about(
    group: Sequence[Outcome], outcomes: Sequence[Outcome], over: bool, labelled: bool
) -> dict[str, Any]:
    """The cells that distinguish a row."""
    point = group[0].point
    names = list(dict.fromkeys(name for outcome in outcomes for name in outcome.point.params))
    about = {"label": point.label} if labelled else {name: point.params.get(name) for name in names}
    if over:
        return about | {"seeds": len(group)}
    return about | {"seed": point.seed, "status": group[0].status}


def _shown(group: Sequence[Outcome]) -> dict[str, str]:
    """The metrics as text: the value of one run, the mean of several with its interval if it has a width."""
    if len(group) == 1:
        numbers = group[0].metrics or {}
        return {name: terminal.readable(name, value) for name, value in numbers.items() if value is not None}
    shown = {}
    for name, estimate in seeds.over_seeds([outcome.metrics or {} for outcome in group]).items():
        shown[name] = terminal.readable_mean(name, estimate.value, estimate.ci)
    return shown


def _classes(group: Sequence[Outcome]) -> list[str]:
    loads = group[0].point.experiment.get("traffic", {}).values()
    return sorted({load["class"] for load in loads})


def _heads(by: str | None) -> list[str]:
    heads: dict[str | None, list[str]] = {None: [], "class": ["class"], "size": ["class", "size"]}
    return heads[by]


def _by(
    shown: Mapping[str, str], classes: Sequence[str], by: str | None, sizes: Sequence[str]
) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Rows: where each stands, and its cells by the metric's name there."""
    if by is None:
        yield [], dict(shown)
        return
    for one in classes:
        mine = {
            name.removeprefix(f"{one}."): text for name, text in shown.items() if name.startswith(f"{one}.")
        }
        whole = {key: text for key, text in mine.items() if key.split(".")[0] not in sizes}
        yield [one] + (["all"] if by == "size" else []), whole
        for size in sizes if by == "size" else ():
            cells = {k.removeprefix(f"{size}."): text for k, text in mine.items() if k.startswith(f"{size}.")}
            if cells:
                yield [one, size.replace("_", " ")], cells


def _wanted(key: str, metric: Sequence[str], by: str | None) -> bool:
    if metric:
        return any(fnmatchcase(key, pattern) or fnmatchcase(f"x.{key}", pattern) for pattern in metric)
    defaults: dict[str | None, Sequence[str]] = {None: SWEEP_COLUMNS, "class": BY_CLASS, "size": BY_SIZE}
    return key in defaults[by]
