"""A paper's paper.toml: its author, year, title and link, its headline, and its key figure.

The headline is one or two sentences, whose values come from claims: `{{ fig6/gain-30 }}` is a measured value,
`{{ published: fig6/gain-30 }}` the document's, `{{ verdict: fig6/gain-30 }}` the verdict in words. So no
result is typed. `docs/claims.md` has an example.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from shallows.document import strict
from shallows.document.load import read_toml
from shallows.document.strict import Strict
from shallows.errors import Fault, SpecError
from shallows.studies.paper import prose
from shallows.words import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shallows.studies.paper.study import Study

__all__ = ["FILE", "About", "check", "composed", "read_about"]

FILE = "paper.toml"

Text = Annotated[str, Field(min_length=1)]


class About(Strict):
    """A paper.toml: the document, its headline and its key figure."""

    author: Text = Field(description="the authors, or the institution")
    year: int | None = Field(None, ge=1900, le=2100, description="the year of the document")
    title: Text = Field(description="the document's title")
    link: str = Field("", pattern=r"^(https?://\S+)?$", description="the document's address")
    headline: Text = Field(description="one or two sentences with values of claims")
    figure: str = Field("", description="the key figure, as figure/drawing")


def read_about(paper: Path) -> About | None:
    """The paper.toml in a paper's directory; None without one. Error: SpecError with all faults."""
    path = paper / FILE
    if not path.exists():
        return None
    faults: list[Fault] = []
    read = strict.read(About, read_toml(path), "", faults)
    if read is None:
        raise SpecError([Fault(f"{FILE}: {f.path}", f.rule, f.value, f.hint, f.code) for f in faults])
    return read


def check(about: About, figures: Sequence[Study]) -> list[Fault]:
    """The names in a paper.toml that no claim and no figure has. `figures`: all of the paper."""
    ids = [f"{figure.name}/{claim.id}" for figure in figures for claim in figure.claims]
    counting = {figure.name for figure in figures if figure.declared.numbers}
    faults = []
    for name in dict.fromkeys(prose.slots(about.headline)):
        if name not in ids and name.partition("/")[0] not in counting:
            rule, hint = "must name a claim of the paper", did_you_mean(name, ids)
            faults.append(Fault(f"{FILE}: headline", rule, name, hint, "not-found"))
    names = [figure.name for figure in figures]
    if about.figure and about.figure.partition("/")[0] not in names:
        rule, hint = "must name a figure of the paper", did_you_mean(about.figure.partition("/")[0], names)
        faults.append(Fault(f"{FILE}: figure", rule, about.figure, hint, "not-found"))
    return faults


def composed(about: About, known: Mapping[str, Mapping[str, Any]]) -> str:
    """The headline with its values; "" where some of its claims were not run in this call."""
    if any(name not in known for name in prose.slots(about.headline)):
        return ""
    return prose.fill(about.headline, known)
