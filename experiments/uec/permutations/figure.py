"""Checks of uet-htsim with a permutation of 1024 hosts: choices of paths, and leaves with too few uplinks."""

from shallows.studies import Figure

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
    settings,
    table_of_checks,
)

HOPS, LEAF_HOPS = 6, 4
HOSTS = 1024
LONG = 500
"""Packets of a long queue."""
CHOICES = {
    "oblivious": {"entropy": "oblivious"},
    "bitmap": {"entropy": "bitmap"},
    "reps": {"entropy": "reps-freezing"},
    "reps-each": {"entropy": "reps-freezing", "ack_bytes": "4000B"},
    "mixed": {},
    "mixed-each": {"ack_bytes": "4000B"},
}
"""Choices of values by name; `each`: an answer for each packet."""
FLOWS = {"topology.k": 16, "traffic.x.flows": flows(permutation(HOSTS)), "seeds": 3}
ONE_PATH = {"entropy": "single", "entropies": 1}


def tree(name, *, choices, kinds, queue=None, slow=0):
    """The tree under choices of values; `name` is a part of each title behind the choice."""
    points = [
        scheme(kind, f"{kind}-{choice}{name}", HOPS, queue=queue, slow=slow, **more)
        for kind in kinds
        for choice, more in choices.items()
    ]
    return FLOWS | {"sweep.points": points} | settings(HOPS, queue=queue, slow=slow, values=128)


def leaves(name, spines):
    """Leaves of 32 hosts with fewer uplinks. Credit alone is left out: it slows pulls down by marks there."""
    points = [scheme(kind, f"{kind}-{name}", LEAF_HOPS, edge="leaf*") for kind in (NSCC, BOTH)]
    topology = {
        "kind": "leaf-spine", "leaves": 32, "spines": spines, "hosts_per_leaf": 32,
        "rate": "100Gbps", "delay": "1us", "uplink_delay": "1us",
    }  # fmt: skip
    return FLOWS | {"topology": topology, "sweep.points": points} | settings(LEAF_HOPS, values=128)


PLANS = {
    "mixed": tree("", choices={"mixed": {}}, kinds=(NSCC, BOTH, CREDIT)),
    "slow-link": tree("", choices={"slow-link": {}}, kinds=(NSCC, BOTH, CREDIT), slow=1),
    "single": tree("", choices={"single": ONE_PATH}, kinds=(NSCC, BOTH, CREDIT)),
    "four-to-one": leaves("four-to-one", 8),
    "eight-to-one": leaves("eight-to-one", 4),
    "choices": tree("", choices={n: c for n, c in CHOICES.items() if n != "mixed"}, kinds=(NSCC, CREDIT)),
    "long": tree(
        "-long",
        choices={n: c for n, c in CHOICES.items() if n not in ("mixed", "reps")},
        kinds=(NSCC, CREDIT),
        queue=LONG,
    ),
}


def measure(runs):
    found = {title: value for title, value in lasts(runs).items() if title in CLAIMED}
    # The file on choices of paths has two checks of the first one again.
    again = {
        f"{kind}-mixed-again": found[f"{kind}-mixed"] for kind in (NSCC, CREDIT) if f"{kind}-mixed" in found
    }
    return found | again | {"bounds": bounds(runs, found | again, CLAIMED)}


CLAIMED = {point["title"] for each in PLANS.values() for point in each["sweep.points"]}

FIGURE = Figure(
    specs={name: (TREE, plan) for name, plan in PLANS.items()},
    backends=BACKENDS,
    measure=measure,
    draw=draw_checks,
    tables=lambda runs: {"Last acknowledgements in us": table_of_checks(runs)},
    shows={"deviations": ("*",)},
    captions={
        "deviations": "A permutation of 1024 hosts: the last acknowledgement beside the recorded one of "
        "uet-htsim, with 95 % intervals over seeds."
    },
)
