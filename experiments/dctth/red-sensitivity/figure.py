"""RED's settings, one at a time: unfairness between Cubic and DCTCP, and the queue of Cubic alone."""

import polars as pl
from shallows.statistics.estimates import paired_ratio
from shallows.studies import Figure
from shallows.studies.paper.claims import Measured, noted

from ..common import BACKENDS, BATCHES, CUBIC, DCTCP, FLOYD_RED, TC_RED, cells

VARIANTS = {
    "as recommended (5, 15, .002, .1, gentle)": {},
    "max_p = .02": {"max_p": 0.02},
    "max_p = .5": {"max_p": 0.5},
    "w_q = .0002": {"w_q": 0.0002},
    "w_q = .02": {"w_q": 0.02},
    "not gentle": {"gentle": False},
    "independent spacing": {"spacing": "independent"},
    "2 to 6 packets": {"min": "2pkt", "max": "6pkt"},
    "15 to 45 packets": {"min": "15pkt", "max": "45pkt"},
    "50 to 150 packets": {"min": "50pkt", "max": "150pkt"},
}
TC_VARIANTS = {
    "tc-red, the manual's example": {},
    "tc-red, not adaptative": {"adaptative": False},
    "tc-red, probability .1": {"adaptative": False, "probability": 0.1},
    "tc-red, 10 to 30 KB": {"min": "10KB", "max": "30KB", "burst": 17},
    "tc-red, 60 to 180 KB": {"min": "60KB", "max": "180KB", "burst": 100},
    "tc-red, harddrop": {"harddrop": True},
}
QUEUES = {k: FLOYD_RED | v for k, v in VARIANTS.items()} | {k: TC_RED | v for k, v in TC_VARIANTS.items()}
FLOWS = [(1, 1), (5, 5), (1, 0), (5, 0)]


def _settings(runs):
    """A row a setting: Cubic / DCTCP with 1 and 5 flows of each, and queue and link with Cubic alone."""
    rows = []
    frame = cells(runs)
    for k, name in enumerate(QUEUES):
        mine = _rows(runs, frame, k)
        rows.append(
            {
                "setting": name,
                "ratio 1 + 1": mine[1, 1]["ratio"],
                "ratio 5 + 5": mine[5, 5]["ratio"],
                "most": max(mine[n, n]["ratio_high"] for n in (1, 5)),
                "least": min(mine[n, n]["ratio_low"] for n in (1, 5)),
                "queue, 1 Cubic": mine[1, 0]["queue_mean_packets"],
                "queue, 5 Cubic": mine[5, 0]["queue_mean_packets"],
                "use of the link, 1 Cubic": mine[1, 0]["utilisation"],
                "queue, 5 + 5": mine[5, 5]["queue_mean_packets"],
            }
        )
    return pl.DataFrame(rows)


def _rows(runs, frame, k):
    """The cells of the k-th setting by their flows."""
    chosen = frame.filter(pl.col("queue") == frame_key(runs, k))
    return {(row["cubic"], row["dctcp"]): row for row in chosen.iter_rows(named=True)}


def frame_key(runs, k):
    """How the frame writes the k-th queue."""
    return list(dict.fromkeys(runs.where("spec").frame(_nothing)["queue"]))[k]


def _nothing(_):
    return {}


def measure(runs):
    found = _settings(runs)
    queues = found.sort("queue, 5 Cubic")
    short, long = queues.row(0, named=True), queues.row(-1, named=True)
    extremes = cells(runs, "extremes").sort("queue", "seed")
    means = [
        part["queue_mean_packets"].to_list() for part in extremes.partition_by("queue", maintain_order=True)
    ]
    smaller, larger = sorted(means, key=sum)
    below, above = (found["most"] < 0.5).all(), (found["least"] > 0.5).any()
    worst = found.sort("ratio 1 + 1", descending=True).row(0, named=True)
    nearest = (
        f"nearest to fair: {worst['setting']}, {worst['ratio 1 + 1']:.2f} and {worst['ratio 5 + 5']:.2f}"
    )
    told = [f"{row['queue, 5 Cubic']:.1f} packets ({row['setting']})" for row in (short, long)]
    return {
        "unfair-whatever": Measured(
            True if below else False if above else None, n_seeds=BATCHES, note=nearest
        ),
        "queue-is-a-choice": noted(paired_ratio(larger, smaller), " to ".join(told)),
    }


def draw(runs, reference):
    from shallows.figures import forest
    from shallows.statistics.estimates import Estimate

    found = _settings(runs)
    ratio = {
        f"{n} + {n} flows": {
            r["setting"]: Estimate(r[f"ratio {n} + {n}"], None, None, 1) for r in found.iter_rows(named=True)
        }
        for n in (1, 5)
    }
    queue = {
        f"{n} Cubic": {
            r["setting"]: Estimate(r[f"queue, {n} Cubic"], None, None, 1) for r in found.iter_rows(named=True)
        }
        for n in (1, 5)
    }
    return {
        "ratio by setting": forest.draw(forest.info(ratio, "Cubic / DCTCP, per flow", 1.0)),
        "queue of Cubic alone by setting": forest.draw(forest.info(queue, "mean queue (packets)", None)),
    }


def tables(runs):
    return {"RED's settings": _settings(runs).drop("most", "least")}


FIGURE = Figure(
    specs={
        "spec": (
            "../grid-dualq/spec.toml",
            {
                "duration": "125s",
                "sweep": {
                    "grid": {"queue": list(QUEUES.values())},
                    "points": [{CUBIC: c, DCTCP: d} for c, d in FLOWS],
                },
            },
        ),
        "extremes": (
            "../grid-dualq/spec.toml",
            {
                "duration": "125s",
                "seeds": 3,
                "sweep": {
                    "grid": {"queue": [QUEUES["2 to 6 packets"], QUEUES["tc-red, 60 to 180 KB"]]},
                    "points": [{CUBIC: 5, DCTCP: 0}],
                },
            },
        ),
    },
    samples="batches",
    seeded=("queue-is-a-choice",),
    backends=BACKENDS,
    measure=measure,
    draw=draw,
    tables=tables,
    captions={
        "ratio by setting": "Cubic's goodput over DCTCP's by RED's setting.",
        "queue of Cubic alone by setting": "Mean queue of Cubic alone by RED's setting.",
    },
)
