"""Both backends on the same experiments: each topology, load, control and discipline, short.

Tolerances: an empty path's times within 0.4 % (Linux's SYN has 8 bytes of options more, its timers are late);
goodput of flows that fill a link within 1 %, and 3 % where slow start is part of what is measured; queues
within a packet or a tenth.
"""

import polars as pl
import pytest
import shallows
from shallows import _core
from shallows.backends.linux import kernel
from shallows.document.load import load
from shallows.document.points import one_run
from shallows.results.store import Store

pytestmark = pytest.mark.skipif(kernel.find() is None, reason="run ./shallows linux build")

FAST, SLOW = "1Gbps", "100Mbps"
TOPOLOGIES = {
    "star": (
        {"kind": "star", "senders": 2, "rate": SLOW, "sender_rate": FAST, "delay": "500us"},
        {"a": ("s*", "r0")},
        ["switch->r0"],
    ),
    "dumbbell": (
        {"kind": "dumbbell", "left": 2, "right": 2, "rate": SLOW, "access_rate": FAST, "delay": "500us"},
        {"a": ("l0", "r0"), "b": ("l1", "r1")},
        ["left->right"],
    ),
    "parking-lot": (
        {"kind": "parking-lot", "hops": 2, "rate": SLOW, "access_rate": FAST, "delay": "300us"},
        {"across": ("s", "r"), "first": ("a1", "b1"), "second": ("a2", "b2")},
        ["sw0->sw1", "sw1->sw2"],
    ),
    "tree": (
        {"kind": "tree", "fanout": 2, "hosts_per_leaf": 2, "rate": SLOW, "delay": "200us"},
        {"a": ("h0..h3", "r0")},
        [],
    ),
}


def both(tmp_path, document):
    experiment = one_run(load(document)).experiment
    stores = {name: Store(tmp_path / name) for name in ("simulator", "linux")}
    return [shallows.run(experiment, store=store, backend=name).tables for name, store in stores.items()]


def document(topology, traffic, **more):
    return {
        "duration": "600ms",
        "warmup": "200ms",
        "topology": topology,
        "queue": {"kind": "threshold", "limit": "200pkt", "mark_at": "20pkt"},
        "transport": {"profile": "linux", "cc": "dctcp"},
        "traffic": traffic,
    } | more


@pytest.mark.parametrize("kind", TOPOLOGIES)
def test_every_topology_has_the_simulators_times_and_rates(tmp_path, kind):
    topology, pairs, bottlenecks = TOPOLOGIES[kind]
    lone = {
        load: {
            "kind": "messages",
            "from": a,
            "to": b,
            "bytes": "1448B",
            "interval": "1s",
            "start": f"{20 * i}ms",
        }
        for i, (load, (a, b)) in enumerate(pairs.items())
    }
    times = [
        tables["messages"].sort("start_ps", "flow")["fct_ps"].to_list()
        for tables in both(tmp_path / "lone", document(topology, lone, duration="100ms", warmup="0s"))
    ]
    assert len(times[0]) >= len(pairs)
    assert times[1] == pytest.approx(times[0], rel=0.004)

    bulk = {name: {"kind": "bulk", "from": a, "to": b} for name, (a, b) in pairs.items()}
    simulated, linux = both(tmp_path / "bulk", document(topology, bulk))
    goodput = [tables["flows"]["goodput_bps"].sum() for tables in (simulated, linux)]
    assert goodput[1] == pytest.approx(goodput[0], rel=0.01)
    for port in bottlenecks:
        row = [tables["queues"].filter(port=port).row(0, named=True) for tables in (simulated, linux)]
        waiting = row[0]["mean_packets"] - row[0]["utilisation"]  # Linux does not count the packet being sent
        assert row[1]["mean_packets"] == pytest.approx(waiting, abs=max(1.0, 0.1 * waiting)), port
        assert row[1]["utilisation"] == pytest.approx(row[0]["utilisation"], abs=0.01)


STAR = TOPOLOGIES["star"][0]
FIXED = {"kind": "fixed", "bytes": "10KB"}


def test_every_load_has_the_simulators_arrivals_and_times(tmp_path):
    traffic = {
        "web": {"kind": "messages", "from": "s0", "to": "r0", "bytes": "20KB", "interval": "50ms"},
        "cloud": {
            "kind": "poisson",
            "from": "s*",
            "to": "r0",
            "load": 0.2,
            "sizes": {"kind": "fixed", "bytes": "10KB"},
        },
        "query": {"kind": "incast", "from": "s*", "to": "r0", "response": "10KB", "rounds": 4, "gap": "50ms"},
    }
    simulated, linux = both(tmp_path, document(STAR, traffic, warmup="0s"))
    for name in ("web", "cloud"):
        rows = [
            tables["messages"].filter(traffic=name).sort("start_ps", "flow") for tables in (simulated, linux)
        ]
        assert rows[0].height > 5
        assert rows[0]["bytes"].to_list() == rows[1]["bytes"].to_list()
        # A message begins when the guest's program has opened its connection or written it.
        assert rows[1]["start_ps"].to_list() == pytest.approx(rows[0]["start_ps"].to_list(), abs=2_000_000)
        assert rows[1]["fct_ps"].drop_nulls().median() == pytest.approx(
            rows[0]["fct_ps"].drop_nulls().median(), rel=0.05
        )
    rounds = [tables["rounds"]["fct_ps"].to_list() for tables in (simulated, linux)]
    assert len(rounds[0]) == len(rounds[1]) == 4
    assert rounds[1] == pytest.approx(rounds[0], rel=0.05)


