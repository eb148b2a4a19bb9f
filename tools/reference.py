"""Reference pages that follow from Python: metrics, and the sections `[sweep]`, `[compare]`, `[tune]`."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from shallows.document.sweep import SweepTable
from shallows.studies.compare.section import CompareTable
from shallows.studies.tune.section import Bounds, Goal, Range, TuneTable
from shallows.tables import metric_names
from shallows.tables.metrics import BY_SIZE, SIZE_EDGES_BYTES, bin_word, size_bins

SECTIONS: dict[str, tuple[type[BaseModel], str, dict[str, type[BaseModel]]]] = {
    "sweep": (SweepTable, "The points of `./shallows sweep`.", {}),
    "compare": (CompareTable, "The schemes of `./shallows compare` (see [compare](../compare.md)).", {}),
    "tune": (
        TuneTable,
        "The study of `./shallows tune` (see [tune](../tune.md)).",
        {
            "An entry of `parameters`": Range,
            "An entry of `objectives`": Goal,
            "An entry of `constraints`": Bounds,
        },
    ),
}


def pages(note: str) -> dict[str, str]:
    """Each page by its name in `docs/reference/`."""
    found = {"metrics.md": _metrics(note)}
    for name, (model, about, inner) in SECTIONS.items():
        parts = [f"# `[{name}]`", note, about, _settings(model)]
        parts += [f"## {title}\n\n{_settings(entry)}" for title, entry in inner.items()]
        found[f"{name}.md"] = "\n\n".join(parts) + "\n"
    return found


def _settings(model: type[BaseModel]) -> str:
    rows = ["| key | default | meaning |", "|---|---|---|"]
    for name, field in model.model_fields.items():
        default = (
            "required" if field.is_required() else _default(field.get_default(call_default_factory=True))
        )
        rows.append(f"| `{field.alias or name}` | {default} | {field.description} |")
    return "\n".join(rows)


def _default(value: Any) -> str:
    return (
        "" if value in (None, [], {}, "") else f"`{str(value).lower() if isinstance(value, bool) else value}`"
    )


def _metrics(note: str) -> str:
    parts = ["# Metrics", note]
    parts.append(
        "`run`, `sweep`, `compare` and `tune` use these names. A name ends in its unit: `_bps` is bit/s, "
        "`_ps` picoseconds, `_bytes` bytes, `_packets` packets. A name without unit is a count or a share. "
        "A metric without a value, such as the mean of no messages, is null."
    )
    groups = (
        ("Of every run", "", metric_names.OF_A_RUN),
        ("Of each class of traffic", "CLASS.", metric_names.OF_A_CLASS),
        ("Of each incast, collective and graph load", "LOAD.", metric_names.OF_ROUNDS),
        ("Of each collective and graph load", "LOAD.", metric_names.OF_STEPS),
    )
    for title, before, metrics in groups:
        rows = ["| name | unit | meaning |", "|---|---|---|"]
        rows += [f"| `{before}{m.name}` | {m.unit} | {m.meaning} |" for m in metrics]
        parts.append(f"## {title}\n\n" + "\n".join(rows))
    sizes = ", ".join(f"`{bin_word(*each)}`" for each in size_bins(SIZE_EDGES_BYTES))
    keys = ", ".join(f"`{key}`" for key in BY_SIZE)
    parts.append(
        "## By size of message\n\n"
        f"`CLASS.SIZE.name` covers the messages of one size: {sizes}. The names are {keys}. "
        "A class whose messages all have one of these sizes has none of them."
    )
    return "\n\n".join(parts) + "\n"
