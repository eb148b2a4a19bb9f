"""Figures 4 and 5: the delay of the control loop, the number of flows, and whether the queue oscillates."""

from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, is_above, is_below
from shallows.studies.paper.kit import Rows
from shallows.theory import dcqcn

from ..common import BACKENDS, DCQCN_SPEC, MODEL_STEP, SWINGS, loop, model, modelled, queue, traced

FLOWS = (2, 10, 64)
LOOPS = {"4us": "1us", "85us": "21250ns"}
"""Delays of the control loop, and of each of its four links."""
SHOWN_MS = 100
IDLE = 0.01
"""A share of time in which an unstable queue leaves the link without packets."""

_GRID = {"topology.delay": list(LOOPS.values()), "topology.senders": list(FLOWS)}


def course(flows, name, ramp, duration_ms=200):
    """The model's course."""
    step = 4e-6 if name == "4us" else MODEL_STEP
    return dcqcn.fluid(loop(flows, float(name.removesuffix("us")), ramp), duration_ms / 1e3, step)


def measure(runs):
    frame, ramp = runs.frame(queue), runs.reading["ramp"]
    found = {}
    for name, delay in LOOPS.items():
        for n in sorted(frame["senders"].unique()):
            unstable = (name, n) == ("85us", 10)
            idle = Rows(frame).estimate("idle", senders=n, delay=delay)
            judge = is_above if unstable else is_below
            found[f"packets-{name}-{n}"] = judge(idle, IDLE, "of the time idle")
        for n in FLOWS:
            swing = model(course(n, name, ramp), 100)["swing"]
            found[f"model-{name}-{n}"] = Measured(
                bool(swing > SWINGS) == ((name, n) == ("85us", 10)),
                n_seeds=0,
                note=f"{swing:.3g} of the mean",
            )
    return found


def draw(runs, reference):
    from shallows.figures import relation

    panels = {}
    for n in sorted(runs.frame(queue)["senders"].unique()):
        line = course(n, "85us", runs.reading["ramp"], SHOWN_MS)
        panels[f"N = {n}"] = relation.panel(
            {"packets": traced(runs.first(senders=n, delay=LOOPS["85us"]).tables, SHOWN_MS)},
            ("time (ms)", "queue (KB)"),
            {"model": modelled(line)},
        )
    return {"queue and model at 85 us": relation.draw(panels, "-")}


def tables(runs):
    columns = ["mean", "sd", "low", "high", "swing", "idle"]
    return {"Queue in KB": Rows(runs.frame(queue)).table(columns, ["delay", "senders"])}


FIGURE = Figure(
    specs={
        "dcqcn": (
            DCQCN_SPEC,
            {"probe.queue_trace": "200us", "probe.ports": "switch->r0", "sweep.grid": _GRID},
        )
    },
    settings={"flows": FLOWS, "loops": list(LOOPS), "idle": "1 %"},
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"queue and model at 85 us": ("*-85us-*",), "Queue in KB": ("*-4us-*",)},
    captions={
        "queue and model at 85 us": "The queue at a loop of 85 us with two, ten and sixty-four flows after "
        "the first 20 ms: packets, and the fluid model under the same ramp."
    },
)
