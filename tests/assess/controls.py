"""A good control (Reno's rules) and variants of it with one fault each, for the report card."""

import shallows


class Good(shallows.CongestionControl):
    """Slow start, one segment a round trip, half at congestion. RFC 5681."""

    def start(self, flow):
        self.mss, self.cwnd = flow.mss, flow.initial_window
        self.ssthresh = flow.initial_ssthresh

    def on_ack(self, ack):
        if not ack.may_grow:
            return
        slow = self.cwnd < (self.ssthresh or float("inf"))
        self.cwnd += ack.acked if slow else self.mss * ack.acked / self.cwnd

    def on_congestion(self, why, ack):
        self.ssthresh = max(self.cwnd / 2, 2 * self.mss)
        self.cwnd = self.mss if why == "timeout" else self.ssthresh


class IgnoresEcn(Good):
    """The fault: marks change nothing; only losses count."""

    def on_congestion(self, why, ack):
        if why != "ecn":
            super().on_congestion(why, ack)


class NeverBacksOff(Good):
    """The fault: the window stays at congestion."""

    def on_congestion(self, why, ack):
        self.ssthresh = self.cwnd


class Crashes(Good):
    """The fault: a loss divides by zero."""

    def on_congestion(self, why, ack):
        self.cwnd = 1 / 0
