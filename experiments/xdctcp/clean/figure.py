"""The clean version: does the gain survive one link rate, packet thresholds, random phases and a warm-up?"""

from shallows.studies import Figure
from shallows.studies.paper.claims import is_below

from ..common import AXIS, change, changes, changes_table, steady


def measure(runs):
    frame = runs.frame(steady)
    gain = change(frame, "short_wait_us")
    return {
        "gain": gain,
        "gain-sign": is_below(gain, unit="%"),
        "gain-message": is_below(change(frame, "message_fct_us"), unit="%"),
        "gain-query": is_below(change(frame, "query_fct_us"), unit="%"),
        "throughput": change(frame, "long_mbps"),
    }


def draw(runs, reference):
    from shallows.figures import forest

    info = forest.info({"xDCTCP": changes(runs.frame(steady))}, AXIS)
    return {"changes": forest.draw(info)}


def tables(runs):
    return {
        "Optimum against DCTCP, mean [95 % interval]": changes_table({"xDCTCP": changes(runs.frame(steady))})
    }


FIGURE = Figure(
    specs={"spec": "spec.toml"},
    measure=measure,
    draw=draw,
    tables=tables,
    captions={
        "changes": "Change of the optimum against DCTCP on the clean network, seed by seed; left of zero it "
        "has less."
    },
)
