"""Figure 11: how stable patched TIMELY's fixed point is, by delay and number of flows."""

from shallows.studies import Figure
from shallows.studies.paper.claims import Measured
from shallows.theory import evaluate

from ..common import BACKENDS, draw_margins

PROPAGATION = (0, 50, 100)
"""Delays of the empty path, in us."""
FLOWS = tuple(range(2, 51, 2))
SLOPES = {"the text's w": 2.0, "the model file's w": 0.5}


def margins(propagation_us, slope, flows=FLOWS):
    """Degrees by the number of flows: `./shallows theory timely-patched`."""
    inputs = [f"propagation={propagation_us}us", f"slope={slope}"]
    return {
        n: evaluate("timely-patched", [*inputs, f"flows={n}"])["outputs"]["phase_margin_degrees"]
        for n in flows
    }


def published(reference, propagation_us):
    """The authors' degrees by the number of flows."""
    rows = reference.filter(series=propagation_us)
    return dict(rows.select("flows", "degrees").iter_rows())


def measure(runs):
    slope = runs.reading["slope"]
    found = {}
    near = margins(0, slope)
    crossing = min((n for n in FLOWS if n > 10 and near[n] < 0), default=max(FLOWS) + 2)
    found["border"] = Measured(crossing, n_seeds=0, note=f"{near[crossing]:.1f} degrees there")
    away = max(
        abs(theirs - mine)
        for delay in PROPAGATION
        for theirs, mine in zip(
            published(runs.reference, delay).values(),
            margins(delay, SLOPES["the model file's w"]).values(),
            strict=True,
        )
    )
    found["as-plotted"] = Measured(away, n_seeds=0)
    return found


def draw(runs, reference):
    crosses = {f"{delay} us": published(reference, delay) for delay in PROPAGATION}
    panels = {
        title: ({f"{delay} us": margins(delay, slope) for delay in PROPAGATION}, crosses)
        for title, slope in SLOPES.items()
    }
    return {"phase margin by the number of flows": draw_margins(panels)}


FIGURE = Figure(
    specs={},  # theory only
    settings={"delays": ["0us", "50us", "100us"], "flows": [2, 40, 50], "slope": 2},
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    shows={"phase margin by the number of flows": ("*",)},
    captions={
        "phase margin by the number of flows": "Phase margin of patched TIMELY, linearised, with the weight "
        "as the text and as the authors' model file have it (lines), and as the authors plot it (crosses)."
    },
)
