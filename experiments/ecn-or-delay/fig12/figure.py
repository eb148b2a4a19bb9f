"""Figure 12: patched TIMELY, its way to equal rates, its queue, and where it begins to oscillate."""

from shallows.statistics.estimates import mean_ci
from shallows.studies import Figure
from shallows.studies.paper.claims import is_above, is_below
from shallows.studies.paper.kit import Rows
from shallows.theory import timely

from ..common import BACKENDS, TIMELY_SPEC, flow_rates, queue, shares, traced

FLOWS = (2, 10, 20, 40)
MET = 1.1
"""Shares within a tenth have met."""

_CC = {"kind": "timely", "law": "patched", "max_cut": 1.0}
_LAW = {
    "traffic.one.transport.cc": _CC | {"initial_rate": "7Gbps"},
    "traffic.other.transport.cc": _CC | {"initial_rate": "3Gbps"},
}
_LONG = {"duration": "400ms", "warmup": "300ms", "seeds": 3}


def _crowd(n):
    """N flows that start at their fair shares."""
    return {
        "topology.senders": n,
        "traffic.one.from": f"s0..s{n - 1}",
        "traffic.one.transport.cc": _CC | {"initial_rate": f"{10_000 // n}Mbps"},
        "traffic.other.flows": 0,
    }


def measure(runs):
    pair, crowd = runs.where("timely").frame(shares), runs.where("timely-crowd").frame(queue)
    found = {
        "meet": is_below(Rows(pair).estimate("ratio"), MET, "times the slower"),
        "queue-2": Rows(pair).estimate("mean"),
        "queue-40": Rows(crowd).estimate("mean", senders=40),
    }
    swings = {n: Rows(crowd).estimate("swing", senders=n) for n in sorted(crowd["senders"].unique())}
    found["stable-2"] = is_below(Rows(pair).estimate("swing"), 1.0, "of the mean")
    found["unstable-40"] = is_above(swings[40], 1.0, "of the mean")
    for n in (2, 10):
        if n in swings:
            found[f"form-{n}"] = mean_ci(Rows(crowd).samples("mean", senders=n) / resting(n))
    return found


def resting(n, delay_us=1.0):
    """The queue in KB at which patched TIMELY rests, where the empty path takes a part of its round trip.

    Four links, a packet and an acknowledgement on two of them each, less the segment's time at line rate that
    is taken off; the packet that is being sent counts as queued.
    """
    rtt_us = timely.timely_patched(flows=n)["rtt_ps"] / 1e6
    empty_us = 4 * delay_us + (2 * 1000 + 2 * 40) * 8 / 10e3
    return (rtt_us - empty_us + 960 * 8 / 10e3) * 10 / 8 + 1.0


def draw(runs, reference):
    from shallows.figures import relation

    line = timely.fluid(timely.Law(True, beta=0.008), [(0.0, 7e9), (0.0, 3e9)], 0.3, 2e-6)
    rates = flow_rates(runs.first("timely").tables, 1.0)
    shown = {f"flow {k + 1}": [(x, y) for x, y in each if x <= 300] for k, each in enumerate(rates.values())}
    models = {f"model {k + 1}": (line.time_s * 1e3, rate / 1e9) for k, rate in enumerate(line.rate_bps)}
    two = relation.panel(shown, ("time (ms)", "rate (Gb/s)"), models)
    crowd = runs.where("timely-crowd").frame(queue)
    many = sorted(crowd["senders"].unique())
    means = {n: Rows(crowd).estimate("mean", senders=n) for n in many}
    forms = [timely.timely_patched(flows=n)["queue_bytes"] / 1e3 for n in many]
    by_flows = relation.panel(
        {"packets": means}, ("flows", "mean queue (KB)"), {"fixed point": (many, forms)}
    )
    points = traced(runs.first("timely-trace").tables, from_ms=0)
    trace = relation.panel({"forty flows": points}, ("time (ms)", "queue (KB)"))
    return {
        "two flows from 7 and 3 Gb/s": relation.draw({"": two}, "-"),
        "queue by the number of flows": relation.draw({"mean": by_flows, "forty flows": trace}, "-"),
    }


def tables(runs):
    columns = ["mean", "sd", "low", "high", "swing", "idle"]
    return {
        "Queue in KB by the number of flows": Rows(runs.where("timely-crowd").frame(queue)).table(
            columns, ["senders"]
        ),
        "Two flows: rates in Gb/s, queue in KB": Rows(runs.where("timely").frame(shares)).table(
            ["fast", "slow", "ratio", *columns], ["spec"]
        ),
    }


FIGURE = Figure(
    specs={
        "timely": (TIMELY_SPEC, _LAW | _LONG | {"probe.flow_trace": "1ms"}),
        "timely-crowd": (TIMELY_SPEC, _LONG | {"sweep.points": [_crowd(n) for n in FLOWS]}),
        "timely-trace": (
            TIMELY_SPEC,
            _crowd(40)
            | {"duration": "50ms", "warmup": "0s", "seeds": 1}
            | {"probe.queue_trace": "50us", "probe.ports": "switch->r0"},
        ),
    },
    settings={"starts": ["7Gbps", "3Gbps", "250Mbps"], "flows": FLOWS, "met": "10 %"},
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={
        "two flows from 7 and 3 Gb/s": ("meet", "queue-2", "patched"),
        "queue by the number of flows": ("queue-40", "stable-2", "unstable-40", "form-*"),
    },
    captions={
        "two flows from 7 and 3 Gb/s": "Rates of two patched TIMELY flows: packets (lines), and the fluid "
        "model (dashed).",
        "queue by the number of flows": "Mean queue by the number of flows; the line is the fixed point. "
        "Right: forty flows over time.",
    },
)
