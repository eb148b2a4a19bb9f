"""The rule of SDC: load factors of ports, classes of flows, and windows that follow both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf, isnan
from typing import TYPE_CHECKING, Any, NamedTuple

from shallows.audit.headers import Arrival, Name, Port, Sender, Sent, follow, ports, senders
from shallows.audit.quantities import level, picoseconds
from shallows.audit.rule import Breach, rule

if TYPE_CHECKING:
    from shallows.audit.trace import Trace

NOBODY = 5
"""Stands for no class. There are five classes at most, and 0 is the highest."""


class _Load(NamedTuple):
    """The values that a port gives to a packet."""

    least: float
    """The load factor, between two numbers where the record leaves them open."""
    most: float
    interval: int
    highest: int | None
    """The highest class that is active; none where a claim may have faded."""


class _Router:
    """SDC's port: Munir 2012 s.3.2.2 eq. (3.4), and the classes that are active there."""

    def __init__(self, port: Port, classes: Mapping[Name, tuple[Sent, int, bool]]) -> None:
        self.port, self.classes = port, classes
        self.interval = picoseconds(port.settings["interval"])
        expiry = port.settings["expiry"]
        self.expiry = inf if expiry == "none" else picoseconds(expiry)
        self.least = self.most = 0.0
        self.bytes, self.open, self.opens = 0, 0, 0
        """Bytes that came, those of them at the time of a tick, and those that the next interval may lack."""
        self.queued, self.waits, self.looked = 0, 0, 0
        self.members: dict[int, tuple[int, int]] = {}
        """By connection: its class, and the time of its last claim. The oldest claim is the first."""
        self.gone: set[int] = set()

    def wake(self, now: int) -> int:
        """Measuring begins."""
        self.least = self.most = 0.0
        self.bytes = self.open = self.opens = 0
        self.queued, self.waits, self.looked = 0, 0, now
        return now + self.interval

    def look(self, now: int, accepted: int) -> None:
        """Adds to the queue's integral what was found at the last look."""
        self.queued += self.waits * (now - self.looked)
        self.waits, self.looked = self.port.waiting(now, accepted), now

    def highest(self, now: int) -> int | None:
        """The highest class with a flow. A claim fades in the second `expiry` after it was made."""
        for flow, (_, made) in list(self.members.items()):
            if made + self.expiry > now:
                break
            if made + 2 * self.expiry > now:
                return None
            del self.members[flow]
        return min((number for number, _ in self.members.values()), default=NOBODY)

    def tie(self, one: Arrival, _: int) -> bool:
        """It counts in the interval that ends, or in the one that begins."""
        self.open += one.size
        return True

    def arrive(self, one: Arrival, accepted: int) -> _Load | None:
        """Counts the packet, and enrols its flow in a class."""
        self.look(one.at, accepted)
        self.bytes += one.size
        if one.key is None or one.key not in self.classes:
            return None
        packet, number, claims = self.classes[one.key]
        flow = one.key[0]
        if flow not in self.gone:
            before = self.members.get(flow)
            if packet.fin:
                self.members.pop(flow, None)
                self.gone.add(flow)
            elif before is None or before[0] != number or claims:
                self.members.pop(flow, None)
                self.members[flow] = (number, packet.at)
        return _Load(self.least, self.most, self.interval, self.highest(one.at))

    def tick(self, now: int, accepted: int) -> Any:
        """f = (lambda + q_av) / (C t_p)."""
        self.look(now, accepted)
        scale = 8 * 10**12 / (self.port.bps * self.interval)
        mean = self.queued / self.interval
        least, most = (self.bytes - self.opens + mean) * scale, (self.bytes + self.open + mean) * scale
        # A packet that comes at this very time gets one or the other.
        tied = self.open > 0
        idle = not self.bytes and not tied and self.port.empty(now, accepted)
        self.least = min(least, self.least) if tied else least
        self.most = max(most, self.most) if tied else most
        self.bytes, self.opens, self.open, self.queued = 0, self.open, 0, 0
        highest = self.highest(now)
        if idle and highest is None:
            return ...
        return None if idle and highest == NOBODY else now + self.interval


def _class(settings: Mapping[str, Any], mss: int, remaining: float) -> int:
    """Munir 2012 s.3.2.1: the first class whose size the remaining data do not exceed."""
    sizes = [level(settings[key]) for key in ("r_a", "r_b", "r_c", "r_d") if settings[key] != "none"]
    bounds = [one[0] * (mss if one[1] else 1) for one in sizes if one]
    return next((i for i, most in enumerate(bounds) if remaining <= most), len(bounds))


def _classes(one: Sender) -> dict[Name, tuple[Sent, int, bool]]:
    """Packets with their class, and whether they carry a claim: four bytes beside those of the load."""
    cc = one.settings["cc"]
    usual = 0 if cc["quantised"] else 4
    return {
        key: (packet, _class(cc, one.mss, packet.remaining), packet.extra > usual)
        for key, packet in one.sent.items()
        if packet.extra > usual or not packet.syn
    }


class _State(NamedTuple):
    """A window, whether it met an overload, and until when no other counts."""

    cwnd: float
    met: bool
    held: float


MOST = 16
"""Most states that are followed at once."""


