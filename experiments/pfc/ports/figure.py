"""Shares of a port under flow control: by ports with PFC alone, by flows with DCQCN."""

import polars as pl
from shallows.studies import Figure
from shallows.studies.paper.claims import every, is_below
from shallows.studies.paper.kit import Rows

from ..common import ALONE, BACKENDS, DCQCN, RATE_BPS, SCHEMES, rates

FAR = {1: "a0", 2: "a0..a1", 3: "a0..a2", 7: "a0..a6"}
"""Hosts behind the far port, by their number."""


def frame_of(runs):
    """The runs with the number of far hosts, and the near host's advantage."""
    count = {name: n for n, name in FAR.items()}
    frame = runs.frame(rates)
    return frame.with_columns(
        hosts=pl.col("from").replace_strict(count, return_dtype=pl.Int64),
        share=pl.col("near") * 1e9 / RATE_BPS,
        each=pl.col("far") * 1e9 / RATE_BPS,
    )


def measure(runs):
    frame = frame_of(runs)
    found = {}
    present = sorted(frame["hosts"].unique())
    for n in present:
        for key, title in (("port", ALONE), ("flow", DCQCN)):
            found[f"{key}-near-{n}"] = Rows(frame).estimate("share", title=title, hosts=n)
            found[f"{key}-far-{n}"] = Rows(frame).estimate("each", title=title, hosts=n)
    found["lossless"] = every(
        is_below(Rows(frame).estimate("lost", hosts=n), 0.5, "packets") for n in present
    )
    return found


def draw(runs, reference):
    from shallows.figures import relation

    rows = Rows(frame_of(runs))
    many = sorted(FAR)
    panels = {}
    for title, near, far in (
        (ALONE, [20.0 for _ in many], [20.0 / n for n in many]),
        (DCQCN, [40.0 / (n + 1) for n in many], [40.0 / (n + 1) for n in many]),
    ):
        mine = {name: rows.curve(name, "hosts", title=title)[title] for name in ("near", "far")}
        lines = {"near, closed form": (many, near), "far, closed form": (many, far)}
        names = {"near": "near host", "far": "each far host"}
        panels[title] = relation.panel(
            {names[k]: v for k, v in mine.items()}, ("hosts behind the far port", "rate (Gb/s)"), lines
        )
    return {"shares by the number of far hosts": relation.draw(panels, "o", sharey=True)}


def tables(runs):
    return {
        "Rates in Gb/s, pauses and losses": Rows(frame_of(runs)).table(
            ["near", "far", "pauses", "lost"], ["title", "hosts"]
        )
    }


FIGURE = Figure(
    specs={
        "spec": (
            "spec.toml",
            {"sweep.grid": {"traffic.far.from": list(FAR.values())}, "sweep.points": SCHEMES},
        )
    },
    settings={"far hosts": list(FAR)},
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"shares by the number of far hosts": ("*",)},
    captions={
        "shares by the number of far hosts": "Rate of the near host and of each far one. Lines are the "
        "closed forms: half of the link for each port, and an equal part of it for each flow."
    },
)
