"""Overload of dual queues by flows that cannot send less, and by traffic that does not respond."""

import polars as pl
from shallows.statistics.estimates import Estimate, mean_ci
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, noted

from ..common import BACKENDS, BATCHES, COLUMNS, CUBIC, DCTCP, RATE_MBPS, all_within, cells, over_seeds

DCTCP_FLOWS = [2, 5, 10, 15, 20, 40, 80]
QUEUES = {
    "priority": {"kind": "dualq-curvy-red", "classic_slope": 0.0, "low_slope": 3.0, "fall": "min"},
    "wrr": {
        "kind": "dualq-curvy-red",
        "classic_slope": 0.0,
        "low_slope": 3.0,
        "fall": "min",
        "scheduler": "wrr",
    },
    "ts-fifo": {
        "kind": "dualq-curvy-red",
        "classic_slope": 0.0,
        "low_slope": 3.0,
        "fall": "min",
        "scheduler": "ts_fifo",
    },
    "dualpi2": {"kind": "dualpi2", "classify": "any_ect"},
    "overflow": {"kind": "dualpi2", "classify": "any_ect", "overload": "overflow"},
}
TITLES = {
    "priority": "Curvy RED, strict priority (slides)",
    "wrr": "Curvy RED, weighted round robin",
    "ts-fifo": "Curvy RED, time-shifted FIFO",
    "dualpi2": "DualPI2, drop on saturation",
    "overflow": "DualPI2, delay on saturation",
}
SWEEP = {"sweep": {"grid": {CUBIC: [5], DCTCP: DCTCP_FLOWS}}}
FLOORS = {name: ("../grid-dualq/spec.toml", SWEEP | {"queue": queue}) for name, queue in QUEUES.items()}
RATES_MBPS = [10, 20, 30, 36, 44, 60]
CBR = {"kind": "bulk", "from": "s2", "to": "r0", "start": "5s"}


def unresponsive(queue, ecn):
    """Three flows of each kind beside a constant bit rate in the low-latency queue, or in the classic one."""
    transport = {"cc": {"kind": "cbr", "rate": "10Mbps"}, "ecn": "on" if ecn else "off"}
    rates = [f"{mbps}Mbps" for mbps in RATES_MBPS]
    return "../grid-dualq/spec.toml", {
        "queue": queue,
        "topology.senders": 3,
        "traffic.cbr": CBR | {"transport": transport},
        "sweep": {"grid": {CUBIC: [3], DCTCP: [3], "traffic.cbr.transport.cc.rate": rates}},
    }


UNRESPONSIVE = {
    f"{name}-{place}": unresponsive(QUEUES[name], place == "l")
    for name in ("priority", "dualpi2")
    for place in ("l", "c")
}
ONE = {
    "sweep": {"grid": {CUBIC: [3], DCTCP: [3], "traffic.cbr.transport.cc.rate": [f"{RATES_MBPS[-1]}Mbps"]}}
}
AGAIN = {
    f"{name}-again": (file, changes | ONE | {"seeds": 3})
    for name, (file, changes) in UNRESPONSIVE.items()
    if name != "priority-c"
}
AGAIN |= {
    f"{name}-again": ("../grid-dualq/spec.toml", {"queue": QUEUES[name], "seeds": 3, "sweep": sweep})
    for name, sweep in {
        "dualpi2": {"grid": {CUBIC: [5], DCTCP: [40, 80]}},
        "overflow": {"grid": {CUBIC: [5], DCTCP: [40]}},
    }.items()
}
"""The waits have no batches: the cells that decide about them are run with three seeds."""
ALONE = {
    "cubic-alone": (
        "../grid-dualq/spec.toml",
        {
            "queue": {"kind": "drop-tail", "limit": "1000pkt"},
            "port": {"switch->r0": {"loss": 0.25}},
            "sweep": {"grid": {CUBIC: [5], DCTCP: [0]}},
        },
    )
}
"""Cubic under the loss that a factor of 2 gives it when every low-latency packet is marked: (1 / 2)^2."""
TARGET_MS = 15.0
HEAVY = 40  # 40 floors of two packets in 8 ms are three times the link


def by_flows(runs, name):
    """The cells of one queue by DCTCP flows, with Cubic's share of the link."""
    share = (100 * pl.col("cubic") * pl.col("cubic_mbps") / RATE_MBPS).alias("cubic_percent")
    return cells(runs, name).sort("dctcp").with_columns(share)


def by_rate(runs, name):
    """The cells of one queue by the rate of the traffic that does not respond, in Mb/s."""
    rate = pl.col("rate").str.strip_suffix("Mbps").cast(pl.Float64)
    total = pl.col("cubic") * pl.col("cubic_mbps") + pl.col("dctcp") * pl.col("dctcp_mbps")
    return cells(runs, name).with_columns(rate, total.alias("responsive_mbps")).sort("rate")


def percent_of_link(mbps):
    """An estimate of goodput as a share of the link."""
    return Estimate(*(100 * value / RATE_MBPS for value in mbps[:3]), mbps.n)


def measure(runs):
    return _floors(runs) | _unresponsive(runs)


