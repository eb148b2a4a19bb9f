"""Recorded packets as a capture for Wireshark: Ethernet, IPv4; TCP, RoCEv2, NDP, ExpressPass, Homa; ns.

Sources: the PCAP Next Generation format (draft-ietf-opsawg-pcapng), RFC 791, RFC 9293 s.3.1, RFC 7323 (window
scale, timestamps), RFC 2018 (SACK), RFC 3168 (ECN), RFC 9768 (AccECN). Written by hand since the libraries
that write pcapng are either unmaintained or bring a packet generator under the GPL; the format's four blocks
are below.

The capture has a packet's fields as simulated: sequence and acknowledgement numbers (from an initial
number of 0, modulo 2^32), SYN, FIN, ECE and CWR or AccECN counter, ECN codepoint, SACK blocks, timestamps
where the transport has them. Addresses stand for names, which the file resolves. The payload is not captured,
as with a short snapshot length, and counts as zeros in checksums. The window is the largest there is: the
simulated one is not carried in packets. Lengths follow from these headers; the simulation counts the
transport's `header`.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from shallows.errors import Fault, RunError, SpecError
from shallows.files import irreplaceable, replacing
from shallows.results import roce_frames

if TYPE_CHECKING:
    from shallows.results.store import StoredRun

__all__ = ["parse_requests", "ports_of", "probe_for", "write"]

SYN, ACK = 0x02, 0x10
ETHERNET, NANOSECONDS = 1, 9
SECTION = 0x0A0D0D0A
"""The first block's type, by which a capture is known."""
SERVER_PORT, CLIENT_PORT, CLIENT_PORTS = 5001, 1024, 64_000


def parse_requests(texts: list[str]) -> dict[str, Path]:
    """`LINK_OR_HOST=out.pcapng` of the command line, by link or host. Raises SpecError."""
    found: dict[str, Path] = {}
    faults = []
    for text in texts:
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            faults.append(Fault("--pcap", "must be LINK_OR_HOST=FILE, as in 'switch->r0=out.pcapng'", text))
        elif name in found or Path(path) in found.values():
            faults.append(Fault("--pcap", "names a link, host or file twice", text))
        elif rule := irreplaceable(Path(path), struct.pack("<I", SECTION), "a capture"):
            faults.append(Fault("--pcap", rule, path))
        else:
            found[name] = Path(path)
    if faults:
        raise SpecError(faults)
    return found


def ports_of(link_or_host: str) -> list[str]:
    """The ports of a link `a->b`, or the patterns of all that a host sends and receives."""
    return [link_or_host] if "->" in link_or_host else [f"{link_or_host}->*", f"*->{link_or_host}"]


def probe_for(document: dict[str, Any], requests: Mapping[str, Path]) -> None:
    """Has the ports of all requests recorded."""
    probe = document.setdefault("probe", {})
    if isinstance(probe, dict):
        before = probe.get("packets", [])
        before = [before] if isinstance(before, str) else before
        probe["packets"] = sorted({*before, *(port for name in requests for port in ports_of(name))})


