"""Reference pages that follow from Python: metrics, and the sections that Python reads."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from shallows.attack.space import AttackTable, Schedule
from shallows.document.kernel_settings import LinuxTable
from shallows.document.summary import SIZE_EDGES_BYTES, SummaryTable
from shallows.document.sweep import SweepTable
from shallows.importing.formats import READERS
from shallows.importing.parts.content import GIVES, Reader
from shallows.studies.compare.section import CompareTable
from shallows.studies.tune.section import Bounds, Goal, Range, TuneTable
from shallows.tables import metric_names
from shallows.tables.metrics import BY_SIZE, NOT_BY_SIZE, bin_word, size_bins

SECTIONS: dict[str, tuple[type[BaseModel], str, dict[str, type[BaseModel]]]] = {
    "sweep": (SweepTable, "The points of `./shallows sweep`.", {}),
    "summary": (SummaryTable, "The grouping of results, in every command. It changes no run.", {}),
    "linux": (
        LinuxTable,
        "The kernel of `--backend linux`, and its settings (see [Linux](../linux.md)). No other has it.",
        {},
    ),
    "attack": (
        AttackTable,
        "The search of `./shallows attack` (see [attack](../how-to/attack.md)).",
        {"An entry of `parameters`": Range, "An entry of `schedules`": Schedule},
    ),
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
    found = {"metrics.md": _metrics(note), "files.md": files_page(READERS, note)}
    for name, (model, about, inner) in SECTIONS.items():
        parts = [f"# `[{name}]`", note, about, _settings(model)]
        parts += [f"## {title}\n\n{_settings(entry)}" for title, entry in inner.items()]
        found[f"{name}.md"] = "\n\n".join(parts) + "\n"
    return found


_KINDS = {
    "sizes": "Flow sizes",
    "topology": "Networks",
    "flows": "Flows",
    "messages": "Messages that wait for one another, training steps",
    "datagrams": "Datagrams",
    "rates": "Rates of a link",
    "opportunities": "Times at which a link carries a packet",
}


def files_page(readers: list[Reader], note: str = "") -> str:
    """The page of all formats of files, with the columns of each CSV."""
    parts = ["# Files that Shallows reads", note]
    parts.append(
        "`./shallows import FILE... -o OUT.toml` recognises a file by its content and writes an experiment. "
        "An experiment can also name a file directly. A path there is relative to the experiment file. "
        "Any file may be compressed with gzip. "
        "[Bring your topology and flows](../how-to/files.md) shows both ways."
    )
    for gives, title in _KINDS.items():
        parts.append(f"## {title}\n\nAn experiment names such a file as {GIVES[gives]}.")
        rows = ["| format | source | options of `import` | needs |", "|---|---|---|---|"]
        for reader in readers:
            if reader.gives == gives:
                options = "; ".join(f"`{name}`: {about}" for name, about in reader.options.items())
                needs = "the extra `import`" if reader.needs else ""
                rows.append(f"| {reader.title} | {reader.source} | {options} | {needs} |")
        parts.append("\n".join(rows))
        for reader in readers:
            if reader.gives == gives and reader.columns:
                rows = ["| column | holds |", "|---|---|"]
                rows += [f"| `{name}` | {about} |" for name, about in reader.columns.items()]
                parts.append(f"### Columns: {reader.title}\n\n" + "\n".join(rows))
                parts.append(f"```csv\n{reader.sample}```")
    return "\n\n".join(part for part in parts if part) + "\n"


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
    keys, without = (", ".join(f"`{key}`" for key in each) for each in (BY_SIZE, NOT_BY_SIZE))
    parts.append(
        "## By size of message\n\n"
        f"`CLASS.SIZE.name` covers the messages of one size: {sizes}. `[summary]` and `--sizes` choose "
        f"other sizes. The names are those of messages in a class, without {without}. "
        f"`--by size` shows {keys}. "
        "A class whose messages all have one of these sizes has none of them."
    )
    parts.append(
        "## Percentiles\n\n"
        "Percentiles of completion times and slowdowns interpolate between the two nearest messages. "
        "`[summary]` and `--percentiles` add others: 99.9 is `fct_p99_9_ps`. "
        "Percentiles of waits and delays come from bins, at most 1/128 of their values wide. "
        "The error is less than a bin's width. No percentile is below the least nor above the greatest value "
        "that was seen, and that of a constant is exact."
    )
    parts.append(
        "## Over seeds\n\n"
        "A mean over seeds has Student's t interval. An end that would leave what is possible, such as a "
        "negative count, is that of the same interval on the logarithm of the distance from the bound "
        "(delta method). Runs with different seeds that are equal in every metric count as one run: "
        "their mean has no interval."
    )
    return "\n\n".join(parts) + "\n"
