"""The headers of a queue pair's packet in a capture, from UDP on, as Wireshark reads them as RoCEv2.

Sources: InfiniBand Architecture Specification volume 1, s.9.2 (BTH), 9.3 (RETH, AETH), annex A17 (UDP port
4791, notifications). A message's first WRITE packet has RETH with a virtual address and key of 0 and the
payload of this packet as length, a READ request the range that it asks for. An acknowledgement has AETH
without credits, and so have the first and the last response of a READ. Data are zeros, padded to words of
four bytes as on the wire, which the simulation's lengths leave out; Wireshark takes a packet without them
for malformed, so that they are captured here. Telemetry between UDP and BTH is left out, and so is IRN's
number of the packet that a NACK answers: dissectors know neither.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import Any

__all__ = ["PORT", "icrc", "udp"]

PORT = 4791
_FIRST_WRITE = (0x06, 0x0A)
_ACKNOWLEDGE, _NOTIFICATION = 0x11, 0x81
_READ_REQUEST = 0x0C
_RESPONSES = (0x0D, 0x0F, 0x10)
"""First, last and only one: those with AETH."""
_BECN, _ACK_REQUEST = 0x40, 0x80
_LASTS = (0x02, 0x04, 0x08, 0x0A)
_NO_CREDITS, _OUT_OF_SEQUENCE = 0x1F, 0x60
_FIRST_PAIR = 0x100
"""Queue pairs 0 and 1 are those of management."""
_ENTROPY_PORTS = 0xC000
"""Source ports begin here (annex A17: any value, one for each queue pair)."""


def udp(row: Mapping[str, Any]) -> bytes:
    """UDP, BTH and what follows it, up to the ICRC of four bytes."""
    opcode, payload = row["opcode"], row["payload"]
    padding = -payload % 4
    number = (_FIRST_PAIR + row["flow"] * 2 + row["reverse"]) % 2**24  # of the receiving queue pair
    becn = _BECN if opcode == _NOTIFICATION else 0
    # Runs stored before that column asked with the last packet of a message alone.
    asks = _ACK_REQUEST if row.get("ack_request", opcode in _LASTS) else 0
    # SE, M (migrated), pad count, version 0; partition key; BECN; destination queue pair; AckReq; PSN.
    first = struct.pack(">BBHB", opcode, 0x40 | padding << 4, 0xFFFF, becn)
    bth = first + struct.pack(">BHBBH", *_split(number), asks, *_split(row["psn"]))
    if opcode in _FIRST_WRITE:
        bth += struct.pack(">QII", 0, 0, payload)
    elif opcode == _READ_REQUEST:
        length = row["sack0_beyond"] - row["sack0_first"]
        bth += struct.pack(">QII", 0, 0, min(length, 2**32 - 1))  # a load without an end reads on and on
    elif opcode == _ACKNOWLEDGE or opcode in _RESPONSES:
        nak = row["nak"]
        bth += struct.pack(">BBH", _OUT_OF_SEQUENCE if nak else _NO_CREDITS, 0, 0)
    elif opcode == _NOTIFICATION:
        bth += bytes(16)
    source = _ENTROPY_PORTS + row["flow"] % 0x4000
    body = bth + bytes(payload + padding)
    return struct.pack(">HHHH", source, PORT, 8 + len(body) + 4, 0) + body


def icrc(packet: bytes) -> bytes:
    """The invariant CRC of an IPv4 packet up to it: CRC-32 with ones for what may change (annex A17.3.3).

    Those are type of service, time to live and checksum of IP, checksum of UDP, the byte of BTH with BECN,
    and the eight bytes of InfiniBand's local header, which RoCE has not. The least byte goes first.
    """
    fixed = bytearray(packet)
    for place in (1, 8, 10, 11, 26, 27, 32):
        fixed[place] = 0xFF
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + fixed))


def _split(number: int) -> tuple[int, int]:
    """24 bits as 8 and 16."""
    return number >> 16, number & 0xFFFF
