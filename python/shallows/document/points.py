"""From one experiment file to its runs: sweep points times seeds, each a checked document.

`[sweep]` may hold `grid` (every combination, the first key slowest), `zip` (equally long lists, in step) and
`points` (an explicit list of tables); together they are multiplied in that order. Seeds vary fastest, and the
order is the same on every machine.
"""

from __future__ import annotations

import copy
import itertools
import math
from dataclasses import dataclass, field
from typing import Any

from shallows.document.check import check
from shallows.document.paths import Document, set_path
from shallows.errors import Fault, SpecError
from shallows.words import did_you_mean, show

MAX_RUNS = 100_000
"""More runs in one sweep are refused: the file most likely multiplies what it meant to walk in step."""

MAX_SEED = 2**63 - 1

Settings = dict[str, Any]

__all__ = ["MAX_RUNS", "Point", "expand", "one_run", "read_seeds"]


@dataclass(frozen=True)
class Point:
    """One run: the settings that its sweep varies, its seed, and the complete experiment."""

    params: Settings
    seed: int
    experiment: Document = field(repr=False)


def expand(document: Document) -> list[Point]:
    """All runs of a document, every one checked. Raises SpecError with all faults of all points at once."""
    document = copy.deepcopy(document)
    faults: list[Fault] = []
    for section in ("compare", "tune"):
        if section in document:
            rule, hint = "is a study of its own, not part of a run", f"./shallows {section} FILE"
            faults.append(Fault(section, rule, show(document.pop(section)), hint))
    seeds = read_seeds(document, faults)
    factors = _factors(document.pop("sweep", None), faults)
    size = math.prod(map(len, factors)) * max(len(seeds), 1)
    if size > MAX_RUNS:
        rule = f"describes {size} runs, and more than {MAX_RUNS} are refused"
        faults.append(Fault("sweep", rule, hint="lists that belong together go into zip, not grid"))
    if faults:
        raise SpecError(faults)
    points = []
    for combination in itertools.product(*factors):
        params = {path: value for part in combination for path, value in part.items()}
        points += _check_point(document, params, seeds, faults)
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


def _check_point(document: Document, params: Settings, seeds: list[int], faults: list[Fault]) -> list[Point]:
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
    return [Point(params, seed, experiment | {"seed": seed}) for seed in seeds]


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


def _factors(sweep: Any, faults: list[Fault]) -> list[list[Settings]]:
    """The lists of settings to multiply. A list for each key of grid, one for zip, one for points."""
    if sweep is None:
        return []
    if not isinstance(sweep, dict):
        faults.append(Fault("sweep", "must be a table with grid, zip or points", show(sweep)))
        return []
    known = ("grid", "zip", "points")
    for key in sweep:
        if key not in known:
            rule = "unknown key; known: grid, zip, points"
            faults.append(Fault(f"sweep.{key}", rule, show(key), did_you_mean(key, known)))
    if not any(key in sweep for key in known):
        faults.append(Fault("sweep", "is empty: nothing would vary; leave the table out for a single run"))
    factors: list[list[Settings]] = []
    if "grid" in sweep:
        columns = _columns("sweep.grid", sweep["grid"], faults)
        factors += [[{path: value} for value in values] for path, values in columns.items()]
    if "zip" in sweep:
        columns = _columns("sweep.zip", sweep["zip"], faults)
        lengths = {path: len(values) for path, values in columns.items()}
        if len(set(lengths.values())) > 1:
            faults.append(Fault("sweep.zip", "must hold lists of the same length", show(lengths)))
        factors.append([dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=False)])
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


def _rows(rows: Any, faults: list[Fault]) -> list[Settings]:
    if not isinstance(rows, list) or not rows:
        faults.append(
            Fault("sweep.points", 'must be a list of tables: [ { "queue.mark_at" = "20pkt" }, ... ]')
        )
        return []
    good = []
    for number, row in enumerate(rows):
        if isinstance(row, dict) and row:
            good.append(row)
        else:
            rule = "must be a table that sets something"
            faults.append(Fault(f"sweep.points[{number}]", rule, show(row)))
    return good


def _report_twice(factors: list[list[Settings]], faults: list[Fault]) -> None:
    paths = [list({path: None for row in factor for path in row}) for factor in factors]
    flat = list(itertools.chain.from_iterable(paths))
    for path in sorted({p for p in flat if flat.count(p) > 1}):
        faults.append(Fault(f'sweep."{path}"', "is varied in two places"))
    for path in flat:
        if path.split(".")[0] in ("seed", "seeds", "sweep"):
            faults.append(Fault(f'sweep."{path}"', "cannot be varied; seeds has a key of its own"))
