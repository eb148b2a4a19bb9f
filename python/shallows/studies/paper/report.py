"""Writes `reports/<paper>/`: index.html, each figure as SVG, each table as CSV, claims.json."""

import base64
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.document.places import program
from shallows.document.schema import components, shown_name
from shallows.studies.page import place
from shallows.studies.page.markdown import to_html
from shallows.studies.paper import numbers, prose
from shallows.studies.paper.about import composed
from shallows.studies.paper.claims import KINDS
from shallows.studies.paper.first_screen import key_figure, sentences
from shallows.studies.paper.readings import CAUSE_WORDS, CAUSES, RANKS, Readings
from shallows.studies.paper.verdicts import headline

if TYPE_CHECKING:
    from shallows.studies.paper.reproduce import Section

MARKS = dict(zip(CAUSES, ("D", "O", "S", "U", "N", "L"), strict=True))
"""The letter of a cause in the matrix: document, open, simulator, us, looked for."""

UNITS = {
    "mbps": "Mb/s", "gbps": "Gb/s", "ms": "ms", "us": "us", "percent": "%", "packets": "packets", "kb": "KB",
}  # fmt: skip
WORDS = {
    "reno": "Reno", "rtt": "RTT", "fct": "completion",
    "srtt": "smoothed RTT", "sd": "standard deviation", "p50": "median", "p99": "99th percentile",
}  # fmt: skip
"""Units and words of columns' names in the heads of tables."""

PAGE_PT, LEAST_SHARE = 7.2 * 72, 65
"""Figures fill the page; a narrow one takes at least this share of it in per cent."""


def page_of(target: str, out: Path, quick: bool = False, backend: str = "simulator") -> Path:
    """The directory of the report. Raises StoreError if something else is there, before anything runs."""
    return place.check(out, _name(target, quick, backend))


def _name(target: str, quick: bool, backend: str) -> str:
    """Quick reports and those of another backend have directories of their own: none replaces another."""
    name = target.removesuffix("/").replace("/", "-")
    return name + ("" if backend == "simulator" else f"-{backend}") + ("-quick" if quick else "")


def write_report(
    paper: str, sections: "Sequence[Section]", out: Path, target: str, quick: bool, backend: str = "simulator"
) -> Path:
    """The report of one paper's sections; returns its index.html. Error: StoreError."""
    return place.write(
        out, _name(target, quick, backend), lambda new: _fill(new, paper, sections, target, quick, backend)
    )


def _fill(
    new: Path, paper: str, sections: "Sequence[Section]", target: str, quick: bool, backend: str
) -> None:
    (new / "index.html").write_text(render(paper, sections, target, quick, backend), encoding="utf-8")
    claims = [record for section in sections for record in section.claims]
    told = {"headline": headlines(sections).get(paper, ""), "claims": claims}
    text = json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False)
    (new / "claims.json").write_text(text + "\n", encoding="utf-8")
    for section in sections:
        for name, svg in section.images.items():
            (new / f"{section.figure.name}-{place.file_name(name)}.svg").write_bytes(svg)
        for (name, suffix), data in section.others.items():
            (new / f"{section.figure.name}-{place.file_name(name)}{suffix}").write_bytes(data)
        for title, table in section.tables.items():
            table.write_csv(new / f"{section.figure.name}-{place.file_name(title)}.csv")


def known_numbers(sections: "Sequence[Section]") -> dict[str, dict[str, Any]]:
    """The names that a text may use: claims and numbers by `figure/name`."""
    found: dict[str, dict[str, Any]] = {}
    for section in sections:
        ours = {claim.id: claim for claim in section.figure.claims}
        for record in section.claims:
            name = record["id"].partition("/")[2]
            claim = ours[name.partition("/")[2]]
            note = record["note"].removesuffix(claim.note).removesuffix("; ")
            found[name] = record | {"note": note, "published_text": claim.published_text}
        found |= {f"{section.figure.name}/{name}": given for name, given in section.numbers.items()}
    return found


def headlines(sections: "Sequence[Section]") -> dict[str, str]:
    """By paper, the headline of its paper.toml; without those that need a figure that was not run."""
    found = {}
    for paper in dict.fromkeys(section.figure.paper for section in sections):
        mine = [section for section in sections if section.figure.paper == paper]
        about = mine[0].figure.about
        text = composed(about, known_numbers(mine)) if about else ""
        found |= {paper: text} if text else {}
    return found


