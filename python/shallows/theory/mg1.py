"""Mean completion times on one server with Poisson arrivals, under SRPT, PS and FB.

A size distribution is given by its survival function and partial moments; the mean over sizes is integrated
numerically on a logarithmic grid (error below 1e-4 for the distributions here, which tests hold).
"""

from typing import NamedTuple, Protocol

import numpy as np

from shallows.theory.registry import closed_form, positive

GRID = 20_001


class SizeLaw(Protocol):
    """Sizes of jobs, as time alone on the server."""

    def survival(self, x: np.ndarray) -> np.ndarray:
        """P(size > x)."""

    def moment(self, k: int, x: np.ndarray) -> np.ndarray:
        """Integral from 0 to x of t^k dF(t), for k = 1, 2."""

    def span(self) -> tuple[float, float]:
        """Least and (practically) greatest size."""


class Exponential(NamedTuple):
    """Exponential sizes of this mean."""

    mean: float

    def survival(self, x: np.ndarray) -> np.ndarray:
        """P(size > x)."""
        return np.exp(-x / self.mean)

    def moment(self, k: int, x: np.ndarray) -> np.ndarray:
        """Integral from 0 to x of t^k dF(t)."""
        m, e = self.mean, np.exp(-x / self.mean)
        return m - (x + m) * e if k == 1 else 2 * m * m - (x * x + 2 * m * x + 2 * m * m) * e

    def span(self) -> tuple[float, float]:
        """Least and (practically) greatest size."""
        return self.mean * 1e-6, self.mean * 40


class BoundedPareto(NamedTuple):
    """P(size > x) proportional to x^-shape - high^-shape between `low` and `high`."""

    shape: float
    low: float
    high: float

    def _kept(self) -> float:
        return 1 - (self.low / self.high) ** self.shape

    def survival(self, x: np.ndarray) -> np.ndarray:
        """P(size > x)."""
        inside = (self.low / np.maximum(x, self.low)) ** self.shape - (self.low / self.high) ** self.shape
        return np.where(x >= self.high, 0.0, inside / self._kept())

    def moment(self, k: int, x: np.ndarray) -> np.ndarray:
        """Integral from 0 to x of t^k dF(t)."""
        x, a = np.clip(x, self.low, self.high), self.shape
        scale = a * self.low**a / self._kept()
        if abs(k - a) < 1e-12:
            return scale * np.log(x / self.low)
        return scale / (k - a) * (x ** (k - a) - self.low ** (k - a))

    def span(self) -> tuple[float, float]:
        """Least and (practically) greatest size."""
        return self.low, self.high


def ps_time(x: np.ndarray, load: float) -> np.ndarray:
    """Mean time under processor sharing of a job of size x: x / (1 - rho).

    Kleinrock, Queueing Systems vol. 2 (1976), section 4.4; for any law of sizes.
    """
    return x / (1 - load)


def srpt_time(x: np.ndarray, load: float, law: SizeLaw) -> np.ndarray:
    """Mean time under SRPT of a job of size x: Schrage and Miller, Operations Research 14(4) 1966.

    E[T(x)] = lambda (int_0^x t^2 dF + x^2 (1 - F(x))) / (2 (1 - rho(x))^2) + int_0^x dt / (1 - rho(t)).
    """
    rate = load / _mean(law)
    rho = rate * law.moment(1, x)
    wait = rate * (law.moment(2, x) + x * x * law.survival(x)) / (2 * (1 - rho) ** 2)
    grid = np.concatenate([[0.0], np.geomspace(law.span()[0] * 1e-3, law.span()[1], GRID)])
    slow = 1 / (1 - rate * law.moment(1, grid))
    served = np.concatenate([[0.0], np.cumsum((slow[1:] + slow[:-1]) / 2 * np.diff(grid))])
    return wait + np.interp(x, grid, served)


