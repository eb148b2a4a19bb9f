"""Schemes on the same experiment with common random numbers: which differences are real.

A seed gives every scheme the same arrivals, phases and losses on the wire, because random streams are
named and no scheme draws from another's. So schemes are compared seed by seed, and what chance does to both
cancels. The effect of a scheme on a wait or on a completion time is a factor rather, and such numbers are
skewed; so where all values are above zero it is the logarithms that are tested.
Sources: Law and Kelton, Simulation Modeling and Analysis, section 11.2; Holm (1979) for many comparisons.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shallows.backends.linux.backend import Linux
from shallows.document.settings import flat
from shallows.errors import Fault, RunError, SpecError, Written
from shallows.execution.jobs import Job, Outcome
from shallows.execution.runner import Progress, Runner
from shallows.results.store import StoredRun
from shallows.statistics.estimates import Estimate, holm, paired_difference, paired_p, paired_ratio
from shallows.studies.compare.section import KERNEL, Scheme, Schemes
from shallows.tables import metric_names, seeds
from shallows.tables.seeds import SEEDS_CHANGE_NOTHING

if TYPE_CHECKING:
    import polars as pl

    from shallows.tables.metrics import Number, Tables

LEVEL = 0.95

HEADLINE = (
    "goodput_bps_total",
    "jain",
    "drops",
    "marks",
    "retransmissions",
    "timeouts",
    "bottleneck_utilisation",
    "bottleneck_mean_packets",
    "bottleneck_p99_packets",
    "bottleneck_mean_wait_ps",
    "bottleneck_p99_wait_ps",
    "*.goodput_bps",
    "*.wait_mean_ps",
    "*.messages_unfinished",
    "*.fct_mean_ps",
    "*.fct_p99_ps",
    "*.slowdown_p99",
    "*.round_fct_mean_ps",
    "*.round_fct_p99_ps",
    "*.round_slowdown_mean",
)
"""Compared unless other metrics are named."""

UNEQUAL = {
    ".messages_unfinished": (
        "unfinished messages",
        "their times are missing, which favours the scheme with more of them",
    ),
    ".rounds": ("ended rounds", "means cover other rounds, so ask for as many as all schemes end"),
}
"""Counts that schemes must share, by the end of their metric's name: their words, and the reason."""

_SIZES = ("*.upto_*", "*.over_*")
NOT_HEADLINE = tuple(f"{size}.{name}" for size in _SIZES for name in ("slowdown*", "messages_unfinished"))
"""Within a size bin the slowdown says what the completion time says, and costs a comparison."""

__all__ = ["HEADLINE", "Comparison", "Row", "compare", "corrected", "differing", "paired_row"]


@dataclass(frozen=True)
class Row:
    """One metric of one scheme against the baseline's, over the seeds.

    `verdict` is `real` (the adjusted p is below 0.05), `not-determined`, `identical` (equal in every seed) or
    `no-value` (a seed in which one of them has none, see `note`). Where the seeds change no run of either,
    nothing is `real`: there is one value each. `difference` is scheme less baseline,
    `ratio` scheme over baseline, None where a value is not above zero; `p` tests the ratio if there is one,
    else of the difference.
    """

    metric: str
    scheme: str
    baseline_mean: Estimate | None = None
    scheme_mean: Estimate | None = None
    difference: Estimate | None = None
    ratio: Estimate | None = None
    p: float | None = None
    p_adjusted: float | None = None
    verdict: str = "no-value"
    note: str = ""


@dataclass(frozen=True)
class Comparison:
    """The result. `runs`: by scheme, in the seeds' order; `values`: by scheme, metrics of each seed."""

    what: Schemes
    runs: dict[str, list[StoredRun]]
    values: dict[str, list[dict[str, Number]]]
    rows: list[Row]
    arrivals: dict[str, dict[str, bool]]
    warnings: list[str] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list, repr=False)
    """The outcomes of all runs, each point labelled with its scheme."""

    @property
    def family(self) -> int:
        """The number of comparisons that are corrected for together."""
        return sum(row.p is not None for row in self.rows)


def compare(what: Schemes, runner: Runner, progress: Progress | None = None) -> Comparison:
    """Runs what is missing and compares every scheme with the first.

    Raises SpecError for metrics that are none and for what the backend cannot do, RunError if a run fails,
    StoreError.
    """
    first = [scheme.points[0] for scheme in what.schemes]
    metric_names.check(what.metrics, [one.experiment for one in first], "metrics", first[0].summary)
    outcomes = _outcomes(what, runner, progress)
    failed = dict.fromkeys(outcome.error for outcome in outcomes if outcome.error)
    if failed:
        raise RunError("runs failed: " + "\n".join(map(str, failed)))
    several = iter(outcomes)
    by_scheme = {scheme.name: [next(several) for _ in scheme.points] for scheme in what.schemes}
    runs = {name: [one.run for one in mine if one.run is not None] for name, mine in by_scheme.items()}
    values = {name: [one.metrics or {} for one in mine] for name, mine in by_scheme.items()}
    chosen = _chosen(values, what.metrics)
    base = what.schemes[0].name
    still = {name for name, mine in values.items() if seeds.alike(mine)}
    rows = [
        paired_row(
            n,
            s.name,
            *([one.get(n) for one in values[x]] for x in (s.name, base)),
            base,
            still={s.name, base} <= still,
        )
        for s in what.schemes[1:]
        for n in chosen
    ]
    arrivals = _arrivals(what, runs)
    labelled = [
        replace(one, point=replace(one.point, label=name)) for name, mine in by_scheme.items() for one in mine
    ]
    told = [*_warnings(what, values), *dict.fromkeys(t for one in outcomes for t in one.point.remarks)]
    return Comparison(what, runs, values, corrected(rows), arrivals, told, labelled)


