"""xDCTCP beside D2TCP: the effect of a class declared once, and of a deadline on each message."""

import polars as pl
from shallows.statistics.estimates import paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import is_above, is_below
from shallows.studies.paper.kit import Rows
from shallows.tables import metrics

from ..common import OPTIMUM

DEADLINES = {"query": ("200us", "500us"), "short": ("1500us", "4ms")}
MARGIN = 2.0
TITLES = {
    "DCTCP": {"kind": "dctcp"},
    "xDCTCP, optimum": {"kind": "xdctcp", "long_classes": "long"} | OPTIMUM,
    "D2TCP": {"kind": "d2tcp"},
    "D2TCP, the optimum's g": {"kind": "d2tcp", "g": OPTIMUM["g"]},
}
DCTCP, XDCTCP, D2TCP, D2TCP_G = TITLES


def seen(tables):
    """Deadlines met in per cent and completion times by class, goodput of long flows."""
    out = {}
    for name in DEADLINES:
        messages = tables["messages"].filter(pl.col("class") == name)
        out[f"{name}_met"] = 100 * metrics.met_share(messages)
        out[f"{name}_fct_us"] = metrics.delays(tables, [name])["fct_us"]
        out[f"{name}_wait_us"] = metrics.delays(tables, [name])["wait_us"]
    long = tables["flows"].filter(pl.col("class") == "long")
    return out | {"long_mbps": long["goodput_bps"].mean() / 1e6}


COLUMNS = {
    "query_met": "queries that met their deadline (%)",
    "short_met": "messages that met their deadline (%)",
    "query_fct_us": "completion, query (us)",
    "short_fct_us": "completion, message (us)",
    "long_mbps": "goodput of a long flow (Mb/s)",
}


def measure(runs):
    rows = Rows(runs.frame(seen))

    def less(column, new, base):
        return paired_difference(rows.samples(column, title=new), rows.samples(column, title=base))

    return {
        "query-meets-more": is_above(less("query_met", XDCTCP, DCTCP), unit="points"),
        "short-meets-more": is_above(less("short_met", XDCTCP, DCTCP), unit="points"),
        "query-as-d2tcp": is_above(less("query_met", XDCTCP, D2TCP), -MARGIN, unit="points"),
        "short-as-d2tcp": is_above(less("short_met", XDCTCP, D2TCP), -MARGIN, unit="points"),
        "long-against-d2tcp": rows.change("long_mbps", {"title": XDCTCP}, {"title": D2TCP}),
        "query-sooner": is_below(less("query_fct_us", XDCTCP, D2TCP), unit="us"),
        "short-sooner": is_below(less("short_fct_us", XDCTCP, D2TCP), unit="us"),
        "g-is-not-it": is_above(less("short_met", XDCTCP, D2TCP_G), unit="points"),
    }


def draw(runs, reference):
    from shallows.figures import forest

    rows = Rows(runs.frame(seen))
    series = {
        title: {COLUMNS[name]: rows.estimate(name, title=title) for name in ("query_met", "short_met")}
        for title in TITLES
    }
    return {"deadlines met": forest.draw(forest.info(series, "share of messages (%)", reference=None))}


def tables(runs):
    shown = Rows(runs.frame(seen)).table(list(COLUMNS), ["title"])
    return {"Means over the seeds [95 % interval]": shown.rename(COLUMNS)}


FIGURE = Figure(
    specs={
        "spec": (
            "../clean/spec.toml",
            {
                f"traffic.{name}.deadline": {"kind": "uniform", "min": least, "max": most}
                for name, (least, most) in DEADLINES.items()
            }
            | {"sweep.points": [{"title": title, "transport.cc": cc} for title, cc in TITLES.items()]},
        )
    },
    settings={"margin": f"{MARGIN}%"},
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"deadlines met": ("*",)},
    captions={"deadlines met": "Share of messages that met their deadline, and what long flows kept."},
)
