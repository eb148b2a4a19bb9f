"""The values that each format gives, refusals with file and line, and sentences about the rest."""

import os
import struct
from decimal import Decimal
from itertools import pairwise

import pytest
from shallows.document.check import check
from shallows.errors import SpecError
from shallows.importing.compose import compose
from shallows.importing.files import read_parts
from shallows.importing.formats import read, read_with, reader_of
from shallows.importing.parts.source import span


@pytest.fixture
def file(tmp_path):
    def make(text, name="file.txt"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return make


def refused(path, gives, says, options=None):
    with pytest.raises(SpecError) as caught:
        read_with(reader_of(path, gives), [path], options or {})
    assert says in str(caught.value), str(caught.value)


# ---- flow sizes ----


def mean(points):
    low = points[0][0] * points[0][1]
    steps = pairwise(points)
    return (low + sum((a[0] + b[0]) / 2 * (b[1] - a[1]) for a, b in steps)) / 100


def test_sizes_of_hpcc_are_bytes_and_percent(file):
    points = read(file("0 0\n10000 15\n30000000 100\n"), "sizes").rows
    assert points == [[0, 0], [10000, 15], [30000000, 100]]


def test_sizes_of_ns2_are_packets_and_shares(file):
    path = file("6 1 0\n6 1 0.15\n20000 1 1\n")
    assert read(path, "sizes").rows == [[8760, 0], [8760, 15], [29_200_000, 100]]
    assert read(path, "sizes", {"packet": "1000"}).rows[0][0] == 6000


def test_sizes_of_homa_are_steps(file):
    """Half of all messages have 100 bytes, the others 200: the mean is 150, and no message has 150."""
    points = read(file("150\n100 0.5\n200 1.0\n"), "sizes").rows
    assert points == [[99, 0], [100, 50], [199, 50], [200, 100]]
    assert mean(points) == pytest.approx(149.5)


@pytest.mark.parametrize(
    "text",
    [
        "size_bytes,cdf_percent\n0,0\n100,50\n1000,100\n",
        "0,0\n100,50\n1000,100\n",
        "bytes;cdf\n0;0\n100;0.5\n1000;1\n",
        "# made by hand\n\n bytes , percent \n 0 , 0\n100,50 \n\n1000,100\n",
    ],
)
def test_sizes_as_csv_come_with_a_header_or_without(file, text):
    assert read(file(text, "a.csv"), "sizes").rows == [[0, 0], [100, 50], [1000, 100]]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0 0\n100 50\n90 100\n", "must not be below the point before"),
        ("0 0\n100 50\n200 99\n", "must end at 100 percent (a share of 1) (line 3 of file.txt)"),
        ("size_bytes,cdf_percent\n0,0\n100,nan\n", "a share must be a number from 0 to"),
    ],
)
def test_sizes_that_are_no_distribution_are_refused(file, text, says):
    name = "a.csv" if "," in text else "file.txt"
    path = file(text, name)
    with pytest.raises(SpecError) as caught:
        read_with(reader_of(path, "sizes") if "90" not in text else _reader("sizes-hpcc"), [path], {})
    assert says in str(caught.value)


def _reader(name):
    from shallows.importing.formats import READERS

    return next(reader for reader in READERS if reader.name == name)


# ---- networks ----


def test_a_network_of_hpcc(file):
    content = read(
        file("4 1 3\n0\n0 1 100Gbps 0.001ms 0\n0 2 25Gbps 1000ns 0\n0 3 1Gbps 1us 0.01\n"), "topology"
    )
    assert content.hosts == ["1", "2", "3"] and content.switches == ["0"]
    assert content.rows[1] == {"from": "0", "to": "2", "rate": "25Gbps", "delay": "1000ns"}
    assert "error rates of 1 links" in content.ignored


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "4 1 4\n0\n0 1 1Gbps 1us 0\n0 2 1Gbps 1us 0\n0 3 1Gbps 1us 0\n",
            "promises 4 links, and the file has 3",
        ),
        ("4 1 1\n0\n0 9 1Gbps 1us 0\n", "it has no such node (line 3 of file.txt)"),
        ("4 2 1\n0 0\n0 1 1Gbps 1us 0\n0 2 1Gbps 1us 0\n", "must list 2 different switches"),
        ("4 1 2\n0\n0 1 1Gbps 1us 0\n0 2 0Gbps 1us 0\n", "must have a rate such as 100Gbps"),
        ("4 1 2\n0\n0 1 1Gbps 1us 0\n0 2 1Gbps 1 0\n", "must have a delay with a unit"),
        ("9999999 1 1\n0\n0 1 1Gbps 1us 0\n", "at most 1000000 nodes"),
    ],
)
def test_a_network_of_hpcc_that_contradicts_itself_is_refused(file, text, says):
    refused(file(text), "topology", says)


