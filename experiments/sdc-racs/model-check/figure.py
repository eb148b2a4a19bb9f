"""The fixed point of section 3.4 against the windows of simulated AIMD sources."""

import polars as pl
from shallows.figures import style
from shallows.statistics.estimates import mean_ci
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured
from shallows.theory import aimd

from ..model import FLOWS, classes

MSS = 1460
PIPE, MARK_AT = 500, 50
CASES = {"two": (1.0, 0.5, 1), "alpha": (2.0, 0.5, 1), "beta": (1.0, 0.8, 1), "five": (3.0, 0.7, 4)}
"""By name: alpha and beta of the last flow, and how many flows with (1, 1/2) stand beside it."""


def _runs(runs, case):
    alpha, beta, others = CASES[case]
    of_b = {"traffic.b.transport.cc.alpha": alpha, "traffic.b.transport.cc.beta": beta}
    return [run for run in runs.where("spec") if _matches(run, of_b, others)]


def _matches(run, of_b, others):
    wanted = {**of_b, "traffic.a.from": "s0" if others == 1 else "s0..s3"}
    return all(run.params[name] == value for name, value in wanted.items())


def peaks(run):
    """Mean window of the flows of loads a and b just before their reductions, in packets, by load."""
    tables, warmup_ps = run.tables, run.stored.numbers["warmup"]
    trace = tables["flow_trace"].sort("flow", "time_ps").filter(pl.col("time_ps") >= warmup_ps)
    before = trace.with_columns(after=pl.col("cwnd_bytes").shift(-1).over("flow"))
    fell = before.filter(pl.col("after") < 0.97 * pl.col("cwnd_bytes"))
    named = fell.join(tables["flows"].select(pl.col("id").alias("flow"), "traffic"), on="flow")
    each = named.group_by("traffic", "flow").agg(pl.col("cwnd_bytes").mean() / MSS).sort("flow")
    return {load: each.filter(pl.col("traffic") == load)["cwnd_bytes"].to_list() for load in ("a", "b")}


def model(case):
    """Windows at a backoff by the model, by load: all flows of a load have the same."""
    alpha, beta, others = CASES[case]
    windows = aimd.fixed_point([1.0] * others + [alpha], [0.5] * others + [beta], PIPE + MARK_AT)
    return {"a": float(windows[0]), "b": float(windows[-1])}


def compared(runs, case):
    """One list a seed: (load, window by the model, window simulated) of each flow."""
    wanted = model(case)
    found = [peaks(run) for run in _runs(runs, case)]
    return [[(load, wanted[load], got) for load, all_of in seed.items() for got in all_of] for seed in found]


def measure(runs):
    measured = {}
    for case in CASES:
        worst = [max(abs(got / want - 1) for _, want, got in seed) for seed in compared(runs, case)]
        measured[f"fixed-point-{case}"] = mean_ci([100 * w for w in worst])
    rates, wanted = thesis(runs)
    for name in FLOWS:
        ratio = rates[name]
        measured[f"thesis-{name}"] = Measured(
            ratio.value / wanted[name], *(end / wanted[name] for end in ratio.ci or (None, None)), ratio.n,
            f"{ratio.value:.1f} Mb/s simulated, {wanted[name]:.1f} by the model",
        )  # fmt: skip
    return measured


def thesis(runs):
    """Throughput of a flow of each class in Mb/s on the wire: simulated over seeds, and by the model."""
    frame = runs.where("thesis").frame(_rates)
    return {name: mean_ci(frame[name].to_list()) for name in FLOWS}, classes(10, 2).mbps


def _rates(tables):
    flows = tables["flows"]
    on_wire = 1500 / MSS / 1e6
    return {name: flows.filter(pl.col("class") == name)["goodput_bps"].mean() * on_wire for name in FLOWS}


@style.styled
def draw(runs, reference):
    drawn, (left, right) = style.canvas(columns=2, width_inch=style.PAGE_INCH)
    for k, case in enumerate(CASES):
        points = [(want, got) for seed in compared(runs, case) for _, want, got in seed]
        left.plot(*zip(*points, strict=True), "o", color=style.colour(k), label=case)
    top = left.get_xlim()[1]
    left.plot([0, top], [0, top], color=style.QUIET, linewidth=0.6)
    left.set(xlabel="window at a backoff, model (packets)", ylabel="simulated (packets)")
    style.legend(left)
    rates, wanted = thesis(runs)
    at = range(len(FLOWS))
    right.plot(at, [wanted[name] for name in FLOWS], "x", color=style.INK, label="model")
    right.plot(at, [rates[name].value for name in FLOWS], "o", color=style.colour(0), label="simulated")
    right.set_xticks(at, [f"class {name}" for name in FLOWS])
    right.set(ylabel="throughput of a flow (Mb/s)", ylim=(0, None), xlim=(-0.5, 2.5))
    style.legend(right)
    return {"model-against-packets": drawn}


def tables(runs):
    rows = []
    for case, (alpha, beta, others) in CASES.items():
        flows = {"a": f"{others} x (1, 0.5)", "b": f"({alpha:g}, {beta:g})"}
        for load, want in model(case).items():
            each = [[got for of, _, got in seed if of == load] for seed in compared(runs, case)]
            got = mean_ci([sum(seed) / len(seed) for seed in each])
            row = {"case": case, "flow (alpha, beta)": flows[load], "model (packets)": round(want, 2)}
            rows.append(
                row | {"simulated (packets)": str(got), "gap (%)": round(100 * (got.value / want - 1), 2)}
            )
    rates, wanted = thesis(runs)
    network = classes(10, 2)
    second = [
        {
            "class": name,
            "mean window by the model (packets)": round(network.window_packets[name], 2),
            "model (Mb/s)": round(wanted[name], 2),
            "simulated (Mb/s)": str(rates[name]),
        }
        for name in FLOWS
    ]
    return {"Windows at a backoff": pl.DataFrame(rows), "The thesis' own case, gain 10": pl.DataFrame(second)}


FIGURE = Figure(
    specs={"spec": "spec.toml", "thesis": "thesis.toml"},
    settings={"pipe": f"{PIPE}pkt", "round trips": ["600us", "300us"], "gain": 10},
    measure=measure,
    draw=draw,
    tables=tables,
    captions={
        "model-against-packets": "Left: windows at a backoff, simulated against modelled; equal on the line. "
        "Right: throughput of a flow by class, simulated and by the thesis' model."
    },
)
