"""Networks on the Linux backend as lines of the plan: paths, wires, probes, arrivals; and a run of all."""

import json
import re

import polars as pl
import pytest
import shallows
from shallows import _core
from shallows.backends.base import Running
from shallows.backends.linux import backend, controls, paths, refusals, scenario, tables
from shallows.backends.simulator import Simulator
from shallows.document.load import load
from shallows.document.points import one_run
from shallows.errors import SpecError
from test_linux import STAR, needs_kernel, resolved


def planned(**changes):
    """The guest's plan of a legal document, as lines."""
    experiment = resolved(**changes)
    network, ways = backend.checked(experiment, None)
    return scenario.scenario(experiment, network, ways, pl.DataFrame(), pl.DataFrame()), network


LEAVES = {"kind": "leaf-spine", "leaves": 2, "spines": 3, "hosts_per_leaf": 2, "rate": "1Gbps"}
ACROSS = {"long": {"kind": "bulk", "from": "h0..h1", "to": "h2..h3"}}


def test_a_switch_shares_several_paths_by_a_hash_with_its_own_seed():
    made, network = planned(topology=LEAVES, traffic=ACROSS)
    names = [node["name"] for node in network["nodes"]]
    ports = [f"{names[port['from']]}->{names[port['to']]}" for port in network["ports"]]
    lines = made.plan.splitlines()
    routes = {line for line in lines if line.startswith("route add 10.1.0.3/32")}
    uplinks = " ".join(
        f"nexthop via {paths.gateway(number)} dev p{number} onlink"
        for number in (ports.index(f"leaf0->spine{spine}") for spine in range(3))
    )
    assert f"route add 10.1.0.3/32 {uplinks}" in routes
    assert sum("nexthop" in route for route in routes) == 1  # hosts and spines have one way
    host = next(route for route in routes if " src 10.1.0.1 " in route)
    assert host.endswith("onlink src 10.1.0.1 initcwnd 10 rto_min 200ms")
    settings = [line.split() for line in lines if "fib_multipath" in line]
    choosing = [str(names.index(name)) for name in ("leaf0", "leaf1")]
    assert [words[1] for words in settings] == [node for node in choosing for _ in range(3)]
    assert [words[3] for words in settings if words[2].endswith("policy")] == ["3", "3"]
    seeds = [words[3] for words in settings if words[2].endswith("seed")]
    assert len(set(seeds)) == 2
    others = planned(topology=LEAVES, traffic=ACROSS, seed=2)[0].plan.splitlines()
    assert not {f"sysctl {words[1]} {words[2]} {words[3]}" for words in settings if "seed" in words[2]} & {
        *others
    }


WEIGHTS = {"leaf0->spine0": {"weight": 3}}


def test_next_hops_have_their_weights():
    for changes, weights in (({}, []), ({"port": WEIGHTS, "ecmp": "weighted"}, ["3", "1", "1"])):
        made, _ = planned(topology=LEAVES, traffic=ACROSS, **changes)
        lines = made.plan.splitlines()
        route = next(line for line in lines if line.startswith("route add 10.1.0.3/32 nexthop"))
        assert re.findall(r"onlink weight (\d+)", route) == weights and route.count("nexthop") == 3


def test_static_routes_are_in_the_plan():
    """To h2 (10.1.0.3) by one spine, to h3 by two, which the kernel shares."""
    routes = [
        {"at": "leaf0", "to": "h2", "via": "spine1"},
        {"at": "leaf0", "to": "h3", "via": ["spine0", "spine2"]},
    ]
    made, network = planned(topology=LEAVES, traffic=ACROSS, routing={"routes": routes})
    names = [node["name"] for node in network["nodes"]]
    ends = {f"{names[port['from']]}->{names[port['to']]}": i for i, port in enumerate(network["ports"])}

    def devices(host: int) -> list[int]:
        found = [
            line for line in made.plan.splitlines() if line.startswith(f"route add 10.1.0.{host + 1}/32")
        ]
        found = [re.findall(r"dev p(\d+)", line) for line in found]
        ours = [[int(port) for port in ports] for ports in found]
        return next(ports for ports in ours if network["ports"][ports[0]]["from"] == names.index("leaf0"))

    assert devices(2) == [ends["leaf0->spine1"]]
    assert devices(3) == [ends["leaf0->spine0"], ends["leaf0->spine2"]]


