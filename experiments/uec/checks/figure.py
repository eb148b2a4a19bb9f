"""Small checks of uet-htsim: messages, incasts and permutations of 16 hosts under NSCC, credit, and both."""

from shallows.studies import Figure
from shallows.studies.paper.kit import Rows

from ..common import (
    BACKENDS,
    BOTH,
    CREDIT,
    NSCC,
    TREE,
    bounds,
    draw_checks,
    flows,
    lasts,
    permutation,
    scheme,
    seen,
    settings,
    table_of_checks,
)

HOPS = 6
FIRST = 50
"""First window of two plans in packets."""
THREE = flows([(127, 0)]) + flows([(95, 0), (61, 0)], "250KB", "40us")
OUTCAST = [(1, 0), (2, 0), *((2, n) for n in range(4, 13)), (3, 0), *((3, n) for n in range(13, 22))]
ONE_PATH = {"entropy": "single", "entropies": 1}
PLANS = {
    "one": (4, flows([(0, 13)]), {}),
    "two-ways": (4, flows([(0, 13), (13, 0)]), {}),
    "incast-15": (4, flows((n, 15) for n in range(15)), {}),
    "incast-127": (8, flows((n, 33) for n in range(128) if n != 33), {}),
    "incast-1023": (16, flows(((n, 0) for n in range(1, 1024)), "100KB"), {"window": FIRST, "seeds": 3}),
    "three": (8, THREE, {"window": FIRST}),
    "outcast": (8, flows(OUTCAST), {}),
    "perm-16": (4, flows(permutation(16)), {"values": 128}),
    "perm-16-slow": (4, flows(permutation(16)), {"values": 128, "slow": 1}),
    "perm-16-single": (4, flows(permutation(16)), {}),
}
"""By name: the tree's k, the flows, and what else is set."""
MESSAGES = {"10": "4086B", "100": "40860B"}
"""Packets of a connection, and the bytes of each of its ten messages."""


def plan(name):
    """Settings over the tree's file for one plan under the three schemes."""
    k, rows, more = PLANS[name]
    paths = ONE_PATH if name.endswith("single") else {}
    points = [
        scheme(kind, f"{kind}-{name}", HOPS, slow=more.get("slow", 0), **paths)
        for kind in (NSCC, BOTH, CREDIT)
    ]
    changes = {"topology.k": k, "traffic.x.flows": rows, "sweep.points": points}
    seeds = {"seeds": more["seeds"]} if "seeds" in more else {}
    return changes | seeds | settings(HOPS, **{key: value for key, value in more.items() if key != "seeds"})


def connection(packets, form):
    """Two hosts: one message, or ten on a connection that is kept."""
    ten = {
        "kind": "messages",
        "from": "h0",
        "to": "h1",
        "bytes": MESSAGES[packets],
        "interval": "1ps",
        "count": 10,
    }
    one = {"kind": "bulk", "from": "h0", "to": "h1", "bytes": f"{int(packets) * 4086}B"}
    points = [scheme(kind, f"{kind}-{form}-{packets}", HOPS) for kind in (NSCC, CREDIT)]
    load = {"x": ten if form == "messages" else one}
    return {"topology.k": 2, "traffic": load, "sweep.points": points, "seeds": 1} | settings(HOPS)


def measure(runs):
    found = {title: value for title, value in lasts(runs).items() if title in CLAIMED}
    rows = Rows(runs.frame(seen))
    flow = {
        f"{kind}-outcast-first": rows.estimate("first", title=f"{kind}-outcast")
        for kind in (NSCC, BOTH, CREDIT)
    }
    return found | flow | {"bounds": bounds(runs, found, CLAIMED)}


CONNECTIONS = {
    f"{form}-{packets}": connection(packets, form)
    for packets in MESSAGES
    for form in ("fresh", "kept", "messages")
}
CLAIMED = {
    point["title"] for each in (*map(plan, PLANS), *CONNECTIONS.values()) for point in each["sweep.points"]
}

FIGURE = Figure(
    specs={name: (TREE, plan(name)) for name in PLANS}
    | {name: (TREE, one) for name, one in CONNECTIONS.items()},
    backends=BACKENDS,
    measure=measure,
    draw=draw_checks,
    tables=lambda runs: {"Last acknowledgements in us": table_of_checks(runs)},
    shows={"deviations": ("*",)},
    captions={
        "deviations": "Small checks: the last acknowledgement beside the recorded one of uet-htsim, "
        "with 95 % intervals over seeds."
    },
)
