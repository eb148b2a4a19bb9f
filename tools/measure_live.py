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
from shallows.web.live.film import Filming
from shallows.web.pages.address import pack
from shallows.web.pages.gallery import entry

SIZE = {"width": 1280, "height": 900}
COST = """() => {
    const times = [];
    for (let i = 0; i < 200; i++) {
        shallows.player.forceFrame = true;
        const began = performance.now();
        shallows.player.draw(began);
        times.push(performance.now() - began);
    }
    return times.sort((a, b) => a - b)[100];
}"""
"""Median time in which the script draws one frame."""


def main() -> None:
    """Runs the measurement that the command line names."""
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
    looks, whole = slowdown()
    print(
        f"watching the quickstart adds {100 * looks:+.1f} % of CPU time to the simulation (wanted: below 20);"
    )
    print(f"with the making of what is sent, in a thread beside it, {100 * whole:+.1f} %")
    with opened(SIZE) as (url, page):
        shown, cost = frames(page, url)
        print(f"8 senders: {shown:.1f} frames a second (wanted: 30), {cost:.1f} ms of script each")
        print(f"1024 hosts: {updates(page, url):.1f} updates a second (wanted: 2)")


def slowdown() -> tuple[float, float]:
    """CPU time of a watched run over that of an unwatched one, in turn; medians of the ratios, less one.

    The second counts the making of chunks too, which a worker does beside the run.
    """
    experiment = expand(tomllib.loads(quickstart()))[0].experiment
    text = json.dumps(experiment)
    plan = json.loads(_core.plan(text))
    ports, duration = plan["ports"], plan["numbers"]["duration"]

    def plain() -> None:
        _core.Simulation(text).advance(duration)

    def watched(encoding: bool) -> None:
        filming = Filming(_core.Simulation(text), duration, ports)
        while not filming.ended:
            seen = filming.look()
            if encoding:
                filming.encode(seen)

    def timed(what: Any, *given: Any) -> float:
        began = time.process_time()
        what(*given)
        return time.process_time() - began

    plain(), watched(True)
    rounds = [(timed(plain), timed(watched, False), timed(watched, True)) for _ in range(31)]
    looks, whole = (float(np.median([each[i] / each[0] for each in rounds])) - 1 for i in (1, 2))
    return looks, whole


def quickstart() -> str:
    """The text of the gallery's first experiment."""
    found = entry("quickstart")
    assert found is not None and "senders = 4" in found.text
    return found.text


def frames(page: Any, url: str) -> tuple[float, float]:
    """Frames a second while a run of eight senders plays at 10 ms a second, and ms of script in each."""
    page.goto(f"{url}?x={pack({'text': quickstart().replace('senders = 4', 'senders = 8'), 'second': ''})}")
    page.wait_for_function(DONE)
    page.evaluate("() => { const p = shallows.player; p.seek(0); p.controls.speed.value = 2; "
                  "p.controls.setSpeed(); p.play(); }")  # fmt: skip
    before, began = page.evaluate("shallows.player.frames"), time.monotonic()
    page.wait_for_timeout(4000)
    shown = (page.evaluate("shallows.player.frames") - before) / (time.monotonic() - began)
    cost = page.evaluate(COST)
    return shown, cost


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
