"""Fourteen cases from public threads, each with the value that it must give.

The threads are named in each test. A value is a closed form or follows from the rules of a file format."""

from itertools import pairwise

import pytest
import shallows
from shallows.cli import show_run
from shallows.errors import SpecError
from shallows.studies.outcomes import rows
from shallows.tables.metrics import metrics

STAR = {"kind": "star", "senders": 1, "rate": "10Mbps", "delay": "1ms"}


def _numbers(run):
    return metrics(run.tables)


def _port(run, name):
    return run.tables["queues"].filter(port=name).to_dicts()[0]


pytestmark = pytest.mark.filterwarnings("ignore::shallows.FileWarning")


@pytest.mark.parametrize("sends", ["cbr", "datagrams"])
def test_udp_above_the_rate_of_a_port(tmp_path, sends):
    """mininet/mininet#740: 12 Mb/s through 10 Mb/s with 1000 packets of room. A full packet of 1500 bytes
    takes 1.2 ms.

    `cbr` repairs losses, so goodput stays below what the port carries. Datagrams carry new bytes alone."""
    load = {"kind": "bulk", "from": "s0", "to": "r0"}
    if sends == "datagrams":
        load |= {"kind": "datagrams", "bytes": "1472B", "rate": "11.776Mbps"}
    run = shallows.run(
        {
            "duration": "30s",
            "warmup": "15s",
            "topology": STAR,
            "queue": {"kind": "drop-tail", "limit": "1000pkt"},
            "transport": {"cc": {"kind": "cbr", "rate": "12Mbps"}},
            "port": {"s0->switch": {"rate": "1Gbps"}},
            "traffic": {"udp": load},
        },
        store=tmp_path,
    )
    found = _numbers(run)
    assert found["drops"] == pytest.approx(15 * (12e6 - 10e6) / 12_000, abs=1)
    assert found["bottleneck_mean_wait_ps"] == pytest.approx(1000 * 1.2e9, rel=0.005)
    if sends == "cbr":
        assert found["udp.retransmissions"] > found["drops"] and found["udp.goodput_bps"] < 10e6 * 1460 / 1500
        return
    row = run.tables["datagrams"].to_dicts()[0]
    assert (row["sent"], found["udp.retransmissions"], found["udp.timeouts"]) == (15_000, 0, 0)
    assert row["lost"] == found["drops"]
    # Those of the last 1.2 s are on their way, neither lost nor arrived.
    assert row["lost"] / (row["lost"] + row["arrived"]) == pytest.approx(1 / 6, rel=0.1)
    assert found["udp.goodput_bps"] == pytest.approx(10e6 * 1472 / 1500, rel=1e-3)


def test_percentiles_of_a_delay_that_is_constant(tmp_path):
    """Constant paths of quic-network-simulator#95 and lsquic#233: all packets take 2 x 25 us + 2 x 1.2
    us."""
    run = shallows.run(
        {
            "duration": "100ms",
            "topology": STAR | {"rate": "10Gbps", "delay": "25us"},
            "queue": {"kind": "drop-tail", "limit": "250pkt"},
            "transport": {"cc": {"kind": "cbr", "rate": "1Gbps"}},
            "traffic": {"f": {"kind": "bulk", "from": "s0", "to": "r0"}},
        },
        store=tmp_path,
    )
    found = _numbers(run)
    delays = [found[f"f.delay_{name}_ps"] for name in ("mean", "p50", "p95", "p99")]
    assert delays == [52_400_000] * 4
    assert [found[f"f.wait_{name}_ps"] for name in ("mean", "p50", "p99")] == [0, 0, 0]


EXPERIMENT = """
duration = "5ms"
topology = { kind = "star", senders = 4, rate = "100Gbps", delay = "1us" }
queue = { kind = "threshold" }
transport = { cc = "dctcp" }
"""

FLOWS = "2\n2 1 3 100 2000000 2\n3 1 3 100 2000000 2\n4 1 3 100 1500000 2\n"

