"""Figures 3.13, 4.10 to 4.13: benchmark traffic, by arrival rate, by size, and as a distribution."""

import itertools

import numpy as np
import polars as pl
from shallows.figures import curves, style
from shallows.statistics.estimates import mean_ci, paired_ratio
from shallows.studies import Figure
from shallows.studies.paper.claims import every, is_above, is_below, is_within
from shallows.studies.paper.kit import Rows
from shallows.studies.paper.variants import read_variants

from ..common import CHAPTER_3, CHAPTER_4, HEADS, NAMES, at_link, bottleneck, difference, mg1_ms

PER_SECOND = {"5ms": 200, "2ms": 500, "1ms": 1000, "667us": 1499, "500us": 2000}
BUSIEST = "500us"
SIZES = (0, 10_000, 30_000, 100_000, 300_000, 1_000_000, 10_000_001)
WITHIN_MS = 10
LEAST_BYTES, MOST_BYTES = 5353, 10_000_000


def benchmark(tables):
    """The receiver's port, and completion times in ms of all responses and of those of each size."""
    mine = _responses(tables)
    ended = mine.drop_nulls("fct_ms")
    found = bottleneck(tables) | {
        "afct": ended["fct_ms"].mean(),
        "p99": ended["fct_ms"].quantile(0.99, "linear"),
        # One that has not ended when the run does has not ended within any time.
        "within": 100 * (ended["fct_ms"] <= WITHIN_MS).sum() / max(len(mine), 1),
        "unfinished": len(mine) - len(ended),
    }
    for low, high in _bins():
        inside = ended.filter(pl.col("bytes") > low, pl.col("bytes") <= high)["fct_ms"]
        found[f"afct_{low}"] = inside.mean()
    return found


def _responses(tables):
    mine = tables["messages"].filter(pl.col("traffic") == "short")
    return mine.select("bytes", "start_ps", fct_ms=pl.col("fct_ps").cast(pl.Float64) / 1e9)


def _bins():
    return list(itertools.pairwise(SIZES))


def _references(runs, every):
    """Per discipline, one array a seed: completion times in ms of the same responses at the link alone."""
    found = {}
    for run in runs.where(runs[0].spec, every=every):
        mine = _responses(run.tables)
        for name, each in at_link(mine).items():
            found.setdefault(name, []).append((mine["bytes"].to_numpy(), each))
    return found


def _ratio(frame, name, column="afct"):
    """Per seed, at the busiest over at the quietest."""
    mine = frame.filter(pl.col("spec") == name).sort("seed")
    every = sorted(set(mine["every"]), key=lambda each: PER_SECOND[each])
    quiet, busy = (mine.filter(pl.col("every") == each)[column] for each in (every[0], every[-1]))
    return mean_ci((busy / quiet).to_list())


def measure(runs):
    frame = runs.frame(benchmark)
    quiet = min(set(frame["every"]), key=lambda each: PER_SECOND[each])
    pairs = itertools.combinations(CHAPTER_3, 2)
    alike = [is_within(_over(frame, a, b, quiet), 0.25, 1, f"{NAMES[a]} over {NAMES[b]}") for a, b in pairs]
    measured = {
        "alike-at-low-load": every(alike),
        "sdc-flat": _ratio(frame, "sdc"),
        "racs-flat": _ratio(frame, "racs"),
        "sack-grows": is_above(_ratio(frame, "sack"), 1.25, "of its least"),
        "rcp-grows": is_above(_ratio(frame, "rcp"), 1.25, "of its least"),
        "sdc-before-sack": is_below(difference(frame, "afct", "sdc", "sack", every=BUSIEST), 0, "ms"),
        "racs-before-rcp": is_below(difference(frame, "afct", "racs", "rcp", every=BUSIEST), 0, "ms"),
    }
    by_size = {low: difference(frame.drop_nulls(f"afct_{low}"), f"afct_{low}", "racs", "rcp", every=BUSIEST)
               for low, _ in _bins() if _paired(frame, low)}  # fmt: skip
    small = [e for low, e in by_size.items() if low < 1_000_000]
    note = ", ".join(f"{low // 1000} KB: {e.value:+.2f}" for low, e in by_size.items()) + " ms"
    measured["racs-better-below-1mb"] = every((is_below(e) for e in small), note)
    if 1_000_000 in by_size:
        measured["racs-worse-above-1mb"] = is_above(by_size[1_000_000], 0, "ms")
    for name in ("racs", "rcp"):
        measured[f"within-{name}"] = Rows(frame).estimate("within", spec=name, every=BUSIEST)
    gain = difference(frame, "within", "racs", "rcp", every=BUSIEST)
    measured["throughput-gain"] = gain
    return measured


