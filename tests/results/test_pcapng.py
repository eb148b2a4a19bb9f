"""Captures: a file holds the recorded packets, to our own reader and to Wireshark's."""

import csv
import io
import shutil
import struct
import subprocess

import polars as pl
import pytest
import shallows
from conftest import SMALL
from conftest import shallows as command
from pcapng_blocks import blocks, ones_sum
from shallows.errors import RunError, SpecError
from shallows.results import pcapng

BYTES = 300_000


@pytest.fixture(scope="module", params=["datacentre", "linux"])
def run(request, tmp_path_factory):
    """Two flows with marks, losses and SACK, opened and closed; `linux` has timestamps."""
    document = SMALL | {
        "duration": "1s",
        "queue": {"kind": "threshold", "limit": "30pkt", "mark_at": "5pkt"},
        "port": {"s0->switch": {"drop_packets": [40, 90, 91]}},
        "transport": {"profile": request.param, "cc": "dctcp"},
        "traffic": {"load": {"kind": "bulk", "from": "s*", "to": "r0", "bytes": f"{BYTES}B"}},
        "probe": {"packets": ["s0->*", "*->s0", "switch->r0"]},
    }
    return shallows.run(document, store=tmp_path_factory.mktemp("runs"))


def read(path):
    """The packets of a file: an own reading of the formats, not that of the writer."""
    (first, section), (second, interface), (third, names), *packets = blocks(path.read_bytes())
    assert (first, second, third) == (0x0A0D0D0A, 1, 4)
    assert section[:8] == struct.pack("<IHH", 0x1A2B3C4D, 1, 0)
    assert interface[:2] == b"\x01\x00"
    assert interface[8:13] == b"\x09\x00\x01\x00\x09"  # if_tsresol: nanoseconds
    hosts, at = {}, 0
    while names[at : at + 2] == b"\x01\x00":
        length = struct.unpack_from("<H", names, at + 2)[0]
        record = names[at + 4 : at + 4 + length]
        hosts[record[:4]] = record[4:-1].decode()
        at += 4 + (length + 3) // 4 * 4
    for kind, body in packets:
        assert kind == 6
        _, high, low, captured, length = struct.unpack_from("<IIIII", body)
        frame = body[20 : 20 + captured]
        ip, tcp = frame[14:34], frame[34:]
        assert frame[12:14] == b"\x08\x00"
        assert ones_sum(ip) == 0xFFFF
        total = struct.unpack_from(">H", ip, 2)[0]
        assert length == 14 + total
        pseudo = ip[12:20] + struct.pack(">HH", 6, total - 20)
        assert ones_sum(pseudo + tcp) == 0xFFFF  # the payload is zeros
        seq, ack, bits = struct.unpack_from(">IIH", tcp, 4)
        assert len(tcp) == 4 * (bits >> 12)
        flags = bits & 0xFFF
        yield {
            "time_ns": (high << 32) + low, "src": hosts[ip[12:16]], "dst": hosts[ip[16:20]],
            "ports": struct.unpack_from(">HH", tcp), "seq": seq, "ack": ack, "flags": flags, "ecn": ip[1] & 3,
            "payload": total - 20 - len(tcp), "options": dict(options(tcp[20:])),
        }  # fmt: skip


def options(data):
    while data:
        if data[0] == 1:
            data = data[1:]
            continue
        yield data[0], data[2 : data[1]]
        data = data[data[1] :]


def sack(packet):
    body = packet["options"].get(5, b"")
    return list(struct.iter_unpack(">II", body))


