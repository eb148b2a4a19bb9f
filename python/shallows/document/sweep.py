"""The `[sweep]` section: varied settings, and the labels of its points.

A point's label comes from `label` in `points` and `zip`, from `{ label = ..., value = ... }` in `grid`, or
from the pattern `label` of the section; else it is made of the varied settings.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, field_validator, model_validator

from shallows.document.paths import flatten, split_path
from shallows.document.strict import Strict, read, refuse
from shallows.errors import Fault
from shallows.words import did_you_mean

Settings = dict[str, Any]

__all__ = ["Labels", "Settings", "Step", "SweepTable", "read_sweep"]


@dataclass(frozen=True)
class Step:
    """The settings that one factor of a sweep makes at once, and its label if it was given one."""

    settings: Settings
    label: str | None = None


def _columns(table: Any) -> Any:
    """Lists by path: `grid.queue.mark_at = [...]` written as tables means the same as `"queue.mark_at"`."""
    return dict(flatten(table)) if isinstance(table, dict) else table


Columns = Annotated[
    dict[str, Annotated[list[Any], Field(min_length=1)]],
    BeforeValidator(_columns),
    Field(min_length=1),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": ["array", "object"]}}),
]


def _row_sets(row: Settings) -> Settings:
    if not row.keys() - {"label"}:
        raise refuse("empty", "must be a table that sets something besides its label")
    if not isinstance(row.get("label", ""), str):
        raise refuse("wrong-type", "must be a text", value=row["label"], at=("label",))
    return row


Row = Annotated[Settings, AfterValidator(_row_sets)]


def _has_label(value: Any) -> bool:
    """Whether a value of a grid is written as `{ label = "CoDel", value = { kind = "codel" } }`."""
    return isinstance(value, dict) and set(value) == {"label", "value"}


class SweepTable(Strict):
    """The variation of a sweep. `grid`, `zip` and `points` multiply; seeds vary fastest."""

    grid: Columns | None = Field(
        None, description="Lists by path; every combination is a point, the first key varies slowest."
    )
    zip: Columns | None = Field(
        None, description="Lists by path, equally long, taken in step; a list `label` names the points."
    )
    points: Annotated[list[Row], Field(min_length=1)] | None = Field(
        None, description="A list of tables of settings by path; `label` names a point."
    )
    label: str | None = Field(
        None,
        description="Pattern of the labels: {path} or its last key stands for a value, {label} for a label.",
    )

    @field_validator("zip")
    @classmethod
    def _equally_long(cls, given: Columns | None) -> Columns | None:
        lengths = {path: len(values) for path, values in (given or {}).items()}
        if len(set(lengths.values())) > 1:
            raise refuse("unequal", "must hold lists of the same length", value=lengths)
        return given

    @field_validator("grid", "zip")
    @classmethod
    def _labels_are_texts(cls, given: Columns | None) -> Columns | None:
        for path, values in (given or {}).items():
            for value in values:
                label = value.get("label", "") if _has_label(value) else value if path == "label" else ""
                if not isinstance(label, str):
                    raise refuse("wrong-type", "must have text as its label", value=label, at=(path,))
        return given

    @model_validator(mode="after")
    def _varies(self) -> SweepTable:
        if self.grid is None and self.zip is None and self.points is None:
            raise refuse("empty", "is empty; remove the table for a single run")
        paths = [
            path for factor in self.factors() for path in {p: 0 for step in factor for p in step.settings}
        ]
        for path in paths:
            if path.split(".")[0] in ("seed", "seeds", "summary", "sweep"):
                raise refuse("conflict", "cannot be varied; seeds has its own key", at=(path,), value=None)
            if paths.count(path) > 1:
                raise refuse("written-twice", "is varied in two places", at=(path,), value=None)
        return self

    def factors(self) -> list[list[Step]]:
        """The lists of steps to multiply: one for each key of grid, one for zip, one for points."""
        found = [[_value(path, value) for value in values] for path, values in (self.grid or {}).items()]
        if self.zip is not None:
            rows = zip(*self.zip.values(), strict=True)
            found.append([_row(dict(zip(self.zip, row, strict=True))) for row in rows])
        if self.points is not None:
            found.append([_row(row) for row in self.points])
        return found


def _value(path: str, value: Any) -> Step:
    return Step({path: value["value"]}, value["label"]) if _has_label(value) else Step({path: value})


def _row(row: Settings) -> Step:
    return Step({path: value for path, value in row.items() if path != "label"}, row.get("label"))


def read_sweep(table: Any, faults: list[Fault]) -> tuple[list[list[Step]], Labels]:
    """The lists of steps to multiply, and what makes labels. Without a table there is one empty point."""
    sweep = None if table is None else read(SweepTable, table, "sweep", faults)
    factors = sweep.factors() if sweep else []
    return factors, Labels(factors, sweep.label if sweep else None, faults)


class Labels:
    """Makes the labels of a sweep's points. `written`: whether the file has any."""

    def __init__(self, factors: Sequence[Sequence[Step]], pattern: str | None, faults: list[Fault]):
        steps = list(itertools.chain.from_iterable(factors))
        paths = list(dict.fromkeys(path for step in steps for path in step.settings))
        lasts = [split_path(path)[-1] for path in paths]
        self._short = {p: n if lasts.count(n) == 1 else p for p, n in zip(paths, lasts, strict=True)}
        self._pattern = pattern
        self.written = pattern is not None or any(step.label is not None for step in steps)
        known = list(dict.fromkeys([*paths, *self._short.values(), "label"]))
        for name in re.findall(r"\{([^{}]*)\}", pattern or ""):
            if name not in known:
                rule = f"names a setting that does not vary; known: {', '.join(known)}"
                hint = did_you_mean(name, known)
                faults.append(Fault("sweep.label", rule, f"{{{name}}}", hint, "unknown-word"))

    def of(self, combination: Sequence[Step], params: Mapping[str, Any]) -> str:
        """The label of one combination."""
        own = ", ".join(filter(None, map(self._of_step, combination)))
        if self._pattern is None:
            return own
        values = {"label": own} | {self._short[path]: _plain(value) for path, value in params.items()}
        values |= {path: _plain(value) for path, value in params.items()}
        return re.sub(r"\{([^{}]*)\}", lambda found: values.get(found[1], found[0]), self._pattern)

    def _of_step(self, step: Step) -> str:
        if step.label is not None:
            return step.label
        return ", ".join(f"{self._short[path]} {_plain(value)}" for path, value in step.settings.items())


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
