"""The queue over time: Reno and drop-tail against DCTCP, and DCTCP with a threshold too low for its round
trip."""

import polars as pl
from shallows.statistics.estimates import mean_ci, paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, is_above, is_below
from shallows.studies.paper.kit import Rows
from shallows.tables.oscillation import oscillation, queue_steps

from ..common import PORT, red_step, scheme, seen, star, step

TCP, DCTCP = "TCP, drop-tail", "DCTCP, K = 20"
LIMIT = {"document": 200, "paper": 466}
AVERAGE = ", on tc-red's average"
START = "RTT 100ms, first 12 s"
RTTS = ["4ms", "20ms", "60ms"]
K20 = {"K": 20.0}


def _both(limit):
    tail = {"kind": "drop-tail", "limit": f"{limit}pkt"}
    return [scheme(TCP, "newreno", tail), scheme(DCTCP, "dctcp", step(20, limit))]


PERIOD = "Period of TCP's sawtooth in ms"
WARMUP_PS = {"document": 4 * 10**12, "paper": 5 * 10**11}


def periods(runs, spec):
    """Seed by seed the period of TCP's limit cycle in ms; none if a run has fewer than two whole cycles."""
    chosen = runs.where(spec, title=TCP)
    found = [oscillation(*queue_steps(run.tables["queue_trace"], PORT, WARMUP_PS[spec])) for run in chosen]
    known = [each.period_ps / 1e9 for each in found if each.period_ps is not None]
    return known if len(known) == len(found) else []


def longer(document, paper):
    """Whether the period is longer in the document than in the paper; undecided if a run has none."""
    if not (document and paper):
        return Measured(None, note="a run has fewer than two whole cycles")
    return is_above(paired_difference(document, paper), unit="ms")


def measure(runs):
    rows = Rows(runs.frame(seen))
    found = {}
    for spec, name in (("document", "document"), ("paper", "paper")):
        mine = rows.at(spec=spec)
        found[f"{name}-peak"] = mine.estimate("peak", title=TCP)
        found[f"{name}-mean"] = mine.estimate("mean", title=DCTCP)
        found[f"{name}-tcp-swing"] = is_above(
            paired_difference(mine.samples("swing", title=TCP), 4 * mine.samples("swing", title=DCTCP)),
            unit="packets above four times DCTCP's swing",
        )
    found["throughput"] = rows.estimate("throughput", spec="document", title=DCTCP)
    first, last = (f"RTT {rtt}" for rtt in (RTTS[0], RTTS[-1]))
    pair = [rows.samples("swing", spec="delay", title=title) for title in (last, first)]
    found["longer-swings"] = is_above(paired_difference(*pair), unit="packets")
    for name, spec, title in (("longer", "delay", last), ("start", "start", START)):
        empty = rows.estimate("empty", spec=spec, title=title)
        found[f"{name}-underflows"] = is_above(empty, 0.1, unit="of the time empty")
        found[f"{name}-throughput"] = rows.estimate("throughput", spec=spec, title=title)
    found["tcp-period"] = longer(periods(runs, "document"), periods(runs, "paper"))
    found["line"] = is_below(
        rows.estimate("throughput", spec="delay", title="RTT 20ms"), 0.999, unit="of the rate"
    )
    return found


def draw(runs, reference):
    from shallows.figures import queue_time

    def panel(spec, titles, from_ms, to_ms, lines):
        shown = {title: runs.first(spec, title=title).tables for title in titles}
        return queue_time.draw(queue_time.info(shown, "switch->r0", from_ms, to_ms, lines))

    return {
        "100 Mb/s, RTT 4 ms": panel("document", [TCP, DCTCP], 4000, 12000, {"K": 20.0, "limit": 200.0}),
        "DCTCP with K = 20, longer round trips":
            panel("delay", [*map("RTT {}".format, RTTS), f"RTT {RTTS[-1]}{AVERAGE}"], 40000, 44000, K20),
        "DCTCP with K = 20 after its start": panel("start", [START], 0, 12000, K20),
        "1 Gb/s, RTT 250 us": panel("paper", [TCP, DCTCP], 500, 3000, {"K": 20.0, "limit": 466.0}),
    }  # fmt: skip


def tables(runs):
    names = ["mean", "median", "swing", "sd", "peak", "empty", "throughput", "marks"]
    each = {spec: periods(runs, spec) for spec in WARMUP_PS}
    rows = [{"spec": spec, "period (ms)": str(mean_ci(ms)) if ms else "-"} for spec, ms in each.items()]
    return {
        "Queue in packets, shares of time and of the rate": Rows(runs.frame(seen)).table(
            names, ["spec", "title"]
        ),
        PERIOD: pl.DataFrame(rows),
    }


FIGURE = Figure(
    specs={
        "document": ("spec.toml", {"sweep.points": _both(200)}),
        "delay": (
            "spec.toml",
            {
                "duration": "60s",
                "warmup": "30s",
                "seeds": 3,
                "sweep.points": [
                    scheme(f"RTT {rtt}{marking}", "dctcp", queue) | star(2, "100Mbps", rtt, "1Gbps")
                    for marking, queue in (("", step(20, 200)), (AVERAGE, red_step(20, 100, "100Mbps", 200)))
                    for rtt in RTTS
                ],
            },
        ),
        "start": (
            "spec.toml",
            star(2, "100Mbps", "100ms", "1Gbps") | {"sweep.points": [scheme(START, "dctcp", step(20, 200))]},
        ),
        "paper": (
            "spec.toml",
            star(2, "1Gbps", "250us", "10Gbps")
            | {"duration": "3s", "warmup": "500ms", "probe.queue_trace": "100us", "sweep.points": _both(466)},
        ),
    },
    measure=measure,
    draw=draw,
    tables=tables,
    shows={
        "Queue in packets, shares of time and of the rate": (
            "document-*",
            "paper-*",
            "longer-*",
            "start-*",
            "line",
            "throughput",
        ),
        PERIOD: ("tcp-period",),
    },
    captions={
        "100 Mb/s, RTT 4 ms": "Figure 1 of the document: the queue of TCP fills the buffer in a sawtooth, "
        "that of DCTCP stays about K.",
        "DCTCP with K = 20, longer round trips": "DCTCP with the same threshold over longer round trips, and "
        "where tc-red's average is marked on.",
        "DCTCP with K = 20 after its start": "The first seconds over a round trip of 100 ms.",
        "1 Gb/s, RTT 250 us": "Figure 1 of the DCTCP paper, at its own rate.",
    },
)
