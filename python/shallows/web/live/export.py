"""A run in one file: its film, which plays without a server or a network.

The film is made by running the stored experiment again, which gives the same run. Its size is bounded: a
large network keeps fewer looks.
"""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import jinja2

from shallows.errors import RunError
from shallows.figures import interactive

TEMPLATE = Path(__file__).with_name("export.html.j2")
STATIC = Path(__file__).parents[1] / "static"
SCRIPTS = ("index", "player", "controls", "charts", "film", "network", "matrix", "canvas", "colours")
MOST_BYTES = 25_000_000
"""The most bytes of a film before it is packed; a larger page is a burden."""

CLOSE_LOOKS = 240
CLOSE_ROUNDS = 6
"""Single packets are recorded from the start for so many delays of the longest link and transmission."""

__all__ = ["packed", "page_of", "raw"]


def page_of(experiment: dict[str, Any]) -> str:
    """HTML of a resolved experiment's run. Raises RunError."""
    from shallows import _core
    from shallows.web.live.drawing import layout
    from shallows.web.live.film import Filming

    if "python" in experiment:
        raise RunError("a run with components in Python cannot be exported: their sources are not stored")
    text = json.dumps(experiment)
    plan = json.loads(_core.plan(text))
    drawn = layout(plan, experiment)
    duration = plan["numbers"]["duration"]
    filming = Filming(_core.Simulation(text), duration, drawn["ports"], paced=False)
    header = {"layout": drawn, "duration_ps": duration, "every_ps": filming.every_ps, "looks": filming.looks,
              "loads": list(experiment["traffic"]), "title": str(experiment.get("title") or "")}  # fmt: skip
    film = b"".join(filming.chunks())
    if len(film) > MOST_BYTES:
        raise RunError(
            f"the film would have {len(film)} bytes, and a page of more than {MOST_BYTES} is refused"
        )
    close = _close(text, drawn, duration) if drawn["kind"] == "graph" else []
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    template = environment.from_string(TEMPLATE.read_text())
    return template.render(
        title=header["title"] or "A run of Shallows",
        style=raw((STATIC / "player.css").read_text()),
        header=packed(json.dumps(header).encode()),
        film=packed(film),
        close=packed(json.dumps(close, separators=(",", ":")).encode()),
        scripts={
            f"shallows-player/{name}.js": packed((STATIC / f"{name}.js").read_bytes()) for name in SCRIPTS
        },
        echarts=interactive.packed()["echarts"],
        settings=json.dumps(experiment, indent=1, ensure_ascii=False),
    )


def raw(text: str) -> Any:
    """Our own style sheet, which holds no markup."""
    from markupsafe import Markup

    return Markup(text)


def packed(source: bytes) -> str:
    """Bytes as text in a page, compressed."""
    return base64.b64encode(gzip.compress(source, 9, mtime=0)).decode()


def _close(text: str, drawn: dict[str, Any], duration: int) -> list[dict[str, Any]]:
    """Single packets look by look at the start of the run, where connections open and windows grow."""
    from shallows import _core
    from shallows.web.live.simulation_process import packets_of

    longest = max(port["delay_ps"] + 12_000 * 10**12 // port["rate_bps"] for port in drawn["ports"])
    every = max(1, min(CLOSE_ROUNDS * 2 * longest, duration) // CLOSE_LOOKS)
    simulation = _core.Simulation(text)
    found = []
    for look in range(1, CLOSE_LOOKS + 1):
        simulation.advance(look * every)
        found.append(packets_of(simulation.observe(600)["packets"], look * every))
    return found
