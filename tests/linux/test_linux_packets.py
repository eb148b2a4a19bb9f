"""Packets and losses of a Linux run with `probe.audit`, and its qlog: from recorded files, and from a run.

    SHALLOWS_RECORD=1 tools/uv run --frozen pytest tests/linux/test_linux_packets.py -k record_them

records the files again, which needs a kernel.
"""

import json
import os
import tarfile
from pathlib import Path

import jsonschema
import polars as pl
import pytest
import shallows
from conftest import ROOT
from conftest import shallows as command
from qlog_traces import each_packet_once
from shallows.backends.base import Running
from shallows.backends.linux import backend, controls, machine, packets, refusals, scenario, tables
from shallows.backends.linux.root import root
from shallows.backends.simulator import Simulator
from shallows.cli.explain import sentences, story_of
from shallows.document.check import resolve
from shallows.results import qlog
from shallows.tables import laws
from test_linux import needs_kernel

FILES = Path(__file__).parent / "recorded/packets.tar.gz"
SCHEMA = json.loads((ROOT / "tests/results/qlog.schema.json").read_text())
DOCUMENT = {
    "title": "",
    "duration": "600ms",
    "warmup": "50ms",
    "seed": 1,
    "topology": {"kind": "star", "senders": 2, "rate": "10Mbps", "sender_rate": "100Mbps", "delay": "2ms"},
    "queue": {"kind": "drop-tail", "limit": "12pkt"},
    "transport": {"profile": "linux", "cc": "cubic"},
    "traffic": {"long": {"kind": "bulk", "from": "s*", "to": "r0"}},
    "probe": {"audit": True, "queue_trace": "10ms"},
    "port": {"switch->r0": {"loss": 0.01}},
}


@pytest.fixture(scope="module")
def experiment():
    return resolve(DOCUMENT)


def planned(experiment):
    """The scenario of an experiment and the simulator's tables, as the backend makes them."""
    built = backend.checked(experiment, None)
    simulated = Simulator().run(controls.with_stand_ins(experiment), Running()).tables
    return scenario.scenario(experiment, *built, simulated["flows"], simulated["messages"]), simulated


@pytest.fixture(scope="module")
def found(experiment, tmp_path_factory):
    """The tables of the recorded run."""
    place = tmp_path_factory.mktemp("recorded")
    with tarfile.open(FILES) as archive:
        archive.extractall(place, filter="data")
    made, simulated = planned(experiment)
    return tables.tables(place, made, experiment, simulated)


def test_each_packet_is_one_row_at_each_port_of_its_way(found):
    rows = found["packets"]
    assert len(rows) > 1000
    data = rows.filter((pl.col("reverse") == 0) & (pl.col("payload") > 0))
    assert set(data["size"]) == {1500} and set(data["ecn"]) == {0}
    ports = dict(data.group_by("port").len().rows())
    assert set(ports) == {"s0->switch", "s1->switch", "switch->r0"}
    # 2 ms of delay, and the packet's own time at 100 Mb/s, or at 10 Mb/s behind the queue. A bucket holds 10
    # bytes more than a frame, so that a port takes the second of two packets as much earlier.
    for port, bps in (("s0->switch", 10**8), ("switch->r0", 10**7)):
        spans = data.filter(pl.col("port") == port).drop_nulls("landed_ps")
        took = (spans["landed_ps"] - spans["time_ps"]).cast(pl.Int64) - 2_000_000_000
        own, early = (size * 8 * 10**12 // bps for size in (1500, 10))
        assert own <= took.min() and took.max() <= own + early, port
    assert set(rows.filter(pl.col("reverse") == 1)["payload"]) == {0}


def test_losses_are_those_that_the_ports_counted(found):
    lost = found["losses"]
    assert len(lost) and set(lost["cause"]) == {"drops_full"} and set(lost["port"]) == {"switch->r0"}
    counted = dict(found["queues"].select("port", "drops_full").rows())
    since = len(lost.filter(pl.col("time_ps") >= 50_000_000_000))
    assert since == counted["switch->r0"]
    wires = dict(found["queues"].select("port", "drops_wire").rows())
    gone = found["packets"].filter((pl.col("lost") == 1) & (pl.col("time_ps") >= 50_000_000_000))
    assert dict(gone.group_by("port").len().rows()) == {"switch->r0": wires["switch->r0"]}


def test_the_tables_keep_the_laws_of_packets(found, experiment):
    names = ("packets", "losses", "flow_trace")
    counts = {"packets_sent": 0}
    broken = laws.broken({**found}, experiment, counts)
    assert [str(each) for each in broken if each.table in names] == []
    departures = [each for each in broken if "recorded port" in each.law]
    assert departures == []


@pytest.mark.parametrize("flow", [0, 1])
def test_the_qlog_of_a_recorded_run_is_of_the_schema(found, experiment, flow):
    story = story_of(found, experiment, flow, "linux")
    whole = qlog.document(found, story, "recorded")
    assert list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(whole)) == []
    lost = found["losses"].filter(pl.col("flow") == flow)
    wires = found["packets"].filter((pl.col("flow") == flow) & (pl.col("lost") == 1))
    names = each_packet_once(whole["traces"][0]["events"])
    assert names["shallows:packet_dropped"] == len(lost) + len(wires)
    assert names["quic:recovery_metrics_updated"] > 10
    assert names["quic:congestion_state_updated"] > 0
    assert story.waits == {} and any("SACK reported" in each for each in sentences(story))


