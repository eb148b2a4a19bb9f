"""A ring all-reduce of 64 cards without loss and with it: MRC beside RoCE with one to sixteen queue pairs."""

import numpy as np
import polars as pl
from shallows.statistics.estimates import mean_ci, paired_change, paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import every, is_above, is_below
from shallows.studies.paper.kit import Rows

from ..common import BACKENDS, PAIRS, line

RANKS, GBPS = 64, 400
LOSSES = {"0": 0.0, "0.1": 0.001, "1": 0.01}
"""Losses in per cent, as titles have them."""
IMPACT, GAIN, UNUSABLE = 0.1, 0.1, 0.1
"""Bounds for words: a little impact and a little gain are a tenth at most, and unusable is below a tenth."""
MRC = "MRC"
SCHEMES = [MRC, *(f"RoCE, {words}" for words in PAIRS.values())]


def lossy(title, losses, **more):
    """A point for each loss."""
    return [
        {"title": title, "port.h*->*.loss": LOSSES[name]} | {f"transport.{k}": v for k, v in more.items()}
        for name in losses
    ]


def roce(losses):
    return [point for count, words in PAIRS.items() for point in lossy(f"RoCE, {words}", losses, qps=count)]


def neighbours(placement):
    """The ring of long flows: senders and receivers in its order. Eight hosts stand below each leaf."""
    order = [f"h{8 * leaf + place}" for place in range(8) for leaf in range(8)]
    if placement != "striped":
        raise ValueError(f"long flows stand for a striped ring alone, not for {placement}")
    return order, order[1:] + order[:1]


def specs(reading):
    job = {"traffic.job.placement": reading["placement"]}
    mrc = job
    if reading["size"] == "long":
        senders, receivers = neighbours(reading["placement"])
        flows = {"kind": "bulk", "from": senders, "to": receivers, "pattern": "pairs", "jitter": "1us"}
        mrc = {"traffic.job": flows, "duration": "5ms", "warmup": "2ms"}
    return {
        "mrc": ("mrc.toml", mrc | {"sweep.points": lossy(MRC, LOSSES)}),
        "roce": ("roce.toml", job | {"sweep.points": roce(["0"])}),
        "lossy": ("roce.toml", job | {"sweep.points": roce(["0.1", "1"])}),
    }


def seen(tables):
    """Goodput on each ring link in Gb/s, its share of what the empty network allows, and repairs.

    An operation that does not end has a share of zero. Of long flows the slowest one counts, since a ring
    waits for it.
    """
    flows, rounds, ports = tables["flows"], tables["rounds"], tables["queues"]
    found = {
        "timeouts": int(flows["timeouts"].sum()),
        "again": int(flows["retransmissions"].sum()),
        "trimmed": int(ports["trims"].sum()),
        "overflowed": int(ports["drops"].sum()),
    }
    if rounds.is_empty():
        slowest = float(flows["goodput_bps"].min()) / 1e9
        return found | {"gbps": slowest, "share": slowest / line(GBPS), "ms": None}
    took = rounds["fct_ps"][0]
    if took is None:
        return found | {"gbps": 0.0, "share": 0.0, "ms": None}
    gbps = rounds["bytes"][0] / RANKS * 8000 / took
    return found | {"gbps": gbps, "share": 1 / rounds["slowdown"][0], "ms": took / 1e9}


def frame_of(runs):
    """The runs, with the loss in per cent."""
    names = {value: name for name, value in LOSSES.items()}
    return runs.frame(seen).with_columns(percent=pl.col("loss").replace_strict(names, return_dtype=pl.String))


def measure(runs):
    rows = Rows(frame_of(runs))

    def share(title, percent):
        return rows.samples("share", title=title, percent=percent)

    one, eight, sixteen = SCHEMES[1:]
    gbps = {title: rows.samples("gbps", title=title, percent="0") for title in SCHEMES}
    kept = {title: share(title, "0.1") / share(title, "0") for title in SCHEMES}
    seeds = len(gbps[sixteen])  # MRC has more, which alone decide its own claims
    return {
        "one-pair": mean_ci(share(one, "0")),
        "beyond-8": is_below(paired_change(gbps[sixteen], gbps[eight]), GAIN, "of the goodput with 8 pairs"),
        "beats-16": is_above(
            paired_change(gbps[MRC][:seeds], gbps[sixteen]), 0, "of the goodput with 16 pairs"
        ),
        "resilient": every(
            is_above(paired_difference(kept[MRC][:seeds], kept[title]), 0, "of the own goodput")
            for title in SCHEMES[1:]
        ),
        "little": is_above(paired_change(share(MRC, "0.1"), share(MRC, "0")), -IMPACT, "of the goodput"),
        "third": mean_ci(share(MRC, "1")),
        "unusable": every(
            is_below(mean_ci(share(title, "1")), UNUSABLE, "of the ideal") for title in SCHEMES[1:]
        ),
    }


def draw(runs, reference):
    from shallows.figures import forest

    rows = Rows(frame_of(runs))
    series = {
        f"{percent} % loss": {
            title: mean_ci(100 * np.asarray(rows.samples("share", title=title, percent=percent)))
            for title in SCHEMES
        }
        for percent in LOSSES
    }
    label = "throughput (% of what the empty network allows)"
    return {"throughput": forest.draw(forest.info(series, label, reference=None))}


def tables(runs):
    columns = ["gbps", "share", "ms", "timeouts", "again", "trimmed", "overflowed"]
    return {"Means over the seeds": Rows(frame_of(runs)).table(columns, ["title", "percent"])}


FIGURE = Figure(
    specs=specs,
    settings={"ranks": RANKS, "pairs": list(PAIRS)},
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"throughput": ("*",)},
    captions={
        "throughput": "A ring all-reduce of 64 cards: its throughput over that of the empty network, by the "
        "loss on all planes, with 95 % intervals over seeds."
    },
)
