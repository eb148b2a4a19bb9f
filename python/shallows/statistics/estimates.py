"""Confidence intervals over seeds, paired differences, percentiles and ranks.

Samples are one number an independent seed, in the seeds' order; a missing value is refused rather
than skipped, because skipping the runs that failed biases what is left. Sources: Student's t; Efron
and Tibshirani, An Introduction to the Bootstrap (1993), chapter 14 (BCa); David and Nagaraja, Order
Statistics (2003), section 7.1 (distribution-free interval of a quantile).
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from shallows.statistics.special import binomial_cdf, normal_cdf, normal_quantile, t_cdf, t_quantile

Samples = Sequence[float] | np.ndarray


class Estimate(NamedTuple):
    """A value with its confidence interval, in the unit of the samples.

    `low` and `high` are None where the samples cannot give an interval (one seed).
    """

    value: float
    low: float | None
    high: float | None
    n: int

    @property
    def ci(self) -> list[float] | None:
        """The interval as `[low, high]`, or None."""
        return None if self.low is None or self.high is None else [self.low, self.high]

    def __str__(self) -> str:
        if self.ci is None:
            return f"{self.value:.4g}"
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"


def _checked(samples: Samples, least: int = 1) -> np.ndarray:
    values = np.asarray(samples, dtype=float)
    if values.ndim != 1 or len(values) < least:
        raise ValueError(f"needs a list of at least {least} samples, got {values.size}")
    absent = int((~np.isfinite(values)).sum())
    if absent:
        raise ValueError(f"{absent} of {len(values)} samples are missing or infinite")
    return values


def mean_ci(samples: Samples, level: float = 0.95) -> Estimate:
    """Mean and its t interval. Samples independent, about normal. One sample: no interval."""
    values = _checked(samples)
    mean, n = float(values.mean()), len(values)
    if n == 1:
        return Estimate(mean, None, None, 1)
    half = t_quantile(0.5 + level / 2, n - 1) * float(values.std(ddof=1)) / math.sqrt(n)
    return Estimate(mean, mean - half, mean + half, n)


def mean_within(samples: Samples, low: float, high: float | None = None, level: float = 0.95) -> Estimate:
    """Mean of samples that cannot lie outside [low, high], with an interval that does not either.

    It is Student's t interval. An end that would lie outside is instead that of the t interval of the
    logarithm of the mean's distance from the bound, taken back. Its spread follows from that of the mean by
    the delta method (Casella and Berger, Statistical Inference, section 5.5.4). Both agree where the spread
    is small. The other end stays Student's, which is the narrower one there.
    """
    plain = mean_ci(samples, level)
    if plain.low is None or plain.high is None:
        return plain
    half = (plain.high - plain.low) / 2

    def near(distance: float) -> float:
        """The end's distance from a bound from which the mean has this distance."""
        return distance * math.exp(-half / distance) if distance > 0 else 0.0

    least = plain.low if plain.low >= low else low + near(plain.value - low)
    most = plain.high if high is None or plain.high <= high else high - near(high - plain.value)
    return plain._replace(low=least, high=most)


NARROWER = 0.7
"""The aimed half width as a share of the distance: with as many seeds the mean lies elsewhere, and an
interval as wide as the distance itself would reach across every second time."""

MOST_SEEDS = 1_000_000
"""A greater number is said as this one."""


def seeds_for(half: float, n: int, distance: float) -> int | None:
    """The number of seeds whose t interval keeps away from an end `distance` from the mean.

    `half` is the half width with `n` seeds, whose spread is taken to stay. At least twice `n`, since an
    interval that reached the end was not narrow enough. None: there is no spread to go by.
    """
    if n < 2 or not half > 0:
        return None
    spread = half / t_quantile(0.975, n - 1) * math.sqrt(n)
    aim = NARROWER * distance

    def wide(seeds: int) -> bool:
        return t_quantile(0.975, seeds - 1) * spread > aim * math.sqrt(seeds)

    low, high = n, 2 * n
    while wide(high):
        low, high = high, 2 * high
        if high >= MOST_SEEDS:
            return MOST_SEEDS
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (middle, high) if wide(middle) else (low, middle)
    return max(high, 2 * n)


