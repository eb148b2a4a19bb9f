"""How long a second long flow takes to its fair share of a link that a first one has."""

import numpy as np
import polars as pl
from shallows.figures import curves, forest
from shallows.statistics.estimates import mean_ci, paired_ratio
from shallows.studies import Figure
from shallows.studies.paper.claims import is_below
from shallows.studies.paper.kit import Rows
from shallows.studies.paper.variants import read_variants

from ..common import NAMES, difference

IDS = ("sack", "cubic", "red", "dctcp", "rcp", "d3", "sdc", "racs")
WINDOW_MS, STEP_MS, KEPT_MS = 2, 0.2, 8
FAIR = 0.95
FREE = "free-"
FREE_IDS = ("sdc", "dctcp", "sack", "cubic")
"""Those that also run with windows which never limit. RACS, RCP and D3 have such windows always."""
SHOWN_MS, APART_MS = 50, 1


def shares(tables):
    """Share of the second flow of what both deliver in the next 2 ms, each 0.2 ms from its start on."""
    trace, flows = tables["flow_trace"], tables["flows"]
    ids = {name: flows.filter(pl.col("traffic") == name)["id"][0] for name in ("first", "second")}
    start_ms = flows.filter(pl.col("traffic") == "second")["start_ps"][0] / 1e9
    delivered = {}
    for name, number in ids.items():
        mine = trace.filter(pl.col("flow") == number).sort("time_ps")
        delivered[name] = (mine["time_ps"].to_numpy() / 1e9, mine["arrived_bytes"].to_numpy().astype(float))
    end_ms = delivered["first"][0][-1]
    after = np.arange(0.0, end_ms - start_ms - WINDOW_MS, STEP_MS)
    gained = {}
    for name, (at, total) in delivered.items():
        now = np.interp(start_ms + after, at, total, left=0.0)
        then = np.interp(start_ms + after + WINDOW_MS, at, total, left=0.0)
        gained[name] = then - now
    return gained["second"] / np.maximum(gained["first"] + gained["second"], 1.0)


def convergence(tables):
    """Time in ms until Jain's index over 2 ms is 0.95 for 10 ms on end; to the run's end if it never is."""
    share = shares(tables)
    jain = 1 / (2 * (share**2 + (1 - share) ** 2))
    least = np.lib.stride_tricks.sliding_window_view(jain, round(KEPT_MS / STEP_MS) + 1).min(axis=1)
    met = np.flatnonzero(least >= FAIR)
    return {"ms": STEP_MS * float(met[0] if len(met) else len(least)), "met": float(len(met) > 0)}


def measure(runs):
    frame = runs.frame(convergence)
    # A flow whose share is fair at once takes a step, which is the shortest time that the samples resolve.
    times = [np.maximum(Rows(frame).samples("ms", spec=name), STEP_MS) for name in ("dctcp", "sack")]
    longer = paired_ratio(*times)
    return (
        {"dctcp-slower": longer}
        | {
            f"racs-before-{other}": is_below(difference(frame, "ms", "racs", other), 0, "ms")
            for other in ("sdc", "dctcp", "sack", "cubic", "red")
        }
        | _free(frame)
    )


def _free(frame):
    """RACS against those whose windows never limit. Readings leave these runs out."""
    if FREE + FREE_IDS[0] not in set(frame["spec"]):
        return {}
    return {
        f"free-racs-before-{other}": is_below(difference(frame, "ms", "racs", FREE + other), 0, "ms")
        for other in FREE_IDS
    }


def numbers(runs):
    """How long each takes with windows that never limit, which the text names."""
    rows = Rows(runs.frame(convergence))
    return {f"{FREE}{name}": (rows.estimate("ms", spec=FREE + name), "ms") for name in FREE_IDS} | {
        "racs": (rows.estimate("ms", spec="racs"), "ms")
    }


def draw(runs, reference):
    rows = Rows(runs.frame(convergence))
    times = {NAMES[name]: rows.estimate("ms", spec=name) for name in NAMES if name in IDS}
    free = {NAMES[name]: rows.estimate("ms", spec=FREE + name) for name in FREE_IDS}
    groups = {
        "windows of at most 20 packets": times,
        "windows that never limit": {**free, NAMES["racs"]: times[NAMES["racs"]]},
    }
    label = "time until Jain's index over 2 ms stays 0.95 (ms)"
    series = {}
    for name in (name for name in NAMES if name in IDS):
        seeds = [100 * shares(run.tables) for run in runs.where(name)]
        series[NAMES[name]] = {
            at: mean_ci([each[round(at / STEP_MS)] for each in seeds]) for at in range(0, SHOWN_MS, APART_MS)
        }
    panel = curves.Panel(series, "share of the second flow (%)", lines={"fair": 50})
    return {
        "convergence": forest.draw(forest.info(groups, label, None), log=True),
        "share": curves.draw(curves.info({"": panel}, "time since it began (ms)")),
    }


def _rows():
    """Experiments with their names: all transports, then those whose windows never limit."""
    return [(name, NAMES[name]) for name in NAMES if name in IDS] + [
        (FREE + name, f"{NAMES[name]}, windows that never limit") for name in FREE_IDS
    ]


def tables(runs):
    frame = Rows(runs.frame(convergence))
    rows = [
        {
            "transport": words,
            "time (ms)": str(frame.estimate("ms", spec=spec)),
            "runs that came to it (%)": round(100 * frame.estimate("met", spec=spec).value),
        }
        for spec, words in _rows()
    ]
    return {"A second long flow: time until both have about the same": pl.DataFrame(rows)}


FIGURE = Figure(
    specs=read_variants(__file__),
    settings={"window": f"{WINDOW_MS}ms", "fair": FAIR},
    measure=measure,
    draw=draw,
    tables=tables,
    numbers=numbers,
    shows={"convergence": ("racs-before-*", "dctcp-slower", "free-*")},
    captions={
        "convergence": "How long a second long flow takes to its fair share. The thesis draws no figure of "
        "it.",
        "share": "Share of the second flow after its beginning, mean over the seeds with its 95 % interval.",
    },
)
