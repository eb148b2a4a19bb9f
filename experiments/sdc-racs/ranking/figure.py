"""All transports of the project on the thesis' scenarios: one number a scenario, and the order."""

import numpy as np
import polars as pl
from shallows.figures import forest, style
from shallows.statistics.estimates import mean_ci
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, is_below
from shallows.studies.paper.kit import Rows
from shallows.studies.paper.variants import read_variants
from shallows.tables import metrics

from ..common import HEADS, NAMES, at_link, bottleneck, difference, mg1_rows, responses

IDS = tuple(NAMES)

SCORES = {
    "mix": ("mix", "afct", 1, "mean completion time, responses of 2 to 50 KB (ms)"),
    "benchmark": ("benchmark", "afct", 1, "mean completion time, Pareto sizes at 2000 a second (ms)"),
    "incast": ("incast", "afct", 1, "mean completion time, incast of 20 servers (ms)"),
    "deadlines": ("deadlines", "met", -1, "deadlines met (%)"),
    "long": ("long", "utilisation", -1, "share of the link, 10 long flows (%)"),
}
"""By column: scenario, measure, 1 where less is better, and its name."""

REFERENCES = ("mix", "benchmark", "incast")
RESPONSE_BYTES = 25_000
PER_SECOND = {"mix": 500, "benchmark": 2000}
"""Where arrivals are Poisson, so that M/G/1 applies."""


def _answers(tables):
    """The responses: messages of short flows, and of incast those that are not requests."""
    incast = (pl.col("traffic") == "incast") & (pl.col("bytes") == RESPONSE_BYTES)
    return tables["messages"].filter((pl.col("traffic") == "short") | incast)


def scores(tables):
    """The receiver's port, completion times, and deadlines met in per cent."""
    mine = _answers(tables)
    found = bottleneck(tables)
    if len(mine):
        share = metrics.met_share(mine)
        found |= responses({"messages": mine}, mine["traffic"][0])
        found |= {"met": None if share is None else 100 * share}
    return found


def _frame(runs, scenario):
    """One scenario's rows; `spec` is the transport."""
    frame = runs.frame(scores).filter(pl.col("spec").str.ends_with(f"-{scenario}"))
    return frame.with_columns(spec=pl.col("spec").str.strip_suffix(f"-{scenario}"))


def _estimates(runs, column):
    scenario, what, _, _ = SCORES[column]
    rows = Rows(_frame(runs, scenario))
    return {name: rows.estimate(what, spec=name) for name in IDS}


def _order(runs, column):
    """Transports from the best: rank 1 is first, equal means share the mean of their ranks."""
    sign = SCORES[column][2]
    found = {name: sign * e.value for name, e in _estimates(runs, column).items()}
    return {name: _rank(value, list(found.values())) for name, value in found.items()}


def _rank(value, values):
    return 1 + sum(v < value for v in values) + (sum(v == value for v in values) - 1) / 2


def mean_ranks(runs):
    """Mean over the scenarios, best first."""
    orders = [_order(runs, column) for column in SCORES]
    ranks = {name: float(np.mean([order[name] for order in orders])) for name in IDS}
    return dict(sorted(ranks.items(), key=lambda item: item[1]))


def _link(runs, scenario):
    """Means in ms under SRPT, PS and FB of the same responses at the link; in incast nobody else is there."""
    found = {}
    for run in runs.where(f"{IDS[0]}-{scenario}"):
        for name, each in at_link(_answers(run.tables), 0 if scenario == "incast" else 2).items():
            found.setdefault(f"{name} at the link", []).append(float(each.mean()))
    return {name: mean_ci(values) for name, values in found.items()}


SAID_ELSEWHERE = {
    ("mix", "sdc", "sack"),
    ("mix", "racs", "sdc"),
    ("mix", "racs", "rcp"),
    ("benchmark", "sdc", "sack"),
    ("benchmark", "racs", "rcp"),
}
"""Claims of `table3-4` and `fig3-13`, which are not made twice."""


