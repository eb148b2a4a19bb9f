"""Which sender and which queue share fairly with Cubic at base round trips from 1 to 100 ms."""

import polars as pl
from shallows.statistics.estimates import mean_ci
from shallows.studies import Figure
from shallows.studies.paper.claims import every, is_above, is_below, is_within, some

from ..common import BACKENDS, CUBIC, DCTCP, cell

RTTS_MS = [1, 2, 4, 8, 16, 40, 100]
FAIR = {"tolerance": 0.75, "of": 1.25}  # 0.5 to 2
DUALPI2 = {"kind": "dualpi2", "classify": "any_ect"}
OTHER = "traffic.dctcp.transport"
PRAGUE = {OTHER: {"cc": "prague", "cwnd_floor": "2pkt"}}
ECN_CUBIC = {OTHER: {"cc": "cubic", "ecn": "on"}}
RUNS = {
    "duration": "125s",
    "seeds": 4,
    "sweep": {
        "grid": {"topology.delay": [f"{250 * rtt}us" for rtt in RTTS_MS], CUBIC: [3], DCTCP: [3]},
    },
}
PAIRS = {
    "slides": ("DCTCP, slides' DualQ", {}),
    "prague": ("Prague, DualPI2", PRAGUE | {"queue": DUALPI2 | {"classify": "ect1"}}),
    "prague-dualq": ("Prague, slides' DualQ", PRAGUE),
    "dctcp-dualpi2": ("DCTCP, DualPI2", {"queue": DUALPI2}),
    "ecn-cubic": ("ECN Cubic, slides' DualQ", ECN_CUBIC),
    "fallback": ("fallback: ECN Cubic, DualPI2", ECN_CUBIC | {"queue": DUALPI2 | {"classify": "ect1"}}),
}


def at_rtts(runs, pair, column="ratio"):
    """A column of `cell` by the base RTT in ms: the mean over the seeds, with its interval."""
    frame = runs.frame(cell).filter(pl.col("spec") == pair)
    rtt = (pl.col("delay").str.strip_suffix("us").cast(pl.Float64) * 4 / 1000).alias("base_rtt_ms")
    by = frame.with_columns(rtt).sort("base_rtt_ms", "seed").partition_by("base_rtt_ms", as_dict=True)
    return {rtt: mean_ci(part[column].fill_null(0.0).to_list()) for (rtt,), part in by.items()}


def told(by):
    """The values by base RTT, for notes."""
    return ", ".join(f"{rtt:g} ms {estimate.value:.2f}" for rtt, estimate in by.items())


def fair(by):
    """Whether the ratio is within a factor of two at every base RTT."""
    return every((is_within(e, FAIR["tolerance"], of=FAIR["of"]) for e in by.values()), told(by))


def apart(by):
    """Whether the ratio is outside a factor of two at some base RTT."""
    return some((part for e in by.values() for part in (is_below(e, 0.5), is_above(e, 2.0))), told(by))


def measure(runs):
    by = {pair: at_rtts(runs, pair) for pair in PAIRS}
    waits = {pair: at_rtts(runs, pair, "dctcp_wait_ms") for pair in ("slides", "prague", "fallback")}
    near = {rtt: e for rtt, e in by["slides"].items() if rtt in (8, 16)}
    return {
        "prague-everywhere": fair(by["prague"]),
        "slides-near": fair(near),
        "slides-far": apart(by["slides"]),
        "prague-alone": apart(by["prague-dualq"]),
        "dualpi2-alone": apart(by["dctcp-dualpi2"]),
        "prague-wait": every((is_below(e, 1.0) for e in waits["prague"].values()), told(waits["prague"])),
        "ecn-cubic-low": every(
            (is_above(e, 2.0) for rtt, e in by["ecn-cubic"].items() if rtt >= 8), told(by["ecn-cubic"])
        ),
        "fallback-fair": fair(by["fallback"]),
        "fallback-wait": every(
            (is_above(e, 10.0) for e in waits["fallback"].values()), told(waits["fallback"])
        ),
    }


def draw(runs, reference):
    from shallows.figures import relation

    ratio = relation.panel(
        {
            title: {k: e for k, e in at_rtts(runs, pair).items() if e.value > 0.01}
            for pair, (title, _) in PAIRS.items()
        },
        ("base RTT (ms)", "Cubic / the other, per flow"),
        levels={"2": 2, "equal": 1, "1/2": 0.5},
        log="xy",
    )
    wait = relation.panel(
        {title: at_rtts(runs, pair, "dctcp_wait_ms") for pair, (title, _) in PAIRS.items()},
        ("base RTT (ms)", "mean wait of the other (ms)"),
        log="xy",
    )
    return {"ratio and wait against base RTT": relation.draw({"rates": ratio, "waits": wait})}


def tables(runs):
    columns = {
        "ratio": "Cubic / other",
        "cubic_wait_ms": "Cubic's wait (ms)",
        "dctcp_wait_ms": "its wait (ms)",
    }
    rows = []
    for pair, (title, _) in PAIRS.items():
        found = {name: at_rtts(runs, pair, column) for column, name in columns.items()}
        rows += [
            {"sender and queue": title, "base RTT (ms)": rtt}
            | {name: str(by[rtt]) for name, by in found.items()}
            for rtt in found["Cubic / other"]
        ]
    return {"Means over the seeds [95 % interval]": pl.DataFrame(rows)}


FIGURE = Figure(
    specs={pair: ("../grid-dualq/spec.toml", RUNS | changes) for pair, (_, changes) in PAIRS.items()},
    beyond=True,
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"ratio and wait against base RTT": ("*",)},
    captions={
        "ratio and wait against base RTT": "Cubic's goodput over the other sender's, and the other's mean "
        "wait, against the base round trip: three flows of each."
    },
)