NETWORK = "5 1 4\n0\n" + "".join(f"0 {host} 100Gbps 0.001ms 0\n" for host in range(1, 5))


def test_a_file_is_found_beside_the_experiment_whatever_its_ending(tmp_path, monkeypatch):
    """HPCC's flow.txt, as in ns3-datacenter#8. The file is found, so that its hosts are what is wrong, with
    their lines."""
    place = tmp_path / "place"
    place.mkdir()
    (place / "flow.txt").write_text(FLOWS)
    (place / "case.toml").write_text(EXPERIMENT + 'traffic.x = { kind = "table", name = "flow.txt" }\n')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SpecError) as found:
        shallows.run("place/case.toml", store=tmp_path)
    said = str(found.value)
    assert (
        'no host is named "2" (hosts: s0..s3, r0) (line 2 of flow.txt)' in said
        and "cannot be read" not in said
    )
    # With the hosts' names of this star it runs.
    (place / "flow.txt").write_text("1\n0 1 3 100 20000 0\n")
    (place / "case.toml").write_text(
        EXPERIMENT.replace("star", "graph").replace(
            'senders = 4, rate = "100Gbps", delay = "1us"', 'name = "net.txt"'
        )
        + 'traffic.x = { kind = "table", name = "flow.txt" }\n'
    )
    (place / "net.txt").write_text("3 1 2\n2\n2 0 100Gbps 0.001ms 0\n2 1 100Gbps 0.001ms 0\n")
    assert shallows.run("place/case.toml", store=tmp_path).tables["flows"]["fct_ps"].null_count() == 0


SIZES = {
    "hpcc.txt": "0 0\n10000 15\n20000 20\n30000 30\n50000 40\n80000 53\n200000 60\n1000000 70\n2000000 80\n"
    "5000000 90\n10000000 97\n30000000 100\n",
    "pfabric.tcl": "6 1 0.15\n13 1 0.2\n19 1 0.3\n33 1 0.4\n53 1 0.53\n133 1 0.6\n667 1 0.7\n1333 1 0.8\n"
    "3333 1 0.9\n6667 1 0.97\n20000 1 1\n",
    "bom.csv": "\ufeffsize_bytes,cdf_percent\n1000,0\n3000,100\n",
}


@pytest.mark.parametrize("name", SIZES)
def test_distributions_of_sizes_as_others_write_them(tmp_path, name):
    """A spreadsheet's CSV with a byte-order mark; HPCC's `bytes percent`; `packets 1 share` of pFabric,
    PIAS and ns-2.

    HPCC's web search is the built-in one: both have one mean."""
    (tmp_path / name).write_text(SIZES[name], encoding="utf-8")
    documents = []
    for sizes in (str(tmp_path / name), "web_search"):
        documents.append(
            {
                "duration": "20ms",
                "topology": {"kind": "star", "senders": 8, "rate": "10Gbps", "delay": "2us"},
                "queue": {"kind": "threshold"},
                "transport": {"cc": "dctcp"},
                "traffic": {
                    "x": {
                        "kind": "poisson",
                        "from": "s*",
                        "to": "r0",
                        "load": 0.5,
                        "sizes": {"kind": "empirical", "name": sizes},
                    }
                },
            }
        )
    # Exponential gaps have the mean size / (load x rate), so that equal means begin as many messages.
    first = shallows.run(documents[0], store=tmp_path)
    if name == "bom.csv":
        sizes = first.tables["flows"]["bytes"]
        assert sizes.min() >= 1000 and sizes.max() <= 3000
        assert sizes.mean() == pytest.approx(2000, rel=0.02)
        return
    other = shallows.run(documents[1], store=tmp_path)
    one, built_in = (_mean(run.experiment["traffic"]["x"]["sizes"]) for run in (first, other))
    # ns-2's file has whole packets of 1460 bytes instead of bytes: 6667 packets for 10 MB.
    assert one == pytest.approx(built_in, rel=0 if name == "hpcc.txt" else 0.03)


