"""SDC's rates by its own rule, where flows meet at several ports: the rule, played out packet by packet.

AIMD over several ports has no closed form: the order in which flows learn about overload decides. This is
eqs. (3.1) to (3.4) with what they need to act, and nothing else: windows of whole packets, ports that serve
in order, clocks of ports that begin with their first packet, feedback that takes its way to the receiver and
back, and acknowledgements, which load the ports that they pass. It knows no loss and no timeout, of which
there are none here; it has no code in common with the simulator, and no number in it is fitted: the
parameters are SDC's defaults.

Chance is in what the rule leaves open: when flows begin, which sets the ports' clocks, and which of two
packets that come at the same instant is the first; packets of one host's flows keep its distances, so that
this happens all the time. Both move one draw's rates by several per cent. Times are whole ps.
"""

import heapq
import random
from collections import deque

US = 10**6
GAMMA, ALPHA, BETA = 1.0, 0.9, 0.887  # class A, as which long flows act where they are alone
INTERVAL = 300 * US  # t_p
HOLD = INTERVAL  # an overload is reported for t_p; beside a round trip, it is answered once
HOP = 75 * US  # delay of a link
BYTE = 8000  # time of a byte at 1 Gb/s
SYN, DATA, ACK, CLAIM = 44, 1504, 48, 4  # bytes on the wire; a claim goes along once a round trip
INITIAL = 10.0  # packets
JITTER, WARMUP, END = 10_000 * US, 300_000 * US, 1_000_000 * US  # the scenario's


class Port:
    """The port at a link's end, and eq. (3.4)."""

    def __init__(self):
        self.load = 0.0
        self.tick = None
        self.classes = False
        self.free_at = 0
        self.line = deque()  # waiting packets: begin of transmission, bytes
        self.waiting = 0
        self.arrived = 0
        self.queued = 0  # bytes x ps
        self.found, self.since = 0, 0

    def accept(self, now, size):
        """A packet comes. When has it left?"""
        while self.tick is not None and now >= self.tick:
            self._measure()
        if self.tick is None:
            self.tick, self.since = now + INTERVAL, now
        self._look(now)
        self.arrived += size
        self.classes = self.classes or size >= DATA
        begins = self.free_at
        if begins > now:
            self.line.append((begins, size))
            self.waiting += size
        else:
            begins = now
        self.free_at = begins + size * BYTE
        return self.free_at

    def _measure(self):
        self._look(self.tick)
        self.load = (self.arrived + self.queued / INTERVAL) * BYTE / INTERVAL
        # After an interval without a packet, and no class to know of, the clock waits for the next one.
        sleeps = self.arrived == 0 and self.waiting == 0 and not self.classes
        self.tick = None if sleeps else self.tick + INTERVAL
        self.arrived = self.queued = 0

    def _look(self, now):
        """q_av averages the queue that each packet finds. The packet in transmission does not wait."""
        line = self.line
        while line and line[0][0] <= now:
            self.waiting -= line.popleft()[1]
        self.queued += self.found * (now - self.since)
        self.found, self.since = self.waiting, now


class Flow:
    """A sender: eqs. (3.1) to (3.3). Its window is in packets."""

    def __init__(self, ports):
        self.ports = ports  # those of its packets, then those of the acknowledgements
        self.out_hops = len(ports) // 2
        self.window = INITIAL
        self.on_the_way = 0
        self.delivered = 0
        self.met_overload = False
        self.trip = None
        self.held_until = 0
        self.claimed = None

    def hear(self, load, trip, now):
        """An acknowledgement, with the greatest load factor on its path; the first acknowledges the SYN."""
        if self.trip is None:
            self.trip = trip
            return
        self.on_the_way -= 1
        self.delivered += now > WARMUP
        self.trip += (trip - self.trip) / 8
        if load >= 1:
            self.met_overload = True
            if now >= self.held_until:
                self.window = max(BETA * self.window, 1.0)
                self.held_until = now + self.trip + HOLD
        else:
            self.window += ALPHA / self.window if self.met_overload else GAMMA

    def next_size(self, now):
        """Bytes of the packet that is sent now."""
        if self.claimed is not None and now < self.claimed + self.trip:
            return DATA
        self.claimed = now
        return DATA + CLAIM


def draw(ways, seed):
    """Rates of flows that begin somewhere in the first 10 ms; `ways`: names of ports there, and back."""
    chance = random.Random(seed)
    return rates(ways, [chance.randrange(JITTER) for _ in ways], chance)


def rates(ways, starts, chance):
    """Mb/s of full packets, a flow each. It begins with a SYN, which claims no class before it has a size."""
    ports = {name: Port() for way in ways for half in way for name in half}
    flows = [Flow([ports[name] for half in way for name in half]) for way in ways]
    coming = []

    def forward(now, flow, hop, size, load, sent):
        port = flow.ports[hop]
        left = port.accept(now, size)
        if hop < flow.out_hops and port.load > load:
            load = port.load
        heapq.heappush(coming, (left + HOP, chance.random(), flow, hop + 1, size, load, sent))

    for flow, at in zip(flows, starts, strict=True):
        heapq.heappush(coming, (at, chance.random(), flow, 0, SYN, 0.0, at))
    while coming:
        now, _, flow, hop, size, load, sent = heapq.heappop(coming)
        if now > END:
            break
        if hop < len(flow.ports):
            if hop == flow.out_hops:
                size = ACK
            forward(now, flow, hop, size, load, sent)
            continue
        flow.hear(load, now - sent, now)
        while flow.on_the_way + 1 <= flow.window:
            flow.on_the_way += 1
            forward(now, flow, 0, flow.next_size(now), 0.0, now)
    return [flow.delivered * 12e9 / (END - WARMUP) for flow in flows]
