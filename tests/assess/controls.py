"""A good control (Reno's rules) and variants of it with one fault each, for the report card."""

import time

import shallows


class Good(shallows.CongestionControl):
    """Slow start, one segment a round trip, half at congestion, restart after idle. RFC 5681."""

    words = {"deviations": "None: the rules of RFC 5681."}  # noqa: RUF012

    def start(self, flow):
        self.mss, self.cwnd = flow.mss, flow.initial_window
        self.restart = flow.initial_window
        self.ssthresh = flow.initial_ssthresh

    def on_ack(self, ack):
        if not ack.may_grow:
            return
        slow = self.cwnd < (self.ssthresh or float("inf"))
        self.cwnd += ack.acked if slow else self.mss * ack.acked / self.cwnd

    def on_congestion(self, why, ack):
        self.ssthresh = max(min(self.cwnd, ack.flight) / 2, 2 * self.mss)
        self.cwnd = self.mss if why == "timeout" else self.ssthresh

    def on_idle(self, ack):
        self.cwnd = min(self.cwnd, self.restart)


class IgnoresEcn(Good):
    """The fault: marks change nothing; only losses count."""

    def on_congestion(self, why, ack):
        if why != "ecn":
            super().on_congestion(why, ack)


class HidesMarks(Good):
    """The fault: it conceals nine of ten reports of marks from its own window."""

    def start(self, flow):
        super().start(flow)
        self.reports = 0

    def on_congestion(self, why, ack):
        self.reports += why == "ecn"
        if why != "ecn" or self.reports % 10 == 0:
            super().on_congestion(why, ack)


class NeverBacksOff(Good):
    """The fault: the window stays at congestion."""

    def on_congestion(self, why, ack):
        self.ssthresh = self.cwnd


class UnfairToLongRtts(Good):
    """The fault: above 100 ms its growth falls with the third power of the round trip."""

    def on_ack(self, ack):
        before = self.cwnd
        super().on_ack(ack)
        if ack.srtt and ack.srtt > 0.1:
            self.ssthresh = min(self.ssthresh or float("inf"), self.cwnd)
            self.cwnd = before + (self.cwnd - before) * (0.06 / ack.srtt) ** 3


class BurstsAfterIdle(Good):
    """The fault: it sends a thousand segments at once after an idle time."""

    def on_idle(self, ack):
        self.cwnd = 1000 * self.mss


class CollapsesOnReordering(Good):
    """The fault: a gap that closes without a loss takes the window to one segment."""

    def start(self, flow):
        super().start(flow)
        self.lost_at = -1.0

    def on_ack(self, ack):
        super().on_ack(ack)
        if ack.acked > ack.delivered + self.mss and ack.now > self.lost_at + 8 * ack.srtt:
            self.cwnd, self.ssthresh = self.mss, 2 * self.mss

    def on_congestion(self, why, ack):
        super().on_congestion(why, ack)
        self.lost_at = ack.now


class StarvesAtLowRate(Good):
    """The fault: after 10 s it keeps one segment in flight below 320 kb/s."""

    def start(self, flow):
        super().start(flow)
        self.since, self.data = 0.0, 0

    def on_ack(self, ack):
        super().on_ack(ack)
        self.data += ack.acked
        if ack.now - self.since > 1.0:
            slow = self.data / (ack.now - self.since) < 40_000
            self.since, self.data = ack.now, 0
            if slow and ack.now > 10.0:
                self.cwnd, self.ssthresh = self.mss, self.mss


class IgnoresRateCut(Good):
    """The fault: the window stays above 0.8 of the highest rate so far times the shortest round trip."""

    def start(self, flow):
        super().start(flow)
        self.since, self.data, self.rate, self.shortest = 0.0, 0, 0.0, float("inf")

    def on_ack(self, ack):
        super().on_ack(ack)
        self.shortest = min(self.shortest, ack.rtt or float("inf"))
        self.data += ack.acked
        if ack.now - self.since > 1.0:
            self.rate = max(self.rate, self.data / (ack.now - self.since))
            self.since, self.data = ack.now, 0

    def on_congestion(self, why, ack):
        super().on_congestion(why, ack)
        if why != "timeout" and self.shortest < float("inf"):
            self.cwnd = max(self.cwnd, 0.8 * self.rate * self.shortest)


class Crashes(Good):
    """The fault: a loss divides by zero."""

    def on_congestion(self, why, ack):
        self.cwnd = 1 / 0


class AsksAClock(Good):
    """The fault: its window depends on the hour of the machine."""

    def on_ack(self, ack):
        self.cwnd = self.mss * (2 + time.perf_counter_ns() % 8)


class BadWords(Good):
    """The fault: its words are a number."""

    words = {"scope": 3}  # noqa: RUF012


class CountsAcks(Good):
    """The fault: it counts acknowledgements, not bytes, so that dividing them gains (Savage 1999 s.2.1)."""

    def on_ack(self, ack):
        if ack.may_grow:
            slow = self.cwnd < (self.ssthresh or float("inf"))
            self.cwnd += self.mss if slow else self.mss * self.mss / self.cwnd


class AnswersMarksTwice(Good):
    """The fault: a mark quarters the window."""

    def on_congestion(self, why, ack):
        super().on_congestion(why, ack)
        if why == "ecn":
            self.cwnd = self.ssthresh = max(self.ssthresh / 2, 2 * self.mss)


class KeepsWindowOnTimeout(Good):
    """The fault: a timeout changes nothing."""

    def on_congestion(self, why, ack):
        if why != "timeout":
            super().on_congestion(why, ack)


class KeepsWindowWhenIdle(Good):
    """The fault: it wakes with the window that it had before."""

    def on_idle(self, ack):
        pass


class KeepsOldBaseRtt(Good):
    """The fault: a round trip of 110 ms above the shortest that it ever saw takes it to four segments."""

    def start(self, flow):
        super().start(flow)
        self.shortest = float("inf")

    def on_ack(self, ack):
        super().on_ack(ack)
        self.shortest = min(self.shortest, ack.rtt or float("inf"))
        if ack.rtt and ack.rtt > self.shortest + 0.11:
            self.cwnd = self.ssthresh = 4 * self.mss


class NeverBelowFour(Good):
    """The fault: the window never falls below four segments."""

    def on_congestion(self, why, ack):
        super().on_congestion(why, ack)
        self.ssthresh = max(self.ssthresh, 4 * self.mss)
        self.cwnd = max(self.cwnd, 4 * self.mss)


class SaysNaN(Good):
    """The fault: a loss makes its window no number."""

    name = "says-nan"

    def on_congestion(self, why, ack):
        self.cwnd = float("nan")


class SaysNegative(Good):
    """The fault: a loss makes its window negative."""

    def on_congestion(self, why, ack):
        self.cwnd = -5.0 * self.mss
