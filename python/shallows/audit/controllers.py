"""Rules of disciplines that draw: RED, PIE, PI2 and DualPI2.

Their state is computed again from arrivals and departures. Marks and drops of random draws are summed, less
their probabilities. The sum stays within a bound that one right run in a million exceeds (`slack`). A
probability of 0 or 1 is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from shallows.audit.quantities import level, picoseconds
from shallows.audit.rule import Breach, rule, slack, times
from shallows.audit.rules import followed, marks_of, queue_found

if TYPE_CHECKING:
    import numpy as np

    from shallows.audit.trace import Trace


class _Arrivals(NamedTuple):
    """All packets that came to a port and were not refused by its limit, in order."""

    at: np.ndarray
    hit: np.ndarray
    """Marked or dropped by the discipline."""
    before: np.ndarray
    """ECN codepoint as they came."""
    size: np.ndarray
    ahead: np.ndarray
    """Accepted packets that came before."""
    dropped: np.ndarray


def _ports(trace: Trace, name: str, kind: str) -> Iterator[tuple[str, Any, Any]]:
    present = {trace.discipline(port, True)["kind"] for port in trace.switched}
    if kind not in present:
        return
    if trace.faults("mark", "mark_every"):
        return trace.skip(name, "wires mark packets")
    for port, rows in followed(trace, name):
        settings = trace.discipline(port, True)
        if settings["kind"] == kind and len(rows) > 1:
            yield port, rows, settings


def _arrivals(trace: Trace, port: str, rows: Any) -> _Arrivals:
    import numpy as np
    import polars as pl

    lost = trace.losses.filter((pl.col("port") == port) & (pl.col("cause") == "drops_aqm"))
    came, drops = (frame[key].to_numpy().astype("i8") for frame, key in ((rows, "came"), (lost, "time_ps")))
    sizes = [frame["size"].to_numpy().astype("i8") for frame in (rows, lost)]
    marked, _ = marks_of(rows)
    at = np.concatenate([came, drops])
    # The last packets that were accepted are held at the end and have no row.
    order = np.argsort(at, kind="stable")
    order = order[at[order] <= came[-1]]
    before = np.concatenate([rows["ecn_before"].to_numpy(), lost["ecn"].to_numpy()])
    dropped = np.concatenate([np.zeros(len(came), bool), np.ones(len(drops), bool)])
    hit = np.concatenate([marked, np.ones(len(drops), bool)])
    ahead = np.cumsum(~dropped[order]) - ~dropped[order]
    return _Arrivals(
        at[order], hit[order], before[order], np.concatenate(sizes)[order], ahead, dropped[order]
    )


def _judged(port: str, seen: _Arrivals, chance: np.ndarray, known: np.ndarray) -> Iterator[Breach]:
    """The hits that `chance` foresees: none at 0, all at 1, and in between within the bound of their sum."""
    import numpy as np

    for wrong, text in (
        (seen.hit & (chance <= 0), "is marked or dropped at a probability of 0"),
        (~seen.hit & (chance >= 1) & known, "is neither marked nor dropped at a probability of 1"),
    ):
        places = np.flatnonzero(wrong)
        if len(places):
            at = int(seen.at[places[0]])
            yield Breach(f"a packet {text}", at, port, len(places))
    part = np.where(known, chance, 0.0)
    spare = float((seen.hit & known).sum() - part.sum())
    bound = slack(float((part * (1 - part)).sum()))
    if abs(spare) > bound:
        hits = f"{int((seen.hit & known).sum())} packets are marked or dropped"
        text = f"{hits}, and {part.sum():.1f} +- {bound:.1f} are due"
        yield Breach(text, int(seen.at[-1]), port)


@rule("red-average", "Floyd and Jacobson 1993 fig. 2: the average at each arrival, and its probability")
def red_follows_its_average(trace: Trace) -> Iterator[Breach]:
    """RED marks nothing while its average is below min_th, and everything from the end of its ramp on."""
    import numpy as np

    for port, rows, settings in _ports(trace, "red-average", "red"):
        low, high = level(settings["min"]), level(settings["max"])
        if low is None or high is None or not low[0] or not high[0] or low[1] != high[1]:
            trace.skip("red-average", "min_th follows from the rate")
            continue
        if settings["by_size"] or _lost_otherwise(trace, port):
            trace.skip(
                "red-average", "the probability depends on sizes, or packets are lost for other causes"
            )
            continue
        seen = _arrivals(trace, port, rows)
        queue = queue_found(rows, seen.at, seen.ahead, seen.size, settings, False)
        length = (queue.packets if low[1] else queue.bytes).astype(float)
        time, _, _ = times(rows)
        step = (level(settings["mean_packet"]) or (0, False))[0] * 8 * 10**12 / int(rows["rate_bps"][0])
        gone = np.where(seen.ahead > 0, time[np.maximum(seen.ahead, 1) - 1], 0)
        empty = (queue.packets == 0) & (gone <= seen.at)
        # An arrival that was dropped has had its share of an idle time.
        idle = (seen.at - np.maximum(gone, np.concatenate([[0], seen.at[:-1]]))) / step
        average, weight = 0.0, settings["w_q"]
        averages = np.empty(len(length))
        for place in range(len(length)):
            if empty[place]:
                average *= (1 - weight) ** max(idle[place], 0.0)
            else:
                average += weight * (length[place] - average)
            averages[place] = average
        # Ends of idle times and orders at an instant leave a packet's part of doubt.
        unit = 1 if low[1] else (level(settings["mean_packet"]) or (0, False))[0]
        doubt = weight * unit + 1e-9
        end = (2 if settings["gentle"] else 1) * high[0]
        able = (seen.before == 1) | (seen.before == 2) | seen.dropped
        for wrong, text in (
            (seen.hit & (averages < low[0] - doubt), "is marked or dropped, and the average is {:.3f}"),
            (able & ~seen.hit & (averages > end + doubt), "is passed, and the average is {:.3f}"),
        ):
            places = np.flatnonzero(wrong)
            if len(places):
                at = int(places[0])
                yield Breach("a packet " + text.format(averages[at]), int(seen.at[at]), port, len(places))


def _lost_otherwise(trace: Trace, port: str) -> bool:
    import polars as pl

    lost = trace.losses.filter((pl.col("port") == port) & (pl.col("cause") != "drops_aqm"))
    return len(lost) > 0


def _pi(settings: Any, delays: np.ndarray, most: float) -> np.ndarray:
    """RFC 9332 s.A.1 fig. 6: p' after each update, with the delay in seconds that it saw."""
    import numpy as np

    alpha, beta, target = settings["alpha"], settings["beta"], picoseconds(settings["target"]) / 1e12
    p = last = 0.0
    found = np.empty(len(delays) + 1)
    found[0] = 0.0
    for number, delay in enumerate(delays, 1):
        p = min(max(p + (alpha * (delay - target) + beta * (delay - last)), 0.0), most)
        last = delay
        found[number] = p
    return found


