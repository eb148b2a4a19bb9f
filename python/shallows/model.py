"""What generated classes of `shallows.experiment` share: they hold what was written and ask the checker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from shallows.errors import Fault


class Part(BaseModel):
    """A table of an experiment file. Settings that were not given stay out of the document."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, strict=True, validate_assignment=True)

    def to_document(self) -> dict[str, Any]:
        """The table as a file would hold it."""
        document = {}
        for name, field in type(self).model_fields.items():
            if name in self.model_fields_set or name == "kind":
                document[field.alias or name] = _plain(getattr(self, name))
        return document

    def with_settings(self, settings: Mapping[str, Any]) -> Self:
        """A copy with other values at dotted paths, as `--set` takes them."""
        from shallows.spec import set_path

        document = self.to_document()
        for path, value in settings.items():
            set_path(document, path, value)
        return type(self).model_validate(document)


class WholeExperiment(Part):
    """What only a whole experiment can do."""

    def faults(self) -> list[Fault]:
        """Every rule that the experiment breaks, at all its sweep points; empty if it may be run."""
        from shallows.errors import SpecError
        from shallows.points import expand

        try:
            expand(self.to_document())
        except SpecError as error:
            return error.faults
        return []

    def check(self) -> Self:
        """The experiment itself, if it may be run. Raises SpecError with all faults."""
        from shallows.points import expand

        expand(self.to_document())
        return self


def _plain(value: Any) -> Any:
    if isinstance(value, Part):
        return value.to_document()
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value
