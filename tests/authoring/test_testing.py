"""The suite for a user's congestion control: it passes right ones, and names the faults of others."""

import itertools

import pytest
import shallows
from shallows.authoring.examples.aimd import Aimd
from shallows.authoring.examples.dctcp import PythonDctcp
from shallows.testing import CheckFailed, check_congestion_control


@pytest.mark.parametrize("cls", [Aimd, PythonDctcp])
def test_the_examples_pass(cls):
    check_congestion_control(cls)


def test_settings_are_those_of_a_file():
    check_congestion_control(Aimd, beta=0.8)
    with pytest.raises(CheckFailed, match=r"Aimd declaration: .*betta"):
        check_congestion_control(Aimd, betta=0.8)


def test_a_flow_by_rounds_passes():
    class ByRound(shallows.CongestionControl):
        cadence = "round"

        def on_round(self, ack):
            self.cwnd *= 1.5

        def on_congestion(self, why, ack):
            self.cwnd *= 0.5

    check_congestion_control(ByRound)


class Deaf(Aimd):
    def on_congestion(self, why, ack):
        pass


class Bold(Aimd):
    def on_congestion(self, why, ack):
        self.cwnd *= 1.5


class Frozen(Aimd):
    def start(self, flow):
        super().start(flow)
        self.cwnd = flow.mss

    def on_ack(self, ack):
        self.cwnd = self.mss


class Negative(Aimd):
    def on_ack(self, ack):
        self.cwnd = ack.flight - 10 * self.mss


class Moody(Aimd):
    count = itertools.count(1)

    def on_ack(self, ack):
        self.cwnd += self.mss * (next(self.count) % 7 == 0)


class Blind(PythonDctcp):
    def on_congestion(self, why, ack):
        if why != "ecn":
            super().on_congestion(why, ack)


@pytest.mark.parametrize(
    ("cls", "told"),
    [
        (Deaf, [r"Deaf loss: a loss left the window at \d+ bytes", "Deaf timeout: ", "Deaf ecn: "]),
        (Bold, [r"Bold windows: \S+ opened the window from"]),
        (
            Frozen,
            ["Frozen growth: alone on a 1 Gb/s link, 50 ms did not", r"Frozen rates: .*400Gbps"],
        ),
        (Negative, ["Negative windows: after an acknowledgement the window is -"]),
        (Moody, ["gives different windows when repeated", "Moody determinism: the same seed"]),
        (Blind, ["Blind ecn: ECN-Echo left the window"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_wrong_is_named(cls, told):
    with pytest.raises(CheckFailed) as caught:
        check_congestion_control(cls)
    for text in told:
        caught.match(text)
