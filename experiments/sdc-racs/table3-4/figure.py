"""Tables 3.4 and 4.2: completion times, utilisation and loss of short flows beside two long ones."""

import math

import polars as pl
from shallows.figures import forest, queue_time, style
from shallows.statistics.estimates import mean_ci
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, is_below
from shallows.studies.paper.kit import Rows
from shallows.studies.paper.variants import read_variants

from ..common import (
    CHAPTER_3,
    CHAPTER_4,
    HEADS,
    NAMES,
    PORT,
    at_link,
    bottleneck,
    difference,
    mg1_rows,
    responses,
)

PER_SECOND = 500
PUBLISHED = {
    "3.4": {"sdc": (2.6, 98.11, 0), "sack": (12, 99.99, 0.134), "red": (42.4, 99.99, 0.132)},
    "4.2": {"sdc": (2.6, 98.11, 0), "racs": (2, 98.77, 0), "rcp": (2.67, 98.13, 0)},
}
"""By table and transport: AFCT in ms, utilisation in per cent, loss rate."""
QUANTITIES = {"afct": "AFCT (ms)", "utilisation": "utilisation (%)", "loss": "loss rate (%)"}
TRACED_MS = (400, 440)


def mix(tables):
    """The receiver's port and the responses."""
    return bottleneck(tables) | responses(tables)


def references(runs):
    """Mean times in ms under SRPT, PS and FB: of the first transport's responses, and of M/G/1."""
    found = {}
    for run in runs.where(runs[0].spec):
        for name, each in at_link(run.tables["messages"].filter(pl.col("traffic") == "short")).items():
            found.setdefault(f"{name} at the link", []).append(float(each.mean()))
    return {name: mean_ci(values) for name, values in found.items()} | mg1_rows("mix", PER_SECOND)


def measure(runs):
    frame = runs.frame(mix)
    measured = {}
    for name in ("sack", "red", "sdc", "racs", "rcp"):
        for column in ("afct", "utilisation", "loss"):
            measured[f"{column}-{name}"] = Rows(frame).estimate(column, spec=name)
    measured["ecn-slower"] = is_below(difference(frame, "afct", "sack", "red"), 0, "ms")
    for better, worse in (("sdc", "sack"), ("racs", "sdc"), ("racs", "rcp")):
        less = difference(frame, "afct", better, worse)
        measured[f"{better}-before-{worse}"] = is_below(less, 0, "ms")
    return measured


def numbers(runs):
    """Numbers that the text names beside claims.

    With d0 = 0.2 s for ever, y' = (alpha / d0) y (1 - y) for the share y of the link in use, so that from y0
    on (d0 / alpha) ln(1 / y0) seconds of the link stay unused in all.
    """
    first_share, long_flows, alpha, round_trip_s = 0.05, 2, 0.4, 0.2
    unused_s = round_trip_s / alpha * math.log(1 / (long_flows * first_share))
    return {
        "rcp-start": (Measured(unused_s, n_seeds=0), "seconds"),
        "rcp-length": (Measured(unused_s / (1 - PUBLISHED["4.2"]["rcp"][1] / 100), n_seeds=0), "seconds"),
    }


def _panels(frame, table):
    """One row of points a transport and quantity, with the printed value as a cross."""
    drawn, axes = style.canvas(columns=3, width_inch=style.PAGE_INCH, height_inch=1.5, sharey=True)
    ids = list(PUBLISHED[table])
    for k, (ax, (column, label)) in enumerate(zip(axes, QUANTITIES.items(), strict=True)):
        for row, name in enumerate(ids):
            found, colour = Rows(frame).estimate(column, spec=name), style.colour(row, NAMES[name])
            ax.plot([found.value], [row], "o", color=colour)
            if found.ci is not None:
                ax.plot(found.ci, [row, row], color=colour, linewidth=1.2)
            ax.plot([PUBLISHED[table][name][k]], [row], "x", color=style.PUBLISHED, markersize=5)
        ax.set(xlabel=label, ylim=(len(ids) - 0.5, -0.5))
        ax.set_yticks(range(len(ids)), [NAMES[name] for name in ids])
        ax.grid(False, axis="y")
        ax.margins(x=0.12)
        if column != "utilisation":
            ax.set_xlim(left=-0.03 * ax.get_xlim()[1])
    return drawn


