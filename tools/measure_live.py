"""Measures the live page: `tools/uv run python tools/measure_live.py memory --minutes 60`, or `cost`.

`memory` drags the first slider of the quickstart without a pause, and samples the resident memory of the
server (with its workers) and of Chromium. `cost` takes the slowdown of a watched run, the frames a second
with eight senders, and the updates a second of 1024 hosts. It measures wall time: let the machine be quiet.
"""

import argparse
import json
import math
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
from chromium import DONE, opened
from shallows import _core
from shallows.document.points import expand
from shallows.web.address import pack
from shallows.web.film import Filming
from shallows.web.gallery_entries import entry

SIZE = {"width": 1280, "height": 900}
SAMPLE_S = 15.0
DRAG_S = 0.5
SETTLED = 0.1
"""Share of the samples left out of the slope: the processes are still filling their caches."""


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


# ---- memory ----


def drag(minutes: float, csv: Path) -> None:
    """Drags for so long; writes the samples, and prints the slopes of the two series."""
    rows: list[tuple[float, float, float, int]] = []
    with opened(SIZE) as (url, page, pid), csv.open("w") as file:
        file.write("seconds,server_mb,browser_mb,runs\n")
        page.goto(url)
        page.wait_for_function(DONE)
        box = page.locator('[aria-label="queue.mark_at"]').first.bounding_box()
        began = time.monotonic()
        until, sampled = began + 60 * minutes, 0.0
        y = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + box["width"] / 2, y)
        page.mouse.down()
        while (now := time.monotonic()) < until:
            share = 0.5 + 0.45 * math.sin((now - began) / 3)
            page.mouse.move(box["x"] + box["width"] * share, y)
            time.sleep(DRAG_S)
            if now - sampled > SAMPLE_S:
                sampled = now
                runs = page.evaluate("shallows.player.begun")
                if rows and runs == rows[-1][3]:  # a slow machine: the page waits for the button
                    page.get_by_role("button", name="Run", exact=True).evaluate("button => button.click()")
                server, browser = (megabytes(found) for found in (tree(pid), chromium_of(page)))
                rows.append((now - began, server, browser, runs))
                file.write(f"{now - began:.0f},{server:.1f},{browser:.1f},{runs}\n")
                file.flush()
        page.mouse.up()
    times = np.array([row[0] for row in rows]) / 3600
    kept = slice(int(len(rows) * SETTLED), None)
    print(f"{minutes:g} minutes, {rows[-1][3]} runs, {len(rows)} samples")
    for name, column in (("server", 1), ("browser", 2)):
        values = np.array([row[column] for row in rows])[kept]
        slope, error = trend(times[kept], values)
        span = f"{values.min():.0f} to {values.max():.0f} MB"
        print(f"{name}: {span}, slope {slope:+.1f} +- {error:.1f} MB an hour")


def trend(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Slope of the least-squares line, and its standard error."""
    (slope, _), covariance = np.polyfit(x, y, 1, cov=True)
    return float(slope), float(np.sqrt(covariance[0, 0]))


def tree(pid: int) -> list[int]:
    """A process and all below it."""
    found = [pid]
    for each in found:
        for task in Path(f"/proc/{each}/task").glob("*/children"):
            try:
                found += map(int, task.read_text().split())
            except OSError:
                continue
    return found


def chromium_of(page: Any) -> list[int]:
    """The processes of the page's browser."""
    session = page.context.browser.new_browser_cdp_session()
    try:
        return [each["id"] for each in session.send("SystemInfo.getProcessInfo")["processInfo"]]
    finally:
        session.detach()


def megabytes(pids: list[int]) -> float:
    """Resident memory of all."""
    total = 0
    for pid in pids:
        try:
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        except OSError:
            continue
        total += 4096 * pages
    return total / 1e6


# ---- cost ----


def cost() -> None:
    """Prints the three costs."""
    print(f"watching the quickstart adds {100 * slowdown():+.1f} % of time (wanted: below 20)")
    with opened(SIZE) as (url, page, _):
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
