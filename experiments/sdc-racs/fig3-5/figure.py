"""Figure 3.5: effective beta of classes B and C by class A's threshold."""

from shallows.figures import style
from shallows.studies.paper.claims import Measured

from ..model import ALPHA, THRESHOLDS, by_threshold
from ..model import SETTINGS as SETTINGS

SPECS: dict = {}  # theory only
CAPTIONS = {
    "effective-beta": "Effective beta of flows that begin in classes B and C by class A's threshold.",
}


def _betas(name, alpha=ALPHA):
    return [found.effective[name].beta for found in by_threshold(alpha).values()]


SHOWS = {
    "effective-beta": ("*",),
}


def measure(runs):
    alpha = runs.reading["model_alpha"]
    b, c = _betas("B", alpha), _betas("C", alpha)
    alphas = {found.effective["B"].alpha for found in by_threshold(alpha).values()}
    return {
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
