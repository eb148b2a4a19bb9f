"""The mechanism that the document claims: fewer timeouts, and a queue that swings less."""

import polars as pl
from shallows.statistics.estimates import mean_ci, paired_difference, paired_ratio
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, every, is_above, is_below, is_within, some
from shallows.studies.paper.kit import Rows
from shallows.tables.oscillation import oscillation, queue_steps

from ..common import (
    DCTCP,
    DT,
    DTCWA,
    LOAD_NAMES,
    PORT,
    SCHEMES,
    SPEC,
    everywhere_below,
    seen,
    sweep,
    table_of,
)

QUERIES = [10, 30, 35, 45, 55, 60]
LONG = [10, 30, 60]  # three flows all come from one rack, whose link they fill: no queue at switch 1
CROWDED = [30, 55]
_WINDOWS = {"probe.flow_trace": "change", "traffic.query.rounds": 5}
_TRACE = {"probe.queue_trace": "change", "probe.ports": PORT, "duration": "250ms", "warmup": "50ms"}


def specs(reading):
    """Queries over the numbers of flows, and the queue under FTP flows."""
    return {
        "query-1MB": sweep("query-1MB", QUERIES, SCHEMES, reading),
        "query-64KB": sweep("query-64KB", QUERIES, SCHEMES, reading),
        "queue": (SPEC, sweep("ftp", LONG, reading=reading)[1] | _TRACE),
        "windows": (SPEC, sweep("query-1MB", CROWDED, (DCTCP,), reading)[1] | _WINDOWS),
        "outcast": (SPEC, sweep("ftp", [2], (DCTCP, DTCWA, DT), reading)[1] | _OUTCAST),
    }


_OUTCAST = {
    "traffic.query.from": "h0",
    "traffic.many": {
        "kind": "incast", "from": ["h3", "h4", "h5", "h6", "h7", "h8"], "to": "r0", "workers": 58,
        "response": "100GB", "rounds": 1, "start": "1ms", "jitter": "5ms",
    },
    "duration": "1s",
    "warmup": "100ms",
    "seeds": 30,
}  # fmt: skip
"""Two flows come in at a port of switch 1 of their own, 58 at its two other ports."""


MSS = 1460
ALIKE = 0.5
"""Margin of equivalence between two switches, in timeouts a flow."""
WARMUP_PS = 50_000_000_000


def swing(tables):
    """The queue at switch 1 towards the aggregator, in packets and ms."""
    if tables["queue_trace"].is_empty():
        return {"sd": None, "amplitude": None, "period_ms": None, "mean": None}
    found = oscillation(*queue_steps(tables["queue_trace"], PORT, WARMUP_PS))
    return {
        "sd": found.sd_packets,
        "amplitude": found.amplitude_packets,
        "period_ms": None if found.period_ps is None else found.period_ps / 1e9,
        "mean": found.mean_packets,
    }


def ports(tables):
    """Goodput of a flow in Mb/s and timeouts a flow, of the two flows at their own port and of the 58."""
    found = {}
    for name in ("query", "many"):
        mine = tables["flows"].filter(pl.col("traffic") == name, pl.col("dst") == "r0")
        found[f"{name}_mbps"] = mine["goodput_bps"].mean() / 1e6
        found[f"{name}_timeouts"] = mine["timeouts"].mean()
    return found


def windows(tables):
    """Share of the falls of a worker's window that end at one segment, and at two or less, in per cent."""
    workers = tables["flows"].filter(pl.col("dst") == "r0").select(pl.col("id").alias("flow"))
    trace = tables["flow_trace"].join(workers, on="flow").sort("flow", "time_ps")
    falls = trace.filter(pl.col("cwnd_bytes") < pl.col("cwnd_bytes").shift(1).over("flow"))
    segments = falls["cwnd_bytes"] / MSS
    at_most = {most: 100 * (segments <= most).mean() for most in (1, 2)}
    return {"falls": len(falls), "to_one": at_most[1], "to_two": at_most[2]}


WINDOWS = "DCTCP's window, 1 MB in all: falls that end at one segment, and at two or fewer"
OUTCAST = "Two flows at a port of their own and 58 at two others: goodput and timeouts a flow"


def measure(runs):
    rows = Rows(runs.frame(seen))
    found = {}
    for load in ("query-1MB", "query-64KB"):
        mine = rows.at(spec=load).frame
        if mine.is_empty():
            continue
        found[f"timeouts-{load}"] = everywhere_below(mine, "timeouts_per_flow", "workers")
        found[f"drops-{load}"] = everywhere_below(mine, "drops", "workers")
        for flows in (30, 55):
            a, b = (Rows(mine).samples("timeouts_per_flow", title=t, workers=flows) for t in (DTCWA, DCTCP))
            found[f"timeouts-{load}-{flows}"] = is_below(paired_difference(a, b), unit="timeouts a flow")
    queue = runs.where("queue").frame(swing)
    found["sd"] = everywhere_below(queue, "sd", "workers")
    for flows in (10, 30):
        a, b = (Rows(queue).samples("sd", title=t, workers=flows) for t in (DTCWA, DCTCP))
        found[f"sd-{flows}"] = is_below(paired_difference(a, b), unit="packets")
    if runs.where("windows"):
        falls = Rows(runs.where("windows").frame(windows))
        for flows in CROWDED:
            shares = falls.samples("to_one", title=DCTCP, workers=flows)
            found[f"falls-to-one-{flows}"] = is_above(mean_ci(shares), 50, unit="%")
    if runs.where("outcast"):
        alone = Rows(runs.where("outcast").frame(ports))
        a, b = (alone.samples("query_timeouts", title=title) for title in (DTCWA, DCTCP))
        found["black-out"] = is_below(paired_difference(a, b), unit="timeouts a flow")
        few, many = (alone.samples(f"{name}_mbps", title=DCTCP) for name in ("query", "many"))
        found["outcast-share"] = is_below(paired_ratio(few, many), 1.0)
    found["outcast"] = _differ(rows.at(spec="query-1MB", title=DTCWA, workers=55).frame)
    return found


