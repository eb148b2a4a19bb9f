"""The least window: two packets do for DCTCP what two thresholds were to do."""

from shallows.studies import Figure
from shallows.studies.paper.claims import is_above, is_below, is_within
from shallows.studies.paper.kit import Rows

from ..common import BASE_READING, DCTCP, DTCWA, SPEC, WORKERS, change, schemes, seen, table_of

FLOWS = [20, 30, 40, 55]
BEST = {"order": "from-current", "thresholds": "early"}
"""The reading of the document that does best against a DCTCP with K = 20."""
SENDERS = {
    "DCTCP, K = 20": (DCTCP, {}),
    "DCTCP, K = 65": (DCTCP, {"baseline": 65}),
    "DT-CWA as printed": (DTCWA, {}),
    "DT-CWA, best reading": (DTCWA, BEST),
}
FLOORS = {1: "least window 1", 2: "least window 2"}
EACH = "DCTCP, K = 20, each segment acknowledged"


def named(sender, floor):
    """The title of a sender with its least window."""
    return f"{sender}, {FLOORS[floor]}"


def points():
    """Each sender with a least window of one packet and of two; and DCTCP with each segment acknowledged."""
    found = []
    for floor in FLOORS:
        for sender, (scheme, reading) in SENDERS.items():
            settings = schemes(BASE_READING | reading)[scheme]
            found.append(settings | {"title": named(sender, floor), "transport.cwnd_floor": f"{floor}pkt"})
        settings = schemes(BASE_READING)[DCTCP]
        each = {"title": named(EACH, floor), "transport.cwnd_floor": f"{floor}pkt", "transport.ack_every": 1}
        found.append(settings | each)
    # Each point says for itself how many segments an acknowledgement covers: one point differs.
    return [{"transport.ack_every": 2} | point for point in found]


def measure(runs):
    frame = runs.frame(seen)
    ran = frame["workers"].unique().to_list()
    few, two = named("DCTCP, K = 20", 1), named("DCTCP, K = 20", 2)
    best = named("DT-CWA, best reading", 2)
    found = {}
    for flows in (20, 30, 40):
        if flows not in ran:
            continue
        gain = change(frame, "mbps", two, few, workers=flows)
        found[f"gain-{flows}"] = gain
        found[f"against-dt-cwa-{flows}"] = change(frame, "mbps", two, best, workers=flows)
    if 30 in ran:
        wrong, printed = named("DCTCP, K = 65", 2), named("DT-CWA as printed", 2)
        found["printed-gain-30"] = change(frame, "mbps", printed, wrong, workers=30)
        found["right-k-30"] = change(frame, "mbps", two, wrong, workers=30)
        each = change(frame, "mbps", named(EACH, 2), named(EACH, 1), workers=30)
        half = found["gain-30"].value / 2
        found["each-acknowledged-30"] = is_below(each, half, "%, of throughput")
        found["timeouts-30"] = is_below(Rows(frame).estimate("timeouts_per_query", title=two, workers=30), 1)
    if 55 in ran:
        found["nothing-helps-55"] = is_within(change(frame, "mbps", two, few, workers=55), 10, unit="%")
        found["printed-gain-55"] = change(
            frame, "mbps", named("DT-CWA as printed", 2), named("DCTCP, K = 65", 2), workers=55
        )
        found["collapse-55"] = is_above(
            Rows(frame).estimate("timeouts_per_query", title=two, workers=55), 1, "timeouts a query"
        )
    return found


def draw(runs, reference):
    from shallows.figures import curves

    rows = Rows(runs.frame(seen))
    panels = {
        "throughput": curves.Panel(rows.curve("mbps", "workers"), "throughput (Mb/s)"),
        "timeouts": curves.Panel(rows.curve("timeouts_per_query", "workers"), "timeouts a query"),
    }
    return {"throughput by least window": curves.draw(curves.info(panels, "flows"))}


def tables(runs):
    names = ["mbps", "timeouts_per_query", "drops"]
    return {"Means over the seeds": table_of(runs.frame(seen), names, ["workers", "title"])}


FIGURE = Figure(
    specs={"spec": (SPEC, {"seeds": 40, "sweep.grid": {WORKERS: FLOWS}, "sweep.points": points()})},
    measure=measure,
    draw=draw,
    tables=tables,
    beyond=True,
    captions={
        "throughput by least window": "Queries of 1 MB in all: throughput and timeouts by number of flows, "
        "each sender with a least window of one packet and of two."
    },
)
