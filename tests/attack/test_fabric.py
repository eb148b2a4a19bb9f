"""Worst cases of fabrics: cables, storms of pauses, deadlocks, victims, incasts, collisions, placements."""

import json
import tomllib
from types import SimpleNamespace

import pytest
from conftest import shallows, write_toml
from shallows.attack import objective as objectives
from shallows.attack.fabric import cables, collisions, deadlocks, dependencies, placement
from shallows.attack.fabric.dependencies import Network, shortest_cycle
from shallows.attack.fabric.incast import first_overflow
from shallows.attack.fabric.search import search, space_of
from shallows.document.check import resolve
from shallows.errors import SpecError
from shallows.execution.runner import Runner


def switches(links, count=3, **more):
    """Switches in a graph with a host each: (a, b, rate) for each cable between switches."""
    rows = [{"from": f"h{n}", "to": f"sw{n}", "rate": "10Gbps", "delay": "1us"} for n in range(count)]
    rows += [{"from": f"sw{a}", "to": f"sw{b}", "rate": rate, "delay": "1us"} for a, b, rate in links]
    last = count - 1
    return {
        "duration": "2ms",
        "topology": {"kind": "graph", "hosts": f"h0..h{last}", "switches": f"sw0..sw{last}", "links": rows},
        "queue": {"kind": "drop-tail", "limit": "200pkt"},
        "transport": {"cc": "newreno"},
        "traffic": {"long": {"kind": "bulk", "from": "h0", "to": "h1"}},
    } | more


TRIANGLE = switches([(0, 1, "10Gbps"), (1, 2, "1Gbps"), (0, 2, "1Gbps")])


def lossless(document):
    """With queue pairs over a lossless priority, whose senders never slow down."""
    return document | {
        "queue": {"kind": "drop-tail", "limit": "none"},
        "switch": {"*": {"buffer": "2MB"}},
        "priority": {"3": {"pfc": True}, "6": {}},
        "transport": {"profile": "roce", "cc": "line-rate", "priority": 3, "ack_priority": 6},
    }


def incast(response, limit):
    """One round of responses to one host, over links of 1 Gb/s."""
    load = {"kind": "incast", "from": "s*", "to": "r0", "response": response, "rounds": 1, "start": "1ms"}
    return {
        "duration": "30ms",
        "topology": {"kind": "star", "senders": 32, "rate": "1Gbps", "delay": "20us"},
        "queue": {"kind": "drop-tail", "limit": limit},
        "transport": {"cc": "newreno"},
        "traffic": {"query": load},
    }


CLOS = {
    "duration": "1ms",
    "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4, "rate": "10Gbps"},
    "queue": {"kind": "drop-tail", "limit": "200pkt"},
    "transport": {"cc": "newreno"},
    "traffic": {"long": {"kind": "bulk", "from": "h0..h3", "to": "h4..h7", "pattern": "pairs"}},
}
"""Four flows from leaf to leaf, over two spines."""


def ring(count):
    return lossless(switches([(n, (n + 1) % count, "10Gbps") for n in range(count)], count))


HOT_AND_COLD = lossless(
    {
        "duration": "2ms",
        "topology": {
            "kind": "graph",
            "hosts": "h0..h4",
            "switches": "sw0..sw1",
            "links": [
                *({"from": f"h{n}", "to": f"sw{n // 2}", "rate": "10Gbps", "delay": "1us"} for n in range(4)),
                {"from": "h4", "to": "sw1", "rate": "10Gbps", "delay": "1us"},
                {"from": "sw0", "to": "sw1", "rate": "40Gbps", "delay": "1us"},
            ],
        },
        "traffic": {
            "hot": {"kind": "bulk", "from": ["h0", "h2"], "to": "h3"},
            "cold": {"kind": "bulk", "from": "h1", "to": "h4"},
        },
    }
)
"""Two flows to h3, which pauses reach over the core; a third over the same core to a host that is free."""


def found(tmp_path, document, search_for, against=None):
    """The outcome of one search."""
    space = space_of(write_toml(tmp_path / "fabric.toml", document))
    objective = None if against is None else objectives.read(against, space)
    outcome = search(space, objective, Runner.of(store=tmp_path / "runs", workers=1), [search_for])
    return outcome.parts[search_for]


def test_the_cable_without_a_good_detour_is_the_worst(tmp_path):
    all_cables = found(tmp_path, TRIANGLE, "cable", "long.goodput_bps < 50 %")
    assert all_cables.base == 1
    worst, *others = all_cables.failures
    assert (
        worst.cable == "sw0<->sw1" and worst.holds and worst.value == pytest.approx(0.1, rel=0.1)
    )  # the detour has a tenth of the rate
    assert [(one.value, one.holds) for one in others] == [(1, False), (1, False)]


