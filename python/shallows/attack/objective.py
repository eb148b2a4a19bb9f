"""The objective of an attack: `long.goodput_bps < 10 %`, its value for a run, and when it holds.

A share in % of a metric with a unit is a share of the reference's value: of the reference control under the
same conditions, or of the file as written if there is no reference. All else has the grammar of `--expect`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shallows.attack.space import Space
from shallows.errors import Fault, SpecError
from shallows.statistics.expected import QUANTITIES, RELATIONS
from shallows.studies.outcomes import expectations
from shallows.studies.outcomes.expectations import Expectation
from shallows.tables import metric_names

_SHARE = re.compile(r"\s*(\S+?)\s*(<=|>=|<|>)\s*([0-9]+\.?[0-9]*(?:[eE][-+]?[0-9]+)?)\s*%\s*")
_SUFFIX = {"ps": "ps", "bps": "bps", "bytes": "B"}

__all__ = ["Objective", "read"]


@dataclass(frozen=True)
class Objective:
    """`expectation` has the bound, which for a share is a number without unit."""

    text: str
    expectation: Expectation
    share: bool

    @property
    def least(self) -> bool:
        """Whether small values are sought."""
        return self.expectation.relation in ("<", "<=")

    @property
    def bound(self) -> float:
        """The bound of `value`."""
        return self.expectation.bound

    def value(self, run: Mapping[str, Any], reference: Mapping[str, Any]) -> float | None:
        """The number that the search moves; None if the runs have no value of a metric."""
        wanted = self.expectation
        own = run.get(wanted.metric)
        other = reference.get(wanted.metric) if self.share else run.get(wanted.other) if wanted.other else 0
        if own is None or other is None:
            return None
        if self.share:
            return float(own) / float(other) if other else None
        return float(own) - wanted.factor * float(other)

    def holds(self, value: float | None) -> bool:
        """Whether a value fulfils the objective."""
        return value is not None and RELATIONS[self.expectation.relation](value, self.bound)

    def near(self, value: float | None, best: float, base: float) -> bool:
        """Whether a value keeps nine tenths of the way from the file as written to the best value."""
        if value is None or not self.holds(value):
            return False
        loss = value - best if self.least else best - value
        return loss <= 0.1 * abs(best - base)

    def absolute(self, reference: Mapping[str, Any]) -> str:
        """The objective as `run --expect` reads it, a share with the reference's measured value."""
        wanted = self.expectation
        if not self.share:
            return self.text.strip()
        bound = wanted.bound * float(reference[wanted.metric])
        return f"{wanted.metric} {wanted.relation} {bound:.0f}{_SUFFIX[metric_names.unit(wanted.metric)]}"


def read(text: str, space: Space) -> Objective:
    """The objective of a text. Raises SpecError for one that cannot fail or cannot be searched for."""
    [point] = space.points({})
    parts = _SHARE.fullmatch(text)
    share = parts is not None and metric_names.unit(parts[1]) in QUANTITIES
    asked = text
    if parts is not None and share:
        unit = _SUFFIX[metric_names.unit(parts[1])]
        asked = f"{parts[1]} {parts[2]} 1{unit}"
        if not float(parts[3]) > 0:
            raise SpecError([Fault("--against", "must have a share above zero", text)])
    [wanted] = expectations.read([asked], [point.experiment], "--against", point.summary)
    if wanted.relation in ("==", "!="):
        raise SpecError([Fault("--against", "must have one of < <= > >=, which give a direction", text)])
    if share and parts is not None:
        wanted = wanted._replace(text=text, bound=float(parts[3]) / 100)
    if space.reference and not share:
        rule = "must be a share in % of a metric with a unit, since --reference is given"
        raise SpecError([Fault("--against", rule, text, 'try "long.goodput_bps < 50 %"')])
    return Objective(text, wanted, share)
