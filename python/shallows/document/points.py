"""From one experiment file to its runs: sweep points times seeds, each a checked document.

`[sweep]` may hold `grid` (every combination, the first key slowest), `zip` (equally long lists, in step) and
`points` (an explicit list of tables); together they are multiplied in that order. Seeds vary fastest, and the
order is the same on every machine.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from shallows.document.check import check_with_memory
from shallows.document.named_files import remarks
from shallows.document.paths import Document, set_path
from shallows.document.places import program
from shallows.document.summary import DEFAULT, Summary, read_summary
from shallows.document.sweep import Labels, Settings, read_sweep
from shallows.errors import NOTHING, Fault, SpecError
from shallows.words import did_you_mean

MAX_RUNS = 100_000
"""More runs in one sweep are refused: the file most likely multiplies what it meant to walk in step."""

MAX_SEED = 2**63 - 1

IN_ORDER = ("port", "switch", "traffic")
"""Sections whose tables have names of the user's choice and are applied in the order of the file."""

__all__ = ["MAX_RUNS", "Point", "chosen", "expand", "key_of", "one_run", "read_seeds", "with_seeds"]


@dataclass(frozen=True)
class Point:
    """One run: its label in the sweep, the settings that the sweep varies, its seed, the complete experiment.

    `key` is a hash of the experiment without its title: two runs with the same key are the same run, however
    they are called. All seeds of a point share the label, which is empty where nothing is varied.
    """

    label: str
    params: Settings
    seed: int
    experiment: Document = field(repr=False)
    key: str = field(repr=False)
    memory: int = field(default=0, repr=False, compare=False)
    """Bytes that the run takes, by the checker's estimate; 0 if not known."""

    summary: Summary = field(default=DEFAULT, repr=False, compare=False)
    """The size bins and percentiles of its results."""

    remarks: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """Sentences about parts of the files that the experiment names and that the run has not."""

    labelled: bool = field(default=False, repr=False, compare=False)
    """Whether the sweep gives its points labels; without any a label is made of the settings."""


def key_of(experiment: Document) -> str:
    """The key of a resolved experiment: SHA-256 of its canonical JSON without title, in hex digits.

    The order of named tables is part of it: if several patterns set one thing of a port, the last decides.
    """
    return _key(_digest(experiment), experiment["seed"])


def _digest(experiment: Document) -> bytes:
    what = {key: value for key, value in experiment.items() if key not in ("title", "seed")}
    what |= {name: list(what[name].items()) for name in IN_ORDER if name in what}
    text = json.dumps(what, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).digest()


def _key(digest: bytes, seed: int) -> str:
    return hashlib.sha256(digest + str(seed).encode()).hexdigest()


def expand(document: Document) -> list[Point]:
    """All runs of a document, every one checked. Raises SpecError with all faults of all points at once."""
    document = copy.deepcopy(document)
    faults: list[Fault] = []
    for section in ("attack", "compare", "tune"):
        if section in document:
            rule, hint = "is a separate study, not part of a run", f"{program()} {section} FILE"
            faults.append(Fault(section, rule, document.pop(section), hint))
    seeds = read_seeds(document, faults)
    summary = read_summary(document, faults)
    factors, labels = read_sweep(document.pop("sweep", None), faults)
    size = math.prod(map(len, factors)) * max(len(seeds), 1)
    if size > MAX_RUNS:
        rule = f"describes {size} runs; at most {MAX_RUNS} are allowed"
        faults.append(Fault("sweep", rule, hint="put lists that vary together into zip, not grid"))
    if faults:
        raise SpecError(faults)
    points = []
    for combination in itertools.product(*factors):
        params = {path: value for step in combination for path, value in step.settings.items()}
        checked = _check_point(document, labels.of(combination, params), params, seeds, faults)
        points += [replace(point, summary=summary, labelled=labels.written) for point in checked]
    _report_twice(points, labels, faults)
    if faults:
        raise SpecError(faults)
    return points


def one_run(document: Document) -> Point:
    """The only run of a document. Raises SpecError if it has several, or none that is legal."""
    points = expand(document)
    if len(points) != 1:
        rule, hint = f"describes {len(points)} runs, not one", "sweep runs them all"
        raise SpecError([Fault("sweep" if "sweep" in document else "seeds", rule, NOTHING, hint, "conflict")])
    return points[0]


def with_seeds(document: Document, seeds: int | None) -> Document:
    """The document with the seeds 1 to `seeds` in place of its own; None leaves it as it is."""
    if seeds is None:
        return document
    return {key: value for key, value in document.items() if key != "seed"} | {"seeds": seeds}


def _check_point(
    document: Document, label: str, params: Settings, seeds: list[int], faults: list[Fault]
) -> list[Point]:
    one = copy.deepcopy(document)
    for path, value in params.items():
        try:
            set_path(one, path, copy.deepcopy(value))
        except SpecError as error:
            faults += error.faults
    # A seed is a whole number whatever else the experiment holds, so one check serves them all.
    experiment, found, memory = check_with_memory(one | {"seed": seeds[0]})
    faults += found
    if experiment is None:
        return []
    digest = _digest(experiment)
    told = tuple(remarks(one))
    return [
        Point(label, params, seed, experiment | {"seed": seed}, _key(digest, seed), memory, remarks=told)
        for seed in seeds
    ]


def _report_twice(points: list[Point], labels: Labels, faults: list[Fault]) -> None:
    """Different points must have different labels where labels were written."""
    bearers: dict[str, Settings] = {}
    for point in points if labels.written else ():
        if bearers.setdefault(point.label, point.params) != point.params:
            rule, hint = "two points have the same label", "make the label name a setting that differs"
            faults.append(Fault("sweep", rule, point.label, hint, "written-twice"))
            return


def read_seeds(document: Document, faults: list[Fault]) -> list[int]:
    """Takes `seeds` (a count, or a list) and `seed` out of the document; without either, seed 1."""
    alone = document.pop("seed", None)
    value = document.pop("seeds", None)
    if alone is not None:
        if value is not None:
            faults.append(Fault("seed", "cannot be given together with seeds", alone))
        value = [alone]
    if value is None:
        return [1]
    path = "seeds" if alone is None else "seed"
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= MAX_RUNS:
            faults.append(
                Fault(path, f"must be a number of runs from 1 to {MAX_RUNS}, or a list of seeds", value)
            )
            return [1]
        return list(range(1, value + 1))
    if not isinstance(value, list):
        faults.append(Fault(path, "must be a number of runs, or a list of seeds", value))
        return [1]
    if not value:
        faults.append(Fault(path, "is an empty list: nothing would run"))
    for seed in value:
        if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed <= MAX_SEED:
            faults.append(Fault(path, f"must hold whole numbers from 0 to {MAX_SEED}", seed))
        elif value.count(seed) > 1:
            faults.append(Fault(path, "holds a seed twice; a repeated run adds no information", seed))
    return value


def chosen(points: Sequence[Point], wanted: str) -> list[Point]:
    """The runs of one point: by its number from 1, or its label. Raises SpecError."""
    labels = list(dict.fromkeys(point.label for point in points))
    if wanted in labels:
        label = wanted
    elif wanted.isdigit() and 1 <= int(wanted[:9]) <= len(labels):
        label = labels[int(wanted) - 1]
    else:
        shown = ", ".join(f"{i} {label}" for i, label in enumerate(labels[:8], 1))
        rule = f"must be the number or label of a point: {shown}{' ...' if len(labels) > 8 else ''}"
        raise SpecError([Fault("--point", rule, wanted, did_you_mean(wanted, labels))])
    return [point for point in points if point.label == label]
