"""Specification against code: each departure of uet-htsim alone, and its effect by runs in three plans."""

import numpy as np
import polars as pl
from shallows.statistics.estimates import paired_change
from shallows.studies import Figure
from shallows.studies.paper.claims import every, is_above, is_below, is_within
from shallows.studies.paper.kit import Rows, percent

from ..common import BACKENDS, BYTE_PS, FULL, flows, product, round_trip, seen

SPECIFICATION, TOGETHER, ANSWERED = "specification", "all together", "each packet answered"
PLANS = {
    "incast-15": {
        "topology.leaves": 2, "topology.spines": 8, "traffic.x.flows": flows((n, 15) for n in range(15)),
    },
    "incast-63": {"traffic.x.flows": flows(((n, 0) for n in range(1, 64)), "100KB")},
    "four-to-one": {
        "topology.spines": 2, "traffic.x.flows": flows((n, (n + 8 + 8 * (n % 3)) % 64) for n in range(64)),
    },
}  # fmt: skip
"""By name: two incasts, and a permutation over leaves that have four times the rate of their uplinks."""
HOPS = 4
TARGET_PS = round_trip(HOPS) * 3 // 4
TIMEOUT_PS = 15_000_000 + product(HOPS) * FULL * 6 * BYTE_PS
DEPARTURES = {
    "NSCC": {"transport.cc.reading": "uet"},
    "quick adapt by delay": {"transport.cc.quick_adapt_delay": f"{4 * TARGET_PS}ps"},
    "room": {"transport.room": "own"},
    "timer": {"transport.timeout": f"{TIMEOUT_PS}ps", "transport.backoff": "none", "transport.retries": 1000},
    "last hop": {"queue.last_hop_room": "none"},
    "headers' room": {"queue.header_limit": "2bdp"},
    "class of trimmed packets": {"queue.trimmed_share": "none", "queue.headers_per_packet": "none"},
}
"""Each departure alone; quick adapt's threshold is a part of the first one."""
ALL = {path: value for changes in DEPARTURES.values() for path, value in changes.items()}
POINTS = [
    {"title": SPECIFICATION},
    *({"title": title} | changes for title, changes in DEPARTURES.items()),
    {"title": TOGETHER}
    | {path: value for path, value in ALL.items() if not path.endswith("quick_adapt_delay")},
    {"title": ANSWERED, "transport.ack_bytes": "4000B"},
]
"""The last one is no departure: it shows why senders of the incast of 15 wait for their timers."""
CALM = ("incast-63", "four-to-one")
"""Plans without timeouts, in which the last acknowledgements of the seeds are close to each other."""
ALIKE = 0.05
"""A twentieth: the bound on how much later the last message may end."""


def rows_of(runs, plan):
    """The runs of one plan."""
    return Rows(runs.frame(seen).filter(pl.col("spec") == plan))


def change(rows, column, title):
    """The change of a column from the specification to a departure, paired by seed, as a share."""
    return paired_change(rows.samples(column, title=title), rows.samples(column, title=SPECIFICATION))


def slug(title):
    """A departure's name in claims."""
    return title.replace("'", "").replace(" ", "-").lower()


def measure(runs):
    rows = {plan: rows_of(runs, plan) for plan in PLANS}
    found = {
        f"last-{slug(title)}": every(
            is_within(change(rows[plan], "last", title), ALIKE, 0.0, f"of the specification's, {plan}")
            for plan in CALM
        )
        for title in (*DEPARTURES, TOGETHER)
    }
    apart = [
        rows[plan].samples("last", title="quick adapt by delay")
        - rows[plan].samples("last", title=SPECIFICATION)
        for plan in PLANS
    ]
    incast = rows["incast-15"]
    return found | {
        "timeouts": is_above(incast.estimate("timeouts", title=SPECIFICATION), 0.0, "timeouts a run"),
        "timeouts-answered": not np.any(incast.samples("timeouts", title=ANSWERED)),
        "threshold-never": bool(not any(np.any(each) for each in apart)),
        "more-last-hop": is_above(
            change(rows["incast-63"], "resent", "last hop"), ALIKE, "of the specification's"
        ),
        "more-nscc": is_above(change(rows["four-to-one"], "resent", "NSCC"), ALIKE, "of the specification's"),
        "earlier-nscc": is_below(
            change(rows["incast-63"], "first", "NSCC"), -ALIKE, "of the specification's"
        ),
    }


def numbers(runs):
    """Changes in per cent from the specification, and by the timeouts of the incast of 15."""
    rows = {plan: rows_of(runs, plan) for plan in PLANS}
    last = {title: rows["incast-15"].samples("last", title=title) for title in (SPECIFICATION, ANSWERED)}
    found = {
        "waits": paired_change(last[SPECIFICATION], last[ANSWERED]),
        "resent-last-hop": change(rows["incast-63"], "resent", "last hop"),
        "resent-nscc": change(rows["four-to-one"], "resent", "NSCC"),
    }
    return {name: (percent(value), "%") for name, value in found.items()}


def draw(runs, reference):
    from shallows.figures import forest

    series = {
        plan: {
            title: percent(change(rows_of(runs, plan), "last", title)) for title in (*DEPARTURES, TOGETHER)
        }
        for plan in PLANS
    }
    again = {
        plan: {
            title: percent(change(rows_of(runs, plan), "resent", title)) for title in (*DEPARTURES, TOGETHER)
        }
        for plan in PLANS
    }
    return {
        "the last message": forest.draw(
            forest.info(series, "last acknowledgement, from the specification (%)")
        ),
        "packets sent again": forest.draw(
            forest.info(again, "packets sent again, from the specification (%)")
        ),
    }


def tables(runs):
    return {
        f"{plan}: times in us, packets sent again": rows_of(runs, plan).table(
            ["last", "first", "resent", "timeouts"], ["title"]
        )
        for plan in PLANS
    }


FIGURE = Figure(
    specs={plan: ("spec.toml", changes | {"sweep.points": POINTS}) for plan, changes in PLANS.items()},
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    numbers=numbers,
    beyond=True,
    captions={
        "the last message": "Each departure of the simulator alone: change of the last acknowledgement, "
        "with 95 % intervals over seeds.",
        "packets sent again": "Each departure of the simulator alone: change of the packets that "
        "were sent again.",
    },
)
