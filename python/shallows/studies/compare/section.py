"""The schemes of a comparison: each one experiment file, or settings over one shared file.

`docs/compare.md` has the grammar. A scheme may change transports, queues and probes. Another difference
(topology, traffic, duration ...) would make a comparison of unequals, and is refused unless allowed by name.
"""

from __future__ import annotations

import copy
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import Field

from shallows.document import strict
from shallows.document.load import load
from shallows.document.paths import Document, parse_value, set_path
from shallows.document.places import program
from shallows.document.points import Point, expand, with_seeds
from shallows.document.strict import Strict
from shallows.errors import Fault, SpecError, Written
from shallows.words import did_you_mean, show

MAX_SCHEMES = 32
"""Colours, tables and corrections for many comparisons end somewhere; more schemes are a sweep."""

FREE = ("title", "seed", "queue", "port_control", "nic", "probe", "transport", "python", "linux")
"""Sections that a scheme may choose; so are the transport of a load and the queue and control of a port."""

KERNEL = "linux.kernel"
"""A setting of a scheme that is not the experiment's: the kernel on which the Linux backend runs it."""

__all__ = ["KERNEL", "MAX_SCHEMES", "CompareTable", "Scheme", "Schemes", "read", "split_list", "varied"]


class CompareTable(Strict):
    """The section `[compare]`."""

    schemes: dict[str, dict[str, Any]] = Field({}, description="Settings of each scheme, by its name.")
    baseline: str | None = Field(
        None, description="The scheme that the others are compared with; by default the first."
    )
    metrics: list[str] = Field(
        [], description="The metrics to compare, * matches any text; by default the main ones."
    )
    allow: list[str] = Field([], description="Paths of settings that may differ between schemes.")


@dataclass(frozen=True)
class Scheme:
    """One side of a comparison: its name, its settings, and its runs, one a seed."""

    name: str
    settings: dict[str, Any]
    points: list[Point] = field(repr=False)
    kernel: str | None = None  # of the Linux backend


@dataclass(frozen=True)
class Schemes:
    """The request: schemes, seeds, metrics. The first scheme is the baseline."""

    title: str
    schemes: list[Scheme]
    metrics: list[str]
    allowed: list[str]
    idle: list[str] = field(default_factory=list)
    """Settings that were allowed to differ, and do not."""

    @property
    def seeds(self) -> list[int]:
        """The seeds that all share."""
        return [point.seed for point in self.schemes[0].points]


def read(
    experiments: Sequence[Any],
    *,
    settings: Sequence[str] = (),
    algorithms: Sequence[Any] = (),
    vary: Sequence[str] | Mapping[str, Sequence[Any]] = (),
    schemes: Sequence[str] | Mapping[str, Mapping[str, Any]] = (),
    baseline: str | None = None,
    metrics: Sequence[str] = (),
    allow: Sequence[str] = (),
    seeds: int | None = None,
) -> Schemes:
    """The schemes of the command line, every one checked. Raises SpecError with all faults.

    Each of `experiments` is a file, a table or an `Experiment`. `vary` and `schemes` are texts as the command
    line takes them, or tables.
    """
    faults: list[Fault] = []
    if not experiments:
        raise SpecError([Fault("compare", "needs an experiment")])
    documents = [load(experiment, settings, algorithms) for experiment in experiments]
    named = _names(experiments, documents)
    own = documents[0].pop("compare", None) if len(documents) == 1 else None
    for name, one, document in zip(named, experiments, documents, strict=True):
        file = one if isinstance(one, str | Path) else name
        for section, command in (("sweep", "sweep"), ("tune", "tune"), ("compare", "compare")):
            if section in document:
                rule = "must not be in one of several compared files"
                if section != "compare":
                    rule = f"belongs to {command}; compare takes one experiment per scheme"
                faults.append(Fault(f"{file}: {section}", rule, hint=f"{program()} {command} {file}"))
    table = CompareTable() if own is None else strict.read(CompareTable, own, "compare", faults)
    own = table or CompareTable()
    if len(experiments) > 1:
        for option, given in (("--vary", vary), ("--scheme", schemes)):
            if given:
                faults.append(Fault(option, "takes one FILE; with several, each file is a scheme"))
        written = {name: {} for name in named}
        sources = dict(zip(written, documents, strict=True))
    else:
        written = _written(own, schemes, vary, faults)
        sources = dict.fromkeys(written, documents[0])
    if not faults:
        _count(written, faults)
    if faults:
        raise SpecError(faults)
    chosen = baseline if baseline is not None else own.baseline
    found = [_scheme(name, sources[name], written[name], seeds, faults) for name in written]
    if faults:
        raise SpecError(faults)
    found = _baseline_first(found, chosen, faults)
    allowed = [*own.allow, *allow]
    used = _equal_conditions(found, allowed, faults)
    if faults:
        raise SpecError(faults)
    title = documents[0].get("title") or named[0] if len(named) == 1 else " and ".join(written)
    return Schemes(
        title, found, list(metrics) or own.metrics, allowed, [name for name in allowed if name not in used]
    )


