"""Figure 20: feedback that is late by a random time, in the fluid models and in packets of DCQCN."""

from functools import cache

import numpy as np
from shallows.statistics.estimates import mean_ci
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, is_below
from shallows.studies.paper.kit import Rows
from shallows.theory import dcqcn, timely

from ..common import BACKENDS, DCQCN_SPEC, MODEL_STEP, loop, model, modelled, queue, traced

JITTER_US = 100
UNSTABLE, STABLE = 0.1, 0.01
"""Shares of the mean: a deviation above the first is unstable, one below the second is stable. Without jitter
both models rest."""
RAMP = {"kmax": "2000KB", "pmax": 0.1}

_LATE = {"port.r0->switch.reorder": 1.0, "port.r0->switch.reorder_delay": f"{JITTER_US}us"}
_TRACED = {"probe.queue_trace": "100us", "probe.ports": "switch->r0"}
_DCQCN = {"topology.senders": 2, **_TRACED}


@cache
def courses():
    """The two models with feedback that is late by a random time in each step."""
    late = np.random.default_rng(1).uniform(0, JITTER_US * 1e-6, 100_000)
    jitter = late.tolist().__getitem__
    return {
        "patched TIMELY": timely.fluid(
            timely.Law(True, beta=0.008), [(0.0, 7e9), (0.0, 3e9)], 0.2, MODEL_STEP, jitter
        ),
        "DCQCN": dcqcn.fluid(loop(2, 0, RAMP), 0.2, MODEL_STEP, jitter=jitter),
    }


def measure(runs):
    models = {name: model(course, 100) for name, course in courses().items()}
    patched, marked = models["patched TIMELY"], models["DCQCN"]
    rows = Rows(runs.frame(queue))
    return {
        "model-timely": Measured(patched["sd"] > UNSTABLE * patched["mean"], n_seeds=0, note=_said(patched)),
        "model-dcqcn": Measured(marked["sd"] < STABLE * marked["mean"], n_seeds=0, note=_said(marked)),
        "model-timely-queue": Measured(patched["mean"], n_seeds=0),
        "model-dcqcn-queue": Measured(marked["mean"], n_seeds=0),
        "packets-dcqcn": is_below(
            mean_ci(rows.samples("sd", spec="dcqcn-late") / rows.samples("sd", spec="dcqcn")),
            2.0,
            "times the deviation",
        ),
    }


def _said(found):
    return f"a deviation of {100 * found['sd'] / found['mean']:.2g} % of the mean"


def draw(runs, reference):
    from shallows.figures import relation

    labels = ("time (ms)", "queue (KB)")
    panels = {
        f"{name}, model": relation.panel({"queue": list(zip(*modelled(course), strict=True))}, labels)
        for name, course in courses().items()
    }
    panels["DCQCN, packets"] = relation.panel({"queue": traced(runs.first("dcqcn-late").tables)}, labels)
    return {"queues with late feedback": relation.draw(panels, "-")}


def tables(runs):
    columns = ["mean", "sd", "low", "high", "swing", "idle"]
    return {"Queue in KB": Rows(runs.frame(queue)).table(columns, ["spec"])}


FIGURE = Figure(
    specs={"dcqcn": (DCQCN_SPEC, _DCQCN), "dcqcn-late": (DCQCN_SPEC, _DCQCN | _LATE)},
    settings={"jitter": "100us", "flows": 2, "model": ["2000KB", "10 %"], "shares": ["10 %", "1 %"]},
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"queues with late feedback": ("*",)},
    captions={
        "queues with late feedback": "Queues of two flows whose feedback is late by up to 100 us, after the "
        "first 20 ms: the fluid models as in the document, and packets of DCQCN."
    },
)
