"""Flows that arrive and leave, web-search sizes: completion times by size, kind of sender and queue."""

import polars as pl
from shallows.statistics.estimates import mean_ci, paired_change
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, is_above, is_below
from shallows.tables import metrics
from shallows.tables.metrics import wait_quantile_ms

from ..common import BACKENDS, FAIR, TC_RED

TAIL = {"queue": {"kind": "drop-tail", "limit": "250pkt"}}
CUBIC = {"traffic.other.transport": {"cc": "cubic"}}
DCTCP = {"traffic.one.transport": {"cc": {"kind": "dctcp", "whole_segments": True}}}
TITLES = {
    "mixed": "half Cubic, half DCTCP; DualQ",
    "mixed-red": "half Cubic, half DCTCP; tc-red",
    "cubic": "Cubic alone; DualQ",
    "cubic-tail": "Cubic alone; drop-tail 250",
    "dctcp": "DCTCP alone; DualQ",
}
EDGES = (0, 100_000, 1_000_000)
BINS = {100_000: "≤ 100 KB", 1_000_000: "100 KB to 1 MB", None: "> 1 MB"}
SMALL, LARGE = BINS[100_000], BINS[None]


def by_size(tables):
    """Completion times in ms of both loads by size, their counts, and waits of their packets."""
    out = {}
    for row in metrics.by_size(tables["messages"], EDGES).to_dicts():
        name = f"{row['class']}, {BINS[row['high_bytes']]}"
        out[f"{name}, mean"] = row["fct_mean_ps"] and row["fct_mean_ps"] / 1e9
        out[f"{name}, p99"] = row["fct_p99_ps"] and row["fct_p99_ps"] / 1e9
        out[f"{name}, ended"] = row["messages"]
        out[f"{name}, unfinished"] = row["messages_unfinished"]
    for name in ("one", "other"):
        out[f"{name}, wait p99"] = wait_quantile_ms(tables, name, 0.99)
    return out


def _by_seed(runs, spec, column):
    """A column of one experiment's runs, in the order of their seeds."""
    return runs.frame(by_size).filter(pl.col("spec") == spec).sort("seed")[column].to_numpy()


def _change(runs, spec, base, column, of_base=None):
    """Change of a column against another experiment's on the same arrivals, in per cent."""
    found = paired_change(_by_seed(runs, spec, column), _by_seed(runs, base, of_base or column))
    return found._replace(value=100 * found.value, low=100 * found.low, high=100 * found.high)


def times(runs, spec, base, column):
    """How many times a column of `base` is that of `spec`, by seeds."""
    return mean_ci(_by_seed(runs, base, column) / _by_seed(runs, spec, column))


def measure(runs):
    large = _by_seed(runs, "mixed", f"one, {LARGE}, mean") / _by_seed(runs, "mixed", f"other, {LARGE}, mean")
    share = mean_ci(large)
    inside, outside = (
        share.low >= FAIR[0] and share.high <= FAIR[1],
        share.low > FAIR[1] or share.high < FAIR[0],
    )
    fair = True if inside else False if outside else None
    return {
        "short-gain": is_below(_change(runs, "mixed", "cubic", f"other, {SMALL}, mean"), unit="%"),
        "short-tail-gain": is_below(_change(runs, "mixed", "cubic", f"other, {SMALL}, p99"), unit="%"),
        "classic-unharmed": is_below(_change(runs, "mixed", "cubic", f"one, {SMALL}, mean"), 10.0, unit="%"),
        "classic-long-unharmed": is_below(
            _change(runs, "mixed", "cubic", f"one, {LARGE}, mean"), 10.0, unit="%"
        ),
        "classic-harmed-by-red": is_above(
            _change(runs, "mixed-red", "cubic", f"one, {LARGE}, mean"), 10.0, unit="%"
        ),
        "long-fair": Measured(fair, n_seeds=share.n, note=f"mean completion of Cubic over DCTCP: {share}"),
        "five-times-short": is_above(times(runs, "dctcp", "cubic", f"other, {SMALL}, mean"), 5.0, "times"),
        "five-times-wait": is_above(times(runs, "dctcp", "cubic", "other, wait p99"), 5.0, "times"),
    }


def draw(runs, reference):
    from shallows.figures import forest

    series = {what: {} for what in ("mean", "p99")}
    for what, rows in series.items():
        for size in BINS.values():
            for spec, title in TITLES.items():
                kinds = {"one": "Cubic", "other": "DCTCP"} if spec.startswith("mixed") else {"other": ""}
                for load, kind in kinds.items():
                    label = f"{size}: {title}" + (f", {kind}" if kind else "")
                    rows[label] = mean_ci(_by_seed(runs, spec, f"{load}, {size}, {what}"))
    return {
        f"completion times by size, {'mean' if what == 'mean' else '99th percentile'}": forest.draw(
            forest.info({"": rows}, "completion time (ms)", None), log=True
        )
        for what, rows in series.items()
    }


def tables(runs):
    frame = runs.frame(by_size).group_by("spec", maintain_order=True).agg(pl.exclude("seed").mean())
    return {"Means over the seeds, in ms": frame}


FIGURE = Figure(
    specs={
        "mixed": "spec.toml",
        "mixed-red": ("spec.toml", {"queue": TC_RED}),
        "cubic": ("spec.toml", CUBIC),
        "cubic-tail": ("spec.toml", CUBIC | TAIL),
        "dctcp": ("spec.toml", DCTCP),
    },
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
)
