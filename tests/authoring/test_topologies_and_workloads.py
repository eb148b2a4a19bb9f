"""Topologies and workloads written in Python: named, recorded, run, and their errors."""

import textwrap

import pytest
import shallows
from conftest import simulate, with_cc, write_toml
from polars.testing import assert_frame_equal
from shallows.document.load import load
from shallows.errors import PluginError

NETWORK = '''
    import shallows

    @shallows.topology
    def ring(n: int = 4, rate: shallows.Rate = "10Gbps", delay: shallows.Span = "5us") -> shallows.Graph:
        """A ring of switches with one host each."""
        graph = shallows.Graph()
        for i in range(n):
            graph.link(graph.host(f"h{i}"), graph.switch(f"sw{i}"), rate, delay)
        for i in range(n):
            graph.link(f"sw{i}", f"sw{(i + 1) % n}", rate, delay)
        return graph

    class Chain(shallows.Workload):
        """Each host to the next; whoever is done sends on, as often as told."""
        size: shallows.Bytes = "100KB"
        times: int = 3

        def flows(self, net):
            self.left = {host: self.times for host in net.hosts}
            for i, host in enumerate(net.hosts):
                yield shallows.Flow(host, net.hosts[i - 1], self.size, i * 1e-6)

        def on_flow_done(self, done):
            assert done.now > done.start
            self.left[done.src] -= 1
            if self.left[done.src]:
                yield done.src, done.dst, self.size, None
'''


@pytest.fixture
def network(tmp_path):
    (tmp_path / "net.py").write_text(textwrap.dedent(NETWORK))
    document = {
        "duration": "20ms",
        "python": {"modules": "net.py"},
        "topology": {"kind": "ring", "n": 5, "delay": "2us"},
        "queue": "threshold",
        "transport": {"cc": "dctcp"},
        "traffic": {"chain": {"kind": "chain", "times": 2}},
    }
    return write_toml(tmp_path / "net.toml", document)


def test_a_topology_and_a_closed_loop_in_python(tmp_path, network):
    run = shallows.run(network, store=tmp_path / "runs")
    messages = run.tables["messages"].sort("start_ps")
    assert messages["start_ps"].to_list()[:5] == [0, 1_000_000, 2_000_000, 3_000_000, 4_000_000]
    assert len(messages) == 10
    assert messages["end_ps"].null_count() == 0
    assert {"sw4->sw0", "h3->sw3"} <= set(run.tables["queues"]["port"])
    topology = run.experiment["topology"]
    assert (topology["kind"], topology["n"], topology["delay"]) == ("ring", 5, "2us")
    assert len(topology["graph"]["links"]) == 10
    assert [c["class"] for c in run.experiment["python"]["components"]] == ["ring", "Chain"]


def test_the_graph_that_a_function_makes_is_that_of_the_file(tmp_path, network):
    ours = shallows.run(network, store=tmp_path / "runs")
    document = load(network) | {"topology": {"kind": "graph", **ours.experiment["topology"]["graph"]}}
    theirs = shallows.run(document, store=tmp_path / "runs")
    assert ours.hash != theirs.hash
    for name in ours.tables:
        assert_frame_equal(ours.tables[name], theirs.tables[name], check_exact=True)


@pytest.mark.parametrize(
    ("flow", "told"),
    [
        (("s0", "r1", 1000, 0.0), r"names no host of the network: \"r1\" \(did you mean \"r0\"\?\)"),
        (("s0", "s0", 1000, 0.0), "from a host to itself"),
        (("s0", "r0", 0, 0.0), "whole number of bytes"),
        (("s0", "r0", 10, -1.0), "start at a time in seconds"),
        ("s0", "is not a flow"),
    ],
)
def test_a_flow_that_cannot_be_is_named(tmp_path, flow, told):
    class Bad(shallows.Workload):
        def flows(self, net):
            yield ("s0", "r0", 1000, 1e-3)
            yield flow

    document = with_cc("dctcp") | {"traffic": {"bad": {"kind": "bad"}}}
    with pytest.raises(PluginError, match=told):
        simulate(document, Bad, store=tmp_path)


def test_flows_come_in_order_and_exceptions_as_they_are(tmp_path):
    class Late(shallows.Workload):
        def flows(self, net):
            yield ("s0", "r0", 1000, 1e-3)
            yield ("s0", "r0", 1000, 0.5e-3)

    class Raises(shallows.Workload):
        def flows(self, net):
            raise LookupError("no trace")

    with pytest.raises(PluginError, match="starts before the present"):
        simulate(with_cc("dctcp") | {"traffic": {"late": {"kind": "late"}}}, Late, store=tmp_path)
    with pytest.raises(LookupError, match="no trace"):
        simulate(with_cc("dctcp") | {"traffic": {"x": {"kind": "raises"}}}, Raises, store=tmp_path)


def test_chance_is_seeded(tmp_path):
    class Chance(shallows.Workload):
        def flows(self, net):
            for _ in range(20):
                yield ("s0", "r0", net.random.randrange(1, 10**5), None)

    def sizes(seed, place):
        document = with_cc("dctcp") | {"traffic": {"x": {"kind": "chance"}}, "seed": seed}
        return simulate(document, Chance, store=tmp_path / place).tables["messages"]["bytes"].to_list()

    assert sizes(1, "a") == sizes(1, "b")
    assert sizes(1, "a") != sizes(2, "a")