def test_the_first_line_of_a_network_decides_how_many_links_are_read(file):
    """Files of HPCC have more text behind the links; SimAI's generator once counted too few."""
    text = "4 2 1 1 2 A100\n2 3\n0 2 900Gbps 1us 0\n1 2 900Gbps 1us 0\n0 3 1Gbps 1us 0\n1 3 1Gbps 1us 0\n"
    content = read(file(text), "topology")
    assert len(content.rows) == 2 and content.switches == ["2", "3"]
    assert any("says 2 links: 2 further lines are not read" in line for line in content.ignored)
    assert any("GPU type A100" in line for line in content.ignored)


FAT_TREE = """Nodes 16
Tiers 3
Podsize 4
Tier 0
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 500
Switch_Latency_ns 300
Tier 2
Downlink_speed_Gbps 100
Radix_Down 4
Downlink_Latency_ns 500
"""


def test_a_fat_tree_of_htsim_is_the_fat_tree(file):
    """k = 4: 16 hosts, 8 ToRs, 8 aggregation switches, 4 cores; four paths between pods, six links long."""
    content = read(file(FAT_TREE), "topology")
    assert len(content.hosts) == 16 and len(content.switches) == 20
    ways = {}
    for row in content.rows:
        ways.setdefault(row["from"], set()).add(row["to"])
        if row.get("duplex", True):
            ways.setdefault(row["to"], set()).add(row["from"])
    paths = [["0"]]
    for _ in range(6):
        paths = [[*path, other] for path in paths for other in ways[path[-1]] if other not in path]
    assert sum(path[-1] == "15" for path in paths) == 4
    assert len([row for row in content.rows if row["from"] == "tor0" and row["to"].startswith("agg")]) == 2


def test_switch_latency_of_htsim_counts_once_for_each_switch_on_the_way(file):
    links = read(file(FAT_TREE), "topology").rows
    delay = {(row["from"], row["to"]): row["delay"] for row in links}
    assert delay["tor0", "agg0"] == "800ns" and delay["agg0", "tor0"] == "500ns"
    assert delay["agg0", "core0"] == "500ns" and delay["core0", "agg0"] == "800ns"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("Radix_Down 4", "Radix_Down 3"), "tier 2's radix_down must be 4"),
        (("Nodes 16", "Nodes 15"), "nodes must be a multiple of podsize"),
        (("Tiers 3", "Tiers 2"), "promises 2 tiers, and the file has 3"),
        (("Radix_Up 2", "Radix_Sideways 2"), "must be a known key and a number"),
        (("Downlink_speed_Gbps 100", "Downlink_speed_Gbps 0"), "must be at least 1"),
    ],
)
def test_a_topology_of_htsim_that_does_not_fit_is_refused(file, change, says):
    refused(file(FAT_TREE.replace(*change, 1)), "topology", says)


GRAPHML = """<?xml version="1.0"?>
{dtd}<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="a" for="edge" attr.name="LinkSpeedRaw" attr.type="double"/>
<key id="b" for="node" attr.name="Latitude" attr.type="double"/>
<key id="c" for="node" attr.name="Longitude" attr.type="double"/>
<graph edgedefault="undirected">
<node id="0"><data key="b">52.52</data><data key="c">13.40</data></node>
<node id="1"><data key="b">48.14</data><data key="c">11.58</data></node>
<edge source="0" target="1"><data key="a">10000000000.0</data></edge>
</graph></graphml>
"""


def test_places_of_a_wide_area_network_are_switches_with_a_host_each(file):
    """Berlin to Munich: 504 km, 2.5 ms in fibre."""
    content = read(file(GRAPHML.format(dtd="")), "topology")
    assert content.hosts == ["0", "1"] and content.switches == ["0-sw", "1-sw"]
    link = content.rows[0]
    assert link["rate"] == "10000000000bps" and 2.4e6 < float(link["delay"][:-2]) < 2.6e6
    assert any("great circle" in line for line in content.ignored)
    leaves = read(file(GRAPHML.format(dtd="")), "topology", {"hosts": "leaves"})
    assert leaves.switches == []


