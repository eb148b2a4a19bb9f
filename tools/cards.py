"""Makes docs/how-to/cards.md again: the quick cards of built-in controls, with a sentence for each row.

    tools/uv run --frozen python tools/cards.py [--store DIR] [--workers N]

It takes some minutes of processor time. The runs are stored, and an interrupted call resumes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from shallows.assess import card, show
from shallows.assess.criteria import CARDS, QUEUE
from shallows.assess.criteria import card as named
from shallows.execution.runner import Runner

CONTROLS = ("newreno", "cubic", "dctcp", "prague", "bbr3", "bbr1")
OTHERS = (("l4s", "prague"), ("datacentre", "dctcp"), (QUEUE, "codel"))
"""A candidate for each of the other cards."""
PLACE = Path(__file__).parent.parent / "docs/how-to/cards.md"
HEAD = """# Cards of controls and of a queue

<!-- Made by tools/cards.py; do not edit. -->

[Assess a congestion control](assess.md) explains the rows and verdicts. Each card is the quick one, with
{seeds} seeds on the simulator. The thresholds are this project's, and no RFC's.
CUBIC and NewReno are yardsticks of most cards, so many of their own ratios are 1.
"""

COSTLY = "<!-- not run: a minute of CPU time or more -->"


def main() -> None:
    """Runs the cards and writes the page."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--store", type=Path)
    options.add_argument("--workers", type=int, default=2)
    given = options.parse_args()
    runner = Runner.of(store=given.store, workers=given.workers)
    parts = [HEAD.format(seeds=card.QUICK_SEEDS)]
    parts += [_part(CARDS[0], control, control, runner) for control in CONTROLS]
    for kind, candidate in OTHERS:
        title = f"{candidate}: {named(kind).title}"
        parts.append(_part(kind, candidate, title, runner))
    PLACE.write_text("".join(parts), encoding="utf-8")


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


if __name__ == "__main__":
    main()
