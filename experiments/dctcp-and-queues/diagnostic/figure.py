"""Queue variability against bandwidth: its growth between 50 and 100 Mb/s, and why the queue has a floor."""

import itertools

from shallows.statistics.estimates import mean_ci, paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, is_above
from shallows.studies.paper.kit import Rows
from shallows.studies.paper.study import Runs

from ..common import MARKINGS, SPEC, bdp, marking, scheme, seen, star

RATES, RTTS, KS = [50, 75, 100], ["1ms", "2ms", "4ms"], [2, 10]
DRAWN = {
    "least": "variability, marks on tc-red's average with the least burst",
    "burst-100": "variability, marks on tc-red's average with burst 100",
    "queue": "variability, marks on the queue",
}
SENDERS = {13: "N = 14", 2: "N = 3"}
FLOOR = 2  # segments: Linux's least window
WAITING = 0.5
"""Mean number of segments that wait at the receiver for an acknowledgement.

One is acknowledged at once (CWR), the next waits for its second."""


def _point(how, senders, rtt, k, rate):
    network = star(senders, f"{rate}Mbps", rtt, "1Gbps")
    queue = marking(how, k, f"{rate}Mbps", 600)
    return scheme(f"{how}|{SENDERS[senders]}|{rtt}|{k}|{rate}", "dctcp", queue) | network


def _judged(senders, k, rate):
    """Whether a claim rests on this point; the others are drawn alone."""
    return rate != 75 and (senders == 13 or (k, rate) == (10, 100))


def _points(judged):
    every = itertools.product(MARKINGS, SENDERS, RTTS, KS, RATES)
    return [_point(how, n, rtt, k, mbps) for how, n, rtt, k, mbps in every if _judged(n, k, mbps) == judged]


def frame_of(runs):
    """The runs with the words of their titles in columns."""
    import polars as pl

    parts = pl.col("title").str.split("|").list
    return (
        Runs([run for run in runs if run.spec != "trace"])
        .frame(seen)
        .with_columns(
            marking=parts.get(0), hosts=parts.get(1), rtt=parts.get(2), k=parts.get(3).cast(pl.Int64),
            mbps=parts.get(4).cast(pl.Int64),
        )
    )  # fmt: skip


def measure(runs):
    rows = Rows(frame_of(runs)).at(marking=runs.reading["switch"])
    read = runs.reading["delay"]
    found = {name: value for name, value in _of_rtt(rows, read).items() if name != "floor-law"}
    for rtt in RTTS:
        mine = _of_rtt(rows, rtt)
        wanted = mine if rtt != RTTS[0] else ["floor-law"]
        found |= {f"{name}-{rtt}": mine[name] for name in wanted}
    found["floor-ends-4ms"] = found.pop("floor-law-4ms")
    for rate in RATES:
        rule = bdp(1e6 * rate, 1e3 * float(read.removesuffix("ms"))) / 7
        found[f"recommended-{rate}"] = Measured(rule, n_seeds=0)
    found["recommended-about-2"] = found["recommended-50"]
    return found


def _of_rtt(rows, rtt):
    """The results at one round trip, by claim without its reading."""
    found = {}
    for k in KS:
        slow, fast = (_sd(rows, "N = 14", rtt, k, rate) for rate in (50, 100))
        found[f"grows-k{k}"] = is_above(paired_difference(fast, 1.5 * slow), unit="packets above 1.5 times")
    least = rows.samples("mean", hosts="N = 14", rtt=rtt, k=2, mbps=50)
    found["floor"] = mean_ci(least)
    held = bdp(50e6, 1e3 * float(rtt.removesuffix("ms")))
    found["floor-law"] = mean_ci(least - (13 * (FLOOR - WAITING) - held - 1))
    many, few = (_sd(rows, hosts, rtt, 10, 100) for hosts in SENDERS.values())
    found["fewer-hosts"] = is_above(paired_difference(many, few), unit="packets")
    return found


def _sd(rows, hosts, rtt, k, rate):
    return rows.samples("sd", hosts=hosts, rtt=rtt, k=k, mbps=rate)


def draw(runs, reference):
    from shallows.figures import curves, queue_time

    rows = Rows(frame_of(runs))
    drawn = {}
    for how, name in DRAWN.items():
        panels = {
            f"{hosts}, K = {k}": curves.Panel(
                rows.curve("sd", "mbps", "rtt", marking=how, hosts=hosts, k=k), "standard deviation (packets)"
            )
            for hosts in SENDERS.values()
            for k in KS
        }
        drawn[name] = curves.draw(curves.info(panels, "bandwidth (Mb/s)"))
    traces = {run.params["rate"]: run.tables for run in runs.where("trace")}
    info = queue_time.info(traces, "switch->r0", 5000, 6000, {"K": 2.0})
    return drawn | {"N = 14, K = 2, RTT 1 ms, over time": queue_time.draw(info)}


def tables(runs):
    names = ["mean", "sd", "swing", "throughput", "marks", "empty"]
    return {"By network and K": Rows(frame_of(runs)).table(names, ["marking", "hosts", "rtt", "k", "mbps"])}


ABOUT = {"duration": "14s", "warmup": "6s", "probe.queue_trace": "off"}

FIGURE = Figure(
    specs={
        "spec": (SPEC, ABOUT | {"seeds": 6, "sweep.points": _points(judged=True)}),
        "drawn": (SPEC, ABOUT | {"seeds": 3, "sweep.points": _points(judged=False)}),
        "trace": (
            SPEC,
            star(13, "50Mbps", "1ms", "1Gbps")
            | {
                "duration": "6s",
                "warmup": "5s",
                "queue": marking("least", 2, "50Mbps", 600),
                "transport.cc": "dctcp",
                "seeds": 1,
                "sweep.grid": {"topology.rate": [f"{rate}Mbps" for rate in RATES]},
            },
        ),
    },
    measure=measure,
    draw=draw,
    tables=tables,
    most_seeds={"simulator": 24},
    shows={"By network and K": ("*",)},
    captions={
        "variability, marks on tc-red's average with the least burst": "Standard deviation of the queue "
        "against bandwidth in the base reading of the marking; a line for each reading of the delay.",
        "variability, marks on tc-red's average with burst 100": "Standard deviation of the queue "
        "against bandwidth with the burst of figure 14; a line for each reading of the delay.",
        "variability, marks on the queue": "Standard deviation of the queue against bandwidth with marking "
        "on the queue; a line for each reading of the delay.",
        "N = 14, K = 2, RTT 1 ms, over time": "One second of the queue at each bandwidth, fourteen hosts and "
        "the least threshold.",
    },
)
