"""Queue pairs in Python: their class, their refusal by other backends, and their captures."""

import csv
import io
import shutil
import struct
import subprocess

import polars as pl
import pytest
import shallows
from conftest import SMALL
from pcapng_blocks import blocks, ones_sum
from shallows.results import pcapng

MTU, PACKETS = 1024, 100


@pytest.fixture(scope="module", params=["write", "send", "read"])
def run(request, tmp_path_factory):
    """Two queue pairs whose messages end in a short packet, with a loss each way and marks."""
    document = SMALL | {
        "duration": "50ms",
        "queue": "ramp",
        "port": {"s0->switch": {"drop_packets": [40], "mark": 0.2}},
        "transport": {"profile": "roce", "cc": "dcqcn", "verb": request.param, "cnp_interval": "4us"},
        "traffic": {
            "load": {
                "kind": "messages", "from": "s0", "to": "r0", "bytes": f"{MTU * PACKETS - 1001}B",
                "interval": "1ms", "connection": "persistent", "count": 3,
            }
        },
        "probe": {"packets": ["s0->*", "*->s0"]},
    }  # fmt: skip
    return shallows.run(document, store=tmp_path_factory.mktemp("runs"))


def test_a_queue_pair_is_a_class_beside_tcps_and_other_backends_refuse_it():
    from shallows.backends.linux import refusals
    from shallows.backends.ns3 import command
    from shallows.document.check import resolve
    from shallows.experiment import Experiment, Roce

    pair = Roce(cc="line-rate", mtu="1000B")
    assert pair.to_document() == {"profile": "roce", "cc": "line-rate", "mtu": "1000B"}
    document = SMALL | {"queue": "drop-tail", "transport": pair.to_document()}
    assert isinstance(Experiment.model_validate(document).transport, Roce)
    resolved = resolve(document)
    faults = [str(fault) for fault in refusals.check(resolved)]
    assert any("traffic.long.transport.profile" in fault and "queue pairs" in fault for fault in faults)
    with pytest.raises(command.Refusal, match="no queue pairs"):
        command.arguments(resolved, [0])


def test_the_editor_offers_the_keys_of_either_transport_once():
    from shallows.web.editor.completion import known

    keys = known()["keys"]["transport"][""]
    labels = [key["label"] for key in keys]
    assert len(labels) == len(set(labels))
    assert {"mss", "mtu", "cc", "cnp_interval"} <= set(labels)
    words = dict(next(key["words"] for key in keys if key["label"] == "profile"))
    assert {'"linux"', '"roce"'} <= set(words)
    controls = known()["keys"]["transport.cc"]
    assert all(len(own) == len({key["label"] for key in own}) for own in controls.values())


def read(path):
    _, _, _, *packets = blocks(path.read_bytes())
    for _, body in packets:
        _, high, low, captured, length = struct.unpack_from("<IIIII", body)
        frame = body[20 : 20 + captured]
        ip, udp, bth, rest = frame[14:34], frame[34:42], frame[42:54], frame[54:-4]
        more = {0x06: 16, 0x0A: 16, 0x0C: 16, 0x0D: 4, 0x0F: 4, 0x10: 4, 0x11: 4, 0x81: 16}.get(bth[0], 0)
        assert not any(rest[more:]), "data are zeros"
        assert (ip[9], ones_sum(ip)) == (17, 0xFFFF)
        total = struct.unpack_from(">H", ip, 2)[0]
        assert length == captured == 14 + total
        source, target, size = struct.unpack_from(">HHH", udp)
        assert (target, size) == (4791, total - 20)
        yield {
            "time_ns": (high << 32) + low, "opcode": bth[0], "port": source, "asks": bth[8] >> 7,
            "pad": bth[1] >> 4 & 3, "becn": bth[4] >> 6 & 1, "qp": int.from_bytes(bth[5:8], "big"),
            "psn": int.from_bytes(bth[9:12], "big"), "rest": rest[:more], "behind": len(rest) - more + 4,
            "ecn": ip[1] & 3,
        }  # fmt: skip


def kind(packet):
    return {0x0C: "request", 0x11: "ack", 0x81: "cnp"}.get(packet["opcode"], "data")


