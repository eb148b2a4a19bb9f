"""The optimum at 25, 40 and 100 Gb/s: threshold, buffer and messages grow with the rate, or messages stay."""

from shallows.studies import Figure
from shallows.studies.paper.claims import is_below

from ..common import AXIS, CHANGES, change, changes, changes_table, steady

RATES = (25, 40, 100)
BASE_GBPS, LIMIT, MARK_AT = 10, 250, 65
QUERY_KB, SHORT_KB = 10, 500
KEPT = ("short_wait_us", "query_fct_us", "message_fct_us", "long_mbps", "queue_sd_packets")
SHOWN = {name: CHANGES[name] for name in KEPT}


def scaled(rate, messages=True):
    """The clean network at this rate: queue and, if `messages`, sizes of messages in proportion."""
    times = rate / BASE_GBPS
    found = {
        "topology.rate": f"{rate}Gbps",
        "queue.limit": f"{round(LIMIT * times)}pkt",
        "queue.mark_at": f"{round(MARK_AT * times)}pkt",
        "seeds": 8,
        "duration": "600ms",
    }
    if messages:
        found |= {
            "traffic.query.bytes": f"{round(QUERY_KB * times)}KB",
            "traffic.short.bytes": f"{round(SHORT_KB * times)}KB",
        }
    return found


def measure(runs):
    frame = runs.frame(steady)
    found = {}
    for rate in RATES:
        for kind in ("", "-same"):
            spec = f"{rate}{kind}"
            if not runs.where(spec):
                continue
            found[f"wait-{spec}"] = is_below(change(frame, "short_wait_us", spec=spec), unit="%")
            found[f"message-{spec}"] = is_below(change(frame, "message_fct_us", spec=spec), unit="%")
            found[f"throughput-{spec}"] = change(frame, "long_mbps", spec=spec)
    return found


def _series(runs):
    frame = runs.frame(steady)
    return {
        f"{rate} Gb/s{words}": changes(frame, columns=SHOWN, spec=f"{rate}{kind}")
        for rate in RATES
        for kind, words in (("", ""), ("-same", ", messages as at 10"))
        if runs.where(f"{rate}{kind}")
    }


def draw(runs, reference):
    from shallows.figures import forest

    return {"changes by rate": forest.draw(forest.info(_series(runs), AXIS))}


def tables(runs):
    return {"Optimum against DCTCP by rate, mean [95 % interval]": changes_table(_series(runs))}


FIGURE = Figure(
    specs={
        f"{rate}{kind}": ("../clean/spec.toml", scaled(rate, messages))
        for rate in RATES
        for kind, messages in (("", True), ("-same", False))
    },
    measure=measure,
    draw=draw,
    tables=tables,
    beyond=True,
    captions={
        "changes by rate": "Change of the optimum against DCTCP by the rate of all links, by seed; left of "
        "zero it has less."
    },
)
