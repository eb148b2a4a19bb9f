"""Studies, distributions and constraints of Optuna (Akiba et al. 2019), the same for each search."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from shallows.errors import Fault, SpecError
from shallows.extras import install_command
from shallows.studies.tune.section import Parameter

if TYPE_CHECKING:
    import optuna

EXCESSES = "excesses"
"""The attribute of a trial that holds by how much it breaks each constraint."""

__all__ = ["EXCESSES", "distribution", "study_of"]


def distribution(parameter: Parameter) -> optuna.distributions.BaseDistribution:
    """The distribution from which the sampler draws a parameter."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if parameter.choices:
        return CategoricalDistribution(parameter.choices)
    p = parameter
    if isinstance(p.low, int) and isinstance(p.high, int) and isinstance(p.step or 1, int):
        return IntDistribution(p.low, p.high, log=p.log, step=int(p.step or 1))
    return FloatDistribution(float(p.low), float(p.high), log=p.log, step=p.step)


def study_of(
    section: str, sampler: str, seed: int, population: int, directions: Sequence[str], constraints: int
) -> optuna.Study:
    """A study in memory. `sampler` is `tpe`, `nsga2` or `random`; `population` counts for `nsga2` alone.

    Raises SpecError at `section` if Optuna is not installed.
    """
    try:
        import optuna
    except ImportError:
        rule = "needs the packages of the extra tune"
        raise SpecError([Fault(section, rule, hint=install_command("tune"))]) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def excesses(trial: optuna.trial.FrozenTrial) -> Sequence[float]:
        return trial.user_attrs.get(EXCESSES, [math.inf] * constraints)

    options: dict[str, Any] = {"constraints_func": excesses} if constraints else {}
    samplers: dict[str, Callable[[], optuna.samplers.BaseSampler]] = {
        "tpe": lambda: optuna.samplers.TPESampler(seed=seed, constant_liar=True, **options),
        "nsga2": lambda: optuna.samplers.NSGAIISampler(seed=seed, population_size=population, **options),
        "random": lambda: optuna.samplers.RandomSampler(seed=seed),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constraints and the liar are experimental in Optuna's terms
        return optuna.create_study(directions=list(directions), sampler=samplers[sampler]())
