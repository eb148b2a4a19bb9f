"""Lossless at the headroom's bound and not a byte below it; and how near an incast comes to the bound."""

import polars as pl
from shallows.statistics.estimates import Estimate
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured
from shallows.studies.paper.kit import Rows
from shallows.theory import evaluate

from ..common import BACKENDS, FRAME

RESPONSES_NS = (0, 1200, 2400)
AWAY = (-1500, -1000, -500, -100, -1, 0, 1, 500)
"""Bytes between the headroom and its bound."""
DELAYS_NS = (100, 500, 1000, 2000, 5000, 10_000)
RETH = 16  # of a message's first packet, beside a full one's bytes


def bound(rate, delay, response, mtu):
    """Bytes of headroom that lose nothing: `./shallows theory headroom`."""
    inputs = [f"rate={rate}", f"delay={delay}", f"response={response}", f"mtu={mtu}B"]
    return int(evaluate("headroom", inputs)["outputs"]["headroom_bytes"])


BOUNDS = {ns: bound("10Gbps", "566401ps", f"{ns}ns", 1500) for ns in RESPONSES_NS}


def lost(tables):
    """Packets lost, and bytes of headroom that were used: of `s0`'s account, and of the fullest."""
    pauses = tables["pauses"].filter(pl.col("is_switch") == 1)
    worst = pauses.filter(pl.col("port") == "switch->s0")["max_headroom_bytes"].item()
    drops = int(tables["queues"]["drops"].sum())
    return {"drops": drops, "used": worst, "most": pauses["max_headroom_bytes"].max()}


def worst_case(runs):
    """The worst schedule's runs, with the response and the distance to the bound in columns."""
    parts = pl.col("title").str.split("|").list
    return (
        runs.where("spec")
        .frame(lost)
        .with_columns(response=parts.get(0).cast(pl.Int64), away=parts.get(1).cast(pl.Int64))
    )


def crowd(runs):
    """The incasts, with the delay in ns, and the share of the bound that was used."""
    frame = runs.where("crowd").frame(lost)
    delay = pl.col("delay").str.strip_suffix("ns").cast(pl.Int64)
    bounds = {ns: bound("100Gbps", f"{ns}ns", "0s", FRAME + RETH) for ns in DELAYS_NS}
    frame = frame.with_columns(delay_ns=delay, bound=delay.replace_strict(bounds, return_dtype=pl.Int64))
    return frame.with_columns(share=pl.col("most") / pl.col("bound"))


def measure(runs):
    worst, many = worst_case(runs), crowd(runs)
    found = {}
    for ns in RESPONSES_NS:
        at_bound = worst.filter(response=ns, away=0)
        found[f"used-{ns}"] = Measured(at_bound["used"].item(), n_seeds=0)
    enough = worst.filter(pl.col("away") >= 0)
    short = worst.filter(pl.col("away") == -1)
    found["at-the-bound"] = Measured(enough["drops"].sum() == 0, n_seeds=0, note=_said(enough))
    found["below-the-bound"] = Measured(bool((short["drops"] > 0).all()), n_seeds=0, note=_said(short))
    found["crowd-lossless"] = Measured(many["drops"].sum() == 0, note=_said(many))
    greatest = many.sort("share").tail(1)
    share, delay = greatest["share"].item(), greatest["delay_ns"].item()
    found["crowd-share"] = Measured(
        share, many["share"].min(), share, note=f"the most at cables of {delay} ns", range=True
    )
    return found


def _said(frame):
    return f"{frame['drops'].sum()} packets lost in {len(frame)} runs"


def draw(runs, reference):
    from shallows.figures import relation

    worst, many = worst_case(runs), crowd(runs)
    labels = ("headroom less its bound (bytes)", "packets lost")
    losses = {
        f"response {ns} ns": relation.panel(
            {"lost": list(worst.filter(response=ns).sort("away").select("away", "drops").iter_rows())},
            labels,
            places={"bound": 0},
        )
        for ns in RESPONSES_NS
    }
    used = {ns: _in_kb(Rows(many).estimate("most", delay_ns=ns)) for ns in sorted(many["delay_ns"].unique())}
    bounds = [bound("100Gbps", f"{ns}ns", "0s", FRAME + RETH) / 1e3 for ns in DELAYS_NS]
    most = relation.panel(
        {"used": used}, ("delay of a cable (ns)", "headroom (KB)"), {"bound": (DELAYS_NS, bounds)}, log="xy"
    )
    return {
        "losses about the bound": relation.draw(losses, "o", sharey=True),
        "headroom that an incast uses": relation.draw({"": most}, "o"),
    }


def _in_kb(found):
    return Estimate(
        found.value / 1e3, *(None if e is None else e / 1e3 for e in (found.low, found.high)), found.n
    )


def tables(runs):
    columns = ["response", "away", "drops", "used"]
    return {
        "The worst schedule": worst_case(runs).select(columns),
        "Incasts": Rows(crowd(runs)).table(["most", "bound", "share", "drops"], ["delay"]),
    }


FIGURE = Figure(
    specs={
        "spec": (
            "spec.toml",
            {
                "sweep.points": [
                    {
                        "title": f"{ns}|{away}",
                        "port.*->*.pfc_response": f"{ns}ns",
                        "port.switch->s*.pfc_headroom": f"{BOUNDS[ns] + away}B",
                    }
                    for ns in RESPONSES_NS
                    for away in AWAY
                ]
            },
        ),
        "crowd": ("crowd.toml", {"sweep.grid": {"topology.delay": [f"{ns}ns" for ns in DELAYS_NS]}}),
    },
    settings={
        "responses": [f"{ns}ns" for ns in RESPONSES_NS],
        "away": AWAY,
        "delays": DELAYS_NS,
        "XOFF": "30000",
    },
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={
        "losses about the bound": ("used-*", "at-the-bound", "below-the-bound"),
        "headroom that an incast uses": ("crowd-*",),
    },
    captions={
        "losses about the bound": "Packets that the worst schedule loses, by the bytes between the headroom "
        "and its bound, for three response times of the neighbour.",
        "headroom that an incast uses": "The most headroom that one account used, sixteen senders at line "
        "rate, by the delay of their cables; the line is the bound.",
    },
)