def _mean(sizes):
    """The mean of a distribution whose quantiles are joined by straight lines."""
    points = [(float(size), float(share)) for size, share in sizes["points"]]
    top = points[-1][1]
    return sum((a + b) / 2 * (q - p) for (a, p), (b, q) in pairwise(points)) / top


def test_a_network_and_its_flows_of_hpcc(tmp_path):
    """ns3-rdma#17, ns3-datacenter#8 and #18, SimAI#37: the first number decides, so two flows of three run.

    Two flows of 2 MB share 100 Gb/s. A packet of 1000 bytes is 1062 on the wire, so 4.248 MB take 339.84
    us."""
    (tmp_path / "topology.txt").write_text(NETWORK)
    (tmp_path / "flow.txt").write_text(FLOWS)
    shallows.import_files(tmp_path / "topology.txt", tmp_path / "flow.txt", out=tmp_path / "mine.toml")
    run = shallows.run(tmp_path / "mine.toml", store=tmp_path)
    flows = run.tables["messages"]
    assert sorted(flows["bytes"].to_list()) == [2_000_000] * 2
    assert flows["start_ps"].to_list() == [2_000_000_000_000] * 2
    for fct in flows["fct_ps"]:
        assert 339.84e6 < fct < 343e6


def test_a_network_in_graphml(tmp_path):
    """sands-lab/nika#24 and others: two nodes and their edge, no attribute at all."""
    pytest.importorskip("networkx")
    (tmp_path / "net.graphml").write_text(
        '<?xml version="1.0"?><graphml><graph edgedefault="undirected"><node id="0"/><node id="1"/>'
        '<edge source="0" target="1"/></graph></graphml>'
    )
    with pytest.warns(shallows.FileWarning, match="have no rate with a unit: 10Gbps is set"):
        run = shallows.run(
            {
                "duration": "5ms",
                "topology": {"kind": "graph", "name": str(tmp_path / "net.graphml")},
                "queue": {"kind": "threshold"},
                "transport": {"cc": "dctcp"},
                "traffic": {"x": {"kind": "bulk", "from": "0", "to": "1"}},
            },
            store=tmp_path,
        )
    assert sorted(run.tables["queues"]["port"].to_list()) == ["0->1", "1->0"]
    assert _numbers(run)["x.goodput_bps"] > 9e9


@pytest.mark.parametrize("lasts", [None, "2ms"])
def test_a_host_that_pauses_fills_its_port(tmp_path, lasts):
    """ECN tests of sonic-mgmt (#2137, #12903) and PFC storms (#2116): 101 packets of 1024 bytes wait at the
    port.

    After the release packet n leaves 101 - n behind. More than 51 000 bytes are 50 packets, so the first 51
    have marks.
    Exactly 50 packets lie between kmin and kmax, so that one more has a mark by chance, and later ones have
    none."""
    storm = {"at": "500us", "link": "switch->r0", "pause": [3]} | ({"pause_for": lasts} if lasts else {})
    run = shallows.run(
        {
            "duration": "5ms",
            "topology": STAR | {"rate": "100Gbps", "delay": "1us"},
            "queue": {"kind": "ramp", "limit": "none", "kmin": "50KB", "kmax": "51KB", "pmax": 1.0},
            "transport": {"profile": "roce", "cc": "line-rate", "ecn": "on", "mtu": "962B", "priority": 3},
            "switch": {"*": {"buffer": "32MB"}},
            "priority": {"3": {"pfc": True}},
            "traffic": {"x": {"kind": "bulk", "from": "s0", "to": "r0", "bytes": "97162B", "start": "1ms"}},
            "event": {"storm": storm},
        },
        store=tmp_path,
    )
    found, port = _numbers(run), _port(run, "switch->r0")
    assert found["bottleneck_max_packets"] == 101 and port["drops"] == 0
    if lasts is None:
        assert port["packets_out"] == 0 and found["x.goodput_bps"] == 0
    else:
        assert port["packets_out"] == 101 and port["marks"] in (51, 52)