DISCIPLINES = {
    "drop-tail": {"kind": "drop-tail", "limit": "40pkt"},
    "tc-red": {
        "kind": "tc-red",
        "limit": "600KB",
        "min": "30KB",
        "max": "60KB",
        "avpkt": "1500B",
        "burst": 25,
        "probability": 0.1,
        "bandwidth": "100Mbps",
        "ecn": True,
        "shaped": True,
    },
    "codel": {"kind": "codel", "limit": "1000pkt", "target": "1ms", "interval": "10ms", "root": "newton"},
    "fq-codel": {
        "kind": "fq-codel",
        "limit": "1000pkt",
        "target": "1ms",
        "interval": "10ms",
        "root": "newton",
    },
    "pie": {"kind": "pie", "limit": "1000pkt", "derandomise": True},
    "dualpi2": {
        "kind": "dualpi2",
        "limit": "1000pkt",
        "min_length": 0,
        "min_backlog": "3028B",
        "classic_weight": 0.1,
        "classify": "any_ect",
        "draw": "random",
    },
}


LACKING = "CONFIG_NET_SCH_DUALPI2" in getattr(kernel.find(), "without", [])  # Linux 6.1


@pytest.mark.parametrize("name", [name for name in DISCIPLINES if name != "dualpi2" or not LACKING])
def test_every_discipline_fills_the_link_and_counts(tmp_path, name):
    cc = "dctcp" if name in ("tc-red", "codel", "fq-codel", "dualpi2") else "newreno"
    traffic = {"a": {"kind": "bulk", "from": "s*", "to": "r0"}}
    more = {"queue": DISCIPLINES[name], "transport": {"profile": "linux", "cc": cc}, "duration": "1s"}
    if name == "pie":  # after slow start, whose losses Linux finds by RACK and the simulator by timeouts
        more |= {"duration": "4s", "warmup": "2s"}
    simulated, linux = both(tmp_path, document(STAR, traffic, **more))
    goodput = [tables["flows"]["goodput_bps"].sum() for tables in (simulated, linux)]
    assert goodput[1] == pytest.approx(goodput[0], rel=0.03)
    row = linux["queues"].filter(port="switch->r0").row(0, named=True)
    if name == "drop-tail":
        assert row["drops_full"] > 0
        assert row["max_packets"] == 39  # and one being sent
        assert linux["flows"]["retransmissions"].sum() > 0
    elif name == "pie":
        assert row["drops_aqm"] > 0
    else:
        assert row["marks"] > 10
        assert row["drops_full"] == 0
    assert (
        row["packets_in"] == row["packets_out"] + row["packets_held"] + row["drops_full"] + row["drops_aqm"]
    )


@pytest.mark.parametrize("rate", ["10Mbps", "100Gbps"])
def test_the_queue_is_the_simulators_at_every_rate(tmp_path, rate):
    """300 packets of rate times round trip: all times scale with the rate, and the queue stays as it is.

    A port whose timers are late by a microsecond lets eight packets out at once at 100 Gb/s, none at 10 Mb/s.
    The bounds are those of `validate` for means and marks, and the same tenth for the standard deviation.
    """
    bps = _core.parse_quantity("rate", rate)
    rtt_ns = 300 * 1500 * 8 * 10**9 // bps
    topology = {
        "kind": "star",
        "senders": 4,
        "rate": rate,
        "sender_rate": f"{4 * bps}bps",
        "delay": f"{rtt_ns // 4}ns",
    }
    experiment = document(
        topology,
        {"long": {"kind": "bulk", "from": "s*", "to": "r0"}},
        queue={"kind": "threshold", "limit": "1000pkt", "mark_at": "65pkt"},
        duration=f"{300 * rtt_ns}ns",
        warmup=f"{100 * rtt_ns}ns",
    )
    rows = [
        tables["queues"].filter(port="switch->r0").row(0, named=True) for tables in both(tmp_path, experiment)
    ]
    simulated, linux = rows
    waiting = (
        simulated["mean_packets"] - simulated["utilisation"]
    )  # Linux does not count the packet being sent
    assert linux["mean_packets"] == pytest.approx(waiting, abs=max(1.0, 0.05 * waiting))
    for name in ("sd_packets", "marks"):
        assert linux[name] == pytest.approx(simulated[name], rel=0.1), name


def test_the_windows_of_cubic_do_not_grow_in_pauses(tmp_path):
    """CUBIC leaves the time since data were last sent out of t wherever nothing is in flight. Messages of
    250 KB every 400 ms overflow a queue by slow start, and then again and again by CUBIC's curve. Windows of
    30 to 40 segments differ by 0.13 segments in the mean. They differed by 3.0 where only long pauses were
    left out, from the last acknowledgement on.
    """
    star = {"kind": "star", "senders": 1, "rate": "20Mbps", "sender_rate": "100Mbps", "delay": "10ms"}
    load = {"kind": "messages", "bytes": "250KB", "interval": "400ms", "count": 100, "from": "s0", "to": "r0"}
    more = {
        "queue": {"kind": "drop-tail", "limit": "30pkt"},
        "transport": {"profile": "linux", "cc": "cubic"},
    }
    more |= {"duration": "12s", "warmup": "0s", "probe": {"flow_trace": "100ms"}}
    runs = both(tmp_path, document(star, {"load": load | {"connection": "persistent"}}, **more))
    columns = ("time_ps", pl.col("cwnd_bytes").cast(int))
    simulated, linux = (tables["flow_trace"].select(*columns) for tables in runs)
    each = simulated.join(linux, on="time_ps")
    assert len(each) > 110
    assert (each["cwnd_bytes"] - each["cwnd_bytes_right"]).abs().mean() < 1448 / 2
