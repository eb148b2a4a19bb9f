"""SRPT, PS and FB: against exact fractions stepped event by event, against M/G/1, and against the optimum."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shallows.theory import mg1
from shallows.theory.disciplines import DISCIPLINES, fb, on_link, ps, srpt

JOBS = st.lists(st.tuples(st.integers(0, 12), st.integers(1, 9)), min_size=1, max_size=9)


def stepped(name, jobs):
    """Ends of all jobs in exact arithmetic, from one event to the next, straight from the definition."""
    left = [Fraction(size) for _, size in jobs]
    done, ends, now = [Fraction(0)] * len(jobs), [None] * len(jobs), Fraction(0)
    while None in ends:
        here = [i for i, (at, _) in enumerate(jobs) if at <= now and ends[i] is None]
        coming = [Fraction(at) - now for at, _ in jobs if at > now]
        if not here:
            now += min(coming)
            continue
        served = here
        if name == "SRPT":
            served = [min(here, key=lambda i: (left[i], jobs[i][0], i))]
        if name == "FB":
            served = [i for i in here if done[i] == min(done[j] for j in here)]
        others = [done[i] - done[served[0]] for i in here if i not in served]
        step = min(left[i] for i in served) * len(served)
        step = min([step, *coming, *([g * len(served) for g in others] if name == "FB" else [])])
        now += step
        for i in served:
            left[i] -= step / len(served)
            done[i] += step / len(served)
            if left[i] == 0:
                ends[i] = now
    return [float(end) for end in ends]


@pytest.mark.parametrize("name", DISCIPLINES)
@settings(max_examples=150, deadline=None)
@given(jobs=JOBS)
def test_every_end_is_that_of_exact_arithmetic(name, jobs):
    got = DISCIPLINES[name]([at for at, _ in jobs], [size for _, size in jobs])
    if name == "SRPT":  # equals may change places, which moves no set of ends
        assert sorted(got) == pytest.approx(sorted(stepped(name, jobs)), abs=1e-9)
    else:
        assert got == pytest.approx(stepped(name, jobs), abs=1e-9)


def test_three_jobs_by_hand():
    arrivals, sizes = [0, 1, 2], [4, 2, 1]
    assert srpt(arrivals, sizes).tolist() == [7, 3, 4]  # 2 of the second left against 1 of the third: 1 left
    assert ps([0, 0], [1, 3]).tolist() == [2, 4]
    assert fb(arrivals, sizes).tolist() == pytest.approx([7, 5, 3])


@settings(max_examples=100, deadline=None)
@given(jobs=JOBS)
def test_srpt_has_the_least_mean_and_all_work_as_much(jobs):
    arrivals, sizes = [at for at, _ in jobs], [size for _, size in jobs]
    ends = {name: discipline(arrivals, sizes) for name, discipline in DISCIPLINES.items()}
    assert all(ends["SRPT"].sum() <= other.sum() + 1e-9 for other in ends.values())
    assert np.ptp([end.max() for end in ends.values()]) < 1e-9  # no work is lost or made


def test_what_is_no_load_is_refused():
    with pytest.raises(ValueError, match="as many sizes"):
        srpt([1, 2], [1])
    with pytest.raises(ValueError, match="> 0"):
        fb([1], [0])
    assert len(ps([], [])) == 0


LAWS = {
    "exponential": mg1.Exponential(1.0),
    "pareto": mg1.BoundedPareto(1.5, 1.0, 1000.0),
    "uniform": mg1.Uniform(0.2, 5.0),
}


def draws(law, n, rng):
    u = rng.random(n)
    if isinstance(law, mg1.Exponential):
        return -law.mean * np.log1p(-u)
    if isinstance(law, mg1.Uniform):
        return law.low + (law.high - law.low) * u
    kept = 1 - (law.low / law.high) ** law.shape
    return law.low * (1 - u * kept) ** (-1 / law.shape)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("load", [0.3, 0.7])
def test_means_over_many_jobs_are_those_of_mg1(law, load):
    """Ten runs each, of all jobs and of the smaller ones: within four standard errors of their mean."""
    chosen, found = LAWS[law], {name: [] for name in DISCIPLINES}
    mean = mg1.mean_size(chosen)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        arrivals = np.cumsum(rng.exponential(mean / load, 8000))
        sizes = draws(chosen, 8000, rng)
        small = sizes[1000:] < mean
        for name, discipline in DISCIPLINES.items():
            times = (discipline(arrivals, sizes) - arrivals)[1000:]
            found[name].append((times.mean(), times[small].mean()))
    wanted = [mg1.mean_times(chosen, load), mg1.mean_times(chosen, load, high=mean)]
    for name, values in found.items():
        for each, of in zip(zip(*values, strict=True), wanted, strict=True):
            error = np.std(each, ddof=1) / np.sqrt(10)
            assert abs(np.mean(each) - of[name]) < 4 * error, name


def test_known_means_of_mm1():
    """Exponential sizes: PS and FB have the mean of M/M/1 in any order (no sizes are known)."""
    got = mg1.mg1_disciplines(load=0.8, shape=0)
    assert got["ps_slowdown"] == pytest.approx(5, rel=1e-4) == got["fb_slowdown"]
    assert got["srpt_slowdown"] < 0.6 * 5


def test_permanent_jobs_multiply_the_time_under_ps():
    """With k jobs without end the mean time is (k + 1) times that of PS (van den Berg and Boxma 1991)."""
    assert ps([0, 0], [1, 2], permanent=1).tolist() == [3, 5]
    found = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        arrivals, sizes = np.cumsum(rng.exponential(2.0, 8000)), rng.exponential(1.0, 8000)
        found.append((ps(arrivals, sizes, permanent=2) - arrivals)[1000:].mean())
    law = mg1.mean_times(mg1.Exponential(1.0), 0.5, permanent=2)["PS"]
    assert law == pytest.approx(3 * 1 / (1 - 0.5), rel=1e-4)
    assert abs(np.mean(found) - law) < 4 * np.std(found, ddof=1) / np.sqrt(10)


def test_of_one_size_and_without_load():
    got = mg1.mg1_of_size(load=0.0)
    assert got["ps_ps"] == got["alone_ps"] == pytest.approx(200e6)
    assert got["srpt_ps"] == pytest.approx(200e6, rel=1e-4) and got["fb_ps"] == pytest.approx(200e6)
    least = mg1.mg1_of_size(size_bytes=1, shape=1.2)
    assert least["ps_ps"] == pytest.approx(5 * least["alone_ps"])
    with pytest.raises(ValueError, match="load"):
        mg1.mg1_disciplines(load=1.0)


def test_flows_on_a_link_take_their_time_alone():
    got = on_link([0, 1e12], [1460, 2920], 1e9)
    for times in got.values():
        assert times.tolist() == pytest.approx([12e6, 24e6])
