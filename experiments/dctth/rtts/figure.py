"""Several base RTTs at once: what each kind of flow gets by its round trip, behind three queues."""

import math

import polars as pl
from shallows.statistics.estimates import mean_ci
from shallows.studies.paper.claims import Measured, is_above

from ..common import BATCHES, COUPLED, FLOYD_RED, batch_mbps, of_class

RTTS_MS = (4, 8, 20, 40)
QUEUES = {"dualq": {}, "coupled": {"queue": COUPLED}, "floyd": {"queue": FLOYD_RED}}
TITLES = {"dualq": "DualQ Coupled", "coupled": "coupled single queue", "floyd": "RED, 5 to 15 packets"}
SPECS = {name: ("spec.toml", changes) for name, changes in QUEUES.items()}


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


def exponent(by_rtt):
    """Power of the base RTT in the rate: least squares through the logarithms."""
    points = [(math.log(rtt), math.log(rate.value)) for rtt, rate in by_rtt.items()]
    x, y = (sum(p[k] for p in points) / len(points) for k in (0, 1))
    return sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)


SHOWS = {
    "goodput by base RTT, eight flows at once": ("*",),
}


def measure(runs):
    dualq, between = rates(runs, "dualq"), ratios(runs, "dualq")
    told = ", ".join(f"{rtt} ms {estimate}" for rtt, estimate in between.items())
    return {
        "dctcp-exponent": Measured(
            exponent(dualq["dctcp"]),
            n_seeds=BATCHES,
            note=", ".join(f"{r} ms {e.value:.2f} Mb/s" for r, e in dualq["dctcp"].items()),
        ),
        "cubic-exponent": Measured(
            exponent(dualq["cubic"]),
            n_seeds=BATCHES,
            note=", ".join(f"{r} ms {e.value:.2f} Mb/s" for r, e in dualq["cubic"].items()),
        ),
        "cubic-less-dependent": Measured(
            exponent(dualq["cubic"]) > exponent(dualq["dctcp"]),
            n_seeds=BATCHES,
            note=f"Cubic / DCTCP: {told}",
        ),
        "longer-is-less": is_above(between[40], 1.0),
        "same-rtt-fair": Measured(
            all(0.5 <= e.value <= 2 for e in between.values()), n_seeds=BATCHES, note=told
        ),
        "coupled-exponents": Measured(
            exponent(rates(runs, "coupled")["cubic"]) - exponent(rates(runs, "coupled")["dctcp"]),
            n_seeds=BATCHES,
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
