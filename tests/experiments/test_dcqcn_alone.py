"""DCQCN's packets once more, by a program that shares nothing with the simulator.

Sixty-four flows at a loop of 85 us rest in the fluid model of Zhu et al. 2016, and swing as packets.
"""

import heapq
import random
from collections import deque

import pytest
import shallows

LINE = 5e6  # packets of 1000 bytes a second, 40 Gb/s
CUT_S, PERIOD_S, SAMPLE_S = 50e-6, 55e-6, 20e-6
SEND, ARRIVE, DEPART, NOTIFY = range(4)


class Card:
    """A reaction point as Zhu 2016 prints it: notifications cut, a timer and a counter increase."""

    def __init__(self):
        self.rate = self.target = LINE
        self.alpha, self.limited, self.left = 1.0, False, 10_000
        self.ages_at = self.rises_at = float("inf")
        self.rises = [0, 0]

    def advance(self, now):
        """Works off both timers until now."""
        while min(self.ages_at, self.rises_at) <= now:
            if self.ages_at <= self.rises_at:
                self.alpha *= 1 - 1 / 256
                self.ages_at += PERIOD_S
            else:
                self.rises_at += PERIOD_S
                self.rise(0)

    def rise(self, which):
        """One increase, by time (0) or by data (1): recovery for five rounds, then 40 Mb/s, then more."""
        self.rises[which] += 1
        beyond = min(self.rises) - 5
        step = 0.0 if max(self.rises) <= 5 else beyond * 25e3 if beyond > 0 else 5e3
        self.target = min(self.target + step, LINE)
        self.rate = (self.rate + self.target) / 2

    def send(self, now):
        """A packet leaves: the time to the next one."""
        if self.limited:
            self.advance(now)
            self.left -= 1
            if self.left == 0:
                self.left = 10_000
                self.rise(1)
        return 1 / self.rate

    def notified(self, now):
        """A notification has come."""
        self.advance(now)
        self.limited, self.target = True, self.rate
        self.rate = max(self.rate * (1 - self.alpha / 2), LINE / 400)
        self.alpha += (1 - self.alpha) / 256
        self.ages_at = self.rises_at = now + PERIOD_S
        self.left, self.rises = 10_000, [0, 0]


def queue_alone(flows, link_s, kmax, pmax, warmup_s, end_s):
    """Mean and deviation of the queue in packets: one port, four links of `link_s` from mark to effect."""
    chance, cards = random.Random(3), [Card() for _ in range(flows)]
    noted, waiting, lengths = [-1.0] * flows, deque(), []
    events = [(1e-6 * chance.random(), number, SEND, number) for number in range(flows)]
    heapq.heapify(events)
    number, look, busy = flows, warmup_s, False
    while events[0][0] < end_s:
        now, _, what, flow = heapq.heappop(events)
        while look < now:
            lengths.append(len(waiting))
            look += SAMPLE_S
        due = []
        if what == SEND:
            due += [(now + link_s, ARRIVE, flow), (now + cards[flow].send(now), SEND, flow)]
        elif what == ARRIVE:
            waiting.append(flow)
            due += [] if busy else [(now + 1 / LINE, DEPART, flow)]
            busy = True
        elif what == NOTIFY:
            cards[flow].notified(now)
        else:
            left = waiting.popleft()
            share = 1.0 if len(waiting) > kmax else max(0.0, (len(waiting) - 5) / (kmax - 5) * pmax)
            if chance.random() < share and now >= noted[left] + CUT_S:
                noted[left] = now
                due.append((now + 3 * link_s, NOTIFY, left))
            due += [(now + 1 / LINE, DEPART, left)] if waiting else []
            busy = bool(waiting)
        for at, kind, whose in due:
            number += 1
            heapq.heappush(events, (at, number, kind, whose))
    mean = sum(lengths) / len(lengths)
    return mean, (sum((each - mean) ** 2 for each in lengths) / len(lengths)) ** 0.5


def test_sixty_four_flows_swing_in_both():
    mean, deviation = queue_alone(64, 21.25e-6, 2000, 0.1, 0.03, 0.07)
    run = shallows.run({
        "duration": "70ms",
        "warmup": "30ms",
        "topology": {"kind": "star", "senders": 64, "rate": "40Gbps", "delay": "21250ns"},
        "queue": {"kind": "ramp", "limit": "none", "kmin": "5KB", "kmax": "2000KB", "pmax": 0.1},
        "transport": {"profile": "roce", "mtu": "938B", "cc": "dcqcn", "ack_every": 256},
        "traffic": {"long": {"kind": "bulk", "from": "s*", "to": "r0", "jitter": "1us"}},
    })  # fmt: skip
    queues = run.tables["queues"]
    port = queues.filter(queues["port"] == "switch->r0").row(0, named=True)
    assert port["mean_packets"] == pytest.approx(mean, rel=0.05)
    assert port["sd_packets"] == pytest.approx(deviation, rel=0.05) and deviation > 0.7 * mean
