"""Variants of an experiment in TOML: `variants.toml` of a figure, and settings that a paper's figures share.

`[variant.NAME]` takes an experiment file or another variant and sets dotted paths over it. `[settings.NAME]`
gives such paths a name. `docs/claims.md` has the format with an example.
"""

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from shallows.document.load import read_toml
from shallows.document.strict import Strict, read
from shallows.errors import Fault, SpecError
from shallows.words import did_you_mean

__all__ = ["FILE", "read_settings", "read_variants"]

FILE = "variants.toml"
"""The file's name: a figure's has variants and settings, a paper's settings alone."""

Changes = dict[str, Any]


class Variant(Strict):
    """One variant, or with `each` one for each of these settings, "*" in its name standing for theirs."""

    of: str = Field(description="an experiment file beside this one, or a variant of this file")
    use: list[str] = Field(default_factory=list, description="settings to apply by name, the last decides")
    each: list[str] = Field(default_factory=list, description="one variant for each of these settings")
    set: Changes = Field(default_factory=dict, description="dotted paths set over it, after the settings")


class Variants(Strict):
    """The file."""

    settings: dict[str, Changes] = Field(default_factory=dict, description="dotted paths by name")
    variant: dict[str, Variant] = Field(default_factory=dict, description="experiments by name")


def read_settings(directory: Path) -> dict[str, Changes]:
    """`[settings.NAME]` of the directory's variants.toml; none without the file. Errors: SpecError."""
    return copy.deepcopy(_file(directory).settings)


def read_variants(beside: Path | str) -> dict[str, tuple[str, Changes]]:
    """By name, each variant's experiment file and what is set over it, in the order of the file.

    `beside`: the figure's directory, or a file in it, such as the `__file__` of its figure.py. The paper's
    settings, one directory up, may be used as the figure's own. Errors: SpecError with every fault of the
    file.
    """
    directory = Path(beside) if Path(beside).is_dir() else Path(beside).parent
    document = _file(directory)
    settings = _file(directory.parent).settings | document.settings
    faults: list[Fault] = []
    made: dict[str, tuple[str, Changes]] = {}
    for name, variant in document.variant.items():
        for one, use in _members(name, variant, faults):
            if one in made:
                faults.append(Fault(f"variant.{name}", "makes a variant that there is already", one))
            made[one] = _made(f"variant.{name}", variant, use, settings, made, faults)
    if faults:
        raise SpecError([Fault(f"{FILE}: {f.path}", f.rule, f.value, f.hint, f.code) for f in faults])
    return made


def _file(directory: Path) -> Variants:
    path = directory / FILE
    if not path.exists():
        return Variants()
    faults: list[Fault] = []
    document = read(Variants, read_toml(path), "", faults)
    if document is None:
        raise SpecError([Fault(f"{FILE}: {f.path}", f.rule, f.value, f.hint, f.code) for f in faults])
    return document


def _members(name: str, variant: Variant, faults: list[Fault]) -> list[tuple[str, list[str]]]:
    """The variants that a table makes, each with the settings that it uses."""
    if bool(variant.each) != ("*" in name):
        rule = 'needs "*" in its name exactly if it has each'
        faults.append(Fault(f"variant.{name}", rule))
        return []
    if not variant.each:
        return [(name, variant.use)]
    return [(name.replace("*", one), [one, *variant.use]) for one in variant.each]


def _made(
    at: str,
    variant: Variant,
    use: list[str],
    settings: Mapping[str, Changes],
    above: Mapping[str, tuple[str, Changes]],
    faults: list[Fault],
) -> tuple[str, Changes]:
    """A variant's file and changes. `above`: the variants that it may be made of."""
    file, changes = variant.of, Changes()
    if not file.endswith(".toml"):
        if file not in above:
            rule = "must name an experiment file (.toml) or a variant above it"
            faults.append(Fault(f"{at}.of", rule, file, did_you_mean(file, above)))
            return file, {}
        file, changes = copy.deepcopy(above[file])
    for one in use:
        if one not in settings:
            hint = did_you_mean(one, settings)
            faults.append(Fault(at, "uses settings that are not declared", one, hint))
        changes |= copy.deepcopy(settings.get(one, {}))
    return file, changes | copy.deepcopy(variant.set)
