"""The form of a script's parts: numbers in range, arguments in place. All faults come at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shallows.errors import Fault, SpecError
from shallows.packetdrill.calls import READS, WRITES
from shallows.packetdrill.grammar import PS, Call, Event, Packet

__all__ = ["check"]

LATEST = 10**6
"""Most seconds of a time: 11 days, which no timer of TCP outlasts."""

MOST_PAYLOAD = 65_000
"""Most bytes of a packet that comes, headers excluded."""

LEAST_ARGUMENTS = {"setsockopt": 4, "getsockopt": 4, "close": 1, "shutdown": 2}
"""The fewest arguments of calls other than reads and writes; an option's value follows its name."""


def check(path: Path, events: list[Event]) -> None:
    """Raises SpecError with each part that has not the form of packetdrill's language."""
    faults = [Fault(f"{path}:{event.line}", rule, got) for event in events for rule, got in _faults(event)]
    if faults:
        raise SpecError(faults)


def _faults(event: Event) -> Iterator[tuple[str, Any]]:
    if max(event.time.first, event.time.last) > LATEST * PS:
        yield f"the time must be at most {LATEST} s", f"{event.time.last / PS:g} s"
    if event.time.last < event.time.first:
        yield "a range of times must not end before it begins", f"{event.time.last / PS:g} s"
    if isinstance(event.action, Packet) and event.action.protocol == "tcp":
        yield from _of_packet(event.action)
    elif isinstance(event.action, Call):
        yield from _of_call(event.action)


def _of_packet(packet: Packet) -> Iterator[tuple[str, Any]]:
    shown = f"{packet.seq}:{packet.end}({packet.length})"
    if packet.end != packet.seq + packet.length:
        yield "the number behind the last byte must be the first one's and the length", shown
    if max(packet.end, packet.ack or 0) >= 1 << 32:
        yield "numbers must be below 2^32", shown
    if not packet.outbound and packet.length > MOST_PAYLOAD:
        yield f"a packet that comes must have at most {MOST_PAYLOAD} bytes", shown
    if (packet.window or 0) > 65_535:
        yield "the window must be at most 65535", packet.window
    for option in packet.options or ():
        name, *values = option.split() or [""]
        if name in ("mss", "wscale") and not (len(values) == 1 and values[0].isdigit()):
            yield f"{name} must be a whole number", option
        elif name == "wscale" and int(values[0]) > 14:
            yield "wscale must be at most 14 (RFC 7323 s.2.3)", option
        elif name == "sack" and not (values and all(map(_is_block, values))):
            yield "sack must list blocks as in 1001:2001", option
        elif not name:
            yield "an option must not be empty", ", ".join(packet.options or ())


def _is_block(text: str) -> bool:
    found = re.fullmatch(r"(\d{1,10}):(\d{1,10})", text)
    return found is not None and int(found[1]) < int(found[2])


def _of_call(call: Call) -> Iterator[tuple[str, Any]]:
    shown = f"{call.name}({', '.join(call.arguments)})"
    least = LEAST_ARGUMENTS.get(call.name, 0)
    if call.name in WRITES or call.name in READS:
        place = WRITES.get(call.name, 2)
        least = place + 1
        if len(call.arguments) > place and not re.fullmatch(r"\d{1,12}", call.arguments[place]):
            yield "the size must be a whole number", shown
        if not re.fullmatch(r"-?\d{1,12}", call.result):
            yield "the result must be a whole number", call.result
    if len(call.arguments) < least or (least and not call.arguments[0]):
        yield f"{call.name} has {least} arguments", shown