def test_options_of_a_segment_are_read_wherever_they_stand():
    times = bytes.fromhex("080a0000000700000005")
    assert packets._options(b"\x01\x01" + times) == (7, 5, ())
    block = b"\x01\x01\x05\x0a" + bytes.fromhex("0000000a00000014")
    assert packets._options(b"\x01\x01" + times + block) == (7, 5, (10, 20))
    syn = bytes.fromhex("020405b40402") + times + b"\x01\x03\x03\x0e"
    assert packets._options(syn) == (7, 5, ())
    assert packets._options(b"") == (0, 0, ())


def test_numbers_of_32_bits_count_on():
    first = 2**32 - 10
    assert packets.near((first + 1) % 2**32, first, 0) == 0
    assert packets.near((first + 1 + 2**33 + 5) % 2**32, first, 2**33) == 2**33 + 5
    assert packets.near((first + 1 + 2**33 - 5) % 2**32, first, 2**33) == 2**33 - 5


def test_packets_beside_datagrams_and_for_programs_are_refused(experiment):
    video = {"kind": "datagrams", "from": "s1", "to": "r0", "bytes": "1200B", "rate": "1Mbps"}
    beside = resolve({**DOCUMENT, "traffic": {**DOCUMENT["traffic"], "video": video}})
    assert [fault.path for fault in refusals.check(beside)] == ["probe.audit"]
    assert refusals.check(experiment) == []
    network, _ = backend.checked(experiment, None)
    assert [fault.path for fault in refusals.of_programs(experiment, network, None, True)] == ["probe.audit"]


FILE = """
duration = "600ms"
topology = { kind = "star", senders = 2, rate = "10Mbps", sender_rate = "100Mbps", delay = "2ms" }
queue = { kind = "threshold", limit = "40pkt", mark_at = "8pkt" }
transport = { profile = "linux", cc = "dctcp" }
traffic.long = { kind = "bulk", from = "s*", to = "r0" }
"""