def test_a_policer_drops_what_exceeds_its_rate(tmp_path):
    """mininet/mininet#1084: datagrams get the rate, TCP less. NetworkOptimizer#784: less with a longer
    round trip, and a
    bucket of a bandwidth-delay product gives it back."""

    def goodput(delay, burst, load):
        run = shallows.run(
            {
                "duration": "30s",
                "warmup": "10s",
                "topology": STAR | {"rate": "100Mbps", "delay": delay},
                "queue": {"kind": "policer", "rate": "15Mbps", "burst": burst},
                "transport": {"profile": "linux", "cc": "cubic"},
                "traffic": {"x": {"from": "s0", "to": "r0"} | load},
            },
            store=tmp_path,
        )
        return _numbers(run)["x.goodput_bps"]

    datagrams = {"kind": "datagrams", "bytes": "1472B", "rate": "20Mbps"}
    assert goodput("1ms", "15KB", datagrams) == pytest.approx(15e6 * 1472 / 1500, rel=1e-3)
    tcp = {"kind": "bulk"}
    near, middle, far = (goodput(delay, "15KB", tcp) for delay in ("1ms", "5ms", "20ms"))
    assert far < middle < near < 15e6 * 1448 / 1500
    # The path's product of bandwidth and delay is 15 Mb/s x 80 ms = 150 KB at the farthest.
    assert goodput("20ms", "200KB", tcp) > 0.9 * 15e6 * 1448 / 1500


def test_two_cables_between_two_switches(tmp_path):
    """astra-sim#270 and SimAI#51: two ports x->y, among which a hash spreads sixteen flows."""
    cable = {"from": "x", "to": "y", "rate": "10Gbps"}
    run = shallows.run(
        {
            "duration": "5ms",
            "topology": {
                "kind": "graph",
                "hosts": ["a", "b"],
                "switches": ["x", "y"],
                "links": [
                    {"from": "a", "to": "x", "rate": "100Gbps"},
                    cable,
                    cable,
                    {"from": "y", "to": "b", "rate": "100Gbps"},
                ],
            },
            "queue": {"kind": "threshold"},
            "transport": {"cc": "dctcp"},
            "traffic": {"f": {"kind": "bulk", "from": "a", "to": "b", "flows": 16}},
        },
        store=tmp_path,
    )
    ports = [_port(run, f"x->y#{number}") for number in (1, 2)]
    assert all(port["utilisation"] > 0.9 for port in ports)
    assert 18e9 < _numbers(run)["f.goodput_bps"] < 20e9 * 1460 / 1500