# req: RFC3168 s6.1.1 MUST ecn-setup
# req: RFC3168 s6.1.1 MUST cwr-kept-right
# req: RFC3168 s6.1.2 SHOULD cwr-on-new-data
def test_a_host_sees_its_connection_from_syn_to_fin(run, tmp_path):
    count = pcapng.write(run, "s0", tmp_path / "s0.pcapng")
    packets = list(read(tmp_path / "s0.pcapng"))
    assert len(packets) == count
    out = [p for p in packets if p["src"] == "s0"]
    back = [p for p in packets if p["dst"] == "s0"]
    assert [p["time_ns"] for p in packets] == sorted(p["time_ns"] for p in packets)
    timestamps = run.experiment["traffic"]["load"]["transport"]["timestamps"]
    mss = 1448 if timestamps else 1460

    # RFC 9293 s.3.5: SYN, SYN+ACK, each taking a number; RFC 3168 s.6.1.1: an ECN-setup SYN.
    assert (out[0]["flags"], out[0]["seq"], out[0]["ack"]) == (0xC2, 0, 0)
    assert (back[0]["flags"], back[0]["seq"], back[0]["ack"]) == (0x52, 0, 1)
    for packet in (out[0], back[0]):
        assert struct.unpack(">H", packet["options"][2])[0] == mss
        assert {3, 4} <= set(packet["options"])
    assert all((8 in p["options"]) == timestamps for p in packets)

    # The stream once, without a gap, then FIN; the last acknowledgement covers both.
    data = [p for p in out if p["payload"]]
    assert {p["seq"] for p in data} == set(range(1, BYTES, mss))
    assert max(p["seq"] + p["payload"] for p in data) == BYTES + 1
    assert next(p["seq"] + p["payload"] for p in out if p["flags"] & 1) == BYTES + 1
    assert max(p["ack"] for p in back) == BYTES + 2
    assert [p["ack"] for p in back] == sorted(p["ack"] for p in back)

    # Losses show as SACK blocks above the acknowledgement, marks as CE and ECE, reductions as CWR.
    reports = [p for p in back if sack(p)]
    assert len(reports) > 3
    assert not any(p["payload"] for p in back)  # SACK blocks are options, not data
    for packet in reports:
        for first, beyond in sack(packet):
            assert packet["ack"] < first < beyond <= BYTES + 2
            assert (first - 1) % mss == 0
    lost = run.tables["packets"].filter((pl.col("port") == "s0->switch") & (pl.col("lost") == 1))
    assert len(lost) == 3
    again = [p["seq"] for p in data if [q["seq"] for q in data].count(p["seq"]) > 1]
    assert set(lost["seq"] + 1) == set(again)
    flow = run.tables["flows"].filter(pl.col("src") == "s0").to_dicts()[0]
    assert sum(p["flags"] >> 6 & 1 for p in back[1:]) > 0
    # RFC 3168 s.6.1.2: on new data after a reduction, for any reason.
    reductions = sum(flow[why] for why in ("ecn_reductions", "fast_recoveries", "timeouts"))
    assert sum(p["flags"] >> 7 & 1 for p in out[1:]) in range(1, reductions + 1)
    assert {p["ecn"] for p in data} <= {0, 2}
    reduced = [number for number, p in enumerate(out) if p["flags"] >> 7 & 1 and number > 0]
    assert all(out[number]["seq"] not in {p["seq"] for p in out[1:number]} for number in reduced)


# req: RFC3168 s6.1.1 SHOULD refusal-is-clear
# req: RFC3168 s6.1.1 MUST ecn-setup
def test_a_host_without_ecn_clears_its_flags(tmp_path):
    """RFC 3168 s.6.1.1: ECE and CWR are clear in SYN and SYN+ACK of a host that does not want ECN."""
    for transport, flags in (
        ({"ecn": "off"}, (0x02, 0x12)),
        ({"ecn": "on", "echo": "never"}, (0xC2, 0x12)),
        ({"ecn": "on"}, (0xC2, 0x52)),
    ):
        document = SMALL | {"transport": {"cc": "newreno", "opening": "handshake"} | transport}
        done = shallows.run(document | {"probe": {"packets": ["s0->*", "*->s0"]}}, store=tmp_path / "runs")
        pcapng.write(done, "s0", tmp_path / "s0.pcapng")
        packets = list(read(tmp_path / "s0.pcapng"))
        syn = next(p for p in packets if p["src"] == "s0")
        assert (syn["flags"], next(p for p in packets if p["dst"] == syn["src"])["flags"]) == flags
        (tmp_path / "s0.pcapng").unlink()


def test_a_link_shows_the_marks_that_its_port_set(run, tmp_path):
    pcapng.write(run, "switch->r0", tmp_path / "link.pcapng")
    packets = list(read(tmp_path / "link.pcapng"))
    assert {p["dst"] for p in packets} == {"r0"}
    assert len({(p["src"], p["ports"]) for p in packets}) == 2
    queue = run.tables["queues"].filter(pl.col("port") == "switch->r0")
    assert sum(p["ecn"] == 3 for p in packets) == queue["marks"].item() > 0
    assert len(packets) == queue["packets_out"].item()


def test_accurate_ecn_counts_marks_in_three_bits(tmp_path):
    """RFC 9768: all three bits ask for it, the handshake tells codepoints, then comes 5 + marks modulo 8."""
    run = shallows.run(
        SMALL
        | {
            "duration": "20ms",
            "queue": {"kind": "threshold", "limit": "100pkt", "mark_at": "2pkt"},
            "transport": {"cc": "prague"},
            "traffic": {"load": {"kind": "bulk", "from": "s0", "to": "r0", "bytes": f"{BYTES}B"}},
            "topology": {"kind": "star", "senders": 1, "rate": "100Mbps", "sender_rate": "1Gbps"},
            "probe": {"packets": ["*->r0", "r0->*"]},
        },
        store=tmp_path,
    )
    pcapng.write(run, "r0", tmp_path / "r0.pcapng")
    packets = list(read(tmp_path / "r0.pcapng"))

    def ace(packet):
        return packet["flags"] >> 6 & 7

    forth = [p for p in packets if p["dst"] == "r0"]
    assert ace(forth[0]) == 0b111 and forth[0]["flags"] & 2
    (answer,) = (p for p in packets if p["src"] == "r0" and p["flags"] & 2)
    assert ace(answer) == 0b010
    assert {ace(p) for p in forth if p["payload"]} == {5}
    marks = 0
    for packet in packets:
        if packet["dst"] == "r0":
            marks += packet["ecn"] == 3
        elif not packet["flags"] & 2:
            assert ace(packet) == (5 + marks) % 8
    assert marks > 8