class _Window:
    """SDC's sender: Munir 2012 s.3.2.1, eqs. (3.1) to (3.3)."""

    def __init__(self, one: Sender) -> None:
        def of(key: str) -> float:
            found = level(str(one.settings[key])) or (inf, False)
            return float(found[0] * (one.mss if found[1] else 1))

        self.cc, self.mss, self.sized = one.settings["cc"], one.mss, one.settings["validate_cwnd"]
        self.floor, self.cap = of("cwnd_floor"), of("cwnd_max")
        self.states = [_State(min(of("initial_window"), self.cap), False, 0.0)]
        """Those that the record allows."""

    def behaviours(self, number: int, highest: int | None) -> set[int]:
        """The highest active class behaves as the first one, others as themselves."""
        if self.cc["mapping"] != "dynamic" or highest == NOBODY:
            return {number}
        if highest is None:
            return {0, number}
        return {0} if number <= highest else {number}

    def after(
        self, state: _State, now: int, gained: int, smoothed: int, given: _Load, number: int
    ) -> Iterator[_State]:
        """The states that may follow."""
        doubt = 1e-6  # The factor travels in single precision.
        cwnd, met, held = state
        for behaves in self.behaviours(number, given.highest):
            gamma, alpha, beta = (self.cc[f"{key}_{'abcde'[behaves]}"] for key in ("gamma", "alpha", "beta"))
            if given.most >= 1 - doubt:
                if now < held:
                    yield _State(cwnd, True, held)
                else:
                    until = now + smoothed + int(self.cc["hold"] * given.interval)
                    yield _State(max(cwnd * beta, self.floor), True, until)
            if given.least < 1 + doubt:
                more = alpha * self.mss * min(gained / cwnd, 1.0) if met else gamma * gained
                yield _State(min(cwnd + more, self.cap), met, held)
                if self.sized:
                    # RFC 7661 s.4.3: a window that does not limit its sender does not grow.
                    yield state


def _windows(one: Sender, given: Mapping[Name, list[Any]]) -> Iterator[Breach]:
    law, row, last = _Window(one), 0, len(one.row_at)
    if not last or one.row_at[0] >= one.until:
        return
    first = law.states[0].cwnd
    if abs(one.cwnd[0] - first) > 1:
        text = f"flow {one.number} begins with a window of {one.cwnd[0]:.0f} bytes, and {first:.0f} are due"
        yield Breach(text, int(one.row_at[0]), one.place)
        return
    sent, next_sent, remaining = list(one.sent.values()), 0, inf
    for place, answer in enumerate(one.answers):
        if answer.at >= one.until or answer.to is None:
            return
        while next_sent < len(sent) and sent[next_sent].at < answer.at:
            remaining = sent[next_sent].remaining
            next_sent += 1
        while row + 1 < last and one.row_at[row + 1] < answer.at:
            row += 1
            restarts = int(one.row_at[row]) in one.starts and one.cwnd[row] <= law.states[0].cwnd + 1
            if not restarts:
                text = f"flow {one.number} goes to a window of {one.cwnd[row]:.0f} bytes without an answer"
                yield Breach(text, int(one.row_at[row]), one.place)
                return
            law.states = [each._replace(cwnd=float(one.cwnd[row])) for each in law.states]
        while row + 1 < last and one.row_at[row + 1] == answer.at:
            row += 1
        brought = given.get(answer.to, [])
        if any(each is ... for each in brought) or isnan(one.cwnd[row]):
            return
        if not answer.gained:
            continue
        worst = max(brought, key=lambda each: each.most, default=_Load(0.0, 0.0, 0, NOBODY))
        highest = [each.highest for each in brought]
        found = _Load(
            max((each.least for each in brought), default=0.0), worst.most, worst.interval,
            None if None in highest else min(highest, default=NOBODY),
        )  # fmt: skip
        number = _class(law.cc, law.mss, remaining)
        news, before = (answer.at, answer.gained, answer.smoothed, found, number), law.states[0].cwnd
        ways = list(dict.fromkeys(way for state in law.states for way in law.after(state, *news)))
        near = [way for way in ways if abs(int(way.cwnd) - one.cwnd[row]) <= 1]
        if not near and not (place + 1 < len(one.answers) and one.answers[place + 1].at == answer.at):
            text = f"flow {one.number} has a window of {one.cwnd[row]:.0f} bytes after {before:.0f}"
            due = " or ".join(f"{way.cwnd:.0f}" for way in ways)
            load = f"a load of {found.most:.4f} and class {'abcde'[number]}"
            yield Breach(f"{text}, and {load} leave {due}", answer.at, one.place)
            return
        law.states = (near or ways)[:MOST]


@rule("sdc", "Munir 2012 s.3.2 eqs. (3.1) to (3.4): a load factor at each port, and windows by class")
def follows_loads(trace: Trace) -> Iterator[Breach]:
    """SDC's windows, computed again from load factors and classes, are the recorded ones."""
    found = senders(trace, "sdc", "sdc")
    if any(one.settings["growth"] != "bytes" for one in found.values()):
        return trace.skip("sdc", "windows grow by acknowledgements, or by what SACK reports")
    classes = {key: each for one in found.values() for key, each in _classes(one).items()}
    given: dict[Name, list[Any]] = {}
    for port in ports(trace, "sdc", "sdc") if found else ():
        follow(port, _Router(port, classes), given)
    for one in found.values():
        yield from _windows(one, given)
