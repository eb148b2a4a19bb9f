"""Tuning by ask and tell: a sampler proposes settings, the mean over seeds of their runs goes back to it.

Every trial uses the same seeds (common random numbers). The trials only choose: every claim about the
winners is measured anew, with seeds that no trial used, against the baselines, seed by seed. Nothing but the
store of runs is kept: proposals follow from the sampler's seed and from the trials' values, so a study that
was stopped asks for the same runs again, finds them stored, and goes on. Samplers: Optuna (Akiba et al.
2019).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from shallows.document.points import Point
from shallows.errors import RunError, SpecError
from shallows.execution.runner import Progress, Runner
from shallows.statistics.estimates import Estimate
from shallows.studies.compare.comparison import Row, corrected, paired_row
from shallows.studies.tune.sampling import EXCESSES, distribution, study_of
from shallows.studies.tune.section import Objective, Tuning
from shallows.tables import seeds
from shallows.tables.metrics import Number

if TYPE_CHECKING:
    import optuna

State = Literal["feasible", "infeasible", "illegal", "no-value", "failed"]
Verdict = Literal["dominates", "does-not-dominate", "not-determined"]

__all__ = ["Candidate", "Contest", "Trial", "Tuned", "choose", "front_of", "judge", "tune"]


@dataclass(frozen=True)
class Trial:
    """One proposal: its settings, and the mean over seeds of each metric that was asked for.

    `infeasible` breaks a constraint; `illegal` is no experiment; `no-value` lacks a metric in some seed;
    `failed` had a run that did not end. `note` says more.
    """

    number: int
    settings: dict[str, Any]
    state: State
    values: dict[str, float | None] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Candidate:
    """A winner or a baseline on the fresh seeds: its metrics by seed. `trial` is None for a baseline.

    `still`: the seeds change none of its metrics, so that its runs are no independent evidence.
    """

    name: str
    settings: dict[str, Any]
    values: dict[str, list[Number]]
    trial: int | None = None
    still: bool = False

    def estimate(self, metric: str) -> Estimate | None:
        """The mean with its interval; None where a seed has no value."""
        column = self.values[metric]
        known = [float(v) for v in column if v is not None]
        return seeds.estimate(metric, known, self.still) if len(known) == len(column) else None


@dataclass(frozen=True)
class Contest:
    """A winner against a baseline, on the fresh seeds. One row an objective, in the file's order."""

    winner: str
    baseline: str
    rows: list[Row]
    verdict: Verdict


@dataclass(frozen=True)
class Tuned:
    """The result of a tuning study. `front`: numbers of the trials that no other feasible one dominates."""

    what: Tuning
    trials: list[Trial]
    front: list[int]
    winners: list[Candidate]
    baselines: list[Candidate]
    contests: list[Contest]


def tune(what: Tuning, runner: Runner, progress: Progress | None = None) -> Tuned:
    """The whole study: trials, the front, its winners on fresh seeds. `progress` counts runs of all three.

    Raises SpecError if Optuna is not installed, RunError if a run on fresh seeds fails, StoreError.
    """
    place = _Place(runner, progress)
    trials = _trials(what, place)
    front = front_of(what.objectives, trials)
    rivals = _batch(what, 0, list(what.baselines.values()), place)
    chosen = choose(what.objectives, [trials[number] for number in front], rivals, what.winners)
    winners, baselines = _confirm(what, chosen, place)
    return Tuned(what, trials, front, winners, baselines, judge(what.objectives, winners, baselines))


@dataclass
class _Place:
    """Where the runs are made, and how far they are."""

    runner: Runner
    progress: Progress | None
    done: int = 0

    def measure(self, points: Sequence[Point]) -> list[dict[str, Number] | str]:
        """The metrics of each point's run, or why it failed."""
        before = self.done

        def told(share: float, failed: int = 0) -> None:
            if self.progress:
                self.progress(before + share, failed)

        outcomes = self.runner.run(points, metrics=True, progress=told)
        self.done += len(points)
        return [o.error or "failed" if o.metrics is None else o.metrics for o in outcomes]