def fb_time(x: np.ndarray, load: float, law: SizeLaw) -> np.ndarray:
    """Mean time under foreground-background of a job of size x: Kleinrock vol. 2 (1976), eq. (4.28).

    With sizes cut at x: E[T(x)] = lambda E[S_x^2] / (2 (1 - rho_x)^2) + x / (1 - rho_x).
    """
    rate = load / _mean(law)
    rho = rate * (law.moment(1, x) + x * law.survival(x))
    squares = law.moment(2, x) + x * x * law.survival(x)
    return rate * squares / (2 * (1 - rho) ** 2) + x / (1 - rho)


def mean_time(times: np.ndarray, x: np.ndarray, law: SizeLaw) -> float:
    """Mean over sizes of `times`, given at the sizes `x`, by the law's own weights."""
    weights = -np.diff(law.survival(x))
    return float(np.sum((times[1:] + times[:-1]) / 2 * weights) / weights.sum())


def grid(law: SizeLaw) -> np.ndarray:
    """Sizes over which a mean is integrated."""
    return np.geomspace(*law.span(), GRID)


def _mean(law: SizeLaw) -> float:
    return float(law.moment(1, np.array(law.span()[1])))


def _means(load: float, law: SizeLaw) -> dict[str, float]:
    x = grid(law)
    times = {"ps": ps_time(x, load), "srpt": srpt_time(x, load, law), "fb": fb_time(x, load, law)}
    return {name: mean_time(time, x, law) for name, time in times.items()}


def _law(mean_bytes: float, shape: float, span: float, rate_bps: float) -> SizeLaw:
    """Exponential sizes for shape 0, else bounded Pareto of this mean from low to low x span; in ps."""
    positive(mean=mean_bytes, rate=rate_bps)
    mean = mean_bytes * 8e12 / rate_bps
    if shape == 0:
        return Exponential(mean)
    if not span > 1:
        raise ValueError("span must be > 1")
    unit = BoundedPareto(shape, 1.0, span)
    low = mean / _mean(unit)
    return BoundedPareto(shape, low, low * span)


@closed_form
def mg1_disciplines(
    load: float = 0.8,
    rate_bps: int = 1_000_000_000,
    mean_bytes: int = 25_000,
    shape: float = 1.2,
    span: float = 10_000.0,
) -> dict[str, float]:
    """M/G/1: mean completion times under PS, SRPT and FB, for Pareto or exponential sizes.

    Sizes are Pareto with this `shape` between a least size and `span` times it, with mean `mean`; a shape
    of 0 makes them exponential. `*_slowdown` is the mean time over the mean time alone.

    Source: Kleinrock, Queueing Systems vol. 2 (1976), sections 4.4 (PS) and 4.6 (FB); Schrage and Miller,
    Operations Research 14(4) 1966 (SRPT)
    """
    _check(load)
    means = _means(load, _law(mean_bytes, shape, span, rate_bps))
    alone = mean_bytes * 8e12 / rate_bps
    times = {f"{name}_mean_ps": value for name, value in means.items()}
    return {"alone_mean_ps": alone} | times | {f"{n}_slowdown": v / alone for n, v in means.items()}


@closed_form
def mg1_of_size(
    size_bytes: int = 25_000,
    load: float = 0.8,
    rate_bps: int = 1_000_000_000,
    mean_bytes: int = 25_000,
    shape: float = 1.2,
    span: float = 10_000.0,
) -> dict[str, float]:
    """M/G/1: mean completion time of a job of one size under PS, SRPT and FB.

    Sizes of the others as in `mg1-disciplines`.

    Source: Kleinrock, Queueing Systems vol. 2 (1976), sections 4.4 (PS) and 4.6 (FB); Schrage and Miller,
    Operations Research 14(4) 1966 (SRPT)
    """
    _check(load)
    positive(size=size_bytes)
    law = _law(mean_bytes, shape, span, rate_bps)
    x = np.array([size_bytes * 8e12 / rate_bps])
    times = {"ps": ps_time(x, load), "srpt": srpt_time(x, load, law), "fb": fb_time(x, load, law)}
    return {"alone_ps": float(x[0])} | {f"{name}_ps": float(time[0]) for name, time in times.items()}


def _check(load: float) -> None:
    if not 0 <= load < 1:
        raise ValueError("load must be >= 0 and < 1")
