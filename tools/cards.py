"""Makes docs/how-to/cards.md again: the quick cards of built-in controls, with a sentence for each row.

    tools/uv run --frozen python tools/cards.py [--store DIR] [--workers N] [--linux] [--only CONTROL ...]

It takes some minutes of processor time. The runs are stored, and an interrupted call resumes. With `--linux`
it makes the page's second part instead, which needs a kernel: the quick cards on Linux, each beside the same
cells and seeds on the simulator; `--only` leaves the cards of other controls as they are.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Sequence
from pathlib import Path

from shallows.assess import card, judge, show
from shallows.assess.card import Row, Work
from shallows.assess.criteria import CARDS, QUEUE
from shallows.assess.criteria import card as named
from shallows.backends.linux import kernel
from shallows.execution.runner import Runner
from shallows.statistics.estimates import Estimate, mean_within

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

After each card stand the control's own numbers, before they are divided by a yardstick's, as means over the
seeds. They differ if their 95 % intervals do not meet and their means are more than 1 % apart. The cause of
each difference stands below, or that it was not found.
"""
APART = 0.01
"""Means that are no further apart do not differ."""

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
    simulated, _, others_before = PLACE.read_text("utf-8").partition(LINUX)
    release = ".".join(map(str, found.release or ()))
    parts = [simulated, LINUX, LINUX_HEAD.format(seeds=card.QUICK_SEEDS, release=release)]
    kept = {text.split()[0]: f"\n### {text}" for text in others_before.split("\n### ")[1:]}
    for control in ON_LINUX:
        if control not in controls:
            parts.append(kept.get(control, ""))
            continue
        work = card.plan(control, True, backend="linux")
        rows, others = (card.assess(work, runner) for runner in both)
        command = show.command("./shallows", control, True, "linux", None)
        lines = ["| row | criterion | Linux | simulator | reading on Linux |\n|---|---|---|---|---|\n"]
        lines += [
            f"| {one.id} | {one.about['title']} | {one.verdict} | {other.verdict} |"
            f" {show.reading(control, one)} |\n"
            for one, other in zip(rows, others, strict=True)
        ]
        turned = [one.id for one, other in zip(rows, others, strict=True) if one.verdict != other.verdict]
        numbers, apart = _numbers(control, rows, [_own(work, runner) for runner in both])
        why = [
            f"- **{row}.** {causes.get(control, {}).get(row, 'Not found.')}\n" for row in (*turned, *apart)
        ]
        told = f"Differences:\n\n{''.join(dict.fromkeys(why))}" if why else "No number differs.\n"
        head = f"\n### {control} on Linux\n\n{COSTLY}\n```sh\n{command}\n```\n\n"
        parts.append(f"{head}{''.join(lines)}\n{numbers}\n{told}")
    PLACE.write_text("".join(parts), encoding="utf-8")


def _own(work: Work, runner: Runner) -> dict[tuple[str, str], list[float] | None]:
    """The control's own numbers by row and cell, from the store."""
    possible = card.runnable(work, runner)
    found = {}
    for (row, name, label), points in possible.points.items():
        if label == work.control:
            [about] = [each for each in work.criteria[row]["cells"] if each["name"] == name]
            outcomes = runner.run(points, metrics=True)
            found[row, name] = judge.values(judge.whole(work.criteria[row], about), outcomes)
    return found


def _numbers(
    control: str, rows: Sequence[Row], both: Sequence[dict[tuple[str, str], list[float] | None]]
) -> tuple[str, list[str]]:
    """A table of the control's numbers on both backends, and the rows in which they differ."""
    ours, theirs = both
    lines = [f"| row | cell | {control} on Linux | on the simulator |\n|---|---|---|---|\n"]
    apart = []
    for row, name in ours:
        one, other = ours[row, name], theirs.get((row, name))
        if one is None or other is None:
            continue
        most = next((each.about.get("most") for each in rows if each.id == row), None)
        first, second = (mean_within(values, 0.0, most) for values in (one, other))
        lines.append(f"| {row} | {name} | {first} | {second} |\n")
        if differ(first, second) and row not in apart:
            apart.append(row)
    return "".join(lines), apart


def differ(one: Estimate, other: Estimate) -> bool:
    """Whether intervals do not meet and the means are further apart than `APART` of the second."""
    (low, high), (lower, higher) = (each.ci or [each.value, each.value] for each in (one, other))
    far = abs(one.value - other.value) > APART * abs(other.value)
    return far and (low > higher or lower > high)


if __name__ == "__main__":
    main()
