"""Takes a picture of every view of the live page: `tools/uv run python tools/screens.py DIR --only run`.

Pictures go to DIR/pictures: each view at 1280 and 1920 pixels, light and dark, and at 400. DIR also keeps the
runs, sweep, comparison, tuning and figure of a paper that they show, so that these are made once.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from chromium import DONE, opened
from shallows.web.pages.address import pack
from shallows.web.pages.gallery import entry

SIZES = [(1280, "light"), (1920, "dark"), (400, "light"), (1920, "light"), (1280, "dark")]
TALLEST = 2400
SWEEP = """
[sweep.grid]
"queue.mark_at" = ["10pkt", "20pkt", "40pkt", "80pkt"]
"topology.senders" = [2, 4, 8]
"""
TUNE = """
[tune]
trials = 12
seeds = 1
confirm = 2
[tune.parameters]
"queue.mark_at" = { low = 5, high = 100, unit = "pkt" }
"transport.cc.g" = { low = 0.01, high = 1.0, log = true }
[tune.objectives]
bottleneck_mean_wait_ps = "minimise"
goodput_bps_total = "maximise"
[tune.baselines]
paper = { "transport.cc.g" = 0.0625, "queue.mark_at" = "65pkt" }
"""


def main() -> None:
    """Makes runs and reports, then takes the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    folder = given.folder.absolute()
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    told = _work(folder)
    wanted = set(filter(None, given.only.split(",")))
    for width, scheme in SIZES:
        size = {"width": width, "height": {400: 800, 1280: 900}.get(width, 1080)}
        with opened(size, folder, color_scheme=scheme) as (url, page):
            page.on("pageerror", lambda error: print(f"  a fault of the page: {error}", flush=True))
            page.set_default_timeout(120_000)
            for name, address, ready in _views(told, folder):
                if wanted and name not in wanted:
                    continue
                page.goto(address if address.startswith("file:") else url + address)
                ready(page)
                height = page.evaluate("document.documentElement.scrollHeight")
                page.set_viewport_size(size | {"height": min(max(height, size["height"]), TALLEST)})
                page.wait_for_timeout(700)  # charts that come into sight draw themselves
                page.screenshot(path=folder / "pictures" / f"{name}-{width}-{scheme}.png")
                page.set_viewport_size(size)
                print(name, width, scheme, flush=True)


def _work(folder: Path) -> dict[str, Any]:
    """The output of each command."""
    found = entry("quickstart")
    assert found is not None
    short = found.text.replace('"10ms"', '"1ms"').replace('"50ms"', '"10ms"').replace("Four", "Swept:")
    (folder / "one.toml").write_text(found.text)
    (folder / "swept.toml").write_text("seeds = 2\n" + short + SWEEP)
    (folder / "tuned.toml").write_text(short + TUNE)
    commands = {
        "run": ["run", "one.toml"],
        "sweep": ["sweep", "swept.toml"],
        "compare": ["compare", "one.toml", "--vary", "queue.mark_at=20pkt,65pkt", "--seeds", "3"],
        "tune": ["tune", "tuned.toml"],
        "reproduce": ["reproduce", "dctcp-and-queues/fig1", "--quick"],
        "film": ["export", "one.toml", "film.html"],
    }
    told = {}
    for name, words in commands.items():
        place = folder / f"{name}.json"
        if not place.exists():
            more = [] if name == "film" else ["--json"]
            done = subprocess.run(
                [sys.executable, "-m", "shallows", *words, *more], cwd=folder, stdout=subprocess.PIPE
            )
            assert done.returncode in (0, 1), name
            place.write_bytes(done.stdout)
        told[name] = json.loads(place.read_text() or "null") if name != "film" else None
    return told


def _views(told: dict[str, Any], folder: Path) -> Iterator[tuple[str, str, Any]]:
    """Name, address and the wait for its last part."""
    from shallows.results.store import Store

    runs = sorted((run for run in Store(folder / "runs").runs()), key=lambda run: run.hash)
    one = next(run.hash for run in runs if run.hash in json.dumps(told["run"]))
    two = next(run.hash for run in runs if run.hash != one and run.hash in json.dumps(told["sweep"]))
    faulty = pack({"text": entry("quickstart").text.replace("mark_at", "mark_att"), "second": ""})  # type: ignore[union-attr]
    yield "lab", "", _run
    yield "slow", "", _slow
    yield "fault", f"?x={faulty}", _sees(".sh-fault")
    for name in ("dualq", "incast", "ecmp", "fabric"):
        yield name, f"?show={name}", _run
    yield "gallery", "gallery", _sees("h1")
    yield "results", "results", _sees(".sh-table")
    yield "run", f"run/{one}", _figures
    yield "sweep", f"sweep?q={quote('title=Swept')}", _sees(".sh-chart canvas")
    yield "difference", f"difference?a={one}&b={two}", _sees(".sh-table")
    for path in sorted((folder / "reports").iterdir()):
        yield f"report-{path.name.split('-')[0]}", f"report/{path.name}", _figures
        yield f"file-{path.name.split('-')[0]}", (path / "index.html").as_uri(), _sees("h1")
    yield "papers", "papers", _sees(".sh-matrix")
    yield "figure", "figure/dctcp-and-queues/fig1", _sees(".sh-claims")
    yield "work", "", _work_view
    yield "film", (folder / "film.html").as_uri(), _run


def _run(page: Any) -> None:
    page.wait_for_function(DONE)
    page.wait_for_function("() => shallows.player.drawn().queue.length > 0")


def _slow(page: Any) -> None:
    _run(page)
    page.evaluate("() => { const p = shallows.player; p.controls.speed.value = 5; p.controls.setSpeed(); "
                  "p.follow = false; p.seek(3.07e9); }")  # fmt: skip
    page.wait_for_function("() => shallows.player.close[0]?.at_ps === Math.round(shallows.player.view)")


def _work_view(page: Any) -> None:
    _run(page)
    page.get_by_role("button", name="Run and keep").click()
    page.get_by_role("heading", name="run: done").wait_for()


def _figures(page: Any) -> None:
    page.locator(".sh-picture").first.scroll_into_view_if_needed()  # drawn when near
    page.locator(".sh-interactive canvas").first.wait_for()
    page.evaluate("scrollTo(0, 0)")


def _sees(selector: str) -> Any:
    return lambda page: page.locator(selector).first.wait_for()


if __name__ == "__main__":
    main()