def test_a_cable_that_cuts_hosts_off_has_a_reason_and_no_value(tmp_path):
    chain = switches([(0, 1, "10Gbps"), (1, 2, "10Gbps")])
    failures = {one.cable: one for one in found(tmp_path, chain, "cable", "long.goodput_bps < 50 %").failures}
    assert failures["sw1<->sw2"].value == 1
    cut = failures["sw0<->sw1"]
    assert cut.value == 0 or (cut.value is None and cut.note)


@pytest.mark.parametrize("count", [4, 5])
def test_a_ring_has_a_circle_whose_flows_deadlock(tmp_path, count):
    """Shortest ways of two cables or more go around: each waits for the next, all around the ring."""
    outcome = found(tmp_path, ring(count), "deadlock")
    assert outcome.networks == count + 1
    [whole] = [one for one in outcome.deadlocks if one.cable is None]
    assert len(whole.cycle.ports) == count
    if count == 5:
        assert whole.stands and "deadlock" in whole.note


def test_a_ring_without_a_cable_has_no_circle(tmp_path):
    assert [one.cable for one in found(tmp_path, ring(5), "deadlock").deadlocks] == [None]


def test_static_routes_can_make_a_circle_that_shortest_ways_have_not(tmp_path):
    """The search ignored the file's own routes, took the shortest ways, and found no circle."""
    around = [{"at": f"sw{n}", "to": f"h{(n + 1) % 3}", "via": [f"sw{(n + 2) % 3}"]} for n in range(3)]
    document = lossless(TRIANGLE) | {"routing": {"routes": around}}
    outcome = found(tmp_path, document, "deadlock")
    [whole] = [one for one in outcome.deadlocks if one.cable is None]
    assert sorted(whole.cycle.ports) == ["sw0->sw2", "sw1->sw0", "sw2->sw1"]
    assert outcome.plain and outcome.networks == 4
    assert found(tmp_path, lossless(TRIANGLE), "deadlock").deadlocks == []


def test_a_static_route_loses_a_failed_cable_and_then_gives_way_to_the_computed_hops(tmp_path):
    routes = [{"at": "sw0", "to": "h1..h1", "via": ["sw1", "sw2"]}]
    document = switches(
        [(0, 1, "10Gbps"), (1, 2, "10Gbps"), (0, 2, "10Gbps"), (0, 3, "10Gbps"), (3, 1, "10Gbps")], 4
    )
    network = Network.of(resolve(document | {"routing": {"routes": routes}}))
    names = [node["name"] for node in network.nodes]
    cables = {
        frozenset(names[network.ports[port][end]] for end in ("from", "to")): (port, back)
        for port, back in network.cables()
    }

    def hops(*cut):
        without = [port for ends in cut for port in cables[frozenset(ends)]]
        table = network.tables(without)[1]  # towards h1
        return sorted(names[network.ports[port]["to"]] for port in table[names.index("sw0")])

    assert network.plain and hops() == ["sw1", "sw2"]
    assert hops(("sw0", "sw1")) == ["sw2"], "by the route; the computed hops are sw2 and sw3"
    assert hops(("sw0", "sw1"), ("sw0", "sw2")) == ["sw3"]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("h1", ["h1"]),
        ("h*", ["h1", "h2", "h10"]),
        ("h2..h10", ["h2", "h10"]),
        ("*g0.*", ["agg0.1"]),
        ("h01..h10", ["h10"]),
    ],
)
def test_static_routes_name_nodes_as_the_core_does(pattern, names):
    assert [name for name in ("h1", "h2", "h10", "agg0.1") if dependencies._named(name, pattern)] == names


def test_flows_of_a_circle_may_share_a_host():
    """As pairs of two lists they were paired wrongly, since a list names each host once."""
    scene = SimpleNamespace(document=lossless(TRIANGLE), experiment=resolve(lossless(TRIANGLE)))
    flows = [("h0", "h1"), ("h1", "h0"), ("h2", "h0")]
    loads = deadlocks._with_flows(scene, flows, ["3"])["traffic"].values()
    assert [(load["from"], load["to"]) for load in loads] == flows


def test_what_is_left_of_a_network_whose_hosts_are_cut_off_is_searched(tmp_path):
    links = [(n, (n + 1) % 5, "10Gbps") for n in range(5)]
    document = lossless(switches([*links, (0, 5, "10Gbps")], count=6))
    outcome = found(tmp_path, document, "deadlock")
    assert (outcome.networks, outcome.plain) == (7, True)
    assert [one.cable for one in outcome.deadlocks] == [None, "sw0<->sw5"]


