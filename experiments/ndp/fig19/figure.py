"""Figure 19: an incast beside a long flow, with NDP, with DCTCP, and with DCTCP over lossless Ethernet."""

import polars as pl
from shallows.studies import Figure
from shallows.studies.paper.claims import is_above, is_below
from shallows.studies.paper.kit import Rows
from shallows.tables.goodput import total_gbps

from ..common import BACKENDS, LINK, PAYLOAD, tcp, total

START_US, STEP_US, BACK_US = 20_000.0, 100.0, 400.0
SENDERS, PACKETS = 64, 50
RATE, LOW, GOOD, WELL = 0.9, 0.5, 0.8, 0.95
"""Shares of the rate before, in steps of 13 or 14 packets; and of the link."""
_TCP = tcp("10pkt")
NAMES = {"ndp": "NDP", "dctcp": "DCTCP", "lossless": "DCTCP, lossless"}


def seen(tables):
    """Rates of the long flow and of the incast in Gb/s while it lasts, and when the long flow is back."""
    times, rates = total_gbps(tables, traffic="long", step_us=STEP_US)
    incast = tables["flows"].filter(traffic="incast")
    over = incast["end_ps"].max() if incast["end_ps"].null_count() == 0 else None
    end = over / 1e6 if over else times[-1]
    before = rates[(times > START_US / 2) & (times <= START_US)].mean()
    during = (times > START_US + STEP_US) & (times <= end)
    bad = times[during][rates[during] < RATE * before]
    return {
        "before": float(before),
        "during": float(rates[during].mean()),
        "back_us": float(bad[-1] - START_US) if len(bad) else 0.0,
        "incast": SENDERS * PACKETS * PAYLOAD * 8e-3 / (end - START_US),
        "ended": SENDERS - incast["end_ps"].null_count(),
        "timeouts": int(incast["timeouts"].sum()),
        "trims": total(tables, "queues", "trims"),
        "pauses": int(tables["pauses"]["paused"].sum() or 0),
    }


def measure(runs):
    rows = Rows(runs.frame(seen))
    return {
        "ndp-back": is_below(rows.estimate("back_us", spec="ndp"), BACK_US, "us"),
        "ndp-incast": is_above(rows.estimate("incast", spec="ndp"), WELL * LINK, "Gb/s"),
        "dctcp-timeouts": is_above(rows.estimate("timeouts", spec="dctcp"), 0.5, "timeouts"),
        "pfc-collateral": is_below(rows.estimate("during", spec="lossless"), LOW * LINK, "Gb/s"),
        "pfc-incast": is_above(rows.estimate("incast", spec="lossless"), GOOD * LINK, "Gb/s"),
    }


def draw(runs, reference):
    from shallows.figures import relation

    panels = {}
    for spec, title in NAMES.items():
        tables = runs.first(spec).tables
        lines = {}
        for traffic, name in (("long", "long flow"), ("incast", "incast")):
            times, rates = total_gbps(tables, traffic=traffic, step_us=STEP_US)
            lines[name] = list(zip((times / 1e3).tolist(), rates.tolist(), strict=True))
        panels[title] = relation.panel(lines, ("time (ms)", "goodput (Gb/s)"))
    return {"goodput over time": relation.draw(panels, "-", sharey=True)}


def tables(runs):
    columns = ["before", "during", "back_us", "incast", "ended", "timeouts", "trims", "pauses"]
    rows = Rows(
        runs.frame(seen).with_columns(scheme=pl.col("spec").replace_strict(NAMES, return_dtype=pl.String))
    )
    return {"Rates in Gb/s": rows.table(columns, ["scheme"])}


FIGURE = Figure(
    specs={
        "ndp": ("ndp.toml", {}),
        "dctcp": ("ndp.toml", _TCP | {"duration": "300ms"}),
        "lossless": (
            "ndp.toml",
            _TCP
            | {
                "title": "DCTCP over lossless Ethernet",
                "queue": {"kind": "threshold", "limit": "none", "mark_at": "16pkt"},
                "switch": {"*": {"buffer": "100MB"}},
                "priority": {"3": {"pfc": True}},
                "transport": _TCP["transport"] | {"priority": 3},
                "port": {"*->*": {"pfc_xoff": "135KB", "pfc_alpha": "none", "pfc_hysteresis": "3pkt"}},
            },
        ),
    },
    settings={
        "back": "400us",
        "step": "100us",
        "senders": [SENDERS],
        "packets": ["15", "16"],
        "queue": "100pkt",
        "timeout": "250ms",
    },
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"goodput over time": ("*",)},
    captions={
        "goodput over time": "Figure 19: goodputs of a long flow and of 64 flows to the next host, by 100 us."
    },
)
