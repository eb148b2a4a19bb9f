"""Writes `reports/tune-<name>/`: index.html, the front as SVG, the study as JSON, the trials as CSV."""

import base64
import csv
import json
from collections import Counter
from pathlib import Path

from shallows.studies.compare.show import cells
from shallows.studies.page import place
from shallows.studies.tune.search import Tuned
from shallows.studies.tune.show import broken, document, draw, settings_text, still, summary, with_interval


def page_of_tuning(name: str, out: Path) -> Path:
    """The directory of the report. Raises StoreError if something else is there, before anything runs."""
    return place.check(out, f"tune-{place.file_name(name)}")


def write_tuning(found: Tuned, name: str, out: Path, command: str) -> Path:
    """The page and its files; returns its index.html. Error: StoreError."""
    from shallows.figures import interactive

    try:
        image = interactive.picture(draw(found))
    except ValueError:  # no trial has values
        image = b""

    def fill(new: Path) -> None:
        (new / "index.html").write_text(render(found, image, command), encoding="utf-8")
        text = json.dumps(document(found), indent=1, ensure_ascii=False, allow_nan=False)
        (new / "tune.json").write_text(text + "\n", encoding="utf-8")
        if image:
            (new / "front.svg").write_bytes(image)
        _write_csv(found, new / "trials.csv")

    return place.write(out, f"tune-{place.file_name(name)}", fill)


def _write_csv(found: Tuned, path: Path) -> None:
    parameters = [parameter.path for parameter in found.what.parameters]
    metrics = list(dict.fromkeys(one.metric for one in [*found.what.objectives, *found.what.constraints]))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["number", "state", *parameters, *metrics])
        for t in found.trials:
            given = [t.settings[path] for path in parameters]
            writer.writerow([t.number, t.state, *given, *(t.values.get(metric) for metric in metrics)])


def render(found: Tuned, image: bytes, command: str) -> str:
    """The HTML text. Equal studies give equal text."""
    what = found.what
    metrics = [objective.metric for objective in what.objectives]
    candidates = [
        {
            "name": one.name,
            "values": [with_interval(metric, one.estimate(metric)) for metric in metrics],
            "broken": ", ".join(broken(found, one)),
            "settings": settings_text(one.settings),
        }
        for one in [*found.winners, *found.baselines]
    ]
    contests = [
        {"winner": c.winner, "baseline": c.baseline, "verdict": c.verdict, "rows": [cells(r) for r in c.rows]}
        for c in found.contests
    ]
    return place.template("tune").render(
        title=f"Tuning: {what.title}",
        what=what,
        states=Counter(trial.state for trial in found.trials).items(),
        metrics=metrics,
        notes=still(found),
        candidates=candidates,
        contests=contests,
        summary=summary(found),
        image=base64.b64encode(image).decode(),
        front=[found.trials[number] for number in found.front[:100]],
        front_settings=[settings_text(found.trials[number].settings) for number in found.front[:100]],
        command=command,
    )
