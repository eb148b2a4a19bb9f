"""Other numbers of query, short and long senders than the document's 2-3-3."""

from shallows.studies import Figure
from shallows.studies.paper.claims import is_below

from ..common import (
    AXIS,
    CHANGES,
    DCTCP,
    OPTIMUM,
    RANDOM_PHASES,
    change,
    changes,
    changes_table,
    settings,
    steady,
)

MIXES = {"2-3-3": (2, 3, 3), "1-6-1": (1, 6, 1), "2-5-1": (2, 5, 1), "3-3-2": (3, 3, 2), "3-4-1": (3, 4, 1)}
KEPT = (
    "short_wait_us",
    "query_fct_us",
    "message_fct_us",
    "message_fct_p99_us",
    "long_mbps",
    "queue_sd_packets",
)
SHOWN = {k: CHANGES[k] for k in KEPT}


def senders(query, short, long):
    """Senders and their loads, in the document's order."""
    ends = (query, query + short, query + short + long)
    names = [f"s{a}..s{b - 1}" if b - a > 1 else f"s{a}" for a, b in zip((0, *ends[:2]), ends, strict=True)]
    return {f"traffic.{k}.from": name for k, name in zip(("query", "short", "long"), names, strict=True)}


def measure(runs):
    frame = runs.frame(steady)
    waits = {f"gain-{m}": is_below(change(frame, "short_wait_us", spec=m), unit="%") for m in MIXES}
    times = {f"fct-{m}": is_below(change(frame, "message_fct_us", spec=m), unit="%") for m in MIXES}
    rates = {f"throughput-{m}": change(frame, "long_mbps", spec=m) for m in MIXES}
    return waits | times | rates


def _series(runs):
    frame = runs.frame(steady)
    return {mix: changes(frame, columns=SHOWN, spec=mix) for mix in MIXES}


def draw(runs, reference):
    from shallows.figures import forest

    return {"changes by mix": forest.draw(forest.info(_series(runs), AXIS))}


def tables(runs):
    return {
        "Optimum against DCTCP by mix (query-short-long), mean [95 % interval]": changes_table(_series(runs))
    }


FIGURE = Figure(
    specs={
        name: (
            "../table/spec.toml",
            RANDOM_PHASES
            | {"probe.port_trace": "off", "sweep.points": [settings(t) for t in (DCTCP, OPTIMUM)]}
            | senders(*counts),
        )
        for name, counts in MIXES.items()
    },
    measure=measure,
    draw=draw,
    tables=tables,
    captions={
        "changes by mix": "Change of the optimum against DCTCP by the numbers of query, short and long "
        "senders."
    },
)
