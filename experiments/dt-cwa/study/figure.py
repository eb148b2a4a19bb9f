"""Incast, understood: completion and goodput against fan-in, one factor at a time around a base case."""

import json
from functools import cache

import polars as pl
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured
from shallows.studies.paper.kit import Rows
from shallows.tables import metrics

WANTED = {
    "newreno": "Reno", "cubic": "CUBIC", "dctcp": "DCTCP", "xdctcp": "xDCTCP", "dt-cwa": "DT-CWA",
    "d2tcp": "D2TCP", "sdc": "SDC", "racs": "RACS", "rcp": "RCP",
}  # fmt: skip
NO_WINDOW = {"sdc", "racs", "rcp"}  # the network says how fast to send
WIDE, NARROW = [1, 5, 10, 20, 40, 70, 100, 200, 400], [10, 40, 100, 200, 400]


class Port:
    """A port's speed with the buffer (packets, or None) and threshold that go with it."""

    def __init__(self, rate, limit, mark_at):
        self.rate, self.limit, self.mark_at = rate, limit, mark_at

    def queue(self, cc):
        """DT-CWA brings its own thresholds, here in the proportion 35 : 30 : 20 to DCTCP's."""
        limit = "none" if self.limit is None else f"{self.limit}pkt"
        if cc == "dt-cwa":
            start, stop = self.mark_at * 35 // 20, self.mark_at * 30 // 20
            thresholds = {"start_above": f"{start}pkt", "stop_below": f"{stop}pkt"}
            return {"kind": "double-threshold", "limit": limit} | thresholds
        return {"kind": "threshold", "limit": limit, "mark_at": f"{self.mark_at}pkt"}


GIGABIT = Port("1Gbps", 100, 20)
FACTORS = {
    "base": ({}, GIGABIT),
    "10 Gb/s": ({}, Port("10Gbps", 250, 65)),
    "100 Gb/s": ({}, Port("100Gbps", 1000, 200)),
    "RTOmin 200 ms": ({"transport.min_rto": "200ms", "transport.initial_rto": "200ms"}, GIGABIT),
    "RTOmin 1 ms": ({"transport.min_rto": "1ms", "transport.initial_rto": "1ms"}, GIGABIT),
    "initial window 2": ({"transport.initial_window": "2pkt"}, GIGABIT),
    "shared buffer": ({"switch": {"switch": {"buffer": "4MB", "alpha": 0.21}}}, Port("1Gbps", None, 20)),
    "jitter 10 ms": ({"traffic.query.jitter": "10ms"}, GIGABIT),
}


SPEEDS = ("base", "10 Gb/s", "100 Gb/s")


@cache
def components(path):
    """Names of the components of a section, such as "transport.cc", in this release."""
    from shallows import _core

    sections = {s["path"]: s for s in json.loads(_core.schema())["sections"]}
    return {c["name"] for c in sections[path]["components"]} if path in sections else set()


def present():
    """Wanted congestion controls that this release has, and the names of those it has not."""
    known = components("transport.cc")
    return [cc for cc in WANTED if cc in known], [WANTED[cc] for cc in WANTED if cc not in known]


def scheme(cc, port):
    """A sender as a point of a sweep, with the switches' half of its protocol where it has one."""
    control = {"port_control": cc} if cc in components("port_control") else {}
    return {"title": WANTED[cc], "transport.cc": cc, "queue": port.queue(cc)} | control


def slug(factor):
    """A factor as the name of an experiment."""
    return factor.lower().replace(" ", "-").replace("/", "")


def _spec(factor):
    changes, port = FACTORS[factor]
    workers = WIDE if factor == "base" else NARROW
    schemes = [scheme(cc, port) for cc in present()[0]]
    return (
        "spec.toml",
        changes
        | {
            "topology.rate": port.rate,
            "sweep.zip": {"topology.senders": workers, "traffic.query.workers": workers},
            "sweep.points": schemes,
        },
    )


