"""The page of a find, one HTML file with its words, its neighbourhood, its film and its search."""

from __future__ import annotations

import base64
import json
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from shallows import _core
from shallows.attack.attack import Attacked
from shallows.attack.shrink import FACTORS, Find
from shallows.attack.words import MEANING, margin, value_text
from shallows.document.points import Point, expand
from shallows.errors import RunError
from shallows.execution.runner import Runner
from shallows.studies.page import place

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from shallows.results.store import StoredRun

ROWS = 400
"""Looks at the queues and flows of a run."""
QUIET = 0.2
"""A silence of this share of a run is reported."""
MOST_SILENCES = 5

__all__ = ["render"]


def render(
    found: Attacked, find: Find, runner: Runner, search: bytes, command: str, elsewhere: str = ""
) -> str:
    """The HTML text. The file as written and the find run again, with traces. Raises RunError."""
    from shallows.figures import interactive, style

    runs = {
        "as written": runner.one(_watched(found, {}, find.tried.seed)),
        "the find": runner.one(_watched(found, find.tried.candidate, find.tried.seed)),
    }
    # As images: pages draw an axis of more than two seconds in milliseconds (`style.time_axis`).
    figures = [
        (f"{what}, {name}", style.image(run.figure(kind)))
        for what, kind in (("Goodput", "goodput_time"), ("Queue", "queue_time"))
        for name, run in runs.items()
    ]
    neighbours = interactive.picture(draw(found, find)) if find.neighbours else b""
    return place.template("attack", "find.html.j2", "shallows.attack").render(
        title=f"A find: {found.space.title}",
        found=found,
        find=find,
        meaning=MEANING[find.verdict],
        values=[value_text(found, one.value) for one in (found.base, find.tried)],
        settings=_settings(found, find),
        happened={name: [*run.happened, *silences(run)] for name, run in runs.items()},
        figures=[(caption, base64.b64encode(image).decode()) for caption, image in figures],
        neighbours=base64.b64encode(neighbours).decode(),
        search=base64.b64encode(search).decode(),
        states=Counter(one.state for one in found.tried).items(),
        film=_film(runs["the find"].experiment),
        repeat=f'./shallows run find.toml --expect "{found.objective.absolute(find.tried.reference)}"',
        command=command,
        elsewhere=elsewhere,
    )


def _watched(found: Attacked, candidate: dict[str, Any], seed: int) -> Point:
    document = found.space.document(candidate)
    [point] = expand(document | {"seeds": [seed]})
    every = max(1, _core.numbers(json.dumps(point.experiment))["duration"] // ROWS)
    probe = document.get("probe", {}) | {"queue_trace": f"{every}ps", "flow_trace": f"{every}ps"}
    [watched] = expand(document | {"seeds": [seed], "probe": probe})
    return watched


def _settings(found: Attacked, find: Find) -> list[tuple[str, str, str]]:
    beside = {one.name: one for one in find.neighbours}
    rows = []
    for name, value in find.tried.candidate.items():
        unit = found.space.variables[name].unit
        near = beside.get(name)
        rows.append((name, f"{value}{unit}", margin(near, value, unit) if near else ""))
    return rows


def silences(run: StoredRun) -> list[str]:
    """By flow the longest time in which it waited and no data arrived, if it is long; the longest first."""
    import polars as pl

    from shallows import terminal

    duration = run.numbers["duration"]
    found = []
    for row in run.tables["flows"].iter_rows(named=True):
        own = run.tables["flow_trace"].filter(pl.col("flow") == row["id"]).sort("time_ps")
        arrivals = own.filter(pl.col("arrived_bytes").diff().fill_null(1) > 0)["time_ps"].to_list()
        gaps = [
            (b - a, a)
            for since, until in _waits(run, row)
            for a, b in pairwise([since, *(one for one in arrivals if since < one < until), until])
        ]
        longest, since = max(gaps, default=(0, 0))
        if longest >= QUIET * duration:
            found.append((longest, since, f"{row['id']} ({row['traffic']}, {row['src']} to {row['dst']})"))
    found.sort(key=lambda one: (-one[0], one[2]))
    told = []
    for longest, since, name in found[:MOST_SILENCES]:
        begins, length = (terminal.readable("x_ps", one) for one in (since, longest))
        told.append(f"Flow {name} gets nothing for {length}, from {begins} on.")
    more = len(found) - len(told)
    return [*told, f"{more} more flows get nothing for as long as a fifth of the run."] if more else told


def _waits(run: StoredRun, flow: dict[str, Any]) -> list[tuple[int, int]]:
    """When a flow had data to get: while its messages were under way; without messages, until all came."""
    import polars as pl

    duration = run.numbers["duration"]
    own = run.tables["messages"].filter(pl.col("flow") == flow["id"])
    if len(own):
        return [(a, duration if b is None else b) for a, b in own.select("start_ps", "end_ps").iter_rows()]
    if flow["id"] in run.tables["datagrams"]["flow"]:  # silent by their own law
        return []
    if flow["end_ps"] is None and flow["bytes"] is not None and flow["delivered_bytes"] >= flow["bytes"]:
        return []
    return [(flow["start_ps"], flow["end_ps"] or duration)]


def _film(experiment: dict[str, Any]) -> str:
    """The film's page, or an empty text where it cannot be drawn."""
    try:
        from shallows.web.live.export import page_of

        return page_of(experiment)
    except (RunError, ImportError):
        return ""


def draw(found: Attacked, find: Find) -> Figure:
    """How far each value may move before the effect is gone: a row a value, a mark for each value tried."""
    from shallows.figures import style

    @style.styled
    def drawn() -> Figure:
        height = 1.2 + 0.35 * len(find.neighbours)
        figure, [ax] = style.canvas(1, 1, width_inch=style.PAGE_INCH, height_inch=height)
        for holds, mark, label in (
            (True, "o", "holds"),
            (False, "x", "does not hold"),
            (None, "|", "not legal"),
        ):
            places = [
                (value / find.tried.candidate[one.name], row)
                for row, one in enumerate(find.neighbours)
                for value, outcome in one.tried
                if outcome is holds
            ]
            if places:
                ax.plot(*zip(*places, strict=True), mark, label=label)
        ax.axvline(1.0, linestyle="--")
        ax.set_xscale("log")
        ax.set_xlim(FACTORS[0] / 2, FACTORS[-1] * 2)  # whole numbers move further
        ax.set_xticks(FACTORS, [f"{one:g}" for one in FACTORS], rotation=90)
        ax.minorticks_off()
        ax.set_yticks(range(len(find.neighbours)), [one.name for one in find.neighbours])
        ax.set_ylim(-0.5, len(find.neighbours) - 0.5)
        ax.set_xlabel("multiple of the find's value, the other values as they are")
        figure.legend(loc="outside right upper")
        return figure

    return drawn()