def test_up_and_down_has_no_circle():
    clos = {"kind": "leaf-spine", "leaves": 3, "spines": 2, "hosts_per_leaf": 2, "rate": "10Gbps"}
    document = lossless(TRIANGLE | {"topology": clos, "traffic": {}})
    document["traffic"] = {"a": {"kind": "bulk", "from": "h0", "to": "h5"}}
    network = Network.of(resolve(document))
    assert len(network.cables()) == 6
    assert [shortest_cycle(network, cable) for cable in [(), *network.cables()]] == [None] * 7


def test_two_failed_cables_harm_where_one_does_not(tmp_path):
    """A pair that leaves no way between the two leaves, over either spine, cuts the flow off."""
    against = "long.goodput_bps < 50 %"
    assert not any(one.holds for one in found(tmp_path, CLOS, "cable", against).failures)
    both = found(tmp_path, CLOS, "cables", against)
    assert len(both.failures) == both.possible == 6 and both.of_worst == 0
    spared = {one.cable for one in both.failures if not one.holds}
    spines = (0, 1)  # both cables of one spine leave the other
    assert spared == {f"leaf0<->spine{n} and leaf1<->spine{n}" for n in spines}


def test_pairs_beyond_the_bound_are_those_of_the_worst_cables(tmp_path, monkeypatch):
    monkeypatch.setattr(cables, "MOST_PAIRS", 3)
    ladder = switches([(0, 1, "10Gbps"), (1, 2, "1Gbps"), (0, 2, "1Gbps"), (2, 3, "1Gbps")], 4)
    both = found(tmp_path, ladder, "cables", "long.goodput_bps < 50 %")
    assert (len(both.failures), both.possible, both.of_worst) == (3, 6, 3)
    assert any("sw0<->sw1" in one.cables for one in both.failures), "the cable that harms most alone"
    assert "3 of 6 pairs" in both.shown(objectives.read("drops > 1", space_of(ladder)))[1]


def test_a_storm_at_the_receiver_stops_those_that_share_the_way(tmp_path):
    outcome = found(tmp_path, HOT_AND_COLD, "storm", "cold.goodput_bps < 50 %")
    by_port = {one.port: one for one in outcome.storms}
    assert len(by_port) == outcome.ports == 12 and outcome.base == 1
    assert by_port["sw1->h4"].value == 0, "its own receiver"
    spread = by_port["sw1->h3"]  # the other receiver: the core fills with what it does not take
    assert spread.holds and spread.stopped > by_port["sw1->h2"].stopped and spread.host
    assert by_port["sw1->h2"].value == pytest.approx(1, rel=0.05)
    assert outcome.storms[0].value == 0


def test_a_victim_waits_behind_flows_to_another_receiver(tmp_path):
    """Two flows meet at one receiver; the third shares a core of four times their rate with one of them."""
    outcome = found(tmp_path, HOT_AND_COLD, "victim")
    assert (outcome.congested, outcome.flows, outcome.unmatched) == (["sw1->h3"], 3, 0)
    [victim] = outcome.victims
    assert "cold" in victim.flow and 0.4 < victim.share < 0.7  # half, once the pauses have begun
    assert victim.port in ("sw0->sw1", "h1->sw0") and victim.paused_ps > 0
    alone = HOT_AND_COLD | {"traffic": {"cold": HOT_AND_COLD["traffic"]["cold"]}}
    assert found(tmp_path, alone, "victim").victims == []


@pytest.mark.parametrize(("segments", "buffer"), [(10, 100), (4, 70)])
def test_the_degree_of_an_incast_is_that_of_the_closed_form_to_one_sender(tmp_path, segments, buffer):
    """n w - drained > B: while windows of w packets come at one rate, the port drains one of them."""
    document = incast(response=f"{1460 * segments}B", limit=f"{buffer}pkt")
    outcome = found(tmp_path, document, "incast")
    overflow, timeout = outcome.jumps
    by_hand = next(n for n in range(1, 99) if n * segments - segments > buffer - 1)
    assert abs(overflow.senders - by_hand) <= 1
    assert abs(overflow.senders - outcome.predicted) <= 1 and outcome.why == ""
    assert timeout.senders >= overflow.senders
    assert overflow.document["traffic"]["query"]["workers"] == overflow.senders


def test_an_incast_that_fits_has_no_degree(tmp_path):
    outcome = found(tmp_path, incast(response="1460B", limit="100pkt"), "incast")
    assert [one.senders for one in outcome.jumps] == [None, None] and outcome.predicted is None
    assert "fit the buffer" in outcome.why


def test_the_closed_form_drains_what_the_spacing_gives():
    """At 1 Gb/s and 12 us a packet, requests 120 us apart let all of a window of ten packets go."""
    form = {"window_bytes": 15000, "packet_bytes": 1500, "limit_bytes": 60000, "rate_bps": 1e9, "most": 50}
    assert first_overflow(spacing_s=0, **form) == 5
    assert first_overflow(spacing_s=120e-6, **form) is None
    assert first_overflow(spacing_s=60e-6, **form) == 9