@pytest.mark.parametrize(
    "dtd",
    [
        '<!DOCTYPE g [<!ENTITY a "xxxxxxxxxx"><!ENTITY b "&a;&a;&a;&a;">]>\n',
        '<!DOCTYPE g [<!ENTITY secret SYSTEM "file:///etc/passwd">]>\n',
    ],
)
def test_entities_of_xml_are_refused(file, dtd):
    refused(file(GRAPHML.format(dtd=dtd)), "topology", "must not define entities or refer to other files")


def test_damaged_xml_is_refused_with_its_line(file):
    refused(file(GRAPHML.format(dtd="").replace("</graph>", "")), "topology", "is damaged XML")


def test_links_of_a_node_to_itself_are_left_out(file):
    links = '[{"source": "a", "target": "b"}, {"source": "a", "target": "a"}]'
    text = f'{{"nodes": [{{"id": "a"}}, {{"id": "b"}}], "links": {links}}}'
    content = read(file(text), "topology")
    assert len(content.rows) == 1 and "1 links from a node to itself" in content.ignored


def test_links_of_a_network_in_json_must_name_its_nodes(file):
    text = '{"nodes": [{"id": "a"}, {"id": "b"}], "links": [{"source": "a", "target": "c"}]}'
    refused(file(text), "topology", "links[0].target must be the id of a node")


def test_roles_of_nodes_come_from_their_attributes(file):
    text = """{"nodes": [{"id": "h 1", "type": "host"}, {"id": "s", "type": "switch"},
        {"id": "h2", "type": "host"}], "edges": [{"source": "h 1", "target": "s", "bandwidth": 100},
        {"source": "s", "target": "h2", "rate": "5Mb/s"}]}"""
    content = read(file(text), "topology")
    assert content.hosts == ["h_1", "h2"] and content.rows[1]["rate"] == "5Mbps"
    assert "numbers without a unit are not read: bandwidth" in content.ignored


# ---- flows ----


def test_the_first_number_of_a_flow_file_of_hpcc_decides(file):
    content = read(
        file("2\n2 1 3 100 2000000 2\n3 1 3 100 2000000 2.0000015\n4 1 3 100 1500000 2\n"), "flows"
    )
    assert [row["start"] for row in content.rows] == ["2s", "2000001500ns"]
    assert any("1 further lines are not read" in line for line in content.ignored)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("3\n2 1 3 100 2000000 2\n", "promises 3 flows, and the file has 1 (line 1 of file.txt)"),
        ("1\n2 2 3 100 2000000 2\n", "must go from one host to another (line 2"),
        ("1\n2 1 3 100 2000000 nan\n", "start must be a number of s from 0 to 100000 s (line 2"),
        ("1\n2 1 3 100 0 2\n", "bytes must be a whole number from 1"),
    ],
)
def test_flows_of_hpcc_that_cannot_be_are_refused(file, text, says):
    refused(file(text), "flows", says)


TRIGGERS = """Nodes 4
Connections 3
Triggers 1
0->2 id 1 start 0 size 1000 recv_done_trigger 7
1->2 id 2 start 0 size 1000 recv_done_trigger 7
2->3 id 3 trigger 7 size 500
trigger id 7 barrier count 2
"""


def test_triggers_of_htsim_become_dependencies(file):
    rows = read(file(TRIGGERS), "messages").rows
    assert rows[2]["after"] == ["1", "2"] and rows[0]["after"] == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("Connections 3", "Connections 4"), "promises 4 connections, and the file has 3 (line 2"),
        (("barrier count 2", "barrier count 3"), "waits for 3 calls, and 2 flows call it (line 7"),
        (("barrier count 2", "oneshot"), "starts at the first of 2 calls"),
        (("barrier count 2", "sometimes"), "unknown word"),
        (("trigger 7 size", "trigger 8 size"), "must name a trigger of this file"),
        (("2->3", "3->0"), "starts at host 3 after a flow between others"),
        (("0->2", "0->4"), "a node must be a whole number from 0 to 3 (line 4"),
        (("start 0 size 1000", "size 1000"), "must have start or trigger"),
    ],
)
def test_triggers_that_a_graph_has_not_are_refused(file, change, says):
    refused(file(TRIGGERS.replace(*change, 1)), "messages", says)


