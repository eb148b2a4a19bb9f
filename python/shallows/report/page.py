"""Writes `reports/<paper>/`: index.html, each figure as SVG, each table as CSV, claims.json."""

import base64
import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.claims import VERDICTS
from shallows.errors import StoreError
from shallows.report.markdown import to_html

if TYPE_CHECKING:
    from shallows.reproduce import Section


def write_report(paper: str, sections: "Sequence[Section]", out: Path, target: str, quick: bool) -> Path:
    """The report of one paper's sections; returns its index.html.

    Written beside its place and moved there whole, so that a reader never finds half of one. Error:
    StoreError if the directory cannot be written.
    """
    place = out / target.strip("/").replace("/", "-")
    try:
        out.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=out))
        try:
            _fill(new, paper, sections, target, quick)
            new.chmod(0o755)
            _swap(new, place)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    except OSError as error:
        raise StoreError(f"the report {place} cannot be written: {error.strerror or error}") from error
    return place / "index.html"


def _fill(new: Path, paper: str, sections: "Sequence[Section]", target: str, quick: bool) -> None:
    (new / "index.html").write_text(render(paper, sections, target, quick), encoding="utf-8")
    claims = [record for section in sections for record in section.claims]
    text = json.dumps({"claims": claims}, indent=1, ensure_ascii=False, allow_nan=False)
    (new / "claims.json").write_text(text + "\n", encoding="utf-8")
    for section in sections:
        for name, svg in section.images.items():
            (new / f"{section.figure.name}-{_file_name(name)}.svg").write_bytes(svg)
        for title, table in section.tables.items():
            table.write_csv(new / f"{section.figure.name}-{_file_name(title)}.csv")


def _swap(new: Path, place: Path) -> None:
    old = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent))
    try:
        if place.exists():
            os.replace(place, old / "old")  # noqa: PTH105 (a rename over an existing name)
        new.rename(place)
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _file_name(title: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in title.lower()).split())


def render(paper: str, sections: "Sequence[Section]", target: str, quick: bool) -> str:
    """The HTML text of a report. Equal sections give equal text."""
    import jinja2

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"number": number, "cell": cell}
    template = environment.from_string(files("shallows.report").joinpath("page.html.j2").read_text("utf-8"))
    readme = sections[0].figure.path.parent / "README.md"
    intro = readme.read_text(encoding="utf-8") if readme.exists() else f"# {paper}\n"
    title, _, rest = intro.partition("\n")
    claims = [record for section in sections for record in section.claims]
    counts = Counter(record["verdict"] for record in claims)
    return template.render(
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


def number(value: Any) -> str:
    """A claim's value: five digits, yes or no, or a dash."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    return f"{value:.5g}"


def cell(value: Any) -> str:
    """A table's cell: four digits, or the text."""
    return (
        number(value)
        if value is None or isinstance(value, bool)
        else (f"{value:.4g}" if isinstance(value, float) else str(value))
    )
