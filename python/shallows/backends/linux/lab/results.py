"""The outcome of programs' runs as a document (`--json`) and as files (`--out`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.backends.linux.lab.streams import names

if TYPE_CHECKING:
    import polars as pl

    from shallows.backends.linux.lab.outcome import Outcome

IN_DOCUMENT = ("program_flows",)
"""Further tables that the document has; the others are long, and only files."""

__all__ = ["document", "write"]


def document(outcome: Outcome) -> dict[str, Any]:
    """The document: programs with what they wrote, tables, notes."""
    programs = [
        {
            "host": each.host,
            "command": each.command,
            "server": each.server,
            "status": each.status,
            "signal": each.signal,
            "stopped": each.stopped,
            "ended_s": each.ended_s,
            "stdout": each.stdout.decode(errors="replace"),
            "stderr": each.stderr.decode(errors="replace"),
        }
        for each in outcome.programs
    ]
    found: dict[str, Any] = {
        "programs": programs,
        "queues": _rows(outcome.queues),
        "flows": _rows(outcome.flows),
        **{name: _rows(outcome.tables.get(name)) for name in IN_DOCUMENT},
        "ended_s": outcome.ended_s,
        "status": outcome.status,
        "notes": list(outcome.notes),
        "orphans": [{"host": host, "command": text} for host, text in outcome.orphans],
        "about": outcome.about,
    }
    if outcome.error is not None:
        found["error"] = {"kind": "RunError", "message": outcome.error, "faults": []}
    return found


def _rows(table: pl.DataFrame | None) -> list[dict[str, Any]] | None:
    return None if table is None else table.to_dicts()


def write(outcome: Outcome, out: Path) -> None:
    """Outputs by host, `programs.json`, and the tables as CSV. Streamed outputs are written anew."""
    out.mkdir(parents=True, exist_ok=True)
    told = document(outcome)
    for each, row, name in zip(outcome.programs, told["programs"], names(outcome.programs), strict=True):
        (out / f"{name}.stdout").write_bytes(each.stdout)
        (out / f"{name}.stderr").write_bytes(each.stderr)
        row |= {"stdout": f"{name}.stdout", "stderr": f"{name}.stderr"}
    tables = {"queues": outcome.queues, "flows": outcome.flows, **outcome.tables}
    for name, table in tables.items():
        told.pop(name, None)
        if table is not None:
            table.write_csv(out / f"{name}.csv")
    (out / "programs.json").write_text(json.dumps(told, indent=1) + "\n")
