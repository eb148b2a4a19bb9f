"""How far the queue varies: DCTCP against RED, in the document's three results and readings of its delay."""

from math import sqrt
from typing import NamedTuple

from shallows.statistics.estimates import mean_ci, paired_ratio
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured
from shallows.studies.paper.kit import Rows

from ..common import MARKINGS, SPEC, marking, red, scheme, seen, star

MARKS, DROPS, CUBIC = "RED marks Reno", "RED drops Reno", "RED marks CUBIC"
DCTCP = {how: f"DCTCP, marks {words}" for how, words in MARKINGS.items()}
SCHEMES = (*DCTCP.values(), MARKS, DROPS, CUBIC)


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
FEW = {"result-1-few": RESULTS["result-1"], "result-2-few": RESULTS["result-2"]}
"""Results 1 and 2 with two senders, as in result 3."""
PROBABILITY = 0.01


def _points(result, senders):
    rate = f"{result.mbps}Mbps"
    red_queue = (result.least, result.most, result.burst, PROBABILITY, rate)
    schemes = [
        *((DCTCP[how], "dctcp", marking(how, result.k, rate, 600), "auto") for how in MARKINGS),
        (MARKS, "newreno", red(*red_queue), "on"),
        (DROPS, "newreno", red(*red_queue, ecn=False), "off"),
        (CUBIC, "cubic", red(*red_queue), "on"),
    ]
    for rtt in result.rtts:
        network = star(senders, rate, rtt, "1Gbps" if result.mbps < 100 else "5Gbps")
        for title, cc, queue, ecn in schemes:
            name = f"{title}|{rtt}"
            yield scheme(name, cc, queue, ecn) | network | {"label": name}


def _spec(result, senders):
    spans = (
        {"duration": "30s", "warmup": "10s"} if result.mbps < 100 else {"duration": "20s", "warmup": "10s"}
    )
    points = list(_points(result, senders))
    return (SPEC, spans | {"seeds": 6, "probe.queue_trace": "5ms", "sweep.points": points})


def frame_of(runs):
    """The runs with scheme and round trip in columns."""
    import polars as pl

    parts = pl.col("title").str.split("|").list
    return runs.frame(seen).with_columns(scheme=parts.get(0), rtt=parts.get(1))


def measure(runs):
    rows = Rows(frame_of(runs))
    read = runs.reading
    found = {}
    for name in RESULTS:
        rtt = read["delay_3" if name == "result-3" else "delay"]
        spec = read["hosts"] if name == "result-2" else name
        mine = rows.at(spec=spec, rtt=rtt)
        red, dctcp = (mine.at(scheme=s) for s in (read["sender"], DCTCP[read["switch"]]))
        found[f"{name}-varies"] = mean_ci(red.samples(read["swing"]) / dctcp.samples(read["swing"]))
        if name == "result-2":
            found["curves-overlap"] = paired_ratio(red.samples("mean"), dctcp.samples("mean"))
        if name == "result-3":
            found["result-3-throughput-dctcp"] = dctcp.estimate("throughput")
            found["result-3-throughput-red"] = red.estimate("throughput")
            found["result-3-edge"] = red.estimate("low")
    found["red-queues-alike"] = _lowered(rows, "", MARKS, "2ms")
    found["red-queues-alike-cubic"] = _lowered(rows, "", CUBIC, "1ms")
    found["few-move"] = _lowered(rows, "-few", CUBIC, "1ms")
    # Padhye et al. 1998, with an acknowledgement every second segment.
    window = sqrt(3 / (2 * 2 * PROBABILITY))
    return found | {"windows-at-p": Measured(RESULTS["result-2"].senders * window, n_seeds=0)}


def _lowered(rows, hosts, scheme, rtt):
    """RED's mean queue with the thresholds of result 1 over that with those of result 2."""
    means = (rows.samples("mean", spec=f"result-{n}{hosts}", scheme=scheme, rtt=rtt) for n in (1, 2))
    return paired_ratio(*means)


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
    specs={name: _spec(result, result.senders) for name, result in RESULTS.items()}
    | {name: _spec(result, 2) for name, result in FEW.items()},
    # With fewer seeds, results near the ends of the accepted ranges differ between builds of one kernel.
    most_seeds={"linux": 100, "simulator": 24},
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"By result, reading and scheme": ("*",)},
)
