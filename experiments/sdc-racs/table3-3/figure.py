"""Table 3.3 completed: the betas that its gains take."""

import polars as pl
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured

from ..model import GAINS_B, classes
from ..model import SETTINGS as SETTINGS


def measure(runs):
    last = classes(10, GAINS_B[-1])
    off = abs(last.own["B"].beta - last.own["A"].beta)
    return {"b-becomes-a": Measured(off < 1e-12, n_seeds=0, note=f"betas {off:.1g} apart")}


def tables(runs):
    rows = []
    for gain in GAINS_B:
        own = {
            f"({name}) alpha, beta": f"{p.alpha:g}, {p.beta:.4f}" for name, p in classes(10, gain).own.items()
        }
        rows.append({"gain of A": 10, "gain of B": gain} | own)
    return {"Parameters that give the gains of table 3.3, alpha alike in all classes": pl.DataFrame(rows)}


FIGURE = Figure(
    specs={},  # theory only
    settings=SETTINGS,
    measure=measure,
    tables=tables,
    shows={"Parameters that give the gains of table 3.3, alpha alike in all classes": ("*",)},
)