def test_priority_by_what_a_flow_has_sent(tmp_path):
    """PlatformLab/HomaSimulation#3: with limits of 100 KB and 1 MB the first 100 KB of each flow travel at
    priority 7."""
    run = shallows.run(
        {
            "duration": "10ms",
            "warmup": "0s",
            "topology": STAR | {"senders": 4, "rate": "10Gbps", "delay": "5us"},
            "queue": {"kind": "threshold"},
            "transport": {"cc": "dctcp", "priority": 7, "demote_at": ["100KB", "1MB"]},
            "priority": {"7": {}, "6": {}, "5": {}},
            "traffic": {"f": {"kind": "bulk", "from": "s*", "to": "r0", "bytes": "1.2MB"}},
        },
        store=tmp_path,
    )
    rows = run.tables["inner_queues"].filter(port="switch->r0", what="data").to_dicts()
    flows = run.tables["flows"]
    assert flows["retransmissions"].sum() == 0
    mss = 1460
    # One packet of each flow opens its connection, and one closes it.
    high, all_ = 4 * (1 + -(-100_000 // mss)), 4 * (2 + -(-1_200_000 // mss))
    by = [sum(row["packets_in"] for row in rows if row["queue"] == level) for level in "765"]
    assert by[0] == high
    assert by[0] + by[1] == 4 * (1 + -(-1_000_000 // mss))
    assert sum(by) == all_


def test_timeouts_without_a_loss_are_explained(tmp_path):
    """conweave-project/conweave-ns3#4: a timer of 320 us below the wait in queues. "none" follows from path
    and buffer."""
    document = {
        "duration": "4ms",
        "ecmp": "flowlet",
        "topology": {
            "kind": "fat-tree",
            "k": 8,
            "rate": "10Gbps",
            "aggregation_rate": "40Gbps",
            "core_rate": "40Gbps",
            "delay": "1us",
            "uplink_delay": "1us",
        },
        "queue": {"kind": "ramp", "kmin": "100KB", "kmax": "400KB", "pmax": 0.2},
        "transport": {"profile": "roce", "cc": "dcqcn", "repair": "irn", "mtu": "1000B"},
        "switch": {"*": {"buffer": "9MB"}},
        "routing": {"flowlet_gap": "100us"},
        "traffic": {
            "query": {
                "kind": "poisson",
                "from": "h*",
                "to": "h*",
                "load": 0.1,
                "fan_in": 100,
                "sizes": {"kind": "fixed", "bytes": "40000B"},
            }
        },
    }
    run = shallows.run(document, store=tmp_path)
    found = _numbers(run)
    assert found["drops"] == 0 and found["timeouts"] > 100
    said = "\n".join(rows.notes([run]))
    assert f"{found['timeouts']:.0f} timeouts, and no packet was lost" in said and "rto_high (320us)" in said
    computed = shallows.run(
        document | {"transport": document["transport"] | {"rto_high": "none"}}, store=tmp_path
    )
    assert _numbers(computed)["drops"] == 0 and _numbers(computed)["timeouts"] < found["timeouts"] / 10


def test_drops_of_a_shared_buffer_are_in_the_printed_column(tmp_path, capsys):
    """inet-tub/ns3-datacenter#5: all drops of a port, by every cause, and the minimum RTO shows in
    completion times."""
    run = shallows.run(
        {
            "duration": "400ms",
            "topology": {"kind": "star", "senders": 64, "rate": "10Gbps", "delay": "10us"},
            "queue": {"kind": "threshold", "limit": "none", "mark_at": "100KB"},
            "switch": {"*": {"buffer": "1MB", "alpha": 0.5}},
            "transport": {"cc": "dctcp", "min_rto": "100ms", "initial_rto": "100ms"},
            "traffic": {"q": {"kind": "bulk", "from": "s*", "to": "r0", "bytes": "64KB"}},
        },
        store=tmp_path,
    )
    port, found = _port(run, "switch->r0"), _numbers(run)
    assert port["drops_buffer"] == found["drops"] > 0 == port["drops_full"]
    assert found["q.fct_p99_ps"] > 100e9
    show_run._show_queues(run)
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("switch->r0"))
    assert row.split()[-2] == f"{found['drops']:.0f}"


@pytest.mark.parametrize(("delay", "whole"), [("125us", 1), ("2500us", 3), ("5000us", 2), ("6000us", 2)])
def test_prague_skips_reductions_in_whole_rounds(tmp_path, delay, whole):
    """L4STeam/linux#25: one of 50 packets has a mark, no queue. A flow of 25 ms sends 2 / (p x RTT), 46.7
    Mb/s.

    With `rtt_virt = "floor"` a reduction waits for 25 ms to pass, which a flow sees at its rounds alone:
    `whole` of them.
    So it reduces once in `whole` x RTT instead of 25 ms, and its rate is higher by their ratio's root or
    less."""
    run = shallows.run(
        {
            "duration": "100s",
            "warmup": "50s",
            "topology": STAR | {"rate": "10Gbps", "delay": delay},
            "queue": {"kind": "drop-tail"},
            "transport": {"cc": {"kind": "prague", "rtt_virt": "floor"}},
            "port": {"switch->r0": {"mark_every": 50}},
            "traffic": {"f": {"kind": "bulk", "from": "s0", "to": "r0"}},
        },
        store=tmp_path,
    )
    aim = 2 / (1 / 50) / 25e-3 * 1460 * 8
    rate = _numbers(run)["f.goodput_bps"]
    if whole == 1:
        assert rate == pytest.approx(aim, rel=0.02)
    else:
        assert rate > 1.1 * aim
