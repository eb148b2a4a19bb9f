"""Cubic against DCTCP behind one RED queue that marks and drops with the same probability."""

import polars as pl
from shallows.statistics.estimates import mean_ci
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, noted
from shallows.tables.goodput import goodput_curves

from ..common import BACKENDS, BATCHES, CUBIC, DCTCP, FLOYD_RED, TC_RED, all_within, cells

QUEUES = {"floyd": FLOYD_RED, "tc-red": TC_RED}
PAIRS = {"sweep": {"points": [{CUBIC: n, DCTCP: n} for n in (1, 2, 5)]}}
SPECS = {name: ("../grid-dualq/spec.toml", PAIRS | {"queue": queue}) for name, queue in QUEUES.items()}
ONE = {"sweep": {"points": [{CUBIC: 1, DCTCP: 1}]}, "seeds": 10}
SPECS |= {  # behind tc-red one run differs from the next by several times
    f"{name}-again": ("../grid-dualq/spec.toml", ONE | {"queue": queue}) for name, queue in QUEUES.items()
}

EXACT = {"traffic.dctcp.transport": {"cc": "dctcp", "arithmetic": "exact"}, "queue": TC_RED}
SPECS["tc-red-exact"] = ("../grid-dualq/spec.toml", ONE | EXACT)

FAST = {"queue": {"kind": "drop-tail", "limit": "2000pkt"}, "topology.rate": "400Mbps"}
SPECS |= {
    name: ("../grid-dualq/spec.toml", FAST | {"port": {"switch->r0": wire}, "sweep": {"points": [flows]}})
    for name, wire, flows in (
        ("loss-alone", {"loss": 0.05}, {CUBIC: 1, DCTCP: 0}),
        ("marks-alone", {"mark": 0.05}, {CUBIC: 0, DCTCP: 1}),
    )
}
"""One flow alone on a wire that loses or marks at random, which no queue can explain."""
MSS_BITS = 8 * 1448


def over_formula(frame, kind):
    """One flow's rate in each cell over the slides' formula: 1.22 / p^1/2 segments a round trip, or 2 / p."""
    p = pl.col("cubic_dropped" if kind == "cubic" else "dctcp_marked")
    segments = 1.22 / p.sqrt() if kind == "cubic" else 2 / p
    found = pl.col(f"{kind}_mbps") * 1e3 * pl.col(f"{kind}_srtt_ms") / MSS_BITS / segments
    return frame.select(found.alias("over"))["over"].to_list()


def formula(frame):
    """The slides' r_reno / r_dc at one p and one RTT, 1.22 / 2 x p^1/2, p as DCTCP was marked."""
    return frame.with_columns((1.22 / 2 * pl.col("dctcp_marked").sqrt()).alias("formula"))


def by_formula(frame):
    """Cubic over DCTCP in each cell, over the slides' formula."""
    return formula(frame).select(pl.col("ratio") / pl.col("formula"))["ratio"].to_list()


TITLES = {"floyd": "RED, 5 to 15 packets", "tc-red": "tc-red, 30 to 90 KB"}


def measure(runs):
    found = {}
    for name in QUEUES:
        frame = cells(runs, name)
        found[f"{name}-starves"] = _starved(frame)
        found[f"{name}-fair"] = all_within(frame)
        again = cells(runs, f"{name}-again")
        told = by_formula(frame)
        found[f"{name}-formula"] = noted(
            mean_ci(by_formula(again)),
            f"one run with 1, 2, 5 flows of each: {', '.join(f'{x:.2f}' for x in told)}",
        )
        off = (frame["dctcp_marked"] / frame["cubic_dropped"]).to_list()
        found[f"{name}-same-p"] = noted(
            mean_ci((again["dctcp_marked"] / again["cubic_dropped"]).to_list()),
            f"one run with 1, 2, 5 flows of each: {', '.join(f'{x:.2f}' for x in off)}",
        )
    [loss] = over_formula(cells(runs, "loss-alone"), "cubic")
    [marks] = over_formula(cells(runs, "marks-alone"), "dctcp")
    waits = cells(runs, "loss-alone")["cubic_timeouts"][0]
    return found | {
        "loss-alone": Measured(loss, note=f"{waits} timeouts"),
        "marks-alone": Measured(marks),
        "tc-red-linux": mean_ci(over_formula(cells(runs, "tc-red-again"), "dctcp")),
        "tc-red-exact": mean_ci(over_formula(cells(runs, "tc-red-exact"), "dctcp")),
    }


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
    seeded=("*-same-p", "*-formula", "tc-red-linux", "tc-red-exact"),
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={title: (f"{name}-*",) for name, title in TITLES.items()},
    captions={
        "one Cubic and one DCTCP flow": "Goodput of one Cubic and one DCTCP flow over time behind each RED."
    },
)
