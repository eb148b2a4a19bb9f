"""DCTCP with and without Reno's answer to loss, beside Cubic, where the queue only drops."""

from shallows.statistics.estimates import paired_ratio
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, noted

from ..common import BACKENDS, BATCHES, COLUMNS, CUBIC, DCTCP, all_within, cells, estimate, over_seeds

TAIL = {"kind": "drop-tail", "limit": "60pkt"}
PAIRS = {"queue": TAIL, "sweep": {"points": [{CUBIC: n, DCTCP: n} for n in (1, 2, 5)]}}


def dctcp(on_loss):
    """As Linux computes it, with this answer to loss."""
    return {"traffic.dctcp.transport": {"cc": {"kind": "dctcp", "whole_segments": True, "on_loss": on_loss}}}


SPECS = {
    "fallback": ("../grid-dualq/spec.toml", PAIRS | dctcp("halve")),
    "none": ("../grid-dualq/spec.toml", PAIRS | dctcp("alpha")),
}
FIVE = {"queue": TAIL, "sweep": {"points": [{CUBIC: 5, DCTCP: 5}]}, "seeds": 3}
SPECS |= {
    "fallback-again": ("../grid-dualq/spec.toml", FIVE | dctcp("halve")),
    "none-again": ("../grid-dualq/spec.toml", FIVE | dctcp("alpha")),
}
TITLES = {"fallback": "halves on loss (RFC 8257)", "none": "by alpha (Linux 3.18)"}


def measure(runs):
    with_, without = cells(runs, "fallback"), cells(runs, "none")
    starved = (without["ratio_high"] < 0.2).all()
    note = "; ".join(f"{r['cubic']} + {r['dctcp']}: {estimate(r)}" for r in without.iter_rows(named=True))
    lost = [over_seeds(runs, f"{name}-again", "dctcp_dropped") for name in ("none", "fallback")]
    more = paired_ratio(
        *(cells(runs, f"{name}-again")["dctcp_dropped"].to_list() for name in ("none", "fallback"))
    )
    return {
        "fallback-fair": all_within(with_),
        "without-starves": Measured(
            True if starved else False if (without["ratio_low"] > 0.2).any() else None,
            n_seeds=BATCHES,
            note=f"Cubic / DCTCP: {note}",
        ),
        "without-loses": noted(
            more, f"share of DCTCP's packets dropped: {lost[0].value:.4f} against {lost[1].value:.4f}"
        ),
    }


def draw(runs, reference):
    from shallows.figures import relation

    series = {
        TITLES[name]: [(r["cubic"], estimate(r)) for r in cells(runs, name).iter_rows(named=True)]
        for name in TITLES
    }
    labels = ("flows of each kind", "Cubic / DCTCP, per flow")
    return {
        "ratio behind drop-tail": relation.draw(
            {"": relation.panel(series, labels, levels={"equal": 1.0}, log="y")}
        )
    }


def tables(runs):
    return {TITLES[name]: cells(runs, name).select("cubic", "dctcp", *COLUMNS) for name in TITLES}


FIGURE = Figure(
    specs=SPECS,
    samples="batches",
    seeded=("without-loses",),
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    shows={"ratio behind drop-tail": ("*",)},
    captions={
        "ratio behind drop-tail": "Cubic's goodput over DCTCP's behind drop-tail, with and without DCTCP's "
        "answer to loss."
    },
)
