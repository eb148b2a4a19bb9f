"""`./shallows explain`: the story of one connection, in sentences."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shallows import terminal
from shallows.cli.audit import runs_of
from shallows.cli.options import AllowMemory, Json, StorePath
from shallows.errors import Fault, SpecError
from shallows.results.qlog import refusal, write

if TYPE_CHECKING:
    from shallows.tables.story import Episode, Story

__all__ = ["explain", "sentences", "story_of"]

Name = Annotated[
    str, typer.Argument(metavar="RUN|FILE", help="A run's name, or an experiment.", show_default=False)
]
Flow = Annotated[
    int, typer.Argument(metavar="FLOW", help="The connection's `id` in the table flows.", show_default=False)
]

SIMULATOR = "simulator"
MOST = 10
"""Episodes with a sentence of their own."""
HOW = {
    "SACK": "SACK reported {them}",
    "duplicate acknowledgements": "three duplicate acknowledgements reported {them}",
    "timeout": "the retransmission timer expired after {silence} of silence",
    "probe": "a timer shorter than the retransmission timer (a probe) expired after {silence} of silence",
}
WAITS = {
    "window": "waiting for acknowledgements (its window)",
    "application": "without data to send",
    "port": "waiting for its host's own port",
    "receiver": "waiting for acknowledgements (the receiver's window)",
    "clock": "waiting for its own clock (pacing or a timer)",
    "timer": "waiting for a retransmission timer",
    "handshake": "in the handshake",
    "sending": "sending",
}


def explain(
    name: Name,
    flow: Flow,
    qlog: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Writes packets, losses and windows as qlog.", show_default=False),
    ] = None,
    store: StorePath = None,
    as_json: Json = False,
    allow_memory: AllowMemory = False,
) -> None:
    """Tells the story of one connection. It has losses, their repair, marks, and the limit of its sender."""
    if qlog and (rule := refusal(qlog)):
        raise SpecError([Fault("--qlog", rule, qlog)])
    run = runs_of("explain", name, store, allow_memory)[0]
    story = story_of(run.tables, run.experiment, flow, run.manifest["backend"])
    if as_json:
        terminal.print_json({"run": run.hash, **_document(story)})
    else:
        for sentence in sentences(story):
            terminal.say(sentence)
    if qlog:
        terminal.note(f"{qlog}: {write(run.tables, story, run.hash, qlog)} events of flow {flow}")


def story_of(tables: Any, experiment: dict[str, Any], flow: int, backend: str = SIMULATOR) -> Story:
    """The story of a connection of a run with `probe.audit`. Raises SpecError where there is none.

    Only the simulator's times are exact enough to say what its sender waited for.
    """
    from shallows.tables.story import tell

    if not experiment["probe"].get("audit") or "packets" not in tables:
        rule = "must be true in a run to be explained; `shallows explain FILE FLOW` runs a file so"
        raise SpecError([Fault("probe.audit", rule, experiment["probe"].get("audit", False))])
    known = tables["flows"]
    if flow not in known["id"]:
        last = known["id"].max()
        rule = "must be a connection, and the run has none"
        if last is not None:
            rule = f"must be a connection of the run, 0 to {last}"
        raise SpecError([Fault("FLOW", rule, flow)])
    return tell(tables, flow, *_bounds(experiment, known, flow), limits=backend == SIMULATOR)


def _bounds(experiment: dict[str, Any], flows: Any, flow: int) -> tuple[int, int]:
    """The least retransmission timeout in ps, and the receive window in bytes or 0 for none.

    Raises SpecError for other transports than TCP.
    """
    from shallows import _core
    from shallows.document.schema import facts

    load = flows.filter(flows["id"] == flow)["traffic"][0]
    transport = experiment["traffic"][load]["transport"]
    if other := facts("transport", transport["profile"])["not_tcp"]:
        rule = f"must be a connection of TCP to be explained; this one is over {other}"
        raise SpecError([Fault("FLOW", rule, flow)])
    part = {"traffic": {load: experiment["traffic"][load]}}
    numbers = _core.numbers(json.dumps(part))
    place = f"traffic.{load}.transport"
    window = str(transport.get("receive_window", "none"))
    packets = window.removesuffix("pkt") if window.endswith("pkt") else "0"
    size = numbers.get(f"{place}.receive_window", int(packets) * numbers[f"{place}.mss"])
    return numbers[f"{place}.min_rto"], size


def sentences(story: Story) -> Iterator[str]:
    """The story in words: ends, each episode, other losses, marks, and the limits of the sender."""
    about = story.flow
    ended = f"ended at {_time(about['end_ps'])}" if about["end_ps"] is not None else "did not end in the run"
    who = f"Flow {about['id']} (class {about['class']}, {about['cc']})"
    path = f" over {', '.join(story.ports)}" if story.ports else ""
    yield f"{who} went from {about['src']} to {about['dst']}{path}."
    repeats = about["retransmissions"] or "none"
    sent = f"{_count(story.packets, 'packet')} of data, {repeats} of them repeats"
    yield f"It began at {_time(about['start_ps'])}, {ended}, and sent {sent if story.packets else 'no data'}."
    if story.handshakes_lost:
        lost = story.handshakes_lost
        end = "" if story.packets else ", and the handshake did not end"
        yield f"{_count(lost, 'packet')} of its handshake {_was(lost)} lost{end}."
    for episode in story.episodes[:MOST]:
        yield _told(episode)
    if left := story.episodes[MOST:]:
        packets = sum(each.packets for each in left)
        yield f"{_count(len(left), 'further episode')} with {_count(packets, 'loss', 'losses')} followed."
    if story.packets and not story.episodes:
        yield "None of its data was lost."
    if story.needless:
        count = story.needless
        yield f"{_count(count, 'repeat')} {_was(count)} needless: no earlier copy was lost."
    if story.acks_lost:
        yield f"{_count(story.acks_lost, 'packet')} of its receiver {_was(story.acks_lost)} lost."
    if story.marked and story.first_mark is not None:
        marked = sum(story.marked.values())
        several = len(story.marked) > 1
        places = ", ".join(f"{f'{count} ' * several}at {port}" for port, count in story.marked.items())
        told = f"{_count(marked, 'packet')} of data {_was(marked)} marked{',' * several} {places}"
        times = about["ecn_reductions"]  # Linux does not count them
        reduced = "" if times is None else f" Marks reduced the window {_count(times, 'time')}."
        yield f"{told}, the first at {_time(story.first_mark)}.{reduced}"
    if story.waits:
        yield _limits(story)


def _told(episode: Episode) -> str:
    from shallows.tables.drops import causes

    them = "it" if episode.packets == 1 else "them"
    why = {cause.column: cause.why for cause in causes()}
    places = " and ".join(
        f"{f'{count} ' if len(episode.places) > 1 else ''}at {port} ({why[cause]})"
        for (port, cause), count in episode.places.items()
    )
    many = episode.end > episode.begin
    when = (
        f"between {_time(episode.begin)} and {_time(episode.end)}" if many else f"at {_time(episode.begin)}"
    )
    colon = ":" if len(episode.places) > 1 else ""
    told = f"{_count(episode.packets, 'packet')} {_was(episode.packets)} lost {when}{colon} {places}"
    if episode.repeats:
        told += f"; {episode.repeats} of them {_was(episode.repeats, 'was a repeat', 'were repeats')}"
    if episode.again is None:
        return f"{told}; the run ended before {_was(episode.packets, 'it was', 'they were')} sent again."
    how = HOW[episode.how].format(them=them, silence=_time(episode.silence))
    told += f"; {how}, and the first was sent again at {_time(episode.again)}"
    if episode.repaired is None:
        return f"{told}; the run ended before all were acknowledged."
    trips = (
        "" if episode.round_trips is None else f", {episode.round_trips:.1f} round trips after the first loss"
    )
    told += f"; all were acknowledged at {_time(episode.repaired)}{trips}."
    before, least = episode.window_before, episode.window_least
    if before is not None and least is not None and least < before:
        told += f" The window fell from {_size(before)} to {_size(least)}."
    return told


def _limits(story: Story) -> str:
    total = sum(story.waits.values())
    parts = [
        f"{100 * wait / total:.0f} % {WAITS[cause]}"
        for cause, wait in sorted(story.waits.items(), key=lambda each: -each[1])
        if wait / total >= 0.005
    ]
    return f"Its time until its last packet left, at {_time(story.until)}: {', '.join(parts)}."


def _document(story: Story) -> dict[str, Any]:
    episodes = [
        each._asdict() | {"places": [[*place, count] for place, count in each.places.items()]}
        for each in story.episodes
    ]
    return {
        "flow": story.flow["id"],
        "ports": story.ports,
        "packets": story.packets,
        "episodes": episodes,
        "marked": story.marked,
        "acks_lost": story.acks_lost,
        "handshakes_lost": story.handshakes_lost,
        "needless": story.needless,
        "waits_ps": story.waits,
        "sentences": list(sentences(story)),
    }


def _time(ps: float) -> str:
    return terminal.readable("x_ps", ps)


def _size(count: float) -> str:
    return terminal.readable("x_bytes", count)


def _count(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def _was(count: int, one: str = "was", many: str = "were") -> str:
    return one if count == 1 else many
