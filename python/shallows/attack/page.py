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
from shallows.attack.words import margin, meaning, value_text
from shallows.document.points import Point, expand
from shallows.errors import RunError, SpecError
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
MOST_HOPS = 2_000_000
"""Packets of every port that are recorded for the chart of the worst moment."""
AROUND = 10
"""Round trips before the worst moment and after it."""
LONGEST = 40
"""Round trips of a silence that the chart shows."""

TICKS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0)
"""Multiples that the axis of the neighbourhood names: those nearer to one would overlap."""
HARM = 0.5
"""A flow is reported whose goodput falls below this share of that in the file as written."""

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
    if moment := _moment(found, find, runner, runs["the find"]):
        figures.append(moment)
    happened = {name: [*run.happened, *silences(run)] for name, run in runs.items()}
    happened["the find"] += _goodputs(found, find, runs)
    neighbours = interactive.picture(draw(found, find)) if find.neighbours else b""
    return place.template("attack", "find.html.j2", "shallows.attack").render(
        title=f"A find: {found.space.title}",
        found=found,
        find=find,
        meaning=meaning(find),
        values=[value_text(found, one.value) for one in (found.base, find.tried)],
        settings=_settings(found, find),
        happened=happened,
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
    whole = {"warmup": "0s"}  # so that tables and sentences have what happens in the warm-up too
    [watched] = expand(document | {"seeds": [seed], "probe": probe} | whole)
    return watched


def _settings(found: Attacked, find: Find) -> list[tuple[str, str, str]]:
    beside = {one.name: one for one in find.neighbours}
    rows = []
    for name, value in find.tried.candidate.items():
        unit = found.space.variables[name].unit
        near = beside.get(name)
        rows.append((name, f"{value}{unit}", margin(near, value, unit) if near else ""))
    return rows


def _goodputs(found: Attacked, find: Find, runs: dict[str, StoredRun]) -> list[str]:
    """By harmed flow of a load without end its goodput after the warm-up; the least first."""
    from shallows import terminal

    [point] = found.space.points(find.tried.candidate)
    since = _core.numbers(json.dumps(point.experiment)).get("warmup", 0)
    written, now = (_rates(run, since) for run in runs.values())
    rows = {row["id"]: row for row in runs["the find"].tables["flows"].iter_rows(named=True)}
    harmed = sorted((rate, flow) for flow, rate in now.items() if rate < HARM * written.get(flow, 0))
    return [
        f"Flow {_named(rows[flow])} gets {terminal.readable('x_bps', rate)} after the warm-up, "
        f"and {terminal.readable('x_bps', written[flow])} as written."
        for rate, flow in harmed[:MOST_SILENCES]
    ]


def _rates(run: StoredRun, since: int) -> dict[int, float]:
    """Bits a second of each flow without end, from a time on."""
    import polars as pl

    ends = run.tables["flows"].filter(pl.col("bytes").is_null())["id"].to_list()
    trace = run.tables["flow_trace"].filter(pl.col("flow").is_in(ends), pl.col("time_ps") >= since)
    spans = trace.group_by("flow").agg(
        pl.col("arrived_bytes").max() - pl.col("arrived_bytes").min(),
        time_ps=pl.col("time_ps").max() - pl.col("time_ps").min(),
    )
    return {flow: 8e12 * arrived / time for flow, arrived, time in spans.iter_rows() if time}


def _named(flow: dict[str, Any]) -> str:
    return f"{flow['id']} ({flow['traffic']}, {flow['src']} to {flow['dst']})"


def silences(run: StoredRun) -> list[str]:
    """By flow the longest time in which it waited and no data arrived, if it is long; the longest first."""
    from shallows import terminal

    told = []
    found = _silences(run, QUIET)
    for longest, since, flow in found[:MOST_SILENCES]:
        begins, length = (terminal.readable("x_ps", one) for one in (since, longest))
        told.append(f"Flow {_named(flow)} gets nothing for {length}, from {begins} on.")
    more = len(found) - len(told)
    return [*told, f"{more} more flows get nothing for as long as a fifth of the run."] if more else told


def _silences(run: StoredRun, share: float) -> list[tuple[int, int, dict[str, Any]]]:
    """Length and begin in ps of the longest silence of each flow, if it is such a share of the run.

    The longest comes first.
    """
    import polars as pl

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
        if longest >= share * duration:
            found.append((longest, since, row))
    return sorted(found, key=lambda each: (-each[0], each[2]["id"]))


def _moment(found: Attacked, find: Find, runner: Runner, run: StoredRun) -> tuple[str, bytes] | None:
    """The chart of time and sequence about the longest silence of a flow, else about the first loss of data.

    None for a run of too many packets, without either, of another backend, or of a transport without such a
    chart.
    """
    import polars as pl

    from shallows.figures import style

    if run.manifest["counts"].get("packet_hops", MOST_HOPS + 1) > MOST_HOPS:
        return None
    document = found.space.document(find.tried.candidate)
    probe = document.get("probe", {}) | {"audit": True}
    [point] = expand(document | {"seeds": [find.tried.seed], "probe": probe})
    recorded = runner.one(point)
    lost = recorded.tables["losses"].filter((pl.col("reverse") == 0) & (pl.col("pure_ack") == 0))
    quiet = _silences(run, 0.0)[:1]
    if quiet and quiet[0][0] >= AROUND * _trip(run, quiet[0][2]["id"]):
        length, since, flow = quiet[0][0], quiet[0][1], quiet[0][2]["id"]
        what = "its longest silence"
    elif len(lost):
        first = lost.sort("time_ps").row(0, named=True)
        length, since, flow, what = 0, first["time_ps"], first["flow"], "the first loss"
    else:
        return None
    trip = _trip(run, flow)
    begin = max(since - AROUND * trip, 0) / 1e9
    end = (since + min(length, LONGEST * trip) + AROUND * trip) / 1e9
    try:
        figure = recorded.figure("time_sequence", flow=flow, from_ms=begin, to_ms=end)
    except ValueError:
        return None
    return f"Time and sequence of flow {flow} about {what}, the find", style.image(figure)


def _trip(run: StoredRun, flow: int) -> float:
    """The median of a flow's smoothed round trip in ps, or a hundredth of the run."""
    import polars as pl

    trips = run.tables["flow_trace"].filter(pl.col("flow") == flow)["srtt_ps"].drop_nulls()
    median = trips.median()
    if isinstance(median, int | float) and median:
        return float(median)
    return float(run.numbers["duration"]) / 100


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
    except (RunError, SpecError, ImportError):
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
        ax.set_xticks(TICKS, [f"{one:g}" for one in TICKS])
        ax.minorticks_off()
        ax.set_yticks(range(len(find.neighbours)), [one.name for one in find.neighbours])
        ax.set_ylim(-0.5, len(find.neighbours) - 0.5)
        ax.set_xlabel("multiple of the find's value, the other values as they are")
        figure.legend(loc="outside right upper")
        return figure

    return drawn()
