"""Pages made from the program itself: Python API, notebooks, and files of the root."""

from __future__ import annotations

import importlib
import inspect
import json
from pathlib import Path
from typing import Any

import messages

ROOT = Path(__file__).parents[2]


def pages() -> dict[str, str]:
    """Every generated page by its path in the site."""
    return {
        "reference/api.md": api(),
        "reference/messages.md": messages.page(),
        **{f"{Path(name).stem.lower()}.md": _of_root(name) for name in ROOT_PAGES},
        **{f"notebooks/{path.stem}.md": notebook(path) for path in (ROOT / "docs/notebooks").glob("*.ipynb")},
    }


ROOT_PAGES = ("CONTRIBUTING.md", "CHANGELOG.md", "RELEASING.md", "CODE_OF_CONDUCT.md", "SECURITY.md")
"""Files of the repository's root that are pages of the site too."""


def _of_root(name: str) -> str:
    text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
    for other in ROOT_PAGES:
        text = text.replace(f"]({other}", f"]({Path(other).stem.lower()}.md")
    return text


GROUPS = {
    "Run": ("run", "sweep", "compare", "tune", "reproduce", "load"),
    "Write an algorithm": (
        "CongestionControl",
        "Window",
        "Workload",
        "Flow",
        "Graph",
        "topology",
        "param",
        "Bytes",
        "Rate",
        "Span",
    ),
    "Errors": ("ShallowsError", "SpecError", "Fault", "RunError", "PluginError", "StoreError"),
}
"""Public names by purpose. Names that stand in no group follow as results."""

MODULES = ("shallows.testing", "shallows.figures")
"""Public modules beside the package itself."""


def api() -> str:
    """A page with every public name of `shallows` and of its public modules."""
    shallows = importlib.import_module("shallows")
    grouped = {name for names in GROUPS.values() for name in names}
    groups = {group: [name for name in names if name in shallows.__all__] for group, names in GROUPS.items()}
    groups["Results"] = [name for name in shallows.__all__ if name not in grouped]
    text = ["# Python API", "Every public name of `import shallows`, by purpose."]
    for group, names in groups.items():
        shared = ["::: shallows.api.Options"] if group == "Run" else []
        text += [f"## {group}", *(_entry(shallows, name) for name in names), *shared]
    for name in MODULES:
        text += [
            f"## `{name}`",
            f"::: {name}\n    options: {{show_root_heading: false, show_root_toc_entry: false}}",
        ]
    return "\n\n".join(text) + "\n"


def _entry(package: Any, name: str) -> str:
    found = getattr(package, name)
    if inspect.isclass(found) or inspect.isfunction(found):
        return f"::: {found.__module__}.{found.__qualname__}"
    return f"::: {package._homes()[name]}.{name}"


def notebook(path: Path) -> str:
    """A notebook as a page: its text and its code."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    parts = []
    for cell in cells:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
    note = f"This page is the notebook `docs/notebooks/{path.name}`; it runs in about ten seconds."
    return "\n\n".join([parts[0], note, *parts[1:]])
