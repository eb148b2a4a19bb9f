"""Several base RTTs at once: the share of each kind of flow by its round trip, behind three queues."""

import numpy as np
import polars as pl
from shallows.statistics.estimates import mean_ci, paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import is_above, is_below, noted, some
from shallows.tables.goodput import batch_mbps

from ..common import BACKENDS, COUPLED, FLOYD_RED, of_class

RTTS_MS = (4, 8, 20, 40)
QUEUES = {"dualq": {}, "coupled": {"queue": COUPLED}, "floyd": {"queue": FLOYD_RED}}
TITLES = {"dualq": "DualQ Coupled", "coupled": "coupled single queue", "floyd": "RED, 5 to 15 packets"}


def rates(runs, spec):
    """Goodput of each flow by kind and base RTT, with its interval over batches, in Mb/s."""
    tables = runs.first(spec).tables
    return {
        kind: {rtt: mean_ci(batch_mbps(tables, f"{kind}-{rtt}")) for rtt in RTTS_MS}
        for kind in ("cubic", "dctcp")
    }


def ratios(runs, spec):
    """Cubic over DCTCP at each base RTT, by batches."""
    tables = runs.first(spec).tables
    return {
        rtt: mean_ci(batch_mbps(tables, f"cubic-{rtt}") / batch_mbps(tables, f"dctcp-{rtt}"))
        for rtt in RTTS_MS
    }


def exponents(runs, spec, kind):
    """Power of the base RTT in the rate, batch by batch: least squares through the logarithms."""
    tables = runs.first(spec).tables
    rates = np.log([batch_mbps(tables, f"{kind}-{rtt}") for rtt in RTTS_MS])
    return np.polyfit(np.log(RTTS_MS), rates, 1)[0]


def measure(runs):
    dualq, between = rates(runs, "dualq"), ratios(runs, "dualq")
    powers = {kind: exponents(runs, "dualq", kind) for kind in ("dctcp", "cubic")}
    told = ", ".join(f"{rtt} ms {estimate}" for rtt, estimate in between.items())
    return {
        **{
            f"{kind}-exponent": noted(
                mean_ci(powers[kind]), ", ".join(f"{r} ms {e.value:.2f} Mb/s" for r, e in dualq[kind].items())
            )
            for kind in powers
        },
        "cubic-less-dependent": is_above(paired_difference(powers["cubic"], powers["dctcp"]))._replace(
            note=f"Cubic / DCTCP: {told}"
        ),
        "longer-is-less": is_above(between[40], 1.0),
        "same-rtt-unfair": some(
            (part for e in between.values() for part in (is_below(e, 0.5), is_above(e, 2.0))), told
        ),
        "coupled-exponents": paired_difference(
            *(exponents(runs, "coupled", kind) for kind in ("cubic", "dctcp"))
        ),
    }


def draw(runs, reference):
    from shallows.figures import relation

    panels = {}
    for name, title in TITLES.items():
        found = rates(runs, name)
        series = {"Cubic": found["cubic"], "DCTCP": found["dctcp"]}
        panels[title] = relation.panel(
            series, ("base RTT (ms)", "goodput (Mb/s)"), levels={"equal share": 5.0}, log="xy"
        )
    return {"goodput by base RTT, eight flows at once": relation.draw(panels, sharey=True)}


def tables(runs):
    out = {}
    for name, title in TITLES.items():
        rows = [
            {"flow": f"{kind}, {rtt} ms"} | of_class(runs.first(name).tables, f"{kind}-{rtt}")
            for kind in ("cubic", "dctcp")
            for rtt in RTTS_MS
        ]
        out[title] = pl.DataFrame(rows)
    return out


FIGURE = Figure(
    specs={name: ("spec.toml", changes) for name, changes in QUEUES.items()},
    beyond=True,
    samples="batches",
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"goodput by base RTT, eight flows at once": ("*",)},
    captions={
        "goodput by base RTT, eight flows at once": "Goodput of each flow by its base round trip behind "
        "three queues."
    },
)
