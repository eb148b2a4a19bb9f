"""Common to the figures of this paper: its network, rates by batch means, and the statistics of a cell.

In full a batch has 25 s; the longest sawtooth here (Reno, a window of 130 packets) lasts 3 s.
"""

import numpy as np
import polars as pl
from shallows.statistics.estimates import Estimate, mean_ci
from shallows.studies.paper.claims import Measured
from shallows.tables.goodput import BATCHES, batch_mbps, goodput_curves
from shallows.tables.metrics import wait_quantile_ms

BACKENDS = {
    "linux": "the slides' kernel had neither RACK nor tail loss probes, which the backend's kernel always has"
}
CUBIC, DCTCP = "traffic.cubic.flows", "traffic.dctcp.flows"
PORT = "switch->r0"
RATE_MBPS = 40.0
BASE_RTT_S = 0.008
PACKET_BITS = 12_000
BDP_PACKETS = RATE_MBPS * 1e6 * BASE_RTT_S / PACKET_BITS
FLOOR_PACKETS = 2  # Linux: DCTCP's least window, and least ssthresh of all
FAIR = (0.5, 2.0)

FLOYD_RED = {
    "kind": "red",
    "limit": "300pkt",
    "min": "5pkt",
    "max": "15pkt",
    "w_q": 0.002,
    "max_p": 0.1,
    "gentle": True,
    "ecn": True,
}
"""RED with the setting recommended by its author: Floyd 1997, "RED: discussions of setting parameters"."""
TC_RED = {
    "kind": "tc-red",
    "limit": "400KB",
    "min": "30KB",
    "max": "90KB",
    "avpkt": "1000B",
    "burst": 55,
    "probability": 0.02,
    "bandwidth": "40Mbps",
    "ecn": True,
    "adaptative": True,
}
"""RED with the example of Linux's manual, tc-red(8), but for this link's rate."""

COUPLED = {
    "kind": "coupled",
    "classify": "any_ect",
    "limit": "1000pkt",
    "measure": "time",
    "slope": 0.7,
    "k": 1.63,
}
"""One coupled queue with the classic slope of the DualQ here: log2(1.63) bits for p, and k = 1.63."""

SECOND = {"duration": "101s", "warmup": "100s", "seeds": 1}
"""One second of the steady state, as the slides' queue PDFs have it."""


def fair_window(flows):
    """Packets a base round trip that each of `flows` flows would have."""
    return BDP_PACKETS / flows


def ratios(tables, over="cubic", under="dctcp"):
    """Goodput a flow of one class over another's in each batch; None where one of them has no flows."""
    return _over(batch_mbps(tables, over), batch_mbps(tables, under))


def _over(a, b):
    return None if a is None or b is None or not b.all() else a / b


def typical(frame, by=None):
    """The median over cells of the ratio (over the column `by`), with its interval over the batches."""
    batches = np.array(frame["ratio_batches"].to_list())
    divided = batches if by is None else batches / frame[by].to_numpy()[:, None]
    return mean_ci(np.median(divided, axis=0))


def of_class(tables, name):
    """Measures of the flows of one class: rates, windows, marks and drops as shares of the sent packets."""
    flows = tables["flows"].filter(pl.col("class") == name)
    sent = int(flows["packets_sent"].sum())
    if not sent:
        return {}
    waits = flows["wait_mean_ps"].fill_null(0.0) * flows["wait_packets"]
    return {
        "mbps": _scaled(flows["goodput_bps"].mean(), 1e-6),
        "least_mbps": _scaled(flows["goodput_bps"].min(), 1e-6),
        "most_mbps": _scaled(flows["goodput_bps"].max(), 1e-6),
        "window_packets": _scaled(flows["cwnd_mean_bytes"].mean(), 1 / 1448),
        "srtt_ms": _scaled(flows["srtt_mean_ps"].mean(), 1e-9),
        "wait_ms": waits.sum() / flows["wait_packets"].sum() * 1e-9 if flows["wait_packets"].sum() else None,
        "wait_p50_ms": wait_quantile_ms(tables, name, 0.5),
        "wait_p99_ms": wait_quantile_ms(tables, name, 0.99),
        "marked": int(flows["marks"].sum()) / sent,
        "dropped": int(flows["drops"].sum()) / sent,
        "timeouts": int(flows["timeouts"].sum()),
        "packets": sent,
    }


def _scaled(value, factor):
    """`value` in another unit; None (flows that got nothing through) stays None."""
    return None if value is None else value * factor


