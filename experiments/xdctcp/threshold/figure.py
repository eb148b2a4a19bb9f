"""Would plain DCTCP with a lower marking threshold do as well as xDCTCP?"""

import polars as pl
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, is_above, is_below
from shallows.studies.paper.kit import Rows

from ..common import CHANGES, DCTCP, MAIN, OPTIMUM, RANDOM_PHASES, change, difference, settings, steady

KEPT_PERCENT = 0.1
K_PACKETS = [20, 30, 40, 45, 50, 55, 60, 65]


def _bytes(packets):
    return f"{packets * 1460}B"


def matched(frame):
    """The K of DCTCP whose mean delay of short flows comes nearest to the optimum's."""
    target = Rows(frame).at(**OPTIMUM).frame["short_wait_us"].mean()
    at = {k: Rows(frame).at(**DCTCP, mark_at=_bytes(k)).frame["short_wait_us"].mean() for k in K_PACKETS}
    return min(at, key=lambda k: abs(at[k] - target))


def dominates(frame, k):
    """DCTCP with K has less delay of short flows than the optimum, and keeps the throughput within 0.1 %."""
    base, new = OPTIMUM | {"mark_at": _bytes(65)}, DCTCP | {"mark_at": _bytes(k)}
    delay, rate = (change(frame, column, new, base) for column in ("short_wait_us", "long_mbps"))
    return bool(is_below(delay).value and is_above(rate, -KEPT_PERCENT).value)


def measure(runs):
    frame = runs.frame(steady)
    k = matched(frame)
    base = DCTCP | {"mark_at": _bytes(k)}
    new = OPTIMUM | {"mark_at": _bytes(65)}
    note = f"DCTCP at K = {k} packets has the nearest delay"

    def against(column):
        return difference(frame, column, new, base)

    slower = is_below(against("message_fct_us"), unit="us")
    less = against("long_mbps")
    less_wait = [k for k in K_PACKETS if dominates(frame, k)]
    return {
        "delay-alone": Measured(not less_wait, note=f"less delay at K = {less_wait} packets"),
        "message-fct": slower._replace(note=f"{note}; {slower.note}"),
        "query-fct": is_below(against("query_fct_us"), unit="us"),
        "throughput": Measured(less.value, less.low, less.high, less.n, note=note),
    }


def draw(runs, reference):
    from shallows.figures import scatter

    means = _means(runs)
    named = {f"{'xDCTCP' if row['g'] > DCTCP['g'] else 'DCTCP'}, K = {row['k_packets']}": i
             for i, row in enumerate(means.to_dicts()) if row["k_packets"] in (30, 50, 65)}  # fmt: skip

    def drawn(column):
        cloud = scatter.cloud(means[column], means["long_mbps"], named)
        return scatter.draw(
            scatter.info({"": cloud}, CHANGES[column] + " (us)", "goodput of a long flow (Mbit/s)")
        )

    return {
        "delay and goodput by threshold": drawn("short_wait_us"),
        "completion of messages and goodput by threshold": drawn("message_fct_us"),
    }


def _means(runs):
    frame = runs.frame(steady).with_columns(
        pl.col("mark_at").str.strip_suffix("B").cast(pl.Int64).floordiv(1460).alias("k_packets")
    )
    groups = frame.group_by("k_packets", "g", "ns", "nl")
    return groups.agg(pl.col(*MAIN, "utilisation", "timeouts").mean()).sort("g", "k_packets")


def tables(runs):
    frame = Rows(runs.frame(steady))
    rows = []
    for row in _means(runs).to_dicts():
        which = {k: row[k] for k in ("g", "ns", "nl")} | {"mark_at": _bytes(row["k_packets"])}
        cells = {c: str(frame.estimate(c, **which)) for c in MAIN}
        name = "DCTCP" if row["g"] == DCTCP["g"] else "xDCTCP"
        rows.append({"cc": name, "K (packets)": row["k_packets"]} | cells)
    return {"Means over the seeds [95 % interval]": pl.DataFrame(rows)}


FIGURE = Figure(
    specs={
        "spec": (
            "../table/spec.toml",
            RANDOM_PHASES
            | {
                "probe.port_trace": "off",
                "sweep.points": [settings(DCTCP) | {"queue.mark_at": _bytes(k)} for k in K_PACKETS]
                + [settings(OPTIMUM) | {"queue.mark_at": _bytes(65)}],
            },
        )
    },
    measure=measure,
    draw=draw,
    tables=tables,
    captions={
        "delay and goodput by threshold": "Delay of short flows and goodput of long ones: DCTCP by "
        "threshold, and the optimum.",
        "completion of messages and goodput by threshold": "Completion time of messages and goodput "
        "of long flows: DCTCP by threshold, and the optimum.",
    },
)
