"""The beginning of a report: the document, the headline, the key figure, and each claim as a sentence."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shallows.studies.paper import numbers, prose
from shallows.studies.paper.claims import KINDS

if TYPE_CHECKING:
    from shallows.studies.paper.reproduce import Section

TITLES = {
    "published": "The document says",
    "implied": "Its argument needs",
    "ours": "Questions of this project",
}
"""The head of the list of claims of a kind."""

__all__ = ["TITLES", "key_figure", "sentences"]


def key_figure(sections: "Sequence[Section]") -> tuple[str, str] | None:
    """Figure and drawing that paper.toml names, if they were drawn in this call."""
    about = sections[0].figure.about
    figure, _, drawing = (about.figure if about else "").partition("/")
    for section in sections:
        if section.figure.name == figure and drawing in section.images:
            return figure, drawing
    return None


def sentences(sections: "Sequence[Section]") -> list[dict[str, Any]]:
    """The claims of each kind, the document's first: the words it has, and the verdict in words.

    Claims that this form does not measure come after the others of their kind.
    """
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}
    for section in sections:
        for record in section.claims:
            found[record["kind"]].append(_sentence(section, record))
    for claims in found.values():
        claims.sort(key=lambda claim: claim["unmeasured"])
    return [
        {"kind": kind, "title": TITLES[kind], "claims": claims} for kind, claims in found.items() if claims
    ]


def _sentence(section: "Section", record: Mapping[str, Any]) -> dict[str, Any]:
    claim = next(c for c in section.figure.claims if record["id"].endswith(f"/{c.id}"))
    return {
        "id": record["id"],
        "words": f"“{claim.sentence}”" if claim.sentence else claim.statement,
        "statement": claim.statement if claim.sentence else "",
        "where": claim.where,
        "verdict": record["verdict"],
        "unmeasured": record["measured"] is None and record["verdict"] == "not-determined",
        "verdict_words": prose.verdict_words(record),
        "numbers": _numbers(record, claim.published_text, claim.relation),
    }


def _numbers(record: Mapping[str, Any], text: str, relation: str) -> str:
    """The document's number and ours; nothing of a claim that is true or false."""
    if isinstance(record["published"], bool) or record["published"] is None:
        return ""
    unit = f" {record['unit']}" if record["unit"] else ""
    if record["verdict"] == "holds-if":
        found = next(each for each in record["readings"] if each["reading"] == record["cause"]["run"])
        value, ends = found["value"], found["interval"]
        here = numbers.estimate(record["measured"], *_ends(record), like=text)
        base = f", and {here}{unit} in the base reading"
    else:
        value, ends, base = record["measured"], _ends(record), ""
    bound = {"at-least": "at least ", "at-most": "at most "}.get(relation, "")
    wanted = "expected" if record["kind"] == "ours" else "published"
    wanted += f" {bound}{numbers.published(record['published'], text)}{unit}"
    if value is None:
        return f"{wanted}, not measured"
    ours = numbers.estimate(value, *(ends or (None, None)), like=text)
    return f"{wanted}, found {ours}{unit}{base}"


def _ends(record: Mapping[str, Any]) -> Sequence[float | None]:
    return record["ci95"] or record["range"] or (None, None)
