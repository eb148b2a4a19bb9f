"""Whether Prague behind DualPI2 shares fairly with Cubic at link rates from 4 Mb/s to 1 Gb/s."""

import polars as pl
from shallows.statistics.estimates import mean_ci
from shallows.studies import Figure
from shallows.studies.paper.claims import every, is_above, is_below, is_within, some

from ..common import BACKENDS, CUBIC, DCTCP, cell

MBPS = [4, 12, 40, 120, 400, 1000]
FASTEST = MBPS[-1]
RTTS_MS = [10, 40]
RATE, DELAY = "topology.rate", "topology.delay"
FAIR = {"tolerance": 0.75, "of": 1.25}  # 0.5 to 2
SENDERS = {
    "prague": ("Prague, DualPI2", {"cc": "prague", "cwnd_floor": "2pkt"}, "ect1"),
    "dctcp": ("DCTCP, DualPI2", {"cc": "dctcp", "cwnd_floor": "2pkt"}, "any_ect"),
}
RUNS = {
    "duration": "100s",
    "warmup": "20s",
    "seeds": 4,
    "topology.sender_rate": "10Gbps",
    # Senders of today: the slides' are those of Linux 3.18, whose loss recovery is older than Prague.
    "transport": {"profile": "linux", "cc": "cubic"},
    "sweep": {
        "grid": {
            RATE: [f"{rate}Mbps" for rate in MBPS],
            DELAY: [f"{250 * rtt}us" for rtt in RTTS_MS],
            CUBIC: [1],
            DCTCP: [1],
        },
    },
}


def spec(transport, classify):
    """One Cubic flow beside one with this transport, behind DualPI2 with the defaults of RFC 9332."""
    return RUNS | {
        "queue": {"kind": "dualpi2", "classify": classify},
        "traffic.dctcp.transport": transport,
    }


def by_rate(runs, sender, rtt, column="ratio"):
    """A column of `cell` by the link's rate in Mb/s: the mean over the seeds, with its interval."""
    here = (pl.col("spec") == sender) & (pl.col("delay") == f"{250 * rtt}us")
    frame = runs.frame(cell).filter(here)
    rate = pl.col("rate").str.strip_suffix("Mbps").cast(pl.Float64).alias("mbps")
    by = frame.with_columns(rate).sort("mbps", "seed").partition_by("mbps", as_dict=True)
    return {rate: mean_ci(part[column].fill_null(0.0).to_list()) for (rate,), part in by.items()}


def told(by):
    """The values by link rate, for notes."""
    return ", ".join(f"{rate:g} Mb/s {estimate.value:.2f}" for rate, estimate in by.items())


def fair(by):
    """Whether the ratio is within a factor of two at every rate."""
    return every((is_within(e, FAIR["tolerance"], of=FAIR["of"]) for e in by.values()), told(by))


def apart(by):
    """Whether the ratio is outside a factor of two at some rate."""
    return some((part for e in by.values() for part in (is_below(e, 0.5), is_above(e, 2.0))), told(by))


def measure(runs):
    found = {}
    for rtt in RTTS_MS:
        prague, dctcp = (by_rate(runs, sender, rtt) for sender in SENDERS)
        wait = by_rate(runs, "prague", rtt, "dctcp_wait_ms")
        fast = {rate: e for rate, e in wait.items() if rate >= 40}
        found[f"fair-{rtt}"] = fair({rate: e for rate, e in prague.items() if rate < FASTEST})
        if FASTEST in prague:
            found[f"fair-{rtt}-1Gbps"] = fair({FASTEST: prague[FASTEST]})
        found[f"dctcp-apart-{rtt}"] = apart(dctcp)
        found[f"waits-{rtt}"] = every((is_below(e, 1.0) for e in fast.values()), told(fast))
    slow = by_rate(runs, "prague", 10, "dctcp_wait_ms")
    found["waits-at-4"] = is_above(slow[4.0], 1.0, "ms")
    return found


def draw(runs, reference):
    from shallows.figures import relation

    lines = {
        f"{title}, {rtt} ms": (sender, rtt) for sender, (title, *_) in SENDERS.items() for rtt in RTTS_MS
    }
    ratio = relation.panel(
        {name: by_rate(runs, *of) for name, of in lines.items()},
        ("link (Mb/s)", "Cubic / the other, per flow"),
        levels={"2": 2, "equal": 1, "1/2": 0.5},
        log="xy",
    )
    wait = relation.panel(
        {name: by_rate(runs, *of, "dctcp_wait_ms") for name, of in lines.items()},
        ("link (Mb/s)", "mean wait of the other (ms)"),
        log="xy",
    )
    return {"ratio and wait against the link's rate": relation.draw({"rates": ratio, "waits": wait})}


def tables(runs):
    columns = {
        "ratio": "Cubic / other",
        "cubic_wait_ms": "Cubic's wait (ms)",
        "dctcp_wait_ms": "its wait (ms)",
        "utilisation": "link used",
    }
    rows = []
    for sender, (title, *_) in SENDERS.items():
        for rtt in RTTS_MS:
            found = {name: by_rate(runs, sender, rtt, column) for column, name in columns.items()}
            rows += [
                {"sender and queue": title, "base RTT (ms)": rtt, "link (Mb/s)": rate}
                | {name: str(by[rate]) for name, by in found.items()}
                for rate in found["Cubic / other"]
            ]
    return {"Means over the seeds [95 % interval]": pl.DataFrame(rows)}


FIGURE = Figure(
    specs={
        name: ("../grid-dualq/spec.toml", spec(transport, classify))
        for name, (_, transport, classify) in SENDERS.items()
    },
    beyond=True,
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"ratio and wait against the link's rate": ("*",)},
    captions={
        "ratio and wait against the link's rate": "Cubic's goodput over the other sender's, and the other's "
        "mean wait, against the link's rate: one flow of each."
    },
)
