"""The search: a generation of candidates is drawn, run in parallel, and reported to the sampler in order.

The sampler is Optuna's NSGA-II (Akiba et al. 2019; Deb et al. 2002), a genetic search. It takes whole and
real numbers, choices and constraints together, and it learns once a generation. So results do not depend on
the number of workers. CMA-ES has no choices, and needs a further package.

Candidates follow from the seed and the values. An attack that was stopped draws the same ones again, finds
their runs in the store, and resumes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from shallows.attack.objective import Objective
from shallows.attack.space import Candidate, Space
from shallows.document.points import Point
from shallows.errors import Fault, RunError, SpecError
from shallows.execution.runner import Runner
from shallows.studies.tune.sampling import EXCESSES, distribution, study_of
from shallows.studies.tune.section import Parameter

if TYPE_CHECKING:
    from collections.abc import Callable

    import optuna

    Progress = Callable[[float, int], None]

State = Literal["feasible", "infeasible", "illegal", "no-value", "failed", "stopped"]
MIDDLE = 0.5
QUARTERS = 4

__all__ = ["QUARTERS", "Laboratory", "Tried", "base_run", "check_ranges", "estimated_s", "search"]


@dataclass(frozen=True)
class Tried:
    """A candidate and its value. `illegal` is no experiment and cost no run; `failed` had a run that did not
    end, and so shows a fault of the simulator or a limit. `stopped` had the shorter run alone, whose value
    was no nearer to the bound. `note` gives the reason.

    On several seeds it has the run that is least bad for the victim, and the worst state of all: `values` has
    the value on each seed, `seed` the seed of its own value. `excesses` says by how much each constraint is
    broken.
    """

    number: int
    candidate: Candidate
    state: State
    value: float | None = None
    metrics: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    reference: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    note: str = ""
    seed: int = 1
    values: tuple[float | None, ...] = ()
    excesses: tuple[float, ...] = ()
    by_reference: bool = False
    """Whether the run that failed is the reference's."""


@dataclass
class Spent:
    """Runs, their processor time, and the time that passed, of all laboratories of an attack."""

    runs: int = 0
    cpu_s: float = 0.0
    wall_s: float = 0.0


@dataclass
class Laboratory:
    """Where candidates are measured. `base`: the metrics of the file as written."""

    space: Space
    objective: Objective
    runner: Runner
    progress: Progress | None = None
    base: dict[str, Any] = field(default_factory=dict)
    spent: Spent = field(default_factory=Spent)

    def shorter(self, duration: str) -> Laboratory:
        """A laboratory with runs of another duration. Raises RunError if the file as written fails."""
        base = self.space.base | {"duration": duration}
        lab = replace(self, space=replace(self.space, base=base))
        lab.base = _base_metrics(lab)
        return lab

    def measure(self, candidates: Sequence[Candidate], seeds: Sequence[int] = (1,)) -> list[list[Tried]]:
        """Each candidate on each seed, all in one parallel batch."""
        points: list[Point] = []
        plans: list[tuple[int, str]] = []
        for candidate in candidates:
            at = len(points)
            try:
                new = self.space.points(candidate, seeds)
                new += self.space.points(candidate, seeds, reference=True) if self.space.reference else []
            except SpecError as error:
                plans.append((at, str(error)))
            else:
                points += new
                plans.append((at, ""))
        outcomes = self.run(points)
        found = []
        for number, (candidate, (at, illegal)) in enumerate(zip(candidates, plans, strict=True)):
            if illegal:
                found.append([Tried(number, candidate, "illegal", note=illegal)])
                continue
            n = len(seeds)
            mine = outcomes[at : at + n]
            others: list[Any] = outcomes[at + n : at + 2 * n] if self.space.reference else [self.base] * n
            pairs = zip(mine, others, strict=True)
            found.append(
                [
                    replace(self._tried(number, candidate, one, other), seed=seed)
                    for seed, (one, other) in zip(seeds, pairs, strict=True)
                ]
            )
        return found

    def judge(self, candidates: Sequence[Candidate]) -> list[Tried]:
        """Each candidate by its worst value for the attacker over the space's seeds, so that a find holds on
        each.

        One that breaks a constraint, fails or has no value on any seed has that state.
        """
        return [self._least_bad(each) for each in self.measure(candidates, self.space.own_seeds)]

    def _least_bad(self, tried: Sequence[Tried]) -> Tried:
        values = tuple(one.value for one in tried)
        for state in ("illegal", "failed", "no-value"):
            for one in tried:
                if one.state == state:
                    return replace(one, value=None, values=values)
        turn = -1 if self.objective.least else 1
        worst = min(tried, key=lambda one: turn * (one.value or 0.0))
        broken = next((one for one in tried if one.state == "infeasible"), worst)
        excesses = tuple(max(each) for each in zip(*(one.excesses for one in tried), strict=True))
        return replace(worst, state=broken.state, note=broken.note, values=values, excesses=excesses)

    def run(self, points: Sequence[Point]) -> list[dict[str, Any] | str]:
        """The metrics of each point's run, or why it failed."""
        before = self.spent.runs

        def told(share: float, failed: int = 0) -> None:
            if self.progress:
                self.progress(before + share, failed)

        began = time.monotonic()
        outcomes = self.runner.run(points, metrics=True, progress=told) if points else []
        self.spent.wall_s += time.monotonic() - began
        self.spent.runs += len(points)
        self.spent.cpu_s += sum(float(o.run.manifest["cpu_s"]) for o in outcomes if o.run)
        return [o.error or "failed" if o.metrics is None else o.metrics for o in outcomes]

    def _tried(self, number: int, candidate: Candidate, run: Any, reference: Any) -> Tried:
        failed = [each for each in (run, reference) if isinstance(each, str)]
        if failed:
            return Tried(number, candidate, "failed", note=failed[0], by_reference=not isinstance(run, str))
        value = self.objective.value(run, reference)
        constraints = self.space.constraints
        absent = [one.metric for one in constraints if run.get(one.metric) is None]
        if value is None or absent:
            missing = ", ".join(absent) or self.objective.expectation.metric
            return Tried(number, candidate, "no-value", None, run, reference, f"{missing} has no value")
        excesses = tuple(float(one.excess(run[one.metric])) for one in constraints)
        broken = [one.metric for one, excess in zip(constraints, excesses, strict=True) if excess > 0]
        state: State = "infeasible" if broken else "feasible"
        note = f"breaks {', '.join(broken)}" if broken else ""
        return Tried(number, candidate, state, value, run, reference, note, excesses=excesses)


