"""Commands to start from: `new` writes scaffolds, `copy` gives an editable copy of a paper's studies."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from shallows.document.places import program
from shallows.errors import Fault, SpecError, StoreError

app = typer.Typer(rich_markup_mode=None)


@app.command()
def new(
    kind: Annotated[
        str, typer.Argument(help="What to make: cc, queue, workload, topology or study.", show_default=False)
    ],
    name: Annotated[str, typer.Argument(help="Its name; for a study PAPER/FIGURE.", show_default=False)],
) -> None:
    """Writes files to start from. An algorithm, a network or a study comes with its test and experiment."""
    from shallows.cli.scaffold import create

    made = create(kind, name, Path())
    print("\n".join(f"wrote {path}" for path in made.files))
    print("next: " + "\n      ".join(made.next))


@app.command()
def copy(
    paper: Annotated[str, typer.Argument(help="A paper; `list papers` names all.", show_default=False)],
    to: Annotated[
        Path | None, typer.Argument(help="A new directory; default: ./PAPER.", show_default=False)
    ] = None,
) -> None:
    """Copies a paper's studies for editing. `reproduce ./PAPER` runs the copy."""
    from shallows.document.places import experiments_path
    from shallows.studies.paper.study import find

    figures = find(paper)
    source = figures[0].path.parent
    if figures[0].path.parents[1] != experiments_path() or paper.strip("/") != source.name:
        raise SpecError([Fault("copy", "must be a whole paper", paper, f'did you mean "{source.name}"?')])
    place = to or Path(source.name)
    if place.exists():
        raise SpecError([Fault(str(place), "exists already and is not overwritten")])
    try:
        shutil.copytree(source, place, ignore=shutil.ignore_patterns("__pycache__"))
    except OSError as error:
        raise StoreError(f"cannot write {place}: {error.strerror or error}") from error
    for file in place.rglob("*.toml"):
        _name_schema(file)
    shown = place if place.is_absolute() else f"./{place}"
    print(f"wrote {place}\nnext: {program()} reproduce {shown} --quick")


def _name_schema(file: Path) -> None:
    """Has a copied experiment name the schema of the installed package, from which editors complete it."""
    from shallows.document.places import experiments_path

    first, end, rest = file.read_text(encoding="utf-8").partition("\n")
    if first.startswith("#:schema "):
        schema = experiments_path() / "experiment.schema.json"
        file.write_text(f"#:schema {schema}{end}{rest}", encoding="utf-8")
