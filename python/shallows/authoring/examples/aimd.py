"""The fifteen-line algorithm: one segment a round trip up, a share down."""

import shallows


class Aimd(shallows.CongestionControl):
    """One packet a round trip up, a share down. Chiu & Jain 1989. cwnd in bytes."""

    beta: float = 0.5  # declared = settable in the spec, recorded in the manifest

    def start(self, flow):
        self.mss, self.cwnd = flow.mss, flow.initial_window

    def on_ack(self, ack):
        self.cwnd += self.mss * ack.acked / self.cwnd

    def on_congestion(self, why, ack):
        self.cwnd *= self.beta