def _over_time(runs, ids):
    """The receiver's queue in one run of each transport, on one axis as the thesis has it."""
    drawn, (ax,) = style.canvas(width_inch=style.PAGE_INCH, height_inch=2.4)
    for k, name in enumerate(ids):
        info = queue_time.info({"": runs.first(f"{name}-trace").tables}, PORT, *TRACED_MS)
        time_ms, packets = info.series[""]
        ax.plot(
            time_ms, packets, color=style.colour(k, NAMES[name]), drawstyle="steps-post", label=NAMES[name]
        )
    ax.set(xlabel="time (ms)", ylabel="queue (packets)", xlim=TRACED_MS)
    ax.set_ylim(bottom=0)
    ax.legend(loc="upper right", ncols=len(ids))
    return drawn


@style.styled
def draw(runs, reference):
    frame = runs.frame(mix).filter(~pl.col("spec").str.ends_with("-trace"))
    ids = [name for name in NAMES if name in frame["spec"].unique()]
    times = {NAMES[name]: Rows(frame).estimate("afct", spec=name) for name in ids} | references(runs)
    queues = {NAMES[name]: Rows(frame).estimate("queue", spec=name) for name in ids}
    printed = {NAMES[n]: values[0] for of in PUBLISHED.values() for n, values in of.items()}
    return {
        "table 3.4": _panels(frame, "3.4"),
        "queue over time, chapter 3": _over_time(runs, CHAPTER_3),
        "table 4.2": _panels(frame, "4.2"),
        "queue over time, chapter 4": _over_time(runs, CHAPTER_4),
        "completion, all transports": forest.draw(
            forest.info({"": times}, "mean completion time of a response (ms)", None),
            published=[printed.get(row) for row in times],
        ),
        "queue, all transports": forest.draw(forest.info({"": queues}, "mean queue (packets)", None)),
    }


def _as_printed(frame, table):
    """A table as the thesis has it, each printed number with ours beside it."""
    rows = []
    for k, (column, label) in enumerate(QUANTITIES.items()):
        row = {"": label}
        for name, printed in PUBLISHED[table].items():
            row |= {
                NAMES[name]: f"{printed[k]:g}",
                f"{NAMES[name]}, ours": str(Rows(frame).estimate(column, spec=name)),
            }
        rows.append(row)
    return pl.DataFrame(rows)


def tables(runs):
    frame = runs.frame(mix).filter(~pl.col("spec").str.ends_with("-trace"))
    rows = []
    for name in (name for name in NAMES if name in frame["spec"].unique()):
        row = {"transport": NAMES[name]}
        for column in ("afct", "p99", "utilisation", "loss", "queue"):
            row[HEADS[column]] = str(Rows(frame).estimate(column, spec=name))
        rows.append(row)
    lines = [{"transport": name, HEADS["afct"]: str(e)} for name, e in references(runs).items()]
    columns = list(rows[0])
    rows += [{column: line.get(column, "-") for column in columns} for line in lines]
    return {
        "Table 3.4: printed, and ours in the base reading": _as_printed(frame, "3.4"),
        "Table 4.2: printed, and ours in the base reading": _as_printed(frame, "4.2"),
        "All transports: times in ms, rest in per cent and packets": pl.DataFrame(rows),
    }


FIGURE = Figure(
    specs=read_variants(__file__),
    measure=measure,
    draw=draw,
    tables=tables,
    numbers=numbers,
    shows={
        "table 3.4": ("*-sdc", "*-sack", "*-red", "ecn-slower"),
        "table 4.2": ("*-sdc", "*-racs", "*-rcp", "racs-before-*"),
    },
    captions={
        "table 3.4": "Table 3.4 and figure 3.11: mean completion time of a response, use of the link and "
        "loss. Grey crosses: the printed values. Bars: 95 % intervals over seeds.",
        "table 4.2": "Table 4.2 and figure 4.8: mean completion time of a response, use of the link and "
        "loss for the transports of chapter 4. Grey crosses: the printed values.",
        "queue over time, chapter 3": "Figure 3.12: the receiver's queue over time in one run, the base "
        "reading. SACK with RED lies on SACK with drop-tail, since thresholds above the buffer never mark.",
        "queue over time, chapter 4": "Figure 4.9: the receiver's queue over time for the "
        "transports of chapter 4.",
        "completion, all transports": "Mean completion time of a response for every transport, beside "
        "what SRPT, PS and FB need for the same responses at the link and as M/G/1; crosses are published.",
        "queue, all transports": "Mean queue at the receiver's port for every transport that was run.",
    },
    folded=(
        "completion, all transports",
        "queue, all transports",
        "All transports: times in ms, rest in per cent and packets",
    ),
)