def test_collisions_are_those_of_a_fair_coin_and_the_worst_is_found(tmp_path, monkeypatch):
    """Four flows over two uplinks: the fullest has 2, 3 or 4 of them in 6, 8 and 2 of 16 cases, 2.75 in the
    mean."""
    monkeypatch.setattr(collisions, "SEEDS", 32)
    outcome = found(tmp_path, CLOS | {"duration": "200us"}, "collision")
    assert len(outcome.collisions) == 32
    assert outcome.expected == pytest.approx(2.75, abs=3 * 0.66 / 32**0.5)
    worst = outcome.collisions[0]
    assert (worst.flows, worst.of, worst.ports) == (4, 4, 2) and "spine" in worst.port
    [case] = outcome.cases()
    assert case.document["seed"] == worst.seed


def test_the_worst_placement_crosses_the_core_more_often(tmp_path, monkeypatch):
    for name, number in (("RANDOM", 4), ("STEPS", 1), ("EXCHANGES", 4)):
        monkeypatch.setattr(placement, name, number)
    job = {"kind": "collective", "hosts": "h*", "operation": "all-reduce", "bytes": "80KB", "rounds": 1}
    outcome = found(tmp_path, CLOS | {"duration": "20ms", "traffic": {"job": job}}, "placement")
    named = {one.how: one.round_ps for one in outcome.placed}
    worst, best = outcome.placed[0], outcome.placed[-1]
    assert worst.round_ps >= named["striped"] > named["block"] >= best.round_ps
    assert outcome.ratio > 1.2 and "spine" in worst.busiest
    crossings = [sum(leaf(a) != leaf(b) for a, b in ring_of(one.hosts)) for one in (worst, best)]
    assert crossings[0] > crossings[1] >= 2


def leaf(host):
    return int(host[1:]) // 4


def ring_of(hosts):
    return zip(hosts, (*hosts[1:], hosts[0]), strict=True)


@pytest.mark.parametrize(
    ("search_for", "words"),
    [
        ("storm", "needs a lossless priority"),
        ("deadlock", "needs a lossless priority"),
        ("victim", "needs a lossless priority"),
        ("incast", "needs a load of the kind incast"),
        ("collision", "needs several equal paths"),
        ("placement", "needs a load of the kind collective"),
    ],
)
def test_a_search_without_its_subject_is_refused(tmp_path, search_for, words):
    with pytest.raises(SpecError, match=f"--search: {search_for}: {words}"):
        found(tmp_path, TRIANGLE, search_for, "long.goodput_bps < 50 %")


def test_packets_that_take_all_paths_do_not_collide(tmp_path):
    with pytest.raises(SpecError, match='ecmp = "random" moves them'):
        found(tmp_path, CLOS | {"ecmp": "random"}, "collision")


def test_a_file_with_nothing_to_search_is_refused_with_all_reasons(tmp_path):
    star = TRIANGLE | {"topology": "star", "traffic": {"long": {"kind": "bulk", "from": "s0", "to": "r0"}}}
    space = space_of(write_toml(tmp_path / "star.toml", star))
    with pytest.raises(SpecError) as error:
        search(space, None, Runner.of(store=tmp_path / "runs"))
    told = str(error.value)
    for words in ("cable: needs --against", "deadlock: needs a lossless", "placement: needs a load"):
        assert words in told
    with pytest.raises(SpecError, match="needs from 1 to 1000 cables between switches"):
        found(tmp_path, star, "cable", "long.goodput_bps < 50 %")


def test_the_command_writes_worst_cases_that_run_repeats(tmp_path):
    file = write_toml(tmp_path / "triangle.toml", TRIANGLE)
    against = "long.goodput_bps < 2Gbps"
    done = shallows("attack", file, "--fabric", "--against", against, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [one["holds"] for one in told["failures"]] == [True, False, False]
    assert told["not_searched"]["placement"] == "needs a load of the kind collective"
    place = tmp_path / "reports/fabric-triangle"
    assert (
        tomllib.loads((place / "failed-cable.toml").read_text())["event"]["failed-cable"]["state"] == "down"
    )
    again = shallows("run", place / "failed-cable.toml", "--expect", against, cwd=tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr
    wrong = shallows("attack", file, "--fabric", "--against", against, "--budget", "1min", cwd=tmp_path)
    assert wrong.returncode == 2 and "--budget: cannot be used with --fabric" in wrong.stderr
    apart = shallows("attack", file, "--search", "cable", "--against", against, cwd=tmp_path)
    assert apart.returncode == 2 and "--search: applies to --fabric only" in apart.stderr