def base_run(lab: Laboratory) -> Tried:
    """The file as written. Raises SpecError if the objective holds there already, RunError if it fails."""
    lab.base = _base_metrics(lab)
    [tried] = lab.judge([{}])
    if tried.state in ("failed", "illegal"):
        raise RunError(f"the file as written cannot be run: {tried.note}")
    if tried.value is None:
        rule = "must have a metric with a value in the run of the file as written"
        raise SpecError([Fault("--against", rule, lab.objective.text)])
    if lab.objective.holds(tried.value):
        rule = "holds for the file as written already, so a search would show nothing"
        raise SpecError([Fault("--against", rule, lab.objective.text, "give a stricter bound")])
    return tried


def _base_metrics(lab: Laboratory) -> dict[str, Any]:
    [found] = lab.run(lab.space.points({}))
    if isinstance(found, str):
        raise RunError(f"the file as written cannot be run: {found}")
    return found


def check_ranges(lab: Laboratory) -> None:
    """Refuses ranges that change no metric, at the file as written and with all others at their middle.

    The ends are tried first. Where they agree, the range's quarters or its other choices are tried too.
    Raises SpecError with all of them.
    """
    lab = replace(lab, space=replace(lab.space, reference=()))  # whose runs would show nothing here
    space = lab.space
    groups = {name: steps[0] for name, steps in space.groups.items()}
    idle = _alike(lab, groups, (0.0, 1.0))
    idle = idle and _alike(lab, idle, (0.0, *_between(space, idle)))
    faults = []
    for name in idle:
        rule = "has no effect: all values tried of its range give the same metrics"
        path = f"attack.{_section(space, name)}.{name}"
        faults.append(Fault(path, rule, hint="remove it, or widen its range"))
    if faults:
        raise SpecError(faults)


def _between(space: Space, groups: Mapping[str, list[str]]) -> list[float]:
    """Shares of a range between its ends, so many that each choice is among them."""
    most = max((len(space.variables[keys[-1]].choices or ()) for keys in groups.values()), default=0)
    parts = max(most - 1, QUARTERS)
    return [k / parts for k in range(1, parts)]


