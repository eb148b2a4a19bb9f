"""Figure 4: throughput of DT-CWA against beta."""

import numpy as np
from shallows.statistics.estimates import paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import every, is_above, is_below
from shallows.studies.paper.kit import Rows

from ..common import DTCWA, LOAD_NAMES, SPEC, WORKERS, schemes, seen, table_of
from ..common import LOADS as EVERY

BETAS = [0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0]
LOADS = ("query-1MB", "ftp")
CHOSEN = 0.2
SENDERS = [9, 10, 30]


def specs(reading):
    """Each load over numbers of senders and beta, with DT-CWA's sender and switches as read."""
    scheme = schemes(reading)[DTCWA]
    switch = {name: value for name, value in scheme.items() if name not in ("title", "transport.cc")}
    grid = {WORKERS: SENDERS, "transport.cc.beta": BETAS}
    return {
        load: (SPEC, EVERY[load] | switch | {"transport.cc": scheme["transport.cc"], "sweep.grid": grid})
        for load in LOADS
    }


MARGIN = 10.0
"""Mb/s, a hundredth of the link: the least that the line of a plot shows."""


def below_chosen(frame, senders):
    """By each larger beta, throughput less that at 0.2 in Mb/s, paired by seed; under None for their mean."""
    chosen = Rows(frame).samples("mbps", workers=senders, beta=CHOSEN)
    larger = [beta for beta in frame["beta"].unique().sort() if beta > CHOSEN]
    by = {beta: Rows(frame).samples("mbps", workers=senders, beta=beta) for beta in larger}
    by[None] = np.mean(list(by.values()), axis=0)
    return {beta: paired_difference(found, chosen) for beta, found in by.items()}


def _falls(differences):
    """Whether throughput is nowhere above that at 0.2, and below it in the mean, by what a plot shows."""
    parts = [is_below(differences[None], -MARGIN, unit="Mb/s in the mean")]
    parts += [is_below(each, MARGIN, unit=f"at {beta}") for beta, each in differences.items() if beta]
    return every(parts)


def measure(runs):
    frame = runs.frame(seen)
    found = {}
    if "query-1MB" in set(frame["spec"]):
        large, chosen = (
            Rows(frame).samples("timeouts_per_flow", spec="query-1MB", workers=10, beta=beta)
            for beta in (1.0, CHOSEN)
        )
        found["timeouts-query-1MB-10"] = is_above(paired_difference(large, chosen), unit="timeouts a flow")
    for load in set(frame["spec"]):
        for senders in SENDERS:
            differences = below_chosen(Rows(frame).at(spec=load).frame, senders)
            found[f"falls-{load}-{senders}"] = _falls(differences)
            found[f"falls-at-1-{load}-{senders}"] = is_below(
                differences[max(filter(None, differences))], unit="Mb/s"
            )
    return found


def _named(runs):
    import polars as pl

    return runs.frame(seen).with_columns(senders=pl.format("{} senders", pl.col("workers")))


def draw(runs, reference):
    from shallows.figures import curves

    rows = Rows(_named(runs))
    panels = {
        LOAD_NAMES[load]: curves.Panel(rows.curve("mbps", "beta", "senders", spec=load), "throughput (Mb/s)")
        for load in LOADS
    }
    return {"throughput by beta": curves.draw(curves.info(panels, "beta"))}


def tables(runs):
    rows = Rows(_named(runs))
    return {
        f"Means over the seeds, {LOAD_NAMES[load]}":
            table_of(rows.at(spec=load).frame, ["mbps", "timeouts_per_flow", "drops"], ["beta", "senders"])
        for load in LOADS
    }  # fmt: skip


FIGURE = Figure(
    specs=specs,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={
        "throughput by beta": ("falls-*",),
        f"Means over the seeds, {LOAD_NAMES['query-1MB']}": ("timeouts-*",),
    },
    captions={
        "throughput by beta": "Figure 4: throughput against beta, by the number of senders and by load, in "
        "the base reading. The text prints no value but the choice, 0.2."
    },
)
