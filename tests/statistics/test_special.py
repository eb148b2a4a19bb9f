"""Special functions against scipy, which is a development dependency only."""

import pytest
from shallows.statistics.special import (
    binomial_cdf,
    incomplete_beta,
    normal_cdf,
    normal_quantile,
    t_cdf,
    t_quantile,
)

scipy_special = pytest.importorskip("scipy.special")
scipy_stats = pytest.importorskip("scipy.stats")


@pytest.mark.parametrize("a", [0.5, 1.0, 3.0, 40.0])
@pytest.mark.parametrize("b", [0.5, 2.0, 25.0])
@pytest.mark.parametrize("x", [0.0, 1e-6, 0.1, 0.5, 0.93, 1.0])
def test_incomplete_beta(a, b, x):
    assert incomplete_beta(a, b, x) == pytest.approx(scipy_special.betainc(a, b, x), rel=1e-11, abs=1e-300)


@pytest.mark.parametrize("df", [1, 2, 4, 19, 200])
@pytest.mark.parametrize("p", [0.0005, 0.025, 0.5, 0.9, 0.975, 0.9995])
def test_t(df, p):
    assert t_quantile(p, df) == pytest.approx(scipy_stats.t.ppf(p, df), rel=1e-9, abs=1e-12)
    assert t_cdf(t_quantile(p, df), df) == pytest.approx(p, rel=1e-10)


@pytest.mark.parametrize("n", [1, 10, 300])
@pytest.mark.parametrize("p", [0.01, 0.5, 0.99])
def test_binomial(n, p):
    for k in (-1, 0, n // 2, n - 1, n, n + 3):
        assert binomial_cdf(k, n, p) == pytest.approx(scipy_stats.binom.cdf(k, n, p), rel=1e-10, abs=1e-14)


def test_normal():
    assert normal_cdf(1.959963984540054) == pytest.approx(0.975)
    assert normal_quantile(0.975) == pytest.approx(1.959963984540054)


@pytest.mark.parametrize("p", [0.0, 1.0, -1.0])
def test_impossible_probability(p):
    with pytest.raises(ValueError, match="0 < p < 1"):
        t_quantile(p, 3)


def test_impossible_beta():
    with pytest.raises(ValueError, match="a, b > 0"):
        incomplete_beta(0, 1, 0.5)