def _differ(frame):
    """Whether timeouts a flow differ between any two of the workers' switches (Bonferroni, three pairs)."""
    racks = {rack: frame[f"timeouts_{rack}"].to_numpy() for rack in ("sw1", "sw2", "sw3")}
    pairs = {
        f"{a} less {b}": paired_difference(racks[a], racks[b], level=1 - 0.05 / 3)
        for a, b in (("sw1", "sw2"), ("sw1", "sw3"), ("sw2", "sw3"))
    }
    apart = [some([is_above(pair), is_below(pair)]).value for pair in pairs.values()]
    alike = every(is_within(pair, ALIKE, unit=name) for name, pair in pairs.items())
    # Not significant is not equal: it is false only where every pair is alike within a margin.
    whole = True if True in apart else False if alike.value else None
    return Measured(whole, n_seeds=len(frame), note=f"timeouts a flow: {alike.note}")


def draw(runs, reference):
    from shallows.figures import curves

    frame, queue = runs.frame(seen), runs.where("queue").frame(swing)
    loads = ("query-1MB", "query-64KB")
    timeouts = {
        f"timeouts, {LOAD_NAMES[load]}": curves.Panel(
            Rows(frame).curve("timeouts_per_flow", "workers", spec=load), "timeouts a flow, 10 queries"
        )
        for load in loads
    }
    swings = {
        "queue, FTP without end": curves.Panel(
            Rows(queue).curve("sd", "workers"), "standard deviation (packets)"
        ),
        "limit cycle": curves.Panel(
            Rows(queue).curve("amplitude", "workers"), "amplitude, peak to peak (packets)"
        ),
        "its period": curves.Panel(Rows(queue).curve("period_ms", "workers"), "period (ms)"),
        "mean queue": curves.Panel(Rows(queue).curve("mean", "workers"), "mean (packets)"),
    }
    return {
        "timeouts by number of flows": curves.draw(curves.info(timeouts, "flows")),
        "queue oscillation by number of flows": curves.draw(curves.info(swings, "FTP flows")),
    }


def tables(runs):
    frame, queue = runs.frame(seen), runs.where("queue").frame(swing)
    kinds = ["timeouts_per_query", "head_per_query", "tail_per_query", "drops"]
    racks = ["timeouts_sw1", "timeouts_sw2", "timeouts_sw3"]
    return {
        "Timeouts a query by kind, 1 MB in all": table_of(
            Rows(frame).at(spec="query-1MB").frame, kinds, ["workers", "title"]
        ),
        "Timeouts a query by kind, 64 KB each": table_of(
            Rows(frame).at(spec="query-64KB").frame, kinds, ["workers", "title"]
        ),
        "Timeouts a flow by the worker's switch, 1 MB in all": table_of(
            Rows(frame).at(spec="query-1MB").frame, racks, ["workers", "title"]
        ),
        WINDOWS: table_of(
            runs.where("windows").frame(windows), ["falls", "to_one", "to_two"], ["workers"]
        ).rename({"falls": "falls a run", "to_one": "to one (%)", "to_two": "to two or fewer (%)"}),
        OUTCAST: table_of(
            runs.where("outcast").frame(ports),
            ["query_mbps", "many_mbps", "query_timeouts", "many_timeouts"],
            ["title"],
        ).rename(
            {
                "query_mbps": "two, Mb/s each",
                "many_mbps": "58, Mb/s each",
                "query_timeouts": "timeouts of the two",
                "many_timeouts": "timeouts of the 58",
            }
        ),
        "Queue towards the aggregator": table_of(
            queue, ["mean", "sd", "amplitude", "period_ms"], ["workers", "title"]
        ),
    }


FIGURE = Figure(
    specs=specs,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={
        "timeouts by number of flows": ("timeouts-*",),
        "queue oscillation by number of flows": ("sd", "sd-*"),
        "Timeouts a flow by the worker's switch, 1 MB in all": ("outcast",),
        "Timeouts a query by kind, 1 MB in all": ("drops-query-1MB",),
        "Timeouts a query by kind, 64 KB each": ("drops-query-64KB",),
        WINDOWS: ("falls-to-one-*",),
        OUTCAST: ("black-out", "outcast-share"),
    },
    captions={
        "timeouts by number of flows": "Timeouts that a flow suffers during ten queries, by load. "
        "The document names them as the reason of its gain and draws none.",
        "queue oscillation by number of flows": "The queue at switch 1 towards the aggregator under FTP "
        "flows: standard deviation, and amplitude, period and mean of its limit cycle.",
    },
)