def test_starts_of_htsim_are_ps_unless_an_option_says_us(file):
    path = file("Nodes 2\nConnections 1\n0->1 id 1 start 16 size 1000\n")
    assert read(path, "flows").rows[0]["start"] == "16ps"
    assert read(path, "flows", {"start": "us"}).rows[0]["start"] == "16us"
    refused(path, "flows", "must be one of ps, ns, us", {"start": "hours"})


def test_failed_links_of_htsim_are_left_out_of_the_network(file, tmp_path):
    topo = file(FAT_TREE, "net.topo")
    matrix = "Nodes 16\nConnections 1\nFailures 1\n0->15 id 1 start 0 size 1000\n"
    flows = file(matrix + "failure switch_type AGG switch_id 1 link_id 0\n", "perm.cm")
    whole = len(read(topo, "topology").rows)
    composed = compose(read_parts([topo, flows], []), None, "t")
    links = composed.document["topology"]["links"]
    assert len(links) == whole - 2  # both directions: they differ by the latency of the switch
    assert not [row for row in links if {row["from"], row["to"]} == {"agg1", "core1"}]
    flows = file(matrix + "failure switch_type AGG switch_id 99 link_id 0\n", "perm.cm")
    with pytest.raises(SpecError, match="AGG 99, and the network has no such switch"):
        compose(read_parts([topo, flows], []), None, "t")


def test_hosts_that_the_network_has_not_are_listed(file):
    network = file("3 1 2\n0\n0 1 1Gbps 1us 0\n0 2 1Gbps 1us 0\n", "topology.txt")
    flows = file("2\n1 7 3 100 10 2\n2 8 3 100 10 2\n", "flow.txt")
    with pytest.raises(SpecError, match=r"has 2 hosts that topology.txt does not have, got \"7, 8\""):
        compose(read_parts([network, flows], []), None, "t")


def test_hosts_may_get_other_names(file):
    network = file("from,to\nh1,sw\nh7,sw\n", "links.csv")
    flows = file("1\n1 7 3 100 10 2\n", "flow.txt")
    composed = compose(read_parts([network, flows], []), "h{}", "t")
    assert composed.rows["flow"][1][0]["to"] == "h7"


# ---- training steps ----

GOAL = """num_ranks 2
rank 0 {
l1: calc 1000
l2: send 8192b to 1 tag 0 // first
l3: send 16b to 1 tag 1
/* both wait
for the computation */
l2 requires l1
l3 requires l2
}
rank 1 {
l1: recv 8192b from 0 tag 0
l2: recv 16b from 0 tag 1
l3: calc 500
l4: send 1b to 0 tag 9
l3 requires l1
l3 requires l2
l4 requires l3
}
"""


def test_a_schedule_waits_for_deliveries_and_for_what_it_sent(file):
    rows = read(
        file(GOAL.replace("l3: send 16b", "l4: recv 1b from 1 tag 9\nl3: send 16b", 1)), "messages"
    ).rows
    first, second, last = rows
    assert first["delay"] == "1us" and first["after"] == []
    assert second["after"] == [first["id"]] and "delay" not in second
    assert last["after"] == [first["id"], second["id"]] and last["delay"] == "500ns"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("}\nrank 1", "l1 requires l3\n}\nrank 1"), "must not wait for itself: lines"),
        (("num_ranks 2", "num_ranks 3"), "promises 3 ranks, and the file has 2"),
        (("l3 requires l2", "l3 requires l9"), "must be a label that stands above in this rank"),
        (("tag 9", "tag 8"), "sends a message that no operation receives"),
        (("from 0 tag 1", "from 0 tag 5"), "receives a message that no operation sends"),
        (("16b to 1", "16b to 2"), "must name a rank from 0 to 1"),
        (("l1: calc 1000", "l1: calc 9999999999999999"), "must be a time of at most"),
        (("to 1 tag 0", "to 0 tag 0"), "must not be its own rank"),
    ],
)
def test_schedules_that_cannot_run_are_refused(file, change, says):
    text = GOAL.replace("l3: send 16b", "l4: recv 1b from 1 tag 9\nl3: send 16b", 1)
    refused(file(text.replace(*change, 1)), "messages", says)