def round_trip(tables):
    """Means of a run's rounds: completion in ms, goodput as a share of the line, share with timeouts."""
    rounds = tables["rounds"]
    found = metrics.round_metrics(tables, "query")
    rate = int(tables["queues"].filter(pl.col("port") == "switch->r0")["rate_bps"][0])
    ended = found["round_fct_mean_ps"] is not None
    return {
        "ms": found["round_fct_mean_ps"] / 1e9 if ended else None,
        "share": found["round_goodput_bps"] / rate if ended else 0.0,
        "with_timeouts": float((rounds["timeouts"] > 0).mean()),
        "head": found["round_timeouts_head_mean"],
        "tail": found["round_timeouts_tail_mean"],
        "unfinished": found["rounds_unfinished"],
        "drops": metrics.drops(tables["queues"]),
    }


def seen(runs):
    """`round_trip` of every run, with the factor's name."""
    names = {slug(factor): factor for factor in FACTORS}
    return runs.frame(round_trip).with_columns(factor=pl.col("spec").replace_strict(names))


def mean(frame, name, factor, title, workers):
    """Mean over the seeds, or None where it was not run."""
    mine = frame.filter(
        (pl.col("factor") == factor) & (pl.col("title") == title) & (pl.col("workers") == workers)
    )
    return mine[name].mean()


def onset(frame, factor, title):
    """Least fan-in at which half of the queries suffer a timeout; None where there is none."""
    mine = frame.filter((pl.col("factor") == factor) & (pl.col("title") == title))
    means = mine.group_by("workers").agg(pl.col("with_timeouts").mean())
    return means.filter(pl.col("with_timeouts") >= 0.5)["workers"].min()


def measure(runs):
    frame = seen(runs)
    titles = [WANTED[cc] for cc in present()[0]]
    windows = [WANTED[cc] for cc in present()[0] if cc not in NO_WINDOW]
    found = {}
    onsets = {title: onset(frame, "base", title) for title in titles}
    note = "; ".join(f"{title} {n}" for title, n in onsets.items())
    later = (onsets["DCTCP"] or 10**9) > (onsets["Reno"] or 10**9)
    found["dctcp-postpones"] = Measured(later, note=f"half of the queries time out from: {note}")
    kept = {
        t: mean(frame, "share", "RTOmin 1 ms", t, 100) / mean(frame, "share", "RTOmin 1 ms", t, 10)
        for t in titles
    }
    note = "; ".join(f"{title} {share:.2f}" for title, share in kept.items())
    found["rto-1ms-cures"] = Measured(min(kept.values()) > 0.5, note=note)
    full = {f: _keeps(frame, f) for f in ("base", "shared buffer")}
    note = "; ".join(f"{factor}: {n}" for factor, n in full.items())
    found["shared-postpones"] = Measured(full["shared buffer"] > full["base"], note=note)
    all_hit = {title: mean(frame, "with_timeouts", "base", title, 400) for title in windows}
    note = "; ".join(f"{title} {share:.2f}" for title, share in all_hit.items())
    found["nobody-escapes"] = Measured(min(all_hit.values()) == 1.0, note=note)
    return found


def _keeps(frame, factor):
    """Largest fan-in of those run for every factor at which DCTCP keeps nine tenths of its line; 0: none."""
    run = [n for n in frame["workers"].unique() if n in NARROW]
    return max((n for n in run if (mean(frame, "share", factor, "DCTCP", n) or 0) >= 0.9), default=0)