def render(
    paper: str, sections: "Sequence[Section]", target: str, quick: bool, backend: str = "simulator"
) -> str:
    """The HTML text of a report. Equal sections give equal text."""
    options = ("" if backend == "simulator" else f" --backend {backend}") + (" --quick" if quick else "")
    readme = sections[0].figure.path.parent / "README.md"
    intro = readme.read_text(encoding="utf-8") if readme.exists() else f"# {paper}\n"
    title, _, rest = intro.partition("\n")
    claims = [record for section in sections for record in section.claims]
    known = known_numbers(sections)
    return place.template("paper").render(
        title=title.lstrip("# "),
        intro=to_html(prose.fill(rest, known), top=2),
        document=sections[0].figure.about,
        headline=headlines(sections).get(paper, ""),
        key=_key(sections),
        lists=_lists(sections),
        counts={kind: headline(claims, kind) for kind in KINDS},
        sections=[_section(section, known) for section in sorted(sections, key=_is_beyond)],
        kinds=KINDS,
        matrix=[_row(section) for section in sections],
        causes=[(MARKS[kind], CAUSE_WORDS[kind]) for kind in CAUSES],
        unexpected=sum(record["verdict"] != record["expected_verdict"] for record in claims),
        mode="quick" if quick else "full",
        kernels=", ".join(dict.fromkeys(record["kernel"] for record in claims if record["kernel"])),
        command=f"{program()} reproduce {target}{options}",
        open=_open(sections[0].figure.readings),
        about=_about(sections),
    )


def _is_beyond(section: "Section") -> bool:
    return section.figure.declared.beyond


def _key(sections: "Sequence[Section]") -> dict[str, Any] | None:
    """The key figure as an image; None without one."""
    named = key_figure(sections)
    if not named:
        return None
    figure, drawing = named
    section = next(each for each in sections if each.figure.name == figure)
    captions = section.figure.declared.captions
    return _image(figure, drawing, captions, section.images[drawing]) | {"figure": figure}


def _lists(sections: "Sequence[Section]") -> list[dict[str, Any]]:
    """The claims of each kind as sentences, with their places in the page."""
    found = sentences(sections)
    for each in (claim for one in found for claim in one["claims"]):
        each["anchor"] = anchor(each["id"])
    return found


def _row(section: "Section") -> tuple[str, list[list[dict[str, str]]]]:
    """A row of the matrix: a figure, and its claims by kind."""
    cells = [[_cell(record) for record in section.claims if record["kind"] == kind] for kind in KINDS]
    return section.figure.name, cells


def _ordered(section: "Section") -> list[dict[str, Any]]:
    """Its claims, those that the document makes first."""
    return sorted(section.claims, key=lambda record: KINDS.index(record["kind"]))


def _cell(record: Mapping[str, Any]) -> dict[str, str]:
    cause = record["cause"]
    words = f" ({CAUSE_WORDS[cause['kind']]})" if cause else ""
    return {
        "anchor": anchor(record["id"]),
        "verdict": record["verdict"],
        "kind": record["kind"],
        "mark": MARKS[cause["kind"]] if cause else "",
        "title": f"{record['statement']}: {record['verdict'].replace('-', ' ')}{words}",
    }


def anchor(identity: str) -> str:
    """The place of a claim in the page."""
    return "claim-" + identity.partition("/")[2].replace("/", "-")


def _open(readings: Readings) -> list[dict[str, Any]]:
    """The open questions: each dimension with its values, the base first, with their sources."""
    return [
        {
            "question": dimension.question,
            "values": [
                {"words": v.words, "rank": v.rank, "source": v.source, "base": v is dimension.base}
                for v in sorted(
                    dimension.values, key=lambda v: (v is not dimension.base, RANKS.index(v.rank))
                )
            ],
        }
        for dimension in readings.dimensions.values()
    ]


def _about(sections: "Sequence[Section]") -> list[tuple[str, str]]:
    """The origin of the results: release, sources, back ends, numbers of runs and simulated seconds."""
    manifests = {run.stored.hash: run.stored.manifest for section in sections for run in section.runs}
    rows = [
        ("runs of the base reading", str(len(manifests))),
        ("readings beside it", str(len({r.id for section in sections for r in section.tried}))),
    ]
    for key, name in (("version", "Shallows"), ("source_hash", "core's sources"), ("backend", "backend")):
        rows.append((name, ", ".join(sorted({str(m.get(key, "")) for m in manifests.values()})) or "none"))
    return rows


