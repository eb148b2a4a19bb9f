"""Makes docs/how-to/cards.md again: the quick cards of built-in controls, with a sentence for each row.

    tools/uv run --frozen python tools/cards.py [--store DIR] [--workers N] [--linux] [--only CONTROL ...]

It takes some minutes of processor time. The runs are stored, and an interrupted call resumes. With `--linux`
it makes the page's second part instead, which needs a kernel: the quick cards on Linux, each beside the same
cells and seeds on the simulator.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Sequence
from pathlib import Path

from shallows.assess import card, show
from shallows.assess.card import Row
from shallows.assess.criteria import CARDS, QUEUE
from shallows.assess.criteria import card as named
from shallows.assess.judge import Cell
from shallows.backends.linux import kernel
from shallows.execution.runner import Runner

CONTROLS = ("newreno", "cubic", "dctcp", "prague", "bbr3", "bbr1")
OTHERS = (("l4s", "prague"), ("datacentre", "dctcp"), (QUEUE, "codel"))
"""A candidate for each of the other cards."""
ON_LINUX = ("newreno", "cubic", "dctcp", "bbr1")
PLACE = Path(__file__).parent.parent / "docs/how-to/cards.md"
CAUSES = Path(__file__).with_name("cards-linux.toml")
"""By control and row: why Linux and simulator differ. A person writes it, after runs."""
HEAD = """# Cards of controls and of a queue

<!-- Made by tools/cards.py; do not edit. -->

[Assess a congestion control](assess.md) explains the rows and verdicts. Each card is the quick one, with
{seeds} seeds on the simulator. The thresholds are this project's, and no RFC's.
CUBIC and NewReno are yardsticks of most cards, so many of their own ratios are 1.
"""

LINUX = "\n<!-- Made by tools/cards.py --linux; do not edit. -->\n"
LINUX_HEAD = """
## On Linux

Each of these cards is the quick one on Linux {release}: of each row one to three cells, with {seeds} seeds.
Beside it stand the same cells and seeds on the simulator, with the profile `linux`. Linux measures queues in
packets, and drops of all traffic.

A row differs if its verdicts differ, or if the intervals of its worst cell on Linux do not meet. Below each
card stands the cause of each difference, or that it was not found.
"""

COSTLY = "<!-- not run: a minute of CPU time or more -->"


def main() -> None:
    """Runs the cards and writes the page."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--store", type=Path)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--linux", action="store_true")
    options.add_argument("--only", nargs="*", choices=ON_LINUX, default=ON_LINUX)
    given = options.parse_args()
    if given.linux:
        _linux(given.store, given.workers, given.only)
        return
    runner = Runner.of(store=given.store, workers=given.workers)
    parts = [HEAD.format(seeds=card.QUICK_SEEDS)]
    parts += [_part(CARDS[0], control, control, runner) for control in CONTROLS]
    for kind, candidate in OTHERS:
        title = f"{candidate}: {named(kind).title}"
        parts.append(_part(kind, candidate, title, runner))
    _, linux, rest = PLACE.read_text("utf-8").partition(LINUX)
    PLACE.write_text("".join([*parts, linux, rest]), encoding="utf-8")


def _part(kind: str, candidate: str, title: str, runner: Runner) -> str:
    """A card with its command."""
    command = show.command("./shallows", candidate, True, "simulator", None, kind=kind)
    table = "| row | criterion | verdict | reading |\n|---|---|---|---|\n"
    rows = card.assess(card.plan(candidate, True, kind=kind), runner)
    lines = [
        f"| {row.id} | {row.about['title']} | {row.verdict} | {show.reading(candidate, row)} |\n"
        for row in rows
    ]
    return f"\n## {title}\n\n{COSTLY}\n```sh\n{command}\n```\n\n{table}{''.join(lines)}"


def _linux(store: Path | None, workers: int, controls: Sequence[str]) -> None:
    """The cards on Linux and, of the same cells and seeds, on the simulator."""
    found = kernel.find()
    assert found is not None, "there is no kernel: run ./shallows linux build"
    both = [Runner.of(store=store, workers=workers, backend=name) for name in ("linux", "simulator")]
    causes = tomllib.loads(CAUSES.read_text("utf-8"))
    simulated = PLACE.read_text("utf-8").partition(LINUX)[0]
    parts = [
        simulated,
        LINUX,
        LINUX_HEAD.format(seeds=card.QUICK_SEEDS, release=".".join(map(str, found.release or ()))),
    ]
    for control in controls:
        ours, theirs = (card.assess(card.plan(control, True, backend="linux"), runner) for runner in both)
        command = show.command("./shallows", control, True, "linux", None)
        lines = ["| row | criterion | Linux | simulator | reading on Linux | simulator, the same cell |\n"]
        lines.append("|---|---|---|---|---|---|\n")
        why = []
        for one, other in zip(ours, theirs, strict=True):
            same = next((cell for cell in other.cells if one.cells and cell.name == one.cells[0].name), None)
            number = str(same.estimate) if same and same.estimate else ""
            reading = show.reading(control, one)
            about = f"{one.id} | {one.about['title']} | {one.verdict} | {other.verdict}"
            lines.append(f"| {about} | {reading} | {number} |\n")
            if differs(one, other, same):
                why.append(f"- **{one.id}.** {causes.get(control, {}).get(one.id, 'Not examined.')}\n")
        told = f"Rows that differ:\n\n{''.join(why)}" if why else "No row differs.\n"
        head = f"\n### {control} on Linux\n\n{COSTLY}\n```sh\n{command}\n```\n\n"
        parts.append(f"{head}{''.join(lines)}\n{told}")
    PLACE.write_text("".join(parts), encoding="utf-8")


def differs(one: Row, other: Row, same: Cell | None) -> bool:
    """Whether a row has another verdict on the other backend, or intervals of its worst cell do not meet."""
    if one.verdict != other.verdict:
        return True
    first, second = (one.cells[0].estimate if one.cells else None), (same.estimate if same else None)
    if first is None or second is None:
        return False
    (low, high), (lower, higher) = (each.ci or [each.value, each.value] for each in (first, second))
    return low > higher or lower > high


if __name__ == "__main__":
    main()
