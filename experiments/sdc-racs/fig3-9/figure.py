"""Figures 3.9, 3.10, 4.6, 4.7: completion time of incast responses and loss, by the number of servers."""

import itertools

import numpy as np
import polars as pl
from shallows.figures import curves
from shallows.statistics.estimates import mean_ci
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, every, is_above, is_below, is_within
from shallows.studies.paper.kit import Rows
from shallows.studies.paper.variants import read_variants
from shallows.theory import disciplines

from ..common import CHAPTER_3, CHAPTER_4, HEADS, NAMES, bottleneck, difference, responses

ALIKE = 0.1
LEAST_LOSS = 0.01
"""In per cent, where a logarithmic axis of losses begins."""
RESPONSE_BYTES = 25_000
RESPONSE_RATE_MBPS = 1500 * 8 / 300
"""Section 4.2: a packet of 1500 bytes in a round trip of 300 us."""


def incast(tables):
    """Loss at the client's port, completion times of the responses, and of the rounds."""
    large = tables["messages"].filter(pl.col("bytes") == RESPONSE_BYTES)
    rounds = tables["rounds"]["fct_ps"].cast(pl.Float64) / 1e9
    found = bottleneck(tables) | responses({"messages": large}, "incast")
    return found | {"rounds": len(rounds), "unended": rounds.null_count(), "round_ms": rounds.mean()}


def at_link_ms(servers, name):
    """Mean completion time in ms of n equal responses that start together, at the link alone."""
    ends = disciplines.on_link(np.zeros(servers), np.full(servers, float(RESPONSE_BYTES)), 1e9)[name]
    return float(ends.mean()) / 1e9


def measure(runs):
    frame = runs.frame(incast)
    few, many = min(frame["senders"]), max(frame["senders"])
    grows = difference_in_loss(frame, "sack", many, few)
    rounds = frame["rounds"].unique().to_list()
    ratios = {pair: relative(frame, *pair, few) for pair in itertools.combinations(CHAPTER_3, 2)}
    measured = {
        "all-rounds": Measured(
            len(rounds) == 1 and frame["unended"].sum() == 0,
            n_seeds=len(runs.seeds),
            note=f"{rounds[0]} each",
        ),
        "sack-loss-grows": is_above(grows, 0, "points"),
        "sdc-no-loss": most_lost(frame, "sdc"),
        "sdc-loss-grows": is_above(difference_in_loss(frame, "sdc", many, few), 0, "points"),
        "rcp-loss-grows": is_above(difference_in_loss(frame, "rcp", many, few), 0, "points"),
        "racs-no-loss": most_lost(frame, "racs"),
        "sdc-before-sack": is_below(difference(frame, "afct", "sdc", "sack", senders=many), 0, "ms"),
        "racs-like-sdc": relative(frame, "racs", "sdc", few),
        "alike-for-few": every(
            is_within(ratio, ALIKE, 1, f"{NAMES[a]} over {NAMES[b]}") for (a, b), ratio in ratios.items()
        ),
        "packet-a-round-trip": Measured(RESPONSE_RATE_MBPS, n_seeds=0),
        "flows-that-overload": Measured(1000 / (2 * RESPONSE_RATE_MBPS), n_seeds=0),
    }
    if "racs-bytes" in set(frame["spec"]):
        measured["racs-no-loss-bytes"] = most_lost(frame, "racs-bytes")
    return measured


def difference_in_loss(frame, name, many, few):
    """Loss with many servers less that with few, paired by seed."""
    mine = frame.filter(pl.col("spec") == name).sort("seed")
    most, least = (mine.filter(pl.col("senders") == n)["loss"] for n in (many, few))
    return mean_ci((most - least).to_list())


def most_lost(frame, name):
    """The greatest loss over all numbers of servers."""
    by = Rows(frame).by("loss", "senders", spec=name)
    n = max(by, key=lambda n: by[n].value)
    return Measured(*by[n], note=f"with {n} servers")


def relative(frame, name, base, senders):
    """Completion time relative to another transport's, paired by seed."""
    by = {spec: frame.filter(pl.col("spec") == spec, pl.col("senders") == senders).sort("seed")["afct"]
          for spec in (name, base)}  # fmt: skip
    return mean_ci((by[name] / by[base]).to_list())