def _unresponsive(runs):
    found = {}
    for name in UNRESPONSIVE:
        frame = by_rate(runs, name)
        below = all_within(frame.filter(pl.col("rate") <= 20))
        told = ", ".join(
            f"{r:g} Mb/s {x:.2f}" for r, x in frame.select("rate", "ratio").drop_nulls().iter_rows()
        )
        found[f"{name}-shares"] = below._replace(note=f"Cubic / DCTCP at {told}")
    for name in ("priority-l", "dualpi2-l", "dualpi2-c"):
        waits = [over_seeds(runs, f"{name}-again", f"{kind}_wait_ms") for kind in ("cubic", "dctcp")]
        note = f"Cubic waits {waits[0].value:.1f} ms, DCTCP {waits[1].value:.1f} ms"
        found[f"{name}-overload"] = noted(max(waits), note)
    return found


def _floors(runs):
    at = {name: by_flows(runs, name).filter(pl.col("dctcp") == HEAVY).row(0, named=True) for name in QUEUES}
    alone = cells(runs, "cubic-alone").row(0, named=True)

    def share(name):
        mbps = mean_ci(at[name]["cubic_batches"])
        return noted(percent_of_link(mbps), f"ratio {at[name]['ratio']:.3f}")

    pi2 = by_flows(runs, "dualpi2")
    waits = [over_seeds(runs, "dualpi2-again", f"{kind}_wait_ms") for kind in ("cubic", "dctcp")]
    ratios = pi2.filter(pl.col("dctcp") >= 15)
    kept = [f"{n}: {r:.2f}" for n, r in ratios.select("dctcp", "ratio").iter_rows()]
    inside = (ratios["ratio_low"] >= 0.5).all() and (ratios["ratio_high"] <= 2).all()
    return {
        "priority-starves": share("priority"),
        "wrr-protects": share("wrr"),
        "ts-fifo-protects": share("ts-fifo"),
        "drop-protects": share("dualpi2"),
        "drop-quarter": Measured(
            100 * at["dualpi2"]["cubic_dropped"], note=f"{at['dualpi2']['cubic_timeouts']} timeouts"
        ),
        "cubic-alone": noted(
            percent_of_link(mean_ci(alone["cubic_batches"])), f"{alone['cubic_timeouts']} timeouts"
        ),
        "drop-equal": Measured(
            bool(inside), n_seeds=BATCHES, note=f"Cubic / DCTCP by DCTCP flows {', '.join(kept)}"
        ),
        "drop-keeps-delay": noted(max(waits), "the longer mean wait of the two kinds"),
        "overflow-delays": noted(
            over_seeds(runs, "overflow-again", "dctcp_wait_ms"),
            f"Cubic waits {over_seeds(runs, 'overflow-again', 'cubic_wait_ms').value:.0f} ms",
        ),
    }


def draw(runs, reference):
    from shallows.figures import relation

    def lines(column, dropped=0.0):
        return {
            TITLES[name]: [
                (r["dctcp"], r[column] if (r[column] or 0) > dropped else None)
                for r in by_flows(runs, name).iter_rows(named=True)
            ]
            for name in QUEUES
        }

    x = "DCTCP flows beside five Cubic"
    saturated = {"floors fill the link": 13.3}
    titles = {
        "priority-l": "strict priority, in L",
        "priority-c": "strict priority, in C",
        "dualpi2-l": "DualPI2, in L",
        "dualpi2-c": "DualPI2, in C",
    }

    def by_load(column):
        return {
            titles[name]: [(r["rate"], r[column]) for r in by_rate(runs, name).iter_rows(named=True)]
            for name in titles
        }

    load = "unresponsive load (Mb/s)"
    full = {"the link's rate": 40}
    return {
        "traffic that does not respond": relation.draw(
            {
                "three Cubic and three DCTCP flows": relation.panel(
                    by_load("responsive_mbps"), (load, "together (Mb/s)"), places=full
                ),
                "Cubic's wait": relation.panel(
                    by_load("cubic_wait_ms"), (load, "mean wait (ms)"), places=full, log="y"
                ),
                "DCTCP's wait": relation.panel(
                    by_load("dctcp_wait_ms"), (load, "mean wait (ms)"), places=full, log="y"
                ),
            }
        ),
        "overload by floors": relation.draw(
            {
                "Cubic's share": relation.panel(
                    lines("cubic_percent", 0.01),
                    (x, "per cent of the link, five flows"),
                    places=saturated,
                    log="xy",
                ),
                "Cubic's wait": relation.panel(
                    lines("cubic_wait_ms"), (x, "mean wait (ms)"), places=saturated, log="xy"
                ),
                "DCTCP's wait": relation.panel(
                    lines("dctcp_wait_ms"), (x, "mean wait (ms)"), places=saturated, log="xy"
                ),
            }
        ),
    }


def tables(runs):
    floors = {
        TITLES[name]: by_flows(runs, name).select("cubic", "dctcp", "cubic_percent", "utilisation", *COLUMNS)
        for name in QUEUES
    }
    return floors | {
        f"Unresponsive: {name}": by_rate(runs, name).select(
            "rate", "responsive_mbps", "utilisation", *COLUMNS
        )
        for name in UNRESPONSIVE
    }


FIGURE = Figure(
    specs=FLOORS | UNRESPONSIVE | AGAIN | ALONE,
    beyond=True,
    samples="batches",
    seeded=("drop-keeps-delay", "overflow-delays", "*-overload"),
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    captions={
        "traffic that does not respond": "Three flows of each kind beside traffic that does not respond: "
        "ratio and waits by its rate.",
        "overload by floors": "One Cubic flow beside DCTCP flows at their least window: share and waits by "
        "their number.",
    },
)
