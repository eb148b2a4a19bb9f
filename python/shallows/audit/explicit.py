"""Rules of rates that switches give: RCP and RACS, whose ports are followed through their arrivals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import exp, inf, isnan
from typing import TYPE_CHECKING, Any

from shallows.audit.headers import Arrival, Name, Port, Sender, Sent, follow, ports, senders
from shallows.audit.quantities import level, picoseconds
from shallows.audit.rule import Breach, rule

if TYPE_CHECKING:
    from shallows.audit.trace import Trace

Given = dict[Name, list[Any]]
"""By packet: the values that the ports of its path give."""

SPARE = 1e-6
"""Share of a rate by which whole picoseconds of round trips may move it."""


def _given(trace: Trace, name: str, law: Callable[[Port], Any]) -> Given:
    given: Given = {}
    for port in ports(trace, name, name):
        follow(port, law(port), given)
    return given


def _paced(one: Sender, given: Given, rates: Callable[[Sent], bool]) -> Iterator[Breach]:
    """A sender's rate is the least that its last answer brings back, of packets for which `rates` holds.

    Without an answer a rate may only be forgotten, after an idle time.
    """
    row, last = 0, len(one.row_at)
    for place, answer in enumerate(one.answers):
        if answer.at >= one.until or answer.to is None:
            return
        while row + 1 < last and one.row_at[row + 1] < answer.at:
            row += 1
            if not isnan(one.rate[row]):
                text = f"flow {one.number} goes to {one.rate[row]:.0f} b/s without an answer"
                yield Breach(text, int(one.row_at[row]), one.place)
                return
        while row + 1 < last and one.row_at[row + 1] == answer.at:
            row += 1
        brought = given.get(answer.to)
        if brought is None or not rates(one.sent[answer.to]):
            continue
        if any(each is ... for each in brought):
            continue
        wanted = max(float(int(min(brought))), 1.0)
        more = place + 1 < len(one.answers) and one.answers[place + 1].at == answer.at
        if not more and not abs(one.rate[row] - wanted) <= 1 + SPARE * wanted:
            text = f"flow {one.number} sends at {one.rate[row]:.0f} b/s, and its path gives {wanted:.0f}"
            yield Breach(text, answer.at, one.place)
            return


class _Offer:
    """RCP's port: Dukkipati 2005 s.3 eq. (2), with the average and the least rate of its authors' rcp.cc."""

    def __init__(self, port: Port, packets: Mapping[Name, Sent]) -> None:
        own = port.settings
        self.port, self.packets = port, packets
        self.alpha, self.beta, self.longest = own["alpha"], own["beta"], picoseconds(own["interval"])
        self.most = own["target"] * port.bps
        self.rate = own["initial_share"] * self.most
        self.trip = picoseconds(own["initial_rtt"]) / 1e12
        self.fresh = own["first_rtt"] == "replaces"
        self.since, self.bits, self.weighted, self.reported = 0, 0, 0.0, 0
        self.lost = False

    def wake(self, now: int) -> int:
        """Measuring begins."""
        self.since = now
        return now + self.interval()

    def interval(self) -> int:
        """T: the average round trip, or the chosen interval where that is shorter."""
        return max(min(int(self.trip * 1e12), self.longest), 1000)

    def tie(self, one: Arrival, accepted: int) -> bool:
        """The bits of a packet move the rate for ever."""
        return False

    def arrive(self, one: Arrival, _: int) -> Any:
        """Counts the packet, with the round trip that it reports."""
        bits = 8 * one.size
        self.bits += bits
        packet = self.packets.get(one.key) if one.key else None
        if packet is None:
            return None
        self.lost |= packet.open
        if packet.trip:
            self.weighted += packet.trip / 1e12 * bits
            self.reported += bits
        return ... if self.lost else self.rate

    def tick(self, now: int, accepted: int) -> int | None:
        """R <- R (1 + (T / d) (alpha (C - y) - beta q / d) / C)."""
        took, self.since = (now - self.since) / 1e12, now
        idle = not self.bits and self.port.empty(now, accepted)
        traffic, self.bits = self.bits / took, 0
        if self.reported:
            mean = self.weighted / self.reported
            if self.fresh:
                self.trip = mean
            else:
                # rcp.cc: a longer round trip counts by T / d, a shorter one by the share of its flows too.
                weight = took / self.trip
                if mean < self.trip:
                    weight *= self.rate / self.most * mean / self.trip
                self.trip += (mean - self.trip) * min(weight, 1.0)
            self.fresh, self.weighted, self.reported = False, 0.0, 0
        queue = 8 * self.port.waiting(now, accepted)
        change = self.alpha * (self.most - traffic) - self.beta * queue / self.trip
        raised = self.rate * (1 + min(took / self.trip, 1.0) * change / self.most)
        # rcp.cc: at least a hundredth of a packet of 1000 bytes a round trip.
        self.rate = min(max(raised, 80 / self.trip), self.most)
        return None if idle and self.rate >= self.most else now + self.interval()


@rule("rcp", "Dukkipati 2005 s.3 eq. (2): one rate at each port, and a sender has the least of its path")
def offers_one_rate(trace: Trace) -> Iterator[Breach]:
    """RCP's rates, computed again from arrivals, queues and round trips, are those of the senders."""
    found = senders(trace, "rcp", "rcp")
    packets = {key: sent for one in found.values() for key, sent in one.sent.items()}
    given = _given(trace, "rcp", lambda port: _Offer(port, packets)) if packets else {}
    for one in found.values():
        yield from _paced(one, given, lambda _: True)