def measure(runs):
    seeds = len(runs.seeds)
    measured = {}
    for better, worse in (
        ("sdc", "sack"),
        ("sdc", "dctcp"),
        ("racs", "sdc"),
        ("racs", "rcp"),
        ("racs", "pfabric"),
    ):
        for scenario in ("mix", "benchmark", "incast"):
            if (scenario, better, worse) in SAID_ELSEWHERE:
                continue
            less = difference(_frame(runs, scenario), "afct", better, worse)
            measured[f"{scenario}-{better}-before-{worse}"] = is_below(less, 0, "ms")
    for better, worse in (("d2tcp", "dctcp"), ("d3", "rcp"), ("d3", "d2tcp"), ("racs", "d3")):
        more = difference(_frame(runs, "deadlines"), "met", worse, better)
        measured[f"deadlines-{better}-before-{worse}"] = is_below(more, 0, "points")
    bound = _link(runs, "benchmark")["SRPT at the link"]
    times = _estimates(runs, "benchmark")
    slack = {name: e.value - bound.value for name, e in times.items()}
    first = min(slack, key=lambda name: slack[name])
    measured["nobody-beats-srpt"] = Measured(
        all(value > 0 for value in slack.values()),
        n_seeds=seeds,
        note=f"{NAMES[first]} nearest: {slack[first]:+.3f} ms",
    )
    return measured


def draw(runs, reference):
    order = list(mean_ranks(runs))
    drawn = {"ranks": _ranks(runs, order)}
    for column, (scenario, _, _, label) in SCORES.items():
        found = _estimates(runs, column)
        rows = {NAMES[name]: found[name] for name in order}
        if scenario in REFERENCES:
            rows |= _link(runs, scenario)
        if scenario in PER_SECOND:
            rows |= mg1_rows(scenario, PER_SECOND[scenario])
        log = scenario in REFERENCES
        drawn[column] = forest.draw(forest.info({"": rows}, label, None), log=log)
    return drawn


@style.styled
def _ranks(runs, order):
    """A square for each transport and scenario, dark for the first."""
    drawn, (ax,) = style.canvas(width_inch=style.PAGE_INCH, height_inch=0.6 + 0.24 * len(order))
    columns = list(SCORES)
    orders = [_order(runs, column) for column in columns]
    table = np.array([[ranks[name] for ranks in orders] for name in order])
    ax.imshow(table, cmap=style.SURFACE, aspect="auto", vmin=1, vmax=len(order))
    for i in range(len(order)):
        for j in range(len(columns)):
            light = table[i, j] < 0.55 * len(order)
            ax.text(j, i, f"{table[i, j]:g}", ha="center", va="center", fontsize=7,
                    color="white" if light else style.INK)  # fmt: skip
    means = mean_ranks(runs)
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(order)), [f"{NAMES[name]}  {means[name]:.1f}" for name in order])
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.grid(False)
    ax.set(ylabel="transport and mean rank")
    return drawn


def tables(runs):
    rows = []
    means = mean_ranks(runs)
    orders = {column: _order(runs, column) for column in SCORES}
    found = {column: _estimates(runs, column) for column in SCORES}
    for name, rank in means.items():
        row = {"transport": NAMES[name], "mean rank": round(rank, 2)}
        for column, (_, _, _, label) in SCORES.items():
            row[label] = f"{found[column][name]} ({orders[column][name]:g})"
        rows.append(row)
    detail = []
    for scenario in SCORES:
        frame = _frame(runs, scenario)
        for name in means:
            row = {"scenario": scenario, "transport": NAMES[name]}
            for column in ("afct", "p99", "within", "met", "utilisation", "loss", "queue"):
                known = (
                    column in frame.columns and frame.filter(pl.col("spec") == name)[column].null_count() == 0
                )
                row[HEADS[column]] = str(Rows(frame).estimate(column, spec=name)) if known else "-"
            detail.append(row)
    return {
        "Ranking: each scenario's number, and the rank in it": pl.DataFrame(rows),
        "Ranking in detail: times in ms, rest in per cent and packets": pl.DataFrame(detail),
    }


FIGURE = Figure(
    specs=read_variants(__file__),
    measure=measure,
    draw=draw,
    tables=tables,
    captions={"ranks": "Rank of each transport in each scenario, dark for the first."}
    | {
        column: f"The scenario {scenario}: {label}, by transport."
        for column, (scenario, _, _, label) in SCORES.items()
    },
)