def test_recording_changes_nothing(tmp_path):
    plain = shallows.run(SMALL, store=tmp_path)
    tapped = shallows.run(SMALL | {"probe": {"packets": "*->*"}}, store=tmp_path)
    assert plain.manifest["counts"] == tapped.manifest["counts"]
    for name in set(plain.tables) - {"packets"}:
        assert plain.tables[name].equals(tapped.tables[name]), name
    packets, queues = tapped.tables["packets"], tapped.tables["queues"]
    assert packets["landed_ps"].drop_nulls().len() == tapped.manifest["counts"]["packet_hops"]
    # Packets that were on a wire when the run ended have left their ports too.
    assert packets["landed_ps"].null_count() > 0 and len(packets) == queues["packets_out"].sum()
    with pytest.raises(RunError, match="no packet was recorded"):
        pcapng.write(plain, "s0", tmp_path / "x.pcapng")


def test_wireshark_reads_the_same(run, tmp_path):
    tshark = shutil.which("tshark")
    if not tshark:
        pytest.skip("tshark is not installed: apt-get install tshark; the reading above stands without it")
    pcapng.write(run, "s0", tmp_path / "s0.pcapng")
    fields = [
        "frame.time_epoch", "ip.src_host", "tcp.seq_raw", "tcp.ack_raw", "tcp.flags", "ip.dsfield.ecn",
        "tcp.len", "tcp.options.sack_le", "tcp.options.sack_re", "tcp.options.mss_val",
        "ip.checksum.status",
    ]  # fmt: skip
    args = ["-o", "tcp.relative_sequence_numbers:FALSE", "-o", "ip.check_checksum:TRUE", "-T", "fields"]
    args += ["-E", "separator=,", "-E", "quote=d", "-E", "aggregator=;", "-N", "n"]
    args += [word for field in fields for word in ("-e", field)]
    command = [tshark, "-r", str(tmp_path / "s0.pcapng"), *args]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    theirs = list(csv.reader(io.StringIO(done.stdout)))
    ours = list(read(tmp_path / "s0.pcapng"))
    assert len(theirs) == len(ours)
    for (time, src, seq, ack, flags, ecn, length, first, beyond, mss, status), packet in zip(
        theirs, ours, strict=True
    ):
        assert round(float(time.split(".")[0]) * 1e9) + int(time.split(".")[1]) == packet["time_ns"]
        assert src == packet["src"]
        assert (int(seq), int(ack), int(flags, 16)) == (packet["seq"], packet["ack"], packet["flags"])
        assert (int(ecn), int(length)) == (packet["ecn"], packet["payload"])
        edges = zip(first.split(";"), beyond.split(";"), strict=True) if first else ()
        assert [(int(a), int(b)) for a, b in edges] == sack(packet)
        assert bool(mss) == bool(packet["flags"] & 2)
        assert status in ("1", "Good")
    assert sum(bool(row[7]) for row in theirs) > 3
    faulty = [
        tshark,
        "-r",
        str(tmp_path / "s0.pcapng"),
        "-Y",
        "_ws.malformed || tcp.analysis.ack_lost_segment",
    ]
    assert subprocess.run(faulty, capture_output=True, text=True, check=True, timeout=60).stdout == ""


def test_the_command_line_writes_captures(tmp_path, small_file):
    done = command(
        "run",
        small_file,
        "--pcap",
        "s0=host.pcapng",
        "--pcap",
        "switch->r0=link.pcapng",
        "--json",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert len(list(read(tmp_path / "host.pcapng"))) > 10
    assert "packets of switch->r0" in done.stderr
    assert {p["dst"] for p in read(tmp_path / "link.pcapng")} == {"r0"}


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--pcap", "s0"], "LINK_OR_HOST=FILE"),
        (["--pcap", "s0=no/such/dir/x.pcapng"], "existing directory"),
        (["--pcap", "s9=x.pcapng"], "probe.packets"),
        (["--pcap", "s0=x.pcapng", "--seeds", "2"], "needs exactly one run"),
    ],
)
def test_what_cannot_be_captured_is_told_before_the_run(tmp_path, small_file, args, told):
    done = command("run", small_file, *args, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert told in done.stderr
    assert list(tmp_path.iterdir()) == [small_file]


def test_requests_are_parsed_at_the_first_equals_sign(tmp_path):
    with pytest.raises(SpecError):
        pcapng.parse_requests(["=x"])
    assert pcapng.parse_requests([f"a->b={tmp_path}/x=y.pcapng"]) == {"a->b": tmp_path / "x=y.pcapng"}
