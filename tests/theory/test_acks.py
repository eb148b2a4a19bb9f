"""Windows of marked senders against what the simulator measured, and against their limits.

The measured numbers are those of the runs in crates/spec/tests/theory/rates.rs.
"""

import math

import pytest
from shallows.theory import acks, evaluate

MEASURED = {
    "reno periodic": (
        lambda n: acks.aimd_periodic(1 / n, 1, 0.5, 0.75),
        {150: 13.60, 600: 28.47, 2400: 58.29},
    ),
    "reno independent": (
        lambda n: acks.aimd_independent(1 / n, 1, 0.5),
        {60: 8.48, 150: 14.39, 600: 31.25, 2400: 61.01},
    ),
    "reno, ABE": (lambda n: acks.aimd_periodic(1 / n, 1, 0.8, 1.0), {60: 12.86, 150: 21.43, 600: 47.73}),
    "cubic periodic": (
        lambda n: acks.aimd_periodic(1 / n, acks.CUBIC_STEP, 0.7, 0.5),
        {60: 8.00, 150: 13.64, 600: 28.57, 2400: 58.53},
    ),
    "cubic independent": (
        lambda n: acks.cubic_independent(1 / n),
        {60: 9.98, 150: 16.37, 600: 34.37, 2400: 67.35},
    ),
    "dctcp": (
        lambda n: acks.dctcp_independent(1 / n),
        {1 / 0.17: 8.40, 10: 17.05, 20: 39.33, 1 / 0.026: 79.64},
    ),
    "prague": (
        lambda n: acks.prague_independent(1 / n, 1.0),
        {5: 9.98, 10: 23.57, 20: 50.99, 1 / 0.034: 76.39},
    ),
    "prague by four round trips": (
        lambda n: acks.prague_independent(1 / n, 4.0),
        {20: 12.43, 50: 33.05, 100: 67.49},
    ),
}


@pytest.mark.parametrize("sender", MEASURED)
def test_measured_windows_agree_within_a_tenth(sender):
    law, measured = MEASURED[sender]
    for n, window in measured.items():
        assert window == pytest.approx(law(n), rel=0.1), n


def test_limits_are_the_published_constants():
    p = 1e-9
    assert acks.aimd_periodic(p, 1, 0.5, 0.75) * math.sqrt(p) == pytest.approx(math.sqrt(1.5), rel=1e-3)
    assert acks.aimd_periodic(p, acks.CUBIC_STEP, 0.7, 0.5) * math.sqrt(p) == pytest.approx(
        math.sqrt(1.5), rel=1e-3
    )
    assert acks.aimd_independent(p, 1, 0.5) * math.sqrt(p) == pytest.approx(1.3098, rel=1e-3)
    assert acks.prague_independent(1e-4, 1.0) * 1e-4 == pytest.approx(1 + math.sqrt(3), rel=1e-3)
    assert acks.dctcp_independent(1e-4) * 1e-4 == pytest.approx(2.24, rel=2e-3)
    # RFC 9438 s.5.1: 1.054 (R / p)^(3/4) packets a round trip.
    assert acks.cubic_long(1e-7, 0.1) / (0.1 * 1e7) ** 0.75 == pytest.approx(1.054, rel=5e-3)


def test_on_the_command_line():
    outputs = evaluate("marked-windows", ["p=0.1"])["outputs"]
    assert outputs["prague_independent_packets"] == pytest.approx(23.57, rel=0.1)
