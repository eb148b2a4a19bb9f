"""How far the queue varies: DCTCP against RED, in the document's three results and readings of its delay."""

from typing import NamedTuple

from shallows.statistics.estimates import mean_ci, paired_ratio
from shallows.studies import Figure
from shallows.studies.paper.kit import Rows

from ..common import SPEC, red, red_step, scheme, seen, star, step

DCTCP, AVERAGED = "DCTCP", "DCTCP on tc-red's average"
MARKS, DROPS, CUBIC = "RED marks Reno", "RED drops Reno", "RED marks CUBIC"
SCHEMES = (DCTCP, AVERAGED, MARKS, DROPS, CUBIC)


class Result(NamedTuple):
    """One of the document's results."""

    senders: int
    mbps: int
    rtts: tuple
    k: int
    least: int
    most: int
    burst: int
    nearest: str


RESULTS = {
    "result-1": Result(13, 50, ("1ms", "2ms", "4ms"), 5, 40, 80, 40, "2ms"),
    "result-2": Result(13, 50, ("1ms", "2ms", "4ms"), 5, 10, 80, 10, "2ms"),
    "result-3": Result(2, 500, ("10ms", "20ms"), 70, 80, 120, 80, "10ms"),
}


def _points(result):
    rate = f"{result.mbps}Mbps"
    red_queue = (result.least, result.most, result.burst, 0.01, rate)
    schemes = [
        (DCTCP, "dctcp", step(result.k, 600), "auto"),
        (AVERAGED, "dctcp", red_step(result.k, result.burst, rate), "auto"),
        (MARKS, "newreno", red(*red_queue), "on"),
        (DROPS, "newreno", red(*red_queue, ecn=False), "off"),
        (CUBIC, "cubic", red(*red_queue), "on"),
    ]
    for rtt in result.rtts:
        network = star(result.senders, rate, rtt, "1Gbps" if result.mbps < 100 else "5Gbps")
        for title, cc, queue, ecn in schemes:
            name = f"{title}|{rtt}"
            yield scheme(name, cc, queue, ecn) | network | {"label": name}


def _spec(result):
    spans = (
        {"duration": "30s", "warmup": "10s"} if result.mbps < 100 else {"duration": "20s", "warmup": "10s"}
    )
    return (SPEC, spans | {"seeds": 6, "probe.queue_trace": "5ms", "sweep.points": list(_points(result))})


def frame_of(runs):
    """The runs with scheme and round trip in columns."""
    import polars as pl

    parts = pl.col("title").str.split("|").list
    return runs.frame(seen).with_columns(scheme=parts.get(0), rtt=parts.get(1))


def measure(runs):
    rows = Rows(frame_of(runs))
    found = {}
    sender, swing = runs.reading["sender"], runs.reading["swing"]
    for name in RESULTS:
        rtt = runs.reading["delay_3" if name == "result-3" else "delay"]
        red, dctcp = (rows.samples(swing, spec=name, scheme=s, rtt=rtt) for s in (sender, DCTCP))
        found[f"{name}-varies"] = mean_ci(red / dctcp)
    alike = (rows.samples("mean", spec=name, scheme=MARKS, rtt="2ms") for name in ("result-1", "result-2"))
    found["red-queues-alike"] = paired_ratio(*alike)
    overlap = (rows.samples("mean", spec="result-2", scheme=s, rtt="2ms") for s in (MARKS, DCTCP))
    found["curves-overlap"] = paired_ratio(*overlap)
    nearest = rows.at(spec="result-3", rtt=RESULTS["result-3"].nearest)
    for title, key in ((DCTCP, "dctcp"), (MARKS, "red"), (CUBIC, "cubic")):
        found[f"result-3-throughput-{key}"] = nearest.estimate("throughput", scheme=title)
    found["result-3-edge"] = nearest.estimate("low", scheme=MARKS)
    return found


def draw(runs, reference):
    from shallows.figures import queue_cdf, queue_time

    drawn = {}
    for name, result in RESULTS.items():
        shown = {title: runs.first(name, title=f"{title}|{result.nearest}").tables for title in SCHEMES}
        about = f"{name.replace('-', ' ')}, RTT {result.nearest}"
        drawn[f"{about}: queue"] = queue_time.draw(
            queue_time.info(shown, "switch->r0", 10_000, 20_000, {f"K = {result.k}": float(result.k)})
        )
        drawn[f"{about}: distribution"] = queue_cdf.draw(queue_cdf.info(shown, "switch->r0"))
    return drawn


def tables(runs):
    names = ["mean", "swing", "sd", "low", "high", "throughput", "marks", "empty"]
    rows = Rows(frame_of(runs).with_columns(result=_spec_column()))
    return {"By result, reading and scheme": rows.table(names, ["result", "rtt", "scheme"])}


def _spec_column():
    import polars as pl

    return pl.col("spec")


FIGURE = Figure(
    specs={name: _spec(result) for name, result in RESULTS.items()},
    # With fewer seeds, results near the ends of the accepted ranges differ between builds of one kernel.
    most_seeds={"linux": 100},
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"By result, reading and scheme": ("*",)},
)