def paired_difference(a: Samples, b: Samples, level: float = 0.95) -> Estimate:
    """Mean of a - b with its t interval, a and b run with the same seeds in the same order.

    Common random numbers: their common effect cancels, so the interval is narrower than
    that of two independent means. Law and Kelton, Simulation Modeling and Analysis, section 11.2.
    """
    a, b = _pair(a, b)
    return mean_ci(a - b, level)


def paired_change(a: Samples, b: Samples, level: float = 0.95) -> Estimate:
    """Mean over seeds of (a - b) / b, a fraction: -0.06 is six per cent less than b."""
    a, b = _pair(a, b)
    if (b == 0).any():
        raise ValueError("a change relative to zero has no value")
    return mean_ci((a - b) / b, level)


def paired_ratio(a: Samples, b: Samples, level: float = 0.95) -> Estimate:
    """Geometric mean over seeds of a / b with its interval: the t interval of log a - log b.

    Unlike the mean of the ratios it says the same when a and b change places. All samples above zero.
    """
    a, b = _pair(a, b)
    if (a <= 0).any() or (b <= 0).any():
        raise ValueError("a ratio needs samples above zero")
    mean = mean_ci(np.log(a) - np.log(b), level)
    value, low, high = (None if end is None else math.exp(end) for end in mean[:3])
    return Estimate(value or 0.0, low, high, mean.n)


def paired_p(a: Samples, b: Samples) -> float:
    """Two-sided p of the paired t test: the chance of such a difference if there is none.

    Differences that are the same for every seed leave no chance: 0, or 1 where they are all nought.
    """
    a, b = _pair(a, b)
    if len(a) < 2:
        raise ValueError("a test needs at least two seeds")
    differences = a - b
    mean, spread = float(differences.mean()), float(differences.std(ddof=1))
    if spread <= 1e-12 * abs(mean):
        return 1.0 if mean == 0 else 0.0
    return min(1.0, 2 * t_cdf(-abs(mean) / spread * math.sqrt(len(a)), len(a) - 1))


