"""The directory of a figure or table of a source document, and its stored runs.

`experiments/<paper>/<figure>/` holds README.md (what the document says and what is run), figure.py (its
`FIGURE`, a `Figure`), claims.toml, and the experiment files that it names, usually one spec.toml;
variants.toml varies experiments by name, quick.toml changes them for `--quick`, reference.csv holds published
numbers.
`experiments/<paper>/readings.toml` holds what the document leaves open. `docs/claims.md` says more.
"""

import copy
import hashlib
import importlib
import json
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticCustomError

from shallows.document.load import load, read_toml
from shallows.document.paths import set_path
from shallows.document.places import experiments_path
from shallows.document.points import Point, expand
from shallows.document.strict import join
from shallows.errors import NOTHING, Fault, FigureError, ShallowsError, SpecError, Written
from shallows.results.store import StoredRun
from shallows.studies.paper.about import About, read_about
from shallows.studies.paper.claims import Claim
from shallows.studies.paper.claims_file import read_claims
from shallows.studies.paper.figure import Figure, checked_specs
from shallows.studies.paper.readings import BASE, Reading, Readings
from shallows.studies.paper.readings_file import read_readings
from shallows.words import did_you_mean

if TYPE_CHECKING:
    import polars as pl

    from shallows.tables.metrics import Tables


@dataclass(frozen=True)
class Run:
    """One stored run: the experiment file it comes from, varied settings (by short name), its seed."""

    spec: str
    params: Mapping[str, Any]
    seed: int
    stored: StoredRun
    label: str = ""
    """The label of its point in the sweep."""

    @property
    def tables(self) -> "Tables":
        """Its tables, each read from the store when first asked for."""
        return self.stored.tables


class Runs(Sequence[Run]):
    """The runs of a figure, in the order of its sweep, seeds fastest. `reference`: published numbers.

    `reading`: the choice for each dimension of the paper's readings.toml in these runs.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        reference: "pl.DataFrame | None" = None,
        reading: Mapping[str, Any] | None = None,
    ):
        self._runs = list(runs)
        self._frames: dict[Callable, pl.DataFrame] = {}
        self.reference = reference
        self.reading = dict(reading or {})

    def __len__(self) -> int:
        return len(self._runs)

    def __getitem__(self, index: Any) -> Any:
        return self._runs[index]

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    @property
    def seeds(self) -> list[int]:
        """The seeds that were run, ascending."""
        return sorted({run.seed for run in self})

    @cached_property
    def idle_seeds(self) -> bool:
        """Whether, of some experiment, runs with different seeds gave the same tables to the byte."""
        groups: dict[Any, list[Run]] = {}
        for run in self:
            groups.setdefault((run.spec, json.dumps(run.params, sort_keys=True)), []).append(run)
        marks = ([run.stored.manifest["tables"] for run in each] for each in groups.values())
        return any(len(each) > 1 and all(mark == each[0] for mark in each) for each in marks)

    def where(self, spec: str | None = None, **params: Any) -> "Runs":
        """The runs of one experiment file, or with these values of the varied settings."""

        def chosen(run: Run) -> bool:
            return spec in (None, run.spec) and all(run.params.get(k) == v for k, v in params.items())

        return Runs([run for run in self if chosen(run)], self.reference, self.reading)

    def first(self, spec: str | None = None, **params: Any) -> Run:
        """The first run that `where` finds. Error: there is none."""
        found = self.where(spec, **params)
        if not found:
            raise LookupError(f"no run of {spec or 'any file'} with {params}")
        return found[0]

    def frame(self, compute: "Callable[[Tables], Mapping[str, Any]]") -> "pl.DataFrame":
        """One row a run: `spec`, the varied settings, `seed`, and the numbers that `compute` returns.

        Computed once for each function and run; all readings share it.
        """
        import polars as pl

        if compute not in self._frames:
            about = [{"spec": run.spec} | _plain(run.params) | {"seed": run.seed} for run in self]
            rows = [row | dict(run.stored.computed(compute)) for row, run in zip(about, self, strict=True)]
            self._frames[compute] = pl.DataFrame(rows, infer_schema_length=None)
        return self._frames[compute]


def _plain(params: Mapping[str, Any]) -> dict[str, Any]:
    return {k: json.dumps(v) if isinstance(v, list | dict) else v for k, v in params.items()}


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """Each dotted path's last key, or the path itself where two would be called the same."""
    lasts = [path.split(".")[-1] for path in paths]
    return {p: last if lasts.count(last) == 1 else p for p, last in zip(paths, lasts, strict=True)}