def _scalable(before: np.ndarray, settings: Any) -> np.ndarray:
    """RFC 9331 s.5.1: ECT(1) and CE are classified as low latency."""
    return before > 0 if settings["classify"] == "any_ect" else (before == 1) | (before == 3)


@rule("pi2", "De Schepper 2016 s.4: p' by a linear PI controller; classic p'^2, scalable k p'")
def pi2_couples(trace: Trace) -> Iterator[Breach]:
    """PI2 marks scalable packets with k p', and marks or drops classic ones with its square."""
    import numpy as np

    for port, rows, settings in _ports(trace, "pi2", "pi2"):
        time, came, _ = times(rows)
        every = picoseconds(settings["interval"])
        ticks = np.arange(every, int(came[-1]) + 1, every)
        ahead = np.searchsorted(came, ticks, side="left")
        free = np.where(ahead > 0, time[np.maximum(ahead, 1) - 1], 0)
        p = _pi(settings, np.maximum(free - ticks, 0) / 1e12, settings["max_classic"] ** 0.5)
        seen = _arrivals(trace, port, rows)
        now = p[np.searchsorted(ticks, seen.at, side="right")]
        chance = np.where(_scalable(seen.before, settings), np.minimum(settings["k"] * now, 1), now * now)
        yield from _judged(port, seen, chance, seen.before != 3)