def _alike(lab: Laboratory, groups: Mapping[str, list[str]], shares: Sequence[float]) -> dict[str, list[str]]:
    """The groups whose metrics are the same at all these shares of their ranges."""
    space = lab.space
    variables = space.variables
    steps = {f"{name}.steps": 1 for name in [*space.schedules, *space.losses]}
    middle = space.drawn({name: _at(one, MIDDLE) for name, one in variables.items()} | steps)
    candidates = []
    for name, keys in groups.items():
        moment = keys[0] if name in space.schedules else None
        for around in ({}, middle):
            for share in shares:
                own = {key: _at(variables[key], MIDDLE if key == moment else share) for key in keys}
                candidates.append(space.without_idle_steps(around | own))
    found = iter([one for [one] in lab.measure(candidates)])
    alike = {}
    for name, keys in groups.items():
        beside, inside = ([next(found) for _ in shares] for _ in range(2))
        known = all(one.metrics for one in (*beside, *inside))
        if known and all(one.metrics == each[0].metrics for each in (beside, inside) for one in each):
            alike[name] = keys
    return alike


def _section(space: Space, name: str) -> str:
    if name in space.losses:
        return "losses"
    return "schedules" if name in space.schedules else "parameters"


def _at(one: Parameter, share: float) -> Any:
    """The value at a share of a range, or the choice there."""
    if one.choices is not None:
        return one.choices[round(share * (len(one.choices) - 1))]
    assert one.low is not None and one.high is not None
    span = one.high - one.low
    value = one.low * (one.high / one.low) ** share if one.log else one.low + share * span
    return round(value) if isinstance(one.low, int) and isinstance(one.high, int) else float(value)


def estimated_s(lab: Laboratory, workers: int) -> float:
    """The time of the whole search, as if each run took as long as those before it: by their processor time,
    or by the time that passed if that is longer."""
    of_each = 2 if lab.space.reference else 1
    candidates = lab.space.generations * lab.space.population
    spent = lab.spent
    each = max(spent.cpu_s / workers, spent.wall_s) / max(spent.runs, 1)
    return each * of_each * lab.space.seeds * candidates


def search(lab: Laboratory, corpus: Sequence[Mapping[str, Any]] = ()) -> Iterator[list[Tried]]:
    """The generations, in order; the drawn values of `corpus` come first.

    Raises SpecError if Optuna is not installed or the shorter run has no value, RunError, StoreError.
    """
    space = lab.space
    study = _study(lab)
    for values in corpus:
        study.enqueue_trial(dict(values))
    sieve = _sieve(lab)
    distributions = {name: distribution(one) for name, one in space.variables.items()}
    for number in range(space.generations):
        asked = [study.ask(distributions) for _ in range(space.population)]
        candidates = [space.without_idle_steps(space.drawn(one.params)) for one in asked]
        stopped = sieve(candidates)
        # A stopped candidate counts as one without a value.
        whole = iter(lab.judge([one for k, one in enumerate(candidates) if k not in stopped]))
        found = [stopped[k] if k in stopped else next(whole) for k in range(len(candidates))]
        for one, new in zip(asked, found, strict=True):
            _tell(study, one, new)
        first = number * space.population
        yield [replace(new, number=first + k) for k, new in enumerate(found)]


def _sieve(lab: Laboratory) -> Callable[[Sequence[Candidate]], dict[int, Tried]]:
    """By place the candidates that a shorter run stops: their value there is no nearer to the bound than that
    of the file as written. A candidate without a value there takes the whole run."""
    if lab.space.first is None:
        return lambda candidates: {}
    short = lab.shorter(lab.space.first)
    [base] = short.judge([{}])
    if base.value is None:
        rule = "must be long enough for a value of the objective in the file as written"
        raise SpecError([Fault("attack.first", rule, lab.space.first)])
    turn, least = (1 if lab.objective.least else -1), base.value

    def stopped(candidates: Sequence[Candidate]) -> dict[int, Tried]:
        found = short.judge(candidates)
        hopeless = {
            k: one for k, one in enumerate(found) if one.value is not None and turn * (one.value - least) >= 0
        }
        note = f"no effect within {lab.space.first}"
        return {k: replace(one, state="stopped", value=None, note=note) for k, one in hopeless.items()}

    return stopped


def _study(lab: Laboratory) -> optuna.Study:
    space = lab.space
    direction = "minimize" if lab.objective.least else "maximize"
    return study_of("attack", "nsga2", space.seed, space.population, [direction], len(space.constraints))


def _tell(study: optuna.Study, asked: optuna.Trial, tried: Tried) -> None:
    import optuna

    if tried.value is None:
        study.tell(asked, state=optuna.trial.TrialState.FAIL)
        return
    asked.set_user_attr(EXCESSES, list(tried.excesses))
    study.tell(asked, tried.value)
