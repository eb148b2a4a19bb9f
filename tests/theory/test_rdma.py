"""Fluid models of DCQCN and TIMELY: fixed points, published stability, and the models followed in time."""

import math

import numpy as np
import pytest
from shallows.theory import dcqcn, evaluate, timely

FAR = dcqcn.Loop(10, 85e-6, kmax=2000, pmax=0.1)
"""The authors' model file: the slope of the paper's ramp, and no jump within reach."""


def last(course, share=0.3):
    """The queue in the last part of a course, in KB."""
    return course.queue_bytes[-int(share * len(course.queue_bytes)) :] / 1e3


@pytest.mark.parametrize(("flows", "queue"), [(2, 20.2), (5, 53.9), (8, 93.8), (10, 122.6)])
def test_the_model_rests_where_its_equations_do(flows, queue):
    """The numbers: the printed equations, integrated independently. Marks 4 us old change no rest."""
    form = dcqcn.dcqcn(flows=flows)
    assert form["queue_bytes"] / 1e3 == pytest.approx(queue, abs=0.1)
    course = last(dcqcn.fluid(dcqcn.Loop(flows, 4e-6), 0.1, 4e-6))
    assert course.mean() == pytest.approx(queue, abs=0.2) and np.ptp(course) < 0.01 * queue


def test_the_printed_cube_root_is_higher():
    """Zhu 2016 eq. (11) by hand: R_AI 5000, C 5e6 packets/s, tau' = T = 55 us, B = 10 000 packets."""
    for flows in (2, 10):
        wide = 1e-4 + flows / (55e-6 * 5e6)
        form = dcqcn.dcqcn(flows=flows)
        assert form["printed_p"] == pytest.approx((5e3 * flows**2 / 55e-6 / 25e12 * wide**2) ** (1 / 3))
        assert 1.14 < form["printed_queue_bytes"] / form["queue_bytes"] < 1.3


def test_beyond_the_ramp_the_queue_stands_at_its_end():
    form = dcqcn.dcqcn(flows=20)
    assert form["queue_bytes"] == 200_000 and form["phase_margin_degrees"] is None
    assert evaluate("dcqcn", ["flows=20", "kmax=2MB", "pmax=0.1"])["outputs"]["phase_margin_degrees"] > 0


@pytest.mark.parametrize(("flows", "swings"), [(2, False), (10, True), (64, False)])
def test_the_margin_says_whether_the_model_swings(flows, swings):
    """Zhu 2016 figure 4: at 85 us ten flows swing, two and sixty-four do not."""
    loop = FAR._replace(flows=flows)
    assert (dcqcn.phase_margin(loop) < 0) == swings
    queue = last(dcqcn.fluid(loop, 0.2, 5e-6))
    assert (np.ptp(queue) > queue.mean()) == swings


@pytest.mark.parametrize("p", [0.0, 1e-9, 0.01, 0.5, 1.0])
def test_a_law_holds_at_both_ends_of_the_probability(p):
    changes = FAR.changes(1e6, 2e6, 0.5, p, 1e6)
    near = FAR.changes(1e6, 2e6, 0.5, min(max(p, 1e-12), 1 - 1e-12), 1e6)
    assert all(math.isfinite(each) for each in changes)
    assert changes == pytest.approx(near, rel=1e-3, abs=1e-3)


def test_the_phase_margin_of_a_known_loop():
    """1 / (s (s + 1)) has unit gain at w = 0.786, where its phase is 51.83 degrees above -180."""
    assert dcqcn.margin(lambda w: 1 / (1j * w * (1j * w + 1)), 1e-3, 1e3) == pytest.approx(51.83, abs=0.01)


@pytest.mark.parametrize(
    ("propagation", "published"),
    [
        ("0s", {2: -1.9535, 4: 5.2484, 10: 28.529, 20: 41.58, 38: 3.2215, 40: -1.3105, 50: -22.263}),
        ("100us", {2: -12.138, 4: -2.0217, 10: 23.277, 20: 35.263, 40: -10.106, 50: -31.489}),
    ],
)
def test_the_margins_of_the_authors_figure_11_have_another_slope_than_their_text(propagation, published):
    """Their data (jitupadhye-zz/rdma e7e9160) are those of w = g / 2 + 1 / 2; the text has 2 g + 1 / 2."""
    for flows, degrees in published.items():
        inputs = [f"flows={flows}", f"propagation={propagation}"]
        half = evaluate("timely-patched", [*inputs, "slope=0.5"])["outputs"]
        assert half["phase_margin_degrees"] == pytest.approx(degrees, abs=0.06)
    text = [timely.timely_patched(flows=n)["phase_margin_degrees"] for n in (10, 40)]
    assert text[0] > 0 > text[1]


def test_patched_timely_rests_and_two_flows_meet():
    form = timely.timely_patched()
    assert form["queue_bytes"] == pytest.approx(78_125) and form["rtt_ps"] == pytest.approx(62.5e6)
    assert form["meet_ps"] == pytest.approx(76.7e9, rel=1e-3)  # the draft's 76.7 ms
    course = timely.fluid(timely.Law(True, beta=0.008), [(0, 7e9), (0, 3e9)], 0.06, 2e-6)
    assert last(course).mean() == pytest.approx(78.1, rel=0.01)
    first, end = (course.rate_bps[0, k] - course.rate_bps[1, k] for k in (0, -1))
    rate = -math.log(end / first) / 0.06
    assert rate == pytest.approx(
        10e6 / (2 * 128e3), rel=0.15
    )  # delta (N - 1) / (2 Seg), once the queue rests


def test_the_original_law_keeps_what_its_start_gave():
    """Zhu 2016 figure 9: it has no fixed point, and no way to equal rates."""
    ratios = []
    for starts in ([(0, 5e9), (0, 5e9)], [(0, 7e9), (0, 3e9)]):
        rates = timely.fluid(timely.Law(False), starts, 0.03, 2e-6).rate_bps[:, -500:].mean(axis=1)
        ratios.append(rates[0] / rates[1])
    assert ratios[0] == pytest.approx(1) and ratios[1] > 1.5


def test_marks_at_arrival_are_older_by_the_queue():
    """Zhu 2016 figure 17: two flows at the edge of stability rest if marked at departure, not at arrival."""
    edge = FAR._replace(flows=2)
    rests, swings = (last(dcqcn.fluid(edge, 0.2, 1e-6, at_arrival=arrival), 0.2) for arrival in (False, True))
    assert np.ptp(rests) < 0.05 * rests.mean() and np.ptp(swings) > 1.5 * swings.mean()