@rule("pie", "RFC 8033 s.4, s.5.1, s.5.5 and appendix A: drop_early and calculate_drop_prob")
def pie_follows_its_delay(trace: Trace) -> Iterator[Breach]:
    """PIE marks or drops with the probability that its packets' waits give, after its burst allowance."""
    import numpy as np

    for port, rows, settings in _ports(trace, "pie", "pie"):
        odd = settings["derandomise"] or settings["active_from"] != "none"
        if odd or settings["latency"] != "timestamps":
            trace.skip("pie", "an option of RFC 8033 s.5 is on, or the delay follows from the departure rate")
            continue
        seen = _arrivals(trace, port, rows)
        chance = _pie(settings, seen, *times(rows), rows["size"].to_numpy().astype("i8"))
        p, early = chance
        # RFC 8033 s.5.1: from mark_ecnth on ECN-capable packets are dropped like all others.
        marked = np.flatnonzero(seen.hit & ~seen.dropped & (p >= settings["mark_ecnth"]))
        if len(marked):
            text = f"a packet is marked at a probability of {p[marked[0]]:.3f}"
            yield Breach(text, int(seen.at[marked[0]]), port, len(marked))
        yield from _judged(port, seen, early, seen.before != 3)


def _pie(
    settings: Any, seen: _Arrivals, time: np.ndarray, came: np.ndarray, takes: np.ndarray, sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """At each arrival drop_prob, and with what probability drop_early says yes."""
    import numpy as np

    alpha, beta = settings["alpha"], settings["beta"]
    target, every = picoseconds(settings["target"]) / 1e12, picoseconds(settings["interval"])
    allowance, mean = picoseconds(settings["max_burst"]), (level(settings["mean_packet"]) or (0, False))[0]
    begins, total = time - takes, np.concatenate([[0], np.cumsum(sizes)])
    p = delay = last = 0.0
    burst, tick, sent = allowance, every, 0
    rates, early = np.zeros(len(seen.at)), np.zeros(len(seen.at))

    def advance(now: int) -> None:
        nonlocal p, delay, last, burst, tick, sent
        while True:
            leaves = int(begins[sent]) if sent < len(begins) else now + 1
            if tick <= min(leaves, now):
                step = alpha * (delay - target) + beta * (delay - last)
                scale = next((s for b, s in _SCALES if p < b), 1.0)
                step /= scale
                if settings["cap_adjustment"] and p >= 0.1:
                    step = min(step, 0.02)
                p += step
                if delay == 0.0 and last == 0.0:
                    p *= 0.98
                p, last = min(max(p, 0.0), 1.0), delay
                burst, tick = max(burst - every, 0), tick + every
            elif leaves < now:
                waiting = int(np.searchsorted(came, leaves, side="right")) - sent - 1
                delay = (leaves - int(came[sent])) / 1e12 if waiting > 0 else 0.0
                sent += 1
            else:
                return

    for place, now in enumerate(seen.at.tolist()):
        advance(now)
        if p == 0.0 and delay < target / 2 and last < target / 2:
            burst = allowance
        ahead = int(seen.ahead[place])
        held = int(total[ahead] - total[min(sent, ahead)])
        safe = (last < target / 2 and p < 0.2) or held <= 2 * mean
        rates[place] = p
        early[place] = p if not burst and not safe else 0.0
    return rates, early


_SCALES = ((1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0))
"""RFC 8033 appendix A: a probability below the first changes by the step over the second."""


@rule(
    "dualpi2",
    "RFC 9332 s.A.1, figs. 4 to 8: p' by the longer wait; p_CL = k p', p_C = p'^2, p_L = max(p'_L, p_CL)",
)
def dualpi2_couples(trace: Trace) -> Iterator[Breach]:
    """DualPI2 marks its low-latency queue with k p' or by its threshold, the classic one with p'^2."""
    import numpy as np

    for port, rows, settings in _ports(trace, "dualpi2", "dualpi2"):
        lost = _lost_otherwise(trace, port) or len(trace.losses.filter(trace.losses["port"] == port))
        if lost or (level(settings["min_backlog"]) or (0, False))[0]:
            trace.skip("dualpi2", "packets are lost there, or few bytes are exempt")
            continue
        time, came, takes = times(rows)
        begin, low = time - takes, _scalable(rows["ecn_before"].to_numpy(), settings)
        every = picoseconds(settings["interval"])
        ticks = np.arange(every, int(begin[-1]) + 1, every)
        waits = np.zeros(len(ticks))
        for own in (low, ~low):
            starts, comes = begin[own], came[own]
            head = np.searchsorted(starts, ticks, side="left")
            there = head < len(comes)
            since = comes[np.minimum(head, len(comes) - 1)] if len(comes) else ticks
            waits = np.maximum(waits, np.where(there & (since < ticks), ticks - since, 0))
        k = settings["k"]
        p = _pi(settings, waits / 1e12, 1.0 if settings["overload"] == "drop" else min(1 / k, 1.0))
        base = p[np.searchsorted(ticks, begin, side="right")]
        if (k * base >= 1).any() and settings["overload"] == "drop":
            trace.skip("dualpi2", "the coupled probability reaches 1")
            continue
        marked, _ = marks_of(rows)
        # A hit on a packet that cannot be marked drops it, and there are no losses.
        able = rows["ecn_before"].to_numpy() != 3
        for own, name in ((low, "low-latency"), (~low, "classic")):
            if own.any():
                chance = base[own] ** 2
                if name == "low-latency":
                    behind = np.searchsorted(came[own], begin[own], side="right") - np.arange(own.sum())
                    chance = np.minimum(
                        np.maximum(k * base[own], _native(settings, (begin - came)[own], behind)), 1.0
                    )
                yield from _drawn(trace, port, settings, (begin[own], marked[own], able[own], chance), name)


def _native(settings: Any, waited: np.ndarray, length: np.ndarray) -> np.ndarray:
    """RFC 9332 fig. 5: the low-latency queue's own probability."""
    import numpy as np

    if settings["threshold_packets"] != "none":
        found = (length - 1 > settings["threshold_packets"]).astype(float)
    else:
        begins, ramp = picoseconds(settings["threshold"]), picoseconds(settings["ramp"])
        found = np.clip((waited - begins) / ramp, 0, 1) if ramp else (waited >= begins).astype(float)
    return np.where(length <= settings["min_length"], 0.0, found)


def _drawn(trace: Trace, port: str, settings: Any, rows: Any, name: str) -> Iterator[Breach]:
    import numpy as np

    at, marked, able, chance = rows
    if settings["draw"] == "even":
        # RFC 9332 fig. 4, recur: a likelihood is added, and beyond 1 a packet is marked. So marks are the
        # whole part of the sum; a rounded last bit moves one by a packet.
        if not able.all():
            trace.skip("dualpi2", "packets come marked, which the sum counts and no row shows")
            return
        wrong = np.abs(np.cumsum(marked) - np.cumsum(chance)) > 1 + 1e-6
        places = np.flatnonzero(wrong)
        if len(places):
            first = int(places[0])
            counts = f"{int(np.cumsum(marked)[first])} packets of the {name} queue are marked"
            text = f"{counts}, and {np.cumsum(chance)[first]:.2f} are due"
            yield Breach(text, int(at[first]), port, len(places))
        return
    seen = _Arrivals(at, marked, np.where(able, 1, 3), at, at, np.zeros(len(at), bool))
    yield from _judged(port, seen, chance, able)
