"""Common to the figures of this paper: the schemes, the loads, measures, and comparisons by seed."""

import json
from pathlib import Path

import polars as pl
from shallows.statistics.estimates import Estimate, paired_difference
from shallows.studies.paper.claims import Measured
from shallows.studies.paper.kit import Rows
from shallows.studies.paper.readings import BASE
from shallows.studies.paper.readings_file import read_readings
from shallows.tables import metrics

SPEC = "../fig6/spec.toml"
PORT = "sw0->r0"  # the document's switch 1 towards the aggregator
WORKERS = "traffic.query.workers"
FLOWS = [10, 20, 25, 30, 35, 40, 45, 55, 60]
RACK = {f"h{i}": f"sw{1 + i // 3}" for i in range(9)}

SINGLE = {"kind": "threshold", "mark_at": "20pkt"}
HYSTERESIS = {"kind": "double-threshold", "start_above": "35pkt", "stop_below": "30pkt"}  # as printed
EARLY = {"kind": "double-threshold", "start_above": "30pkt", "stop_below": "35pkt"}  # as the cited DT-DCTCP


def switches(marking, root="128KB", racks="512KB"):
    """This marking at every switch, with a limit for each port of switch 1 and of switches 2 to 4."""
    return {
        "queue": marking | {"limit": root},
        "port": {"sw1..sw3->*": {"queue": marking | {"limit": racks}}},
    }


def scheme(name, cc, marking):
    """A sender and the switches' marking as a point of a sweep; its title tells it from others."""
    return {"title": name, "transport.cc": cc} | switches(marking)


DCTCP, DCTCP0, DTCWA, DTCWA_EARLY, DT = (
    "DCTCP",
    "DCTCP, first alpha 0",
    "DT-CWA",
    "DT-CWA, early release",
    "DCTCP senders, DT-CWA switch",
)
SCHEMES = {
    DCTCP: scheme(DCTCP, "dctcp", SINGLE),
    DCTCP0: scheme(DCTCP0, {"kind": "dctcp", "initial_alpha": 0.0}, SINGLE),
    DTCWA: scheme(DTCWA, "dt-cwa", HYSTERESIS),
    DTCWA_EARLY: scheme(DTCWA_EARLY, "dt-cwa", EARLY),
    DT: scheme(DT, "dctcp", HYSTERESIS),
}
FIGURE_SCHEMES = (DCTCP, DCTCP0, DTCWA, DTCWA_EARLY)
COMPARED = (DCTCP, DTCWA)
"""The schemes that the document's claims compare. Under a reading beside the base nothing else is run."""
BASE_READING = read_readings(Path(__file__).parent / "readings.toml").given(BASE)


def schemes(reading):
    """The schemes of the figures as a reading of the document has them: eq. 1, thresholds, K, buffers."""
    root, racks = reading["buffers"]
    sender = {"kind": "dt-cwa"} | {key: reading[key] for key in ("operator", "order", "react")}
    split = root != "128KB"
    late = {"start_above": "12pkt", "stop_below": "10pkt"} if split else {}
    early = {"start_above": "10pkt", "stop_below": "12pkt"} if split else {}
    single = SINGLE | {"mark_at": f"{reading['baseline']}pkt"}
    chosen, other = HYSTERESIS | late, EARLY | early
    if reading["thresholds"] == "early":
        chosen, other = other, chosen
    made = {
        DCTCP: ("dctcp", single),
        DCTCP0: ({"kind": "dctcp", "initial_alpha": 0.0}, single),
        DTCWA: (sender, chosen),
        DTCWA_EARLY: (sender, other),
        DT: ("dctcp", chosen),
    }
    return {
        name: {"title": name, "transport.cc": cc} | switches(marking, root, racks)
        for name, (cc, marking) in made.items()
    }


