"""Table 3.2 completed: the betas that its gains take, and whether section 3.3's ranges hold them."""

import polars as pl
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured
from shallows.theory import aimd

from ..model import CLASS_C, GAINS_A, classes
from ..model import SETTINGS as SETTINGS

GREATEST = aimd.gain(aimd.Parameters(1.0, 0.9), CLASS_C)


def measure(runs):
    betas = {gain: aimd.for_gain(gain, CLASS_C, runs.reading["model_alpha"]).beta for gain in GAINS_A}
    note = ", ".join(f"{beta:.4f} for a gain of {gain}" for gain, beta in betas.items())
    weights = [
        aimd.effective([aimd.Parameters(float(k == j), 0.5) for k in range(3)], [50, 100], 1000).alpha
        for j in range(3)
    ]
    return {
        "betas-in-range": Measured(max(betas.values()) <= 0.9, n_seeds=0, note=note),
        "gains-possible": Measured(max(GAINS_A) <= GREATEST, n_seeds=0, note=f"at most {GREATEST:.2f}"),
        "gain-needs-more": Measured(max(GAINS_A) > GREATEST, n_seeds=0, note=f"at most {GREATEST:.2f}"),
        "example-a": Measured(weights[0], n_seeds=0),
        "example-b": Measured(weights[1], n_seeds=0),
        "example-c": Measured(weights[2], n_seeds=0),
    }


def tables(runs):
    rows = []
    for gain in GAINS_A:
        found = classes(gain, 2)
        own = {f"({name}) alpha, beta": f"{p.alpha:g}, {p.beta:.4f}" for name, p in found.own.items()}
        printed = {"printed: gain of A": gain, "gain of B": 2, "class C": "(0.5, 0.5)"}
        rows.append(printed | own)
    return {"Parameters that give the gains of table 3.2, alpha alike in all classes": pl.DataFrame(rows)}


FIGURE = Figure(
    specs={},  # theory only
    settings=SETTINGS,
    measure=measure,
    tables=tables,
    shows={"Parameters that give the gains of table 3.2, alpha alike in all classes": ("*",)},
)
