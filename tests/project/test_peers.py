"""`tools/peers.py`: the bounds of alike work, reports of htsim, paths, and a small network on ns-3."""

import dataclasses
import json

import peers
import pytest
from shallows import _core
from shallows.backends.ns3.program import installed

TIMES = tuple(100.0 + i for i in range(100))
DONE = peers.Done(packets=100_000, drops=50, repeats=50, timeouts=0, times_us=TIMES, cpu_s=1.0)


def apart(**other):
    return peers.differences(DONE, dataclasses.replace(DONE, **other), 100)


def test_work_is_alike_within_the_bounds_only():
    assert apart() == []
    assert apart(packets=102_000, drops=None, times_us=tuple(1.05 * time for time in TIMES)) == []
    (why,) = apart(packets=102_100)
    assert why.startswith("packets 100000 and 102100 differ")
    # A tenth of 50 is 5; 10 are one packet in 10 000.
    assert apart(drops=60) == [] and len(apart(drops=61)) == 1
    assert [why.split()[0] for why in apart(drops=0, repeats=70, timeouts=11)] == [
        "drops",
        "repeats",
        "timeouts",
    ]


def test_each_quantile_counts():
    slowest = (*TIMES[:-1], 1000.0)
    (why,) = apart(times_us=slowest)
    assert why.startswith("completion most 199 and 1000 differ")
    assert apart(times_us=TIMES[:-1]) == ["theirs has 99 of 100 flows ended"]
    assert [DONE.quantile(share) for share in (0.0, 0.1, 0.5, 0.99, 1.0)] == [100, 109, 149, 198, 199]


def test_unlike_work_has_no_times(capsys):
    other = dataclasses.replace(DONE, drops=0, cpu_s=9.0)
    found = peers.compare("x", 100, 2, lambda: DONE, lambda: other)
    assert found["cpu_s"] is None and len(found["refused"]) == 1
    shown = capsys.readouterr().out
    assert "NOT COMPARED: drops 50 and 0" in shown and "peer's time" not in shown


def test_htsim_reports_are_read():
    text = (
        "Total RTOs: 1\nTotal RTOs: 2\n.Flow ndp_0_8 flow_id 1000 finished at 59349 total bytes 9000\n"
        "Flow ndp_1_8 flow_id 1001 finished at 6.05e+06 total bytes 9000\nDone\nNew: 80 Rtx: 3 Bounced: 1\n"
    )
    done = peers.read_htsim(text, 1.5, 0.5)
    assert (done.packets, done.repeats, done.timeouts, done.drops) == (83, 3, 2, None)
    assert done.times_us == (59349.0, 6.05e6) and done.more == {"returned": 1, "build_s": 0.5}
    with pytest.raises(SystemExit, match="printed no counts"):
        peers.read_htsim("no such file", 0.0, 0.0)


def test_all_packets_for_a_host_cross_one_core_switch():
    hosts, routes = 16, peers.fixed_paths(4, 3)
    document = peers.tcp(8, "dctcp").experiment | {
        "topology": {"kind": "fat-tree", "k": 4},
        "routing": {"routes": routes},
        "traffic": {"x": {"kind": "bulk", "from": "h0", "to": "h1"}},
    }
    _, plan = peers._resolved(document)
    names, ports = [node["name"] for node in plan["nodes"]], plan["ports"]

    def way(host, to):
        while host != to:
            host = ports[plan["routes"][to][host]]["to"]
            yield names[host]

    used = [
        {name for host in range(hosts) for name in way(host, to) if name.startswith("core")}
        for to in range(hosts)
    ]
    assert all(len(cores) == 1 for cores in used)
    assert len(set.union(*used)) == 4


def test_scenarios_are_valid():
    for one in (peers.tcp(0, "dctcp"), peers.tcp(8, "newreno"), peers.ndp(0), peers.ndp(8)):
        assert json.loads(_core.check(json.dumps(one.experiment)))["faults"] == []
    assert sorted(peers.permutation(16, 2)) == list(range(16))


@pytest.mark.skipif(installed() is None, reason="libns3-dev is not installed")
def test_a_small_tree_is_the_same_work_on_ns3():
    one = peers.tcp(8, "dctcp")
    few = [dataclasses.replace(flow, bytes=20 * peers.PAYLOAD) for flow in one.flows[:6]]
    rows = one.experiment["traffic"]["x"]["flows"][:6]
    traffic = {"x": {"kind": "table", "flows": [row | {"bytes": f"{few[0].bytes}B"} for row in rows]}}
    small = dataclasses.replace(one, flows=tuple(few), experiment=one.experiment | {"traffic": traffic})
    ours, theirs = peers.here(small), peers.ns3(small)
    assert ours.packets == theirs.packets == 6 * (20 + 2)
    assert peers.differences(ours, theirs, 6) == []
    assert ours.more["hops"] == theirs.more["hops"]