def sentences(frame):
    """The lesson for a switch engineer, with numbers of these runs."""
    titles = frame["title"].unique(maintain_order=True).to_list()
    explicit = {WANTED[cc] for cc in NO_WINDOW}

    def ms(factor, title, workers):
        value = mean(frame, "ms", factor, title, workers)
        return "-" if value is None else f"{value:.1f} ms"

    def spread(factor, workers):
        values = [mean(frame, "ms", factor, t, workers) for t in titles if t not in explicit]
        values = [v for v in values if v is not None]
        return f"{min(values):.0f} to {max(values):.0f} ms"

    def share(factor, title, workers):
        return f"{100 * (mean(frame, 'share', factor, title, workers) or 0):.0f} %"

    def first(factor, title):
        found = onset(frame, factor, title)
        return "no number of workers run" if found is None else f"{found} workers"

    ideal = 40 * 20_000 * 8 / 1e9 * 1e3 * 1500 / 1460
    rto = ", ".join(
        ms(f"RTOmin {r}" if r != "10 ms" else "base", "DCTCP", 40) for r in ("1 ms", "10 ms", "200 ms")
    )
    used = ", ".join(f"{share(f, 'DCTCP', 100)} of {f.replace('base', '1 Gb/s')}" for f in SPEEDS)
    base, wide = (lambda title, n: ms("base", title, n)), "shared buffer"
    return [
        "A port collapses when the first windows of all workers exceed its buffer: with 100 packets and an "
        f"initial window of 10, half of Reno's queries time out from {first('base', 'Reno')} and "
        f"DCTCP's from {first('base', 'DCTCP')}; with a window of 2, DCTCP's from "
        f"{first('initial window 2', 'DCTCP')}.",
        f"One timeout sets the price: 40 responses of 20 KB take {ideal:.1f} ms of the line, and DCTCP's "
        f"query takes {rto} with a minimum RTO of 1, 10 and 200 ms: lower it before buying buffer.",
        "Marking helps only while a worker has a window to cut: at 40 workers DCTCP takes "
        f"{base('DCTCP', 40)} and Reno {base('Reno', 40)}; at 400, where one packet each overflows the port, "
        f"all schemes with windows {spread('base', 400)}.",
        "A faster port alone does not cure it, as the same timeout is worth more bytes: at 100 workers "
        f"DCTCP uses {used}, each with the buffer usual for it.",
        "Let the ports share the buffer before you add to it: with 4 MB shared, of which one port alone may "
        f"take 700 KB, half of DCTCP's queries time out from {first(wide, 'DCTCP')}, and at 100 a "
        f"query takes {ms(wide, 'DCTCP', 100)} instead of {base('DCTCP', 100)}; spreading requests over 10 "
        f"ms makes 10 workers' query {ms('jitter 10 ms', 'DCTCP', 10)} instead of {base('DCTCP', 10)}, and "
        f"half time out from {first('jitter 10 ms', 'DCTCP')}.",
    ]


def draw(runs, reference):
    from shallows.figures import curves

    frame = seen(runs)

    def panels(name, label, log):
        return {
            factor: curves.Panel(
                Rows(frame.filter(pl.col("factor") == factor)).curve(name, "workers"), label, log
            )
            for factor in FACTORS
        }

    return {
        "completion by fan-in": curves.draw(
            curves.info(panels("ms", "query completion (ms)", True), "workers", log_x=True)
        ),
        "goodput by fan-in": curves.draw(
            curves.info(panels("share", "goodput / line rate", False), "workers", log_x=True)
        ),
    }


def tables(runs):
    frame = seen(runs)
    absent = present()[1]
    means = frame.group_by("factor", "title", "workers", maintain_order=True).agg(
        pl.col("ms", "share", "with_timeouts", "head", "tail").mean(), pl.col("unfinished", "drops").sum()
    )
    taken = sentences(frame) if set(NARROW) <= set(frame["workers"]) else []
    return {
        "What a switch engineer should take from it": pl.DataFrame({"": taken}),
        "Schemes that this release does not have": pl.DataFrame({"absent": absent or ["none"]}),
        "Means over the seeds": means,
    }


FIGURE = Figure(
    specs={slug(factor): _spec(factor) for factor in FACTORS},
    measure=measure,
    draw=draw,
    tables=tables,
    captions={
        "completion by fan-in": "Completion time of a query by the number of workers, one factor at a time.",
        "goodput by fan-in": "Goodput of queries as a share of the line rate, one factor at a time.",
    },
)
