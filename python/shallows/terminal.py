"""Terminal output: progress, tables, errors; and the one JSON document of `--json`.

Standard output carries results only; progress and errors go to standard error.
"""

from __future__ import annotations

import json
import os
import sys
import time
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from shallows import interrupts
from shallows.errors import Interrupted, ShallowsError, SpecError

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console
    from rich.table import Table


class Report(Protocol):
    """Reports the progress of the work: runs done (with shares of runs), and how many of them failed."""

    def __call__(self, done: float, failed: int = 0) -> None:
        """Shows it."""


def print_json(document: Any) -> None:
    """One JSON document on standard output. A NaN in it is a defect and raises ValueError.

    At its top level a value may be `Records`, which is written row by row: a large network has a million.
    """
    file = _json or sys.stdout
    if not isinstance(document, Mapping) or not any(isinstance(v, Records) for v in document.values()):
        print(_dumped(document), file=file)
        return
    whole = {k: v if isinstance(v, Records) else _dumped(v) for k, v in document.items()}
    for number, (key, value) in enumerate(whole.items()):
        file.write(("{" if number == 0 else ",") + f"\n {json.dumps(key, ensure_ascii=False)}: ")
        if isinstance(value, Records):
            for text in value.pieces():
                file.write(text)
        else:
            file.write(value.replace("\n", "\n "))  # strings in JSON have no line end of their own
    file.write("\n}\n")


def _dumped(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)


class Records:
    """The rows of a frame as a JSON array of objects, one a line, written in parts."""

    ROWS = 20_000
    """Rows of a part."""

    def __init__(self, frame: pl.DataFrame):
        self.frame = frame

    def pieces(self) -> Iterator[str]:
        """The text of the array, part by part."""
        if not len(self.frame):
            yield "[]"
            return
        for number, part in enumerate(self.frame.iter_slices(self.ROWS)):
            rows = part.write_ndjson().rstrip("\n").replace("\n", ",\n  ")
            yield ("[\n  " if number == 0 else ",\n  ") + rows
        yield "\n ]"


_json: TextIO | None = None
"""Standard output, where it is kept for the JSON document."""


def keep_output_for_json() -> None:
    """Keeps standard output for `print_json`: algorithms and libraries print to standard error."""
    global _json
    sys.stdout.flush()
    _json = os.fdopen(os.dup(1), "w", encoding=sys.stdout.encoding)
    os.dup2(2, 1)


def flush_json() -> None:
    """Has the JSON document written. Raises OSError."""
    if _json is not None:
        _json.close()


def plain(text: Any, lines: bool = False) -> str:
    """Text that a terminal shows and does not interpret.

    Names and titles come from files of others: characters that control the terminal, or turn the direction
    of writing, are shown as escapes. Line ends and tabs stay if `lines`.
    """
    return "".join(c if lines and c in "\n\t" else _shown(c) for c in str(text))


def _shown(character: str) -> str:
    known = character.isprintable() or unicodedata.category(character) == "Zs"
    return character if known else character.encode("unicode_escape").decode()


def say(text: str) -> None:
    """A line on standard output."""
    print(plain(text, lines=True))


def note(text: str) -> None:
    """A line on standard error."""
    print(plain(text, lines=True), file=sys.stderr)