def split_list(text: str) -> list[str]:
    """The parts of a text between commas; commas in quotes and brackets do not part."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        depth += (letter in "[{") - (letter in "]}") if not quote else 0
        if letter == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _written(
    own: CompareTable,
    given: Sequence[str] | Mapping[str, Mapping[str, Any]],
    vary: Sequence[str] | Mapping[str, Sequence[Any]],
    faults: list[Fault],
) -> dict[str, dict[str, Any]]:
    """Each scheme's settings by path: of the file, then of --scheme, then all that --vary multiplies."""
    found: dict[str, dict[str, Any]] = {}
    for name, settings in own.schemes.items():
        found[name] = dict(_paths(settings))
    for name, settings in given.items() if isinstance(given, Mapping) else ():
        if name in found:
            faults.append(Fault("--scheme", "has the name of another scheme", name))
        else:
            found[name] = dict(_paths(settings))
    for text in () if isinstance(given, Mapping) else given:
        name, equals, rest = text.partition("=")
        if not equals or not name.strip():
            faults.append(Fault("--scheme", "must be NAME=key=value,key=value", text))
        elif name.strip() in found:
            faults.append(Fault("--scheme", "has the name of another scheme", name.strip()))
        else:
            found[name.strip()] = _settings("--scheme", split_list(rest) if rest.strip() else [], faults)
    columns = varied(vary, faults)
    for combination in itertools.product(*columns) if columns else ():
        found[", ".join(_short(path, value) for path, value in combination)] = dict(combination)
    return found


def varied(
    vary: Sequence[str] | Mapping[str, Sequence[Any]], faults: list[Fault]
) -> list[list[tuple[str, Any]]]:
    """The settings that each `--vary` makes, as (path, value)."""
    columns = []
    for path, values in vary.items() if isinstance(vary, Mapping) else ():
        if isinstance(values, str) or len(values) < 2:
            faults.append(Fault("--vary", "must be a list of two values or more", values))
        else:
            columns.append([(path, value) for value in values])
    for text in () if isinstance(vary, Mapping) else vary:
        path, equals, rest = text.partition("=")
        values = split_list(rest) if rest.strip() else []
        if not equals or len(values) < 2:
            faults.append(Fault("--vary", "must be key=value,value with two values or more", text))
        else:
            columns.append([(path.strip(), _value(path.strip(), value)) for value in values])
    return columns


def _settings(option: str, texts: Sequence[str], faults: list[Fault]) -> dict[str, Any]:
    found = {}
    for text in texts:
        path, equals, value = text.partition("=")
        if equals and path.strip():
            found[path.strip()] = _value(path.strip(), value)
        else:
            faults.append(Fault(option, "must be NAME=key=value,key=value", text))
    return found


def _value(path: str, text: str) -> Any:
    """A value of the command line. A kernel's version is no number: 6.10 is not 6.1."""
    value = parse_value(text)
    return text if path == KERNEL and not isinstance(value, str) else value


def _short(path: str, value: Any) -> str:
    if isinstance(value, str) and path.split(".")[-1] in ("cc", "queue", "kind", "profile"):
        return value
    return f"{path.split('.')[-1]} {value if isinstance(value, str) else json.dumps(value)}"


