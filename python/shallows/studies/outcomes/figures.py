"""The figures of a run's or a sweep's report, chosen by what was recorded and varied."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from shallows.execution.jobs import Outcome
from shallows.statistics.estimates import Estimate
from shallows.studies.compare.report import pool
from shallows.studies.outcomes.rows import groups, has_labels
from shallows.tables import seeds
from shallows.tables.metrics import Tables, bottleneck_port
from shallows.terminal import heading, scale

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 8
"""The most runs or points in one figure: a reader can tell as many colours apart."""

AGAINST = ("goodput_bps_total", "bottleneck_mean_wait_ps", "bottleneck_p99_wait_ps", "drops")
"""Metrics drawn against the number that a sweep varies."""

__all__ = ["draw"]


def draw(outcomes: Sequence[Outcome], metric: Sequence[str] = ()) -> dict[str, Figure]:
    """Figures by caption. Those of which nothing was recorded are left out.

    `metric`: patterns of the metrics that are drawn against what a sweep varies.
    """
    found = _against(outcomes, metric)
    chosen = groups(outcomes)
    if not chosen:
        return {}
    if len(chosen) == 1:
        shown = {f"seed {each.point.seed}": each for each in chosen[0][:MOST]}
        labelled = {name if len(shown) > 1 else "": _tables([each]) for name, each in shown.items()}
        more = f", the first {MOST} of {len(chosen[0])} seeds" if len(chosen[0]) > MOST else ""
    elif len(chosen) <= MOST:
        labelled = {group[0].point.label: _tables(group) for group in chosen}
        more = ", all seeds of a point together" if len(chosen[0]) > 1 else ""
    else:
        return found
    return found | _distributions(labelled, more, chosen[0][0].point.summary.edges)


def _tables(group: Sequence[Outcome]) -> Tables:
    runs = [each.run for each in group if each.run is not None]
    return runs[0].tables if len(runs) == 1 else pool(runs)


def _distributions(labelled: Mapping[str, Tables], more: str, edges: Sequence[int]) -> dict[str, Figure]:
    from shallows.figures import fct_bins, goodput_time, link_load, queue_cdf, queue_time, rank_time

    first = next(iter(labelled.values()))
    port = bottleneck_port(first["queues"])
    found: dict[str, Figure] = {}
    with suppress(ValueError, KeyError):  # not recorded, or several seeds together
        found[f"Queue of port {port} over time{more}"] = queue_time.draw(queue_time.info(labelled, port))
    with suppress(ValueError):
        drawn = queue_cdf.draw(queue_cdf.info(labelled, port))
        found[f"Share of time with at most so many packets in port {port}{more}"] = drawn
    with suppress(ValueError):
        drawn = fct_bins.draw(fct_bins.info(labelled, edges))
        found[f"Completion times by size of message{more}"] = drawn
    if len(labelled) == 1 and len(first.get("flow_trace", ())):
        drawn = goodput_time.draw(goodput_time.info(first))
        found["Goodput of each recorded flow over time"] = drawn
    if len(labelled) == 1 and len(first["steps"]):
        with suppress(ValueError):
            found["Messages to each rank of the slowest operation"] = rank_time.draw(rank_time.info(first))
        with suppress(ValueError):
            caption = "Utilisation of the links between switches, and the connections that share each"
            found[caption] = link_load.draw(link_load.info(first))
    return found


def _against(outcomes: Sequence[Outcome], patterns: Sequence[str]) -> dict[str, Figure]:
    """Metrics against the one number that varies most, a line for each value of the others."""
    from shallows.figures import curves

    chosen = groups(outcomes)
    settings = [group[0].point.params for group in chosen]
    paths = dict.fromkeys(path for each in settings for path in each)
    numbers = {path: _numbers([each.get(path) for each in settings]) for path in paths}
    path = max((p for p, n in numbers.items() if n), key=lambda p: len({*numbers[p][0]}), default=None)
    if path is None or len({*numbers[path][0]}) < 2:
        return {}
    values, unit = numbers[path]
    others = [p for p in numbers if p != path]
    labels = _other_labels(chosen, path) if has_labels(outcomes) else None
    panels = {}
    for metric in _drawn(chosen, patterns):
        series: dict[str, dict[float, Estimate]] = {}
        for place, (x, group) in enumerate(zip(values, chosen, strict=True)):
            samples = [(each.metrics or {}).get(metric) for each in group]
            if all(isinstance(sample, int | float) for sample in samples):
                own = ", ".join(f"{p} = {group[0].point.params.get(p)}" for p in others)
                name = labels[place] if labels else own
                same = seeds.alike([each.metrics or {} for each in group])
                series.setdefault(name, {})[x] = seeds.estimate(metric, samples, same)
        if series and len(series) <= MOST:
            panels[heading(metric)] = _panel(metric, series)
    if not panels:
        return {}
    label = f"{path} ({unit})" if unit else path
    return {f"Metrics against {path}": curves.draw(curves.info(panels, label))}


def _drawn(chosen: Sequence[Sequence[Outcome]], patterns: Sequence[str]) -> Sequence[str]:
    """The metrics to draw: those that the command names, as many as find room."""
    if not patterns:
        return AGAINST
    known = list(dict.fromkeys(name for group in chosen for name in group[0].metrics or {}))
    wanted = [
        name for name in known if any(fnmatchcase(name, p) or fnmatchcase(name, f"*.{p}") for p in patterns)
    ]
    return wanted[:MOST_PANELS]


MOST_PANELS = 6


def _other_labels(chosen: Sequence[Sequence[Outcome]], path: str) -> list[str]:
    """The label of each point without the setting on the axis: `load 0.3, DCTCP` is `DCTCP`.

    A label is a list of parts; those that all points with one value of the setting share, and no others, go.
    """
    points = [group[0].point for group in chosen]
    parts = [point.label.split(", ") for point in points]
    by_value: dict[str, list[set[str]]] = {}
    for point, own in zip(points, parts, strict=True):
        by_value.setdefault(str(point.params.get(path)), []).append(set(own))
    shared = {value: set.intersection(*each) for value, each in by_value.items()}
    everywhere = set.intersection(*shared.values())
    axis = {value: each - everywhere for value, each in shared.items()}
    return [
        ", ".join(part for part in own if part not in axis[str(point.params.get(path))]) or point.label
        for point, own in zip(points, parts, strict=True)
    ]


def _panel(metric: str, series: Mapping[str, Mapping[float, Estimate]]) -> Any:
    from shallows.figures.curves import Panel

    size, unit = scale(metric, max(abs(each.value) for points in series.values() for each in points.values()))
    scaled = {
        name: {
            x: Estimate(*(None if end is None else end / size for end in estimate[:3]), *estimate[3:])
            for x, estimate in points.items()
        }
        for name, points in series.items()
    }
    return Panel(scaled, unit or heading(metric))


def _numbers(values: Sequence[Any]) -> tuple[list[float], str]:
    """Numbers with the unit that all of them share; no number if some value is none."""
    found = [re.fullmatch(r"([0-9.]+(?:e-?[0-9]+)?)\s*([A-Za-z/]*)", str(value)) for value in values]
    parts = [match for match in found if match is not None]
    units = {match[2] for match in parts}
    if len(parts) < len(values) or len(units) != 1:
        return [], ""
    return [float(match[1]) for match in parts], units.pop()