def holm(p_values: Sequence[float]) -> list[float]:
    """The p values adjusted so that of all of them together 5 % err below 0.05, however they depend.

    Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6 (1979).
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, least = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = least
    return adjusted


def _pair(a: Samples, b: Samples) -> tuple[np.ndarray, np.ndarray]:
    a, b = _checked(a), _checked(b)
    if len(a) != len(b):
        raise ValueError(f"paired samples need the same seeds: {len(a)} against {len(b)}")
    return a, b


def percentile(samples: Samples, q: float) -> float:
    """The q-quantile (0..1) by linear interpolation between order statistics (type 7)."""
    return float(np.quantile(_checked(samples), q))


def percentile_ci(samples: Samples, q: float, level: float = 0.95) -> Estimate:
    """The q-quantile and an interval between two order statistics, for any distribution.

    Its coverage is at least `level`; too few samples for that give no interval (the 99th percentile
    at 95 % needs 368).
    """
    values = np.sort(_checked(samples))
    n, miss = len(values), (1 - level) / 2
    low = max((k for k in range(n) if binomial_cdf(k, n, q) <= miss), default=None)
    high = next((k for k in range(n) if binomial_cdf(k, n, q) >= 1 - miss), None)
    point = float(np.quantile(values, q))
    if low is None or high is None:
        return Estimate(point, None, None, n)
    return Estimate(point, float(values[low]), float(values[high]), n)


def bootstrap(
    statistic: Callable[..., float],
    *samples: Samples,
    level: float = 0.95,
    method: str = "bca",
    resamples: int = 2000,
    seed: int = 20100830,
) -> Estimate:
    """Bootstrap interval of `statistic(*samples)`; several samples are resampled together (paired).

    `method` is "bca" (bias-corrected and accelerated) or "percentile". The generator is seeded, so
    equal samples give equal intervals. Errors: fewer than two samples, unequal lengths.
    """
    if method not in ("bca", "percentile"):
        raise ValueError(f'method must be one of bca, percentile, got "{method}"')
    arrays = [_checked(s, least=2) for s in samples]
    n = len(arrays[0])
    if any(len(a) != n for a in arrays):
        raise ValueError("samples resampled together need equal lengths")
    point = float(statistic(*arrays))
    rows = np.random.default_rng(seed).integers(0, n, size=(resamples, n))
    replicas = np.array([statistic(*(a[row] for a in arrays)) for row in rows], dtype=float)
    tails = (1 - level) / 2, (1 + level) / 2
    if method == "bca" and replicas.min() < replicas.max():
        tails = _bca_tails(statistic, arrays, point, replicas, tails)
    low, high = np.quantile(replicas, tails)
    return Estimate(point, float(low), float(high), n)


def _bca_tails(statistic, arrays, point, replicas, tails) -> tuple[float, float]:
    """Efron and Tibshirani eq. (14.10), (14.14), (14.15): shifted percentiles."""
    n = len(arrays[0])
    below = float(np.mean(replicas < point) + np.mean(replicas == point) / 2)
    bias = normal_quantile(min(max(below, 0.5 / len(replicas)), 1 - 0.5 / len(replicas)))
    keep = ~np.eye(n, dtype=bool)
    left_out = np.array([statistic(*(a[row] for a in arrays)) for row in keep], dtype=float)
    spread = left_out.mean() - left_out
    scale = float((spread**2).sum() ** 1.5)
    acceleration = float((spread**3).sum()) / (6 * scale) if scale > 0 else 0.0
    shifted = []
    for tail in tails:
        z = bias + normal_quantile(tail)
        shifted.append(normal_cdf(bias + z / (1 - acceleration * z)))
    return shifted[0], shifted[1]


def jackknife(samples: np.ndarray, statistic: Callable[[np.ndarray], float]) -> np.ndarray:
    """One value for each column of `samples`, whose mean and interval are those of `statistic(row means)`.

    Rows are quantities, columns are their samples in common, such as batches of one run. The values are the
    pseudo-values of the jackknife over the columns: Miller, Biometrika 61, 1974. Error: ValueError for fewer
    than two columns.
    """
    values = np.asarray(samples, dtype=float)
    if values.ndim != 2 or values.shape[1] < 2:
        raise ValueError(f"needs a table of at least two columns, got one of shape {values.shape}")
    n = values.shape[1]
    without = [statistic(np.delete(values, k, axis=1).mean(axis=1)) for k in range(n)]
    return n * statistic(values.mean(axis=1)) - (n - 1) * np.array(without)


def ranks(samples: Samples) -> np.ndarray:
    """Rank of each sample, 1 for the least; equal samples share their mean rank."""
    values = _checked(samples)
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2.0)[inverse]


def rank_correlation(a: Samples, b: Samples) -> float:
    """Spearman's rank correlation, -1..1. Error: a constant sample has no ranks to correlate."""
    a, b = _pair(a, b)
    ra, rb = ranks(a), ranks(b)
    if ra.std() == 0 or rb.std() == 0:
        raise ValueError("rank correlation of a constant sample has no value")
    return float(np.corrcoef(ra, rb)[0, 1])


def pareto_front(cost: Samples, gain: Samples) -> np.ndarray:
    """Indices of the points that no other dominates (cost no more, gain no less, one of them better).

    In ascending cost. The first of equal points is kept.
    """
    cost, gain = _pair(cost, gain)
    front, best = [], -math.inf
    for i in np.lexsort((-gain, cost)):
        if gain[i] > best:
            front.append(int(i))
            best = gain[i]
    return np.array(front, dtype=int)
