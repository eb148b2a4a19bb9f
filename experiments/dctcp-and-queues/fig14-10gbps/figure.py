"""Throughput against K at 10 Gb/s, with and without the senders' bursts."""

from shallows.statistics.estimates import mean_ci, paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import is_above, is_below
from shallows.studies.paper.kit import Rows

from ..common import SPEC, bdp, scheme, seen, star, step

KS = [5, 8, 12, 20, 30, 40, 50, 65, 80]
BURSTS = {1: "packet by packet", 8: "bursts of 8", 16: "bursts of 16", 44: "bursts of 44 (64 KB)"}
FULL = 0.995
LINE = bdp(10e9, 100) / 7


def frame_of(runs):
    """The runs with bursts and K in columns."""
    import polars as pl

    parts = pl.col("title").str.split("|").list
    return runs.frame(seen).with_columns(sender=parts.get(0), k=parts.get(1).cast(pl.Int64))


def least_k(frame, sender):
    """Seed by seed the least K from which on the link is full; beyond the last if none is."""
    found = []
    mine = Rows(frame).at(sender=sender).frame
    for seed in mine["seed"].unique().sort():
        rows = mine.filter(mine["seed"] == seed).sort("k")
        below = [k for k, t in zip(rows["k"], rows["throughput"], strict=True) if t < FULL]
        above = [k for k in rows["k"].to_list() if not below or k > max(below)]
        found.append(float(min(above)) if above else 1.25 * KS[-1])
    return found


def measure(runs):
    frame = frame_of(runs)
    least = {burst: least_k(frame, name) for burst, name in BURSTS.items()}
    found = {f"least-{burst}": mean_ci(seeds) for burst, seeds in least.items()}
    found["packets-suffice"] = is_below(mean_ci(least[1]), 2 * LINE, unit=f"packets, C RTT / 7 = {LINE:.1f}")
    found["bursts-raise"] = is_above(paired_difference(least[44], least[1]), unit="packets of K")
    for burst in (1, 44):
        found[f"full-65-{burst}"] = Rows(frame).estimate("throughput", sender=BURSTS[burst], k=65)
    return found


def draw(runs, reference):
    from shallows.figures import curves

    rows = Rows(frame_of(runs))
    panels = {
        "throughput": curves.Panel(
            rows.curve("throughput", "k", "sender"), "share of the rate", lines={"": FULL}
        ),
        "swing of the queue": curves.Panel(
            rows.curve("swing", "k", "sender"), "1st to 99th percentile (packets)"
        ),
        "time empty": curves.Panel(rows.curve("empty", "k", "sender"), "share of time"),
        "mean queue": curves.Panel(rows.curve("mean", "k", "sender"), "mean (packets)"),
    }
    return {
        f"10 Gb/s, RTT 100 us, C RTT / 7 = {LINE:.0f}": curves.draw(
            curves.info(panels, "K (packets)", log_x=True)
        )
    }


def tables(runs):
    names = ["throughput", "mean", "swing", "empty", "marks", "alpha"]
    return {"By bursts and K": Rows(frame_of(runs)).table(names, ["sender", "k"])}


FIGURE = Figure(
    specs={
        "spec": (
            SPEC,
            star(2, "10Gbps", "100us", "10Gbps")
            | {
                "duration": "120ms",
                "warmup": "40ms",
                "seeds": 6,
                "traffic.long.jitter": "1ms",
                "probe.queue_trace": "off",
                "sweep.points": [
                    scheme(f"{name}|{k}", "dctcp", step(k, 600)) | {"transport.burst": burst}
                    for burst, name in BURSTS.items()
                    for k in KS
                ],
            },
        )
    },
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"By bursts and K": ("*",)},
)
