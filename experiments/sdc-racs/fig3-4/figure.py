"""Figure 3.4: throughput of the classes by class A's threshold."""

import polars as pl
from shallows.figures import style
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured

from ..model import ALPHA, LONGEST_PACKETS, SIZES, THRESHOLDS, by_threshold, row
from ..model import SETTINGS as SETTINGS


def _course(name, alpha=ALPHA):
    rates = [found.mbps[name] for found in by_threshold(alpha).values()]
    note = f"{rates[0]:.2f} to {rates[-1]:.2f} Mb/s"
    return rates, note


def measure(runs):
    (a, a_note), (b, b_note), (c, c_note) = (_course(name, runs.reading["model_alpha"]) for name in "ABC")
    own = 1 - SIZES["B"] / LONGEST_PACKETS  # by eq. (3.16)
    return {
        "a-decreases": Measured(a == sorted(a, reverse=True), n_seeds=0, note=a_note),
        "b-gains": Measured(b == sorted(b), n_seeds=0, note=b_note),
        "c-stays-c": Measured(own >= 0.9999, n_seeds=0, note=f"{100 * own:.2f} %"),
        "c-improves": Measured(c == sorted(c), n_seeds=0, note=c_note),
    }


@style.styled
def draw(runs, reference):
    drawn, (ax,) = style.canvas(width_inch=style.PAGE_INCH)
    for k, name in enumerate("ABC"):
        ax.plot(list(THRESHOLDS), _course(name)[0], "o-", color=style.colour(k), label=f"class {name}")
    ax.set(xlabel="threshold of class A (packets)", ylabel="throughput of a flow (Mb/s)", ylim=(0, None))
    ax.legend(loc="center left")
    return {"class-a-threshold": drawn}


def tables(runs):
    rows = [row({"threshold of A (packets)": a}, found) for a, found in by_threshold().items()]
    return {"The network by class A's threshold (gains 10 and 2)": pl.DataFrame(rows)}


FIGURE = Figure(
    specs={},  # theory only
    settings=SETTINGS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"class-a-threshold": ("*",)},
    captions={"class-a-threshold": "Throughput of the classes by class A's threshold."},
)
