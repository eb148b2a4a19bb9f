"""Worst cases of fabrics: the cable that harms most, and flows that deadlock in a circle of ports."""

import json
import tomllib

import pytest
from conftest import shallows, write_toml
from shallows.attack import objective as objectives
from shallows.attack.dependencies import Network, shortest_cycle
from shallows.attack.fabric import search, space_of
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


def ring(count):
    return lossless(switches([(n, (n + 1) % count, "10Gbps") for n in range(count)], count))


def found(tmp_path, document, against=None):
    space = space_of(write_toml(tmp_path / "fabric.toml", document))
    objective = None if against is None else objectives.read(against, space)
    return search(space, objective, Runner.of(store=tmp_path / "runs", workers=1))


def test_the_cable_without_a_good_detour_is_the_worst(tmp_path):
    all_cables = found(tmp_path, TRIANGLE, "long.goodput_bps < 50 %")
    assert all_cables.base == 1
    worst, *others = all_cables.failures
    assert (
        worst.cable == "sw0<->sw1" and worst.holds and worst.value == pytest.approx(0.1, rel=0.1)
    )  # the detour has a tenth of the rate
    assert [(one.value, one.holds) for one in others] == [(1, False), (1, False)]


def test_a_cable_that_cuts_hosts_off_has_a_reason_and_no_value(tmp_path):
    chain = switches([(0, 1, "10Gbps"), (1, 2, "10Gbps")])
    failures = {one.cable: one for one in found(tmp_path, chain, "long.goodput_bps < 50 %").failures}
    assert failures["sw1<->sw2"].value == 1
    cut = failures["sw0<->sw1"]
    assert cut.value == 0 or (cut.value is None and cut.note)


@pytest.mark.parametrize("count", [4, 5])
def test_a_ring_has_a_circle_whose_flows_deadlock(tmp_path, count):
    """Shortest ways of two cables or more go around: each waits for the next, all around the ring."""
    outcome = found(tmp_path, ring(count))
    assert outcome.networks == count + 1 and outcome.failures == []
    [whole] = [one for one in outcome.deadlocks if one.cable is None]
    assert len(whole.cycle.ports) == count
    if count == 5:
        assert whole.stands and "deadlock" in whole.note


def test_a_ring_without_a_cable_has_no_circle(tmp_path):
    assert [one.cable for one in found(tmp_path, ring(5)).deadlocks] == [None]


def test_static_routes_can_make_a_circle_that_shortest_ways_have_not(tmp_path):
    """The search took the shortest ways in place of the file's own routes, and found no circle."""
    around = [{"at": f"sw{n}", "to": f"h{(n + 1) % 3}", "via": [f"sw{(n + 2) % 3}"]} for n in range(3)]
    document = lossless(TRIANGLE) | {"routing": {"routes": around}}
    outcome = found(tmp_path, document)
    [whole] = outcome.deadlocks
    assert sorted(whole.cycle.ports) == ["sw0->sw2", "sw1->sw0", "sw2->sw1"]
    assert not outcome.plain and outcome.networks == 1
    assert found(tmp_path, lossless(TRIANGLE)).deadlocks == []


def test_what_is_left_of_a_network_whose_hosts_are_cut_off_is_searched(tmp_path):
    links = [(n, (n + 1) % 5, "10Gbps") for n in range(5)]
    document = lossless(switches([*links, (0, 5, "10Gbps")], count=6))
    outcome = found(tmp_path, document)
    assert (outcome.networks, outcome.plain) == (7, True)
    assert [one.cable for one in outcome.deadlocks] == [None, "sw0<->sw5"]


def test_up_and_down_has_no_circle():
    clos = {"kind": "leaf-spine", "leaves": 3, "spines": 2, "hosts_per_leaf": 2, "rate": "10Gbps"}
    document = lossless(TRIANGLE | {"topology": clos, "traffic": {}})
    document["traffic"] = {"a": {"kind": "bulk", "from": "h0", "to": "h5"}}
    network = Network.of(resolve(document))
    assert len(network.cables()) == 6
    assert [shortest_cycle(network, cable) for cable in [(), *network.cables()]] == [None] * 7


def test_a_search_for_nothing_is_refused(tmp_path):
    with pytest.raises(SpecError, match="needs --against, or a lossless priority"):
        found(tmp_path, TRIANGLE)
    star = TRIANGLE | {"topology": "star", "traffic": {"long": {"kind": "bulk", "from": "s0", "to": "r0"}}}
    with pytest.raises(SpecError, match="cables between switches"):
        found(tmp_path, star, "long.goodput_bps < 50 %")


def test_the_command_writes_worst_cases_that_run_repeats(tmp_path):
    file = write_toml(tmp_path / "triangle.toml", TRIANGLE)
    against = "long.goodput_bps < 2Gbps"
    done = shallows("attack", file, "--fabric", "--against", against, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [one["holds"] for one in told["failures"]] == [True, False, False]
    place = tmp_path / "reports/fabric-triangle"
    assert (
        tomllib.loads((place / "failed-cable.toml").read_text())["event"]["failed-cable"]["state"] == "down"
    )
    again = shallows("run", place / "failed-cable.toml", "--expect", against, cwd=tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr
    wrong = shallows("attack", file, "--fabric", "--against", against, "--budget", "1min", cwd=tmp_path)
    assert wrong.returncode == 2 and "--budget: cannot be used with --fabric" in wrong.stderr
