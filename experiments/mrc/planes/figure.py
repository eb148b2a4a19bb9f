"""The costs of a lost link and of a lost port, and the rate of a card of eight ports."""

from shallows.statistics.estimates import Estimate, mean_ci
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, is_below
from shallows.studies.paper.kit import Rows

from ..common import BACKENDS, HEADER, line

WHOLE = {"title": "whole", "event": {}, "routing": {}}
LOST = {"title": "lost"}
LARGE = {
    "duration": "1700us",
    "warmup": "500us",
    "topology.spines": 32,
    "topology.hosts_per_leaf": 32,
    "topology.rate": "800Gbps",
    "traffic.x.from": "h0..h31",
    "traffic.x.to": "h32..h63",
    "sweep.points": [WHOLE, LOST],
}
CARD = {
    "topology.spines": 4,
    "topology.hosts_per_leaf": 2,
    "topology.planes": 8,
    "traffic.x.from": "h0",
    "traffic.x.to": "h2",
    "event.cut.link": "h0<->p3.leaf0",
    "sweep.points": [WHOLE, WHOLE | {"title": "local", "traffic.x.to": "h1"}, LOST],
}
LINKS = {"small": ("100", 256), "large": ("800", 32)}
"""By experiment: the rate of a plane in Gb/s, and the uplinks of a leaf."""


def seen(tables):
    """The sum of goodputs in Gb/s, and what was lost on the link that is down, trimmed and sent again."""
    flows, ports = tables["flows"], tables["queues"]
    return {
        "gbps": float(flows["goodput_bps"].sum()) / 1e9,
        "lost": int(ports["drops_dead"].sum()),
        "trimmed": int(ports["trims"].sum()),
        "again": int(flows["retransmissions"].sum()),
    }


def costs(runs):
    """The cost of the loss by experiment, in per cent of the sum of goodputs."""
    frame = runs.frame(seen)
    rows = {name: Rows(frame.filter(frame["spec"] == name)) for name in (*LINKS, "card")}
    return {
        name: negated(each.change("gbps", {"title": "lost"}, {"title": "whole"}))
        for name, each in rows.items()
    }


def negated(estimate):
    value, low, high, n = estimate
    ends = (None, None) if low is None or high is None else (-high, -low)
    return Estimate(-value, *ends, n)


def measure(runs):
    cost, rows = costs(runs), Rows(runs.frame(seen))
    found = {}
    for name, (rate, uplinks) in LINKS.items():
        share = 100 / uplinks
        found[f"closed-{rate}"] = Measured(share, n_seeds=0)
        found[f"link-{rate}"] = cost[name]
        found[f"bound-{rate}"] = is_below(cost[name], 2 * share, "% of the sum of goodputs")
    found["port"] = cost["card"]
    found["across"] = rows.estimate("gbps", spec="card", title="whole")
    found["local"] = rows.estimate("gbps", spec="card", title="local")
    return found


def numbers(runs):
    """How far a full leaf fills its uplinks, in per cent of the payload's line rate."""
    rows = Rows(runs.frame(seen))
    return {
        f"filled-{rate}": (mean_ci(100 * rows.samples("gbps", spec=name, title="whole") / line(25600)), "%")
        for name, (rate, _) in LINKS.items()
    }


WORDS = {
    "small": "a link, plane of 100 Gb/s",
    "large": "a link, plane of 800 Gb/s",
    "card": "a port of a card",
}
PUBLISHED = {"small": 0.4, "large": 3, "card": 12.5}


def draw(runs, reference):
    from shallows.figures import forest

    rows = {WORDS[name]: cost for name, cost in costs(runs).items()}
    info = forest.info({"found": rows}, "cost of what is lost (% of the sum of goodputs)", reference=None)
    return {"costs": forest.draw(info, list(PUBLISHED.values()), log=True)}


def tables(runs):
    return {
        "Sums of goodputs in Gb/s": Rows(runs.frame(seen)).table(
            ["gbps", "lost", "trimmed", "again"], ["spec", "title"]
        )
    }


FIGURE = Figure(
    specs={
        "small": ("spec.toml", {"duration": "1100us", "sweep.points": [WHOLE, LOST]}),
        "large": ("spec.toml", LARGE),
        "card": ("spec.toml", CARD),
    },
    settings={"header": HEADER, "ports": 8},
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    numbers=numbers,
    shows={
        "costs": ("closed-*", "link-*", "bound-*", "port"),
        "Sums of goodputs in Gb/s": ("across", "local"),
    },
    captions={
        "costs": "The cost of a lost link between leaf and spine for a full leaf, by the rate of the plane, "
        "and of a lost port for a card of eight. Crosses are the published numbers."
    },
)