def _over(frame, name, base, every_ms):
    """Completion time of one transport over another's, paired by seed."""
    mine = frame.filter(pl.col("every") == every_ms).sort("seed")
    a, b = (mine.filter(pl.col("spec") == spec)["afct"].to_list() for spec in (name, base))
    return paired_ratio(a, b)


def _paired(frame, low):
    """Whether both transports have responses of a size in every seed."""
    mine = frame.filter(pl.col("every") == BUSIEST, pl.col("spec").is_in(["racs", "rcp"]))
    return mine[f"afct_{low}"].null_count() == 0


def draw(runs, reference):
    frame = runs.frame(benchmark)
    return {
        "figure 3.13": _by_rate(runs, frame, CHAPTER_3),
        "figure 4.10": _by_rate(runs, frame, CHAPTER_4),
        "figure 4.11": _by_size(runs, frame, ("rcp", "racs")),
        "figures 4.12 and 4.13": _cdf(runs, ("rcp", "sdc", "racs")),
        "arrival rate, all transports": _by_rate(runs, frame, _ids(frame), references=True),
        "sizes, all transports": _by_size(runs, frame, _ids(frame), references=True),
    }


def _by_rate(runs, frame, ids, references=False):
    rates = sorted(set(frame["every"]), key=lambda each: PER_SECOND[each])

    def series(column):
        found = {}
        for name in ids:
            by = Rows(frame).by(column, "every", spec=name)
            found[NAMES[name]] = {PER_SECOND[each]: by[each] for each in rates}
        return found

    times = series("afct")
    bounds = {}
    for each in rates if references else ():
        for name, seeds in _references(runs, each).items():
            mean = mean_ci([float(t.mean()) for _, t in seeds]).value
            bounds.setdefault(f"{name} at the link", {})[PER_SECOND[each]] = mean
        for name, ms in mg1_ms("benchmark", PER_SECOND[each]).items():
            bounds.setdefault(f"M/G/1 {name}", {})[PER_SECOND[each]] = ms
    panels = {
        "completion": curves.Panel(times, "mean completion time (ms)", log=references, references=bounds),
        "application throughput": curves.Panel(series("within"), f"ended within {WITHIN_MS} ms (%)"),
    }
    if ids is CHAPTER_3:
        del panels["application throughput"]
        return curves.draw(curves.info(panels, "responses a second"))
    drawn = curves.draw(curves.info(panels, "responses a second"))
    drawn.axes[1].set_ylim(80, 100.5)
    return drawn


def _by_size(runs, frame, ids, references=False):
    busy = frame.filter(pl.col("every") == BUSIEST)
    link = _references(runs, BUSIEST) if references else {}
    middle = {low: (max(low, LEAST_BYTES) * min(high, MOST_BYTES)) ** 0.5 / 1000 for low, high in _bins()}
    times, bounds = {}, {}
    for name in ids:
        mine = {low: busy.filter(pl.col("spec") == name)[f"afct_{low}"].drop_nulls() for low, _ in _bins()}
        times[NAMES[name]] = {middle[low]: mean_ci(v.to_list()) for low, v in mine.items() if len(v) > 1}
    for name, seeds in link.items():
        points = {}
        for low, high in _bins():
            inside = [t[(b > low) & (b <= high)] for b, t in seeds]
            means = [float(each.mean()) for each in inside if len(each)]
            if len(means) > 1:
                points[middle[low]] = mean_ci(means).value
        bounds[f"{name} at the link"] = points
    for low, high in _bins() if references else ():
        for name, ms in mg1_ms("benchmark", PER_SECOND[BUSIEST], low, high).items():
            bounds.setdefault(f"M/G/1 {name}", {})[middle[low]] = ms
    panel = curves.Panel(times, "mean completion time (ms)", log=True, references=bounds)
    drawn = curves.draw(curves.info({"": panel}, "size of the response (KB)", log_x=True))
    ax = drawn.axes[0]
    ticks = [middle[low] for low, _ in _bins()]
    words = ["to 10", "10 to 30", "30 to 100", "100 to 300", "300 to\n1000", "above\n1000"]
    ax.set_xticks(ticks, words)
    drawn.set_size_inches(style.PAGE_INCH, 3.2)
    return drawn


