"""Figure 3: delay of short flows over ns and nl at g = 0.095, published beside ours."""

import polars as pl
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured

from ..common import published

SPECS = {"spec": ("../fig2/spec.toml", {'sweep.grid."transport.cc.g"': [0.095]})}
REFERENCE = "../fig2/reference.csv"
OURS, THEIRS, LABEL, DIGITS = "short_us", "queue_wait_short_us", "mean wait of short flows (us)", 1


def measure(runs):
    at = runs.frame(published).sort("short_us")
    ends = at.filter(pl.col("nl").is_in([0.5, 1.0])).pivot("nl", index="ns", values="short_us")
    chosen = at.filter(pl.col("ns") == 0.4, pl.col("nl") == 1.0).to_dicts()[0]
    falls = (ends["1.0"] < ends["0.5"]).to_list()
    return {
        "least": Measured(
            chosen["short_us"] <= at["short_us"][0] + runs.reading["least"],
            note=f"ours: ns {at['ns'][0]}, nl {at['nl'][0]}",
        ),
        "falls-with-nl": Measured(all(falls), note=f"for {sum(falls)} of {len(falls)} values of ns"),
    }


def draw(runs, reference, ours=OURS, theirs=THEIRS, label=LABEL, digits=DIGITS):
    from shallows.figures import surface

    at = {
        "published": reference.filter(pl.col("g") == 0.095).rename({theirs: "value"}),
        "ours": runs.frame(published).rename({ours: "value"}),
    }
    return {"surface": surface.draw(surface.info(at, "nl", "ns", "value", ("nl", "ns", label)), digits)}


FIGURE = Figure(
    specs=SPECS,
    reference=REFERENCE,
    measure=measure,
    draw=draw,
    shows={"surface": ("*",)},
    captions={
        "surface": "Figure 3 of the document: wait of short flows over ns and nl at the optimum's g, "
        "published and ours."
    },
)
