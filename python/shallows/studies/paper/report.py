"""Writes `reports/<paper>/`: index.html, each figure as SVG, each table as CSV, claims.json."""

import base64
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.studies.page import place
from shallows.studies.page.markdown import to_html
from shallows.studies.paper.claims import VERDICTS

if TYPE_CHECKING:
    from shallows.studies.paper.reproduce import Section


def page_of(target: str, out: Path) -> Path:
    """The directory of the report. Raises StoreError if something else is there, before anything runs."""
    return place.check(out, _name(target))


def _name(target: str) -> str:
    return target.removesuffix("/").replace("/", "-")


def write_report(paper: str, sections: "Sequence[Section]", out: Path, target: str, quick: bool) -> Path:
    """The report of one paper's sections; returns its index.html. Error: StoreError."""
    return place.write(out, _name(target), lambda new: _fill(new, paper, sections, target, quick))


def _fill(new: Path, paper: str, sections: "Sequence[Section]", target: str, quick: bool) -> None:
    (new / "index.html").write_text(render(paper, sections, target, quick), encoding="utf-8")
    claims = [record for section in sections for record in section.claims]
    text = json.dumps({"claims": claims}, indent=1, ensure_ascii=False, allow_nan=False)
    (new / "claims.json").write_text(text + "\n", encoding="utf-8")
    for section in sections:
        for name, svg in section.images.items():
            (new / f"{section.figure.name}-{place.file_name(name)}.svg").write_bytes(svg)
        for title, table in section.tables.items():
            table.write_csv(new / f"{section.figure.name}-{place.file_name(title)}.csv")


def render(paper: str, sections: "Sequence[Section]", target: str, quick: bool) -> str:
    """The HTML text of a report. Equal sections give equal text."""
    readme = sections[0].figure.path.parent / "README.md"
    intro = readme.read_text(encoding="utf-8") if readme.exists() else f"# {paper}\n"
    title, _, rest = intro.partition("\n")
    claims = [record for section in sections for record in section.claims]
    counts = Counter(record["verdict"] for record in claims)
    return place.template("paper").render(
        title=title.lstrip("# "),
        intro=to_html(rest, top=2),
        sections=[_section(section) for section in sections],
        claims=claims,
        counts=[(name, counts[name]) for name in VERDICTS],
        unexpected=sum(record["verdict"] != record["expected_verdict"] for record in claims),
        mode="quick" if quick else "full",
        command=f"./shallows reproduce {target}" + (" --quick" if quick else ""),
        about=_about(sections),
    )


def _about(sections: "Sequence[Section]") -> list[tuple[str, str]]:
    """What made the results: release, sources and back ends; the number of runs and of simulated seconds."""
    manifests = {run.stored.hash: run.stored.manifest for section in sections for run in section.runs}
    rows = [("runs", str(len(manifests)))]
    for key, name in (("version", "Shallows"), ("source_hash", "core's sources"), ("backend", "backend")):
        rows.append((name, ", ".join(sorted({str(m.get(key, "")) for m in manifests.values()})) or "none"))
    return rows


def _section(section: "Section") -> dict[str, Any]:
    figure = section.figure
    return {
        "id": figure.name,
        "readme": to_html(figure.readme, top=2),
        "images": {name: base64.b64encode(svg).decode() for name, svg in section.images.items()},
        "tables": {title: (table.columns, table.rows()) for title, table in section.tables.items()},
        "claims": section.claims,
        "failed": section.failed,
        "command": f"./shallows reproduce {figure.paper}/{figure.name}",
        "specs": [_spec(section, spec) for spec in dict.fromkeys(run.spec for run in section.runs)],
    }


def _spec(section: "Section", spec: str) -> dict[str, Any]:
    runs = section.runs.where(spec)
    varied: dict[str, list[str]] = {}
    for run in runs:
        for name, value in run.params.items():
            text = value if isinstance(value, str) else json.dumps(value)
            if text not in varied.setdefault(name, []):
                varied[name].append(text)
    return {
        "name": spec,
        "runs": len(runs),
        "seeds": len(runs.seeds),
        "varied": {name: ", ".join(values) for name, values in varied.items()},
        "first": json.dumps(runs[0].stored.manifest["experiment"], indent=1, ensure_ascii=False),
    }
