"""A figure's claims.toml, read strictly: the tables as models, and their claims."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from shallows.document import strict
from shallows.document.load import read_toml
from shallows.document.strict import Strict, refuse
from shallows.errors import Fault, SpecError
from shallows.studies.paper.claims import Cause, Claim, Kind, Relation, Value, Verdict
from shallows.studies.paper.claims_each import expanded
from shallows.studies.paper.readings import Shown

__all__ = ["read_claims"]

Text = Annotated[str, Field(min_length=1)]
Size = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ToleranceTable(Strict):
    """The key `tolerance`: how far the source's number may be from ours, and the reason."""

    absolute: Size | None = Field(None, description="a distance in the claim's unit")
    relative: Size | None = Field(None, description="a share of the published number")
    because: Text = Field(description="the origin of the tolerance in the source")
    single_run: bool = Field(False, description="whether the source's number is from one random run")

    @model_validator(mode="after")
    def _one_size(self) -> ToleranceTable:
        if (self.absolute is None) == (self.relative is None):
            raise refuse("conflict", "must have one of absolute, relative", value=None)
        return self


class CauseTable(Strict):
    """The key `cause`: why a claim differs, with the claim whose run shows it."""

    kind: Shown = Field(description="the kind of cause")
    claim: Text = Field(description="the claim, as figure/id, whose run shows the cause")
    words: Text = Field(description="the cause in words")


class ExpectedTable(Strict):
    """The key `expected`: the recorded verdicts. On Linux the simulator's, unless written."""

    full: Verdict | None = None
    quick: Verdict | None = None
    linux_full: Verdict | None = Field(None, alias="linux-full")
    linux_quick: Verdict | None = Field(None, alias="linux-quick")


def _published(value: Any) -> Value:
    if value is not None and not isinstance(value, bool | int | float):
        raise refuse("wrong-type", "must be a number, true or false")
    if value != value or value in (float("inf"), float("-inf")):
        raise refuse("out-of-range", "must be finite")
    return value


class ClaimTable(Strict):
    """An entry `[[claim]]`, or one of those that its `each` makes (`claims_each`)."""

    id: Text = Field(description="a name that no other claim of the file has")
    statement: Text = Field(description="the statement of the source")
    kind: Kind = Field(description="published, implied or ours")
    published: Annotated[Any, AfterValidator(_published)] = None
    unit: str = ""
    relation: Relation = "equals"
    tolerance: ToleranceTable | None = Field(None, validate_default=True)
    deterministic: bool = False
    expected: ExpectedTable | None = None
    holds_if: str = ""
    cause: CauseTable | None = None
    about: list[str] = Field(["*"], description="the experiments that it rests on; an empty list: none")
    experiments: list[Text] = Field(
        ["*"], min_length=1, description="the experiments, or their points, on whose runs it is measured"
    )
    note: str = ""

    @field_validator("tolerance")
    @classmethod
    def _for_a_number(cls, given: ToleranceTable | None, info: ValidationInfo) -> ToleranceTable | None:
        published = info.data.get("published", ...)
        is_number = not isinstance(published, bool) and published is not None
        if given is None and is_number and published is not ...:
            raise refuse("missing", "is required for a published number", value=None)
        if given is not None and not is_number:
            raise refuse("conflict", "requires a published number", value=None)
        return given


class ClaimsFile(Strict):
    """The whole file. A claim is read as `ClaimTable` when its `each` is expanded."""

    claim: list[dict[str, Any]] = Field([])


def read_claims(path: Path) -> list[Claim]:
    """The claims of a claims.toml, in its order. Errors: SpecError with every fault of the file."""
    document = read_toml(path)
    faults: list[Fault] = []
    if strict.read(ClaimsFile, document, "", faults) is None:
        raise SpecError(faults)
    # The published numbers with the digits of the source: 73.80 is more than 73.8.
    digits = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=str)
    claims, ids = [], []
    for number, table in enumerate(document.get("claim", [])):
        at = f"claim[{number}]"
        members = expanded(table, at, faults)
        written = expanded(digits["claim"][number], at, []) if members else []
        for one, as_written in zip(members, written, strict=True):
            read = strict.read(ClaimTable, one, at, faults)
            name = one.get("id")
            if name is not None and name in ids:
                faults.append(Fault(f"{at}.id", "must be written once", name, "", "written-twice"))
            ids.append(name)
            text = as_written.get("published", "")
            if read is not None:
                claims.append(_claim(read, "" if isinstance(text, bool) else str(text)))
    if faults:
        raise SpecError(faults)
    return claims


def _claim(table: ClaimTable, digits: str) -> Claim:
    tolerance = table.tolerance
    distance = tolerance.absolute if tolerance else None
    if tolerance and tolerance.relative is not None:
        distance = tolerance.relative * abs(table.published)
    return Claim(
        id=table.id,
        statement=table.statement,
        kind=table.kind,
        published=table.published,
        published_text=digits,
        unit=table.unit,
        relation=table.relation,
        tolerance=distance,
        tolerance_because=tolerance.because if tolerance else "",
        single_run=tolerance.single_run if tolerance else False,
        deterministic=table.deterministic,
        expected=table.expected.model_dump(by_alias=True, exclude_none=True) if table.expected else {},
        holds_if=table.holds_if,
        cause=Cause(**table.cause.model_dump()) if table.cause else None,
        about=tuple(table.about),
        note=table.note,
        experiments=tuple(table.experiments),
    )
