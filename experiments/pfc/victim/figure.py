"""A victim of flow control: its rate by the width of an incast that it has nothing to do with."""

import polars as pl
from shallows.statistics.estimates import mean_ci
from shallows.studies import Figure
from shallows.studies.paper.claims import every, is_below
from shallows.studies.paper.kit import Rows
from shallows.theory.dcqcn import Loop, fixed_point

from ..common import ALONE, BACKENDS, DCQCN, FRAME, RATE_BPS, SCHEMES, rates

WIDTHS = {1: "i0", 2: "i0..i1", 3: "i0..i2", 7: "i0..i6"}
"""Senders behind the right switch, by their number."""

_PACKETS = RATE_BPS / 8 / FRAME
_LOOP = Loop(1, 0.0, _PACKETS, 5e3 / FRAME, 2e5 / FRAME, 0.01, 40e6 / 8 / FRAME, counter=1e7 / FRAME)


def marks(share):
    """The probability of a mark at which a DCQCN flow rests at a share of the link (Zhu 2016 eq. (9))."""
    return fixed_point(_LOOP._replace(flows=1 / share))[0]


def resting(m):
    """Shares of the victim and of the flow on its cable: the latter is marked at both ports.

    Both links are full: 1 - s beside the victim's, and (1 - s) / M for each other sender. By bisection.
    """
    low, high = 0.01, 0.6
    for _ in range(40):
        s = (low + high) / 2
        rises = marks(s) > marks(1 - s) + marks((1 - s) / m)
        low, high = (s, high) if rises else (low, s)
    return 1 - s, s


def frame_of(runs):
    """The runs with the width of the incast, and rates as shares of a link."""
    count = {name: n for n, name in WIDTHS.items()}
    frame = runs.frame(rates)
    return frame.with_columns(
        senders=pl.col("from").replace_strict(count, return_dtype=pl.Int64),
        of_victim=pl.col("victim") * 1e9 / RATE_BPS,
    )


def measure(runs):
    frame = frame_of(runs)
    found = {}
    present = sorted(frame["senders"].unique())
    for m in present:
        found[f"alone-{m}"] = Rows(frame).estimate("of_victim", title=ALONE, senders=m)
        found[f"dcqcn-{m}"] = mean_ci(
            Rows(frame).samples("of_victim", title=DCQCN, senders=m) / resting(m)[0]
        )
        found[f"gains-{m}"] = Rows(frame).estimate("of_victim", title=DCQCN, senders=m)
    found["lossless"] = every(
        is_below(Rows(frame).estimate("lost", senders=m), 0.5, "packets") for m in present
    )
    return found


def draw(runs, reference):
    from shallows.figures import relation

    rows = Rows(frame_of(runs))
    many = sorted(WIDTHS)
    fair = [40.0 / (m + 1) for m in many]
    resting_gbps = [[40.0 * share for share in shares] for shares in zip(*map(resting, many), strict=True)]
    panels = {}
    for title, forms in (
        (ALONE, {"both, closed form": fair}),
        (DCQCN, {"victim, closed form": resting_gbps[0], "other, closed form": resting_gbps[1]}),
    ):
        mine = {name: rows.curve(name, "senders", title=title)[title] for name in ("victim", "shared")}
        names = {"victim": "victim", "shared": "flow on its cable"}
        panels[title] = relation.panel(
            {names[k]: v for k, v in mine.items()},
            ("other senders of the incast", "rate (Gb/s)"),
            {name: (many, line) for name, line in forms.items()},
        )
    return {"the victim by the width of the incast": relation.draw(panels, "o", sharey=True)}


def tables(runs):
    return {
        "Rates in Gb/s, pauses and losses": Rows(frame_of(runs)).table(
            ["victim", "shared", "incast", "pauses", "lost"], ["title", "senders"]
        )
    }


FIGURE = Figure(
    specs={
        "spec": (
            "spec.toml",
            {"sweep.grid": {"traffic.incast.from": list(WIDTHS.values())}, "sweep.points": SCHEMES},
        )
    },
    settings={"senders": list(WIDTHS)},
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"the victim by the width of the incast": ("*",)},
    captions={
        "the victim by the width of the incast": "Rate of the victim, and of the flow that shares its cable. "
        "Lines are the closed forms: with M other senders C / (M + 1) for both under flow control alone, "
        "and the resting rates of DCQCN where the other flow is marked at two ports and the victim at one."
    },
)
