"""Figure 2: DCQCN's timers: slowdown, and with incasts pauses and latency, under WebSearch."""

import itertools

import polars as pl
from shallows.statistics.estimates import paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import every, is_above
from shallows.studies.paper.kit import Rows

from ..common import BACKENDS
from ..fabric import flows, incasts, slowdowns
from ..testbed import SMALL, TESTBED, beside, scheme, seen

QUICK, VENDOR, SLOW = "55 and 50 us", "300 and 4 us", "900 and 4 us"
NAMES = [SLOW, VENDOR, QUICK]
"""T_i and T_d, from the largest published slowdown to the least."""


def specs(reading):
    """The load alone, and with incasts. The paper's set of 2015 has alpha's clock of the reading."""
    points = [
        scheme(SLOW, increase_period="900us"),
        scheme(VENDOR, increase_period="300us"),
        scheme(QUICK, increase_period="55us", cut_interval="50us", alpha_period=reading["alpha_clock"]),
    ]
    plain = {"sweep.points": points, "seeds": 10}
    return {
        "plain": ("../scenarios/testbed.toml", plain),
        "incast": ("../scenarios/testbed.toml", plain | {"traffic.incast": incasts(0.1)}),
    }


def found(tables):
    """The numbers of `seen`, and the completion of small flows in ms."""
    small = flows(tables, TESTBED).filter(pl.col("bytes") < SMALL)
    took = {end: small[f"took_{end}"].quantile(0.95, "linear") / 1e9 for end in ("sender", "receiver")}
    return seen(tables) | {f"ms_{end}": value for end, value in took.items()}


def descends(frame, column, names):
    """Whether a column has less with each of `names` than with the one before, seed by seed."""
    steps = itertools.pairwise(names)
    parts = (
        (less, paired_difference(*(Rows(frame).samples(column, title=title) for title in (more, less))))
        for more, less in steps
    )
    return every(is_above(difference, unit=f"(more than with {less})") for less, difference in parts)


def measure(runs):
    plain, incast = (runs.where(name).frame(found) for name in ("plain", "incast"))
    end, ascending = runs.reading["end"], NAMES[::-1]
    return {
        "slowdown": descends(plain, f"all_{end}", NAMES),
        "slowdown-big": descends(plain, f"big_{end}", NAMES),
        "slowdown-small": descends(plain, f"small_{end}", NAMES),
        "pauses": descends(incast, "paused_percent", ascending),
        "latency": descends(incast, f"ms_{end}", ascending),
    }


def draw(runs, reference):
    from shallows.figures import forest, relation

    here = slowdowns(runs.where("plain"), NAMES, TESTBED)
    frame, end = runs.where("incast").frame(found), runs.reading["end"]
    drawn = {"slowdown by size": relation.draw(beside(here, reference.filter(what="slowdown")), sharey=True)}
    labels = {
        "share of the time in which ports are paused": (
            "paused_percent",
            "paused (% of the time), 95 % interval",
        ),
        "completion of small flows": (f"ms_{end}", "95th percentile (ms), 95 % interval"),
    }
    for title, (column, label) in labels.items():
        rows = {"": {name: Rows(frame).estimate(column, title=name) for name in NAMES}}
        what = reference.filter(
            what="paused_percent" if title == "share of the time in which ports are paused" else "latency_ms"
        )
        published = [what.filter(scheme=name)["value"].item() for name in NAMES]
        drawn[title] = forest.draw(forest.info(rows, label), published)
    return drawn


def tables(runs):
    end = runs.reading["end"]
    names = [f"all_{end}", f"small_{end}", f"big_{end}", f"ms_{end}", "paused_percent", "flows", "unended"]
    return {
        f"{title}: means over the seeds": Rows(runs.where(name).frame(found)).table(names, ["title"])
        for name, title in (("plain", "Without incasts"), ("incast", "With incasts"))
    }


FIGURE = Figure(
    specs=specs,
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={
        "slowdown by size": ("slowdown*",),
        "share of the time in which ports are paused": ("pauses",),
        "completion of small flows": ("latency",),
    },
    captions={
        "slowdown by size": "Figure 2a: the 95th percentile of the slowdown by size, by T_i and T_d.",
        "share of the time in which ports are paused": "Figure 2b: the mean over all ports and the run, with "
        "incasts. Crosses are the document's, with a fifth of the incasts.",
        "completion of small flows": "Figure 2b: the 95th percentile of flows below 30 KB, with incasts. "
        "Crosses are the document's, with a fifth of the incasts.",
    },
)
