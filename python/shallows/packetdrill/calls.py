"""System calls of a script: those with a meaning here, those that change nothing, those that are refused."""

from __future__ import annotations

import re

from shallows.packetdrill import settings
from shallows.packetdrill.grammar import Call, Event, Packet

__all__ = ["Calls", "Refused"]

NOTHING = ("bind", "fcntl", "listen", "open")
"""Calls without a meaning here."""

OPTIONS_WITHOUT_MEANING = (
    "SO_REUSEADDR",
    "SO_REUSEPORT",
    "IP_TOS",
    "IPV6_TCLASS",
    "IP_MTU_DISCOVER",
    "IP_FREEBIND",
)
"""Options of sockets that no event here depends on."""

NEEDED_OPTIONS = {
    "SO_RCVBUF": "advertised windows and receive buffers",
    "SO_TIMESTAMPING": "timestamps of sockets",
    "SO_ZEROCOPY": "MSG_ZEROCOPY",
    "TCP_CORK": "corks",
    "TCP_FASTOPEN": "TCP Fast Open",
    "TCP_FASTOPEN_CONNECT": "TCP Fast Open",
    "TCP_FASTOPEN_KEY": "TCP Fast Open",
    "TCP_INQ": "unread data",
    "TCP_USER_TIMEOUT": "TCP_USER_TIMEOUT",
}
"""Options by the features that they need."""

NEEDED_FLAGS = {
    "MSG_EOR": "the ends of records",
    "MSG_ERRQUEUE": "error queues of sockets",
    "MSG_FASTOPEN": "TCP Fast Open",
    "MSG_MORE": "corks",
    "MSG_ZEROCOPY": "MSG_ZEROCOPY",
}
"""Flags of messages by the features that they need."""

NEEDED_CALLS = {
    "ioctl": "ioctl on sockets",
    "pipe": "pipes",
    "splice": "pipes",
}
"""Calls by the features that they need; another is refused by its own name."""

WRITES = {"write": 2, "send": 2, "sendto": 2, "sendfile": 3}
"""Calls that write, with the place of their size; flags come behind it."""

READS = ("read", "recv", "recvfrom")
"""Calls that read, with their size at place 2."""


class Refused(Exception):
    """A part of a script that the simulator does not have; the text is the feature that it needs."""


class Calls:
    """The calls of one script in their order."""

    def __init__(self, events: list[Event]):
        writes = [event.action for event in events if isinstance(event.action, Call)]
        sizes = [call.arguments[WRITES[call.name]] for call in writes if call.name in WRITES]
        self._largest = max((int(size) for size in sizes if size.isdigit()), default=0)
        self._listener = next((call.result for call in writes if call.name == "socket"), "")
        self._accepts = any(call.name == "accept" for call in writes)
        self._sockets = 0
        self._closed = False

    def take(self, call: Call) -> Call | None:
        """The call if it means something, None if it changes nothing. Raises Refused."""
        for name, feature in NEEDED_FLAGS.items():
            if re.search(rf"\b{name}\b", " ".join(call.arguments)):
                raise Refused(feature)
        if call.name in WRITES:
            return self._write(call)
        if call.name in NOTHING:
            return None
        match call.name:
            case "socket":
                self._sockets += 1
                if self._sockets > 1:
                    raise Refused("more than one connection")
                return None
            case "connect" | "accept":
                if call.result.startswith("-") and call.errno != "EINPROGRESS":
                    raise Refused(f"errors of {call.name}")
                return call
            case name if name in READS:
                if call.result.startswith("-"):
                    raise Refused("errors of reading")
                return call
            case "close" | "shutdown":
                return self._close(call)
            case "setsockopt" | "getsockopt":
                return self._option(call)
        raise Refused(NEEDED_CALLS.get(call.name, f"the system call {call.name}"))

    def check_packet(self, packet: Packet) -> None:
        """Raises Refused where a peer closes first: the simulator's receiver then closes with it."""
        if not packet.outbound and "F" in packet.flags and not self._closed:
            raise Refused("a peer that closes first")

    def _write(self, call: Call) -> Call:
        size = call.arguments[WRITES[call.name]]
        if not size.isdigit() or call.result != size or (call.end or 0) > 0:
            raise Refused(
                "send buffers" if size.isdigit() and call.errno in ("", "EAGAIN") else "errors of writing"
            )
        return call

    def _close(self, call: Call) -> Call | None:
        listens = self._accepts and call.arguments[0] == self._listener
        if listens:
            return None
        if call.name == "shutdown" and call.arguments[1:] != ("SHUT_WR",):
            raise Refused("shutdown for reading")
        self._closed = True
        return call

    def _option(self, call: Call) -> Call | None:
        name, value = call.arguments[2], call.arguments[3].strip("[]")
        if name in NEEDED_OPTIONS:
            raise Refused(NEEDED_OPTIONS[name])
        if call.name == "getsockopt":
            if name != "SO_ERROR" or value != "0":
                raise Refused(f"getsockopt of {name}")
            return None
        if name == "TCP_NODELAY":
            return call
        if name == "TCP_CONGESTION":
            if value.strip('"') not in settings.controls():
                raise Refused(f"the congestion control {value}")
            return call
        if name == "SO_SNDBUF" and value.isdigit() and int(value) >= self._largest:
            return None
        if name not in OPTIONS_WITHOUT_MEANING:
            raise Refused("send buffers" if name == "SO_SNDBUF" else f"the option {name}")
        return None