def write(run: StoredRun, link_or_host: str, path: str | Path) -> int:
    """Writes what a link carried, or what a host sent and received; returns how many packets.

    A link's packets have the time at which their last bit left; so do those a host sent. Those it received
    have the time of that bit's arrival, and those lost on the way are not among them. The file appears whole.
    Raises RunError if the run has not recorded them, or the file cannot be written.
    """
    import polars as pl

    packets = run.tables["packets"]
    recorded = set(packets["port"].unique())
    if "->" in link_or_host:
        packets = packets.filter(pl.col("port") == link_or_host).with_columns(at_ps=pl.col("time_ps"))
    else:
        leaves = pl.col("port").str.starts_with(f"{link_or_host}->")
        here = (pl.col("lost") == 0) & pl.col("landed_ps").is_not_null()
        comes = pl.col("port").str.replace(r"#\d+$", "").str.ends_with(f"->{link_or_host}") & here
        packets = packets.filter(leaves | comes)
        packets = packets.with_columns(at_ps=pl.when(leaves).then("time_ps").otherwise("landed_ps"))
    if not len(packets) and not recorded:
        raise RunError(f'no packet was recorded; run with --pcap, or set probe.packets = "{link_or_host}"')
    numbers = run.numbers
    transports = {
        name: load["transport"] | {"mss_bytes": numbers.get(f"traffic.{name}.transport.mss")}
        for name, load in run.experiment["traffic"].items()
    }
    hosts = sorted({*packets["src"].unique(), *packets["dst"].unique()})
    addresses = {name: (10 << 24) + number for number, name in enumerate(hosts, 1)}
    try:
        with replacing(Path(path)) as file:
            _begin(file, addresses)
            for row in packets.sort("at_ps", maintain_order=True).iter_rows(named=True):
                headers, payload = _frame(row, addresses, transports[row["traffic"]])
                _packet(file, row["at_ps"] // 1000, headers, payload)
    except OSError as error:
        raise RunError(f"the capture {path} was not written: {error.strerror}; the run is stored") from error
    return len(packets)


# ---- headers ----


def _frame(
    row: Mapping[str, Any], addresses: Mapping[str, int], transport: Mapping[str, Any]
) -> tuple[bytes, int]:
    """The headers of a packet, and the bytes of payload that follow them on the wire."""
    if row.get("opcode") is not None:  # runs stored before queue pairs have no such column
        return _roce_frame(row, addresses)
    if row.get("pull") is not None:
        return _ndp_frame(row, addresses)
    if transport["profile"] in ("homa", "uec"):
        return _homa_frame(row, addresses)
    if transport["profile"] == "udp":
        return _udp_frame(row, addresses)
    client, server = addresses[row["src"]], addresses[row["dst"]]
    high, low = divmod(row["flow"], CLIENT_PORTS)
    ends = [(client, CLIENT_PORT + low), (server, SERVER_PORT + high)]
    if row["reverse"]:
        ends.reverse()
    (source, source_port), (target, target_port) = ends
    seq, ack = _numbers(row)
    options = _options(row, transport)
    bits = (5 + len(options) // 4) << 12 | row["tcp_flags"]  # RFC 9768 s.3.2: AE is the ninth flag
    tcp = struct.pack(">HHIIHHHH", source_port, target_port, seq, ack, bits, 0xFFFF, 0, 0)
    tcp += options
    pseudo = struct.pack(">IIBBH", source, target, 0, 6, len(tcp) + row["payload"])
    tcp = tcp[:16] + struct.pack(">H", _checksum(pseudo + tcp)) + tcp[18:]
    return _packet_to((source, target), 6, row["ecn"], tcp, row["payload"]), row["payload"]


def _roce_frame(row: Mapping[str, Any], addresses: Mapping[str, int]) -> tuple[bytes, int]:
    source, target = addresses[row["src"]], addresses[row["dst"]]
    ends = (target, source) if row["reverse"] else (source, target)
    frame = _packet_to(ends, 17, row["ecn"], roce_frames.udp(row), 4)
    return frame + roce_frames.icrc(frame[14:]), 0


def _ndp_frame(row: Mapping[str, Any], addresses: Mapping[str, int]) -> tuple[bytes, int]:
    """NDP and ExpressPass have no number among IP's protocols: 253 is for experiments (RFC 3692).

    Behind IP come kind, flow and number in 13 bytes, and zeros, so that a frame has the packet's size.
    """
    source, target = addresses[row["src"]], addresses[row["dst"]]
    ends = (target, source) if row["reverse"] else (source, target)
    kinds = {"nak": 3, "pull": 4, "trimmed": 5 if row["reverse"] else 1}
    kind = next((number for name, number in kinds.items() if row[name]), 2 if row["reverse"] else 0)
    inner = struct.pack(">BIQ", kind, row["flow"], row["seq"])
    header = row["size"] - row["payload"]
    return _packet_to(ends, 253, row["ecn"], inner.ljust(header - 34, b"\0"), row["payload"]), row["payload"]


def _homa_frame(row: Mapping[str, Any], addresses: Mapping[str, int]) -> tuple[bytes, int]:
    """Homa as NDP: kinds are data, a report of a whole message, a grant or request, and "busy".

    So has Ultra Ethernet: data, an acknowledgement or a NACK, and a trimmed packet.
    """
    source, target = addresses[row["src"]], addresses[row["dst"]]
    ends = (target, source) if row["reverse"] else (source, target)
    back = 2 if row["pure_ack"] else 3
    kind = back if row["reverse"] else 0 if row["payload"] else 4
    inner = struct.pack(">BIQ", kind, row["flow"], row["seq"])
    header = row["size"] - row["payload"]
    return _packet_to(ends, 253, row["ecn"], inner.ljust(header - 34, b"\0"), row["payload"]), row["payload"]


def _udp_frame(row: Mapping[str, Any], addresses: Mapping[str, int]) -> tuple[bytes, int]:
    """A datagram: a header beyond IP's 20 bytes and UDP's 8 is filled with zeros. A checksum of 0 is none."""
    high, low = divmod(row["flow"], CLIENT_PORTS)
    rest = max(row["size"] - row["payload"] - 28, 0)
    length = 8 + rest + row["payload"]
    udp = struct.pack(">HHHH", CLIENT_PORT + low, SERVER_PORT + high, length, 0) + bytes(rest)
    ends = (addresses[row["src"]], addresses[row["dst"]])
    return _packet_to(ends, 17, row["ecn"], udp, row["payload"]), row["payload"]


def _packet_to(ends: tuple[int, int], protocol: int, ecn: int, inner: bytes, behind: int) -> bytes:
    """Ethernet and IPv4 before `inner`, with so many bytes behind that are not captured."""
    source, target = ends
    total = 20 + len(inner) + behind
    ip = struct.pack(">BBHHHBBHII", 0x45, ecn, total, 0, 0x4000, 64, protocol, 0, source, target)
    ip = ip[:10] + struct.pack(">H", _checksum(ip)) + ip[12:]
    macs = b"".join(b"\x02\x00" + struct.pack(">I", address) for address in (target, source))
    return macs + b"\x08\x00" + ip + inner


def _numbers(row: Mapping[str, Any]) -> tuple[int, int]:
    """Sequence and acknowledgement number: the stream's first byte is number 1, after the SYN's 0."""
    number, syn = row["seq"], row["tcp_flags"] & SYN
    if row["reverse"]:
        seq, ack = (0, 1) if syn else (1, number + 1)
    elif syn:
        seq, ack = 0, 0
    elif row["pure_ack"]:  # of the SYN, or of the receiver's FIN, when all else has been acknowledged
        seq, ack = (number, 2) if number else (1, 1)
    else:
        seq, ack = number + 1, 1
    return seq % 2**32, ack % 2**32


def _options(row: Mapping[str, Any], transport: Mapping[str, Any]) -> bytes:
    options = b""
    if row["tcp_flags"] & SYN:
        options += struct.pack(">BBH", 2, 4, min(transport["mss_bytes"], 0xFFFF))
        options += b"\x01\x03\x03\x0e"  # window scale 14, RFC 7323 s.2.3
        if transport["sack"]:
            options += b"\x01\x01\x04\x02"
    if transport["timestamps"]:
        # RFC 7323 s.5.4: a clock of a microsecond. Data carry their own time, acknowledgements echo it.
        now, stamp = (row[key] // 1_000_000 % 2**32 for key in ("time_ps", "stamp_ps"))
        value, echo = (now, stamp) if row["reverse"] else (stamp, 0)
        options += struct.pack(">BBBBII", 1, 1, 8, 10, value, echo)
    blocks = [
        (row[f"sack{i}_first"] + 1, row[f"sack{i}_beyond"] + 1)
        for i in range(4)
        if row[f"sack{i}_first"] is not None
    ]
    if blocks:
        options += struct.pack(">BBBB", 1, 1, 5, 2 + 8 * len(blocks))
        options += b"".join(struct.pack(">II", a % 2**32, b % 2**32) for a, b in blocks)
    return options


def _checksum(data: bytes) -> int:
    """RFC 1071."""
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


# ---- blocks of the file ----


def _begin(file: BinaryIO, addresses: Mapping[str, int]) -> None:
    section = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
    _block(file, SECTION, section)
    resolution = _option(9, bytes([NANOSECONDS])) + struct.pack("<HH", 0, 0)
    _block(file, 1, struct.pack("<HHI", ETHERNET, 0, 0) + resolution)
    names = b"".join(
        _option(1, struct.pack(">I", address) + name.encode() + b"\0") for name, address in addresses.items()
    )
    _block(file, 4, names + struct.pack("<HH", 0, 0))


def _packet(file: BinaryIO, time_ns: int, headers: bytes, payload: int) -> None:
    high, low = divmod(time_ns, 2**32)
    about = struct.pack("<IIIII", 0, high, low, len(headers), len(headers) + payload)
    _block(file, 6, about + _padded(headers))


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _block(file: BinaryIO, kind: int, body: bytes) -> None:
    length = struct.pack("<I", len(body) + 12)
    file.write(struct.pack("<I", kind) + length + body + length)
