"""The worth of a shorter least retransmission timeout beside two thresholds."""

from shallows.studies import Figure
from shallows.studies.paper.claims import every, is_above, is_below
from shallows.studies.paper.kit import Rows

from ..common import BASE_READING, DCTCP, DTCWA, SPEC, WORKERS, change, schemes, seen, table_of

FLOWS = [20, 30, 40, 55]
LEASTS = ["200ms", "10ms", "2ms"]
"""Linux's least timeout, the document's network here, and twice the delay of an acknowledgement."""
SENDERS = {
    "DCTCP": (DCTCP, {}),
    "DT-CWA as printed": (DTCWA, {}),
    "DT-CWA, best reading": (DTCWA, {"order": "from-current", "thresholds": "early"}),
}


def named(sender, least):
    """The title of a sender with its least timeout."""
    return f"{sender}, least RTO {least.removesuffix('ms')} ms"


def points():
    """Each sender with each least timeout."""
    found = []
    for least in LEASTS:
        for sender, (scheme, reading) in SENDERS.items():
            settings = schemes(BASE_READING | reading)[scheme]
            found.append(settings | {"title": named(sender, least), "transport.min_rto": least})
    return found


def measure(runs):
    frame = runs.frame(seen)
    ran = frame["workers"].unique().to_list()
    rows = Rows(frame)
    found = {}
    for flows in (40, 55):
        if flows not in ran:
            continue
        for name, sender in (("dctcp", "DCTCP"), ("printed", "DT-CWA as printed")):
            found[f"shorter-{name}-{flows}"] = change(
                frame, "mbps", named(sender, "2ms"), named(sender, "10ms"), workers=flows
            )
        best = named("DT-CWA, best reading", "10ms")
        found[f"against-best-{flows}"] = change(frame, "mbps", named("DCTCP", "2ms"), best, workers=flows)
    if 55 in ran:
        found["linux-55"] = every(
            is_below(rows.estimate("mbps", title=named(sender, "200ms"), workers=55), 100, "Mb/s")
            for sender in SENDERS
        )
    if 20 in ran:
        early = {"title": named("DT-CWA, best reading", "2ms"), "workers": 20}
        found["spurious-20"] = every(
            (
                is_above(rows.estimate("timeouts_per_query", **early), 1, "timeouts a query"),
                is_below(rows.estimate("drops", **early), 2, "packets lost in ten queries"),
            )
        )
        found["costs-20"] = change(
            frame, "mbps", early["title"], named("DT-CWA, best reading", "10ms"), workers=20
        )
    return found


def draw(runs, reference):
    from shallows.figures import curves

    rows = Rows(runs.frame(seen))
    flows = sorted(runs.frame(seen)["workers"].unique())
    lines = {f"least RTO {least.removesuffix('ms')} ms": least for least in LEASTS}
    panels = {
        sender: curves.Panel(
            {
                words: {n: rows.estimate("mbps", title=named(sender, least), workers=n) for n in flows}
                for words, least in lines.items()
            },
            "throughput (Mb/s)",
        )
        for sender in SENDERS
    }
    return {"throughput by least timeout": curves.draw(curves.info(panels, "flows"))}


def tables(runs):
    names = ["mbps", "timeouts_per_query", "drops"]
    return {"Means over the seeds": table_of(runs.frame(seen), names, ["workers", "title"])}


FIGURE = Figure(
    specs={"spec": (SPEC, {"seeds": 16, "sweep.grid": {WORKERS: FLOWS}, "sweep.points": points()})},
    measure=measure,
    draw=draw,
    tables=tables,
    beyond=True,
    captions={
        "throughput by least timeout": "Queries of 1 MB in all: throughput by number of flows, with three "
        "least retransmission timeouts. A panel for each sender."
    },
)
