"""Output of `tune`: JSON, tables, and the figure of the front."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shallows import terminal
from shallows.studies.compare.show import cells, record
from shallows.studies.tune.search import Candidate, Tuned
from shallows.tables.seeds import SEEDS_CHANGE_NOTHING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["broken", "document", "draw", "settings_text", "show", "still", "summary", "with_interval"]


def document(found: Tuned, report: str | None = None) -> dict[str, Any]:
    """The JSON of `tune`."""
    what = found.what
    return {
        "title": what.title,
        "sampler": what.sampler,
        "sampler_seed": what.seed,
        "seeds": what.seeds,
        "confirm_seeds": what.confirm,
        "objectives": [vars(objective) for objective in what.objectives],
        "constraints": [vars(constraint) for constraint in what.constraints],
        "trials": [
            {"number": t.number, "settings": t.settings, "state": t.state, "values": t.values, "note": t.note}
            for t in found.trials
        ],
        "front": found.front,
        "winners": [_candidate(found, one) | {"trial": one.trial} for one in found.winners],
        "baselines": [_candidate(found, one) for one in found.baselines],
        "contests": [
            {
                "winner": contest.winner,
                "baseline": contest.baseline,
                "verdict": contest.verdict,
                "comparisons": [record(row) for row in contest.rows],
            }
            for contest in found.contests
        ],
        "report": report,
    }


def _candidate(found: Tuned, one: Candidate) -> dict[str, Any]:
    values = {}
    for metric in one.values:
        estimate = one.estimate(metric)
        values[metric] = {"mean": estimate and estimate.value, "ci95": estimate and estimate.ci}
    about = {"name": one.name, "settings": one.settings, "values": values, "broken": broken(found, one)}
    return about | {"seeds_change_nothing": one.still}


def broken(found: Tuned, one: Candidate) -> list[str]:
    """Constraints that the mean over the fresh seeds breaks."""
    names = []
    for constraint in found.what.constraints:
        estimate = one.estimate(constraint.metric)
        if estimate is None or constraint.excess(estimate.value) > 0:
            names.append(constraint.metric)
    return names


def still(found: Tuned) -> list[str]:
    """A note about the winners and baselines whose runs no seed changes, if there are any."""
    names = [one.name for one in [*found.winners, *found.baselines] if one.still]
    return [f"{', '.join(names)}: {SEEDS_CHANGE_NOTHING}"] if names else []


def settings_text(settings: Mapping[str, Any]) -> str:
    """Settings in one line, numbers to four digits."""
    words = {
        path: f"{value:.4g}"
        if isinstance(value, float)
        else value
        if isinstance(value, str)
        else json.dumps(value)
        for path, value in settings.items()
    }
    return ", ".join(f"{path} = {word}" for path, word in words.items()) or "as written"


def summary(found: Tuned) -> list[str]:
    """One sentence for each winner and baseline."""
    words = {
        "dominates": "{} dominates {}",
        "does-not-dominate": "{} does not dominate {}",
        "not-determined": "The fresh seeds do not decide whether {} dominates {}",
    }
    return [words[one.verdict].format(one.winner, one.baseline) for one in found.contests]


def show(found: Tuned, report: object) -> None:
    """The states of the trials, the winners on fresh seeds, and how they fare against the baselines."""
    what = found.what
    states = ", ".join(f"{count} {state}" for state, count in Counter(t.state for t in found.trials).items())
    front = "" if len(what.objectives) == 1 else f"; {len(found.front)} on the front"
    terminal.say(f"{what.title}: {len(found.trials)} trials x {len(what.seeds)} seeds ({states}){front}")
    reasons = dict.fromkeys(t.note for t in found.trials if t.state in ("illegal", "failed", "no-value"))
    for reason in list(reasons)[:5]:
        terminal.say(f"  {reason}")
    if not found.winners:
        terminal.say("no trial satisfied the constraints; nothing to confirm")
    metrics = [one.metric for one in what.objectives]
    rows = []
    for one in [*found.winners, *found.baselines]:
        estimates = [one.estimate(metric) for metric in metrics]
        values = [with_interval(metric, e) for metric, e in zip(metrics, estimates, strict=True)]
        rows.append([one.name, *values, ", ".join(broken(found, one)) or "none", settings_text(one.settings)])
    title = f"Winners and baselines on {len(what.confirm)} fresh seeds, mean [95 %]"
    terminal.print_table(title, ["", *metrics, "breaks", "settings"], rows)
    print()
    rows = []
    for contest in found.contests:
        for row in contest.rows:
            cell = cells(row)
            names = [contest.winner, contest.baseline] if row is contest.rows[0] else ["", ""]
            verdict = contest.verdict if row is contest.rows[0] else ""
            rows.append(
                [*names, *(cell[key] for key in ("metric", "difference", "ratio", "p", "verdict")), verdict]
            )
    for note in still(found):
        terminal.say(f"note: {note}\n")
    columns = ("winner", "baseline", "metric", "difference [95 %]", "ratio [95 %]", "p", "", "verdict")
    terminal.print_table("Winners against baselines, p adjusted by Holm's method", columns, rows)
    terminal.say(f"report: {report}")


def with_interval(metric: str, estimate: Any) -> str:
    """An Estimate for people, a dash for None."""
    if estimate is None:
        return "-"
    text = terminal.readable(metric, estimate.value)
    if estimate.ci is None:
        return text
    return text + " [{}, {}]".format(*(terminal.readable(metric, end) for end in estimate.ci))


def draw(found: Tuned) -> Figure:
    """The front. Error: ValueError if no trial has values."""
    from shallows.figures import front
    from shallows.statistics.estimates import Estimate

    metrics = [objective.metric for objective in found.what.objectives]
    largest = {
        m: max((abs(t.values[m] or 0.0) for t in found.trials if t.values), default=0.0) for m in metrics
    }
    scales = [(1 / size, unit) for size, unit in (terminal.scale(m, largest[m]) for m in metrics)]
    axes = [
        f"{terminal.heading(m)} ({unit})" if unit else m.replace("_", " ")
        for m, (_, unit) in zip(metrics, scales, strict=True)
    ]

    def values(numbers: list[int]) -> list[list[float]]:
        chosen = [found.trials[number].values for number in numbers]
        return [
            [(one[m] or 0.0) * scale for m, (scale, _) in zip(metrics, scales, strict=True)] for one in chosen
        ]

    named = {}
    for one in [*found.winners, *found.baselines]:
        estimates = [one.estimate(m) for m in metrics]
        if all(e is not None for e in estimates):
            named[one.name] = [
                Estimate(*(None if end is None else end * scale for end in e[:3]), e.n)  # type: ignore[index, arg-type, union-attr]
                for e, (scale, _) in zip(estimates, scales, strict=True)
            ]
    by_state = {
        state: [t.number for t in found.trials if t.state == state] for state in ("feasible", "infeasible")
    }
    best = found.front[:1] if len(metrics) == 1 else found.front
    return front.draw(
        front.info(axes, values(by_state["feasible"]), values(by_state["infeasible"]), values(best), named)
    )
