"""DCTCP (RFC 8257 s.3.3-3.5; Alizadeh et al. 2010).

The twin of the Rust version: a test checks that every table has equal bytes.
"""

import shallows


class PythonDctcp(shallows.CongestionControl):
    """The window shrinks in proportion to the share of marked bytes (RFC 8257)."""

    ecn = "per-packet"
    g: float = shallows.param(0.0625, range="(0, 1]")
    initial_alpha: float = shallows.param(1.0, range="[0, 1]")
    reduction: float = shallows.param(0.5, range="(0, 1]")

    def start(self, flow):
        self.window = shallows.Window(flow)
        self.alpha = self.initial_alpha
        self.acked = self.marked = 0
        self._tell()

    def on_ack(self, ack):
        self.acked += ack.acked
        self.marked += ack.marked
        if ack.round_ended and self.acked > 0:
            # RFC 8257 s.3.3 step 6: alpha = alpha x (1 - g) + g x M.
            self.alpha = self.alpha * (1.0 - self.g) + self.g * (self.marked / self.acked)
            self.acked = self.marked = 0
        self.window.grow(ack)
        self._tell()

    def on_congestion(self, why, ack):
        if why == "ecn":
            # Step 9: cwnd = cwnd x (1 - alpha / 2).
            self.window.shrink(self.window.cwnd * (1.0 - self.reduction * self.alpha))
        elif why == "timeout":
            self.window.on_timeout(ack.flight)
        else:
            self.window.on_loss(ack.flight)  # s.3.5: as conventional TCP
        self._tell()

    def on_idle(self, ack):
        self.window.on_idle()
        self._tell()

    def on_lost_syn(self, ack):
        self.window.on_lost_syn()
        self._tell()

    def _tell(self):
        self.cwnd, self.ssthresh = self.window.cwnd, self.window.ssthresh