@dataclass(frozen=True)
class Study:
    """The directory of one figure or table."""

    path: Path

    @property
    def name(self) -> str:
        """The figure's id."""
        return self.path.name

    @property
    def paper(self) -> str:
        """The paper's id."""
        return self.path.parent.name

    @cached_property
    def readme(self) -> str:
        """The text of its README.md."""
        return (self.path / "README.md").read_text(encoding="utf-8")

    @cached_property
    def claims(self) -> list[Claim]:
        """Its claims. Errors: SpecError with all faults of claims.toml."""
        return read_claims(self.path / "claims.toml")

    @property
    def place(self) -> str:
        """Its figure.py as messages name it."""
        return f"{self.paper}/{self.name}/figure.py"

    @cached_property
    def module(self) -> ModuleType:
        """Its figure.py. `from ..common import x` in it finds the paper's common.py.

        Errors: FigureError for an exception in it; SpecError for faults of what it declares and reads.
        """
        root = self.path.parent.parent
        with self.running(""):
            try:
                return importlib.import_module(f"{_package(root)}.{self.paper}.{self.name}.figure")
            except SpecError as error:
                faults = [replace(fault, path=f"{self.place}: {fault.path}") for fault in error.faults]
                raise SpecError(faults) from None

    @cached_property
    def declared(self) -> Figure:
        """The `FIGURE` of its figure.py. Errors: as `module`; SpecError without one."""
        found = getattr(self.module, "FIGURE", None)
        if isinstance(found, Figure):
            return found
        rule = "must have FIGURE = Figure(...), with Figure from shallows.studies"
        raise SpecError([Fault(self.place, rule, NOTHING if found is None else found, "", "missing")])

    @contextmanager
    def running(self, function: str) -> Iterator[None]:
        """Makes an exception within, which is one of figure.py's own, a FigureError that names the function.

        Errors that Shallows raises on purpose stay as they are.
        """
        try:
            yield
        except ShallowsError:
            raise
        except Exception as error:
            text = "".join(traceback.format_exception(error))
            raise FigureError(f"{self.place}: {_slip(function, error, self.path.parent)}", text) from error

    def answer(self, function: str, *given: Any) -> dict[str, Any]:
        """The answer by name of `measure`, `draw`, `tables` or `numbers`; `{}` of a function that it lacks.

        Errors: FigureError for an exception in the function, and for an answer that is not a dict.
        """
        asked = getattr(self.declared, function)
        if asked is None:
            return {}
        with self.running(function):
            found = asked(*given)
        if not isinstance(found, Mapping):
            raise FigureError(f"{self.place}: {function} must return a dict, got {type(found).__name__}")
        return dict(found)

    @cached_property
    def readings(self) -> Readings:
        """The open questions of the paper. Errors: SpecError with all faults of readings.toml."""
        return read_readings(self.path.parent / "readings.toml")

    @cached_property
    def about(self) -> About | None:
        """The paper's paper.toml; None without one. Errors: SpecError with all its faults."""
        return read_about(self.path.parent)

    @cached_property
    def shows(self) -> dict[str, list[str]]:
        """By name of a figure or table, the claims that it shows."""
        ids = [claim.id for claim in self.claims]
        given = self.declared.shows
        return {name: [i for i in ids if any(fnmatchcase(i, p) for p in ps)] for name, ps in given.items()}

    def check(self) -> None:
        """Raises SpecError with each pattern of `shows` and `seeded` that no claim matches, and for published
        numbers that are not there."""
        ids = [claim.id for claim in self.claims]
        patterns = [(("shows", name), p) for name, ps in self.declared.shows.items() for p in ps]
        patterns += [(("seeded",), pattern) for pattern in self.declared.seeded]
        faults = [
            Fault(join("figure.py: FIGURE", field), "matches no claim", pattern, hint, "not-found")
            for field, pattern in patterns
            if not any(fnmatchcase(each, pattern) for each in ids)
            for hint in [did_you_mean(pattern, ids)]
        ]
        named = self.declared.reference
        if named and not (self.path / named).is_file():
            there = sorted(file.name for file in self.path.glob("*.csv"))
            rule, hint = "must be a file beside figure.py", did_you_mean(named, there)
            faults.append(Fault("figure.py: FIGURE.reference", rule, named, hint, "not-found"))
        if self.declared.beyond:
            faults += [
                Fault(f"claims.toml: {claim.id}.kind", rule, claim.kind, 'write kind = "ours"', "conflict")
                for claim in self.claims
                if claim.kind != "ours"
                for rule in ["must be ours in a figure beyond the document (FIGURE.beyond)"]
            ]
        if faults:
            raise SpecError(faults)

    def specs(self, reading: Reading = BASE) -> dict[str, tuple[Path, dict[str, Any]]]:
        """Its experiment files by name, each with what is set over it: `specs` of its `FIGURE`.

        Errors: FigureError; SpecError for an answer that is none, and for a file that is not there.
        """
        named = self.declared.specs
        if callable(named):
            with self.running("specs"):
                named = named(self.readings.given(reading))
            try:
                checked_specs(named)
            except PydanticCustomError as error:
                about = error.context or {}
                value = Written(about["value"]) if "value" in about else named
                fault = Fault(join("figure.py: FIGURE.specs", about["at"]), about["rule"], value)
                raise SpecError([fault]) from None
        pairs = {name: given if isinstance(given, tuple) else (given, {}) for name, given in named.items()}
        return {name: ((self.path / file).resolve(), changes) for name, (file, changes) in pairs.items()}

    def tried(self, quick: bool = False) -> list[Reading]:
        """The readings beside the base, the most plausible first.

        In quick those that decide a `holds-if`, and all of a figure whose readings set nothing: they judge
        the same runs otherwise, or a closed form. Those with long runs are left out.
        """
        every = self.readings.of(self.name)
        every = [each for each in every if not quick or each not in self.left_out]
        free = not callable(self.declared.specs)
        free = free and all(not value.set for reading in every for _, value in reading.departures)
        decisive = {claim.holds_if for claim in self.claims}
        return [reading for reading in every if not quick or free or reading.id in decisive]

    @property
    def left_out(self) -> list[Reading]:
        """The readings whose runs take too long for the quick form."""
        return [each for each in self.readings.of(self.name) if any(v.long for _, v in each.departures)]

    def excluded(self, backend: str) -> str | None:
        """Why this backend cannot run it; None if it can."""
        return self.declared.backends.get(backend)

    def reference(self) -> "pl.DataFrame | None":
        """Published numbers, from the file that its `FIGURE` names or `reference.csv`."""
        import polars as pl

        path = self.path / (self.declared.reference or "reference.csv")
        return pl.read_csv(path, comment_prefix="#") if path.exists() else None

    def documents(self, quick: bool = False, reading: Reading = BASE) -> dict[str, dict[str, Any]]:
        """The experiments by name as they are run.

        `quick` sets over each the tables of quick.toml whose pattern its name matches. Error: SpecError for
        a table that matches none.

        Under a reading that departs from the base, the plan's experiments alone, with its settings and the
        reading's over them.
        """
        file = self.path / "quick.toml"
        quicker = read_toml(file) if quick and file.exists() else {}
        plan, specs = self.readings.plan(self.name), self.specs(reading)
        unused = [pattern for pattern in quicker if not any(fnmatchcase(name, pattern) for name in specs)]
        if unused:
            rule = f"matches no experiment of the figure; it has {', '.join(specs)}"
            raise SpecError([Fault(f"{file}: {pattern}", rule) for pattern in unused])
        documents = {}
        for name, (path, changes) in specs.items():
            if reading.departures and not any(fnmatchcase(name, wanted) for wanted in plan.specs):
                continue
            documents[name] = load(path)
            fewer = plan.set if reading.departures else {}
            short = (table for pattern, table in quicker.items() if fnmatchcase(name, pattern))
            layers = (changes, fewer, *short, reading.settings(name))
            for key, value in (item for layer in layers for item in layer.items()):
                set_path(documents[name], key, copy.deepcopy(value))
        return documents

    def as_base(self, reading: Reading) -> bool:
        """Whether a reading judges the base reading's own runs, since it changes no experiment."""
        plan = self.readings.plan(self.name)
        changes = callable(self.declared.specs) or plan.set or plan.specs != ("*",)
        return not changes and all(not value.set for _, value in reading.departures)

    def points(self, quick: bool = False, reading: Reading = BASE) -> dict[str, list[Point]]:
        """All runs by experiment, checked. Errors: SpecError with all faults."""
        return {name: expand(document) for name, document in self.documents(quick, reading).items()}


