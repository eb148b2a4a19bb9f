"""Makes docs/how-to/cards.md again: the quick cards of built-in controls, with a sentence for each row.

    tools/uv run --frozen python tools/cards.py [--store DIR] [--workers N]

It takes some minutes of processor time. The runs are stored, and an interrupted call resumes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from shallows.assess import card, show
from shallows.execution.runner import Runner

CONTROLS = ("newreno", "cubic", "dctcp", "prague", "bbr3")
PLACE = Path(__file__).parent.parent / "docs/how-to/cards.md"
HEAD = """# Cards of five controls

<!-- Made by tools/cards.py; do not edit. -->

[Assess a congestion control](assess.md) explains the rows and verdicts. Each card is the quick one, with
{seeds} seeds on the simulator. The thresholds are this project's, not those of RFC 9743.
CUBIC and NewReno are the yardsticks, so many of their own ratios are 1.
"""


def main() -> None:
    """Runs the cards and writes the page."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--store", type=Path)
    options.add_argument("--workers", type=int, default=2)
    given = options.parse_args()
    runner = Runner.of(store=given.store, workers=given.workers)
    parts = [HEAD.format(seeds=card.QUICK_SEEDS)]
    for control in CONTROLS:
        work = card.plan(control, True)
        rows = card.assess(work, runner)
        parts.append(f"\n## {control}\n\n```sh\n./shallows assess {control} --quick\n```\n\n")
        parts.append("| row | criterion | verdict | reading |\n|---|---|---|---|\n")
        parts += [
            f"| {row.id} | {row.about['title']} | {row.verdict} | {show.reading(control, row)} |\n"
            for row in rows
        ]
    PLACE.write_text("".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
