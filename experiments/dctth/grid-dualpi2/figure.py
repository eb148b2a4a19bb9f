"""The 121 cells behind DualPI2, as the slides later became: with DCTCP (any ECT) and Prague (ECT(1))."""

import polars as pl
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, noted

from ..common import (
    BACKENDS,
    BATCHES,
    BDP_PACKETS,
    COLUMNS,
    CUBIC,
    DCTCP,
    above_floor,
    all_within,
    cells,
    draw_ratios,
    draw_surface,
    flows_of,
    mixed,
    queue_cells,
    rate_cells,
    share_within,
    typical,
)

DUALPI2 = {"kind": "dualpi2", "classify": "any_ect"}
PRAGUE = {
    "queue": {"kind": "dualpi2", "classify": "ect1"},
    "traffic.dctcp.transport": {"cc": "prague", "cwnd_floor": "2pkt"},
}
FEW = [1, 2, 3, 5, 8, 10]
SPECS = {
    "dctcp": ("../grid-dualq/spec.toml", {"queue": DUALPI2}),
    "dctcp-8": (
        "../grid-dualq/spec.toml",
        {"queue": DUALPI2 | {"k": 8.0}, "sweep": {"grid": {CUBIC: FEW, DCTCP: FEW}}},
    ),
    "prague": ("../grid-dualq/spec.toml", PRAGUE),
}
OWN = {"traffic.dctcp.transport": {"cc": {"kind": "prague", "rtt_virt": "own"}, "cwnd_floor": "2pkt"}}
ODD = {"sweep": {"grid": {CUBIC: [1, 3, 5], DCTCP: [1, 3, 5]}}}
SIX = {"topology.rate": "400Mbps", "duration": "60s", "sweep": {"grid": {CUBIC: [0], DCTCP: [6]}}}
CAUSES = {
    "prague-own": ("../grid-dualq/spec.toml", PRAGUE | OWN | ODD),
    "dctcp-fast": ("../grid-dualq/spec.toml", {"queue": DUALPI2} | SIX),
    "prague-fast": ("../grid-dualq/spec.toml", PRAGUE | SIX),
}
"""Runs that show causes: Prague without its virtual round trip, and six flows on a faster link."""
NAMES = {
    "dctcp": ("DCTCP, k = 2", "DCTCP"),
    "dctcp-8": ("DCTCP, k = 8", "DCTCP"),
    "prague": ("Prague, k = 2", "Prague"),
}
ALONE = {name: NAMES[name] for name in ("dctcp", "prague")}


def measure(runs):
    found = {}
    for name in NAMES:
        frame = cells(runs, name)
        both = mixed(frame)
        roomy = frame.filter((pl.col("dctcp") > 0) & (BDP_PACKETS / pl.col("flows") >= 4))
        worst = roomy.sort("dctcp_wait_p99_ms", descending=True).row(0, named=True)
        found |= {
            f"{name}-ratio": all_within(above_floor(both)),
            f"{name}-median": noted(
                typical(above_floor(both)), f"{share_within(both):.0f} % of all cells within 0.5 to 2"
            ),
            f"{name}-delay": Measured(
                bool(worst["dctcp_wait_p99_ms"] < 2),
                note=f"most {worst['dctcp_wait_p99_ms']:.2f} ms, {flows_of(worst)}",
            ),
            f"{name}-target": _target(both),
        }
    fast = {title: cells(runs, f"{key}-fast")["dctcp_wait_p99_ms"][0] for key, (title, _) in ALONE.items()}
    told = ", ".join(f"{title}: {ms:.2f} ms" for title, ms in fast.items())
    return found | {
        "fast-delay": Measured(all(ms < 2 for ms in fast.values()), note=told),
        "prague-own-median": typical(mixed(cells(runs, "prague-own"))),
    }


def _target(both):
    waits = both["cubic_wait_ms"]
    return Measured(
        waits.median(),
        waits.min(),
        waits.max(),
        BATCHES,
        note="median and range over the cells with both kinds",
        range=True,
    )


def draw(runs, reference):
    figures = {}
    for name, (title, flow) in NAMES.items():
        if name != "dctcp-8":
            figures[f"{title}: throughput of each flow over time"] = rate_cells(runs, name, scalable=flow)
            figures[f"{title}: queue size at dequeue"] = queue_cells(runs, name, scalable=flow)
        figures[f"{title}: throughput ratio Cubic to {flow}"] = draw_ratios(cells(runs, name), flow)
        figures[f"{title}: ratio in each cell"] = draw_surface(cells(runs, name), flow)
    return figures


def tables(runs):
    return {
        f"{title}: cells with both kinds (dctcp stands for {flow})": mixed(cells(runs, name)).select(
            "cubic", "dctcp", *COLUMNS
        )
        for name, (title, flow) in NAMES.items()
    }


FIGURE = Figure(
    specs=SPECS | CAUSES,
    beyond=True,
    samples="batches",
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
)
