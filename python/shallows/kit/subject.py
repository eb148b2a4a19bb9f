"""The subject of a kit: an experiment file with the files that it names, or the folder of a paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from shallows.authoring.fingerprint import sources
from shallows.document.load import load
from shallows.document.named_files import files_of
from shallows.document.paths import Document
from shallows.document.points import Point, expand, with_seeds
from shallows.errors import Fault, SpecError
from shallows.studies.paper.study import Study, find, located

__all__ = ["FOLDER", "Experiment", "Paper", "subject_of"]

FOLDER = "experiment"
"""The folder of a kit that holds the subject's files."""

LEFT_OUT = ("__pycache__", ".ipynb_checkpoints")


@dataclass(frozen=True)
class Experiment:
    """An experiment file, alone or with a sweep. `settings` and `seeds` are those of the command."""

    file: Path
    settings: Sequence[str] = ()
    seeds: int | None = None

    kind = "experiment"

    @property
    def name(self) -> str:
        """A name for files and folders."""
        return self.file.stem

    @property
    def target(self) -> str:
        """The file in its folder."""
        return self.file.name

    def document(self) -> Document:
        """The experiment as it is run. Raises SpecError."""
        return with_seeds(load(self.file, self.settings), self.seeds)

    def points(self) -> list[Point]:
        """All runs, checked. Raises SpecError."""
        return expand(self.document())

    def files(self) -> dict[str, Path]:
        """By its place in the folder each file that the runs read. Raises SpecError for one outside."""
        document = self.document()
        home = self.file.parent.resolve()
        modules = (document.get("python") or {}).get("modules", [])
        read = [self.file, *files_of(document)]
        for module in [modules] if isinstance(modules, str) else modules:
            read += sources(home / module)
        found, faults = {}, []
        for file in read:
            path = file.resolve()
            if path.is_relative_to(home):
                found[path.relative_to(home).as_posix()] = path
            else:
                rule = f"lies outside {home}, the folder of the experiment; a kit holds what is below it"
                faults.append(Fault(str(file), rule))
        if faults:
            raise SpecError(faults)
        return found

    def at(self, folder: Path) -> Experiment:
        """This subject in another folder."""
        return Experiment(folder / self.target, self.settings, self.seeds)


@dataclass(frozen=True)
class Paper:
    """A paper, or one of its figures, as `reproduce` takes it."""

    given: str
    quick: bool = False

    kind = "paper"

    @property
    def name(self) -> str:
        """A name for files and folders."""
        return self.target.replace("/", "-")

    @property
    def target(self) -> str:
        """`PAPER` or `PAPER/FIGURE`."""
        return (located(self.given)[1] or "").removesuffix("/")

    def figures(self) -> list[Study]:
        """Its figures. Raises SpecError."""
        return find(self.given)

    def points(self) -> list[Point]:
        """The runs of the base reading, checked. Raises SpecError."""
        made = (figure.points(self.quick) for figure in self.figures())
        return [point for each in made for points in each.values() for point in points]

    def files(self) -> dict[str, Path]:
        """By its place in the folder each file of the paper, those of its other figures included.

        Raises SpecError for an experiment of a figure that lies elsewhere.
        """
        figures = self.figures()
        paper = figures[0].path.parent
        faults = [
            Fault(str(path), f"lies outside {paper}, the folder of the paper; a kit holds what is below it")
            for figure in figures
            for path, _ in figure.specs().values()
            if not path.is_relative_to(paper.resolve())
        ]
        if faults:
            raise SpecError(faults)
        return {
            (PurePosixPath(paper.name) / path.relative_to(paper).as_posix()).as_posix(): path
            for path in sorted(paper.rglob("*"))
            if path.is_file() and not set(path.parts) & set(LEFT_OUT)
        }

    def at(self, folder: Path) -> Paper:
        """This subject in another folder."""
        return Paper(str(folder.resolve() / self.target), self.quick)


def subject_of(target: str, settings: Sequence[str], seeds: int | None, quick: bool) -> Experiment | Paper:
    """The subject that a command names. Raises SpecError with all faults."""
    if target.endswith(".toml") or Path(target).is_file():
        if quick:
            raise SpecError([Fault("--quick", "applies to papers; an experiment has no quick form")])
        return Experiment(Path(target), settings, seeds)
    faults = []
    if settings:
        faults.append(
            Fault("--set", "applies to experiment files; a paper is repeated as it is", settings[0])
        )
    if seeds is not None:
        faults.append(Fault("--seeds", "applies to experiment files; a paper has its own seeds", seeds))
    if faults:
        raise SpecError(faults)
    paper = Paper(target, quick)
    if not paper.target or "/" not in f"{paper.target}/":
        raise SpecError([Fault("TARGET", "must be an experiment file, PAPER or PAPER/FIGURE", target)])
    return paper
