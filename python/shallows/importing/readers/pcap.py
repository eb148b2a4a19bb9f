"""Flows of a capture (pcap or pcapng), read by dpkt: each direction of a connection that carries data."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from shallows.importing.parts.content import Content, Reader
from shallows.importing.parts.source import MOST_ROWS, Head, Source, span

_MAGICS = {
    b"\xa1\xb2\xc3\xd4",
    b"\xd4\xc3\xb2\xa1",
    b"\xa1\xb2\x3c\x4d",
    b"\x4d\x3c\xb2\xa1",
    b"\x0a\x0d\x0d\x0a",
}
_PPP, _NULL, _LOOP, _SLL2 = 9, 0, 108, 276
"""Link types of tcpdump.org/linktypes: PPP (ns-3's point-to-point links), loopback, "any" of Linux."""
_LINKS = {1: "Ethernet", 105: "IEEE 802.11", 127: "IEEE 802.11 with radiotap", 195: "IEEE 802.15.4"}
Key = tuple[str, str, int, int, int]


def _recognises(head: Head) -> bool:
    return head.data[:4] in _MAGICS


def _read(source: Source, options: Mapping[str, str]) -> Content:
    import io

    import dpkt

    data = source.data()
    kinds = dpkt.pcapng.Reader if data[:4] == b"\x0a\x0d\x0d\x0a" else dpkt.pcap.Reader
    flows: dict[Key, list[Any]] = {}
    other = broken = packets = 0
    first: Decimal | None = None
    try:
        reader = kinds(io.BytesIO(data))
        link = reader.datalink()
        for at, frame in reader:
            packets += 1
            when = Decimal(at)
            first = when if first is None else min(first, when)
            try:
                found = _payload(link, frame)
            except (dpkt.UnpackError, IndexError, struct.error, ValueError, AttributeError):
                broken += 1
                continue
            if found is None:
                other += 1
                continue
            key, size, sequence = found
            if not size:
                continue
            flow = flows.setdefault(key, [when, 0, None, None])
            flow[0] = min(flow[0], when)
            flow[1] += size
            _span(flow, sequence, size)
            if len(flows) > MOST_ROWS:
                source.stop(None, f"holds more than {MOST_ROWS} flows")
    except (ValueError, dpkt.Error, struct.error, EOFError, ArithmeticError) as error:
        source.stop(None, f"is a damaged capture, after {packets} packets: {error or type(error).__name__}")
    content = Content()
    for (one, to, _, _, _), (when, size, low, high) in sorted(
        flows.items(), key=lambda item: (item[1][0], item[0])
    ):
        total = min(size, high - low) if low is not None else size
        if one == to:
            other += 1
            continue
        start = span(max(when - (first or when), Decimal(0)), "s")
        content.rows.append({"from": one, "to": to, "bytes": f"{total}B", "start": start})
        content.hosts += [host for host in (one, to) if host not in content.hosts]
    if not content.rows:
        why = [f"{other} are neither TCP nor UDP over IP"] if other else []
        why += [f"{broken} are cut off or damaged"] if broken else []
        told = f"holds no data of TCP or UDP between two hosts: of {packets} packets " + (
            " and ".join(why) or "none has data"
        )
        source.stop(None, f"{told} (link type {link}{', ' + _LINKS[link] if link in _LINKS else ''})")
    content.understood = [
        f"{len(content.rows)} flows of {packets} packets between {len(content.hosts)} hosts"
    ]
    content.ignored = [
        "acknowledgements and retransmissions: bytes of a TCP flow are those of its sequence numbers"
    ]
    if other:
        content.ignored.append(f"{other} packets that are neither TCP nor UDP over IP")
    if broken:
        content.ignored.append(f"{broken} packets that are cut off or damaged")
    return content


def _span(flow: list[Any], sequence: int | None, size: int) -> None:
    """Widens the sequence numbers of a TCP flow; they wrap at 2^32 (RFC 9293 s.3.4)."""
    if sequence is None:
        return
    if flow[2] is None:
        flow[2], flow[3] = sequence, sequence + size
        return
    ahead = (sequence - flow[3] + 2**31) % 2**32 - 2**31
    begin = flow[3] + ahead
    flow[2], flow[3] = min(flow[2], begin), max(flow[3], begin + size)


def _payload(link: int, frame: bytes) -> tuple[Key, int, int | None] | None:
    """The direction, bytes of payload and sequence number of a packet; None for one that is no TCP or UDP."""
    import dpkt

    if link == dpkt.pcap.DLT_EN10MB:
        packet = dpkt.ethernet.Ethernet(frame).data
    elif link in (dpkt.pcap.DLT_RAW, 12, 14, 101, 228, 229):
        packet = _ip(frame)
    elif link == dpkt.pcap.DLT_LINUX_SLL:
        packet = dpkt.sll.SLL(frame).data
    elif link == _PPP:
        behind = (
            frame[2:] if frame[:2] == b"\xff\x03" else frame
        )  # RFC 1662: address and control may be there
        packet = _ip(behind[2:]) if behind[:2] in (b"\x00\x21", b"\x00\x57") else None
    elif link in (_NULL, _LOOP):
        packet = _ip(frame[4:])
    elif link == _SLL2:
        packet = _ip(frame[20:]) if frame[:2] in (b"\x08\x00", b"\x86\xdd") else None
    else:
        return None
    if not isinstance(packet, dpkt.ip.IP | dpkt.ip6.IP6):
        return None
    segment = packet.data
    if not isinstance(segment, dpkt.tcp.TCP | dpkt.udp.UDP):
        return None
    ends = [str(ipaddress.ip_address(bytes(end))).replace(":", "_") for end in (packet.src, packet.dst)]
    key = (
        ends[0].strip("_") or "_",
        ends[1].strip("_") or "_",
        segment.sport,
        segment.dport,
        packet.p if isinstance(packet, dpkt.ip.IP) else packet.nxt,
    )
    if isinstance(segment, dpkt.udp.UDP):
        return key, max(segment.ulen - 8, 0), None
    whole = packet.len - packet.hl * 4 if isinstance(packet, dpkt.ip.IP) else packet.plen
    size = max(whole - segment.off * 4, 0) if whole else len(segment.data)  # a capture may keep headers only
    return key, size, segment.seq


def _ip(data: bytes) -> Any:
    """An IP packet of either version; a ValueError for data that is neither."""
    import dpkt

    version = data[0] >> 4
    if version not in (4, 6):
        raise ValueError("neither IPv4 nor IPv6")
    return (dpkt.ip6.IP6 if version == 6 else dpkt.ip.IP)(data)


def _sample() -> bytes:
    """Two TCP segments over raw IPv4, by hand: pcap of microseconds, link type 101."""
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    for number in range(2):
        tcp = struct.pack(">HHIIBBHHH", 1000, 80, 1 + 100 * number, 0, 5 << 4, 16, 1000, 0, 0)
        ip = struct.pack(
            ">BBHHHBBH4s4s", 69, 0, 140, 0, 0, 64, 6, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
        )
        frame = ip + tcp + bytes(100)
        out += struct.pack("<IIII", 5, 1000 * number, len(frame), len(frame)) + frame
    return out


READER = Reader(
    "pcap",
    "flows",
    "the flows of a capture, pcap or pcapng",
    "tcpdump, Wireshark, and Shallows itself (`--pcap`)",
    _sample(),
    _recognises,
    _read,
    needs=("dpkt",),
)
