"""Rules of windows outside of congestion control: a cap on their growth, and careful resume.

A connection is judged until its first sign of a loss, and where it retreats from a jump, until that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from shallows.audit.quantities import level, picoseconds
from shallows.audit.rule import Breach, rule
from shallows.audit.windows import RENO, Connection, judged, resumes

if TYPE_CHECKING:
    import numpy as np

    from shallows.audit.trace import Trace


def _outstanding(one: Connection) -> np.ndarray:
    """Bytes outstanding at each sending, the sent ones included."""
    import numpy as np

    known = np.searchsorted(one.ack_at, one.sent_at, side="right")
    reached = np.concatenate([[0], np.maximum.accumulate(one.ack)])
    return np.maximum.accumulate(one.end) - reached[known]


@rule(
    "cap",
    "draft-ietf-ccwg-ratelimited-increase s.3, rule 2: cwnd is at most limit(maxFS) if FlightSize < cwnd",
)
def grows_to_cap(trace: Trace) -> Iterator[Breach]:
    """A window grows to no more than a round trip would make of the most data that was in flight."""
    import numpy as np

    loads = [load.get("transport", {}) for load in trace.experiment["traffic"].values()]
    if all(one.get("growth_cap", "none") == "none" for one in loads):
        return
    for one, cc in judged(trace, "cap", RENO | {"cubic", "xdctcp", "d2tcp", "prague", "aimd"}):
        if one.settings.get("growth_cap", "none") == "none" or resumes(one.settings):
            continue
        most = np.concatenate([[0], np.maximum.accumulate(_outstanding(one))])
        for row in range(1, len(one.cwnd)):
            old, new, at = one.cwnd[row - 1], one.cwnd[row], int(one.row_at[row])
            # A reduction begins maxFS anew. Data that wait in the host's port are in no table yet.
            if at >= one.until or new < old or not len(one.sent_at) or at > one.sent_at[-1]:
                break
            flight = most[np.searchsorted(one.sent_at, at, side="left")]
            if cc["kind"] == "aimd":
                limit = flight + cc["alpha"] * one.mss
            elif old < one.ssthresh[row - 1]:
                limit = 2 * flight
            else:
                # RFC 9438 s.4.4: a target is at most 1.5 windows.
                limit = flight + (max(0.5 * flight, one.mss) if cc["kind"] == "cubic" else one.mss)
            if new > old and new > limit + 3:  # A FIN counts in the flight, and not in the traces' data.
                text = f"flow {one.number} has a window of {new:.0f} bytes after {old:.0f}"
                yield Breach(f"{text}, and {limit:.0f} are the most", at, one.place)
                break


@rule(
    "resume", "RFC 9959 s.3.2, s.3.3 and s.3.5: one jump to half of the saved window, and a retreat from it"
)
def resumes_with_care(trace: Trace) -> Iterator[Breach]:
    """A window jumps once, to its due, over a confirmed path, and congestion leaves half of PipeSize."""
    import numpy as np

    loads = [load.get("transport", {}) for load in trace.experiment["traffic"].values()]
    if not any(resumes(one) for one in loads):
        return
    for one, _ in judged(trace, "resume", RENO | {"cubic"}):
        if not resumes(one.settings):
            continue
        if one.settings["ack_every"] != 1 or not len(one.cwnd) or not len(one.ack):
            trace.skip("resume", "an acknowledgement counts several segments")
            continue
        reached = np.maximum.accumulate(one.ack)
        rises = [row for row in range(1, len(one.cwnd)) if _jumps(one, row)]
        for breach in _jump(one, rises, reached):
            yield breach
            break


def _bytes(one: Connection, key: str) -> float:
    found = level(str(one.settings[key]))
    return float("inf") if found is None else float(found[0] * (one.mss if found[1] else 1))


def _jumps(one: Connection, row: int) -> bool:
    """Whether the window rises by more than all that is acknowledged could add."""
    import numpy as np

    low, high = np.searchsorted(one.ack_at, one.row_at[[row - 1, row]], side="right")
    # An acknowledgement may add L segments (RFC 3465 s.2.3), and byte counting a segment at a time.
    most = max(one.settings["slow_start_limit"], 8.0) * one.mss  # 8: RFC 9406 s.4.3
    gained = float(np.minimum(one.gained[low:high], most).sum()) + one.mss
    return bool(one.cwnd[row] - one.cwnd[row - 1] > gained + 1)


def _jump(one: Connection, rises: list[int], reached: np.ndarray) -> Iterator[Breach]:
    import numpy as np

    if not rises:
        return
    at, due = int(one.row_at[rises[0]]), min(_bytes(one, "saved_cwnd") // 2, _bytes(one, "max_jump"))
    due = min(due, _bytes(one, "cwnd_max"))
    name = f"flow {one.number}"
    if len(rises) > 1:
        yield Breach(f"{name} jumps {len(rises)} times", int(one.row_at[rises[1]]), one.place)
    if abs(one.cwnd[rises[0]] - due) > 1:
        text = f"{name} jumps to {one.cwnd[rises[0]]:.0f} bytes, and {due:.0f} are due"
        yield Breach(text, at, one.place)
    known = int(np.searchsorted(one.ack_at, at, side="right"))
    initial = int(one.end[one.sent_at < one.ack_at[0]].max(initial=0))
    if not known or reached[known - 1] < initial or at > one.until:
        yield Breach(f"{name} jumps before its initial data is acknowledged", at, one.place)
        return
    asked = np.searchsorted(np.maximum.accumulate(one.end), one.ack[:known], side="left")
    trips = one.ack_at[:known] - one.sent_at[np.minimum(asked, len(one.sent_at) - 1)]
    least = int(trips.min())
    saved = picoseconds(one.settings["saved_rtt"])
    if 2 * least <= saved or least > 10 * saved:
        yield Breach(f"{name} jumps with a least round trip of {least} ps", at, one.place)
    yield from _retreat(one, (at, int(trips[-1]), due), known, reached)


def _retreat(
    one: Connection, jump: tuple[int, int, float], known: int, reached: np.ndarray
) -> Iterator[Breach]:
    """The first congestion after a jump that is filled, unless all its packets are acknowledged by then."""
    import numpy as np

    at, trip, due = jump
    outstanding = _outstanding(one)
    first = int(one.end[one.sent_at < at].max(initial=0))
    full = one.sent_at[(one.sent_at >= at) & (outstanding + one.mss > due)]
    news = one.ack_at[reached > first]
    over = int(full[0]) if len(full) else at + trip + 1
    # RFC 9959 s.3.3: an acknowledgement or a round trip ends the jump of a sender that does not fill it.
    if over > min([at + trip, *news[:1].tolist()]):
        return
    last = int(one.end[one.sent_at <= over].max(initial=0))
    marks = one.ack_at[(one.ack_at > at) & one.echo]
    sign = min([one.until, *marks[:1].tolist()])
    falls = (one.cwnd[1:] < one.cwnd[:-1]) & (one.ssthresh[1:] != one.ssthresh[:-1])
    rows = np.flatnonzero(falls & (one.row_at[1:] >= sign)) + 1
    if not len(rows):
        return
    row = int(rows[0])
    till = int(np.searchsorted(one.ack_at, one.row_at[row], side="right"))
    if not till or reached[till - 1] >= last:
        return
    # PipeSize: the flight at the jump, and all that is delivered since. An acknowledgement that does not
    # move on reports a segment at most.
    flight = int(outstanding[one.sent_at <= at][-1:].max(initial=0))
    if due - one.mss <= flight + int(reached[one.ack_at <= over].max(initial=0) - reached[known - 1]):
        return  # No more is in flight than PipeSize.
    moved = int(reached[till - 1] - reached[known - 1])
    still = int(((one.gained == 0) | (one.held > 0))[known:till].sum()) * one.mss
    most = max((flight + moved + still) / 2, one.mss)
    if one.cwnd[row] > most + 1:
        text = f"flow {one.number} retreats to {one.cwnd[row]:.0f} bytes, and {most:.0f} are the most"
        yield Breach(text, int(one.row_at[row]), one.place)
