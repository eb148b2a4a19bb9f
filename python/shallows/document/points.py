"""From one experiment file to its runs: sweep points times seeds, each a checked document.

`[sweep]` may hold `grid` (every combination, the first key slowest), `zip` (equally long lists, in step) and
`points` (an explicit list of tables); together they are multiplied in that order. Seeds vary fastest, and the
order is the same on every machine. Every point has a label: from `label` in `points` and `zip`, from
`{ label = ..., value = ... }` in `grid`, from the pattern `label` of `[sweep]`, or else of what is varied.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

from shallows.document.check import check
from shallows.document.paths import Document, set_path, split_path
from shallows.errors import Fault, SpecError
from shallows.words import did_you_mean, show

MAX_RUNS = 100_000
"""More runs in one sweep are refused: the file most likely multiplies what it meant to walk in step."""

MAX_SEED = 2**63 - 1

Settings = dict[str, Any]

__all__ = ["MAX_RUNS", "Point", "expand", "key_of", "one_run", "read_seeds"]


@dataclass(frozen=True)
class Point:
    """One run: its label in the sweep, the settings that the sweep varies, its seed, the complete experiment.

    `key` is a hash of the experiment without its title: two runs with the same key are the same run, whatever
    they are called. All seeds of a point share the label, which is empty where nothing is varied.
    """

    label: str
    params: Settings
    seed: int
    experiment: Document = field(repr=False)
    key: str = field(repr=False)


def key_of(experiment: Document) -> str:
    """The key of a resolved experiment: SHA-256 of its canonical JSON without title, in hex digits."""
    return _key(_digest(experiment), experiment["seed"])


def _digest(experiment: Document) -> bytes:
    what = {key: value for key, value in experiment.items() if key not in ("title", "seed")}
    text = json.dumps(what, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).digest()


def _key(digest: bytes, seed: int) -> str:
    return hashlib.sha256(digest + str(seed).encode()).hexdigest()


@dataclass(frozen=True)
class _Step:
    """What one factor of a sweep sets at once, and its label if it was given one."""

    settings: Settings
    label: str | None = None


def expand(document: Document) -> list[Point]:
    """All runs of a document, every one checked. Raises SpecError with all faults of all points at once."""
    document = copy.deepcopy(document)
    faults: list[Fault] = []
    for section in ("compare", "tune"):
        if section in document:
            rule, hint = "is a study of its own, not part of a run", f"./shallows {section} FILE"
            faults.append(Fault(section, rule, show(document.pop(section)), hint))
    seeds = read_seeds(document, faults)
    table = document.pop("sweep", None)
    factors = _factors(table, faults)
    labels = _Labels(factors, table, faults)
    size = math.prod(map(len, factors)) * max(len(seeds), 1)
    if size > MAX_RUNS:
        rule = f"describes {size} runs, and more than {MAX_RUNS} are refused"
        faults.append(Fault("sweep", rule, hint="lists that belong together go into zip, not grid"))
    if faults:
        raise SpecError(faults)
    points = []
    for combination in itertools.product(*factors):
        params = {path: value for step in combination for path, value in step.settings.items()}
        points += _check_point(document, labels.of(combination, params), params, seeds, faults)
    labels.report_twice(points, faults)
    if faults:
        raise SpecError(faults)
    return points


def one_run(document: Document) -> Point:
    """The only run of a document. Raises SpecError if it has several, or none that is legal."""
    points = expand(document)
    if len(points) != 1:
        raise SpecError(
            [Fault("sweep" if "sweep" in document else "seeds", f"describes {len(points)} runs, not one")]
        )
    return points[0]


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
    experiment, found = check(one | {"seed": seeds[0]})
    faults += found
    if experiment is None:
        return []
    digest = _digest(experiment)
    return [Point(label, params, seed, experiment | {"seed": seed}, _key(digest, seed)) for seed in seeds]


class _Labels:
    """The labels of a sweep's points."""

    def __init__(self, factors: list[list[_Step]], table: Any, faults: list[Fault]):
        paths = list(dict.fromkeys(path for factor in factors for step in factor for path in step.settings))
        lasts = [split_path(path)[-1] for path in paths]
        self._short = {p: n if lasts.count(n) == 1 else p for p, n in zip(paths, lasts, strict=True)}
        self._given = any(step.label is not None for factor in factors for step in factor)
        self._pattern = table.get("label") if isinstance(table, dict) else None
        if self._pattern is None:
            return
        if not isinstance(self._pattern, str):
            faults.append(Fault("sweep.label", "must be a text with {paths}", show(self._pattern)))
            self._pattern = None
            return
        known = [*paths, *self._short.values(), "label"]
        for name in re.findall(r"\{([^{}]*)\}", self._pattern):
            if name not in known:
                rule = f"names nothing that is varied; known: {', '.join(dict.fromkeys(known))}"
                faults.append(Fault("sweep.label", rule, f"{{{name}}}", did_you_mean(name, known)))

    def of(self, combination: tuple[_Step, ...], params: Settings) -> str:
        """The label of one combination."""
        own = ", ".join(filter(None, map(self._of_step, combination)))
        if self._pattern is None:
            return own
        values = {"label": own} | {self._short[path]: _plain(value) for path, value in params.items()}
        values |= {path: _plain(value) for path, value in params.items()}
        return re.sub(r"\{([^{}]*)\}", lambda found: values.get(found[1], found[0]), self._pattern)

    def _of_step(self, step: _Step) -> str:
        if step.label is not None:
            return step.label
        return ", ".join(f"{self._short[path]} {_plain(value)}" for path, value in step.settings.items())

    def report_twice(self, points: list[Point], faults: list[Fault]) -> None:
        """Different points must have different labels where labels were written."""
        if not self._given and self._pattern is None:
            return
        bearers: dict[str, Settings] = {}
        for point in points:
            if bearers.setdefault(point.label, point.params) != point.params:
                rule = "two points of the sweep have the same label"
                fault = Fault("sweep", rule, show(point.label), "name in it what tells them apart")
                if fault not in faults:
                    faults.append(fault)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def read_seeds(document: Document, faults: list[Fault]) -> list[int]:
    """Takes `seeds` (a count, or a list) and `seed` out of the document; without either, seed 1."""
    alone = document.pop("seed", None)
    value = document.pop("seeds", None)
    if alone is not None:
        if value is not None:
            faults.append(Fault("seed", "stands beside seeds; write only one of them", str(alone)))
        value = [alone]
    if value is None:
        return [1]
    path = "seeds" if alone is None else "seed"
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= MAX_RUNS:
            faults.append(
                Fault(path, f"must be a number of runs from 1 to {MAX_RUNS}, or a list of seeds", str(value))
            )
            return [1]
        return list(range(1, value + 1))
    if not isinstance(value, list):
        faults.append(Fault(path, "must be a number of runs, or a list of seeds", show(value)))
        return [1]
    if not value:
        faults.append(Fault(path, "is an empty list: nothing would run"))
    for seed in value:
        if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed <= MAX_SEED:
            faults.append(Fault(path, f"must hold whole numbers from 0 to {MAX_SEED}", show(seed)))
        elif value.count(seed) > 1:
            faults.append(Fault(path, "holds a seed twice; the same run again says nothing new", str(seed)))
    return value