def _slip(function: str, error: Exception, paper: Path) -> str:
    """An exception in one line, with the last place in the paper's own files."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(str(paper))]
    at = Path(frames[-1].filename) if frames else None
    line = f" ({at.name}, line {frames[-1].lineno})" if at else ""
    said = str(error).strip().partition("\n")[0]
    if isinstance(error, SyntaxError):  # its words end with the place
        line = ""
    return f"{function or 'import'}{line}: {type(error).__name__}" + (f": {said}" if said else "")


@cache
def _package(root: Path) -> str:
    """The name under which the papers in `root` are imported: a package without a file of its own."""
    name = "shallows_experiments"
    if root != experiments_path():
        name += "_" + hashlib.sha256(str(root).encode()).hexdigest()[:12]
    package = ModuleType(name)
    package.__path__ = [str(root)]
    sys.modules[name] = package
    return name


def find(target: str | None = None, root: Path | None = None) -> list[Study]:
    """The figures of `PAPER`, of `PAPER/FIGURE`, or all. Error: SpecError with the nearest known name.

    A target that begins with `.` or `/` is the directory of a paper or a figure, such as `copy` makes.
    A paper's figures come in the order in which its README names them in backquotes, then by name.
    """
    if root is None:
        root, target = located(target)
    every = [Study(path.parent) for path in root.glob("*/*/claims.toml")]
    every.sort(key=lambda figure: (figure.paper, _place(figure), figure.name))
    wanted = None if target is None else target.removesuffix("/")
    chosen = [f for f in every if wanted in (None, f.paper, f"{f.paper}/{f.name}")]
    if not chosen:
        known = sorted({f.paper for f in every} | {f"{f.paper}/{f.name}" for f in every})
        papers = ", ".join(sorted({f.paper for f in every})) or "none"
        rule = f"no such paper or figure; papers: {papers}"
        raise SpecError([Fault("reproduce", rule, target, did_you_mean(wanted or "", known))])
    return chosen


def located(target: str | None) -> tuple[Path, str | None]:
    """The directory of papers that a target means, and `PAPER` or `PAPER/FIGURE` in it."""
    directory = Path(target or "").resolve()
    if not (target or "").startswith((".", "/")) or not directory.name:
        return experiments_path(), target
    parts = 2 if (directory / "claims.toml").is_file() else 1
    return directory.parents[parts - 1], "/".join(directory.parts[-parts:])


def _place(figure: Study) -> int:
    try:
        at = (figure.path.parent / "README.md").read_text(encoding="utf-8").find(f"`{figure.name}`")
    except OSError:
        at = -1
    return at if at >= 0 else 10**9
