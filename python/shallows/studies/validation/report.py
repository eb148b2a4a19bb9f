"""Writes `reports/validation/`: index.html, the figures as SVG, and all numbers as JSON."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shallows.studies.page import place
from shallows.studies.validation import judge
from shallows.studies.validation.runs import Result, Validation
from shallows.studies.validation.show import SHOWN, document, rows

TABLES = {
    "main": "Cells held to the criteria",
    "floor": "Windows at the floor",
    "locked": "Phase-locked flows",
    "few": "Few events",
    "failed": "Failed",
    "not-run": "Named, not run",
}
"""Every cell stands in one of these."""

NAMES = {"simulator": "simulator", "linux": "Linux", "ns3": "ns-3"}


def page_of_validation(out: Path) -> Path:
    """The directory of the report. Raises StoreError if something else is there, before anything runs."""
    return place.check(out, "validation")


def write_validation(found: Validation, out: Path, command: str) -> Path:
    """The page and its files; returns its index.html. Error: StoreError."""
    images = draw(found)

    def fill(new: Path) -> None:
        (new / "index.html").write_text(render(found, images, command), encoding="utf-8")
        text = json.dumps(document(found), indent=1, ensure_ascii=False, allow_nan=False)
        (new / "validation.json").write_text(text + "\n", encoding="utf-8")
        for title, svg in images.items():
            (new / f"{place.file_name(title)}.svg").write_bytes(svg)

    return place.write(out, "validation", fill)


def draw(found: Validation) -> dict[str, bytes]:
    """Simulator over each other backend, a panel a quantity, a point a cell."""
    from shallows.figures import style
    from shallows.figures.agreement import draw as agreement
    from shallows.figures.agreement import info

    drawn = {}
    for backend in found.others:
        points = {
            what: [
                (result.cell.name, result.cell.cc, result.group[0] == "main", c.ours, c.theirs, c.agrees)
                for result in found.results
                for c in result.compared(backend)
                if c.what == what and c.theirs.value > 0 and c.ours.value > 0
            ]
            for what in judge.QUANTITIES
        }
        points = {what: cells for what, cells in points.items() if cells}
        if points:
            drawn[f"simulator against {NAMES[backend]}"] = style.image(
                agreement(info(points, NAMES[backend]))
            )
    return drawn


def render(found: Validation, images: Mapping[str, bytes], command: str) -> str:
    """The HTML text."""
    tables = []
    for name, title in TABLES.items():
        chosen = [result for result in found.results if result.group[0] == name]
        if chosen:
            tables.append({"name": name, "title": title, "cells": [_about(found, r) for r in chosen]})
    return place.template("validation").render(
        title="Validation: " + ", ".join(NAMES[backend] for backend in found.backends),
        counts={backend: found.counts(backend) for backend in found.others},
        tables=tables,
        others=found.others,
        names=NAMES,
        notes=found.notes,
        rules=(judge.__doc__ or "").strip(),
        images={title: base64.b64encode(svg).decode() for title, svg in images.items()},
        command=command,
        about=[(b, json.dumps(a)) for b, a in found.about.items()],
    )


def _about(found: Validation, result: Result) -> dict[str, Any]:
    cell = result.cell
    columns = ("cell", "table", "what", "ours", "theirs", "relative", "verdict", "note")
    lines: dict[str, dict[str, dict[str, Any]]] = {}
    for backend in found.others:
        for row in rows(found, backend):
            line = dict(zip(columns, row, strict=True))
            if line["cell"] == cell.name and line["what"]:
                lines.setdefault(line["what"], {"ours": line["ours"]})[backend] = line
    numbers = [(what, [_number(result, backend, what) for backend in found.backends]) for what in SHOWN]
    flows = f"{cell.flows} {'workers' if cell.incast else 'flows'}"
    flows += f" over {cell.spines} spines" if cell.spines else ""
    return {
        "name": cell.name,
        "settings": f"{cell.cc}, {flows}, {cell.rate_bps / 1e6:g} Mb/s, RTT {cell.rtt_ps / 1e9:g} ms; "
        f"{cell.queue}",
        "why": "; ".join(
            filter(None, [result.group[1], *result.absent.values()][: 1 if cell.not_run else None])
        ),
        "lines": lines,
        "backends": found.backends,
        "numbers": [(what, values) for what, values in numbers if any(values)],
    }


def _number(result: Result, backend: str, what: str) -> str:
    known = [run[what] for run in result.runs.get(backend, []) if run[what] is not None]
    if not known:
        return ""
    found = judge.mean(known)
    return f"{found.value:.5g} ± {found.error:.2g}"
