"""Output of `attack`: the find as an experiment file, JSON, the tables, and the figure of the search."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows import terminal
from shallows.attack.attack import Attacked
from shallows.attack.confirm import Confirmed
from shallows.attack.search import Tried
from shallows.attack.shrink import Find
from shallows.attack.storage import most_runs
from shallows.attack.words import hint, margin, meaning, value_text
from shallows.document.settings import text_of
from shallows.studies.page import place

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from shallows.execution.runner import Runner

MOST_FAULTS = 5
"""Reasons of failed runs that get a file each."""

__all__ = ["document", "draw", "fault_text", "faults", "folder", "keep", "show", "show_stopped", "write"]


def folder(name: str, out: Path) -> Path:
    """The directory of the outcome. Raises StoreError if something else is there, before anything runs."""
    return place.check(out, f"attack-{place.file_name(name)}")


def write(
    found: Attacked, name: str, out: Path, runner: Runner, command: str, confirmed: Confirmed | None = None
) -> Path:
    """The directory with `attack.json` and `search.svg`; if there is a find also `find.toml` and its page
    `find.html`. Raises StoreError, RunError."""
    from shallows.attack import page
    from shallows.figures import interactive

    def fill(new: Path) -> None:
        text = json.dumps(document(found, confirmed), indent=1, ensure_ascii=False, allow_nan=False)
        (new / "attack.json").write_text(text + "\n", encoding="utf-8")
        _write_faults(found, new)
        search = b""
        if any(one.value is not None for one in found.tried):
            search = interactive.picture(draw(found))
            (new / "search.svg").write_bytes(search)
        if found.find:
            (new / "find.toml").write_text(find_text(found, found.find, confirmed), encoding="utf-8")
            elsewhere = _elsewhere(found, confirmed) if confirmed else ""
            html = page.render(found, found.find, runner, search, command, elsewhere)
            (new / "find.html").write_text(html, encoding="utf-8")

    return place.write(out, f"attack-{place.file_name(name)}", fill).parent


def keep(found: Attacked, name: str, out: Path) -> Path:
    """The directory of an attack that is not whole yet: `attack.json`, and `find.toml` or `best.toml` as far
    as it is.

    It takes no run and no figure, so that Ctrl-C need not wait. Raises StoreError.
    """

    def fill(new: Path) -> None:
        text = json.dumps(document(found), indent=1, ensure_ascii=False, allow_nan=False)
        (new / "attack.json").write_text(text + "\n", encoding="utf-8")
        _write_faults(found, new)
        if found.find:
            (new / "find.toml").write_text(find_text(found, found.find), encoding="utf-8")
        elif found.best:
            (new / "best.toml").write_text(best_text(found, found.best), encoding="utf-8")

    return place.write(out, f"attack-{place.file_name(name)}", fill).parent


def faults(found: Attacked) -> list[tuple[str, Tried]]:
    """The first candidates whose run failed, one of each reason, with the names of their files."""
    first: dict[str, Tried] = {}
    for one in found.tried:
        if one.state == "failed":
            first.setdefault(one.note, one)
    return [(f"fault-{one.number}.toml", one) for one in list(first.values())[:MOST_FAULTS]]


def _write_faults(found: Attacked, new: Path) -> None:
    for name, one in faults(found):
        (new / name).write_text(fault_text(found, name, one), encoding="utf-8")


def fault_text(found: Attacked, name: str, one: Tried) -> str:
    """The experiment of a run that failed, with its reason and the command that repeats it."""
    whose = "the reference's run" if one.by_reference else "the run"
    command = f"./shallows attack --against {json.dumps(found.objective.text)}"
    head = [
        f"Candidate {one.number} of {command}: {whose} failed.",
        *one.note.splitlines(),
        f"Repeat: ./shallows run {name}",
    ]
    document = found.space.document(one.candidate, reference=one.by_reference)
    return "".join(f"# {line}\n" for line in head) + text_of(document | {"seed": one.seed})


def best_text(found: Attacked, best: Tried) -> str:
    """The best candidate so far as an experiment."""
    reached = "fulfils" if found.objective.holds(best.value) else "does not fulfil"
    head = [
        f"The best candidate so far of ./shallows attack --against {json.dumps(found.objective.text)}",
        f"Value {best.value:.6g}, which {reached} the objective; as written {found.base.value:.6g}.",
        "It is neither made small nor checked on further seeds. The same command resumes.",
    ]
    text = text_of(found.space.document(best.candidate) | {"seed": best.seed})
    return "".join(f"# {line}\n" for line in head) + text


def show_stopped(found: Attacked, where: Path) -> None:
    """The best of an attack until Ctrl-C. It goes to standard error, since the command has no result."""
    value = "none with a value" if found.best is None else value_text(found, found.best.value)
    terminal.note(
        f"Ctrl-C stopped {found.stopped} after {len(found.tried)} candidates; the best so far: {value}. "
        f"Written: {where}. The same command resumes."
    )


def find_text(found: Attacked, find: Find, confirmed: Confirmed | None = None) -> str:
    """The find as an experiment, headed by what it shows and the command that repeats it."""
    small = find.tried
    expected = found.objective.absolute(small.reference)
    head = [
        f"Found by ./shallows attack --against {json.dumps(found.objective.text)}",
        f"Repeat: ./shallows run find.toml --expect {json.dumps(expected)}",
        f"Value {small.value:.6g}{_of_seeds(found)}; the file as written has {found.base.value:.6g}.",
        f"Verdict: {find.verdict}; {meaning(find)}.",
    ]
    if confirmed:
        head.append(_elsewhere(found, confirmed))
    text = text_of(found.space.document(small.candidate) | {"seed": small.seed})
    return "".join(f"# {line}\n" for line in head) + text


def _of_seeds(found: Attacked) -> str:
    return f", the least bad of {found.space.seeds} seeds" if found.space.seeds > 1 else ""


def document(found: Attacked, confirmed: Confirmed | None = None) -> dict[str, Any]:
    """The JSON of `attack`."""
    space, find = found.space, found.find
    return {
        "title": space.title,
        "against": found.objective.text,
        "reference": list(space.reference),
        "seed": space.seed,
        "seeds": space.seeds,
        "stopped": found.stopped or None,
        "base": found.base.value,
        "runs": found.runs,
        "best": found.best and _record(found.best),
        "find": None
        if find is None
        else {
            "verdict": find.verdict,
            "expect": found.objective.absolute(find.tried.reference),
            "first": _record(find.first),
            "minimised": _record(find.tried),
            "jitter_ps": find.jitter_ps,
            "holds_on_further_seeds": find.seeds,
            "holds_with_jitter": find.jittered,
            "neighbours": [vars(one) for one in find.neighbours],
        },
        "confirmed": confirmed and vars(confirmed) | {"verdict": confirmed.verdict},
        "candidates": [_record(one) for one in found.tried],
    }


def _record(one: Tried) -> dict[str, Any]:
    about = {"number": one.number, "state": one.state, "value": one.value, "values": list(one.values)}
    return about | {"candidate": one.candidate, "note": one.note}


def show(found: Attacked, where: Path, confirmed: Confirmed | None = None) -> None:
    """The candidates by state, the find, its checks, and the directory."""
    objective, space = found.objective, found.space
    states = ", ".join(f"{n} {state}" for state, n in Counter(one.state for one in found.tried).items())
    terminal.say(f"{space.title}: {len(found.tried)} candidates ({states}), {found.cpu_s:.1f} s of processor")
    for name, one in faults(found):
        terminal.say(
            f"candidate {one.number} failed, which may be a fault of the simulator: {one.note}; see {name}"
        )
    for note, count in Counter(one.note for one in found.tried if one.state == "no-value").items():
        terminal.say(f"{count} candidates without a value: {note}{_unfinished(found)}")
    if found.find is None:
        nearest = (
            "" if found.best is None else f"; the nearest value is {value_text(found, found.best.value)}"
        )
        if found.best is None and any(one.state == "infeasible" for one in found.tried):
            nearest = "; no candidate with a value kept attack.constraints"
        terminal.say(f"no find: no candidate fulfilled {objective.text}{nearest}")
    else:
        _show_find(found, found.find)
    if confirmed:
        terminal.say(_elsewhere(found, confirmed))
    terminal.say(f"stored: {found.runs} runs, of at most {most_runs(space)} that this attack can take")
    terminal.say(f"written: {where}")


def _unfinished(found: Attacked) -> str:
    """The metric that counts what has no completion time, if the objective is about such times."""
    load, _, what = found.objective.expectation.metric.partition(".")
    ends = {"fct": "messages", "slowdown": "messages", "round": "rounds", "step": "steps"}
    counted = ends.get(what.split("_")[0])
    return f"; {load}.{counted}_unfinished > 0 searches for what the run's end cuts off" if counted else ""


def _show_find(found: Attacked, find: Find) -> None:
    base, first, small = [value_text(found, one.value) for one in (found.base, find.first, find.tried)]
    terminal.say(
        f"find: {found.objective.text}: {small}{_of_seeds(found)}; as written {base}, "
        f"before it was made small {first}"
    )
    beside = {one.name: one for one in find.neighbours}
    words = {True: "holds", False: "does not hold", None: "not legal"}
    rows = []
    for name, value in find.tried.candidate.items():
        near, unit = beside.get(name), found.space.variables[name].unit
        sides = [words[near.lower], words[near.higher], margin(near, value, unit)] if near else [""] * 3
        rows.append([name, f"{value}{unit}", *sides])
    columns = ["setting", "value", "a tenth lower", "a tenth higher", "holds from, to"]
    terminal.print_table("The find", columns, rows)
    counts = [f"{sum(each)} of {len(each)}" for each in (find.seeds, find.jittered)]
    jitter = terminal.readable("jitter_ps", find.jitter_ps)
    terminal.say(
        f"holds on {counts[0]} further seeds, and on {counts[1]} with {jitter} of jitter on every wire"
    )
    terminal.say(f"verdict: {find.verdict}; {meaning(find)}")
    if more := hint(found, find):
        terminal.say(more)


def _elsewhere(found: Attacked, confirmed: Confirmed) -> str:
    """The find on another backend, in a line."""
    told = f"On {confirmed.backend}: {confirmed.verdict}"
    if confirmed.values:
        known = [one for one in confirmed.values if one is not None]
        span = " to ".join(dict.fromkeys(value_text(found, each(known)) for each in (min, max)))
        told += f"; {span} on {len(known)} seeds, of which {sum(confirmed.holds)} fulfil the objective"
        told += f"; as written {value_text(found, confirmed.base)}"
    return f"{told}; {confirmed.note}." if confirmed.note else f"{told}."


def draw(found: Attacked) -> Figure:
    """The value of each candidate, the best so far, and the bound."""
    from shallows.figures import style

    @style.styled
    def drawn() -> Figure:
        figure, [ax] = style.canvas(1, 1, width_inch=style.PAGE_INCH, height_inch=3.0)
        best: list[tuple[int, float]] = []
        choose = min if found.objective.least else max
        for one in found.tried:
            if one.state == "feasible" and one.value is not None:
                best.append((one.number, choose([one.value, *(v for _, v in best[-1:])])))
        for state, mark in (("feasible", "o"), ("infeasible", "x")):
            known = [(t.number, t.value) for t in found.tried if t.state == state and t.value is not None]
            if known:
                ax.plot(*zip(*known, strict=True), mark, markersize=3, alpha=0.6, label=state)
        if best:
            ax.step(*zip(*best, strict=True), where="post", label="best so far")
        ax.axhline(found.objective.bound, linestyle="--", label="bound")
        name = found.objective.expectation.metric
        ax.set_xlabel("candidate")
        ax.set_ylabel(f"{name}, share of the reference" if found.objective.share else name)
        figure.legend(loc="outside right upper")
        return figure

    return drawn()
