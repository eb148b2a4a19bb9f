"""Figure 13: how a sender reacts to acknowledgements, in an incast of sixteen."""

from shallows.statistics.estimates import paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import is_above, is_below
from shallows.studies.paper.kit import Rows
from shallows.tables.goodput import total_gbps

from ..common import BACKENDS, drained_us, queue

REFERENCE, EACH, ROUND = "reference window", "each acknowledgement", "each round trip"
TITLES = (REFERENCE, EACH, ROUND)
PACKET = 1090  # bytes on the wire with the header of telemetry


def seen(tables):
    """Throughput in Gb/s and queue of a run after its first windows have left."""
    times, rates = total_gbps(tables)
    at, length = queue(tables)
    drained = drained_us(tables, 2 * PACKET)
    later = rates[times > drained]
    return {
        "least_gbps": float(later.min()),
        "mean_gbps": float(later.mean()),
        "peak_kb": float(length.max()) / 1e3,
        "drained_us": drained,
        "queue_kb": float(length[at > drained].mean()) / 1e3,
    }


def measure(runs):
    rows = Rows(runs.frame(seen))
    later = paired_difference(*(rows.samples("drained_us", title=title) for title in (ROUND, REFERENCE)))
    return {
        "each-falls": is_below(rows.estimate("least_gbps", title=EACH), 10.0, unit="Gb/s"),
        "round-persists": is_above(later, unit="us later than with a reference window"),
        "reference-keeps": is_above(rows.estimate("least_gbps", title=REFERENCE), 50.0, unit="Gb/s"),
    }


def draw(runs, reference):
    from shallows.figures import relation

    rates, queues = {}, {}
    for title in TITLES:
        tables = runs.first(title=title).tables
        times, gbps = total_gbps(tables)
        at, length = queue(tables)
        rates[title] = list(zip(times, gbps, strict=True))
        queues[title] = list(zip(at, length / 1e3, strict=True))
    panels = {
        "throughput": relation.panel(rates, ("time (us)", "payload (Gb/s)"), levels={"line rate": 100.0}),
        "queue": relation.panel(queues, ("time (us)", "queue (KB)")),
    }
    return {"throughput and queue": relation.draw(panels, line="-")}


def tables(runs):
    names = ["least_gbps", "mean_gbps", "peak_kb", "drained_us", "queue_kb"]
    return {"Means over the seeds": Rows(runs.frame(seen)).table(names, ["title"])}


def specs(reading):
    """Each reaction; the one by round trips as the reading has it."""
    ways = dict(zip(TITLES, ("reference", "per-ack", reading["round_trip_reaction"]), strict=True))
    points = [{"title": title, "transport.cc.reaction": way} for title, way in ways.items()]
    return {"spec": ("spec.toml", {"sweep.points": points})}


FIGURE = Figure(
    specs=specs,
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"throughput and queue": ("*",)},
    captions={
        "throughput and queue": "Figure 13: payload that all flows deliver, and the queue, after sixteen "
        "senders start at the rate of their cards."
    },
)