def differing(schemes: Sequence[Scheme]) -> dict[str, list[Any]]:
    """Every effective setting in which the schemes' experiments differ, with its value under each.

    None stands for a setting that a scheme lacks. A path of which all loads have the same values is shown
    once, with `*` for their names.
    """
    every = [flat(scheme.points[0].experiment) for scheme in schemes]
    paths = dict.fromkeys(path for one in every for path in one if path not in ("title", "seed"))
    found = {path: [one.get(path) for one in every] for path in paths}
    found = {path: values for path, values in found.items() if any(each != values[0] for each in values)}
    loads = [scheme.points[0].experiment["traffic"] for scheme in schemes]
    names = dict.fromkeys(name for each in loads for name in each)
    merged: dict[str, list[Any]] = {}
    for path, values in found.items():
        section, _, rest = path.partition(".")
        inner = rest.partition(".")[2]
        alike = section == "traffic" and len(names) > 1
        if alike and all(found.get(f"traffic.{name}.{inner}") == values for name in names):
            path = f"traffic.*.{inner}"
        merged[path] = values
    return merged


def _outcomes(what: Schemes, runner: Runner, progress: Progress | None) -> list[Outcome]:
    """The outcomes of all points, scheme by scheme. Schemes with their own kernels run one after another."""
    kernels = {scheme.kernel for scheme in what.schemes}
    if kernels == {None}:
        jobs = _identified(what, [runner for _ in what.schemes])
        return runner.run_jobs([job for own in jobs for job in own], metrics=True, progress=progress)
    if not isinstance(runner.backend, Linux):
        rule = "needs the backend linux, which has kernels"
        raise SpecError([Fault(KERNEL, rule, runner.backend.name, "--backend linux")])
    own_kernel = runner.backend.kernel
    runners = {
        name: replace(runner, backend=replace(runner.backend, kernel=name or own_kernel)) for name in kernels
    }
    each = [runners[scheme.kernel] for scheme in what.schemes]
    jobs = _identified(what, each)
    _require_distinct(what, jobs)
    outcomes: list[Outcome] = []
    for own, mine in zip(each, jobs, strict=True):
        before = len(outcomes), sum(outcome.status == "failed" for outcome in outcomes)
        told = None if progress is None else _after(progress, *before)
        outcomes += own.run_jobs(mine, metrics=True, progress=told)
    return outcomes


def _identified(what: Schemes, runners: Sequence[Runner]) -> list[list[Job]]:
    """The jobs of each scheme on its runner. Raises SpecError with the faults of all schemes.

    A fault names its scheme, unless all have it.
    """
    jobs: list[list[Job]] = []
    found: dict[Fault, list[str]] = {}
    for scheme, runner in zip(what.schemes, runners, strict=True):
        try:
            jobs.append(runner.identify(scheme.points))
        except SpecError as error:
            for fault in error.faults:
                found.setdefault(fault, []).append(scheme.name)
    faults: list[Fault] = []
    for fault, names in found.items():
        alike = len(names) == len(what.schemes)
        faults += [fault] if alike else [replace(fault, path=f"{name}: {fault.path}") for name in names]
    if faults:
        raise SpecError(faults)
    return jobs


def _require_distinct(what: Schemes, jobs: Sequence[Sequence[Job]]) -> None:
    """Refuses one kernel under two names, which would be compared with itself."""
    faults, seen = [], dict[tuple[str, ...], str]()
    for scheme, own in zip(what.schemes, jobs, strict=True):
        twin = seen.setdefault(tuple(job.name for job in own), scheme.name)
        if twin != scheme.name:
            rule = f'must differ from the kernel of "{twin}", since the other settings are equal'
            kernel = scheme.kernel or Written("the current one")
            faults.append(Fault(f"{scheme.name}: {KERNEL}", rule, kernel))
    if faults:
        raise SpecError(faults)


def _after(progress: Progress, done: int, failed: int) -> Progress:
    """Progress of runs that follow others."""
    return lambda share, more: progress(done + share, failed + more)


