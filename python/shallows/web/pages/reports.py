"""Reports in the working directory: comparisons, tunings and papers, with figures and the runs behind."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from nicegui import ui

from shallows.studies.page.place import MARKER
from shallows.terminal import readable
from shallows.web.pages.commands import made_by, python_of
from shallows.web.pages.elements import ReportFigure
from shallows.web.pages.frame import Commands, frame, heading, page, rows_table
from shallows.web.pages.state import State

NAME = re.compile(r"^[a-z0-9][\w.-]{0,150}$")
FILE = re.compile(r"^[\w-][\w.-]{0,200}$")
TYPES = {".svg": "image/svg+xml", ".csv": "text/csv; charset=utf-8", ".json": "application/json",
         ".html": "text/html; charset=utf-8"}  # fmt: skip
MOST_SHOWN = 100_000_000
"""Bytes of a report's document that a page reads."""

__all__ = ["FILE", "TYPES", "all_reports", "register", "report_of"]


def register(state: State) -> None:
    """Makes the pages of reports known to the server."""

    @page("/report/{name}")
    def one(name: str) -> None:
        folder = report_of(name)
        kind, found = document_of(folder) if folder else ("", None)
        with frame("Report", "Results"):
            if folder is None:
                heading("There is no such report in the working directory", 1)
            elif kind == "compare" and found:
                _comparison(name, folder, found)
            elif kind == "tune" and found:
                _tuning(name, folder, found)
            else:
                heading(name, 1)
                _files(name)
                ui.link("Its paper's claims and verdicts", "/papers")
                _figures(name, folder)
                _commands(folder)


def report_of(name: str) -> Path | None:
    """The directory of a report that Shallows wrote; None for any other name."""
    folder = Path("reports") / name
    try:
        ours = bool(NAME.match(name)) and not folder.is_symlink() and (folder / MARKER).is_file()
    except OSError:
        return None
    return folder if ours else None


def all_reports() -> list[tuple[str, str, str]]:
    """Kind, title and name of each report, the newest first."""
    found = []
    if Path("reports").is_dir():
        for folder in Path("reports").iterdir():
            if report_of(folder.name) is not None:
                kind, told = document_of(folder)
                found.append(
                    (folder.stat().st_mtime, kind, str((told or {}).get("title") or folder.name), folder.name)
                )
    return [(kind, title, name) for _, kind, title, name in sorted(found, reverse=True)]


def document_of(folder: Path) -> tuple[str, dict[str, Any] | None]:
    """The kind of a report (`compare`, `tune`, `reproduce` or `report`), and its JSON if it has one."""
    for kind, file in (("compare", "compare.json"), ("tune", "tune.json"), ("reproduce", "claims.json")):
        path = folder / file
        try:
            if path.is_file() and path.stat().st_size < MOST_SHOWN:
                told = json.loads(path.read_text(encoding="utf-8"))
                return kind, told if isinstance(told, dict) else None
        except (OSError, ValueError):
            return kind, None
    return "report", None


def _files(name: str) -> None:
    with ui.row():
        ui.link("The whole report", f"/reports/{name}/index.html", new_tab=True)
        ui.link("All its files (zip)", f"/reports/{name}.zip")


def _figures(name: str, folder: Path) -> None:
    with ui.element("div").classes("sh-figures"):
        for path in sorted(folder.glob("*.svg")):
            with ui.element("figure").classes("sh-report-figure"):
                words = path.stem.replace("-", " ").capitalize()
                ReportFigure(f"/reports/{name}/{quote(path.name)}", words)
                with ui.element("figcaption"):
                    ui.label(words).classes("sh-soft")


def _commands(folder: Path) -> None:
    """The command that made the report, as it says itself."""
    command = made_by(folder)
    if command is not None:
        Commands(command, python_of(command))


def _text(metric: str, value: Any, interval: Any = None) -> str:
    if value is None:
        return "-"
    text = readable(metric, value)
    return text + " [{}, {}]".format(*(readable(metric, end) for end in interval)) if interval else text


