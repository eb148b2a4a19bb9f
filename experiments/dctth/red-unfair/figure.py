"""Cubic against DCTCP behind one RED queue that marks and drops with the same probability."""

import polars as pl
from shallows.statistics.estimates import mean_ci
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, noted
from shallows.tables.goodput import goodput_curves

from ..common import BACKENDS, BATCHES, CUBIC, DCTCP, FLOYD_RED, TC_RED, all_within, cells, typical

QUEUES = {"floyd": FLOYD_RED, "tc-red": TC_RED}
PAIRS = {"sweep": {"points": [{CUBIC: n, DCTCP: n} for n in (1, 2, 5)]}}
SPECS = {name: ("../grid-dualq/spec.toml", PAIRS | {"queue": queue}) for name, queue in QUEUES.items()}
ONE = {"sweep": {"points": [{CUBIC: 1, DCTCP: 1}]}, "seeds": 3}
SPECS |= {
    f"{name}-again": ("../grid-dualq/spec.toml", ONE | {"queue": queue}) for name, queue in QUEUES.items()
}


def formula(frame):
    """The slides' r_reno / r_dc at one p and one RTT, 1.22 / 2 x p^1/2, p as DCTCP was marked."""
    return frame.with_columns((1.22 / 2 * pl.col("dctcp_marked").sqrt()).alias("formula"))


TITLES = {"floyd": "RED, 5 to 15 packets", "tc-red": "tc-red, 30 to 90 KB"}


def measure(runs):
    found = {}
    for name in QUEUES:
        frame = cells(runs, name)
        found[f"{name}-starves"] = _starved(frame)
        found[f"{name}-fair"] = all_within(frame)
        told = formula(frame).select((pl.col("ratio") / pl.col("formula")).alias("x"))["x"]
        found[f"{name}-formula"] = noted(
            typical(formula(frame)[:1], "formula"),
            f"1, 2, 5 flows of each: {', '.join(f'{x:.2f}' for x in told)}",
        )
        off = (frame["dctcp_marked"] / frame["cubic_dropped"]).to_list()
        again = cells(runs, f"{name}-again")
        found[f"{name}-same-p"] = noted(
            mean_ci((again["dctcp_marked"] / again["cubic_dropped"]).to_list()),
            f"one run with 1, 2, 5 flows of each: {', '.join(f'{x:.2f}' for x in off)}",
        )
    return found


def _starved(frame):
    """Whether Cubic gets less than a fifth of DCTCP's rate, in each of the cells."""
    below, above = (frame["ratio_high"] < 0.2).all(), (frame["ratio_low"] > 0.2).any()
    note = "; ".join(
        f"{n} + {n}: {r:.3f} [{a:.3f}, {b:.3f}]"
        for n, r, a, b in frame.select("cubic", "ratio", "ratio_low", "ratio_high").iter_rows()
    )
    return Measured(
        True if below else False if above else None, n_seeds=BATCHES, note=f"Cubic / DCTCP: {note}"
    )


def draw(runs, reference):
    from shallows.figures import relation

    panels = {}
    for name, title in TITLES.items():
        tables = runs.first(name, **{CUBIC: 1, DCTCP: 1}).tables
        series = {
            kind: list(zip(*goodput_curves(tables, key, 1)[0], strict=True))
            for kind, key in (("Cubic", "cubic"), ("DCTCP", "dctcp"))
        }
        panels[title] = relation.panel(series, ("time (s)", "goodput (Mb/s)"))
    return {"one Cubic and one DCTCP flow": relation.draw(panels, line="-", sharey=True)}


def tables(runs):
    columns = [
        "cubic",
        "dctcp",
        "ratio",
        "ratio_low",
        "ratio_high",
        "formula",
        "cubic_mbps",
        "dctcp_mbps",
        "cubic_dropped",
        "dctcp_marked",
        "cubic_timeouts",
        "queue_mean_packets",
    ]
    return {TITLES[name]: formula(cells(runs, name)).select(columns) for name in QUEUES}


FIGURE = Figure(
    specs=SPECS,
    samples="batches",
    seeded=("*-same-p",),
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={title: (f"{name}-*",) for name, title in TITLES.items()},
    captions={
        "one Cubic and one DCTCP flow": "Goodput of one Cubic and one DCTCP flow over time behind each RED."
    },
)
