"""The memory of the live page over a long time of dragging: the server's and Chromium's.

Memory is the proportional set size of all processes, so shared pages count once. Each `COLLECT_S` Chromium is
told to collect its garbage; sizes just before are those of plain use, sizes just after those that are held.
"""

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
from chromium import DONE, serving
from devtools import Page, bare

SIZE = {"width": 1280, "height": 900}
SAMPLE_S = 15.0
COLLECT_S = 120.0
DRAG_S = 0.5
SETTLED = 1 / 6
"""Share of the time left out of the slope: the processes are still filling their caches."""

NORMAL_95 = 1.96
PLAIN = ("server_mb", "browser_mb", "renderer_mb")
HELD = ("browser_held_mb", "renderer_held_mb", "heap_mb", "nodes", "listeners", "documents")

__all__ = ["drag"]


def drag(minutes: float, csv: Path) -> None:
    """Drags for so long; writes all samples, and prints the slopes."""
    plain: list[list[float]] = []
    held: list[list[float]] = []
    with serving() as (url, server), bare(SIZE) as page, csv.open("w") as file:
        file.write(f"seconds,runs,{','.join(PLAIN)},{','.join(HELD)}\n")
        x, y, width = _slider(page, url)
        page.mouse("mousePressed", x + width / 2, y)
        began = time.monotonic()
        sampled, collected, runs = began, began, 0
        while (now := time.monotonic()) < began + 60 * minutes:
            share = 0.5 + 0.45 * math.sin((now - began) / 3)
            page.mouse("mouseMoved", x + width * share, y)
            time.sleep(DRAG_S)
            if now - sampled < SAMPLE_S:
                continue
            sampled, before = now, runs
            runs = page.evaluate("shallows.player.begun")
            if runs == before:  # a slow machine: the page waits for the button
                page.evaluate(
                    "[...document.querySelectorAll('button')].find(b => b.innerText === 'Run').click()"
                )
            plain.append([now - began, _megabytes(_tree(server)), *_chromium(page)])
            row = [*plain[-1][1:], *[math.nan] * len(HELD)]
            if now - collected >= COLLECT_S:
                collected = now
                held.append([now - began, *_after_collection(page)])
                row[len(PLAIN) :] = held[-1][1:]
            file.write(f"{now - began:.0f},{runs},{','.join(f'{value:.4g}' for value in row)}\n")
            file.flush()
        page.mouse("mouseReleased", x, y)
    print(f"{minutes:g} minutes, {runs} runs")
    for names, rows in ((PLAIN, plain), (HELD, held)):
        table = np.array(rows)
        for number, name in enumerate(names, start=1):
            _say(name, table[:, 0] / 3600, table[:, number], minutes / 60)


def _slider(page: Page, url: str) -> tuple[float, float, float]:
    """Opens the laboratory; left end, height and width of its first slider."""
    page.ask("Page.navigate", url=url)
    while not page.evaluate(f"({DONE})()"):
        time.sleep(0.2)
    code = """(() => {
        const box = document.querySelector('.sh-slider [aria-label="queue.mark_at"]').getBoundingClientRect();
        return [box.x, box.y + box.height / 2, box.width];
    })()"""
    x, y, width = page.evaluate(code)
    return x, y, width


def _chromium(page: Page) -> tuple[float, float]:
    """All of Chromium's processes, and the page's own (the greatest: another renderer waits for a page)."""
    kinds = page.processes()
    return sum(map(_megabytes, kinds.values())), max(_megabytes([pid]) for pid in kinds["renderer"])


def _after_collection(page: Page) -> list[float]:
    """Sizes and counts after a forced collection: `HELD`."""
    page.ask("HeapProfiler.collectGarbage")
    counts = page.ask("Memory.getDOMCounters")
    heap = page.ask("Runtime.getHeapUsage")["usedSize"] / 1e6
    return [*_chromium(page), heap, counts["nodes"], counts["jsEventListeners"], counts["documents"]]


def _say(name: str, hours: np.ndarray, values: np.ndarray, whole: float) -> None:
    """The range of a series once it has settled, and its slopes: over all of it and over its last half."""
    told = []
    for share in (SETTLED, 0.5):
        kept = hours >= share * whole
        if kept.sum() > 4:
            slope, error = trend(hours[kept], values[kept])
            told.append(
                f"{slope:+.3g} +- {NORMAL_95 * error:.2g} an hour (from minute {60 * share * whole:.0f})"
            )
    settled = values[hours >= SETTLED * whole]
    print(f"{name}: {settled.min():.4g} to {settled.max():.4g}; {'; '.join(told)}")


def trend(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Slope of the least-squares line, and its standard error, wider where neighbours are alike."""
    (slope, level), covariance = np.polyfit(x, y, 1, cov=True)
    rest = y - slope * x - level
    square = float(rest @ rest)
    alike = min(max(float(rest[1:] @ rest[:-1]) / square, 0.0), 0.95) if square > 0 else 0.0
    return float(slope), float(np.sqrt(covariance[0, 0] * (1 + alike) / (1 - alike)))


def _tree(pid: int) -> list[int]:
    """A process and all below it."""
    found = [pid]
    for each in found:
        for task in Path(f"/proc/{each}/task").glob("*/children"):
            try:
                found += map(int, task.read_text().split())
            except OSError:
                continue
    return found


def _megabytes(pids: list[int]) -> float:
    """Proportional set size of all."""
    return sum(map(_proportional, pids)) / 1e3


def _proportional(pid: int) -> int:
    """The proportional set size of one process in kB; 0 once it has ended."""
    try:
        lines: Any = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
