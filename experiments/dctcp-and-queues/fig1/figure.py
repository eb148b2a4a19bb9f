"""The queue over time: Reno and drop-tail against DCTCP, and DCTCP with a threshold too low for its round
trip."""

import polars as pl
from shallows.statistics.estimates import mean_ci, paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, is_above, is_below
from shallows.studies.paper.kit import Rows
from shallows.tables.oscillation import oscillation, queue_steps

from ..common import MARKINGS, PORT, marking, scheme, seen, star

TCP, DCTCP = "TCP, drop-tail", "DCTCP, K = 20"
START_RTT = "100ms"
RTTS = ["4ms", "20ms"]
SPANS = {"60ms": ("60s", "30s"), "100ms": ("200s", "100s"), "200ms": ("1000s", "600s")}
"""Duration and warm-up by longer round trip: halving windows take the longer to settle."""


def marked(how):
    """The title of DCTCP behind a switch that marks in this way."""
    return f"{DCTCP}, {MARKINGS[how]}"


def _both(limit, rate, markings):
    tail = {"kind": "drop-tail", "limit": f"{limit}pkt"}
    return [scheme(TCP, "newreno", tail), *_dctcp(limit, rate, markings)]


def _dctcp(limit, rate, markings=MARKINGS):
    return [scheme(marked(how), "dctcp", marking(how, 20, rate, limit)) for how in markings]


SHARES = "Queue in packets, shares of time and of the rate"
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
    title = marked(runs.reading["switch"])
    found = {}
    for name, dctcp in (("document", title), ("paper", marked("queue"))):
        mine = rows.at(spec=name)
        found[f"{name}-peak"] = mine.estimate("peak", title=TCP)
        found[f"{name}-mean"] = mine.estimate("mean", title=dctcp)
        found[f"{name}-tcp-swing"] = is_above(
            paired_difference(mine.samples("swing", title=TCP), 4 * mine.samples("swing", title=dctcp)),
            unit="packets above four times DCTCP's swing",
        )
    found["throughput"] = rows.estimate("throughput", spec="document", title=title)
    longer_swing = rows.samples("swing", spec="longer", title=title)
    swing = rows.samples("swing", spec="delay", title=title, delay=_way(RTTS[0]))
    found["longer-swings"] = is_above(paired_difference(longer_swing, swing), unit="packets")
    for spec in ("longer", "start"):
        empty = rows.estimate("empty", spec=spec, title=title)
        found[f"{spec}-underflows"] = is_above(empty, 0.1, unit="of the time empty")
        found[f"{spec}-throughput"] = rows.estimate("throughput", spec=spec, title=title)
    found["tcp-period"] = longer(periods(runs, "document"), periods(runs, "paper"))
    at_20 = rows.estimate("throughput", spec="delay", title=title, delay=_way(RTTS[1]))
    found["line"] = is_below(at_20, 0.999, unit="of the rate")
    return found


def _way(rtt):
    """The delay of a link in a star of this round trip, as `topology.delay` has it."""
    return star(2, "100Mbps", rtt)["topology.delay"]


def draw(runs, reference):
    from shallows.figures import queue_time

    base = runs.reading["switch"]

    def panel(spec, titles, from_ms, to_ms, lines, **which):
        shown = {title: runs.first(spec, title=title, **which).tables for title in titles}
        return queue_time.draw(queue_time.info(shown, "switch->r0", from_ms, to_ms, lines))

    every, lines = [marked(how) for how in MARKINGS], {"K": 20.0, "limit": 200.0}
    return {
        "100 Mb/s, RTT 4 ms": panel("document", [TCP, marked(base)], 4000, 12000, lines),
        "DCTCP over a longer round trip": panel("longer", every, 40000, 44000, {"K": 20.0}),
        "DCTCP after its start, RTT 100 ms": panel("start", [marked(base)], 0, 12000, {"K": 20.0}),
        "1 Gb/s, RTT 250 us": panel("paper", [TCP, marked("queue")], 500, 3000, lines | {"limit": 466.0}),
    }


def tables(runs):
    names = ["mean", "median", "swing", "sd", "peak", "empty", "throughput", "marks"]
    each = {spec: periods(runs, spec) for spec in WARMUP_PS}
    rows = [{"spec": spec, "period (ms)": str(mean_ci(ms)) if ms else "-"} for spec, ms in each.items()]
    alone = {"document": "4ms", "longer": runs.reading["longer"], "start": START_RTT, "paper": "250us"}
    swept = {_way(rtt): rtt for rtt in RTTS}
    rtt = pl.coalesce(pl.col("delay").replace_strict(swept, default=None), pl.col("spec").replace(alone))
    frame = runs.frame(seen).with_columns(RTT=rtt)
    return {SHARES: Rows(frame).table(names, ["spec", "RTT", "title"]), PERIOD: pl.DataFrame(rows)}


def specs(reading):
    """The experiments; `longer` has the round trip of the reading."""
    rtt = reading["longer"]
    duration, warmup = SPANS[rtt]
    dctcp = _dctcp(200, "100Mbps")
    return {
        "document": ("spec.toml", {"sweep.points": _both(200, "100Mbps", MARKINGS)}),
        "delay": (
            "spec.toml",
            {"duration": "60s", "warmup": "30s", "seeds": 3}
            | {"sweep.points": [each | star(2, "100Mbps", rtt, "1Gbps") for rtt in RTTS for each in dctcp]},
        ),
        "longer": (
            "spec.toml",
            star(2, "100Mbps", rtt, "1Gbps")
            | {"duration": duration, "warmup": warmup, "seeds": 3, "sweep.points": dctcp}
            | ({} if rtt == "60ms" else {"probe.queue_trace": "100ms"}),
        ),
        "start": (
            "spec.toml",
            star(2, "100Mbps", START_RTT, "1Gbps") | {"sweep.points": dctcp},
        ),
        "paper": (
            "spec.toml",
            star(2, "1Gbps", "250us", "10Gbps")
            | {"duration": "3s", "warmup": "500ms", "probe.queue_trace": "100us"}
            | {"sweep.points": _both(466, "1Gbps", ["queue"])},
        ),
    }


FIGURE = Figure(
    specs=specs,
    settings={"round trips": RTTS},
    measure=measure,
    draw=draw,
    tables=tables,
    shows={
        SHARES: (
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
        "DCTCP over a longer round trip": "DCTCP with the same threshold over a longer round trip, by what "
        "the switch marks on.",
        "DCTCP after its start, RTT 100 ms": "The first seconds over a round trip of 100 ms.",
        "1 Gb/s, RTT 250 us": "Figure 1 of the DCTCP paper, at its own rate.",
    },
)
