"""`./shallows check-run`: a stored run against its hashes and the laws of its tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shallows import terminal
from shallows.cli.options import Json, StorePath
from shallows.errors import Fault, SpecError
from shallows.words import did_you_mean

if TYPE_CHECKING:
    from shallows.tables.laws import Broken

__all__ = ["check_run"]


Name = Annotated[str, typer.Argument(metavar="HASH", help="The run's name in the store.", show_default=False)]


def check_run(name: Name, store: StorePath = None, as_json: Json = False) -> None:
    """Checks a stored run. Its files must be as written, and its tables keep their laws."""
    from shallows.results.store import Store
    from shallows.tables import laws

    place = Store(store)
    if not re.fullmatch("[0-9a-f]{20}", name) or not (place.path / name).is_dir():
        known = [run.hash for run in place.runs()]
        rule = f"there is no such run in {place.path}"
        raise SpecError([Fault("check-run", rule, name, did_you_mean(name, known))])
    run = place.check(name)
    backend = run.manifest["backend"]
    found = laws.broken(run.tables, run.experiment, run.manifest["counts"], backend)
    if as_json:
        terminal.print_json(_document(name, found))
    else:
        for law in found:
            terminal.say(str(law))
        rows = sum(len(table) for table in run.tables.values())
        held = sum(len(table.laws) + len(table.columns) for table in laws.tables().values())
        if backend == "simulator":
            held += len(laws.relations())
        lacks = "" if backend == "simulator" else f" but for numbers that {backend} lacks"
        kept = f"as it was written; its {rows} rows keep all {held} laws{lacks}"
        terminal.say(f"{name}: {len(found)} of {held} laws are broken" if found else f"{name}: {kept}")
    if found:
        raise typer.Exit(1)


def _document(name: str, found: Sequence[Broken]) -> dict[str, Any]:
    each = [{"table": one.table, "law": one.law, "rows": one.rows, "first": dict(one.first)} for one in found]
    return {"hash": name, "broken": each}