def _chosen(values: Mapping[str, Sequence[Mapping[str, Number]]], patterns: Sequence[str]) -> list[str]:
    """Metrics that match, in the order of the runs."""
    known = list(dict.fromkeys(name for each in values.values() for one in each for name in one))
    if patterns:
        return [name for name in known if _matches(name, patterns)]
    return [name for name in known if _matches(name, HEADLINE) and not _matches(name, NOT_HEADLINE)]


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def paired_row(
    metric: str,
    scheme: str,
    a: Sequence[Number],
    b: Sequence[Number],
    baseline: str = "the baseline",
    still: bool = False,
) -> Row:
    """A scheme's values of a metric against the baseline's, seed by seed; not corrected yet.

    `still`: the seeds change neither's runs, so that there is one value each, no interval, and no test.
    """
    absent = [name for name, column in ((scheme, a), (baseline, b)) if any(v is None for v in column)]
    if absent:
        count = max(sum(v is None for v in column) for column in (a, b))
        return Row(metric, scheme, note=f"no value in {count} of {len(a)} seeds ({', '.join(absent)})")
    if still:
        one = Estimate(a[0] - b[0], None, None, 1)  # type: ignore[operator]
        means = Estimate(b[0], None, None, 1), Estimate(a[0], None, None, 1)  # type: ignore[arg-type]
        verdict = "identical" if a[0] == b[0] else "not-determined"
        return Row(metric, scheme, *means, one, verdict=verdict, note=SEEDS_CHANGE_NOTHING)
    means = seeds.estimate(metric, b), seeds.estimate(metric, a)
    ratio = paired_ratio(a, b, LEVEL) if min(*a, *b) > 0 else None
    p = paired_p(a, b) if ratio is None else paired_p(np.log(a), np.log(b))
    verdict = "identical" if list(a) == list(b) else "not-determined"
    return Row(metric, scheme, *means, paired_difference(a, b, LEVEL), ratio, p, p, verdict)


def corrected(rows: Sequence[Row]) -> list[Row]:
    """Verdicts after Holm's correction over all rows that have a p."""
    adjusted = iter(holm([row.p for row in rows if row.p is not None]))
    found = []
    for row in rows:
        p = None if row.p is None else next(adjusted)
        real = p is not None and p < 1 - LEVEL
        verdict = "real" if real else row.verdict
        found.append(Row(**vars(row) | {"p_adjusted": p, "verdict": verdict}))
    return found


def arrived(tables: Tables, traffic: str, warmup_ps: int = 0) -> pl.DataFrame:
    """The requests of a load: sizes and starts of its messages, else of its connections, in order of time.

    Several queue pairs share a message (`transport.qps`), so messages go before connections. A bounded
    connection that started before the warm-up's end is left out: it is in the tables only if it was still
    alive then, which depends on the scheme and not on the request.
    """
    import polars as pl

    counted = (pl.col("start_ps") >= warmup_ps) | pl.col("bytes").is_null()
    flows, messages = (
        tables[name].filter((pl.col("traffic") == traffic) & counted).select("bytes", "start_ps")
        for name in ("flows", "messages")
    )
    return (flows if messages.is_empty() else messages).sort("start_ps", "bytes")


def _arrivals(what: Schemes, runs: Mapping[str, Sequence[StoredRun]]) -> dict[str, dict[str, bool]]:
    """By load and scheme, whether every seed asked for the same as under the baseline."""
    base, *others = what.schemes
    warmup_ps = runs[base.name][0].numbers["warmup"]
    found: dict[str, dict[str, bool]] = {}
    for traffic in base.points[0].experiment["traffic"]:
        found[traffic] = {}
        for other in others:
            pairs = zip(runs[base.name], runs[other.name], strict=True)
            found[traffic][other.name] = all(
                arrived(a.tables, traffic, warmup_ps).equals(arrived(b.tables, traffic, warmup_ps))
                for a, b in pairs
            )
    return found


def _warnings(what: Schemes, values: Mapping[str, Sequence[Mapping[str, Number]]]) -> list[str]:
    found = []
    still = [name for name, mine in values.items() if seeds.alike(mine)]
    if still:
        found.append(f"{', '.join(still)}: {SEEDS_CHANGE_NOTHING}")
    if len(what.seeds) < 5:
        found.append(f"{len(what.seeds)} seeds are few: intervals are wide and assume normality")
    for ending, (counted, reason) in UNEQUAL.items():
        for name in (each for each in values[what.schemes[0].name][0] if each.endswith(ending)):
            if _matches(name, [f"{size}.*" for size in _SIZES]):
                continue
            counts = {scheme: sum(one.get(name) or 0 for one in each) for scheme, each in values.items()}
            stem = name.removesuffix(ending)
            if len(set(counts.values())) > 1:
                text = ", ".join(f"{scheme} {count}" for scheme, count in counts.items())
                found.append(f"{counted} of {stem} differ ({text}): {reason}")
            elif ending == ".messages_unfinished" and (count := next(iter(counts.values()))):
                found.append(
                    f"{count} messages of {stem} did not end under each scheme: their times are missing"
                )
    for name in what.idle:
        found.append(f"--allow {name} has no effect: it names no setting that differs between the schemes")
    differing = [name for name in what.allowed if name not in what.idle]
    if differing:
        found.append(f"unequal conditions: {', '.join(differing)} may differ, as allowed")
    return found
