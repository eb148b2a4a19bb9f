"""Common to the figures of this study: networks, plans and schemes of uet-htsim, and what is seen of a run.

Source: github.com/ultraethernet/uet-htsim, 40ccb05, htsim/sim/datacenter: main_uec.cpp has queues
and the timer; fat_tree_topology.cpp the slow links; connection_matrices/ the plans.
"""

import math
from pathlib import Path

import numpy as np
from shallows.statistics.estimates import Estimate
from shallows.studies.paper.claims import Measured, every, is_above, is_below
from shallows.studies.paper.kit import Rows, percent

BACKENDS = {
    "linux": "Linux hosts have no Ultra Ethernet, and its queue disciplines trim nothing",
    "ns3": "the ns-3 backend has no Ultra Ethernet",
}
TREE = "../scenarios/tree.toml"
MSS, HEADER = 4086, 64
FULL = MSS + HEADER
BYTE_PS = 80
"""Time of a byte at 100 Gb/s."""
RATIO = 0.25
"""Rate, room and thresholds of a slow link over those of others."""
NSCC, BOTH, CREDIT = "nscc", "both", "credit"
"""NSCC alone, NSCC beside credit of receivers, and credit alone."""


def round_trip(hops):
    """A full packet's there and an answer's back through the empty network of links of 1 us, in ps."""
    return hops * (2_000_000 + (FULL + HEADER) * BYTE_PS)


def product(hops):
    """The bandwidth-delay product in packets, rounded up."""
    return math.ceil(round_trip(hops) / BYTE_PS / FULL)


def discipline(hops, packets=None, ratio=1.0, marks=True):
    """A port's queue: a product of data, twice that of headers, marks from 0.2 to 0.8 of a product."""
    room = packets or product(hops)
    found = {
        "kind": "trimming",
        "limit": f"{int(room * FULL * ratio)}B",
        "header_limit": f"{int(2 * room * FULL * ratio)}B",
        "headers_per_packet": "none",
        "excess": "drop",
    }
    if marks:
        shares = {"kmin": 0.2, "kmax": 0.8}
        found |= {k: f"{int(math.ceil(product(hops) * s) * FULL * ratio)}B" for k, s in shares.items()}
    return found


def settings(hops, *, queue=None, slow=0, window=None, values=64):
    """Settings over the tree's file for so many links between two ends, with `slow` links to the core."""
    room = queue or product(hops)
    changes = {
        "queue": discipline(hops, queue),
        "transport.entropies": values,
        "transport.timeout": f"{15_000_000 + room * FULL * 6 * BYTE_PS}ps",
        "transport.cc": nscc(hops, window),
    }
    if slow:
        changes["port"] = slow_links(hops, queue, slow)
    return changes


def nscc(hops, window=None):
    """NSCC as the simulator has it; `window` is the first one in packets."""
    found = {"kind": "nscc", "reading": "uet", "base_rtt": f"{round_trip(hops)}ps"}
    return found if window is None else found | {"max_window": window * FULL * BYTE_PS / round_trip(hops)}


def slow_links(hops, queue, count):
    """The first links of the first aggregation switch to the core, both ways, at a quarter of their rate."""
    slow = {"rate": "25Gbps", "queue": discipline(hops, queue, RATIO)}
    return {name: slow for i in range(count) for name in (f"agg0.0->core{i}", f"core{i}->agg0.0")}


def scheme(kind, title, hops, *, edge="edge*", queue=None, slow=0, **more):
    """A point of a sweep under one control. With credit there are no marks at the last hop."""
    changes = {"title": title} | {f"transport.{name}": value for name, value in more.items()}
    if kind == NSCC:
        return changes
    ports = slow_links(hops, queue, slow) | {f"{edge}->h*": {"queue": discipline(hops, queue, marks=False)}}
    changes |= {"transport.receiver_credit": True, "port": ports}
    return changes | ({"transport.cc": "line-rate"} if kind == CREDIT else {})


def flows(pairs, size="2MB", start="0s"):
    """Rows of a plan."""
    return [{"from": f"h{a}", "to": f"h{b}", "bytes": size, "start": start} for a, b in pairs]


def permutation(hosts):
    """The simulator's permutation of so many hosts: the receiver of each host by their numbers."""
    text = (Path(__file__).parent / f"permutation-{hosts}.txt").read_text(encoding="utf-8")
    return list(enumerate(map(int, text.split())))


def seen(tables):
    """The last acknowledgement in us, the first one, and the packets that were sent again."""
    rows = tables["messages"]
    end = (rows["start_ps"].cast(int) + rows["acked_ps"].cast(int)).to_numpy() / 1e6
    ended = len(end) > 0 and not rows["acked_ps"].has_nulls()
    return {
        "last": float(end.max()) if ended else None,
        "first": float(np.nanmin(end)) if ended else None,
        "resent": int(tables["flows"]["retransmissions"].sum()),
        "timeouts": int(tables["flows"]["timeouts"].sum()),
    }


def lasts(runs):
    """By title, the last acknowledgement in us."""
    rows = Rows(runs.frame(seen))
    return {
        title: rows.estimate("last", title=title) for title in rows.frame["title"].unique(maintain_order=True)
    }


def bounds(runs, found, checks):
    """Whether each check is on the side of its bound on which the recorded run is, and the names of others.

    It is undecided if one of `checks`, the figure's own, did not run.
    """
    parts, other = [Measured(None, n_seeds=0)] if checks - set(found) else [], []
    for row in runs.reference.iter_rows(named=True):
        if row["check"] not in found:
            continue
        part = on_its_side(found[row["check"]], row["bound_us"], row["meets"])
        parts.append(part)
        if part.value is not True:
            other.append(f"{row['check']} {found[row['check']].value:.1f} us, bound {row['bound_us']:g} us")
    return every(parts, "; ".join(other))


def on_its_side(last, bound, meets):
    """Whether a time is below its bound, or above; of one run without chance its single value decides."""
    if last.n == 1:
        return Measured((last.value <= bound) == meets, n_seeds=0)
    return (is_below if meets else is_above)(last, bound, "us")


def deviations(runs, found):
    """For a forest: by the name of each check, the deviation from the recorded value in per cent."""
    rows = {}
    for row in runs.reference.iter_rows(named=True):
        if row["check"] in found:
            value, low, high, n = found[row["check"]]
            ends = (None if end is None else end / row["last_us"] - 1 for end in (low, high))
            rows[row["check"]] = percent(Estimate(value / row["last_us"] - 1, *ends, n))
    return rows


def draw_checks(runs, reference):
    """The deviations of all checks of a figure."""
    from shallows.figures import forest

    rows = deviations(runs, lasts(runs))
    series = forest.info({"last acknowledgement": rows}, "from the recorded run (%)")
    return {"deviations": forest.draw(series)}


def table_of_checks(runs):
    """All checks beside the recorded runs: the last acknowledgement, its bound, and packets sent again."""
    import polars as pl

    mine = Rows(runs.frame(seen)).table(["last", "first", "resent", "timeouts"], ["title"])
    columns = runs.reference.select(
        title="check", recorded="last_us", recorded_first="first_us", recorded_resent="resent",
        bound="bound_us", recorded_meets="meets",
    )  # fmt: skip
    return mine.join(columns, on="title", how="left").sort(pl.col("title"))
