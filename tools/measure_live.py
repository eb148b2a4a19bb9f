"""Measures the live page: `tools/uv run python tools/measure_live.py memory --minutes 60`, or `cost`.

`memory` drags the first slider of the quickstart without a pause, and samples the memory of the server and of
Chromium (`live_memory`). `cost` takes the slowdown of a watched run, the frames a second with eight senders,
and the updates a second of 1024 hosts. It measures wall time: let the machine be quiet.
"""

import argparse
import json
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
from chromium import DONE, opened
from live_memory import drag
from shallows import _core
from shallows.document.points import expand
from shallows.web.address import pack
from shallows.web.film import Filming
from shallows.web.gallery_entries import entry

SIZE = {"width": 1280, "height": 900}


def main() -> None:
    """Measures what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = parser.add_subparsers(dest="what", required=True)
    memory = kinds.add_parser("memory")
    memory.add_argument("--minutes", type=float, default=60.0)
    memory.add_argument("--csv", type=Path, default=Path("live-memory.csv"))
    kinds.add_parser("cost")
    given = parser.parse_args()
    if given.what == "memory":
        drag(given.minutes, given.csv)
    else:
        cost()


def cost() -> None:
    """Prints the three costs."""
    print(f"watching the quickstart adds {100 * slowdown():+.1f} % of time (wanted: below 20)")
    with opened(SIZE) as (url, page):
        print(f"8 senders: {frames(page, url):.1f} frames a second (wanted: 30)")
        print(f"1024 hosts: {updates(page, url):.1f} updates a second (wanted: 2)")


def slowdown() -> float:
    """Watched against unwatched, the runs in turn; the median of the ratios, less one."""
    experiment = expand(tomllib.loads(quickstart()))[0].experiment
    text, ports = json.dumps(experiment), json.loads(_core.plan(json.dumps(experiment)))["ports"]
    duration = _core.parse_quantity("span", experiment["duration"])

    def plain() -> None:
        _core.Simulation(text).advance(duration)

    def watched() -> None:
        filming = Filming(_core.Simulation(text), duration, [port["rate_bps"] for port in ports])
        while not filming.ended:
            filming.look()

    def timed(what: Any) -> float:
        began = time.perf_counter()
        what()
        return time.perf_counter() - began

    plain(), watched()
    return float(np.median([timed(watched) / timed(plain) for _ in range(31)])) - 1


def quickstart() -> str:
    """The text of the gallery's first experiment."""
    found = entry("quickstart")
    assert found is not None and "senders = 4" in found.text
    return found.text


def frames(page: Any, url: str) -> float:
    """Frames drawn while a run of eight senders plays at 10 ms a second."""
    page.goto(f"{url}?x={pack({'text': quickstart().replace('senders = 4', 'senders = 8'), 'second': ''})}")
    page.wait_for_function(DONE)
    page.evaluate("() => { const p = shallows.player; p.seek(0); p.controls.speed.value = 2; "
                  "p.controls.setSpeed(); p.play(); }")  # fmt: skip
    before, began = page.evaluate("shallows.player.frames"), time.monotonic()
    page.wait_for_timeout(4000)
    return (page.evaluate("shallows.player.frames") - before) / (time.monotonic() - began)


def updates(page: Any, url: str) -> float:
    """Chunks of the fabric's film that reached the page a second, while it is being computed."""
    page.goto(f"{url}?show=fabric")
    page.wait_for_function("() => window.shallows?.player.films[0]?.done > 0", timeout=120_000)
    state = "(() => { const f = shallows.player.films[0]; return [shallows.player.frames, f.state]; })()"
    (before, _), began = page.evaluate(state), time.monotonic()
    while True:
        now, ended = page.evaluate(state)
        passed = time.monotonic() - began
        if ended != "running" or passed > 20:
            return (now - before) / passed
        time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main())