def _factors(sweep: Any, faults: list[Fault]) -> list[list[_Step]]:
    """The lists of steps to multiply. A list for each key of grid, one for zip, one for points."""
    if sweep is None:
        return []
    if not isinstance(sweep, dict):
        faults.append(Fault("sweep", "must be a table with grid, zip or points", show(sweep)))
        return []
    known = ("grid", "zip", "points", "label")
    for key in sweep:
        if key not in known:
            rule = f"unknown key; known: {', '.join(known)}"
            faults.append(Fault(f"sweep.{key}", rule, show(key), did_you_mean(key, known)))
    if not any(key in sweep for key in known[:3]):
        faults.append(Fault("sweep", "is empty: nothing would vary; leave the table out for a single run"))
    factors: list[list[_Step]] = []
    if "grid" in sweep:
        columns = _columns("sweep.grid", sweep["grid"], faults)
        factors += [[_grid_step(path, value, faults) for value in values] for path, values in columns.items()]
    if "zip" in sweep:
        columns = _columns("sweep.zip", sweep["zip"], faults)
        lengths = {path: len(values) for path, values in columns.items()}
        if len(set(lengths.values())) > 1:
            faults.append(Fault("sweep.zip", "must hold lists of the same length", show(lengths)))
        rows = zip(*columns.values(), strict=False)
        factors.append([_labelled("sweep.zip", dict(zip(columns, row, strict=True)), faults) for row in rows])
    if "points" in sweep:
        factors.append(_rows(sweep["points"], faults))
    _report_twice(factors, faults)
    return factors


