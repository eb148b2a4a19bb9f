"""NDP in Python: its class, its refusal by other backends, and its captures."""

import struct

import polars as pl
import pytest
import shallows
from conftest import SMALL
from pcapng_blocks import blocks, ones_sum
from shallows.results import pcapng

NDP = {"profile": "ndp", "cc": "line-rate"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Eight first windows at a port with room for two packets and four headers."""
    document = {
        "duration": "20ms",
        "topology": {"kind": "star", "senders": 8, "rate": "10Gbps", "delay": "1us"},
        "queue": {"kind": "trimming", "limit": "2pkt", "header_limit": "4pkt"},
        "transport": NDP,
        "traffic": {"load": {"kind": "bulk", "from": "s*", "to": "r0", "bytes": "100KB", "start": "1us"}},
        "probe": {"packets": ["s0->*", "*->s0"]},
    }
    return shallows.run(document, store=tmp_path_factory.mktemp("runs"))


def test_ndp_is_a_class_beside_tcps_and_other_backends_refuse_it():
    from shallows.backends.linux import refusals
    from shallows.backends.ns3 import command
    from shallows.document.check import resolve
    from shallows.experiment import Experiment, Ndp

    ndp = Ndp(cc="line-rate", mtu="1000B")
    assert ndp.to_document() == NDP | {"mtu": "1000B"}
    document = SMALL | {"queue": "trimming", "transport": ndp.to_document()}
    assert isinstance(Experiment.model_validate(document).transport, Ndp)
    resolved = resolve(document)
    assert resolved["nic"]["kind"] == "trimming" and resolved["nic"]["limit"] == "none"
    faults = [str(fault) for fault in refusals.check(resolved)]
    assert any("traffic.long.transport.profile" in fault and "NDP" in fault for fault in faults)
    with pytest.raises(command.Refusal, match="no NDP"):
        command.arguments(resolved, [0])


def test_books_of_trimmed_and_returned_packets(run):
    flows, queues, packets = (run.tables[name] for name in ("flows", "queues", "packets"))
    assert flows["delivered_bytes"].to_list() == [100_000] * 8
    assert queues["trims"].sum() == flows["retransmissions"].sum()
    assert queues["returned"].sum() + flows["fast_recoveries"].sum() == queues["trims"].sum()
    assert queues["returned"].sum() > 0 and run.manifest["counts"]["packets_dropped"] == 0
    back = packets.filter((pl.col("trimmed") == 1) & (pl.col("reverse") == 1))
    assert len(back) > 0 and set(back["size"]) == {64} and set(back["payload"]) == {0}


def test_a_capture_has_each_packet_as_long_as_it_was(run, tmp_path):
    packets = run.tables["packets"].filter(pl.col("port") == "s0->switch")
    assert pcapng.write(run, "s0->switch", tmp_path / "s0.pcapng") == len(packets)
    kinds = []
    _, _, _, *frames = blocks((tmp_path / "s0.pcapng").read_bytes())
    for (_, body), row in zip(frames, packets.iter_rows(named=True), strict=True):
        captured, length = struct.unpack_from("<II", body, 12)
        frame = body[20 : 20 + captured]
        assert (length, frame[23], ones_sum(frame[14:34])) == (row["size"], 253, 0xFFFF)
        kind, flow, seq = struct.unpack_from(">BIQ", frame, 34)
        assert (flow, seq) == (row["flow"], row["seq"])
        kinds.append(kind)
    assert set(kinds) == {0}, "a sender sends data alone, whole"
    pcapng.write(run, "switch->s0", tmp_path / "back.pcapng")
    _, _, _, *frames = blocks((tmp_path / "back.pcapng").read_bytes())
    assert {body[20 + 34] for _, body in frames} == {2, 3, 4, 5}, "answers, pulls, and headers that came back"