QUERY_1MB = {}
QUERY_64KB = {"traffic.query.total": "none", "traffic.query.response": "64KB"}
FTP = {  # one response without end from each worker process
    "traffic.query.total": "none",
    "traffic.query.response": "100GB",
    "traffic.query.rounds": 1,
    "traffic.query.jitter": "5ms",
    "duration": "300ms",
    "warmup": "50ms",
}
LOADS = {"query-1MB": QUERY_1MB, "query-64KB": QUERY_64KB, "ftp": FTP}
LOAD_NAMES = {
    "query-1MB": "queries, 1 MB in all",
    "query-64KB": "queries, 64 KB each",
    "ftp": "FTP without end",
}


def sweep(load, flows=FLOWS, names=FIGURE_SCHEMES, reading=None, **more):
    """An experiment of `specs`: this load over numbers of flows and schemes."""
    grid = {WORKERS: list(flows)} | more
    made = SCHEMES if reading is None else schemes(reading)
    if reading not in (None, BASE_READING):
        names = COMPARED
    return (SPEC, LOADS[load] | {"sweep.grid": grid, "sweep.points": [made[s] for s in names]})


def seen(tables):
    """Measures of a run: throughput, query completion, timeouts by kind and by the worker's switch, drops."""
    flows = tables["flows"]
    responses = flows.filter(pl.col("dst") == "r0")
    rounds = metrics.round_metrics(tables, "query")
    ended = rounds["round_fct_mean_ps"] is not None
    racks = metrics.timeouts_by(responses, RACK)
    return {
        "mbps": (rounds["round_goodput_bps"] if ended else responses["goodput_bps"].sum()) / 1e6,
        "qct_ms": rounds["round_fct_mean_ps"] / 1e9 if ended else None,
        "unfinished": rounds["rounds_unfinished"],
        "timeouts_per_flow": responses["timeouts"].sum() / len(responses),
        "timeouts_per_query": rounds["round_timeouts_mean"],
        "head_per_query": rounds["round_timeouts_head_mean"],
        "tail_per_query": rounds["round_timeouts_tail_mean"],
        "drops": metrics.drops(tables["queues"]),
        **{f"timeouts_{rack}": racks.get(rack) for rack in ("sw1", "sw2", "sw3")},
    }


HEADS = {
    "workers": "flows",
    "title": "scheme",
    "mbps": "throughput (Mb/s)",
    "qct_ms": "query (ms)",
    "completion_ms": "mean time (ms)",
    "p99_ms": "99th percentile (ms)",
    "timeouts_per_flow": "timeouts a flow",
    "timeouts_per_query": "timeouts a query",
    "head_per_query": "at a block's head",
    "tail_per_query": "at its tail",
    "drops": "packets dropped",
    "timeouts_sw1": "behind sw1",
    "timeouts_sw2": "behind sw2",
    "timeouts_sw3": "behind sw3",
    "mean": "mean (packets)",
    "sd": "standard deviation (packets)",
    "amplitude": "amplitude (packets)",
    "period_ms": "period (ms)",
}
"""Heads of tables by column."""


def table_of(frame, columns, keys):
    """Means with intervals, a row for each combination of keys, with heads in words."""
    made = Rows(frame).table(columns, keys)
    return made.rename({name: HEADS[name] for name in made.columns if name in HEADS})


def change(frame, name, new=DTCWA, base=DCTCP, **which) -> Estimate:
    """Relative change of a column from one scheme to another in per cent, paired by seed."""
    return Rows(frame).at(**which).change(name, {"title": new}, {"title": base})


def everywhere_below(frame, name, by, new=DTCWA, base=DCTCP, **which) -> Measured:
    """Whether `new` is below `base` at every value of `by`: no if it is above at one, else undecided."""
    notes, verdicts = [], []
    for value in frame[by].unique().sort():
        a, b = (Rows(frame).samples(name, title=title, **which, **{by: value}) for title in (new, base))
        found = paired_difference(a, b)
        if found.ci is None:
            verdicts.append(None)
        else:
            verdicts.append(True if found.high < 0 else False if found.low > 0 else None)
        notes.append(f"{value}: {found}")
    whole = False if False in verdicts else None if None in verdicts else True
    return Measured(whole, n_seeds=frame["seed"].n_unique(), note=f"difference at {'; '.join(notes)}")


def setting(cell):
    """A table that `Runs.frame` keeps as text."""
    return json.loads(cell) if cell.startswith("{") else cell
