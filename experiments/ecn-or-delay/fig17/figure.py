"""Figure 17: marking at departure and at arrival, at a loop of 85 us in the model, and in packets."""

from shallows.statistics.estimates import paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, is_above, is_below
from shallows.studies.paper.kit import Rows
from shallows.theory import dcqcn

from ..common import BACKENDS, DCQCN_SPEC, SWINGS, loop, model, modelled, queue, traced

STEP_S = 1e-6
"""The queue's own time is some 4 us, so that the model needs finer steps than elsewhere."""
_TRACED = {"probe.queue_trace": "100us", "probe.ports": "switch->r0"}
_TWO = {"topology.senders": 2, "topology.delay": "21250ns", "seeds": 3, **_TRACED}
_TEN = {"topology.senders": 10, "seeds": 3, **_TRACED}


def specs(reading):
    """Marks at departure, and the same ramp on the queue that an arriving packet finds."""
    ramp = reading["ramp"]
    arrival = {
        "kind": "red", "limit": "none", "min": "5KB", "max": ramp["kmax"], "max_p": ramp["pmax"], "w_q": 1.0,
        "gentle": False, "spacing": "independent",
    }  # fmt: skip
    return {
        "dcqcn": (DCQCN_SPEC, _TWO),
        "arrival": (DCQCN_SPEC, _TWO | {"queue": arrival}),
        "dcqcn-ten": (DCQCN_SPEC, _TEN),
        "arrival-ten": (DCQCN_SPEC, _TEN | {"queue": arrival}),
    }


def course(ramp, at_arrival):
    """The model's course, two flows."""
    return dcqcn.fluid(loop(2, 85, ramp), 0.2, STEP_S, at_arrival=at_arrival)


def measure(runs):
    ramp = runs.reading["ramp"]
    found = {}
    for name, at_arrival in (("departure", False), ("arrival", True)):
        swing = model(course(ramp, at_arrival), 150)["swing"]
        found[f"model-{name}"] = Measured(
            bool(swing > SWINGS) == at_arrival, n_seeds=0, note=f"{swing:.3g} of the mean"
        )
    rows = Rows(runs.frame(queue))
    found["two-alike"] = is_below(
        paired_difference(*(rows.samples("idle", spec=spec) for spec in ("arrival", "dcqcn"))),
        0.01,
        "of the time",
    )
    found["ten-rest"] = is_below(rows.estimate("idle", spec="dcqcn-ten"), 0.01, "of the time idle")
    found["ten-swing"] = is_above(rows.estimate("idle", spec="arrival-ten"), 0.01, "of the time idle")
    return found


def draw(runs, reference):
    from shallows.figures import relation

    names = {"marked at departure": False, "marked at arrival": True}
    labels = ("time (ms)", "queue (KB)")
    models, packets = {}, {}
    for (title, at_arrival), spec in zip(names.items(), ("dcqcn-ten", "arrival-ten"), strict=True):
        line = course(runs.reading["ramp"], at_arrival)
        points = list(zip(*modelled(line), strict=True))
        models[title] = relation.panel({"queue": points}, labels)
        packets[title] = relation.panel({"queue": traced(runs.first(spec).tables)}, labels)
    return {
        "queue by the place of marking, model": relation.draw(models, "-", sharey=True),
        "ten flows in packets": relation.draw(packets, "-", sharey=True),
    }


def tables(runs):
    columns = ["mean", "sd", "low", "high", "swing", "idle"]
    return {"Queue in KB": Rows(runs.frame(queue)).table(columns, ["spec"])}


FIGURE = Figure(
    specs=specs,
    settings={"loops": ["85us", "4us"], "flows": [2, 10]},
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"queue by the place of marking, model": ("model-*",), "ten flows in packets": ("ten-*", "two-*")},
    captions={
        "queue by the place of marking, model": "The model's queue of two flows at a loop of 85 us, marked "
        "as packets leave and as they arrive, after the first 20 ms.",
        "ten flows in packets": "Packets of ten flows at a loop of 4 us, marked as they leave and as they "
        "come.",
    },
)