@needs_kernel
def test_connections_share_paths_by_weight(tmp_path):
    topology = LEAVES | {"spines": 2, "hosts_per_leaf": 8}
    traffic = {"web": {"kind": "bulk", "from": "h0..h7", "to": "h8..h15", "bytes": "10KB"}}
    document = STAR | {
        "topology": topology, "traffic": traffic, "port": WEIGHTS, "ecmp": "weighted",
        "duration": "50ms", "warmup": "0s", "probe": {"queue_trace": "5ms"},
    }  # fmt: skip
    run = shallows.run(one_run(load(document)).experiment, store=tmp_path, backend="linux")
    sent = dict(run.tables["queues"].select("port", "packets_out").rows())
    share = sent["leaf0->spine0"] / (sent["leaf0->spine0"] + sent["leaf0->spine1"])
    assert share == pytest.approx(0.75, abs=4 * (0.75 * 0.25 / 64) ** 0.5)


@pytest.mark.parametrize(
    ("changes", "version", "path"),
    [
        ({"probe": {"queue_trace": "1500ps"}}, None, "probe.queue_trace"),
        ({"probe": {"port_trace": "500ps"}}, None, "probe.port_trace"),
        ({"probe": {"flow_trace": "1000001ps"}}, None, "probe.flow_trace"),
        ({"ecmp": "weighted", "port": {"leaf0->spine0": {"weight": 257}}}, None, "port.*.weight"),
        ({}, (6, 1), "topology"),
        (
            {
                "topology": LEAVES | {"spines": 1},
                "routing": {"routes": [{"at": "leaf0", "to": "h2", "via": "spine0"}]},
                "event": {"cut": {"at": "1ms", "link": "leaf0<->spine0", "state": "down"}},
            },
            None,
            "event.cut.state",
        ),
        ({"topology": {"kind": "star", "senders": 600, "rate": "1Gbps", "delay": "1us"}}, None, "topology"),
        (
            {"transport": {"profile": "linux", "cc": "dctcp", "min_rto": "200500us"}},
            None,
            "traffic.long.transport.min_rto",
        ),
    ],
)
def test_a_network_that_linux_cannot_have_is_refused(changes, version, path):
    traffic = {"long": {"kind": "bulk", "from": "*", "to": "*"}}
    experiment = resolved(**{"topology": LEAVES, "traffic": traffic} | changes)
    text = json.dumps(experiment)
    found = refusals.of_network(
        experiment, json.loads(_core.plan(text)), json.loads(_core.ways(text)), version
    )
    assert [fault.path for fault in found] == [path]


def test_faults_of_settings_and_of_the_network_come_together():
    """Queue pairs have no minimum timeout that could be asked about."""
    queue_pairs = {"profile": "roce", "cc": "line-rate", "reordering": "allowed"}
    pairs = ACROSS["long"] | {"transport": queue_pairs}
    traffic = ACROSS | {"pairs": pairs}
    document = resolved(topology=LEAVES, ecmp="random", probe={"queue_trace": "1500ps"}, traffic=traffic)
    with pytest.raises(SpecError) as error:
        backend.checked(document, None)
    paths = ["ecmp", "traffic.pairs.transport.profile", "probe.queue_trace"]
    assert [fault.path for fault in error.value.faults] == paths


def test_a_large_network_is_not_built_for_a_file_that_is_refused_anyway(monkeypatch):
    large = resolved(topology={"kind": "fat-tree", "k": 20}, ecmp="random", traffic=ACROSS)
    monkeypatch.setattr(_core, "plan", None)
    with pytest.raises(SpecError) as error:
        backend.checked(large, None)
    assert [fault.path for fault in error.value.faults] == ["ecmp"]


def test_samples_are_whole_nanoseconds_apart():
    made, _ = planned(duration="333333333ns", probe={})
    assert made.sample_ps == 16_666_000 and "sample 16666" in made.plan.splitlines()