def _paths(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Settings by path. A table that names its kind is a whole component; others are walked into."""
    for key, value in table.items():
        bare = not above or re.fullmatch(r"[A-Za-z0-9_-]+", key)
        path = f"{above}.{key if bare else json.dumps(key)}" if above else key
        if isinstance(value, dict) and value and "kind" not in value:
            yield from _paths(value, path)
        else:
            yield path, value


def _names(experiments: Sequence[Any], documents: Sequence[Document]) -> list[str]:
    """The experiments' names: those of their files, whole where two are alike, or their titles."""
    files = [str(one) if isinstance(one, str | Path) else "" for one in experiments]
    titles = [str(document.get("title") or "") for document in documents]
    stems = [Path(file).stem if file else title for file, title in zip(files, titles, strict=True)]
    return [
        stem if stem and stems.count(stem) == 1 else file or f"experiment {number}"
        for number, (stem, file) in enumerate(zip(stems, files, strict=True), 1)
    ]


def _count(written: Mapping[str, Any], faults: list[Fault]) -> None:
    if len(written) < 2:
        hint = "give a second FILE, --vary KEY=A,B, --scheme NAME=KEY=VALUE (NAME= is the file itself)"
        faults.append(Fault("compare", "needs at least two schemes", len(written), hint))
    if len(written) > MAX_SCHEMES:
        rule = f"describes {len(written)} schemes; at most {MAX_SCHEMES} are allowed"
        faults.append(Fault("compare", rule, hint=f"{program()} sweep"))


def _scheme(
    name: str, source: Document, settings: dict[str, Any], seeds: int | None, faults: list[Fault]
) -> Scheme:
    document = copy.deepcopy(source)
    kernel = settings.get(KERNEL)
    if kernel is not None and not isinstance(kernel, str):
        faults.append(Fault(f"{name}: {KERNEL}", "must be a text in quotes", kernel))
    document = with_seeds(document, seeds)
    points: list[Point] = []
    try:
        for path, value in settings.items():
            if path == KERNEL:
                continue
            set_path(document, path, copy.deepcopy(value))
        points = expand(document)
    except SpecError as error:
        faults += [replace(f, path=f"{name}: {f.path}") for f in error.faults]
    if len(points) == 1:
        hint = "seeds = 10 in the file, or --seeds 10"
        faults.append(Fault(f"{name}: seeds", "needs two seeds: one cannot show random variation", 1, hint))
    return Scheme(name, settings, points, kernel)


def _baseline_first(found: list[Scheme], chosen: str | None, faults: list[Fault]) -> list[Scheme]:
    names = [scheme.name for scheme in found]
    if chosen is None:
        return found
    if chosen not in names:
        rule = f"is not a scheme; the schemes are {', '.join(names)}"
        faults.append(Fault("baseline", rule, chosen, did_you_mean(chosen, names)))
        return found
    return sorted(found, key=lambda scheme: scheme.name != chosen)


def _equal_conditions(found: Sequence[Scheme], allowed: Sequence[str], faults: list[Fault]) -> set[str]:
    """All but transports, queues and probes must be equal, in every seed. Returns what `allowed` was used."""
    first = found[0]
    used: set[str] = set()
    for other in found[1:]:
        seeds = [[point.seed for point in scheme.points] for scheme in (first, other)]
        if seeds[0] != seeds[1]:
            rule = f"{first.name} and {other.name} have different ones; paired comparisons need the same"
            faults.append(Fault("seeds", rule, Written(f"{show(seeds[0])} and {show(seeds[1])}")))
            continue
        mine, theirs = (dict(_leaves(_conditions(s.points[0].experiment))) for s in (first, other))
        for path in dict.fromkeys([*mine, *theirs]):
            if mine.get(path) == theirs.get(path):
                continue
            by = [name for name in allowed if path == name or path.startswith(f"{name}.")]
            used |= set(by)
            if by:
                continue
            values = Written(f"{show(mine.get(path))} and {show(theirs.get(path))}")
            rule = f"differs between {first.name} and {other.name}, and a comparison needs equal conditions"
            hint = f"--allow {path} permits it"
            faults.append(Fault(path, rule, values, hint, "unequal"))
    return used


def _conditions(experiment: Document) -> Document:
    """An experiment without what a scheme is free to choose."""
    kept = {key: value for key, value in experiment.items() if key not in FREE}
    traffic, ports = experiment.get("traffic", {}), experiment.get("port", {})
    kept["traffic"] = {n: {k: v for k, v in load.items() if k != "transport"} for n, load in traffic.items()}
    # A port that is named for its queue alone is like one that is not named.
    kept["port"] = {
        name: {k: v for k, v in port.items() if k not in FREE and v and v not in ("none", "0s")}
        for name, port in ports.items()
    }
    return kept


def _leaves(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        path = f"{above}.{key}" if above else key
        if isinstance(value, dict):
            yield from _leaves(value, path)
        else:
            yield path, value