def test_ranks_that_wait_for_each_other_are_refused(file):
    text = (
        "num_ranks 2\nrank 0 {\na: recv 1b from 1 tag 0\nb: send 1b to 1 tag 0\nb requires a\n}\n"
        "rank 1 {\na: recv 1b from 0 tag 0\nb: send 1b to 0 tag 0\nb requires a\n}\n"
    )
    refused(file(text), "messages", "must not wait for itself: lines")


def test_messages_of_a_schedule_stand_behind_those_that_they_wait_for(file):
    """Rank 1 comes first in the file and last in time."""
    text = (
        "num_ranks 3\nrank 0 {\na: recv 1b from 2 tag 0\nb: send 1b to 1 tag 0\nb requires a\n}\n"
        "rank 1 {\na: recv 1b from 0 tag 0\n}\nrank 2 {\na: calc 10\nb: send 1b to 0 tag 0\nb requires a\n}\n"
    )
    rows = read(file(text), "messages").rows
    assert [row["from"] for row in rows] == ["2", "0"] and rows[1]["after"] == [rows[0]["id"]]


def test_a_cut_off_schedule_is_refused(file):
    refused(file(GOAL[:-3]), "messages", "the file is cut off")


def test_collectives_move_what_a_ring_moves(file):
    """All-reduce of S bytes over n ranks: 2 (n - 1) steps of S / n bytes from each rank."""
    head = "MICRO\n1\n"
    rows = read(
        file(head + "x\t-1\t1\tNONE\t0\t1\tNONE\t0\t1\tALLREDUCE\t4000\t1\n"), "messages", {"ranks": "4"}
    ).rows
    assert len(rows) == 4 * 2 * 3 and {row["bytes"] for row in rows} == {"1000B"}
    rows = read(
        file(head + "x\t-1\t1\tNONE\t0\t1\tNONE\t0\t1\tALLTOALL\t4000\t1\n"), "messages", {"ranks": "4"}
    ).rows
    assert len(rows) == 4 * 3 and len({(row["from"], row["to"]) for row in rows}) == 12


def test_groups_of_simai(file):
    """Tensor groups are neighbours; gradients of weights go between ranks of the same place."""
    text = (
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 all_gpus: 4\n1\n"
        "x\t-1\t1\tALLGATHER\t400\t1\tNONE\t0\t1\tALLGATHER\t800\t1\n"
    )
    rows = read(file(text), "messages").rows
    pairs = [{(row["from"], row["to"]) for row in rows if row["bytes"] == size} for size in ("200B", "400B")]
    assert pairs == [
        {("0", "1"), ("1", "0"), ("2", "3"), ("3", "2")},
        {("0", "2"), ("2", "0"), ("1", "3"), ("3", "1")},
    ]
    refused(file(text.replace("\n1\n", "\n2\n")), "messages", "promises 2 layers, and the file has 1 (line 2")
    refused(file(text.replace("all_gpus: 4", "")), "messages", "does not say how many ranks there are")


def test_stages_of_aicb_send_to_one_another(file):
    head = "comm_type,comm_group,comm_group_size,msg_size,stage,dst,src,additional\n"
    text = (
        f"[ pp_stage0: [rank0, rank1] ]\n{head}"
        "CommType.isend,CommGroup.pp_group,1,100,f,None,None,send_next\n"
        f"[ pp_stage1: [rank2, rank3] ]\n{head}"
        "CommType.irecv,CommGroup.pp_group,1,100,f,None,None,recv_prev\n"
        "CommType.all_reduce,CommGroup.tp_group,2,64,f,None,None,\n"
    )
    rows = read(file(text), "messages").rows
    assert [(row["from"], row["to"]) for row in rows[:2]] == [("0", "2"), ("1", "3")]
    assert rows[2]["after"] == [rows[0]["id"]] and rows[2]["from"] == "2"
    refused(
        file(text.replace("all_reduce", "all_redice")), "messages", "comm_type must be isend, irecv or one of"
    )


# ---- the whole ----

CASE = """duration = "1ms"
topology = { kind = "graph", name = "topology.txt" }
queue = { kind = "threshold" }
transport = { cc = "dctcp" }
traffic.x = { kind = "table", name = "flow.txt" }
"""


