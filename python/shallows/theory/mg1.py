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


class Uniform(NamedTuple):
    """Sizes alike likely between `low` and `high`."""

    low: float
    high: float

    def survival(self, x: np.ndarray) -> np.ndarray:
        """P(size > x)."""
        return np.clip((self.high - x) / (self.high - self.low), 0.0, 1.0)

    def moment(self, k: int, x: np.ndarray) -> np.ndarray:
        """Integral from 0 to x of t^k dF(t)."""
        x = np.clip(x, self.low, self.high)
        return (x ** (k + 1) - self.low ** (k + 1)) / ((k + 1) * (self.high - self.low))

    def span(self) -> tuple[float, float]:
        """Least and (practically) greatest size."""
        return self.low, self.high


def ps_time(x: np.ndarray, load: float, permanent: int = 0) -> np.ndarray:
    """Mean time under processor sharing of a job of size x, beside k jobs without end: (k + 1) x / (1 - rho).

    Kleinrock, Queueing Systems vol. 2 (1976), section 4.4; van den Berg and Boxma, Queueing Systems 9 (1991);
    for any law of sizes.
    """
    return (permanent + 1) * x / (1 - load)


def srpt_time(x: np.ndarray, load: float, law: SizeLaw) -> np.ndarray:
    """Mean time under SRPT of a job of size x: Schrage and Miller, Operations Research 14(4) 1966.

    E[T(x)] = lambda (int_0^x t^2 dF + x^2 (1 - F(x))) / (2 (1 - rho(x))^2) + int_0^x dt / (1 - rho(t)).
    """
    rate = load / mean_size(law)
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
    rate = load / mean_size(law)
    rho = rate * (law.moment(1, x) + x * law.survival(x))
    squares = law.moment(2, x) + x * x * law.survival(x)
    return rate * squares / (2 * (1 - rho) ** 2) + x / (1 - rho)


def mean_time(times: np.ndarray, x: np.ndarray, law: SizeLaw) -> float:
    """Mean over sizes of `times`, given at the sizes `x`, by the law's own weights."""
    weights = -np.diff(law.survival(x))
    return float(np.sum((times[1:] + times[:-1]) / 2 * weights) / weights.sum())


def grid(law: SizeLaw, low: float = 0.0, high: float = np.inf) -> np.ndarray:
    """Sizes over which a mean is integrated, of jobs between `low` and `high`."""
    least, most = law.span()
    return np.geomspace(max(low, least), min(high, most), GRID)


def mean_size(law: SizeLaw) -> float:
    """Mean of all sizes."""
    return float(law.moment(1, np.array(law.span()[1])))


def mean_times(
    law: SizeLaw, load: float, permanent: int = 0, low: float = 0.0, high: float = np.inf
) -> dict[str, float]:
    """Mean times under SRPT, PS and FB of jobs between `low` and `high`, beside `permanent` jobs without end.

    SRPT and FB leave those without end what the others do not need.
    """
    x = grid(law, low, high)
    times = {"SRPT": srpt_time(x, load, law), "PS": ps_time(x, load, permanent), "FB": fb_time(x, load, law)}
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
    low = mean / mean_size(unit)
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
    means = mean_times(_law(mean_bytes, shape, span, rate_bps), load)
    means = {name: means[name.upper()] for name in ("ps", "srpt", "fb")}
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
