"""A figure's claims.toml, read strictly: the tables as models, and their claims."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from shallows.document import strict
from shallows.document.load import read_toml
from shallows.document.strict import Strict, refuse
from shallows.errors import NOTHING, Fault, SpecError
from shallows.studies.paper.claims import Cause, Claim, Kind, Relation, Value, Verdict
from shallows.studies.paper.claims_each import expanded
from shallows.studies.paper.readings import CauseKind
from shallows.words import did_you_mean

__all__ = ["read_claims"]

Text = Annotated[str, Field(min_length=1)]
Size = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _known_cause(kind: Any) -> Any:
    """The kind; the words "not found" alone are refused, since they say nothing of what was tried."""
    if kind == "not-found":
        rule = "must say what was tried"
        raise refuse("unknown-word", rule, 'write kind = "looked-for" with tried = ["...", "..."]')
    return kind


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
    """The key `cause`: why a claim differs. A claim's run shows it, or it is `open` or `looked-for`."""

    kind: Annotated[CauseKind, BeforeValidator(_known_cause)] = Field(description="the kind of cause")
    claim: str = Field("", description="the claim, as figure/id, whose run shows the cause")
    words: str = Field("", description="the cause in words")
    tried: list[Text] = Field([], description="what was tried and does not explain it")

    @model_validator(mode="after")
    def _whole(self) -> CauseTable:
        if self.kind == "looked-for":
            if not self.tried:
                raise refuse("missing", "is required: what was tried, as a list", value=None, at=("tried",))
            for key in ("claim", "words"):
                if getattr(self, key):
                    rule = "does not go with looked-for, which has `tried` alone"
                    raise refuse("conflict", rule, value=getattr(self, key), at=(key,))
            return self
        if self.tried:
            rule = "goes with looked-for alone"
            raise refuse("conflict", rule, value=self.tried, at=("tried",))
        if not self.words:
            raise refuse("missing", "is required: the cause in words", value=None, at=("words",))
        if not self.claim and self.kind != "open":
            rule = "is required: the claim, as figure/id, whose run shows the cause"
            raise refuse("missing", rule, value=None, at=("claim",))
        return self


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
    sentence: str = Field("", description="the document's own words")
    where: str = Field("", description="the place of the words in the document")
    full_only: str = Field("", description="why only the full form's grid decides it, in words")
    joint: list[Text] | None = Field(
        None, min_length=2, description="claims of the figure that must hold together under one reading"
    )

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
    places: dict[str, str] = {}
    figure = path.parent.name
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
                places[read.id] = at
                faults += _missing(read, at)
                claims.append(_claim(read, "" if isinstance(text, bool) else str(text)))
    faults += [fault for claim in claims for fault in _joint_faults(claim, claims, figure, places[claim.id])]
    if faults:
        raise SpecError(faults)
    return claims


def _missing(table: ClaimTable, at: str) -> Iterator[Fault]:
    """The keys that a claim of this kind and with these verdicts lacks."""
    if table.kind == "published":
        if not table.sentence.strip():
            rule = "is required for a published claim: the document's own words"
            hint = 'without them its kind is "implied" or "ours"'
            yield Fault(f"{at}.sentence", rule, NOTHING, hint, "missing")
        if not table.where.strip():
            rule = "is required for a published claim: the place of the words in the document"
            yield Fault(f"{at}.where", rule, NOTHING, 'such as "section 4, page 5"', "missing")
    recorded = table.expected.model_dump().values() if table.expected else ()
    if "differs" in recorded and table.cause is None:
        rule = 'is required where a recorded verdict is "differs"'
        hint = 'name a claim that shows it, or kind = "open" with words, or "looked-for" with tried'
        yield Fault(f"{at}.cause", rule, NOTHING, hint, "missing")


def _joint_faults(claim: Claim, claims: Sequence[Claim], figure: str, at: str) -> Iterator[Fault]:
    """The faults of a joint claim: names of no claim, and a published value other than true."""
    if not claim.joint:
        return
    single = [f"{figure}/{each.id}" for each in claims if not each.joint]
    for number, name in enumerate(claim.joint):
        if name not in single:
            rule = "must name a claim of this figure, as figure/id, that is no joint claim itself"
            hint = did_you_mean(name, single)
            yield Fault(f"{at}.joint[{number}]", rule, name, hint, "unknown-word")
    if claim.published is not True:
        rule = "must be true in a joint claim: its claims hold together under some reading"
        yield Fault(f"{at}.published", rule, claim.published, "published = true", "conflict")


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
        cause=_cause(table.cause) if table.cause else None,
        about=tuple(table.about),
        note=table.note,
        experiments=tuple(table.experiments),
        sentence=table.sentence,
        where=table.where,
        joint=tuple(table.joint or ()),
        full_only=table.full_only,
    )


def _cause(table: CauseTable) -> Cause:
    return Cause(table.kind, table.claim, table.words, tuple(table.tried))