class _Weights:
    """RACS's port: Munir 2012 s.4.1.3 eq. (4.2) and (4.3), one slot to sum and the next to assign."""

    def __init__(self, port: Port, claims: Mapping[Name, tuple[Sent, float, float]]) -> None:
        own = port.settings
        self.port, self.claims = port, claims
        self.most, self.drain = own["share"] * port.bps, own["drain"]
        self.slot = picoseconds(own["initial_slot"])
        self.sum = self.assigned = 0.0
        self.capacity, self.trips, self.reports = self.most, 0.0, 0
        expiry = own["expiry"]
        self.expiry = inf if expiry == "none" else picoseconds(expiry)
        self.made: dict[int, int] = {}
        """When each connection made its last claim, the oldest first."""
        self.open = self.lost = False
        self.flows: set[int] = set()
        """Connections whose weights are in the sum since it was 0 without any rounding."""
        self.rounds = False

    def wake(self, now: int) -> int:
        """All of the capacity is there to be assigned."""
        self.capacity = self.most
        return now + self.slot

    def tie(self, one: Arrival, accepted: int) -> bool:
        """A packet without a request counts in the queue alone."""
        unasked = one.key is None or one.key not in self.claims
        return unasked and not (self.drain and self.port.waiting(one.at, accepted))

    def arrive(self, one: Arrival, _: int) -> Any:
        """W <- W + w_c - w_p; R = w C / W."""
        claim = self.claims.get(one.key) if one.key else None
        if claim is None or one.key is None:
            return None
        packet, before, weight = claim
        self.lost |= packet.open or isnan(weight)
        self.sum = self.sum - before + weight
        self.flows.add(one.key[0])
        self.rounds |= not weight.is_integer()
        self.made.pop(one.key[0], None)
        if weight:
            self.made[one.key[0]] = packet.at
        if packet.trip:
            self.trips, self.reports = self.trips + packet.trip / 1e12, self.reports + 1
        if packet.syn or not weight:
            return self.most
        if self.lost or self.open or self.fading(one.at):
            return ...
        return weight * self.capacity / max(self.assigned, self.sum, weight)

    def fading(self, now: int) -> bool:
        """A claim may have faded that was made `expiry` ago."""
        return next(iter(self.made.values()), now) + self.expiry <= now

    def tick(self, now: int, accepted: int) -> Any:
        """The next slot lasts for the average round trip, and assigns from the sum as it stands."""
        reports = self.reports
        if reports:
            self.slot = max(int(self.trips / reports * 1e12), 1000)
            self.trips, self.reports = 0.0, 0
        self.assigned = max(self.sum, 0.0)
        queue = 8 * self.port.waiting(now, accepted)
        self.capacity = max(self.most - self.drain * queue / (self.slot / 1e12), 0.1 * self.most)
        self.open = self.fading(now)
        idle = self.port.empty(now, accepted) and not reports
        if not idle or (self.made and not self.open):
            return now + self.slot
        # Rounding decides whether a sum over several flows is 0 again, and with it the clock.
        if self.open or (self.rounds and len(self.flows) > 1):
            return ...
        self.sum, self.rounds = 0.0, False
        self.flows.clear()
        return None


REQUEST = 24
"""Bytes of a request: five fields of four bytes, and two times of two."""


def _claims(one: Sender) -> dict[Name, tuple[Sent, float, float]]:
    """Packets that carry a request, with the weight before and now: eq. (4.1)."""
    cc = one.settings["cc"]
    scale = (level(cc["size_scale"]) or (0, False))[0]
    found, before = {}, 0.0
    for key, packet in one.sent.items():
        if packet.extra >= REQUEST:
            weight = 0.0 if packet.fin else cc["w_min"] + cc["w_max"] * exp(-packet.remaining / scale)
            # s.4.1.1: a SYN has no weight before it.
            found[key] = (packet, 0.0 if packet.syn else before, weight)
            before = weight
    return found


@rule("racs", "Munir 2012 eq. (4.1) to (4.3): a port shares its capacity by the weights of its flows")
def shares_by_weight(trace: Trace) -> Iterator[Breach]:
    """RACS's rates, computed again from the weights of requests, are those of the senders."""
    found = senders(trace, "racs", "racs")
    claims = {key: claim for one in found.values() for key, claim in _claims(one).items()}
    given = _given(trace, "racs", lambda port: _Weights(port, claims)) if claims else {}
    for one in found.values():
        yield from _paced(one, given, lambda packet: not packet.syn and not packet.fin)