@style.styled
def _cdf(runs, ids):
    drawn, axes = style.canvas(columns=2, width_inch=style.PAGE_INCH, height_inch=2.8)
    for k, name in enumerate(ids):
        times = [_responses(run.tables)["fct_ms"] for run in runs.where(name, every=BUSIEST)]
        everyone = sum(map(len, times))
        ended = np.sort(np.concatenate([each.drop_nulls().to_numpy() for each in times]))
        share = 100 * np.arange(1, len(ended) + 1) / everyone
        for ax in axes:
            ax.plot(
                ended, share, color=style.colour(k, NAMES[name]), drawstyle="steps-post", label=NAMES[name]
            )
    seeds = _references(runs, BUSIEST)["SRPT"]
    ended = np.sort(np.concatenate([t for _, t in seeds]))
    for ax in axes:
        ax.plot(ended, 100 * np.arange(1, len(ended) + 1) / len(ended), color=style.INK, linestyle=":",
                label="SRPT at the link")  # fmt: skip
        ax.axvline(WITHIN_MS, color=style.QUIET, linewidth=0.6, linestyle="--")
        ax.plot([WITHIN_MS] * 2, [98, 84], "x", color=style.PUBLISHED, label="printed: RACS 98 %, RCP 84 %")
        style.logarithmic(ax, "x")
        ax.set(xlabel="completion time (ms)")
    axes[0].set(ylabel="responses ended (%)", ylim=(0, 102), title="all")
    axes[1].set(ylim=(80, 100.5), title="the slowest fifth")
    handles, labels = axes[0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=5)
    return drawn


def _ids(frame):
    return [name for name in NAMES if name in set(frame["spec"])]


def tables(runs):
    frame = runs.frame(benchmark)
    rows = []
    for name in _ids(frame):
        for each in sorted(set(frame["every"]), key=lambda each: PER_SECOND[each]):
            row = {"transport": NAMES[name], "responses a second": PER_SECOND[each]}
            for column in ("afct", "p99", "within", "utilisation", "loss", "queue"):
                row[HEADS[column]] = str(Rows(frame).estimate(column, spec=name, every=each))
            rows.append(row)
    formula = []
    for each in sorted(set(frame["every"]), key=lambda each: PER_SECOND[each]):
        link = _references(runs, each)
        cells = {f"{n} at the link": str(mean_ci([float(t.mean()) for _, t in s])) for n, s in link.items()}
        cells |= {f"M/G/1 {n}": round(ms, 3) for n, ms in mg1_ms("benchmark", PER_SECOND[each]).items()}
        formula.append({"responses a second": PER_SECOND[each]} | cells)
    return {
        "Benchmark traffic: times in ms, rest in per cent and packets": pl.DataFrame(rows),
        "Mean completion times at the link alone, in ms": pl.DataFrame(formula),
    }


FIGURE = Figure(
    specs=read_variants(__file__),
    settings={"mean": "25KB", "large": "1MB"},
    measure=measure,
    draw=draw,
    tables=tables,
    shows={
        "figure 3.13": ("alike-at-low-load", "sdc-flat", "sack-grows", "sdc-before-sack"),
        "figure 4.10": ("racs-flat", "rcp-grows", "racs-before-rcp"),
        "figure 4.11": ("racs-*-1mb",),
        "figures 4.12 and 4.13": ("within-*", "throughput-gain"),
    },
    captions={
        "figure 3.13": "Mean completion time of benchmark traffic by arrival rate, the transports of chapter "
        "3. The text prints no value of this figure.",
        "figure 4.10": "Mean completion time of benchmark traffic by arrival rate, the transports of chapter "
        "4, and the share of responses that end in time.",
        "figure 4.11": "Mean completion time by size at the highest rate, RACS against RCP.",
        "figures 4.12 and 4.13": "Share of the responses that ended before a time, at the highest rate. "
        "Grey crosses: the printed shares.",
        "arrival rate, all transports": "Every transport, beside SRPT, PS and FB at the link and M/G/1.",
        "sizes, all transports": "Mean completion time by size for every transport, at the highest rate.",
    },
    folded=(
        "arrival rate, all transports",
        "sizes, all transports",
        "Mean completion times at the link alone, in ms",
    ),
)
