"""Winners of two tuning studies on seeds that had no part in the choice, against DCTCP and the optimum."""

import polars as pl
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, is_above, is_below
from shallows.studies.paper.kit import Rows

from ..common import (
    CHANGES,
    DCTCP,
    MAIN,
    OPTIMUM,
    RANDOM_PHASES,
    change,
    changes,
    changes_table,
    settings,
    steady,
)

KEPT_PERCENT = 0.05
PUBLISHED_K = 65
# Settings confirmed by ./shallows tune, to three digits (reference.csv has all trials): trials 62, 50, 24 of
# triplet.toml, and 8, 9, 1 of threshold.toml.
TRIPLETS = [
    {"g": 0.331, "ns": 0.881, "nl": 0.968},
    {"g": 0.765, "ns": 0.443, "nl": 0.397},
    {"g": 0.896, "ns": 0.979, "nl": 0.299},
]
THRESHOLDS = [32, 40, 50]
TUNED = [(triplet, PUBLISHED_K) for triplet in TRIPLETS] + [(DCTCP, k) for k in THRESHOLDS]
BASES = [(DCTCP, PUBLISHED_K), (OPTIMUM, PUBLISHED_K)]


def _bytes(packets):
    return f"{packets * 1460}B"


def which(point):
    """A point as columns of the frame."""
    triplet, k = point
    return triplet | {"mark_at": _bytes(k)}


def name(point):
    """A point for tables and legends."""
    triplet, k = point
    if point in BASES:
        return "DCTCP" if triplet == DCTCP else "optimum"
    if triplet == DCTCP:
        return f"DCTCP, K = {k}"
    return f"g {triplet['g']:g}, ns {triplet['ns']:g}, nl {triplet['nl']:g}"


def against(frame, column, point, base=BASES[1]):
    """Change of a column against the optimum in per cent, paired by seed."""
    return change(frame, column, which(point), which(base))


def dominates(frame, point):
    """Whether it has less wait than the optimum and keeps the goodput; None if the seeds don't tell."""
    less = is_below(against(frame, "short_wait_us", point)).value
    kept = is_above(against(frame, "long_mbps", point), -KEPT_PERCENT).value
    return False if False in (less, kept) else None if None in (less, kept) else True


def not_dominated(frame, points):
    """The claim that none of the points dominates the optimum."""
    found = {name(point): dominates(frame, point) for point in points}
    by = [label for label, yes in found.items() if yes]
    decided = False if by else None if None in found.values() else True
    return Measured(decided, note=f"dominated by {'; '.join(by) or 'none of those found'}")


def measure(runs):
    frame = runs.frame(steady)
    triplet, threshold = TUNED[0], TUNED[len(TRIPLETS)]
    found = {
        "triplet-not-dominating": not_dominated(frame, TUNED[: len(TRIPLETS)]),
        "threshold-not-dominating": not_dominated(frame, TUNED[len(TRIPLETS) :]),
    }
    for label, point in (("triplet", triplet), ("threshold", threshold)):
        for column, what in (("query_fct_us", "query"), ("message_fct_us", "message")):
            slower = is_above(against(frame, column, point), unit="%")
            found[f"{label}-{what}-fct"] = slower._replace(note=f"{name(point)}: {slower.note}")
    return found


def draw(runs, reference):
    from shallows.figures import forest, front

    frame = runs.frame(steady)
    named = {
        name(point): [
            Rows(frame).estimate(column, **which(point)) for column in ("short_wait_us", "long_mbps")
        ]
        for point in BASES + TUNED
        if len(Rows(frame).at(**which(point)))
    }
    tried = [[row["wait_us"], row["long_mbps"]] for row in reference.to_dicts()]
    axes = ["mean wait of short flows (us)", "goodput of a long flow (Mbit/s)"]
    columns = {column: CHANGES[column] for column in MAIN}
    series = {name(point): changes(frame, which(point), which(BASES[1]), columns) for point in TUNED}
    return {
        "trials of both studies, and the fresh seeds": front.draw(front.info(axes, tried, [], [], named)),
        "tuned settings against the optimum": forest.draw(
            forest.info(series, "change against the optimum (%), 95 % interval")
        ),
    }


def tables(runs):
    frame = runs.frame(steady)
    rows = []
    for point in BASES + TUNED:
        cells = {c: str(Rows(frame).estimate(c, **which(point))) for c in MAIN}
        rows.append({"setting": name(point), "K (packets)": point[1]} | cells)
    series = {name(point): changes(frame, which(point), which(BASES[1])) for point in TUNED}
    return {
        "Means over the fresh seeds [95 % interval]": pl.DataFrame(rows),
        "Tuned settings against the optimum": changes_table(series),
    }


FIGURE = Figure(
    specs={
        "confirm": (
            "../table/spec.toml",
            RANDOM_PHASES
            | {
                "probe.port_trace": "off",
                "duration": "650ms",
                "seeds": list(range(201, 221)),
                "sweep.points": [settings(t) | {"queue.mark_at": _bytes(k)} for t, k in BASES + TUNED],
            },
        )
    },
    settings={"kept": f"{KEPT_PERCENT}%"},
    measure=measure,
    draw=draw,
    tables=tables,
    captions={
        "trials of both studies, and the fresh seeds": "All trials of the two studies (grey), and the "
        "winners with the optimum and DCTCP on fresh seeds.",
        "tuned settings against the optimum": "The winners against the document's optimum on fresh seeds.",
    },
)