def test_an_experiment_names_files_of_others(file, tmp_path):
    from shallows.document.load import load

    file("4 1 3\n0\n0 1 100Gbps 1us 0\n0 2 100Gbps 1us 0\n0 3 100Gbps 1us 0\n", "topology.txt")
    file("1\n2 1 3 100 2000 0\n", "flow.txt")
    toml = file(
        CASE,
        "case.toml",
    )
    experiment, faults = check(load(toml))
    assert not faults and experiment["topology"]["name"] == "topology.txt"
    assert experiment["traffic"]["x"]["flows"][0]["from"] == "2"


def test_faults_of_the_checker_have_the_line_of_the_file(file):
    from shallows.document.load import load

    file("3 1 2\n0\n0 1 100Gbps 1us 0\n0 2 100Gbps 1us 0\n", "topology.txt")
    file("1\n2 9 3 100 2000 0\n", "flow.txt")
    toml = file(
        CASE,
        "case.toml",
    )
    _, (fault,) = check(load(toml))
    assert fault.path == "traffic.x.flows.0.to" and "line 2 of flow.txt" in fault.rule


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        ("0", "s", "0s"),
        ("2.5", "s", "2500ms"),
        ("1e-12", "s", "1ps"),
        ("16", "us", "16us"),
        ("100000", "s", "100000s"),
    ],
)
def test_times_are_exact(value, unit, text):
    assert span(Decimal(value), unit) == text


def test_a_pipe_is_refused_at_once(tmp_path):
    """A reader would wait for its other end, and an import could not go on."""
    os.mkfifo(tmp_path / "pipe.csv")
    refused(tmp_path / "pipe.csv", "flows", "must be a regular file")


# ---- links and datagrams ----


def test_mahimahis_times_are_opportunities(tmp_path):
    (tmp_path / "cell.down").write_text("0\n2\n2\n5\n")
    content = read(tmp_path / "cell.down", "opportunities")
    assert content.rows == [0, 2, 2, 5]
    assert content.understood == ["4 packets may leave in 0.005 s, 9.63 Mb/s in the mean"]
    (tmp_path / "cell.down").write_text("3\n7\n5\n")
    refused(
        tmp_path / "cell.down", "opportunities", "must not be before the time above (line 3 of cell.down)"
    )


def test_rates_have_units_and_a_link_may_have_none(tmp_path):
    for text, rows in [
        ("at_s,rate_kbps\n0,500\n1.5,0\n2,1\n", [("0s", "500Kbps"), ("1.5s", "none"), ("2s", "1Kbps")]),
        (
            "at,rate\n0s,10Gbps\n5ms,none\n7ms,2000bps\n",
            [("0s", "10Gbps"), ("5ms", "none"), ("7ms", "2000bps")],
        ),
    ]:
        (tmp_path / "rates.csv").write_text(text)
        content = read(tmp_path / "rates.csv", "rates")
        assert [(row["at"], row["rate"]) for row in content.rows] == rows


def test_a_port_takes_a_trace_beside_its_file(tmp_path):
    (tmp_path / "rates.csv").write_text("at_ms,rate_mbps\n0,8\n10,0\n20,8\n")
    (tmp_path / "x.toml").write_text(
        'duration = "50ms"\ntopology = { kind = "star", senders = 1 }\nqueue = "drop-tail"\n'
        '[port."switch->r0"]\ntrace = { kind = "rates", name = "rates.csv" }\n'
        '[traffic.x]\nkind = "datagrams"\nfrom = "s0"\nto = "r0"\nbytes = "972B"\nevery = "500us"\n'
    )
    import shallows

    run = shallows.run(tmp_path / "x.toml", store=tmp_path / "runs")
    trace = run.experiment["port"]["switch->r0"]["trace"]
    assert (trace["name"], len(trace["points"])) == ("rates.csv", 3)
    # Forty datagrams of 1000 bytes on the wire fit 8 Mb/s in 40 of 50 ms, less the one under way.
    assert 38 <= run.tables["datagrams"]["arrived"][0] <= 40
    (tmp_path / "rates.csv").write_text("at_ms,rate_mbps\n0,8\n10,fast\n")
    with pytest.raises(SpecError) as caught:
        shallows.run(tmp_path / "x.toml", store=tmp_path / "runs")
    assert "line 3 of rates.csv" in str(caught.value)


def test_flows_without_end_of_htsim_take_the_size_of_an_option(file):
    path = file("Nodes 3\nConnections 2\n0->1 id 1 start 0 size 0\n1->2 id 2 start 0 size 700\n")
    refused(path, "flows", "--option endless=BYTES")
    refused(path, "flows", "above zero", {"endless": "0"})
    content = read_with(reader_of(path, "flows"), [path], {"endless": "5000"})
    assert [row["bytes"] for row in content.rows] == ["5000B", "700B"]
    assert "1 flows have no end: each has 5,000 bytes" in content.ignored


