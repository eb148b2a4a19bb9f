"""A figure as its figure.py declares it: `FIGURE = Figure(specs=..., measure=measure, ...)`.

Every field is checked when the file is read. `docs/claims.md` explains them with examples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field, Strict, ValidationError

from shallows.document.strict import Strict as Table
from shallows.document.strict import faults_of, refuse
from shallows.errors import SpecError
from shallows.execution.backends import NAMES
from shallows.words import did_you_mean

__all__ = ["Figure", "Spec", "checked_specs"]

Spec = str | tuple[str, Mapping[str, Any]]
"""An experiment file beside figure.py, or such a file and a dict of dotted paths to set in it."""

Names = Annotated[tuple[str, ...], Strict(False)]


def checked_specs(given: Any) -> Any:
    """The experiments by name, as given. Raises a refusal (`strict.refuse`) for the first that is none."""
    if not isinstance(given, Mapping):
        raise refuse("wrong-type", "must be a dict of experiments by name, or a function that returns one")
    for name, spec in given.items():
        file, changes = spec if isinstance(spec, tuple) and len(spec) == 2 else (spec, {})
        if not isinstance(name, str):
            raise refuse("wrong-type", "must have a text for each experiment's name", value=name)
        if not (isinstance(file, str) and file.endswith(".toml") and isinstance(changes, Mapping)):
            rule = "must be an experiment file (.toml), or such a file and a dict of dotted paths to set"
            raise refuse("wrong-type", rule, value=spec, at=(name,))
        if unknown := [key for key in changes if not isinstance(key, str)]:
            raise refuse("wrong-type", "must have texts as paths", value=unknown[0], at=(name,))
    return given


def _specs(given: Any) -> Any:
    return given if callable(given) else checked_specs(given)


def _of_backends(given: dict[str, Any]) -> dict[str, Any]:
    for name in given:
        if name not in NAMES:
            hint = did_you_mean(name, NAMES)
            raise refuse("unknown-word", f"must be one of {', '.join(NAMES)}", hint, name)
    return given


def _a_table(given: str) -> str:
    if given and not given.endswith(".csv"):
        raise refuse("wrong-form", "must be a CSV file (.csv)")
    return given


class Figure(Table):
    """The figure or table that a directory reproduces: its experiments, its functions, its texts.

    Errors: SpecError with every unknown, missing or ill-typed field.
    """

    specs: Annotated[Any, AfterValidator(_specs)] = Field(
        description="the experiments: a dict by name, or a function of the reading that returns one"
    )
    """By name, a file or `(file, {"dotted.path": value})`; `{}` for closed forms. A function gets what
    readings.toml gives for each dimension. `read_variants(__file__)` has those of variants.toml."""

    measure: Callable[..., Any] = Field(
        description="a function of the runs that returns the measured values by claim"
    )
    """`measure(runs)`: by claim id a number, a boolean, None, an Estimate, a list with a sample a seed, or a
    Measured."""

    draw: Callable[..., Any] | None = Field(None, description="a function that returns drawings by name")
    """`draw(runs, reference)`: by name, a matplotlib figure. `reference`: the published numbers or None."""

    tables: Callable[..., Any] | None = Field(None, description="a function that returns tables by title")
    """`tables(runs)`: by title, a polars DataFrame."""

    numbers: Callable[..., Any] | None = Field(None, description="a function that returns numbers by name")
    """`numbers(runs)`: by name, results that texts use beside claims: a value, or a value and its unit."""

    shows: dict[str, Names] = Field({}, description="by drawing or table, the claims that it shows")
    """Patterns of claims' ids by the name of a drawing or the title of a table."""

    captions: dict[str, str] = Field({}, description="captions of drawings by name")

    folded: Names = Field((), description="drawings and tables that the report folds away")

    settings: dict[str, Any] = Field({}, description="settings that texts name beside those of experiments")
    """Any numbers and texts by a name for readers, such as `{"margin": "5 %"}`."""

    samples: Literal["seeds", "batches"] = Field("seeds", description="what an interval is made of")
    """`batches`: parts of one long run."""

    seeded: Names = Field((), description="with batches, the claims whose runs have seeds")
    """Patterns of claims' ids."""

    beyond: bool = Field(False, description="whether the figure is new knowledge beyond the document")
    """All its claims are `ours`, and the report shows it under "Beyond the document"."""

    backends: Annotated[dict[str, str], AfterValidator(_of_backends)] = Field(
        {}, description="backends that cannot run the figure, each with the reason"
    )

    reference: Annotated[str, AfterValidator(_a_table)] = Field(
        "", description="a CSV file of published numbers; default: reference.csv, if it is there"
    )

    most_seeds: Annotated[dict[str, Annotated[int, Field(ge=0)]], AfterValidator(_of_backends)] = Field(
        {}, description="by backend, the most seeds of an undecided claim in the full form"
    )

    if not TYPE_CHECKING:  # editors complete the fields

        def __init__(self, **fields: Any) -> None:
            try:
                super().__init__(**fields)
            except ValidationError as error:
                raise SpecError(faults_of(error, Figure, "FIGURE")) from None
