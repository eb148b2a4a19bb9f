"""The catalogue of `list`: papers and figures in `experiments/`, components in the compiled core."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from shallows.document.places import experiments_path
from shallows.document.schema import schema

KINDS = {
    "papers": "paper",
    "figures": "figure",
    "cc": "cc",
    "queues": "queue",
    "topologies": "topology",
    "workloads": "workload",
}
"""Words of `./shallows list WORD` and the `kind` in its answer."""

__all__ = ["KINDS", "list_all"]


def list_all(word: str | None = None) -> list[dict[str, Any]]:
    """`kind`, `name`, `summary`, `params` of all there is, or of one word of `KINDS`, in a fixed order."""
    found = _studies() + _components()
    kinds = list(KINDS.values())
    chosen = [entry for entry in found if word is None or entry["kind"] == KINDS[word]]
    return sorted(chosen, key=lambda entry: kinds.index(entry["kind"]))


SECTIONS = {"cc": "transport.cc", "workload": "traffic", "topology": "topology", "queue": "queue"}
"""The section of an experiment file that names each kind of component."""

_KINDS_BY_SECTION = {section: kind for kind, section in SECTIONS.items()}


def summary(doc: str) -> str:
    """The first sentence of a doc text; the second too where the first is only a name."""
    sentences = re.split(r"(?<![.\s])\.\s+", " ".join(doc.split("\n\n")[0].split()))
    short = ". ".join(sentences[: 2 if len(sentences[0].split()) < 4 else 1])
    return short.rstrip(".") + "." if short else ""


def _components() -> list[dict[str, Any]]:
    found = []
    for section in schema()["sections"]:
        kind = _KINDS_BY_SECTION.get(section["path"])
        if kind is None:
            continue
        for component in section["components"]:
            params = [param["name"] for param in component["params"]]
            about = {"name": component["name"], "summary": summary(component["doc"]), "params": params}
            found.append({"kind": kind} | about)
    return found


def _studies() -> list[dict[str, Any]]:
    found = []
    root = experiments_path()
    for paper in sorted(p for p in root.glob("*") if any(p.glob("*/claims.toml"))):
        figures = sorted(path.parent for path in paper.glob("*/claims.toml"))
        names = [figure.name for figure in figures]
        found.append({"kind": "paper", "name": paper.name, "summary": _heading(paper), "params": names})
        for figure in figures:
            name = f"{paper.name}/{figure.name}"
            found.append({"kind": "figure", "name": name, "summary": _heading(figure), "params": []})
    return found


def _heading(directory: Path) -> str:
    try:
        lines = (directory / "README.md").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    return next((line.lstrip("# ").strip() for line in lines if line.startswith("#")), "")
