"""Draws the small picture on each card of the gallery: `tools/uv run python tools/gallery_pictures.py`.

A picture is the run itself: one metric over time, of both schemes if there are two. `NAME.about.toml` names
the metric (`picture`), and the SVG lies beside it. `make picture` draws them all again.
"""

import json
import struct
import sys
from html import escape
from typing import Any, NamedTuple

import numpy as np
from shallows import _core
from shallows.terminal import readable
from shallows.web.limits import Limits
from shallows.web.live.drawing import layout
from shallows.web.live.film import FLOW_METRICS, PORT_METRICS, Filming
from shallows.web.live.simulation_process import resolved
from shallows.web.pages.gallery import FOLDER, Entry, entries

WIDTH, HEIGHT, TOP, BASE = 260, 96, 30, 92
COLUMNS = 130
MOST_FLOWS = 6
COLOURS = ("#0072b2", "#d55e00")
ANCHORS = ("start", "end")
KINDS = {
    "queue": ("Queue", "packets", 1.0),
    "cwnd": ("Window", "cwnd_bytes", 1.0),
    "rate": ("Rate", "rate_bps", 1.0),
    "srtt": ("Smoothed RTT", "srtt_ps", 1e6),
}
"""By metric of a film: its name, a column of the same unit for `readable`, and the film's unit in it."""


class Run(NamedTuple):
    """Lines over time, and how long the run is."""

    lines: list[np.ndarray[Any, Any]]
    duration_ps: int


def filmed(entry: Entry, settings: list[str], metric: str) -> Run:
    """The run of an entry under some settings."""
    experiment = resolved(entry.text, settings, Limits(), False)
    text = json.dumps(experiment)
    plan = json.loads(_core.plan(text))
    ports = layout(plan, experiment)["ports"]
    filming = Filming(_core.Simulation(text), plan["numbers"]["duration"], ports, False)
    flows: dict[int, list[np.ndarray[Any, Any]]] = {}
    queues = []
    for chunk in filming.chunks():
        (size,) = struct.unpack("<I", chunk[:4])
        head = json.loads(chunk[4 : 4 + size])
        floats, looks = np.frombuffer(chunk[4 + size :], dtype="<f4"), head["looks"]
        ends = np.cumsum([0] + [looks * len(ports)] * len(PORT_METRICS))
        queues.append(floats[ends[0] : ends[1]].reshape(looks, -1))
        if metric != "queue":
            block = looks * len(head["flows"])
            begin = ends[-1] + FLOW_METRICS.index(metric) * block
            table = floats[begin : begin + block].reshape(looks, -1)
            for flow, column in zip(head["flows"], table.T, strict=True):
                flows.setdefault(flow[0], []).append(column)
    if metric == "queue":
        queue = np.concatenate(queues)
        inside = [number for number, port in enumerate(ports) if port["switch"]]
        return Run([queue[:, max(inside, key=lambda port: queue[:, port].mean())]], filming._duration)
    lines = [np.concatenate(parts) for _, parts in sorted(flows.items())[:MOST_FLOWS]]
    window = max(1, filming.looks // 40) if metric == "rate" else 1
    return Run([_mean(line, window) for line in lines], filming._duration)


def _mean(line: np.ndarray[Any, Any], window: int) -> np.ndarray[Any, Any]:
    """Means over the last `window` looks."""
    sums = np.cumsum(np.nan_to_num(line), dtype=float)
    sums[window:] -= sums[:-window].copy()
    return np.where(np.isnan(line), np.nan, sums / np.minimum(np.arange(1, len(line) + 1), window))


def _path(line: np.ndarray[Any, Any], most: float) -> str:
    """An SVG path: the least and the greatest value of each column, so that no tooth is lost."""
    words, pen = [], "M"
    for number, part in enumerate(np.array_split(line, min(COLUMNS, len(line)))):
        known = part[~np.isnan(part)]
        if not len(known):
            pen = "M"
            continue
        x = round(WIDTH * number / min(COLUMNS, len(line)))
        ends = [known.min(), known.max()] if known.argmin() < known.argmax() else [known.max(), known.min()]
        for value in dict.fromkeys(round(BASE - (BASE - TOP) * float(end) / most) for end in ends):
            words.append(f"{pen}{x} {value}")
            pen = "L"
    return "".join(words)


def picture(entry: Entry) -> str:
    """The SVG of an entry."""
    metric = entry.about["picture"]
    name, column, size = KINDS[metric]
    runs = [filmed(entry, [], metric)]
    if entry.about.get("second"):
        runs.append(filmed(entry, list(entry.about["second"]), metric))
    most = max(float(np.nanmax(line)) for run in runs for line in run.lines)
    greatest = f"{most:.0f} packets" if metric == "queue" else readable(column, float(f"{most * size:.3g}"))
    about = f"{name}, up to {greatest}, over {readable('duration_ps', runs[0].duration_ps)}"
    names = entry.about.get("names", []) if len(runs) == 2 else []
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="10">',
        f"<title>{escape(about)}</title>",
        f'<text class="sh-words" x="0" y="10" fill="#525b66">{escape(about)}</text>',
    ]
    for number, (run, colour) in enumerate(zip(runs, COLOURS, strict=False)):
        if names:
            words = escape(names[number])
            at = f'x="{number * WIDTH}" y="23" fill="{colour}" text-anchor="{ANCHORS[number]}"'
            parts.append(f'<text class="sh-line{number}" {at}>{words}</text>')
        for line in run.lines:
            parts.append(
                f'<path class="sh-line{number}" d="{_path(line, most)}" fill="none" stroke="{colour}" '
                f'stroke-width="1.2" stroke-linejoin="round"/>'
            )
    parts.append(
        f'<path class="sh-words" d="M0 {BASE + 1}H{WIDTH}" stroke="#525b66" stroke-width="0.6"/></svg>\n'
    )
    return "\n".join(parts)


def main() -> None:
    """All pictures, or those of the entries that the command line names."""
    for each in entries():
        if len(sys.argv) < 2 or each.name in sys.argv[1:]:
            text = picture(each)
            (FOLDER / f"{each.name}.svg").write_text(text)
            print(each.name, len(text))


if __name__ == "__main__":
    main()
