"""Figure 10: TIMELY with bursts of 16 and 64 KB at line rate."""

import numpy as np
from shallows.statistics.estimates import mean_ci
from shallows.studies import Figure
from shallows.studies.paper.claims import is_above, is_below
from shallows.studies.paper.kit import Rows

from ..common import BACKENDS, TIMELY_SPEC, flow_rates, shares

MET = 1.1
"""Shares within a tenth have met."""
COLLAPSED, CLIMBED = 0.5, 0.9
"""Shares of the link: throughput below the first has collapsed; up to the second it climbs."""
STEP_MS = 1.0

_CC = "traffic.{}.transport.cc.{}"


def _bursts(packets, one, other):
    """Bursts of so many packets, a sample each, and first rates."""
    settings = {"transport.burst": packets}
    for name, rate in (("one", one), ("other", other)):
        settings |= {_CC.format(name, "segment"): f"{packets * 960}B", _CC.format(name, "initial_rate"): rate}
    return settings


POINTS = [
    {"title": "16 KB, 7 and 3 Gb/s"} | _bursts(16, "7Gbps", "3Gbps"),
    {"title": "64 KB, 5 and 5 Gb/s"} | _bursts(64, "5Gbps", "5Gbps"),
]
SMALL, LARGE = (point["title"] for point in POINTS)


def climb(tables):
    """The least rate of both flows together as a share of the link, and when it has climbed, in ms."""
    rates = list(flow_rates(tables, STEP_MS).values())
    count = min(map(len, rates))
    total = np.sum([[y for _, y in each[:count]] for each in rates], axis=0) / 10
    time = np.array([x for x, _ in rates[0][:count]])
    lowest = int(np.argmin(total[1:])) + 1
    above = np.flatnonzero(total[lowest:] >= CLIMBED)
    return shares(tables) | {
        "least": total[lowest],
        "climbed_ms": time[lowest + above[0]] - time[lowest] if len(above) else time[-1] - time[lowest],
    }


def measure(runs):
    rows = Rows(runs.frame(climb))
    return {
        "small-meet": is_below(rows.estimate("ratio", title=SMALL), MET, "times the slower"),
        "large-collapse": is_below(rows.estimate("least", title=LARGE), COLLAPSED, "of the link"),
        "large-sample": mean_ci(rows.samples("high", title=LARGE) * 8 / 10),
        "large-climb": is_above(rows.estimate("climbed_ms", title=LARGE), 10 * STEP_MS, "ms"),
    }


def draw(runs, reference):
    from shallows.figures import relation

    panels = {}
    for title in (SMALL, LARGE):
        rates = flow_rates(runs.first(title=title).tables, STEP_MS)
        shown = {f"flow {k + 1}": each for k, each in enumerate(rates.values())}
        panels[title] = relation.panel(shown, ("time (ms)", "rate (Gb/s)"))
    return {"rates with bursts": relation.draw(panels, "-", sharey=True)}


def tables(runs):
    columns = ["fast", "slow", "ratio", "least", "climbed_ms", "mean", "sd", "idle"]
    return {
        "Rates in Gb/s, shares of the link, queue in KB": Rows(runs.frame(climb)).table(columns, ["title"])
    }


FIGURE = Figure(
    specs={"timely": (TIMELY_SPEC, {"probe.flow_trace": "200us", "sweep.points": POINTS})},
    settings={
        "starts": ["5Gbps", "7Gbps", "3Gbps"],
        "bursts": ["16KB", "64KB"],
        "shares": ["50 %", "90 %", "10 %"],
        "T_high": "500us",
    },
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"rates with bursts": ("*",)},
    captions={"rates with bursts": "Rates of two TIMELY flows that send bursts at line rate."},
)
