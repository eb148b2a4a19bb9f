"""Intervals, paired differences, percentiles and ranks: against scipy, and by their coverage."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shallows.statistics import estimates

scipy_stats = pytest.importorskip("scipy.stats")
RNG = np.random.default_rng(7)
SAMPLE = RNG.normal(73.8, 2.0, 20)


def test_mean_ci_is_students():
    got = estimates.mean_ci(SAMPLE)
    low, high = scipy_stats.t.interval(0.95, 19, SAMPLE.mean(), scipy_stats.sem(SAMPLE))
    assert got.ci == pytest.approx([low, high], rel=1e-9)
    assert got.value == pytest.approx(SAMPLE.mean()) and got.n == 20


def test_one_seed_has_no_interval():
    assert estimates.mean_ci([3.0]) == (3.0, None, None, 1)
    assert estimates.mean_ci([3.0]).ci is None
    assert str(estimates.mean_ci([3.0])) == "3"


@pytest.mark.parametrize("bad", [[], [1.0, math.nan], [math.inf, 1.0]])
def test_missing_samples_are_refused(bad):
    with pytest.raises(ValueError):
        estimates.mean_ci(bad)


def test_pairing_removes_what_the_seeds_share():
    shared = RNG.normal(0, 10, 30)
    a, b = 5 + shared + RNG.normal(0, 0.1, 30), 6 + shared + RNG.normal(0, 0.1, 30)
    got = estimates.paired_difference(a, b)
    assert got.low < -1 < got.high and got.high - got.low < 0.2
    ttest = scipy_stats.ttest_rel(a, b).confidence_interval()
    assert got.ci == pytest.approx([ttest.low, ttest.high], rel=1e-9)
    with pytest.raises(ValueError, match="same seeds: 2 against 3"):
        estimates.paired_difference([1, 2], [1, 2, 3])


def test_paired_change_is_a_fraction():
    assert estimates.paired_change([94, 94], [100, 100]).value == pytest.approx(-0.06)
    with pytest.raises(ValueError, match="relative to zero"):
        estimates.paired_change([1, 2], [0, 1])


def test_paired_ratio_is_the_same_both_ways_round():
    a, b = RNG.uniform(50, 100, 12), RNG.uniform(50, 100, 12)
    there, back = estimates.paired_ratio(a, b), estimates.paired_ratio(b, a)
    assert there.value * back.value == pytest.approx(1.0)
    assert there.low * back.high == pytest.approx(1.0)
    logs = scipy_stats.ttest_rel(np.log(a), np.log(b)).confidence_interval()
    assert there.ci == pytest.approx([math.exp(logs.low), math.exp(logs.high)])
    with pytest.raises(ValueError, match="above zero"):
        estimates.paired_ratio([1, 2], [0, 1])


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=2, max_size=20))
def test_paired_p_matches_scipy(pairs):
    a, b = np.array(pairs, dtype=float).T
    got = estimates.paired_p(a, b)
    if np.ptp(a - b) == 0:
        assert got == (1.0 if (a == b).all() else 0.0)
    else:
        assert got == pytest.approx(scipy_stats.ttest_rel(a, b).pvalue, rel=1e-6, abs=1e-12)


def test_one_seed_is_no_test():
    with pytest.raises(ValueError, match="two seeds"):
        estimates.paired_p([1.0], [2.0])


def test_holm_as_published():
    # The worked rule: p (1), p (2) ... against a / n, a / (n - 1) ...; adjusted values never fall.
    assert estimates.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert estimates.holm([0.9, 0.8]) == [1.0, 1.0]
    assert estimates.holm([]) == []


def test_holm_keeps_its_promise_where_there_is_nothing_to_find():
    wrong = 0
    for _ in range(400):
        found = estimates.holm(RNG.uniform(size=20).tolist())
        wrong += min(found) < 0.05
    assert wrong / 400 < 0.08


@pytest.mark.parametrize("q", [0.05, 0.5, 0.95])
def test_percentile_interval_matches_scipy(q):
    values = RNG.exponential(1.0, 400)
    got = estimates.percentile_ci(values, q)
    want = scipy_stats.quantile_test(values, q=np.quantile(values, q), p=q).confidence_interval(0.95)
    assert got.ci == pytest.approx([want.low, want.high])


def test_percentile_interval_needs_enough_samples():
    assert estimates.percentile_ci(RNG.random(50), 0.99).ci is None
    assert estimates.percentile_ci(RNG.random(367), 0.99).ci is None
    assert estimates.percentile_ci(RNG.random(368), 0.99).ci is not None


def test_percentile_interval_covers():
    hits = 0
    for _ in range(400):
        got = estimates.percentile_ci(RNG.exponential(1.0, 60), 0.75)
        hits += got.low <= -math.log(0.25) <= got.high
    assert hits / 400 >= 0.93


@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_bootstrap_matches_scipy(method):
    values = RNG.exponential(1.0, 80)
    got = estimates.bootstrap(np.mean, values, method=method, resamples=8000)
    name = {"bca": "BCa", "percentile": "percentile"}[method]
    want = scipy_stats.bootstrap(
        (values,), np.mean, method=name, n_resamples=8000, rng=np.random.default_rng(1)
    ).confidence_interval
    assert got.ci == pytest.approx([want.low, want.high], rel=0.02)


def test_bootstrap_of_a_ratio_is_paired_and_repeatable():
    b = RNG.uniform(50, 100, 25)
    a = 0.9 * b

    def ratio(x, y):
        return x.mean() / y.mean()

    got = estimates.bootstrap(ratio, a, b)
    assert got.ci == pytest.approx([0.9, 0.9]) and got == estimates.bootstrap(ratio, a, b)


def test_bootstrap_faults():
    with pytest.raises(ValueError, match="one of bca"):
        estimates.bootstrap(np.mean, [1.0, 2.0], method="magic")
    with pytest.raises(ValueError, match="equal lengths"):
        estimates.bootstrap(lambda a, b: 0, [1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="at least 2"):
        estimates.bootstrap(np.mean, [1.0])


def test_bootstrap_of_equal_samples_is_a_point():
    assert estimates.bootstrap(np.mean, [2.0] * 5).ci == [2.0, 2.0]


@given(st.lists(st.integers(-5, 5), min_size=3, max_size=30))
def test_ranks_and_correlation_match_scipy(values):
    assert estimates.ranks(values) == pytest.approx(scipy_stats.rankdata(values))
    other = np.arange(len(values))
    if len(set(values)) > 1:
        assert estimates.rank_correlation(values, other) == pytest.approx(
            scipy_stats.spearmanr(values, other).statistic, abs=1e-12
        )


def test_constant_ranks_are_refused():
    with pytest.raises(ValueError, match="constant"):
        estimates.rank_correlation([1, 1, 1], [1, 2, 3])


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=40))
def test_pareto_front_holds_exactly_what_nothing_dominates(points):
    cost, gain = np.array(points).T
    front = estimates.pareto_front(cost, gain)

    def dominated(i):
        better = (cost <= cost[i]) & (gain >= gain[i]) & ((cost < cost[i]) | (gain > gain[i]))
        return better.any()

    want = {tuple(points[i]) for i in range(len(points)) if not dominated(i)}
    assert {tuple(points[i]) for i in front} == want and len(front) == len(want)
    assert (np.diff(cost[front]) > 0).all()


def test_an_interval_stays_within_what_is_possible():
    """507 [-387, 1401] drops and a utilisation of 0.9753 [0.936, 1.014] are no intervals of theirs."""
    counts, shares = [1.0, 0.0, 2000.0, 30.0], [0.93, 0.99, 1.0, 0.98]
    assert estimates.mean_ci(counts).low < 0 and estimates.mean_ci(shares).high > 1
    found = estimates.mean_within(counts, 0)
    assert 0 < found.low < found.value < found.high == estimates.mean_ci(counts).high
    share = estimates.mean_within(shares, 0, 1)
    assert share.low == estimates.mean_ci(shares).low and share.value < share.high < 1
    assert estimates.mean_within([0.0, 0.0], 0)[:3] == (0.0, 0.0, 0.0)
    assert estimates.mean_within([1.0, 1.0 - 1e-16], 0, 1).high <= 1
    assert estimates.mean_within(SAMPLE, 0) == estimates.mean_ci(SAMPLE), "a possible interval is Student's"


@given(st.lists(st.floats(0, 1e9), min_size=2, max_size=9))
def test_no_interval_of_a_count_is_negative_or_without_its_mean(samples):
    found = estimates.mean_within(samples, 0)
    assert 0 <= found.low <= found.value * (1 + 1e-12) and found.value <= found.high * (1 + 1e-12)


def test_the_jackknife_of_a_mean_is_the_samples_and_of_a_ratio_is_millers():
    """Pseudo-values of a linear statistic are the samples; those of a ratio are n r - (n - 1) r_(-k)."""
    batches = RNG.normal(10, 1, (2, 9))
    means = estimates.jackknife(batches, lambda each: float(each.sum()))
    assert means == pytest.approx(batches.sum(axis=0))
    a, b = batches
    without = [(a.sum() - a[k]) / (b.sum() - b[k]) for k in range(9)]
    found = estimates.jackknife(batches, lambda each: each[0] / each[1])
    assert found == pytest.approx(9 * a.mean() / b.mean() - 8 * np.array(without))


@pytest.mark.parametrize("bad", [[[1.0], [2.0]], [1.0, 2.0]])
def test_the_jackknife_needs_samples_to_leave_out(bad):
    with pytest.raises(ValueError, match="at least two columns"):
        estimates.jackknife(bad, np.sum)