def _section(section: "Section", known: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    figure = section.figure
    folded = figure.declared.folded
    captions = figure.declared.captions
    images = [
        _image(figure.name, name, captions, svg) | {"folded": name in folded, "shows": _shown(section, name)}
        for name, svg in section.images.items()
    ]
    tables = [
        {
            "caption": title,
            "columns": [head(name) for name in table.columns],
            "rows": table.rows(),
            "folded": title in folded,
            "shows": _shown(section, title),
        }
        for title, table in section.tables.items()
    ]
    return {
        "id": figure.name,
        "beyond": _is_beyond(section),
        "readme": to_html(prose.fill(figure.readme, known, figure.name), top=2),
        "shown": [image for image in images if not image["folded"]],
        "shown_tables": [table for table in tables if not table["folded"]],
        "extras": [image for image in images if image["folded"]],
        "extra_tables": [table for table in tables if table["folded"]],
        "claims": [_claim(section, record) for record in _ordered(section)],
        "failed": section.failed,
        "command": f"{program()} reproduce {figure.paper}/{figure.name}",
        "specs": [_spec(section, spec) for spec in dict.fromkeys(run.spec for run in section.runs)],
    }


def head(column: str) -> str:
    """A column's name as the head of a table: `dctcp_wait_p99_ms` is "DCTCP wait, 99th percentile (ms)"."""
    if not re.fullmatch("[a-z][a-z0-9_]*", column):
        return column
    *words, last = column.split("_")
    unit = UNITS.get(last) if words else None
    known = {name: shown_name(each) for name, each in components("transport.cc").items()} | WORDS
    text = " ".join(known.get(word, word) for word in (words if unit else [*words, last]))
    return f"{text} ({unit})" if unit else text


def _shown(section: "Section", name: str) -> list[dict[str, str]]:
    """Squares of the claims that a figure or table shows."""
    ids = section.figure.shows.get(name, ())
    return [_cell(record) for record in section.claims if record["id"].rpartition("/")[2] in ids]


def _image(figure: str, name: str, captions: Mapping[str, str], svg: bytes) -> dict[str, Any]:
    width = re.search(rb'<svg[^>]* width="([\d.]+)pt"', svg)
    share = 100 * float(width[1]) / PAGE_PT if width else 100.0
    caption = captions.get(name) or name[:1].upper() + name[1:]
    return {
        "data": base64.b64encode(svg).decode(),
        "caption": caption,
        "width": round(min(100.0, max(share, LEAST_SHARE))),
        "alt": f"{figure}: {caption}",
    }


def _claim(section: "Section", record: Mapping[str, Any]) -> dict[str, Any]:
    """A claim's record in words."""
    claim = next(c for c in section.figure.claims if record["id"].endswith(f"/{c.id}"))
    cause, ends = record["cause"], record["ci95"] or record["range"] or (None, None)
    bound = {"at-least": "at least ", "at-most": "at most "}.get(claim.relation, "")
    return dict(record) | {
        "anchor": anchor(record["id"]),
        "said": bound + numbers.published(record["published"], claim.published_text),
        "found": numbers.estimate(record["measured"], *ends, like=claim.published_text),
        "cause_words": _cause_words(cause) if cause else "",
        "tolerance_words": _tolerance(claim),
        "tried": [
            each | {"found": numbers.estimate(each["value"], *(each["interval"] or (None, None)))}
            for each in record["readings"]
        ],
    }


def _cause_words(cause: Mapping[str, Any]) -> str:
    text = f"{CAUSE_WORDS[cause['kind']]}: {cause['words']}"
    if not cause["run"]:
        return text
    return f"{text} ({'shown by' if cause['shown'] else 'not shown in this run, but by'} {cause['run']})"


def _tolerance(claim: Any) -> str:
    if claim.tolerance is None:
        return ""
    more = "; and the scatter of one run, as ours show it" if claim.single_run else ""
    return f"± {numbers.number(claim.tolerance)} {claim.unit}".rstrip() + f": {claim.tolerance_because}{more}"


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
