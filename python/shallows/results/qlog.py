"""A connection of TCP as qlog, for viewers of QUIC's traces.

Sources: draft-ietf-quic-qlog-main-schema-14 (`QlogFile`) and draft-ietf-quic-qlog-quic-events-13. Events of
QUIC need packet numbers, and TCP has none: a packet's number is its place among the departures of the
connection's data. The namespace `shallows` has two more events:

- `packet_dropped`: `port`, `cause` as in the tables, and the `packet_number` of data, or `of` whom it was;
- `packet_marked`: `packet_number` and `port` of the first mark.
"""

from __future__ import annotations

import json
from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.errors import Fault, RunError, SpecError
from shallows.files import irreplaceable, write_whole

if TYPE_CHECKING:
    import polars as pl

    from shallows.tables.story import Seen, Story

__all__ = ["document", "parse_requests", "refusal", "write"]

FILE = "urn:ietf:params:qlog:file:contained"
SCHEMAS = ("urn:ietf:params:qlog:events:quic-13", "urn:x-shallows:qlog:events:shallows")
BEGINS = f'{{"file_schema": "{FILE}"'
"""The first bytes of such a file, by which it is known."""
PS_PER_MS = 1e9
STATES = {
    "timeout": "loss",
    "probe": "recovery",
    "SACK": "recovery",
    "duplicate acknowledgements": "recovery",
}
"""The sender's state from the first repeat to the repair, named as in Linux; at other times it is `open`."""

Event = tuple[int, int, dict[str, Any]]
"""Time in ps, the order among events of one time, and name and data."""


def parse_requests(texts: list[str]) -> dict[int, Path]:
    """`FLOW=out.qlog` of the command line, by the flow's number. Raises SpecError."""
    found: dict[int, Path] = {}
    faults = []
    for text in texts:
        flow, equals, path = text.partition("=")
        if not (flow.isdecimal() and equals and path):
            faults.append(Fault("--qlog", "must be FLOW=FILE, as in '0=flow0.qlog'", text))
        elif int(flow) in found or Path(path) in found.values():
            faults.append(Fault("--qlog", "names a flow or file twice", text))
        elif rule := refusal(Path(path)):
            faults.append(Fault("--qlog", rule, path))
        else:
            found[int(flow)] = Path(path)
    if faults:
        raise SpecError(faults)
    return found


def refusal(path: Path) -> str | None:
    """Why the file may not be written, or None."""
    return irreplaceable(path, BEGINS.encode(), "qlog of Shallows")


def write(tables: Mapping[str, pl.DataFrame], story: Story, title: str, path: Path) -> int:
    """Writes the connection of a story, an event a line; returns how many. The file appears whole.

    Raises RunError if it cannot be written.
    """
    whole = document(tables, story, title)
    [trace] = whole["traces"]
    events = trace.pop("events")
    head = json.dumps(whole).removesuffix("}]}")
    lines = ",\n".join(map(json.dumps, events))
    try:
        write_whole(path, f'{head}, "events": [\n{lines}\n]}}]}}\n'.encode())
    except OSError as error:
        raise RunError(f"the file {path} was not written: {error.strerror}; the run is stored") from error
    return len(events)


def document(tables: Mapping[str, pl.DataFrame], story: Story, title: str) -> dict[str, Any]:
    """The connection as a `QlogFile`."""
    from shallows.tables.story import see

    about = story.flow
    seen = see(tables, about["id"])
    assert seen is not None
    found = [*_packets(seen), *_losses(seen), *_marks(seen), *_metrics(tables, about["id"]), *_states(story)]
    found.sort(key=lambda event: event[:2])
    trace = {
        "title": f"flow {about['id']} ({about['cc']}) from {about['src']} to {about['dst']}",
        "vantage_point": {"name": about["src"], "type": "client"},
        "common_fields": {
            "time_format": "relative_to_epoch",
            "reference_time": {"clock_type": "monotonic", "epoch": "unknown"},
        },
        "event_schemas": list(SCHEMAS),
        "events": [{"time": time / PS_PER_MS, **event} for time, _, event in found],
    }
    return {
        "file_schema": FILE,
        "serialization_format": "application/qlog+json",
        "title": title,
        "traces": [trace],
    }


def _event(time: int, order: int, name: str, **data: Any) -> Event:
    return time, order, {"name": name, "data": data}


def _header(number: int) -> dict[str, Any]:
    return {"packet_type": "1RTT", "packet_number": number}


