"""The document's testbed, four racks of sixteen cards of 25 Gb/s, and what its figures measure."""

import polars as pl

from .common import dcqcn
from .fabric import ABOVE, Network, flows, paused_percent

# Links of 1165 ns to a card and 726 ns between switches. With the transmissions of 1 KB and its answer round
# trips are 5.4 us in a rack and 8.5 us between racks.
TESTBED = Network(320, (2_330_000, 3_782_000), lambda over_ps: over_ps // 3)
SMALL, BIG = 30_000, 1_000_000  # bytes: three in ten flows of WebSearch are below, and three in ten above
PRODUCTION = (100, 400)  # KB at 25 Gb/s


def scheme(title, thresholds=PRODUCTION, **settings):
    """DCQCN as a point of a sweep: thresholds (in KB) at a card's rate, four times as high at 100 Gb/s."""

    def ramp(scale):
        kmin, kmax = (f"{scale * each}KB" for each in thresholds)
        return {"kind": "ramp", "kmin": kmin, "kmax": kmax, "pmax": 0.2}

    marks = {"queue": ramp(1), "port.leaf*->spine*.queue": ramp(4), "port.spine*->*.queue": ramp(4)}
    return dcqcn(25, **settings) | ABOVE | marks | {"title": title}


def beside(here, reference, column="value", labels=("size (bytes)", "slowdown, 95th percentile")):
    """Panels of the lines found here and of the document's: rows of `scheme`, `bytes` and `column`."""
    from shallows.figures import relation

    document = {
        name: list(reference.filter(scheme=name).select("bytes", column).iter_rows()) for name in here
    }
    lines = {"here": here, "the document": document}
    return {title: relation.panel(each, labels, log="xy") for title, each in lines.items()}


def seen(tables):
    """The 95th percentile of the slowdown by size, and pauses of a run."""
    mine = flows(tables, TESTBED)
    parts = {
        "all": mine,
        "small": mine.filter(pl.col("bytes") < SMALL),
        "big": mine.filter(pl.col("bytes") > BIG),
    }
    found = {
        f"{name}_{column}": part[column].quantile(0.95, "linear")
        for column in ("sender", "receiver")
        for name, part in parts.items()
    }
    ended = {"flows": len(mine), "unended": int((~mine["ended"]).sum())}
    return found | ended | {"paused_percent": paused_percent(tables)}
