"""Tables 3.4 and 4.2: completion times, utilisation and loss of short flows beside two long ones."""

import polars as pl
from shallows.figures import forest
from shallows.statistics.estimates import mean_ci
from shallows.studies.paper.claims import is_below

from ..common import NAMES, at_link, bottleneck, difference, mg1_rows, one, responses

PER_SECOND = 500
PUBLISHED_MS = {"SACK drop-tail": 12, "SACK + RED/ECN": 42.4, "SDC": 2.6, "RACS": 2, "RCP": 2.67}
"""Tables 3.4 and 4.2."""
CAPTIONS = {
    "completion": "Tables 3.4 and 4.2: mean completion time of a response; crosses are the published values.",
    "queue": "Figures 3.12 and 4.9: mean queue at the receiver's port.",
}
FOLDED = ("queue",)


def mix(tables):
    """The receiver's port and the responses."""
    return bottleneck(tables) | responses(tables)


def references(runs):
    """Mean times in ms under SRPT, PS and FB: of the first transport's responses, and of M/G/1."""
    found = {}
    for run in runs.where(runs[0].spec):
        for name, each in at_link(run.tables["messages"].filter(pl.col("traffic") == "short")).items():
            found.setdefault(f"{name} at the link", []).append(float(each.mean()))
    return {name: mean_ci(values) for name, values in found.items()} | mg1_rows("mix", PER_SECOND)


SHOWS = {
    "completion": ("afct-*", "*-before-*", "ecn-slower"),
    "Short flows beside two long ones: times in ms, rest in per cent and packets": (
        "utilisation-*",
        "loss-*",
    ),
}


def measure(runs):
    frame = runs.frame(mix)
    measured = {}
    for name in ("sack", "red", "sdc", "racs", "rcp"):
        for column in ("afct", "utilisation", "loss"):
            measured[f"{column}-{name}"] = one(frame, column, spec=name)
    measured["ecn-slower"] = is_below(difference(frame, "afct", "sack", "red"), 0, "ms")
    for better, worse in (("sdc", "sack"), ("racs", "sdc"), ("racs", "rcp")):
        less = difference(frame, "afct", better, worse)
        measured[f"{better}-before-{worse}"] = is_below(less, 0, "ms")
    return measured


def draw(runs, reference):
    frame = runs.frame(mix)
    ids = [name for name in NAMES if name in frame["spec"].unique()]
    times = {NAMES[name]: one(frame, "afct", spec=name) for name in ids} | references(runs)
    queues = {NAMES[name]: one(frame, "queue", spec=name) for name in ids}
    return {
        "completion": forest.draw(
            forest.info({"": times}, "mean completion time of a response (ms)", None),
            published=[PUBLISHED_MS.get(row) for row in times],
        ),
        "queue": forest.draw(forest.info({"": queues}, "mean queue (packets)", None)),
    }


def tables(runs):
    frame = runs.frame(mix)
    rows = []
    for name in (name for name in NAMES if name in frame["spec"].unique()):
        row = {"transport": NAMES[name]}
        for column in ("afct", "p99", "utilisation", "loss", "queue"):
            row[column] = str(one(frame, column, spec=name))
        rows.append(row)
    lines = [{"transport": name, "afct": str(e)} for name, e in references(runs).items()]
    columns = list(rows[0])
    rows += [{column: line.get(column, "-") for column in columns} for line in lines]
    return {"Short flows beside two long ones: times in ms, rest in per cent and packets": pl.DataFrame(rows)}