def _packets(seen: Seen) -> Iterator[Event]:
    """Departures of data, arrivals of acknowledgements, and packets that a repeat declares lost."""
    sent = seen.sent.select("time_ps", "seq", "payload", "size").rows()
    blocks = [f"sack{k}_{end}" for k in range(4) for end in ("first", "beyond")]
    acks = seen.acks.select("landed_ps", "seq", "size", *blocks).rows()
    merged = sorted(
        [(row[0], 0, k) for k, row in enumerate(sent)] + [(row[0], 1, k) for k, row in enumerate(acks)]
    )
    waiting: list[tuple[int, int, int]] = []
    """First byte, byte after the last, and number of what is neither acknowledged nor sent again."""
    for time, is_ack, k in merged:
        if is_ack:
            _, upto, size, *ends = acks[k]
            ranges = [
                (0, upto),
                *((a, b) for a, b in zip(ends[::2], ends[1::2], strict=True) if a is not None),
            ]
            numbers = sorted({number for a, b in ranges for number in _covered(waiting, a, b)})
            frames = [{"frame_type": "ack", "acked_ranges": list(_ranges(numbers))}] if numbers else []
            yield _event(
                time, 1, "quic:packet_received", header=_header(k), raw={"length": size}, frames=frames
            )
            continue
        _, seq, payload, size = sent[k]
        for number in _overlapped(waiting, seq, seq + payload):
            yield _event(time, 2, "quic:packet_lost", header=_header(number))
        insort(waiting, (seq, seq + payload, k))
        frame = {"frame_type": "stream", "stream_id": 0, "offset": seq, "raw": {"payload_length": payload}}
        raw = {"length": size, "payload_length": payload}
        yield _event(time, 3, "quic:packet_sent", header=_header(k), raw=raw, frames=[frame])


def _covered(waiting: list[tuple[int, int, int]], begin: int, end: int) -> list[int]:
    """Takes out the packets whose bytes all lie in a range; their numbers."""
    first = bisect_left(waiting, (begin,))
    last = first
    while last < len(waiting) and waiting[last][1] <= end:
        last += 1
    found = [number for *_, number in waiting[first:last]]
    del waiting[first:last]
    return found


def _overlapped(waiting: list[tuple[int, int, int]], begin: int, end: int) -> list[int]:
    """Takes out the packets that have a byte of a range; their numbers."""
    last = bisect_left(waiting, (end,))
    first = last
    while first > 0 and waiting[first - 1][1] > begin:
        first -= 1
    found = [number for *_, number in waiting[first:last]]
    del waiting[first:last]
    return found


def _ranges(numbers: list[int]) -> Iterator[list[int]]:
    """Runs of consecutive numbers, as in QUIC's acknowledgements."""
    begin = 0
    for k in range(1, len(numbers) + 1):
        if k == len(numbers) or numbers[k] != numbers[k - 1] + 1:
            yield sorted({numbers[begin], numbers[k - 1]})
            begin = k


def _numbers(seen: Seen) -> dict[tuple[int, int], int]:
    return {key: number for number, key in enumerate(seen.sent.select("seq", "stamp_ps").rows())}


def _losses(seen: Seen) -> Iterator[Event]:
    number = _numbers(seen)
    columns = ("time_ps", "port", "cause", "reverse", "payload", "seq", "stamp_ps")
    for time, port, cause, reverse, payload, seq, stamp in seen.lost.select(columns).rows():
        known = None if reverse or payload is None else number.get((seq, stamp))
        whose = (
            {"packet_number": known} if known is not None else {"of": "receiver" if reverse else "handshake"}
        )
        yield _event(time, 4, "shallows:packet_dropped", **whose, port=port, cause=cause)


def _marks(seen: Seen) -> Iterator[Event]:
    import polars as pl

    number = _numbers(seen)
    marked = seen.data.filter(pl.col("ecn") == 3).sort("time_ps")
    first = marked.unique(["seq", "stamp_ps"], keep="first", maintain_order=True)
    for time, port, seq, stamp in first.select("time_ps", "port", "seq", "stamp_ps").rows():
        if (seq, stamp) in number:
            yield _event(time, 4, "shallows:packet_marked", packet_number=number[seq, stamp], port=port)


def _metrics(tables: Mapping[str, pl.DataFrame], flow: int) -> Iterator[Event]:
    """The window and what belongs to it, each value where it has changed."""
    import polars as pl

    rows = tables["flow_trace"].filter(pl.col("flow") == flow).sort("time_ps")
    last: dict[str, Any] = {}
    for row in rows.iter_rows(named=True):
        values = {
            "congestion_window": None if row["cwnd_bytes"] is None else round(row["cwnd_bytes"]),
            "ssthresh": None if row["ssthresh_bytes"] is None else round(row["ssthresh_bytes"]),
            "smoothed_rtt": None if row["srtt_ps"] is None else row["srtt_ps"] / PS_PER_MS,
            "bytes_in_flight": row["flight_bytes"],
            "pacing_rate": None if row.get("pacing_bps") is None else round(row["pacing_bps"]),
            "alpha": row["alpha"],
        }
        changed = {
            key: value for key, value in values.items() if value is not None and last.get(key) != value
        }
        last |= changed
        if changed:
            yield _event(row["time_ps"], 5, "quic:recovery_metrics_updated", **changed)


def _states(story: Story) -> Iterator[Event]:
    for episode in story.episodes:
        if episode.again is None:
            continue
        state = STATES[episode.how]
        change = {"old": "open", "new": state, "trigger": episode.how}
        yield _event(episode.again, 0, "quic:congestion_state_updated", **change)
        if episode.repaired is not None:
            yield _event(episode.repaired, 6, "quic:congestion_state_updated", old=state, new="open")
