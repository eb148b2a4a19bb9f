"""Figure 21: A sends to four hosts, and F to the last of them: pulls fill A's link and that host's."""

import numpy as np
import polars as pl
from shallows.statistics.estimates import mean_ci
from shallows.studies import Figure
from shallows.studies.paper.claims import every, is_above, is_below, is_within
from shallows.studies.paper.kit import Rows

from ..common import BACKENDS, LINK

FLOWS = {
    "to-b": ("h0", "h124"),
    "to-c": ("h0", "h125"),
    "to-d": ("h0", "h126"),
    "to-e": ("h0", "h127"),
    "from-f": ("h2", "h127"),
}
NAMES = {"to-b": "A to B", "to-c": "A to C", "to-d": "A to D", "to-e": "A to E", "from-f": "F to E"}
PUBLISHED = {"to-b": 2.50992, "to-c": 2.51352, "to-d": 2.50056, "to-e": 2.37672, "from-f": 7.55208}
SHARES = dict.fromkeys(("to-b", "to-c", "to-d", "to-e"), 0.25) | {"from-f": 0.75}
WINDOW, OTHERS, SMALL = "23pkt", ("6pkt", "15pkt", "30pkt"), "4pkt"
ALIKE, FILLED, UNFILLED = 0.02, 0.99, 0.95


def seen(tables):
    """Goodputs in Gb/s, use of both links, and the largest deviation from the closed form."""
    rates = {
        (src, dst): bps / 1e9
        for src, dst, bps in tables["flows"].select("src", "dst", "goodput_bps").iter_rows()
    }
    found = {name: rates[ends] for name, ends in FLOWS.items()}
    return found | {
        "a": sum(found[name] for name in FLOWS if name != "from-f") / LINK,
        "e": (found["to-e"] + found["from-f"]) / LINK,
        "off": max(100 * abs(found[name] / (share * LINK) - 1) for name, share in SHARES.items()),
    }


def measure(runs):
    rows = Rows(runs.frame(seen))
    base = rows.at(initial_window=WINDOW).frame
    found = {name: mean_ci(base[name].to_numpy()) for name in FLOWS}
    found["links-filled"] = every(
        is_above(rows.estimate(end, initial_window=WINDOW), FILLED, "of the link") for end in ("a", "e")
    )
    changes = (
        rows.samples(name, initial_window=window) / base[name].to_numpy()
        for window in OTHERS
        for name in FLOWS
    )
    found["any-window"] = every(
        is_within(mean_ci(change), ALIKE, 1.0, "times the rate") for change in changes
    )
    found["small-window"] = is_below(rows.estimate("e", initial_window=SMALL), UNFILLED, "of the link")
    found["quarter"] = rows.estimate("off", initial_window=WINDOW)
    return found


def draw(runs, reference):
    from shallows.figures import curves

    frame = runs.frame(seen).with_columns(
        packets=pl.col("initial_window").str.strip_suffix("pkt").cast(pl.Int64)
    )
    windows = sorted(frame["packets"].unique())
    panels = {}
    for title, names in (("A's flows", [n for n in FLOWS if n != "from-f"]), ("F's flow", ["from-f"])):
        series = {NAMES[n]: {w: Rows(frame).estimate(n, packets=w) for w in windows} for n in names}
        share = SHARES[names[0]] * LINK
        panels[title] = curves.Panel(
            series,
            "goodput (Gb/s)",
            references={"closed form": dict.fromkeys(windows, share)},
            published={"the authors' run": [(23, PUBLISHED[n]) for n in names]},
        )
    return {"five rates": curves.draw(curves.info(panels, "first window (packets)"))}


def tables(runs):
    return {
        "Goodputs in Gb/s, links filled": Rows(runs.frame(seen)).table([*FLOWS, "a", "e"], ["initial_window"])
    }


FIGURE = Figure(
    specs={"ndp": "ndp.toml"},
    settings={"windows": [WINDOW, *OTHERS, SMALL], "filled": np.round(FILLED, 2)},
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"five rates": ("*",)},
    captions={
        "five rates": "Figure 21: goodputs of five flows by the first window; crosses are the authors' run."
    },
)