def _columns(at: str, table: Any, faults: list[Fault]) -> dict[str, list[Any]]:
    if not isinstance(table, dict) or not table:
        faults.append(Fault(at, 'must be a table of lists: { "queue.mark_at" = ["20pkt", "65pkt"] }'))
        return {}
    columns = {}
    for path, values in _flatten(table):
        if not isinstance(values, list):
            faults.append(Fault(f'{at}."{path}"', "must be a list of values", show(values)))
        elif not values:
            faults.append(Fault(f'{at}."{path}"', "is an empty list: nothing would run"))
        else:
            columns[path] = values
    return columns


def _flatten(table: dict[str, Any], above: str = "") -> list[tuple[str, Any]]:
    """`grid.queue.mark_at = [...]` written as tables means the same as `grid."queue.mark_at"`."""
    found = []
    for key, value in table.items():
        path = f"{above}.{key}" if above else key
        found += _flatten(value, path) if isinstance(value, dict) and value else [(path, value)]
    return found


def _grid_step(path: str, value: Any, faults: list[Fault]) -> _Step:
    """A value of a grid, or one with its label: `{ label = "CoDel", value = { kind = "codel" } }`."""
    if isinstance(value, dict) and set(value) == {"label", "value"}:
        if isinstance(value["label"], str):
            return _Step({path: value["value"]}, value["label"])
        faults.append(Fault(f'sweep.grid."{path}"', "must have a text as label", show(value["label"])))
    return _Step({path: value})


def _labelled(at: str, row: Settings, faults: list[Fault]) -> _Step:
    """A row of settings; its key `label` is the label."""
    settings = {path: value for path, value in row.items() if path != "label"}
    label = row.get("label")
    if label is not None and not isinstance(label, str):
        faults.append(Fault(f"{at}.label", "must be a text", show(label)))
        label = None
    if not settings:
        faults.append(Fault(at, "must set something besides the label", show(row)))
    return _Step(settings, label)


def _rows(rows: Any, faults: list[Fault]) -> list[_Step]:
    if not isinstance(rows, list) or not rows:
        faults.append(
            Fault("sweep.points", 'must be a list of tables: [ { "queue.mark_at" = "20pkt" }, ... ]')
        )
        return []
    good = []
    for number, row in enumerate(rows):
        if isinstance(row, dict) and row:
            good.append(_labelled(f"sweep.points[{number}]", row, faults))
        else:
            rule = "must be a table that sets something"
            faults.append(Fault(f"sweep.points[{number}]", rule, show(row)))
    return good


def _report_twice(factors: list[list[_Step]], faults: list[Fault]) -> None:
    paths = [list({path: None for step in factor for path in step.settings}) for factor in factors]
    flat = list(itertools.chain.from_iterable(paths))
    for path in sorted({p for p in flat if flat.count(p) > 1}):
        faults.append(Fault(f'sweep."{path}"', "is varied in two places"))
    for path in flat:
        if path.split(".")[0] in ("seed", "seeds", "sweep"):
            faults.append(Fault(f'sweep."{path}"', "cannot be varied; seeds has a key of its own"))