def test_numbers_opcodes_and_lengths_are_those_of_the_wire(run, tmp_path):
    count = pcapng.write(run, "s0", tmp_path / "s0.pcapng")
    packets = list(read(tmp_path / "s0.pcapng"))
    assert len(packets) == count
    data = [p for p in packets if kind(p) == "data"]
    verb = run.experiment["traffic"]["load"]["transport"]["verb"]
    first, middle, last = {"write": (6, 7, 8), "send": (0, 1, 2), "read": (13, 14, 15)}[verb]
    lost = run.tables["packets"].filter((pl.col("lost") == 1) & (pl.col("reverse") == 0))["psn"].to_list()

    # Each message is 99 full packets and one of 23 bytes, padded to 24; packet numbers go on over messages.
    order = sorted({(p["psn"], p["opcode"], p["behind"], p["pad"], p["asks"]) for p in data})
    if verb == "read":  # the lost packet comes again as the first one of another request
        order.remove((lost[0], first, MTU + 4, 0, 0))
    assert [row[0] for row in order] == list(range(len(order)))
    for psn, opcode, behind, pad, asks in order:
        place = psn % PACKETS
        assert opcode == (first if place == 0 else last if place == PACKETS - 1 else middle)
        assert (behind, pad, asks) == (
            (24 + 4, 1, int(verb != "read")) if opcode == last else (MTU + 4, 0, 0)
        )
    assert all(len(p["rest"]) == {6: 16, 13: 4, 15: 4}.get(p["opcode"], 0) for p in data)
    assert order[-1][0] == 3 * PACKETS - 1

    acks = [p for p in packets if kind(p) == "ack"]
    requests = [p for p in packets if kind(p) == "request"]
    if verb == "read":
        # A request a message, which has the number of its first response. After the gap one for the rest of
        # its message, and those again that were outstanding behind it.
        assert not acks and {p["rest"] for p in data if p["rest"]} == {b"\x1f\0\0\0"}
        ranges = [(p["psn"], *struct.unpack(">QII", p["rest"])) for p in requests]
        size = MTU * PACKETS - 1001
        whole = [(number * PACKETS, 0, 0, size) for number in range(3)]
        rest = (lost[0], 0, 0, size - lost[0] * MTU)
        at = ranges.index(rest)
        assert ranges == [*whole[:at], rest, *whole[1:at], *whole[at:]]
    else:
        assert {struct.unpack(">QII", p["rest"]) for p in data if p["rest"]} <= {(0, 0, MTU)}
        # One NAK (AETH syndrome 0x60) for the packet that was lost; others have the last packet's number.
        assert {p["rest"][0] for p in acks} == {0x1F, 0x60} and not requests
        assert [p["psn"] for p in acks if p["rest"][0] == 0x60] == lost
        assert max(p["psn"] for p in acks) == order[-1][0]

    # Notifications: BECN, sixteen reserved bytes, to the queue pair that sends.
    cnps = [p for p in packets if kind(p) == "cnp"]
    assert len(cnps) == run.tables["flows"]["ecn_reductions"].sum() > 10
    assert {(p["becn"], p["psn"], p["rest"], p["behind"]) for p in cnps} == {(1, 0, bytes(16), 4)}
    assert {p["qp"] for p in cnps} == {p["qp"] for p in acks + requests} != {p["qp"] for p in data}
    assert {p["ecn"] for p in data} == {2, 3} and {p["ecn"] for p in cnps + acks + requests} == {0}


def test_wireshark_reads_the_same(run, tmp_path):
    tshark = shutil.which("tshark")
    if not tshark:
        pytest.skip("tshark is not installed: apt-get install tshark; the reading above stands without it")
    path = tmp_path / "s0.pcapng"
    pcapng.write(run, "s0", path)
    fields = ["bth.opcode", "bth.psn", "bth.padcnt", "bth.destqp", "aeth.syndrome", "reth.dmalen"]
    args = ["-T", "fields", "-E", "separator=,", "-E", "quote=d"]
    args += [word for field in fields for word in ("-e", f"infiniband.{field}")]
    done = subprocess.run(
        [tshark, "-r", str(path), *args], capture_output=True, text=True, check=True, timeout=60
    )
    theirs = list(csv.reader(io.StringIO(done.stdout)))
    ours = list(read(path))
    assert len(theirs) == len(ours)
    for (opcode, psn, pad, qp, syndrome, length), packet in zip(theirs, ours, strict=True):
        told = [int(value, 0) for value in (opcode, psn, pad, qp)]
        assert told == [packet[key] for key in ("opcode", "psn", "pad", "qp")]
        has_aeth = packet["opcode"] in (0x0D, 0x0F, 0x10, 0x11)
        assert (int(syndrome, 0) if syndrome else None) == (packet["rest"][0] if has_aeth else None)
        assert bool(length) == (packet["opcode"] in (0x06, 0x0C))
    faulty = [tshark, "-r", str(path), "-Y", "_ws.malformed"]
    assert subprocess.run(faulty, capture_output=True, text=True, check=True, timeout=60).stdout == ""
