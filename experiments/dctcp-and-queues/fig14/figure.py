"""Throughput against K at 100 Mb/s: marking on the queue, and on tc-red's average of it."""

from math import isfinite

from shallows.statistics.estimates import mean_ci, paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, is_above, settled
from shallows.studies.paper.kit import Rows
from shallows.tables.goodput import batch_mbps

from ..common import SPEC, bdp, red_step, scheme, seen, star, step

RATE, LIMIT, BURST = "100Mbps", 600, 100
KS = {"4ms": [2, 3, 5, 7, 10, 20, 40], "20ms": [2, 5, 10, 15, 24, 30, 40]}
QUEUE, AVERAGE = "marks on the queue (DCTCP paper)", "marks on tc-red's average, burst 100"
FULL = 0.99


def _spec(rtt, marking, ks):
    if marking == "queue":
        schemes = [scheme(f"{QUEUE}|{k}", "dctcp", step(k, LIMIT)) for k in ks]
        schemes += [scheme("TCP|200", "newreno", {"kind": "drop-tail", "limit": "200pkt"})]
        spans = {"duration": "18s", "warmup": "8s"}
    else:
        # The average of so small a weight takes minutes to settle where few packets come.
        schemes = [scheme(f"{AVERAGE}|{k}", "dctcp", red_step(k, BURST, RATE, LIMIT)) for k in ks]
        spans = (
            {"duration": "400s", "warmup": "300s"}
            if rtt == "20ms"
            else {"duration": "200s", "warmup": "120s"}
        )
    about = {"seeds": 3, "probe.queue_trace": "off", "probe.flow_trace": "1s", "sweep.points": schemes}
    return SPEC, star(2, RATE, rtt, "1Gbps") | spans | about


def _specs():
    """By marking and round trip; the least K at 20 ms apart, where the average settles last."""
    found = {f"queue-{rtt}": _spec(rtt, "queue", ks) for rtt, ks in KS.items()}
    found["average-4ms"] = _spec("4ms", "average", KS["4ms"])
    found["average-20ms"] = _spec("20ms", "average", KS["20ms"][1:])
    found["average-least-20ms"] = _spec("20ms", "average", KS["20ms"][:1])
    return found


def line(rtt):
    """C RTT / 7 in packets."""
    return bdp(100e6, float(rtt.removesuffix("ms")) * 1e3) / 7


def seen_in_halves(tables):
    """`seen`, and the throughput in each half of the measured time."""
    found = seen(tables)
    halves = batch_mbps(tables, "long", 2)
    shares = found["throughput"] * halves / halves.mean()
    return found | {"first": float(shares[0]), "second": float(shares[1])}


def found_by_k(runs):
    """The frame with the title split into marking and K."""
    import polars as pl

    parts = pl.col("title").str.split("|")
    return runs.frame(seen_in_halves).with_columns(
        marking=parts.list.first(),
        k=parts.list.last().cast(pl.Int64),
        rtt=pl.col("spec").str.split("-").list.last(),
    )


def least_k(frame, marking, rtt):
    """Seed by seed the least K from which on the link is full."""
    found = []
    mine = Rows(frame).at(marking=marking, rtt=rtt).frame
    for seed in mine["seed"].unique().sort():
        rows = mine.filter(mine["seed"] == seed).sort("k")
        below = [k for k, t in zip(rows["k"], rows["throughput"], strict=True) if t < FULL]
        above = [k for k in rows["k"] if not below or k > max(below)]
        found.append(float(min(above)) if above else float("inf"))
    return found


def worst(frame, marking, rtt, from_k):
    """Seed by seed the least throughput from this K on."""
    import polars as pl

    enough = Rows(frame).at(marking=marking, rtt=rtt).frame.filter(pl.col("k") >= from_k)
    return enough.group_by("seed").agg(pl.col("throughput").min()).sort("seed")["throughput"].to_numpy()


def measure(runs):
    frame = found_by_k(runs)
    marking = {"queue": QUEUE, "average": AVERAGE}[runs.reading["marking"]]
    found = {}
    for rtt in KS:
        name = rtt.removesuffix("ms")
        first = least_k(frame, marking, rtt)
        found[f"threshold-{name}"] = (
            mean_ci([k / line(rtt) for k in first])
            if all(map(isfinite, first))
            else Measured(None, note="no K that was run fills the link")
        )
        last = Rows(frame).at(marking=marking, rtt=rtt, k=KS[rtt][-1])
        found[f"full-at-last-{name}"] = last.estimate("throughput")
        found[f"full-{name}"] = mean_ci(worst(frame, marking, rtt, 1.25 * line(rtt)))
        at = {"marking": marking, "rtt": rtt, "k": KS[rtt][0]}
        halves = [Rows(frame).samples(column, **at) for column in ("throughput", "first", "second")]
        found[f"lost-{name}"] = settled(*halves)
        swing = [Rows(frame).samples("swing", marking=m, rtt=rtt, k=10) for m in (AVERAGE, QUEUE)]
        if len(swing[0]):
            found[f"average-swings-{name}"] = is_above(paired_difference(*swing), unit="packets")
    found["tcp"] = Rows(frame).estimate("throughput", marking="TCP", rtt="4ms")
    return found


def draw(runs, reference):
    from shallows.figures import curves

    frame = found_by_k(runs)
    by_k = Rows(frame.filter(frame["marking"] != "TCP"))
    panels = {}
    for rtt in KS:
        about = f"RTT {rtt}, C RTT / 7 = {line(rtt):.1f}"
        panels[f"throughput, {about}"] = curves.Panel(
            by_k.curve("throughput", "k", "marking", rtt=rtt), "share of the rate", lines={"": FULL}
        )
        panels[f"swing, {about}"] = curves.Panel(
            by_k.curve("swing", "k", "marking", rtt=rtt), "1st to 99th percentile (packets)"
        )
    return {"throughput and swing against K": curves.draw(curves.info(panels, "K (packets)", log_x=True))}


def tables(runs):
    import polars as pl

    names = ["throughput", "mean", "swing", "empty", "marks", "alpha"]
    rows, keys = Rows(found_by_k(runs).drop("title")), ["rtt", "marking", "k"]
    table = rows.table(names, keys)
    told = []
    for row in table.iter_rows(named=True):
        mine = rows.at(**{key: row[key] for key in keys})
        rest = settled(*(mine.samples(column) for column in ("throughput", "first", "second")))
        told.append(row["throughput"] if rest.low is not None else f"{rest.value:.4g}, still changing")
    return {"By marking and K": table.with_columns(throughput=pl.Series(told))}


FIGURE = Figure(
    specs=_specs(),
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"throughput and swing against K": ("*",)},
    captions={
        "throughput and swing against K": "Figure 14 of the document: throughput against K, marking on the "
        "queue and on tc-red's average, and how far the queue swings; both round trips."
    },
)
