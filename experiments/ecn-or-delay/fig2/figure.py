"""Figure 2: DCQCN's packets against its fluid model, two, ten and twenty flows."""

from shallows.statistics.estimates import mean_ci
from shallows.studies import Figure
from shallows.studies.paper.claims import every, is_within
from shallows.studies.paper.kit import Rows
from shallows.theory import dcqcn

from ..common import BACKENDS, DCQCN_SPEC, flow_rates, loop, model, modelled, queue, traced

FLOWS = (2, 10, 20)
SHOWN_MS = 60
RAMP = {"kmax": "200KB", "pmax": 0.01}
LOOSE = 0.29
"""The document's own approximation of the model, eq. (11), is up to 29 % away from the model."""


def course(flows, duration_ms=200):
    """The model's course; the loop of four links of 1 us takes 4 us."""
    return dcqcn.fluid(loop(flows, 4, RAMP), duration_ms / 1e3, 4e-6)


def resting(flows):
    """The model's mean queue in KB: its fixed point, or where that is beyond the ramp, the course's mean."""
    form = dcqcn.dcqcn(flows=flows)
    if form["phase_margin_degrees"] is None:
        return model(course(flows), 100)["mean"]
    return form["queue_bytes"] / 1e3


def measure(runs):
    rows = Rows(runs.where("dcqcn").frame(queue))
    found, parts = {}, []
    for n in FLOWS:
        means = rows.samples("mean", senders=n)
        found[f"form-{n}"] = mean_ci(means / resting(n))
        parts.append(is_within(found[f"form-{n}"], LOOSE, of=1.0, unit=f"times the model, N = {n}"))
    found["agrees"] = every(parts)
    return found


def numbers(runs):
    """Mean queues in KB."""
    rows = Rows(runs.where("dcqcn").frame(queue))
    return {f"queue-{n}": rows.estimate("mean", senders=n) for n in FLOWS}


def draw(runs, reference):
    from shallows.figures import relation

    queues, rates = {}, {}
    for n in FLOWS:
        tables = runs.first("traces", senders=n).tables
        line = course(n, SHOWN_MS)
        time = line.time_s * 1e3
        queues[f"N = {n}"] = relation.panel(
            {"packets": traced(tables)}, ("time (ms)", "queue (KB)"), {"model": modelled(line)}
        )
        rates[f"N = {n}"] = relation.panel(
            {"packets": flow_rates(tables, 0.5, payload=938)["s0"]},
            ("time (ms)", "rate (Gb/s)"),
            {"model": (time, line.rate_bps / 1e9)},
        )
    return {
        "queue and model over time": relation.draw(queues, "-"),
        "rate and model over time": relation.draw(rates, "-"),
    }


def tables(runs):
    columns = ["mean", "sd", "low", "high", "idle"]
    return {"Queue in KB": Rows(runs.where("dcqcn").frame(queue)).table(columns, ["senders"])}


FIGURE = Figure(
    specs={
        "dcqcn": (DCQCN_SPEC, {"sweep.grid": {"topology.senders": list(FLOWS)}}),
        "traces": (
            DCQCN_SPEC,
            {
                "duration": f"{SHOWN_MS}ms",
                "warmup": "10ms",
                "seeds": 1,
                "probe.queue_trace": "100us",
                "probe.ports": "switch->r0",
                "probe.flow_trace": "500us",
                "sweep.grid": {"topology.senders": list(FLOWS)},
            },
        ),
    },
    settings={"flows": FLOWS, "loop": "4us", "loose": ["29 %", "14 %"]},
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    numbers=numbers,
    shows={"queue and model over time": ("*",), "rate and model over time": ("agrees",)},
    captions={
        "queue and model over time": "The queue with two, ten and twenty flows after the first 20 ms: "
        "packets, and the fluid model.",
        "rate and model over time": "The rate of the first flow, and the model's, figure 2 of the document.",
    },
)