def _trials(what: Tuning, place: _Place) -> list[Trial]:
    study, distributions = _study(what), {p.path: distribution(p) for p in what.parameters}
    trials: list[Trial] = []
    while len(trials) < what.trials:
        asked = [study.ask(distributions) for _ in range(min(what.batch, what.trials - len(trials)))]
        settings = [{p.path: p.setting(one.params[p.path]) for p in what.parameters} for one in asked]
        new = _batch(what, len(trials), settings, place)
        for one, trial in zip(asked, new, strict=True):
            _tell(study, one, trial, what)
        trials += new
    return trials


def _batch(what: Tuning, first: int, settings: Sequence[dict[str, Any]], place: _Place) -> list[Trial]:
    points: list[Point] = []
    legal: dict[int, int] = {}
    illegal: dict[int, str] = {}
    for number, one in enumerate(settings, first):
        try:
            legal[number] = len(points)
            points += what.points(one, what.seeds)
        except SpecError as error:
            del legal[number]
            illegal[number] = str(error)
    found = place.measure(points)
    trials = []
    for number, one in enumerate(settings, first):
        if number in illegal:
            trials.append(Trial(number, one, "illegal", note=illegal[number]))
        else:
            seeds = found[legal[number] : legal[number] + len(what.seeds)]
            trials.append(_trial(what, number, one, seeds))
    return trials


def _trial(what: Tuning, number: int, settings: dict[str, Any], seeds: Sequence[Any]) -> Trial:
    failed = [one for one in seeds if isinstance(one, str)]
    if failed:
        return Trial(number, settings, "failed", note=failed[0])
    wanted = dict.fromkeys(one.metric for one in [*what.objectives, *what.constraints])
    values = {metric: _mean([one.get(metric) for one in seeds]) for metric in wanted}
    absent = [metric for metric, value in values.items() if value is None]
    if absent:
        return Trial(number, settings, "no-value", values, f"no value of {', '.join(absent)} in some seed")
    broken = [c.metric for c in what.constraints if c.excess(values[c.metric] or 0.0) > 0]
    state: State = "infeasible" if broken else "feasible"
    return Trial(number, settings, state, values, f"breaks {', '.join(broken)}" if broken else "")


def _mean(values: Sequence[Number]) -> float | None:
    numbers = [float(value) for value in values if value is not None]
    return math.fsum(numbers) / len(numbers) if len(numbers) == len(values) else None


def _study(what: Tuning) -> optuna.Study:
    directions = [f"{one.goal[:-2]}ze" for one in what.objectives]
    return study_of("tune", what.sampler, what.seed, max(2, what.batch), directions, len(what.constraints))


def _tell(study: optuna.Study, asked: optuna.Trial, trial: Trial, what: Tuning) -> None:
    import optuna

    values = [trial.values.get(objective.metric) for objective in what.objectives]
    if trial.state in ("feasible", "infeasible"):
        excesses = [c.excess(trial.values[c.metric] or 0.0) for c in what.constraints]
        asked.set_user_attr(EXCESSES, excesses)
        study.tell(asked, [value for value in values if value is not None])
    else:
        study.tell(asked, state=optuna.trial.TrialState.FAIL)


def _costs(objectives: Sequence[Objective], trial: Trial) -> list[float]:
    """The objectives' values, all to be made small."""
    return [(1 if o.goal == "minimise" else -1) * (trial.values[o.metric] or 0.0) for o in objectives]


def front_of(objectives: Sequence[Objective], trials: Sequence[Trial]) -> list[int]:
    """Numbers of the feasible trials that no other dominates, by the first objective, the best first.

    The first of trials with equal values is kept. With one objective the front is the order of all.
    """
    costs = {trial.number: _costs(objectives, trial) for trial in trials if trial.state == "feasible"}
    distinct = {tuple(cost): number for number, cost in reversed(costs.items())}
    if len(objectives) == 1:
        return [distinct[cost] for cost in sorted(distinct)]
    kept = [
        cost
        for cost in distinct
        if not any(
            other != cost and all(a <= b for a, b in zip(other, cost, strict=True)) for other in distinct
        )
    ]
    return [distinct[cost] for cost in sorted(kept)]


