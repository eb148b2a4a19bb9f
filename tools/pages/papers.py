"""Pages of the papers, made from the READMEs of their studies, their claims and their last figures."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

_SLOT = re.compile(r"\{\{\s*(?:(value|verdict|note):\s*)?([\w./ +-]+?)\s*\}\}")
ROOT = Path(__file__).parents[2]
EXPERIMENTS = ROOT / "experiments"
REPORTS = ROOT / "reports"


def papers() -> list[Path]:
    """The directories of the papers."""
    return sorted({claims.parents[1] for claims in EXPERIMENTS.glob("*/*/claims.toml")})


def page_of(path: str) -> str | None:
    """The page of the site for a path below `experiments/`, with the figure's anchor."""
    parts = Path(path).parts
    if not parts or parts[0] != "experiments" or len(parts) < 2:
        return None
    if not (EXPERIMENTS / parts[1]).is_dir():
        return None
    figure = f"#{parts[2]}" if len(parts) > 2 and (EXPERIMENTS / parts[1] / parts[2]).is_dir() else ""
    return f"papers/{parts[1]}.md{figure}"


def pages() -> dict[str, str]:
    """A page for each paper, and their index."""
    found = {f"papers/{paper.name}.md": _page(paper) for paper in papers()}
    rows = [
        f"- [{_title(paper)}]({paper.name}.md): `./shallows reproduce {paper.name}`" for paper in papers()
    ]
    index = "# Papers\n\nEach study below runs with one command and computes a verdict on every claim.\n\n"
    return found | {"papers/index.md": index + "\n".join(rows) + "\n"}


def figures() -> dict[str, bytes]:
    """The figures that `./shallows reproduce` last wrote to `reports/`, by their paths in the site."""
    return {
        f"papers/{paper.name}/{svg.name}": svg.read_bytes() for paper in papers() for svg in _drawn(paper)
    }


def _drawn(paper: Path) -> list[Path]:
    """The figures of the last full form, else of the last quick one."""
    full, quick = REPORTS / paper.name, REPORTS / f"{paper.name}-quick"
    return sorted((full if full.is_dir() else quick).rglob("*.svg"))


def _title(directory: Path) -> str:
    return (directory / "README.md").read_text(encoding="utf-8").splitlines()[0].lstrip("# ")


def _page(paper: Path) -> str:
    readme = (paper / "README.md").read_text(encoding="utf-8").rstrip()
    text = [_named(readme, _recorded(paper))]
    if _SLOT.search(readme):
        command = f"`./shallows reproduce {paper.name}`"
        text.append(f"Names of claims stand where the report of {command} has their numbers.")
    drawn = _drawn(paper)
    if drawn and not (REPORTS / paper.name).is_dir():
        text.append("The figures are those of the quick form, with fewer seeds and points.")
    if not drawn:
        text.append(f"Figures appear here after `./shallows reproduce {paper.name}` and a new `make site`.")
    for figure in sorted(path.parent for path in paper.glob("*/claims.toml")):
        text.append(_named(_figure(paper.name, figure, drawn), _recorded(paper), figure.name))
    return "\n\n".join(text) + "\n"


def _recorded(paper: Path) -> dict[str, str]:
    """By `figure/claim`: the verdict that the full form has."""
    found = {}
    for path in paper.glob("*/claims.toml"):
        for claim in tomllib.loads(path.read_text(encoding="utf-8")).get("claim", []):
            found[f"{path.parent.name}/{claim['id']}"] = claim.get("expected", {}).get("full", "")
    return found


def _named(text: str, recorded: dict[str, str], figure: str = "") -> str:
    """The text with recorded verdicts in their slots; elsewhere the name of a number in the report."""

    def put(match: re.Match[str]) -> str:
        what, name = match[1], match[2]
        verdict = recorded.get(f"{figure}/{name}") or recorded.get(name)
        if what == "verdict" and verdict:
            return verdict.replace("not-determined", "not determined")
        return f"`{name}`"

    return _SLOT.sub(put, text)


def _figure(paper: str, figure: Path, drawn: list[Path]) -> str:
    readme = (figure / "README.md").read_text(encoding="utf-8").splitlines()
    parts = [
        f"## {readme[0].lstrip('# ')} {{ #{figure.name} }}",
        f"`./shallows reproduce {paper}/{figure.name}`",
    ]
    parts.append(re.sub(r"^(#+)", r"#\1", "\n".join(readme[1:]).strip(), flags=re.MULTILINE))
    mine = [svg for svg in drawn if svg.stem == figure.name or svg.stem.startswith(f"{figure.name}-")]
    parts += [f"![{svg.stem}]({paper}/{svg.name})" for svg in mine]
    claims = tomllib.loads((figure / "claims.toml").read_text(encoding="utf-8")).get("claim", [])
    table = ["| claim | statement | expected verdict |", "|---|---|---|"]
    for claim in claims:
        expected = claim.get("expected", {}).get("full", "")
        table.append(f"| `{claim['id']}` | {claim['statement'].replace('|', '/')} | {expected} |")
    return "\n\n".join([*parts, "\n".join(table)])
