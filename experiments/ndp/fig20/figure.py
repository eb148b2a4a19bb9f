"""Figure 20: incasts of up to 1000 senders: the overhead of the last completion, and packets sent again."""

import polars as pl
from shallows.statistics.estimates import mean_ci, paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import every, is_above, is_below, is_within
from shallows.studies.paper.kit import Rows

from ..common import BACKENDS, HEADER_US, optimum_us, total

HOSTS, PACKETS = 8192, 30
SENDERS = (1, 2, 4, 8, 16, 32, 100, 256, 1000)
WINDOWS = (1, 10, 23)
CLOSE, SHORT, MOST, ALIKE = 0.1, 10.0, 0.9, 5.0
"""Points of overhead, per cent of the best, a share, and per cent."""


def named(n, hosts=HOSTS):
    """The last n hosts."""
    return f"h{hosts - 1}" if n == 1 else f"h{hosts - n}..h{hosts - 1}"


def seen(tables):
    """Overhead of the last completion in per cent, the headers' part of it, and packets sent again."""
    flows = tables["flows"]
    n = len(flows)
    best, packets = optimum_us(n, PACKETS), n * PACKETS
    headers, returned = total(tables, "flows", "fast_recoveries"), total(tables, "queues", "returned")
    return {
        "senders": n,
        "ended": flows["fct_ps"].null_count() == 0,
        "overhead": round(100 * (flows["fct_ps"].max() / 1e6 / best - 1), 9) + 0.0,
        "headers": 100 * headers * HEADER_US / best,
        "first_ms": flows["fct_ps"].min() / 1e9,
        "last_ms": flows["fct_ps"].max() / 1e9,
        "nacks": headers / packets,
        "bounces": returned / packets,
        "by_header": headers / max(headers + returned, 1),
        "trims": total(tables, "queues", "trims") / packets,
        "timeouts": total(tables, "flows", "timeouts"),
    }


def frame_of(runs):
    """The runs with the first window as a number."""
    window = pl.col("initial_window").str.strip_suffix("pkt").cast(pl.Int64)
    return runs.frame(seen).with_columns(window=window)


def measure(runs):
    frame = frame_of(runs)
    present = sorted(frame["senders"].unique())

    def headers(window):
        for n in (n for n in present if n >= 32):
            mine = Rows(frame).at(senders=n, window=window).frame
            if not len(mine):
                continue
            yield is_within(
                mean_ci((mine["overhead"] - mine["headers"]).to_numpy()), CLOSE, 0.0, f"points, {n} senders"
            )

    def spread():
        for n in (n for n in present if n in SENDERS and 8 <= n <= 1000):
            times = {w: Rows(frame).samples("last_ms", senders=n, window=w) for w in WINDOWS}
            for w in WINDOWS[:-1]:
                yield is_within(mean_ci(100 * (times[w] / times[23] - 1)), ALIKE, 0.0, f"%, {n} senders")

    found = {
        "window-1-few": is_above(Rows(frame).estimate("overhead", senders=4, window=1), SHORT, "%"),
        "headers-10": every(headers(10)),
        "headers-23": every(headers(23)),
        "between": every(spread()),
        "no-timeouts": bool((frame["timeouts"] == 0).all() and frame["ended"].all()),
    }
    if 1000 in present:
        shares = [Rows(frame).samples("by_header", senders=n, window=23) for n in (1000, 32)]
        found["fewer-headers"] = is_below(paired_difference(*shares), unit="of them")
        first = Rows(frame).samples("bounces", senders=1000, window=23) * PACKETS / 23
        found["bounced"] = is_above(mean_ci(first), MOST, "of the first windows")
    return found


def draw(runs, reference):
    from shallows.figures import relation

    rows = Rows(frame_of(runs))

    def line(column, window):
        mine = rows.at(window=window).frame
        return {n: Rows(mine).estimate(column, senders=n) for n in sorted(mine["senders"].unique())}

    overhead = {f"first window {w}": line("overhead", w) for w in WINDOWS}
    laws = {}
    for w in WINDOWS[1:]:
        points = {n: each for n, each in line("headers", w).items() if each.value > 0}
        laws[f"headers' time, {w}"] = list(points), [e.value for e in points.values()]
    again = {
        f"{what}, {w}": line(column, w)
        for w in WINDOWS
        for what, column in (("NACKs", "nacks"), ("returns", "bounces"))
    }
    panels = {
        "last completion": relation.panel(
            overhead, ("senders", "overhead (%)"), laws, {"2 %, as reported for 23": 2.0}, log="xy"
        ),
        "packets sent again": relation.panel(again, ("senders", "over all packets"), log="x"),
    }
    return {"overhead and packets sent again": relation.draw(panels)}


def tables(runs):
    columns = ["overhead", "headers", "nacks", "bounces", "trims", "first_ms", "last_ms", "timeouts"]
    return {
        "Overhead in %, packets sent again over all packets": Rows(frame_of(runs)).table(
            columns, ["window", "senders"]
        )
    }


FIGURE = Figure(
    specs={
        "ndp": (
            "ndp.toml",
            {
                "sweep.grid": {
                    "traffic.x.from": [named(n) for n in SENDERS],
                    "transport.initial_window": [f"{w}pkt" for w in WINDOWS],
                }
            },
        )
    },
    settings={
        "senders": list(SENDERS),
        "windows": ["1pkt", "10pkt", "23pkt"],
        "bytes": "270000",
        "packets": PACKETS,
    },
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"overhead and packets sent again": ("*",)},
    captions={
        "overhead and packets sent again": "Figure 20: last completion over the best that is possible, with "
        "the time of headers on the receiver's link as lines; packets sent again, over all packets."
    },
)
