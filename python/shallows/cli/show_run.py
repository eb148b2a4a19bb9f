"""Output of `run` and `sweep`: JSON, tables, the figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shallows import terminal
from shallows.errors import RunError
from shallows.execution.jobs import Outcome
from shallows.studies.outcomes.expectations import Judged
from shallows.studies.outcomes.rows import QUEUE_COLUMNS, busiest, notes, warnings
from shallows.tables import seeds

__all__ = [
    "document",
    "expectations_json",
    "failure",
    "show",
    "show_expectations",
    "show_failures",
    "sweep_document",
]


def document(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The JSON of `run`.

    With several seeds, the top level is the first seed's run, `seeds` lists all of them and `over_seeds`
    holds the mean and the 95 % interval of each metric that every run has.
    """
    from shallows.tables.digest import hash_of
    from shallows.tables.metrics import flow_records, queue_records

    runs = _runs(outcomes)
    all_metrics = [outcome.metrics for outcome in outcomes]
    answer = {
        "hash": runs[0].hash,
        "path": str(runs[0].path),
        "seed": runs[0].seed,
        "metrics": all_metrics[0],
        "tables_hash": hash_of(runs[0].tables),
    }
    answer["notes"] = [*notes(runs), *outcomes[0].point.remarks]
    answer["happened"] = runs[0].happened
    tables = runs[0].tables
    answer |= {
        "flows": terminal.Records(flow_records(tables)),
        "queues": terminal.Records(queue_records(tables)),
    }
    if len(runs) > 1:
        each = zip(runs, all_metrics, strict=True)
        answer["seeds"] = [
            {"seed": r.seed, "hash": r.hash, "path": str(r.path), "metrics": m} for r, m in each
        ]
        answer["over_seeds"] = seeds.records(all_metrics)
    return answer


