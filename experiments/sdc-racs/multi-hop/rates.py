"""Rates that follow from each protocol's own rule, where hosts 1 to 5 may stand, by link.

A placement gives each host a rack of figure 3.6. Links have one direction each; a flow's path is its host's
link, the links of its rack's switch to S4 and back where racks differ, and the receiver's link.
"""

import itertools

FLOWS = ("12", "23", "43", "45")
PUBLISHED = {"sdc": (298, 298, 298, 604), "racs": (300, 300, 300, 600)}

PLACEMENTS = {
    "1 2 3 | 4 5": {1: "a", 2: "a", 3: "a", 4: "b", 5: "b"},
    "2 3 | 1 4 5": {1: "b", 2: "a", 3: "a", 4: "b", 5: "b"},
    "1 2 3 5 | 4": {1: "a", 2: "a", 3: "a", 4: "b", 5: "a"},
    "2 3 5 | 1 4": {1: "b", 2: "a", 3: "a", 4: "b", 5: "a"},
}
"""Rack A, then rack B: host 4's link leads "to S2", so that it stands in rack B; hosts 2 and 3 behind the
bottleneck switch S1; hosts 1 and 5 in either."""


def path(flow, racks):
    """The directed links of a flow."""
    source, sink = int(flow[0]), int(flow[1])
    inner = []
    if racks[source] != racks[sink]:
        inner = [f"S{racks[source]}->S4", f"S4->S{racks[sink]}"]
    return [f"{source}->S", *inner, f"S->{sink}"]


def ways(racks):
    """Each flow's links, and those of its acknowledgements."""
    return [(path(flow, racks), path(flow[::-1], racks)) for flow in FLOWS]


def max_min(paths, capacity=1000.0):
    """Max-min fair rates in Mb/s (Bertsekas and Gallager, Data Networks, section 6.5.2)."""
    rates, open_flows = {}, set(paths)
    left = {link: capacity for links in paths.values() for link in links}
    while open_flows:
        users = {link: [f for f in open_flows if link in paths[f]] for link in left}
        share, link = min((left[link] / len(mine), link) for link, mine in users.items() if mine)
        for flow in users[link]:
            rates[flow] = share
            open_flows.remove(flow)
            for each in paths[flow]:
                left[each] -= share
    return rates


def by_weight(paths, capacity=1000.0):
    """RACS, eq. (4.2), for long flows, whose weights are alike: the least of C / n over a flow's links."""
    users = {
        link: sum(link in links for links in paths.values()) for links in paths.values() for link in links
    }
    return {flow: min(capacity / users[link] for link in links) for flow, links in paths.items()}


def all_placements():
    """Every way to put hosts 1 to 5 into three racks."""
    return ({n + 1: rack for n, rack in enumerate(racks)} for racks in itertools.product("abc", repeat=5))


def shared_switch(capacity):
    """Max-min rates if all that passes S1 shared one resource, and host 4's link to S2 another."""
    return max_min({"12": ["S1"], "23": ["S1"], "43": ["S1", "4"], "45": ["4"]}, capacity)