def choose(
    objectives: Sequence[Objective], front: Sequence[Trial], rivals: Sequence[Trial], count: int
) -> list[Trial]:
    """The `count` of a front that are worth fresh seeds; `rivals` are the baselines on the trials' seeds.

    With one objective the best trials. Else those that seem to dominate the most baselines, spread evenly
    along the front, and after them those that seem to dominate fewer.
    """
    if len(objectives) == 1:
        return list(front[:count])
    known = [rival for rival in rivals if rival.values and None not in rival.values.values()]
    beaten = {t.number: sum(_seems_to_dominate(objectives, t, rival) for rival in known) for t in front}
    chosen: list[Trial] = []
    for most in sorted(set(beaten.values()), reverse=True):
        chosen += _spread([t for t in front if beaten[t.number] == most], count - len(chosen))
    return chosen


def _seems_to_dominate(objectives: Sequence[Objective], trial: Trial, rival: Trial) -> bool:
    mine, theirs = _costs(objectives, trial), _costs(objectives, rival)
    pairs = list(zip(mine, theirs, objectives, strict=True))
    return all(a <= b + o.margin * abs(b) for a, b, o in pairs) and any(a < b for a, b, _ in pairs)


def _spread(front: Sequence[Trial], count: int) -> list[Trial]:
    """`count` of a front: evenly along it, both ends among them; of one the first."""
    if len(front) <= count:
        return list(front)
    if count < 2:
        return list(front[:count])
    return [front[round(k * (len(front) - 1) / (count - 1))] for k in range(count)]


def _confirm(what: Tuning, chosen: Sequence[Trial], place: _Place) -> tuple[list[Candidate], list[Candidate]]:
    named = [(f"trial {trial.number}", trial.settings, trial.number) for trial in chosen]
    named += [(name, settings, None) for name, settings in what.baselines.items()]  # type: ignore[misc]
    points = [point for _, settings, _ in named for point in what.points(settings, what.confirm)]
    found = place.measure(points)
    failed = [one for one in found if isinstance(one, str)]
    if failed:
        raise RunError(f"runs on fresh seeds failed: {failed[0]}")
    wanted = dict.fromkeys(one.metric for one in [*what.objectives, *what.constraints])
    candidates = []
    for k, (name, settings, number) in enumerate(named):
        mine: Any = found[k * len(what.confirm) : (k + 1) * len(what.confirm)]
        values = {metric: [one.get(metric) for one in mine] for metric in wanted}
        candidates.append(Candidate(name, settings, values, number, seeds.alike(mine)))
    return candidates[: len(chosen)], candidates[len(chosen) :]


def judge(
    objectives: Sequence[Objective], winners: Sequence[Candidate], baselines: Sequence[Candidate]
) -> list[Contest]:
    """Every winner against every baseline: paired by seed, corrected by Holm over all of them together.

    A winner dominates if it is really better in one objective (adjusted p below 0.05) and in every other
    one also better, or its whole 95 % interval lies within the margin. It does not if one is really worse, by
    more than the margin with its whole interval. Else it is not determined; so it is where the seeds change
    nothing.
    """
    pairs = [(w, b, o) for w in winners for b in baselines for o in objectives]
    rows = corrected(
        [
            paired_row(o.metric, w.name, w.values[o.metric], b.values[o.metric], b.name, w.still and b.still)
            for w, b, o in pairs
        ]
    )
    contests = []
    for at in range(0, len(rows), len(objectives)):
        winner, baseline, _ = pairs[at]
        mine = rows[at : at + len(objectives)]
        contests.append(Contest(winner.name, baseline.name, mine, _verdict(objectives, mine)))
    return contests


def _verdict(objectives: Sequence[Objective], rows: Sequence[Row]) -> Verdict:
    signs = [_sign(objective, row) for objective, row in zip(objectives, rows, strict=True)]
    if "worse" in signs:
        return "does-not-dominate"
    if "better" in signs and "open" not in signs:
        return "dominates"
    return "not-determined"


def _sign(objective: Objective, row: Row) -> Literal["better", "kept", "worse", "open"]:
    if row.difference is None or row.difference.ci is None or row.baseline_mean is None:
        return "open"
    turn = 1 if objective.goal == "maximise" else -1
    least, most = sorted(turn * end for end in row.difference.ci)
    loss = -objective.margin * abs(row.baseline_mean.value)
    if row.verdict == "real" and turn * row.difference.value > 0:
        return "better"
    if row.verdict == "real" and most < loss:
        return "worse"
    return "kept" if least >= loss else "open"