def _words(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{k} = {_setting(value)}" for k, value in settings.items()) or "as written"


def _setting(value: Any) -> str:
    return (
        f"{value:.4g}" if isinstance(value, float) else value if isinstance(value, str) else json.dumps(value)
    )


def _runs(hashes: Sequence[str], label: str = "") -> None:
    with ui.row().style("gap: 8px"):
        if label:
            ui.label(label).style("font-weight: 600")
        for number, each in enumerate(hashes[:60]):
            ui.link(f"run {number + 1}", f"/run/{each}").tooltip(each)


def _comparison(name: str, folder: Path, found: Mapping[str, Any]) -> None:
    schemes, rows = found.get("schemes", []), found.get("comparisons", [])
    heading(f"Comparison: {found.get('title')}", 1)
    real = sum(row["verdict"] == "real" for row in rows)
    ui.label(
        f"{len(schemes)} schemes on the same arrivals, {len(found.get('seeds', []))} seeds. "
        f"{real} of {len(rows)} differences are real, by the paired t test over seeds, corrected by Holm."
    )
    _files(name)
    for text in found.get("warnings", []):
        ui.label(str(text)).classes("sh-alarm")
    heading("Schemes and their runs", 2)
    for scheme in schemes:
        _runs(scheme["hashes"], f"{scheme['name']} ({_words(scheme['settings'])}):")
    for scheme in schemes[1:]:
        heading(f"{scheme['name']} against {found.get('baseline')}", 2)
        own = [row for row in rows if row["scheme"] == scheme["name"]]
        names = (
            str(found.get("baseline")),
            scheme["name"],
            "difference [95 %]",
            "ratio [95 %]",
            "adjusted p",
        )
        rows_table(["metric", "verdict", *names], list(map(_row, own)), 25)
        pair = [schemes[0]["hashes"][:1], scheme["hashes"][:1]]
        if all(pair):
            ui.link(
                "The first runs of both, setting by setting", f"/difference?a={pair[0][0]}&b={pair[1][0]}"
            )
    heading("Figures", 2)
    _figures(name, folder)
    _commands(folder)


def _row(row: Mapping[str, Any]) -> tuple[Any, ...]:
    metric = row["metric"]
    return (
        metric,
        row["verdict"],
        _text(metric, row["baseline_mean"]),
        _text(metric, row["scheme_mean"]),
        _text(metric, row["difference"], row["difference_ci95"]),
        _text("", row["ratio"], row["ratio_ci95"]),
        row["p_adjusted"],
    )


def _tuning(name: str, folder: Path, found: Mapping[str, Any]) -> None:
    trials = found.get("trials", [])
    heading(f"Tuning: {found.get('title')}", 1)
    goals = ", ".join(f"{one['goal']} {one['metric']}" for one in found.get("objectives", []))
    ui.label(f"{len(trials)} trials by {found.get('sampler')}: {goals}. Winners and baselines ran again on "
             f"{len(found.get('confirm_seeds', []))} seeds that no trial used.")  # fmt: skip
    _files(name)
    metrics = list(dict.fromkeys(one["metric"] for one in found.get("objectives", [])))
    heading("Winners and baselines on fresh seeds", 2)
    candidates = [*found.get("winners", []), *found.get("baselines", [])]
    rows_table(["", *metrics, "breaks", "settings"], [_candidate(one, metrics) for one in candidates])
    for contest in found.get("contests", []):
        ui.label(f"{contest['winner']} against {contest['baseline']}: {contest['verdict'].replace('-', ' ')}")
    heading("Figures", 2)
    _figures(name, folder)
    heading("Trials", 2)
    ui.label("A trial leads to its stored runs.").classes("sh-soft")
    table = rows_table(
        ["trial", "state", *metrics, "settings"],
        [
            (t["number"], t["state"], *(_text(m, t["values"].get(m)) for m in metrics), _words(t["settings"]))
            for t in trials
        ],
    )
    for row, trial in zip(table.rows, trials, strict=True):
        row["to"] = f"/results?q={quote(_search(trial['settings']))}"
    link = '<q-td :props="props"><a :href="props.row.to">{{ props.value }}</a></q-td>'
    table.add_slot("body-cell-c0", link)
    _commands(folder)


def _candidate(one: Mapping[str, Any], metrics: Sequence[str]) -> tuple[str, ...]:
    told = [one["values"].get(metric, {}) for metric in metrics]
    values = [_text(m, each.get("mean"), each.get("ci95")) for m, each in zip(metrics, told, strict=True)]
    return (one["name"], *values, ", ".join(one["broken"]) or "none", _words(one["settings"]))


def _search(settings: Mapping[str, Any]) -> str:
    """A search for runs with these settings, as the store's list takes it."""
    words = [
        f"{path}={value if isinstance(value, str) else json.dumps(value)}" for path, value in settings.items()
    ]
    return " ".join(word for word in words if " " not in word and '"' not in word)
