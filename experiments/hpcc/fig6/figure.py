"""Figure 6: the bytes that a port sent, or those that came for it, as its rate; two senders."""

from shallows.statistics.estimates import paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import is_above, is_below
from shallows.studies.paper.kit import Rows
from shallows.tables.goodput import total_gbps

from ..common import BACKENDS, drained_us, queue

SENT, ARRIVED = "bytes sent (txRate)", "bytes arrived (rxRate)"
PACKET = 1090  # bytes on the wire with the header of telemetry


def seen(tables):
    """Queue and throughput once the first windows have left."""
    at, length = queue(tables)
    times, rates = total_gbps(tables)
    started = drained_us(tables, 2 * PACKET)
    length, rates = length[at > started] / 1e3, rates[times > started]
    return {
        "queue_kb": float(length.mean()),
        "highest_kb": float(length.max()),
        "sd_gbps": float(rates.std()),
        "mean_gbps": float(rates.mean()),
    }


def measure(runs):
    rows = Rows(runs.frame(seen))
    again = paired_difference(*(rows.samples("highest_kb", title=title) for title in (ARRIVED, SENT)))
    rates = paired_difference(*(rows.samples("sd_gbps", title=title) for title in (ARRIVED, SENT)))
    return {
        "queue-oscillates": is_above(again, unit="KB higher"),
        "rate-oscillates": is_above(rates, unit="Gb/s more in standard deviation"),
        "sent-rests": is_below(rows.estimate("highest_kb", title=SENT), 25.0, unit="KB at most"),
    }


def draw(runs, reference):
    from shallows.figures import relation

    rates, queues = {}, {}
    for title in (SENT, ARRIVED):
        tables = runs.first(title=title).tables
        times, gbps = total_gbps(tables)
        at, length = queue(tables)
        rates[title] = list(zip(times, gbps, strict=True))
        queues[title] = list(zip(at, length / 1e3, strict=True))
    panels = {
        "throughput": relation.panel(rates, ("time (us)", "payload (Gb/s)"), levels={"line rate": 100.0}),
        "queue": relation.panel(queues, ("time (us)", "queue (KB)"), levels={"B x T": 50.0}),
    }
    return {"queue and throughput": relation.draw(panels, line="-")}


def tables(runs):
    names = ["queue_kb", "highest_kb", "mean_gbps", "sd_gbps"]
    return {"Means over the seeds": Rows(runs.frame(seen)).table(names, ["title"])}


FIGURE = Figure(
    specs={
        "spec": (
            "../fig13/spec.toml",
            {
                "topology.senders": 2,
                "sweep.points": [
                    {"title": SENT, "port_control.counts": "sent"},
                    {"title": ARRIVED, "port_control.counts": "arrived"},
                ],
            },
        )
    },
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"queue and throughput": ("*",)},
    captions={
        "queue and throughput": "Figure 6: two senders whose switch counts the bytes that it has sent, or "
        "those that have arrived."
    },
)