def cell(tables):
    """A cell of a grid: each class under `cubic_` and `dctcp_`, the ratio and its interval, the port."""
    out = {}
    for name in ("cubic", "dctcp"):
        out |= {f"{name}_{key}": value for key, value in of_class(tables, name).items()}
    mbps = {name: batch_mbps(tables, name) for name in ("cubic", "dctcp")}
    batches = _over(mbps["cubic"], mbps["dctcp"])
    if batches is not None:
        found = mean_ci(batches)
        out |= {"ratio": found.value, "ratio_low": found.low, "ratio_high": found.high}
        out["ratio_batches"] = batches.tolist()
    together = {name: _together(tables, name, each) for name, each in mbps.items()}
    out |= {"cubic_batches": together["cubic"].tolist(), "all_batches": sum(together.values()).tolist()}
    port = tables["queues"].filter(port=PORT)
    return out | {
        "utilisation": port["utilisation"][0],
        "queue_mean_packets": port["mean_packets"][0],
        "queue_p99_packets": port["p99_packets"][0],
    }


def _together(tables, name, mbps):
    """Mb/s of all flows of a class in each batch, of the mean a flow."""
    return np.zeros(BATCHES) if mbps is None else mbps * len(tables["flows"].filter(pl.col("class") == name))


SHOWN = ("mbps", "window_packets", "srtt_ms", "wait_ms", "wait_p99_ms", "marked", "dropped", "timeouts",
         "packets")  # fmt: skip
RATIO = ["ratio", "ratio_low", "ratio_high"]
COLUMNS = RATIO + [f"{name}_{key}" for name in ("cubic", "dctcp") for key in SHOWN]
"""Columns of `cell` that tables show."""


def over_seeds(runs, spec, column):
    """A column of `cell` as one value a seed; of several cells of a seed the largest."""
    frame = runs.frame(cell).filter(pl.col("spec") == spec).group_by("seed").agg(pl.col(column).max())
    return mean_ci(frame.sort("seed")[column].fill_null(0.0).to_list())


def cells(runs, spec="spec"):
    """A row a cell, with `cubic` and `dctcp` flows, their sum `flows`, and what `cell` says."""
    frame = runs.frame(cell).filter(pl.col("spec") == spec).rename({CUBIC: "cubic", DCTCP: "dctcp"})
    return frame.with_columns((pl.col("cubic") + pl.col("dctcp")).alias("flows")).sort("dctcp", "cubic")


def mixed(frame):
    """The cells with flows of both kinds."""
    return frame.filter((pl.col("cubic") > 0) & (pl.col("dctcp") > 0))


def above_floor(frame, packets=FLOOR_PACKETS):
    """The cells in which each flow's fair share is more than `packets` a base round trip."""
    return frame.filter(BDP_PACKETS / pl.col("flows") > packets)


def estimate(row):
    """The ratio of a row of `cells`."""
    return Estimate(row["ratio"], row["ratio_low"], row["ratio_high"], BATCHES)


def all_within(frame, low=FAIR[0], high=FAIR[1]):
    """Whether the ratio lies within [low, high] in every cell: decided by the cells' intervals."""
    inside = ((pl.col("ratio_low") >= low) & (pl.col("ratio_high") <= high)).alias("inside")
    outside = ((pl.col("ratio_high") < low) | (pl.col("ratio_low") > high)).alias("outside")
    judged = frame.select("cubic", "dctcp", "ratio", inside, outside)
    known = True if judged["inside"].all() else False if judged["outside"].any() else None
    worst = judged.sort(pl.col("ratio").log().abs(), descending=True).row(0, named=True)
    least, most = judged["ratio"].min(), judged["ratio"].max()
    note = f"{judged['inside'].sum()} of {len(judged)} cells inside, {judged['outside'].sum()} outside; "
    note += f"ratios {least:.2f} to {most:.2f}, farthest from 1 {flows_of(worst)}"
    return Measured(known, n_seeds=BATCHES, note=note)


def flows_of(row):
    """Which cell a row is, for notes."""
    return f"with {row['cubic']} Cubic and {row['dctcp']} DCTCP flows"


def share_within(frame, low=FAIR[0], high=FAIR[1]):
    """Per cent of the cells whose ratio lies within [low, high]."""
    return 100 * frame.select(pl.col("ratio").is_between(low, high).mean()).item()


# ---- drawing ----


