"""Queue variability against bandwidth: its growth between 50 and 100 Mb/s, and why the queue has a floor."""

from shallows.statistics.estimates import mean_ci, paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import is_above
from shallows.studies.paper.kit import Rows

from ..common import SPEC, bdp, red_step, scheme, seen, star, step

RATES, RTTS, KS = [50, 75, 100], ["1ms", "2ms", "4ms"], [2, 10]
QUEUE, AVERAGE = "marks on the queue", "marks on tc-red's average"
SENDERS = {13: "N = 14", 2: "N = 3"}
FLOOR = 2  # segments: Linux's least window
WAITING = 0.5
"""Mean number of segments that wait at the receiver for an acknowledgement.

One is acknowledged at once (CWR), the next waits for its second."""


def _points():
    for senders, name in SENDERS.items():
        for rtt in RTTS:
            for k in KS:
                for rate in RATES:
                    network = star(senders, f"{rate}Mbps", rtt, "1Gbps")
                    for marking, queue in ((QUEUE, step(k, 600)), (AVERAGE, red_step(k, 100, f"{rate}Mbps"))):
                        if marking == AVERAGE and senders == 2:
                            continue  # the document's question is about 14 hosts
                        yield scheme(f"{marking}|{name}|{rtt}|{k}|{rate}", "dctcp", queue) | network


def frame_of(runs):
    """The runs with the words of their titles in columns."""
    import polars as pl

    parts = pl.col("title").str.split("|").list
    return (
        runs.where("spec")
        .frame(seen)
        .with_columns(
            marking=parts.get(0), hosts=parts.get(1), rtt=parts.get(2), k=parts.get(3).cast(pl.Int64),
            mbps=parts.get(4).cast(pl.Int64),
        )
    )  # fmt: skip


def measure(runs):
    frame = frame_of(runs)
    found = {}
    for rtt in RTTS:
        for k in KS:
            slow, fast = (_sd(frame, rtt, k, rate) for rate in (50, 100))
            found[f"grows-{rtt}-k{k}"] = is_above(
                paired_difference(fast, 1.5 * slow), unit="packets above 1.5 times"
            )
        least = Rows(frame).samples("mean", marking=QUEUE, hosts="N = 14", rtt=rtt, k=2, mbps=50)
        found[f"floor-{rtt}"] = mean_ci(least)
        held = bdp(50e6, 1e3 * float(rtt.removesuffix("ms")))
        found[f"floor-law-{rtt}"] = mean_ci(least - max(13 * (FLOOR - WAITING) - held - 1, 0))
        few = Rows(frame).samples("sd", marking=QUEUE, hosts="N = 3", rtt=rtt, k=10, mbps=100)
        found[f"fewer-hosts-{rtt}"] = is_above(
            paired_difference(_sd(frame, rtt, 10, 100), few), unit="packets"
        )
    return found


def _sd(frame, rtt, k, rate):
    return Rows(frame).samples("sd", marking=QUEUE, hosts="N = 14", rtt=rtt, k=k, mbps=rate)


def draw(runs, reference):
    from shallows.figures import curves, queue_time

    rows = Rows(frame_of(runs))
    panels = {
        f"{hosts}, K = {k}": curves.Panel(
            rows.curve("sd", "mbps", "rtt", marking=QUEUE, hosts=hosts, k=k), "standard deviation (packets)"
        )
        for hosts in SENDERS.values()
        for k in KS
    }
    averaged = {
        f"N = 14, K = {k}": curves.Panel(
            rows.curve("sd", "mbps", "rtt", marking=AVERAGE, hosts="N = 14", k=k),
            "standard deviation (packets)",
        )
        for k in KS
    }
    traces = {run.params["rate"]: run.tables for run in runs.where("trace")}
    return {
        "variability against bandwidth, marks on the queue":
            curves.draw(curves.info(panels, "bandwidth (Mb/s)")),
        "variability against bandwidth, marks on tc-red's average":
            curves.draw(curves.info(averaged, "bandwidth (Mb/s)")),
        "N = 14, K = 2, RTT 4 ms, over time":
            queue_time.draw(queue_time.info(traces, "switch->r0", 5000, 6000, {"K": 2.0})),
    }  # fmt: skip


def tables(runs):
    names = ["mean", "sd", "swing", "throughput", "marks", "empty"]
    return {"By network and K": Rows(frame_of(runs)).table(names, ["marking", "hosts", "rtt", "k", "mbps"])}


FIGURE = Figure(
    specs={
        "spec": (
            SPEC,
            {
                "duration": "14s",
                "warmup": "6s",
                "seeds": 6,
                "probe.queue_trace": "off",
                "sweep.points": list(_points()),
            },
        ),
        "trace": (
            SPEC,
            star(13, "50Mbps", "4ms", "1Gbps")
            | {
                "duration": "6s",
                "warmup": "5s",
                "queue": step(2, 600),
                "transport.cc": "dctcp",
                "seeds": 1,
                "sweep.grid": {"topology.rate": [f"{rate}Mbps" for rate in RATES]},
            },
        ),
    },
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"By network and K": ("*",)},
    captions={
        "variability against bandwidth, marks on the queue": "Standard deviation of the queue against "
        "bandwidth, marking on the queue; a line for each reading of the delay.",
        "variability against bandwidth, marks on tc-red's average": "The same, marking on tc-red's average.",
        "N = 14, K = 2, RTT 4 ms, over time": "One second of the queue at each bandwidth, fourteen hosts and "
        "the least threshold.",
    },
)
