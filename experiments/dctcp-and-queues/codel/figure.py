"""An ordinary sender behind CoDel beside DCTCP behind its threshold: the worth of the sender itself."""

from shallows.statistics.estimates import mean_ci, paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import every, is_above, is_below
from shallows.studies.paper.kit import Rows

from ..common import SPEC, scheme, seen, star, step

RTTS = ["1ms", "4ms", "20ms"]
RATE, LIMIT = "100Mbps", 600


def codel(target, interval):
    """CoDel that marks. RFC 8289 s.4.3: the interval is the longest round trip, the target its twentieth."""
    return {"kind": "codel", "ecn": True, "limit": f"{LIMIT}pkt", "target": target, "interval": interval}


PAIRS = {
    "DCTCP, K = 20": ("dctcp", step(20, LIMIT)),
    "DCTCP, K = 5": ("dctcp", step(5, LIMIT)),
    "CUBIC, CoDel 1 ms": ("cubic", codel("1ms", "20ms")),
    "CUBIC, CoDel 5 ms": ("cubic", codel("5ms", "100ms")),
}
"""Senders with ECN and their queues: CoDel by the rule for round trips up to 20 ms, and with its defaults."""


def points():
    """Each pair at each round trip."""
    return [
        scheme(f"{name}|{rtt}", cc, queue, ecn="on") | star(2, RATE, rtt, "1Gbps")
        for name, (cc, queue) in PAIRS.items()
        for rtt in RTTS
    ]


def frame_of(runs):
    """The runs with pair and round trip in columns."""
    import polars as pl

    parts = pl.col("title").str.split("|").list
    return runs.frame(seen).with_columns(pair=parts.get(0), rtt=parts.get(1))


def measure(runs):
    rows = Rows(frame_of(runs))
    large, small, ruled, default = PAIRS

    def of(column, pair, rtt):
        return rows.samples(column, pair=pair, rtt=rtt)

    found = {}
    for rtt in RTTS[:2]:
        found[f"shorter-{rtt}"] = paired_difference(of("mean", ruled, rtt), of("mean", large, rtt))
        found[f"full-{rtt}"] = mean_ci(of("throughput", ruled, rtt))
    far = RTTS[2]
    found["loses-20ms"] = mean_ci(of("throughput", ruled, far))
    more = paired_difference(of("throughput", small, far), of("throughput", ruled, far))
    less = paired_difference(of("mean", small, far), of("mean", ruled, far))
    found["dctcp-better-20ms"] = every((is_above(more, unit="of the link"), is_below(less, unit="packets")))
    found["defaults-longer"] = every(
        is_above(paired_difference(of("mean", default, rtt), 2 * of("mean", large, rtt)), unit="packets")
        for rtt in RTTS
    )
    return found


def draw(runs, reference):
    from shallows.figures import relation

    rows = Rows(frame_of(runs))
    panels = {
        f"RTT {rtt.removesuffix('ms')} ms": relation.panel(
            {
                pair: [
                    (
                        100 * rows.estimate("throughput", pair=pair, rtt=rtt).value,
                        rows.estimate("mean", pair=pair, rtt=rtt),
                    )
                ]
                for pair in PAIRS
            },
            ("link used (%)", "mean queue (packets)"),
        )
        for rtt in RTTS
    }
    return {"queue against use of the link": relation.draw(panels)}


def tables(runs):
    names = ["mean", "sd", "high", "throughput", "marks", "empty"]
    return {"By pair and round trip": Rows(frame_of(runs)).table(names, ["rtt", "pair"])}


FIGURE = Figure(
    specs={
        "spec": (
            SPEC,
            {
                "duration": "40s",
                "warmup": "15s",
                "seeds": 8,
                "probe.queue_trace": "off",
                "sweep.points": points(),
            },
        )
    },
    measure=measure,
    draw=draw,
    tables=tables,
    beyond=True,
    shows={"By pair and round trip": ("*",)},
    captions={
        "queue against use of the link": "The mean queue against the share of the link that two flows use, "
        "100 Mb/s: lower and further to the right is better. A panel for each round trip."
    },
)