def sweep_document(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The JSON of `sweep`, points in the file's order."""
    points = []
    for outcome in outcomes:
        point = {
            "label": outcome.point.label,
            "params": outcome.point.params,
            "seed": outcome.point.seed,
            "hash": outcome.hash,
        }
        point |= {"status": outcome.status, "metrics": outcome.metrics}
        points.append(point | ({"error": outcome.error} if outcome.error else {}))
    failed = sum(outcome.error is not None for outcome in outcomes)
    return {"points": points, "failed": failed, "warnings": warnings(outcomes)}


def failure(failed: Sequence[Outcome]) -> RunError:
    """The error of `run` when seeds failed: each different reason once."""
    reasons = dict.fromkeys(f"{outcome.error}" for outcome in failed)
    seeds = ", ".join(str(outcome.point.seed) for outcome in failed)
    return RunError(f"the run failed (seed {seeds}): " + "\n".join(reasons))


def show(title: str, outcomes: Sequence[Outcome], formats: Sequence[str] = ()) -> None:
    """Summary, the busiest queues, where the runs are, and a figure of the queue."""
    runs = _runs(outcomes)
    metrics = [outcome.metrics for outcome in outcomes]
    _show_times([each for each in metrics if each is not None])
    if len(runs) == 1:
        terminal.print_metrics(
            title, {name: value for name, value in metrics[0].items() if value is not None}
        )
    else:
        rows = []
        for name, estimate in seeds.over_seeds(metrics).items():
            low_high = [terminal.readable(name, bound) for bound in estimate.ci or ()]
            rows.append((name, terminal.readable(name, estimate.value), " to ".join(low_high) or "-"))
        terminal.print_table(f"{title}: {len(runs)} seeds", ("metric", "mean", "95 % interval"), rows)
    _show_queues(runs[0])
    _show_hosts(runs[0])
    _show_happened(runs)
    told = warnings(outcomes, over=True) if len(runs) > 1 else outcomes[0].point.remarks
    for note in [*notes(runs), *told]:
        print(f"note: {note}")
    found = "found in the store" if outcomes[0].status == "stored" else "stored"
    terminal.say(f"\n{found}: {runs[0].path}" + (f" and {len(runs) - 1} more" if len(runs) > 1 else ""))
    for figure in _draw(outcomes, formats):
        terminal.say(f"figure: {figure}")


TIMES = {
    "messages": "messages",
    "unfinished": "messages_unfinished",
    "fct_mean": "fct_mean_ps",
    "fct_p50": "fct_p50_ps",
    "fct_p99": "fct_p99_ps",
    "slowdown_p99": "slowdown_p99",
}
ROUNDS = {
    "rounds": "rounds",
    "unfinished": "rounds_unfinished",
    "mean": "round_fct_mean_ps",
    "p50": "round_fct_p50_ps",
    "p99": "round_fct_p99_ps",
}
"""Columns of the first table, with their metrics."""


def _show_times(metrics: Sequence[Mapping[str, Any]]) -> None:
    """First of all the completion times of messages and rounds, where loads have them; means over seeds."""
    if not metrics:
        return
    values: Mapping[str, Any] = metrics[0]
    if len(metrics) > 1:
        values = {name: estimate.value for name, estimate in seeds.over_seeds(metrics).items()}
    over = f", means over {len(metrics)} seeds" if len(metrics) > 1 else ""
    for title, what, columns in (("messages", "class", TIMES), ("rounds", "load", ROUNDS)):
        known = [
            name.removesuffix(f".{title}")
            for name, value in values.items()
            if name.endswith(f".{title}") and (value or values.get(f"{name}_unfinished"))
        ]
        rows = [
            [name, *(_shown(metric, values.get(f"{name}.{metric}")) for metric in columns.values())]
            for name in known
            if "." not in name
        ]
        if rows:
            terminal.print_table(f"Completion times of {title}{over}", (what, *columns), rows)
            print()


def _shown(name: str, value: float | None) -> str:
    return "-" if value is None else terminal.readable(name, value)


def show_failures(outcomes: Sequence[Outcome]) -> None:
    """Each different reason of a failure once."""
    for reason in dict.fromkeys(outcome.error for outcome in outcomes if outcome.error):
        terminal.say(f"failed: {reason}")


def expectations_json(judged: Sequence[Judged]) -> dict[str, Any]:
    """The verdicts on expectations for JSON, or nothing where none was asked for."""
    return {"expectations": [each.record() for each in judged]} if judged else {}


def show_expectations(judged: Sequence[Judged]) -> None:
    """A row for each expectation and point."""
    labels = ["point"] if any(each.label for each in judged) else []
    rows = [
        [*([each.label] if labels else []), each.expectation.text, each.measured, each.verdict]
        for each in judged
    ]
    terminal.print_table("Expectations", [*labels, "expected", "measured", "verdict"], rows)


def _runs(outcomes: Sequence[Outcome]) -> list[Any]:
    return [outcome.run for outcome in outcomes if outcome.run is not None]


def _show_queues(run: Any, most: int = 8) -> None:
    rows, busy = busiest(run, most)
    more = f" (the {most} busiest of {busy})" if busy > most else ""
    print()
    terminal.print_table(f"Queues{more}", QUEUE_COLUMNS, rows)


def _show_hosts(run: Any) -> None:
    """A line about the hosts' own ports, whose queues may decide how long messages take."""
    queues = run.tables["queues"]
    hosts = queues.filter((queues["is_switch"] == 0) & queues["mean_wait_ps"].is_not_null())
    if len(hosts):
        longest = hosts.sort("mean_wait_ps", "port", descending=[True, False]).row(0, named=True)
        wait = terminal.readable("mean_wait_ps", longest["mean_wait_ps"])
        kind = run.experiment["nic"]["kind"]
        terminal.say(
            f"\nHosts' own ports ([nic] {kind}): the longest mean wait is {wait}, at {longest['port']}."
        )


def _show_happened(runs: Sequence[Any]) -> None:
    """The events of the first run in sentences."""
    lines = runs[0].happened
    if lines:
        which = "" if len(runs) == 1 else f" with seed {runs[0].seed}"
        terminal.say(f"\nWhat happened{which}:")
    for line in lines:
        terminal.say(f"  {line}")


def _draw(outcomes: Sequence[Outcome], formats: Sequence[str]) -> list[str]:
    """The busiest port's queue, over time if that was recorded, else its distribution, as files."""
    from shallows.figures import queue_cdf, queue_time, style

    runs = _runs(outcomes)
    labelled = {f"seed {run.seed}" if len(runs) > 1 else "": run.tables for run in runs[:8]}
    traced = all(len(tables["queue_trace"]) for tables in labelled.values())
    kind = queue_time if traced else queue_cdf
    path = runs[0].path / "queue.svg"
    try:
        drawn = kind.draw(kind.info(labelled))
        names = dict.fromkeys(("svg", *formats))
        return [str(style.save(drawn, path.with_suffix(f".{name}"))) for name in names]
    except ValueError:  # nothing of it was recorded
        return []
    except OSError as error:  # a full disk, or somebody else's store: the run is good all the same
        terminal.note(f"the figure was not written to {path}: {error.strerror}; the run is stored")
        return []
