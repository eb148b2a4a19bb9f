"""Checks of uet-htsim with a permutation of 1024 hosts and eight slow links, by the choice of paths."""

from shallows.statistics.estimates import paired_change
from shallows.studies import Figure
from shallows.studies.paper.kit import Rows, percent

from ..common import (
    BACKENDS,
    NSCC,
    TREE,
    bounds,
    draw_checks,
    lasts,
    seen,
    table_of_checks,
)
from ..permutations.figure import CHOICES, LONG, tree

SLOW = 8
PLANS = {
    "short": tree("", choices=CHOICES, kinds=(NSCC,), slow=SLOW),
    "long": tree(
        "-long",
        choices={name: CHOICES[name] for name in ("oblivious", "bitmap", "reps-each")},
        kinds=(NSCC,),
        queue=LONG,
        slow=SLOW,
    ),
}
GAINS = {
    "reps-gains": ("nscc-reps", "nscc-oblivious"),
    "reps-each-gains": ("nscc-reps-each", "nscc-oblivious"),
    "reps-each-gains-long": ("nscc-reps-each-long", "nscc-oblivious-long"),
    "mixed-gains": ("nscc-mixed", "nscc-oblivious"),
}
"""By claim: two checks, the second of which is the base."""


def measure(runs):
    found = {title: value for title, value in lasts(runs).items() if title in CLAIMED}
    rows = Rows(runs.frame(seen))
    gains = {
        claim: percent(paired_change(rows.samples("last", title=new), rows.samples("last", title=base)))
        for claim, (new, base) in GAINS.items()
        if {new, base} <= set(found)
    }
    return found | gains | {"bounds": bounds(runs, found, CLAIMED)}


CLAIMED = {point["title"] for each in PLANS.values() for point in each["sweep.points"]}

FIGURE = Figure(
    specs={name: (TREE, plan) for name, plan in PLANS.items()},
    backends=BACKENDS,
    measure=measure,
    draw=draw_checks,
    tables=lambda runs: {"Last acknowledgements in us": table_of_checks(runs)},
    shows={"deviations": ("*",)},
    captions={
        "deviations": "Eight links at a quarter of their rate: the last acknowledgement beside the recorded "
        "one of uet-htsim, with 95 % intervals over seeds."
    },
)
