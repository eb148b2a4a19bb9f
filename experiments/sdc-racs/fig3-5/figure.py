"""Figure 3.5: effective beta of classes B and C by class A's threshold."""

import polars as pl
from shallows.figures import style
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured

from ..model import ALPHA, THRESHOLDS, by_crowd, by_threshold
from ..model import SETTINGS as SETTINGS


def _betas(name, alpha=ALPHA):
    return [found.effective[name].beta for found in by_threshold(alpha).values()]


CROWD = "Throughput of a flow of class A by the number of flows"


def measure(runs):
    alpha = runs.reading["model_alpha"]
    b, c = _betas("B", alpha), _betas("C", alpha)
    alphas = {found.effective["B"].alpha for found in by_threshold(alpha).values()}
    small = [found.mbps["A"] for found in by_crowd(alpha).values()]
    told = ", ".join(f"{mbps:.1f}" for mbps in small)
    return {
        "small-share": Measured(
            small == sorted(small, reverse=True),
            n_seeds=0,
            note=f"{told} Mb/s each with 1, 2 and 4 times the flows",
        ),
        "b-more-aggressive": Measured(b == sorted(b), n_seeds=0, note=f"beta' {b[0]:.3f} to {b[-1]:.3f}"),
        "alpha-unchanged": Measured(max(alphas) - min(alphas) < 1e-12, n_seeds=0),
        "c-unchanged": Measured(max(c) - min(c), n_seeds=0),
    }


@style.styled
def draw(runs, reference):
    drawn, (ax,) = style.canvas(width_inch=style.PAGE_INCH)
    for k, name in ((1, "B"), (2, "C")):
        ax.plot(list(THRESHOLDS), _betas(name), "o-", color=style.colour(k), label=f"class {name}")
    ax.set(xlabel="threshold of class A (packets)", ylabel="effective beta", ylim=(0, 1))
    style.legend(ax)
    return {"effective-beta": drawn}


def tables(runs):
    rows = [
        {"times the flows": n, "Mb/s of each": round(found.mbps["A"], 2)} for n, found in by_crowd().items()
    ]
    return {CROWD: pl.DataFrame(rows)}


FIGURE = Figure(
    specs={},  # theory only
    settings=SETTINGS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"effective-beta": ("b-*", "alpha-*", "c-*"), CROWD: ("small-share",)},
    captions={
        "effective-beta": "Effective beta of flows that begin in classes B and C by class A's threshold."
    },
)
