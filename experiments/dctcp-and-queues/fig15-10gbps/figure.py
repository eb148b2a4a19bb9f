"""DCTCP against RED at the paper's 10 Gb/s."""

from shallows.statistics.estimates import mean_ci, paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import is_above
from shallows.studies.paper.kit import Rows

from ..common import SPEC, red, scheme, seen, star, step

DCTCP, BURSTS = "DCTCP, K = 65", "DCTCP, K = 65, bursts of 44"
GUIDE, TUNED = "RED 50 to 150 (guidelines)", "RED 150 to 450 (tuned)"
RATE = "10Gbps"


def measure(runs):
    rows = Rows(runs.frame(seen))
    found = {
        key: rows.estimate("throughput", title=title)
        for key, title in (
            ("dctcp-full", DCTCP),
            ("bursts-full", BURSTS),
            ("guide-loses", GUIDE),
            ("tuned-full", TUNED),
        )
    }
    swings = {title: rows.samples("swing", title=title) for title in (DCTCP, BURSTS, TUNED)}
    found["red-varies"] = is_above(
        paired_difference(swings[TUNED], 2 * swings[DCTCP]), unit="packets above twice"
    )
    found["bursts-swing"] = is_above(
        paired_difference(swings[BURSTS], 2 * swings[DCTCP]), unit="packets above twice"
    )
    found["ratio"] = mean_ci(swings[TUNED] / swings[DCTCP])
    found["ratio-bursts"] = mean_ci(swings[TUNED] / swings[BURSTS])
    found["dctcp-mean"] = rows.estimate("mean", title=DCTCP)
    return found


def draw(runs, reference):
    from shallows.figures import queue_cdf, queue_time

    shown = {title: runs.first(title=title).tables for title in (DCTCP, BURSTS, TUNED, GUIDE)}
    return {
        "queue over time, 10 Gb/s": queue_time.draw(
            queue_time.info(shown, "switch->r0", 300, 500, {"K = 65": 65.0})
        ),
        "distribution of the queue, 10 Gb/s": queue_cdf.draw(queue_cdf.info(shown, "switch->r0")),
    }


def tables(runs):
    names = ["mean", "median", "swing", "sd", "low", "high", "throughput", "marks", "empty"]
    return {"By scheme": Rows(runs.frame(seen)).table(names, ["title"])}


FIGURE = Figure(
    specs={
        "spec": (
            SPEC,
            star(2, RATE, "100us", RATE)
            | {
                "duration": "700ms",
                "warmup": "200ms",
                "seeds": 6,
                "traffic.long.jitter": "1ms",
                "probe.queue_trace": "50us",
                "sweep.points": [
                    scheme(DCTCP, "dctcp", step(65, 1000)),
                    scheme(BURSTS, "dctcp", step(65, 1000)) | {"transport.burst": 44},
                    scheme(GUIDE, "newreno", red(50, 150, 300, 0.1, RATE, 1000), "on"),
                    scheme(TUNED, "newreno", red(150, 450, 400, 0.1, RATE, 1000), "on"),
                ],
            },
        )
    },
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"By scheme": ("*",)},
    captions={
        "queue over time, 10 Gb/s": "Figure 15 of the DCTCP paper: the queue over time.",
        "distribution of the queue, 10 Gb/s": "Share of time that the queue spends at or below each length.",
    },
)