def error_console() -> Console:
    """Standard error."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def print_error(error: ShallowsError, as_json: bool) -> None:
    """All faults, or what went wrong, on standard error; with `--json` as a document too."""
    faults = error.faults if isinstance(error, SpecError) else []
    if faults:
        count = f"{len(faults)} faults" if len(faults) > 1 else "1 fault"
        note(f"shallows: {count} in the input; nothing was run")
        for fault in faults:
            note(f"  {fault}")
    else:
        note(f"shallows: {error}")
    if as_json:
        print_error_json(error)


def print_error_json(error: ShallowsError) -> None:
    """An error as the JSON document of `--json`."""
    faults = error.faults if isinstance(error, SpecError) else []
    about = {"kind": type(error).__name__, "message": str(error)}
    print_json({"error": about | {"faults": [vars(fault) for fault in faults]}})


@contextmanager
def progress(what: str, total: float, shown: bool = True) -> Iterator[Report]:
    """A bar with an estimate of the time left, or on no terminal a line every ten per cent; or nothing.

    Ctrl-C within raises Interrupted.
    """
    console = error_console()
    with interrupts.listening():
        try:
            if not shown:
                yield _heard(lambda done, failed=0: None)
            elif console.is_terminal:
                with _bar(console, what, total) as report:
                    yield _heard(report)
            else:
                yield _heard(_lines(what, total))
        except KeyboardInterrupt:
            raise Interrupted("interrupted; finished runs are stored") from None


def _heard(report: Report) -> Report:
    """A report that puts the handler of Ctrl-C back: a thread of the work may have loaded a library."""

    def reports(done: float, failed: int = 0) -> None:
        interrupts.put_back()
        report(done, failed)

    return reports


@contextmanager
def _bar(console: Console, what: str, total: float) -> Iterator[Report]:
    from rich import progress as rich_progress

    columns = (
        rich_progress.TextColumn("{task.description}", markup=False),
        rich_progress.BarColumn(),
        rich_progress.TaskProgressColumn(),
        rich_progress.TextColumn("{task.fields[count]}"),
        rich_progress.TimeElapsedColumn(),
        rich_progress.TextColumn("left"),
        rich_progress.TimeRemainingColumn(elapsed_when_finished=True),
    )
    with rich_progress.Progress(*columns, console=console, transient=True, speed_estimate_period=600) as bar:
        task = bar.add_task(plain(what), total=total, count="")

        def report(done: float, failed: int = 0) -> None:
            count = f"{int(done)}/{total}" if total > 1 else ""
            bar.update(task, completed=done, count=count + (f", {failed} failed" if failed else ""))

        yield report


PROGRESS_LINES = "SHALLOWS_PROGRESS_LINES"
"""Environment: lines of progress that a run writes at most where no terminal shows a bar; 10 without it."""

LEAST_BETWEEN_S = 0.2
"""Between two of these lines, where there are more than 10."""


def _lines(what: str, total: float) -> Report:
    began, told, written = time.monotonic(), 0, 0.0
    wanted = os.environ.get(PROGRESS_LINES, "")
    count = min(max(int(wanted), 10), 1000) if wanted.isdigit() else 10

    def report(done: float, failed: int = 0) -> None:
        nonlocal told, written
        share = done / total if total else 1.0
        elapsed = time.monotonic() - began
        if int(count * share) > told and elapsed > 1 and (count == 10 or elapsed - written > LEAST_BETWEEN_S):
            told, written = int(count * share), elapsed
            left = elapsed / share - elapsed
            bad = f", {failed} failed" if failed else ""
            digits = 0 if count == 10 else 1
            note(f"{what}: {share:.{digits}%}, about {left:.0f} s left{bad}")

    return report


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A table on standard output, on no terminal as wide as it is.

    One that is wider than the terminal is continued below, its first column repeated.
    """
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=max(400, sum(_widths(columns, rows))))
    for number, chosen in enumerate(_parts(_widths(columns, rows), console.width)):
        part = [[row[k] for k in chosen] for row in rows]
        console.print(_table(title if number == 0 else "", [columns[k] for k in chosen], part))


def _widths(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[int]:
    """The characters that each column takes, with the blanks before the next."""
    cells = [list(columns), *([show(value) for value in row] for row in rows)]
    return [2 + max(len(plain(row[k])) for row in cells) for k in range(len(columns))]


def _parts(widths: Sequence[int], room: int) -> list[list[int]]:
    """Numbers of the columns of each part, as many as there is room for, the first column in all."""
    parts, used = [[0]], widths[0] if widths else 0
    for k, width in enumerate(widths[1:], 1):
        if used + width > room + 2 and len(parts[-1]) > 1:
            parts.append([0])
            used = widths[0]
        parts[-1].append(k)
        used += width
    return parts


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    def text(value: Any) -> Text:  # of which rich takes no bracket for markup
        return Text(plain(value))

    table = Table(
        title=text(title) if title else None,
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
    )
    for number, name in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[number], int | float | None) for row in rows)
        table.add_column(text(name), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(text(show(value)) for value in row))
    return table


def print_metrics(title: str, metrics: Mapping[str, Any]) -> None:
    """A summary, one metric a line, with values readable in their unit."""
    print_table(
        title, ("metric", "value"), [(name, readable(name, value)) for name, value in metrics.items()]
    )


def show(value: Any) -> str:
    """A cell of a table."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


_SCALES = {
    "_bps": ((1e12, "Tb/s"), (1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (1.0, "b/s")),
    "_ps": ((1e12, "s"), (1e9, "ms"), (1e6, "us"), (1e3, "ns"), (1.0, "ps")),
    "_bytes": ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "B")),
}


def readable(name: str, value: Any) -> str:
    """A value in a unit of its size, by the unit in its name: `goodput_bps` 2.69e9 is `2.69 Gb/s`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return show(value)
    size, unit = scale(name, abs(value))
    return f"{value / size:.4g} {unit}" if unit else show(value)


def readable_mean(name: str, mean: float, interval: Sequence[float] | None) -> str:
    """A mean and the ends of its interval in the mean's unit: `62.05 us [18.93, 105.2]`.

    An interval without width, of seeds that change nothing, is left out.
    """
    if not interval or not interval[0] < interval[1]:
        return readable(name, mean)
    size, _ = scale(name, abs(mean))
    low, high = (f"{end / size:.4g}" for end in interval)
    return f"{readable(name, mean)} [{low}, {high}]"


def heading(name: str) -> str:
    """A metric's name as the head of a column whose cells show the unit: `bottleneck p99 wait`."""
    suffix = next((suffix for suffix in _SCALES if suffix in name), "")
    return name.replace(suffix, "").replace("_", " ") if suffix else name.replace("_", " ")


def scale(name: str, value: float) -> tuple[float, str]:
    """The unit for a quantity of this name and size, with its size; 1 and no unit for a plain number."""
    for suffix, scales in _SCALES.items():
        if name.endswith(suffix) or f"{suffix}_" in name:
            return next(((size, unit) for size, unit in scales if value >= size), scales[-1])
    return 1.0, ""