@needs_kernel
def test_the_commands_write_qlog_of_a_run_on_linux(tmp_path):
    (tmp_path / "mine.toml").write_text(FILE)
    done = command("run", "mine.toml", "--backend", "linux", "--qlog", "1=a.qlog", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    whole = json.loads((tmp_path / "a.qlog").read_text())
    assert list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(whole)) == []
    names = each_packet_once(whole["traces"][0]["events"])
    assert names["shallows:packet_dropped"] == 0
    assert names["shallows:packet_marked"] > 10 and names["quic:packet_sent"] > 100
    [stored] = [path.name for path in (tmp_path / "runs").iterdir() if len(path.name) == 20]
    done = command("explain", stored, "1", "--qlog", "b.qlog", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "None of its data was lost." in done.stdout and "marked at switch->r0" in done.stdout
    assert (tmp_path / "b.qlog").read_bytes() == (tmp_path / "a.qlog").read_bytes()
    done = command("audit", stored, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the kernel parts from plain-syn: s0 at " in done.stdout
    assert f"{stored}: accepted; " in done.stdout and "the kernel parts from 2 of " in done.stdout


@needs_kernel
def test_recording_packets_changes_no_number(tmp_path):
    (tmp_path / "mine.toml").write_text(FILE)
    with_packets, without = (
        shallows.run(
            tmp_path / "mine.toml",
            settings=[*audit, 'probe.flow_trace="1ms"'],
            backend="linux",
            store=tmp_path / "runs",
            progress=False,
        )
        for audit in (["probe.audit=true"], [])
    )
    assert len(with_packets.tables["packets"])
    for name in ("flows", "queues", "flow_trace"):
        assert with_packets.tables[name].equals(without.tables[name]), name


def parts(tmp_path, further):
    """From what the kernel parts in a run with further lines of its file."""
    (tmp_path / "mine.toml").write_text(LOSING + further)
    done = command("audit", "mine.toml", "--backend", "linux", "--json", cwd=tmp_path)
    [run] = json.loads(done.stdout)["runs"]
    assert done.returncode == 0 and run["rejected"] == [] and run["standards"] > 10
    return {part["rule"] for part in run["parts"]}


LOSING = """
duration = "3s"
topology = { kind = "star", senders = 2, rate = "20Mbps", sender_rate = "100Mbps", delay = "2ms" }
queue = { kind = "drop-tail", limit = "20pkt" }
transport.profile = "linux"
transport.cc = "cubic"
traffic.long = { kind = "bulk", from = "s*", to = "r0" }
"""


@needs_kernel
def test_an_audit_tells_from_what_the_kernel_parts_and_why(tmp_path):
    assert parts(tmp_path, "") == {"third-duplicate", "gap-answer"}
    assert parts(tmp_path, "linux.sysctl = { 'net.ipv4.tcp_comp_sack_nr' = 0 }") == {"third-duplicate"}
    hard = "port.'switch->r0' = { loss = 0.3 }\n"
    assert "least-timer" in parts(tmp_path, hard)
    assert "least-timer" not in parts(tmp_path, hard + "transport.min_rto = '1s'")


INCAST = """
duration = "60ms"
topology = { kind = "star", senders = 8, rate = "1Gbps", delay = "25us" }
queue = { kind = "drop-tail", limit = "30pkt" }
transport = { profile = "linux", cc = "dctcp" }
[traffic]
query = { kind = "incast", from = "s*", to = "r0", response = "50KB", rounds = 4, connection = "fresh" }
"""


@needs_kernel
def test_each_departure_and_each_drop_of_an_incast_is_a_row(tmp_path):
    (tmp_path / "mine.toml").write_text(INCAST)
    run = shallows.run(
        tmp_path / "mine.toml",
        settings=["probe.audit=true"],
        backend="linux",
        store=tmp_path / "runs",
        progress=False,
    )
    left = dict(run.tables["packets"].group_by("port").len().rows())
    queues = run.tables["queues"].filter(pl.col("packets_out") > 0)
    assert left == dict(queues.select("port", "packets_out").rows())
    drops = int(queues["drops_full"].sum())
    assert len(run.tables["losses"]) == drops > 50


@needs_kernel
@pytest.mark.skipif("SHALLOWS_RECORD" not in os.environ, reason="records the files again")
def test_record_them(experiment):
    made, _ = planned(experiment)
    names = ("flows", "messages", "rounds", "queues", "samples", "trace", "ports", "arrivals")
    options = {"memory_mb": made.memory_mb, "ready": made.verify}
    with (
        machine.boot(backend.ready(), root(), made.plan, experiment["seed"], **options) as answer,
        tarfile.open(FILES, "w:gz") as archive,
    ):
        for name in [*(f"{name}.csv" for name in names), packets.FILE]:
            archive.add(answer.directory / name, name)
