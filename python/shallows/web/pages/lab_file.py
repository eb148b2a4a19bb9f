"""The laboratory as one file: the live page's player, charts and editor around the simulator as WebAssembly.

The page needs no server and no network. `make site` writes it as `lab/index.html`; a browser opens it as a
file too.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jinja2

from shallows.errors import RunError
from shallows.figures import interactive
from shallows.web.editor.completion import known
from shallows.web.editor.editing import sliders
from shallows.web.live.export import SCRIPTS, STATIC, packed, raw
from shallows.web.pages.gallery import entries

TEMPLATE = Path(__file__).with_name("lab_file.html.j2")

__all__ = ["MOST_BYTES", "gallery", "page_of"]

MOST_BYTES = 3_000_000
"""The most bytes of the page."""


def gallery() -> list[dict[str, Any]]:
    """The entries of the gallery as the page takes them."""
    return [
        lesson(each.name, each.text, each.about, second=each.second, picture=each.picture)
        for each in entries()
    ]


def lesson(name: str, text: str, about: Mapping[str, Any], **more: str) -> dict[str, Any]:
    """An entry: an experiment's text, the words about it, and its sliders with their ranges."""
    from shallows.document.points import expand

    document = tomllib.loads(text)
    single = {key: value for key, value in document.items() if key != "seeds"}
    made = sliders(document, expand(single)[0].experiment, about.get("drag", ()))
    told = {key: about[key] for key in ("title", "about", "watch", "names") if key in about}
    drag = [
        {key: getattr(each, key) for key in ("path", "low", "high", "unit", "whole", "ratio", "label")}
        for each in made
    ]
    return {"name": name, "text": text, "drag": drag, "second": "", "picture": "", **told, **more}


def page_of(module: bytes, lessons: Iterable[Mapping[str, Any]], site: str = "../index.html") -> str:
    """HTML of the laboratory around a compiled `crates/wasm`. `site` is the address of the documentation."""
    from shallows.document.schema import components

    controls = [name for name, each in components("transport.cc").items() if "backend" not in each]
    given = {"entries": list(lessons), "known": known(), "controls": controls, "site": site}
    scripts = {
        f"shallows-player/{name}.js": packed((STATIC / f"{name}.js").read_bytes())
        for name in (*SCRIPTS, "completion", "lab")
    }
    scripts |= {name: packed(source) for name, source in _editor().items()}
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(TEMPLATE.read_text()).render(
        style=raw("\n".join((STATIC / f"{name}.css").read_text() for name in ("player", "page", "lab"))),
        look=raw((STATIC / "look.js").read_text()),
        scripts=scripts,
        echarts=interactive.packed()["echarts"],
        worker=packed((STATIC / "worker.js").read_bytes()),
        module=packed(module),
        given=packed(json.dumps(given, separators=(",", ":"), ensure_ascii=False).encode()),
    )


def _editor() -> dict[str, bytes]:
    """CodeMirror as NiceGUI ships it, without the languages but TOML."""
    found = find_spec("nicegui.elements.codemirror")
    if found is None or found.origin is None:
        raise RunError("the laboratory's page needs the editor of the extra web")
    folder = Path(found.origin).parent / "dist"
    names = (folder / "index.js").read_text()
    (core,) = set(re.findall(r'from"\./([\w-]+\.js)"', names))
    (toml,) = folder.glob("toml-*.js")
    return {
        "shallows-editor": names.replace(f'"./{core}"', '"shallows-editor/core.js"').encode(),
        "shallows-editor/core.js": (folder / core).read_bytes(),
        "shallows-editor/toml.js": toml.read_bytes(),
    }
