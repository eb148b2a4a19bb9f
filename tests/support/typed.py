"""Code that a user may write: type checkers accept it (tests/project/test_types.py), and the program runs."""

import shallows
from shallows import experiment as x

four = x.Experiment(
    duration="2ms",
    topology=x.StarTopology(senders=4, rate="10Gbps", delay="25us"),
    queue=x.ThresholdQueue(limit="250pkt", mark_at="65pkt"),
    transport=x.Transport(cc="dctcp"),
    traffic={
        "long": x.BulkLoad(from_="s*", to="r0"),
        "short": x.PoissonLoad(from_=["s0", "s1"], to="r0", every="100us", sizes=x.FixedSizes(bytes="10KB")),
    },
    probe=x.Probe(queue_trace="20us"),
)


class Mine(shallows.CongestionControl):
    """One segment a round trip up, a half down."""

    share: float = shallows.param(0.5, range="(0, 1)")

    def start(self, flow):
        self.mss, self.cwnd = flow.mss, flow.initial_window

    def on_ack(self, ack):
        self.cwnd += self.mss * ack.acked / self.cwnd

    def on_congestion(self, why, ack):
        self.cwnd *= self.share


if __name__ == "__main__":
    run = four.run()
    print(run.metrics["goodput_bps_total"], run.tables["queues"].columns)
    print(shallows.run(four, settings=["queue.mark_at=20pkt"]).manifest["hash"])
    print(len(shallows.sweep(four.with_settings({"seeds": 2})).frame))