def _loss(series, printed):
    """Small losses are as visible as large ones."""
    return curves.Panel(series, "packets lost (%)", published=printed, floor=LEAST_LOSS)


def _drawn(frame, ids, nothing=None, in_bytes=(), bounds=None):
    """Completion and loss of these transports; `nothing`: transports that lose nothing by the text."""

    def series(column, names=ids, how=""):
        return {
            NAMES[name]: Rows(frame).by(column, "senders", spec=name + how) for name in NAMES if name in names
        }

    servers = sorted(set(frame["senders"]))
    printed = {f"printed: {nothing} loses nothing": [(n, 0) for n in servers]} if nothing else {}
    panels = {
        "completion": curves.Panel(
            series("afct"), "mean completion time (ms)", log=bounds is not None, references=bounds or {}
        ),
        "loss, buffer of 100 packets": _loss(series("loss"), printed),
    }
    if in_bytes:
        told = series("loss", in_bytes, "-bytes")
        panels["loss, buffer of 150 KB"] = _loss(told, printed)
    return curves.draw(curves.info(panels, "servers"), columns=len(panels))


def draw(runs, reference):
    frame = runs.frame(incast)
    found = set(frame["spec"])
    in_bytes = [name for name in CHAPTER_4 if f"{name}-bytes" in found]
    servers = sorted(set(frame["senders"]))
    bounds = {f"{d} at the link": {n: at_link_ms(n, d) for n in servers} for d in ("SRPT", "PS")}
    everyone = [name for name in NAMES if name in found]
    return {
        "figures 3.9 and 3.10": _drawn(frame, CHAPTER_3, "SDC"),
        "figures 4.6 and 4.7": _drawn(frame, CHAPTER_4, "RACS", in_bytes),
        "all transports": _drawn(frame, everyone, bounds=bounds),
    }


def tables(runs):
    frame = runs.frame(incast)
    rows = []
    for (name, n), part in frame.sort("spec", "senders").group_by("spec", "senders", maintain_order=True):
        base, _, how = name.partition("-")
        words = {"bytes": " (buffer in bytes)", "": ""}
        row = {"transport": NAMES[base] + words[how], "servers": n}
        for column in ("afct", "p99", "round_ms", "loss", "queue"):
            row[HEADS[column]] = str(Rows(part).estimate(column))
        rows.append(
            row | {"SRPT (ms)": round(at_link_ms(n, "SRPT"), 3), "PS (ms)": round(at_link_ms(n, "PS"), 3)}
        )
    arithmetic = {"quantity": ["a packet a round trip (Mb/s)", "flows of two packets that fill the link"]}
    arithmetic |= {
        "value": [RESPONSE_RATE_MBPS, 1000 / (2 * RESPONSE_RATE_MBPS)],
        "published": ["40", "12-13"],
    }
    return {
        "Incast: times in ms, loss in per cent, queue in packets": pl.DataFrame(rows),
        "Section 4.2's arithmetic": pl.DataFrame(arithmetic),
    }


FIGURE = Figure(
    specs=read_variants(__file__),
    measure=measure,
    draw=draw,
    tables=tables,
    shows={
        "figures 3.9 and 3.10": ("sack-*", "sdc-*", "alike-for-few"),
        "figures 4.6 and 4.7": ("rcp-*", "racs-*"),
        "Section 4.2's arithmetic": ("packet-*", "flows-*"),
    },
    captions={
        "figures 3.9 and 3.10": "Incast by the number of servers: mean completion time of a response, and "
        "packets lost; the transports of chapter 3. Crosses: the text's sentence on SDC. No other is "
        "printed.",
        "figures 4.6 and 4.7": "Incast by the number of servers for the transports of chapter 4, and loss "
        "where buffers count bytes. Crosses: the text's sentence on RACS.",
        "all transports": "Incast by the number of servers for every transport, with SRPT and PS at the link "
        "for the same responses.",
    },
    folded=("all transports", "Incast: times in ms, loss in per cent, queue in packets"),
)
