"""Figure 3.3: completion time and throughput by class B's gain."""

import polars as pl
from shallows.figures import style
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured

from ..model import ALPHA, GAINS_B, classes, row
from ..model import SETTINGS as SETTINGS


def networks(alpha=ALPHA):
    """By gain of class B."""
    return {gain: classes(10, gain, alpha=alpha) for gain in GAINS_B}


def measure(runs):
    by_gain = networks(runs.reading["model_alpha"])
    first, last = by_gain[1], by_gain[10]
    times = [found.fct_ms["B"] for found in by_gain.values()]
    rates = [found.mbps["A"] for found in by_gain.values()]
    note = f"{first.fct_ms['B']:.1f} to {last.fct_ms['B']:.1f} ms"
    return {
        "b-improves": Measured(times == sorted(times, reverse=True), n_seeds=0, note=note),
        "a-pays": Measured(
            rates == sorted(rates, reverse=True), n_seeds=0, note=f"{rates[0]:.1f} to {rates[-1]:.1f} Mb/s"
        ),
        "b-reaches-a": Measured(abs(last.mbps["A"] - last.mbps["B"]) < 1e-9, n_seeds=0),
    }


@style.styled
def draw(runs, reference):
    drawn, (above, below) = style.canvas(columns=2, width_inch=style.PAGE_INCH, height_inch=2.4)
    by_gain = networks()
    at = list(by_gain)
    for k, name in enumerate("AB"):
        times = [found.fct_ms[name] for found in by_gain.values()]
        above.plot(at, times, "o-", color=style.colour(k), label=f"class {name}")
    for k, name in enumerate("ABC"):
        rates = [found.mbps[name] for found in by_gain.values()]
        below.plot(at, rates, "o-", color=style.colour(k), label=f"class {name}")
    above.set(ylabel="completion time (ms)")
    below.set(ylabel="throughput of a flow (Mb/s)")
    for ax in (above, below):
        ax.set(xlabel="gain of class B over class C", ylim=(0, None), xticks=at)
    style.legend(above)
    style.legend(below, loc="center right")
    return {"class-b-gain": drawn}


def tables(runs):
    rows = [row({"gain of B": gain}, found) for gain, found in networks().items()]
    return {"The network by class B's gain (class A's is 10)": pl.DataFrame(rows)}


FIGURE = Figure(
    specs={},  # theory only
    settings=SETTINGS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"class-b-gain": ("*",)},
    captions={"class-b-gain": "Completion times and throughputs by class B's gain."},
)