def segment(sequence):
    """An IPv4 packet with 100 bytes of TCP from 10.0.0.1 to 10.0.0.2."""
    tcp = struct.pack(">HHIIBBHHH", 1000, 80, sequence, 0, 5 << 4, 16, 1000, 0, 0)
    ends = bytes([10, 0, 0, 1, 10, 0, 0, 2])
    return struct.pack(">BBHHHBBH", 69, 0, 140, 0, 0, 64, 6, 0) + ends + tcp + bytes(100)


def capture(tmp_path, link, frames):
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link)
    for number, frame in enumerate(frames):
        out += struct.pack("<IIII", number, 0, len(frame), len(frame)) + frame
    path = tmp_path / "link.pcap"
    path.write_bytes(out)
    return path


@pytest.mark.parametrize(
    ("link", "before"),
    [
        (9, b"\x00\x21"),  # PPP as ns-3 writes it
        (9, b"\xff\x03\x00\x21"),
        (0, b"\x02\x00\x00\x00"),
        (108, b"\x00\x00\x00\x02"),
        (276, b"\x08\x00" + bytes(18)),
    ],
)
def test_captures_of_several_link_types_hold_the_same_flow(tmp_path, link, before):
    path = capture(tmp_path, link, [before + segment(1), before + segment(101)])
    assert read(path, "flows").rows == [
        {"from": "10.0.0.1", "to": "10.0.0.2", "bytes": "200B", "start": "0s"}
    ]


def test_a_capture_without_flows_says_why(tmp_path):
    path = capture(tmp_path, 105, [b"beacon", b"beacon"])
    refused(path, "flows", "of 2 packets 2 are neither TCP nor UDP over IP (link type 105, IEEE 802.11)")


def test_a_model_of_sndlib_is_named(file):
    text = "?SNDlib native format; type: model; version: 1.0\n\nDEMAND_MODEL = DIRECTED\n"
    refused(file(text), "topology", "is a model of SNDlib")


@pytest.mark.parametrize(
    ("text", "gives", "row"),
    [
        (
            "src,dst,size,start_time_us\na,b,700,5\n",
            "flows",
            {"from": "a", "to": "b", "bytes": "700B", "start": "5us"},
        ),
        (
            "source,target,capacity,latency\na,s,10Gbps,1us\nb,s,10Gbps,1us\n",
            "topology",
            {"from": "a", "to": "s", "rate": "10Gbps", "delay": "1us"},
        ),
        ("time_ms,bandwidth_mbps\n0,8\n7,0\n9,4\n", "rates", {"at": "0ms", "rate": "8mbps"}),
    ],
)
def test_columns_have_the_names_of_other_programs_too(file, text, gives, row):
    first = read(file(text, "x.csv"), gives).rows[0]
    assert {key: str(value).lower() for key, value in first.items()} == {k: v.lower() for k, v in row.items()}


def test_a_plain_number_needs_the_unit_of_its_column(file):
    refused(file("src,dst,size,start\na,b,700,5\n", "x.csv"), "flows", "name the column start_us")
    refused(file("time_s,rate\n0,10\n", "x.csv"), "rates", "name the column rate_mbps")


def test_sizes_with_blanks_between_and_a_header_are_read(file):
    assert read(file("size cdf\n100 0.5\n900 1\n"), "sizes").rows == [[100, 50], [900, 100]]


def test_coordinates_of_sndlib_text_give_delays(file):
    """Two places on a meridian, one degree apart: 111.19 km, and 5 us for each."""
    text = (
        "?SNDlib native format; type: network; version: 1.0\n# <node_id> [(<longitude>, <latitude>)]\n"
        "NODES (\n  A ( 10.00 50.00 )\n  B ( 10.00 51.00 )\n)\n"
        "LINKS (\n  L ( A B ) 0.00 0.00 0.00 0.00 ( )\n)\n"
    )
    rows = read(file(text), "topology").rows
    between = next(row for row in rows if {row["from"], row["to"]} == {"A-sw", "B-sw"})
    assert int(between["delay"].removesuffix("ns")) == pytest.approx(555_975, abs=20)
