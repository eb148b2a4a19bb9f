"""The base of the generated classes of an experiment: they hold the written values and call the checker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from shallows.errors import Fault
    from shallows.execution.outcomes import Sweep
    from shallows.results.store import StoredRun


class Part(BaseModel):
    """A table of an experiment file. Settings that were not given stay out of the document."""

    # `from_` in Python is `from` in a file. Aliases are computed, so that type checkers see `from_` alone.
    model_config = ConfigDict(
        alias_generator=lambda name: name.rstrip("_"),
        extra="forbid",
        populate_by_name=True,
        strict=True,
        validate_assignment=True,
    )

    def to_document(self) -> dict[str, Any]:
        """The table as a file would hold it."""
        document = {}
        for name, field in type(self).model_fields.items():
            chosen = name in ("kind", "profile") and field.default is not None
            if name in self.model_fields_set or chosen:
                document[field.alias or name] = _plain(getattr(self, name))
        return document

    def with_settings(self, settings: Mapping[str, Any]) -> Self:
        """A copy with other values at dotted paths, as `--set` takes them."""
        from shallows.document.paths import set_path

        document = self.to_document()
        for path, value in settings.items():
            set_path(document, path, value)
        return type(self).model_validate(document)


class CustomPart(Part):
    """A component written in Python: its kind and its settings, which the checker knows from the module."""

    model_config = ConfigDict(extra="allow")

    kind: str

    def to_document(self) -> dict[str, Any]:
        """The table as a file would hold it."""
        return super().to_document() | {key: _plain(value) for key, value in (self.model_extra or {}).items()}


class WholeExperiment(Part):
    """The methods of a whole experiment, and the section that is read in Python."""

    linux: dict[str, Any] | None = None
    """The kernel of the backend linux and its settings (`LinuxTable`). Default: none."""

    def faults(self) -> list[Fault]:
        """Every rule that the experiment breaks, at all its sweep points; empty if it may be run."""
        from shallows.document.points import expand
        from shallows.errors import SpecError

        try:
            expand(self.to_document())
        except SpecError as error:
            return error.faults
        return []

    def check(self) -> Self:
        """The experiment itself, if it may be run. Raises SpecError with all faults."""
        from shallows.document.points import expand

        expand(self.to_document())
        return self

    def run(self, **options: Any) -> StoredRun:
        """Runs it; `options` are those of `shallows.run`."""
        from shallows.api import run

        return run(self, **options)

    def run_sweep(self, **options: Any) -> Sweep:
        """Runs every point and seed of it; `options` are those of `shallows.sweep`."""
        from shallows.api import sweep

        return sweep(self, **options)

    def _repr_html_(self) -> str:
        from shallows.results.notebook import of_experiment

        return of_experiment(self.to_document())


def _plain(value: Any) -> Any:
    if isinstance(value, Part):
        return value.to_document()
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value
