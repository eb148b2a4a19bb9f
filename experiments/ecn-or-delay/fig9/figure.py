"""Figure 9: two TIMELY flows from three starts, packets and the fluid model."""

from shallows.statistics.estimates import paired_difference
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, every, is_above, some
from shallows.studies.paper.kit import Rows
from shallows.theory import timely

from ..common import BACKENDS, TIMELY_SPEC, flow_rates, shares

STARTS = {
    "5 and 5 Gb/s": [(0.0, 5e9), (0.0, 5e9)],
    "one 10 ms later": [(0.0, 5e9), (0.01, 5e9)],
    "7 and 3 Gb/s": [(0.0, 7e9), (0.0, 3e9)],
}
APART = 1.1
"""Shares further apart than a tenth have not met."""
SHOWN_MS = 100

_ONE, _OTHER = (f"traffic.{name}.transport.cc.initial_rate" for name in ("one", "other"))
POINTS = [
    {"title": "5 and 5 Gb/s"},
    {"title": "one 10 ms later", "traffic.other.start": "10ms"},
    {"title": "7 and 3 Gb/s", _ONE: "7Gbps", _OTHER: "3Gbps"},
]


def course(title):
    """The model's course, in steps of 2 us."""
    return timely.fluid(timely.Law(False), STARTS[title], SHOWN_MS / 1e3, 2e-6)


def measure(runs):
    rows = Rows(runs.frame(shares))
    ratios = {title: rows.samples("ratio", title=title) for title in STARTS}
    unequal, late = ratios["7 and 3 Gb/s"], ratios["one 10 ms later"]
    even = ratios["5 and 5 Gb/s"]
    found = {
        "no-convergence": is_above(rows.estimate("ratio", title="7 and 3 Gb/s"), APART, "times the slower"),
        "start-decides": some(
            [
                is_above(paired_difference(unequal, even), unit="in the ratio, 7 and 3 less 5 and 5"),
                is_above(paired_difference(late, even), unit="in the ratio, 10 ms later less together"),
            ]
        ),
    }
    parts = []
    for title in STARTS:
        rates = course(title).rate_bps[:, -1000:].mean(axis=1)
        ratio = float(rates.max() / rates.min())
        met = title == "5 and 5 Gb/s"  # in the model nothing tells such flows apart
        parts.append(Measured((ratio < APART) == met, n_seeds=0, note=f"{title}: {ratio:.3g}"))
    found["model"] = every(parts)
    return found


def draw(runs, reference):
    from shallows.figures import relation

    panels = {}
    for title in STARTS:
        line = course(title)
        rates = flow_rates(runs.first(title=title).tables, 0.5)
        shown = {
            f"flow {k + 1}": [(x, y) for x, y in each if x <= SHOWN_MS]
            for k, each in enumerate(rates.values())
        }
        models = {f"model {k + 1}": (line.time_s * 1e3, rate / 1e9) for k, rate in enumerate(line.rate_bps)}
        panels[title] = relation.panel(shown, ("time (ms)", "rate (Gb/s)"), models)
    return {"rates of two TIMELY flows": relation.draw(panels, "-", sharey=True)}


def tables(runs):
    return {
        "Rates in Gb/s, queue in KB": Rows(runs.frame(shares)).table(
            ["fast", "slow", "ratio", "mean", "sd", "idle"], ["title"]
        )
    }


FIGURE = Figure(
    specs={"timely": (TIMELY_SPEC, {"probe.flow_trace": "500us", "sweep.points": POINTS})},
    settings={"starts": ["5Gbps", "7Gbps", "3Gbps", "10ms"], "apart": "10 %"},
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"rates of two TIMELY flows": ("*",)},
    captions={
        "rates of two TIMELY flows": "Rates of two TIMELY flows that start in three ways: packets (lines), "
        "and the fluid model (dashed)."
    },
)