def rate_cells(runs, spec="spec", per="all", scalable="DCTCP"):
    """The slides' throughput grid: goodput of each flow over time in every cell.

    y ends at 80 Mb/s over the flows of the cell; with `per="dctcp"`, as in the slides' grid for RED, over its
    DCTCP flows wherever there are any.
    """
    from shallows.figures import cells as kind

    curves, top = {}, {}
    for run in runs.where(spec):
        c, d = run.params[CUBIC], run.params[DCTCP]
        curves[d, c] = {
            n: goodput_curves(run.tables, k, 5) for n, k in (("Cubic", "cubic"), (scalable, "dctcp"))
        }
        top[d, c] = 2 * RATE_MBPS / max((d or c) if per == "dctcp" else c + d, 1)
    ends = [curve[0][-1] for cell in curves.values() for lines in cell.values() for curve in lines]
    flows = f"{scalable} flows" if per == "dctcp" else "flows"
    labels = ("Cubic flows", f"{scalable} flows", "time (s)", f"goodput of each flow to 80 / {flows} (Mb/s)")
    return kind.draw(kind.info(curves, (0, round(max(ends))), labels, top))


PDF_EDGES = np.arange(0, 304, 4)
"""Queue PDFs: bins of four packets, up to the slides' 300 packets (90 ms at 40 Mb/s)."""
QUEUES = {"C": "classic queue", "L": "low-latency queue"}


def queue_pdfs(tables, edges=PDF_EDGES):
    """Outlines of the queues' lengths at dequeue by name: of both inner queues, or of the only one."""
    from shallows.figures.cells import histogram

    inner = tables["inner_histogram"].filter(port=PORT)
    if len(inner):
        parts = {QUEUES[key]: inner.filter(pl.col("queue") == key) for key in QUEUES}
    else:
        parts = {"queue": tables["queue_histogram"].filter(port=PORT)}
    return {
        name: histogram(part["packets"].to_numpy(), part["at_dequeue"].to_numpy().astype(float), edges)
        for name, part in parts.items()
        if part["at_dequeue"].sum()
    }


def queue_cells(runs, spec="spec", scalable="DCTCP"):
    """The slides' grid of queue PDFs: lengths at dequeue, 0 to 300 packets, each queue scaled to its peak."""
    from shallows.figures import cells as kind

    curves, notes = {}, {}
    for run in runs.where(spec):
        place = run.params[DCTCP], run.params[CUBIC]
        pdfs = queue_pdfs(run.tables)
        curves[place] = dict.fromkeys(
            QUEUES.values() if QUEUES["C"] in pdfs or QUEUES["L"] in pdfs else (), ()
        )
        curves[place] |= {name: [(x, y / (y.max() or 1.0))] for name, (x, y) in pdfs.items()}
        if sum(place):
            mean = run.tables["queues"].filter(port=PORT)["mean_packets"][0]
            notes[place] = f"{mean:.0f}"
    labels = (
        "Cubic flows",
        f"{scalable} flows",
        "packets at dequeue,",
        "share of departures, each queue to its own peak; number: mean of all packets held,",
    )
    return kind.draw(kind.info(curves, (0, 300), labels, dict.fromkeys(curves, 1.05), notes), linewidth=0.6)


def ratio_points(frame, scalable="DCTCP"):
    """Ratio of each cell against its fair window, by which kind has more flows."""
    kinds = {
        "more Cubic": frame.filter(pl.col("cubic") > pl.col("dctcp")),
        "as many of both": frame.filter(pl.col("cubic") == pl.col("dctcp")),
        f"more {scalable}": frame.filter(pl.col("cubic") < pl.col("dctcp")),
    }
    return {
        name: [(fair_window(row["flows"]), estimate(row)) for row in part.iter_rows(named=True)]
        for name, part in kinds.items()
    }


def floor_line():
    """Ratio of as many flows of both kinds where each DCTCP flow sends its floor and Cubic what is left."""
    flows = [n for n in range(2, 21) if fair_window(n) < FLOOR_PACKETS]
    windows = [fair_window(n) for n in flows]
    return windows, [(BDP_PACKETS - n / 2 * FLOOR_PACKETS) / (n / 2) / FLOOR_PACKETS for n in flows]


def draw_ratios(frame, scalable="DCTCP"):
    """The slide "throughput ratio (Cubic / DCTCP)": all cells with both kinds, and the floor."""
    from shallows.figures import relation

    labels = ("fair window (packets per 8 ms)", f"Cubic / {scalable}, per flow")
    shown = relation.panel(
        ratio_points(mixed(frame), scalable),
        labels,
        {f"{scalable} at its floor": floor_line()},
        levels={"2": 2, "equal": 1, "1/2": 0.5},
        places={"floor of 2 packets": FLOOR_PACKETS},
        log="xy",
    )
    return relation.draw({"": shown}, line="o")


def draw_surface(frame, scalable="DCTCP"):
    """Draws a table: the ratio in each cell."""
    from shallows.figures import surface

    labels = ("Cubic flows", f"{scalable} flows", f"Cubic / {scalable}, per flow")
    return surface.draw(surface.info({"": mixed(frame)}, "cubic", "dctcp", "ratio", labels), digits=2)