def test_a_message_meets_its_deadline_as_in_the_simulator():
    """In time, late, under way beyond its deadline, and under way before it."""
    web = {"kind": "messages", "from": "s*", "to": "r0", "bytes": "150KB", "interval": "40ms"}
    traffic = {
        "fixed": web | {"deadline": {"kind": "fixed", "span": "160ms"}},
        "free": web,
        "drawn": web | {"deadline": {"kind": "uniform", "min": "10ms", "max": "300ms"}},
    }
    experiment = resolved(traffic=traffic, warmup="0s")
    simulated = Simulator().run(experiment, Running()).tables
    made = scenario.scenario(
        experiment, *backend.checked(experiment, None), simulated["flows"], simulated["messages"]
    )
    start, end = (pl.col(name).cast(pl.Int64) // 1000 for name in ("start_ps", "end_ps"))
    messages = simulated["messages"].sort("start_ps", maintain_order=True)
    raw = messages.select("flow", "bytes", start.alias("start_ns"), end.fill_null(-1).alias("end_ns"))
    found = tables._messages(raw, simulated["flows"], made, experiment, simulated)
    assert found["deadline_ps"].to_list() == messages["deadline_ps"].to_list()
    assert found["met"].to_list() == messages["met"].to_list()
    ended = messages["end_ps"].is_not_null()
    assert set(zip(ended, messages["met"], strict=True)) == {
        (True, 1),
        (True, 0),
        (False, 0),
        (False, None),
        (True, None),
    }


def test_every_topology_has_a_plan():
    kinds = {
        "fat-tree": {"k": 4},
        "multi-rack": {},
        "leaf-spine": {"leaves": 8, "spines": 4, "hosts_per_leaf": 8},
        "torus": {"size": [4, 3, 2]},
        "dragonfly": {},
        "rail": {},
    }
    for kind, settings in kinds.items():
        traffic = {"long": {"kind": "bulk", "from": "*", "to": "*"}}
        made, network = planned(topology={"kind": kind} | settings, traffic=traffic)
        hosts = sum(node["host"] for node in network["nodes"])
        adds = [line for line in made.plan.splitlines() if line.startswith("route add 10.1.")]
        assert len(adds) == hosts * (len(network["nodes"]) - 1)  # every node knows a way to every other host


def test_a_wire_loses_packets_from_a_seed_of_its_own():
    port = {"s*->switch": {"loss": 0.25}}
    made, network = planned(port=port)
    names = [node["name"] for node in network["nodes"]]
    losing = {}
    for line in made.plan.splitlines():
        if line.startswith("wire "):
            *_, device, _delay, _rate, _overhead, loss, seed = line.split()
            wire = network["ports"][int(device[1:])]
            losing[f"{names[wire['from']]}->{names[wire['to']]}"] = (int(loss), int(seed))
    assert {name for name, (loss, _) in losing.items() if loss} == {"s0->switch", "s1->switch"}
    assert losing["s0->switch"][0] == round(0.25 * (2**32 - 1))
    assert losing["s0->switch"][1] != losing["s1->switch"][1] != 0
    # The stream belongs to the wire: another wire's loss changes nothing here.
    alone, _ = planned(port={"s0->switch": {"loss": 0.25}})
    assert f" {losing['s0->switch'][0]} {losing['s0->switch'][1]}\n" in alone.plan
    old = refusals.check(resolved(port=port), version=(6, 1))
    assert [fault.path for fault in old] == ["port.s*->switch.loss"]


def test_what_is_over_before_the_warm_up_ends_is_sent_too():
    """The simulator's tables leave it out, and Linux once sent none of it."""
    web = STAR["traffic"]["web"] | {"interval": "10ms"}
    cloud = {
        "kind": "poisson",
        "from": "s*",
        "to": "r0",
        "load": 0.2,
        "sizes": {"kind": "fixed", "bytes": "9KB"},
    }
    counts = []
    for warmup in ("0s", "300ms"):
        experiment = resolved(traffic={"web": web, "cloud": cloud}, warmup=warmup)
        simulated = Simulator().run(controls.with_stand_ins(experiment), Running()).tables
        made = scenario.scenario(
            experiment, *backend.checked(experiment, None), simulated["flows"], simulated["messages"]
        )
        counts.append(sum(line.startswith("send ") for line in made.plan.splitlines()))
    assert counts[0] == counts[1] > 100


def test_ports_are_read_as_the_probe_asks():
    def ports(**probe):
        traffic = {"long": STAR["traffic"]["long"]}
        made, _ = planned(probe=probe, traffic=traffic)
        return {port.name: port for port in made.ports}

    usual = ports()
    assert not usual["s0->switch"].sampled and usual["switch->r0"].measured and not usual["switch->r0"].traced
    assert ports(nic_queues=True)["s0->switch"].measured
    traced = ports(queue_trace="1ms", ports=["s0->switch", "switch->*"])
    assert traced["s0->switch"].traced and not traced["s0->switch"].measured
    assert traced["switch->s1"].traced and not traced["s1->switch"].sampled
    assert not ports(port_trace="1ms", ports="*->*")["s0->switch"].traced  # a pattern covers switches only


@needs_kernel
def test_a_run_over_several_paths_with_losses_traces_and_deadlines(tmp_path):
    """Hosts' queues, traces of ports, losses of a wire and deadlines, by the laws of the tables."""
    document = STAR | {
        "topology": LEAVES | {"uplink_rate": "100Mbps", "delay": "200us", "uplink_delay": "100us"},
        "traffic": {
            "long": {"kind": "bulk", "from": "h0..h1", "to": "h2..h3", "class": "all"},
            "web": STAR["traffic"]["web"]
            | {
                "from": "h0",
                "to": "h3",
                "class": "all",
                "deadline": {"kind": "uniform", "min": "1ms", "max": "1s"},
            },
            "query": STAR["traffic"]["query"]
            | {"from": "h0..h1", "to": "h2", "class": "all", "deadline": {"kind": "fixed", "span": "2s"}},
        },
        "port": {"leaf0->spine*": {"loss": 0.01}},
        "probe": {"nic_queues": True, "port_trace": "10ms", "queue_trace": "10ms", "ports": "leaf0->*"},
    }
    experiment = one_run(load(document)).experiment
    run = shallows.run(experiment, store=tmp_path / "a", backend="linux")
    again = shallows.run(experiment, store=tmp_path / "b", backend="linux")
    assert all(run.tables[name].equals(again.tables[name]) for name in run.tables)
    simulated = shallows.run(experiment, store=tmp_path / "a")
    queues = run.tables["queues"]
    assert queues["port"].to_list() == simulated.tables["queues"]["port"].to_list()
    assert queues["mean_packets"].null_count() == 0
    uplinks = queues.filter(pl.col("port").str.starts_with("leaf0->spine"))
    lost, sent = uplinks["drops_wire"].sum(), uplinks["packets_out"].sum()
    assert lost == pytest.approx(0.01 * sent, abs=5 * (0.01 * sent) ** 0.5)
    assert (uplinks["packets_out"] > 0).sum() >= 2  # of four connections and more
    assert queues.filter(pl.col("drops_wire") > 0).height <= 3
    trace = run.tables["port_trace"]
    for port in uplinks["port"]:
        mine, row = trace.filter(port=port), queues.filter(port=port).row(0, named=True)
        late = mine.filter(pl.col("time_ps") > 100 * 10**9)  # STAR's warm-up
        held = run.tables["queue_trace"].filter(port=port, time_ps=100_000_000_000)
        before = held["packets"][0] if held.height else 0
        assert late["packets_in"].sum() == pytest.approx(row["packets_in"] - before, abs=2)
        assert late["drops"].sum() == row["drops_wire"] + row["drops_full"] + row["drops_aqm"]
    messages = {
        name: tables["messages"].filter(traffic="web").sort("start_ps")["deadline_ps"].to_list()
        for name, tables in (("linux", run.tables), ("simulator", simulated.tables))
    }
    assert messages["linux"] == messages["simulator"] != []
    answers = run.tables["messages"].filter(traffic="query")
    assert set(answers["deadline_ps"].to_list()) == {2 * 10**12}
    for row in run.tables["messages"].iter_rows(named=True):
        took, allowed = row["fct_ps"], row["deadline_ps"]
        over = 400 * 10**9 - row["start_ps"] >= allowed
        assert row["met"] == ((0 if over else None) if took is None else int(took <= allowed))
    assert queues.select("^drops_.*$").null_count().sum_horizontal().item() == 0
    parts = ("packets_out", "packets_held", "drops_full", "drops_aqm")
    assert queues["packets_in"].to_list() == queues.select(pl.sum_horizontal(*parts)).to_series().to_list()
    assert run.tables["rounds"]["start_ps"].min() >= 100 * 10**9  # the warm-up


CLASSES = STAR | {
    "queue": {"kind": "threshold", "limit": "12pkt", "mark_at": "6pkt"},  # some packets are dropped
    "topology": STAR["topology"] | {"senders": 6},
    "probe": {"port_trace": "20ms", "queue_trace": "20ms", "ports": ["switch->*", "s0->switch"]},
    "warmup": "0s",
}


def test_arrivals_of_several_classes_are_counted_by_filters():
    made, _ = planned(**CLASSES)
    lines = made.plan.splitlines()
    assert [line for line in lines if line.startswith("class ")] == ["class 0", "class 1", "class 2"]
    counted = [line.split() for line in lines if line.startswith("arrivals ")]
    assert {made.ports[int(words[1])].name for words in counted} == {
        port.name for port in made.ports if port.name == "s0->switch" or port.name.startswith("switch->")
    }
    for _, number, _node, device in counted:
        assert f"qdisc add dev {device} clsact" in lines and device == f"p{number}"
        matches = [line for line in lines if line.startswith(f"filter add dev {device} egress ")]
        assert [re.search(r"u8 (\w+) 0xe0", line)[1] for line in matches] == ["0x0", "0x20", "0x40"]
    assert any(line.endswith(" tcp_reflect_tos 1") for line in lines)
    for changes in ({"probe": {"queue_trace": "1ms"}}, {"traffic": {"long": STAR["traffic"]["long"]}}):
        alone = planned(**CLASSES | changes)[0].plan
        assert "clsact" not in alone and "reflect" not in alone and "arrivals" not in alone


@needs_kernel
def test_port_trace_has_the_arrivals_of_each_class(tmp_path):
    """As many as the port counts in all, and as many of each class as in the simulator."""
    experiment = one_run(load(CLASSES)).experiment
    run = shallows.run(experiment, store=tmp_path, backend="linux")
    trace, queues = run.tables["port_trace"], run.tables["queues"]
    assert trace["marks"].null_count() == trace["drops"].null_count() == trace.height > 0
    sums = trace.group_by("port").agg(pl.col("packets_in", "bytes_in").sum())
    both = sums.join(queues, on="port", suffix="_counted")
    assert both.height == 8 and both["packets_in"].to_list() == both["packets_in_counted"].to_list()
    bottleneck = queues.filter(port="switch->r0").row(0, named=True)
    assert bottleneck["drops_full"] > 0
    out = both.select(pl.col("bytes_in") - pl.col("bytes_out") - pl.col("bytes_held")).to_series()
    dropped = dict(zip(both["port"], out, strict=True))
    lost = dropped.pop("switch->r0") / bottleneck["drops_full"]
    assert 1400 < lost <= 1500 and set(dropped.values()) == {0}  # a message's last segment is shorter
    # With room for all, where no retransmission depends on chance.
    roomy = one_run(load(CLASSES | {"queue": STAR["queue"]})).experiment
    found, wanted = (
        {
            (port, name): packets
            for port, name, packets in shallows.run(roomy, store=tmp_path, backend=backend)
            .tables["port_trace"]
            .group_by("port", "class")
            .agg(pl.col("packets_in").sum())
            .iter_rows()
        }
        for backend in ("linux", "simulator")
    )
    for port, name in (("r0", "web"), ("r0", "query"), ("r0", "long"), ("s0", "query")):
        key = f"switch->{port}", name
        assert found[key] == pytest.approx(wanted[key], rel=0.1), key
    # Without several classes the same run has no filters, and they change nothing.
    plain = one_run(load(CLASSES | {"probe": {"queue_trace": "20ms"}})).experiment
    other = shallows.run(plain, store=tmp_path, backend="linux").tables["queues"]
    assert other.select("port", "packets_out", "marks").equals(queues.select("port", "packets_out", "marks"))


@needs_kernel
def test_a_connection_that_fails_stops_no_other(tmp_path):
    """Its socket reports its end for ever: the guest once handled that without end, and time stood still."""
    document = STAR | {
        "duration": "150s",  # the kernel gives a SYN up after 131 s
        "port": {"s0->switch": {"loss": 1.0}},
        "traffic": {
            "lost": {"kind": "bulk", "from": "s0", "to": "r0"},
            "web": STAR["traffic"]["web"] | {"from": "s1", "interval": "1s"},
        },
        "probe": {"queue_trace": "1s"},
    }
    run = shallows.run(one_run(load(document)).experiment, store=tmp_path, backend="linux")
    sent = dict(run.tables["flows"].select("traffic", "delivered_bytes").rows())
    assert sent["lost"] == 0 and sent["web"] > 0
    ends = run.tables["messages"]["end_ps"]
    assert ends.null_count() == 0 and ends.max() > 140 * 10**12


def test_a_ports_rate_after_a_change_is_the_last_and_its_use_is_of_the_mean():
    """From 100 to 50 Mb/s at a quarter of the measured time: 62.5 Mb/s in the mean."""
    event = {"slow": {"at": "175ms", "link": "switch->r0", "rate": "50Mbps"}}
    made, _ = planned(event=event)
    [port] = [port for port in made.ports if port.name == "switch->r0"]
    assert (port.rate_bps, port.mean_bps) == (50_000_000, pytest.approx(62_500_000))
