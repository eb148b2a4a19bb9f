"""Rules of senders by rates: DCQCN and TIMELY, whose rate is computed again at each event that may change it.

Events are the sender's own packets, acknowledgements of new data, and notifications. A card works off its
timers at these. A sender is judged until its first sign of a loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import inf, nan
from typing import TYPE_CHECKING, Any, NamedTuple

from shallows.audit.quantities import level, picoseconds, rate
from shallows.audit.rule import TCP, Breach, rule

if TYPE_CHECKING:
    import numpy as np

    from shallows.audit.trace import Trace

ACKNOWLEDGEMENT, NOTIFICATION = 17, 129
"""Opcodes of InfiniBand s.9.2.1 (RC acknowledge) and of RoCEv2's annex A17.9.3 (CNP)."""


class Event(NamedTuple):
    """An event at which a sender may change its rate."""

    at: int
    sent: int
    """Bytes of the stream that it has sent so far."""
    gained: int
    """Bytes that an acknowledgement is the first to acknowledge; 0 for other events."""
    trip: int
    """Round trip of the packet that is acknowledged."""
    acknowledged: int
    marked: bool
    """An acknowledgement echoes a mark, or the event is a notification."""


class Sender(NamedTuple):
    """A connection as its sender sees it."""

    number: int
    place: str
    settings: Mapping[str, Any]
    queue_pair: bool
    line: int
    """Rate of the host's link."""
    events: list[Event]
    row_at: np.ndarray
    rate: np.ndarray
    alpha: np.ndarray
    cwnd: np.ndarray
    smoothed: np.ndarray
    """The smoothed round trip in ps."""
    until: int
    """Time of the first sign of a loss."""


def senders(trace: Trace, name: str, kind: str) -> Iterator[Sender]:
    """Senders with the control `kind`."""
    import polars as pl

    own = {
        load: about["transport"]
        for load, about in trace.experiment["traffic"].items()
        if about.get("transport", {}).get("cc", {}).get("kind") == kind
    }
    if not own:
        return
    if trace.warmup or trace.changes or trace.experiment["probe"]["classes"] != "*":
        return trace.skip(name, "tables begin at warmup, wires disturb packets, or classes are left out")
    hops = trace.hops.filter(pl.col("traffic").is_in(list(own)) & (pl.col("trimmed") == 0))
    sent = hops.filter((pl.col("reverse") == 0) & (pl.col("from") == pl.col("src")) & (pl.col("payload") > 0))
    back = (pl.col("reverse") == 1) & (pl.col("to") == pl.col("src")) & (pl.col("lost") == 0)
    # RFC 9293 s.3.1: the flag SYN has the value 2.
    answers = hops.filter(back & pl.col("landed_ps").is_not_null() & (pl.col("tcp_flags") & 2 == 0))
    by_answers = answers.sort("landed_ps").partition_by("flow", as_dict=True)
    by_rows = trace.tables["flow_trace"].partition_by("flow", as_dict=True)
    for key, data in sent.sort("stamp_ps", "seq").partition_by("flow", as_dict=True).items():
        if key not in by_rows:
            continue
        settings = own[data["traffic"][0]]
        if not _usual(settings):
            trace.skip(name, "receivers ask for data, repair is by selective answers, or clocks are coarse")
            continue
        events, until = _events(data, by_answers.get(key, answers.clear()), trace.duration + 1)
        rows = by_rows[key]
        pace, alpha, cwnd, smoothed = (
            rows[name].fill_null(float("nan")).to_numpy()
            for name in ("pacing_bps", "alpha", "cwnd_bytes", "srtt_ps")
        )
        yield Sender(
            int(key[0]), str(data["src"][0]), settings, settings["profile"] == "roce",
            int(data["rate_bps"][0]), events, rows["time_ps"].to_numpy().astype("i8"), pace,
            alpha, cwnd, smoothed, until,
        )  # fmt: skip


def _usual(settings: Mapping[str, Any]) -> bool:
    """Round trips and marks are those of each acknowledgement."""
    if settings["profile"] == "roce":
        return settings["verb"] != "read" and settings["repair"] == "go-back-n"
    usual = {"rtt_by": "timestamps", "clock_grain": "0s", "opening": "handshake", "arithmetic": "exact"}
    return settings["profile"] in TCP and all(settings[key] == value for key, value in usual.items())


def _events(data: Any, answers: Any, never: int) -> tuple[list[Event], int]:
    """Events in their order, and the time of the first sign of a loss."""
    import numpy as np

    at, seq = (data[key].to_numpy().astype("i8") for key in ("stamp_ps", "seq"))
    reached = np.maximum.accumulate(np.concatenate([[0], seq + data["payload"].to_numpy().astype("i8")]))
    again = at[seq < reached[:-1]]
    landed, ack = (answers[key].to_numpy().astype("i8") for key in ("landed_ps", "seq"))
    opcode = answers["opcode"].fill_null(ACKNOWLEDGEMENT).to_numpy()
    is_ack, noted = opcode == ACKNOWLEDGEMENT, opcode == NOTIFICATION
    base = np.maximum.accumulate(np.concatenate([[0], np.where(is_ack, ack, 0)]))
    gained = np.diff(base)
    stamp = answers["stamp_ps"].to_numpy().astype("i8")
    echo = (answers["tcp_flags"].to_numpy() & 0x40) != 0
    held = (answers["held"].to_numpy() > 0) & is_ack
    odd = landed[held | (answers["nak"].fill_null(0).to_numpy() == 1) | (is_ack & (gained == 0))]
    sent = reached[np.searchsorted(at, landed, side="left")]
    came = [
        Event(int(landed[i]), int(sent[i]), int(gained[i]), int(landed[i] - stamp[i]), int(ack[i]),
              bool(noted[i] | echo[i]))
        for i in range(len(landed)) if noted[i] or gained[i] > 0
    ]  # fmt: skip
    left = [Event(t, s, 0, 0, 0, False) for t, s in zip(at.tolist(), reached[:-1].tolist(), strict=True)]
    # An answer that lets a packet out comes before it.
    events = sorted([*came, *left], key=lambda event: event.at)
    return events, int(min([*again[:1], *odd[:1], never]))


def _held(
    one: Sender, first: float, law: Callable[[Event, float], tuple[float, float]], spare: float
) -> Iterator[Breach]:
    """The recorded rate is that which `law` gives after each event.

    `law` takes an event and the rate recorded at its time, and gives the rate and alpha. `spare` is a share
    of the rate by which rounding may differ.
    """
    at, recorded, last = one.row_at, one.rate, len(one.row_at)
    if not last or abs(recorded[0] - first) > 1 + spare * first:
        begins = recorded[0] if last else 0
        text = f"flow {one.number} begins at {begins:.0f} b/s, and {first:.0f} are due"
        yield Breach(text, int(at[0]) if last else 0, one.place)
        return
    row, place, wanted, alpha = 0, 0, first, float("nan")
    while place < len(one.events) and one.events[place].at < one.until:
        now, ways = one.events[place].at, [wanted]
        beyond = row
        while beyond + 1 < last and at[beyond + 1] <= now:
            beyond += 1
        while place < len(one.events) and one.events[place].at == now:
            wanted, alpha = law(one.events[place], float(recorded[beyond]))
            ways.append(wanted)
            place += 1
        for later in range(row + 1, beyond + 1):
            near = any(abs(recorded[later] - way) <= 1 + spare * way for way in ways)
            if at[later] != now or not near or (later == beyond and _apart(recorded[later], wanted, spare)):
                text = f"flow {one.number} goes to {recorded[later]:.0f} b/s, and {wanted:.0f} are due"
                yield Breach(text, int(at[later]), one.place)
                return
        if beyond == row and _apart(recorded[row], wanted, spare):
            text = f"flow {one.number} stays at {recorded[row]:.0f} b/s, and {wanted:.0f} are due"
            yield Breach(text, now, one.place)
            return
        if beyond > row and abs(one.alpha[beyond] - alpha) > 1e-9:
            text = f"flow {one.number} has alpha {one.alpha[beyond]:.6f}, and {alpha:.6f} is due"
            yield Breach(text, now, one.place)
            return
        row = beyond


def _apart(recorded: float, wanted: float, spare: float) -> bool:
    return abs(recorded - wanted) > 1 + spare * wanted


class _Card:
    """A reaction point of DCQCN: Zhu 2015 s.3.1, eqs. (1) to (4), or as network cards are delivered."""

    def __init__(self, cc: Mapping[str, Any], line: int) -> None:
        self.card = cc["parameters"] == "vendor"
        scale = line / 25e9  # The vendor's steps are those of a card of 25 Gb/s.

        def time(key: str, paper: int, card: int) -> int:
            return (card if self.card else paper) * 10**6 if cc[key] == "none" else picoseconds(cc[key])

        def step(key: str, paper: float, card: float) -> float:
            return (card * scale if self.card else paper) if cc[key] == "none" else float(rate(cc[key]))

        self.g, self.line, self.least = cc["g"], float(line), float(min(rate(cc["min_rate"]), line))
        self.fade = time("alpha_period", 55, 1)
        self.apart = time("cut_interval", 50, 4)
        self.pause = time("increase_period", 55, 300)
        self.bytes = (
            (inf if self.card else 10**7)
            if cc["increase_bytes"] == "none"
            else (level(cc["increase_bytes"]) or (0, False))[0]
        )
        rounds = cc["recovery_rounds"]
        self.rounds = (1 if self.card else 5) if rounds == "none" else int(rounds)
        self.steps = step("additive", 40e6, 5e6), step("hyper", 200e6, 50e6)
        self.clamp = not self.card if cc["clamp"] == "none" else cc["clamp"]
        first = self.line if cc["initial_rate"] == "none" else float(rate(cc["initial_rate"]))
        self.rate = self.target = min(max(first, self.least), self.line)
        self.alpha, self.limited, self.noted, self.waiting = 1.0, False, False, False
        self.fades = self.rises = self.looks = inf
        self.next_byte = inf
        self.by_time = self.by_bytes = 0

    def advance(self, now: int, sent: int) -> None:
        """Works off the timers, then the counter of bytes."""
        while True:
            looks = self.looks if self.waiting else inf
            next_one = min(self.fades, looks, self.rises)
            if next_one > now:
                break
            if next_one == self.fades:
                self.alpha *= 1 - self.g
                if self.card and self.noted:
                    self.alpha, self.noted = self.alpha + self.g, False
                self.fades += self.fade
            elif next_one == looks:
                self.cut(looks, sent)
            else:
                self.rises += self.pause
                self.by_time += 1
                self.rise()
        while sent >= self.next_byte:
            self.next_byte += self.bytes
            self.by_bytes += 1
            self.rise()

    def cut(self, at: float, sent: int) -> None:
        """Eq. (1): the target is the present rate, which alpha / 2 lowers. Counters and timers begin anew."""
        if self.clamp or self.by_time:
            self.target = self.rate
        self.rate = max(self.rate * (1 - self.alpha / 2), self.least)
        if self.card:
            self.looks, self.waiting = at + self.apart, False
        else:
            self.alpha = (1 - self.g) * self.alpha + self.g
            self.fades = at + self.fade
        self.by_time = self.by_bytes = 0
        self.rises, self.next_byte = at + self.pause, sent + self.bytes

    def rise(self) -> None:
        """Eqs. (3) and (4): half of the way to the target, which grows after the rounds of fast recovery."""
        additive, hyper = self.steps
        both = self.by_time if self.bytes == inf else min(self.by_time, self.by_bytes)
        beyond = both - self.rounds
        if max(self.by_time, self.by_bytes) > self.rounds:
            if self.card:
                self.target += hyper if beyond > 1 else additive
            else:
                self.target += beyond * hyper if beyond > 0 else additive
        self.target = min(self.target, self.line)
        self.rate = min((self.rate + self.target) / 2, self.line)

    def notify(self, now: int, sent: int) -> None:
        """A notification: the paper's rule cuts at once, a card looks each `cut_interval` by its clock."""
        if not self.card:
            self.limited = True
            return self.cut(now, sent)
        if not self.limited:
            self.limited, self.waiting = True, True
            self.fades, self.looks = now + self.fade, now + self.apart
            self.rises, self.next_byte = now + self.pause, sent + self.bytes
            return None
        self.noted = True
        if not self.waiting:
            self.looks += -(-max(now - self.looks, 0) // self.apart) * self.apart
            self.waiting = True
        return None


class _Notified:
    """The law of DCQCN at an event."""

    def __init__(self, one: Sender) -> None:
        self.card, self.pair, self.cut_at = _Card(one.settings["cc"], one.line), one.queue_pair, -inf

    def __call__(self, event: Event, _: float) -> tuple[float, float]:
        card = self.card
        if event.gained or self.pair:
            card.advance(event.at, event.sent)
        # Over TCP the sender spaces the cuts of the paper's rule, as a receiver's card spaces notifications.
        spaced = self.pair or card.card or event.at >= self.cut_at
        if event.marked and spaced:
            self.cut_at = event.at + card.apart
            card.notify(event.at, event.sent)
        return card.rate, card.alpha


@rule(
    "dcqcn", "Zhu 2015 s.3.1 eqs. (1) to (4): cut by alpha / 2, decay of alpha, recovery, additive and hyper"
)
def follows_notifications(trace: Trace) -> Iterator[Breach]:
    """DCQCN's rate and alpha, computed again from notifications, timers and bytes, are the recorded ones."""
    for one in senders(trace, "dcqcn", "dcqcn"):
        law = _Notified(one)
        yield from _held(one, law.card.rate, law, 1e-9)


class _Gradient:
    """TIMELY's law of a sample: Mittal 2015 algorithm 1, or the patched one of Zhu 2016."""

    def __init__(self, cc: Mapping[str, Any], line: int) -> None:
        def time(key: str) -> float:
            return picoseconds(cc[key]) / 1e12

        self.low, self.high, self.base = time("t_low"), time("t_high"), time("min_rtt")
        self.weight, self.step, self.hai = cc["weight"], float(rate(cc["delta"])), int(cc["hai"])
        self.patched, self.most_cut = cc["law"] == "patched", cc["max_cut"]
        self.beta = cc["beta"] if cc["beta"] != "none" else 0.008 if self.patched else 0.8
        self.line, self.least = float(line), float(min(rate(cc["min_rate"]), line))
        first = self.line if cc["initial_rate"] == "none" else float(rate(cc["initial_rate"]))
        self.rate = self.bounded(first)
        self.last: float | None = None
        self.difference, self.calm = 0.0, 0

    def bounded(self, bps: float) -> float:
        """Between the least rate and the card's."""
        return min(max(bps, self.least), self.line)

    def sample(self, trip: float) -> tuple[float, bool]:
        """The rate after a sample, and whether rounding may have decided about it."""
        new = 0.0 if self.last is None else trip - self.last
        self.last = trip
        self.difference = (1 - self.weight) * self.difference + self.weight * new
        gradient, calm = self.difference / self.base, self.calm
        self.calm = 0
        close = min(abs(trip / self.low - 1), abs(trip / self.high - 1)) < 1e-6
        if trip < self.low:
            wanted = self.rate + self.step
        elif trip > self.high:
            wanted = self.rate * (1 - self.beta * (1 - self.high / trip))
        elif self.patched:
            # Zhu 2016 eqs. (28) to (30): a weight for the gradient, and an error for the round trip.
            share = min(max(2 * gradient + 0.5, 0.0), 1.0)
            error = (trip - self.low) / self.low
            wanted = self.step * (1 - share) + self.rate * (1 - self.beta * share * error)
        elif gradient <= 0:
            self.calm = calm + 1
            wanted = self.rate + self.step * (self.hai if self.calm >= self.hai else 1)
        else:
            wanted = self.rate * (1 - self.beta * gradient)
        close |= not self.patched and self.low <= trip <= self.high and abs(gradient) < 1e-9 and gradient != 0
        self.rate = self.bounded(max(wanted, self.rate * (1 - self.most_cut)))
        return self.rate, close


SAMPLE = 1e-6
"""Share of a rate by which constants in single precision may move a sample's result."""


class _Sampled:
    """The law of TIMELY at an event."""

    def __init__(self, one: Sender) -> None:
        cc = one.settings["cc"]
        self.gradient, self.by_windows = _Gradient(cc, one.line), cc["samples"] == "window"
        mss = (level(str(one.settings.get("mss", one.settings.get("mtu")))) or (0, False))[0]
        self.segment = (level(cc["segment"]) or (0, False))[0]
        # Mittal 2015 s.4.1: a round trip leaves out the time in which the card sends the segment.
        self.burst = int(one.settings.get("burst", 1)) * mss * 8 / one.line
        self.acked, self.round_end, self.begun = 0, 0, False

    def __call__(self, event: Event, recorded: float) -> tuple[float, float]:
        gradient = self.gradient
        if not event.gained:
            return gradient.rate, nan
        ends = event.acknowledged > self.round_end
        if ends:
            self.round_end = event.sent
        self.acked += event.gained
        if ends if self.by_windows else self.acked >= self.segment:
            self.acked, trip = 0, max(event.trip / 1e12 - self.burst, 0.0)
            if self.by_windows and not self.begun:
                self.begun, gradient.last = True, trip
                return gradient.rate, nan
            wanted, close = gradient.sample(trip)
            # Rounding does not grow with the number of samples.
            if close or abs(recorded - wanted) <= 1 + SAMPLE * wanted:
                gradient.rate = recorded
        return gradient.rate, nan


@rule("timely", "Mittal 2015 algorithm 1, Zhu 2016 eqs. (28) to (30): a rate by round trip and gradient")
def follows_gradients(trace: Trace) -> Iterator[Breach]:
    """TIMELY's rate, computed again from the round trips of its segments, is the recorded one."""
    for one in senders(trace, "timely", "timely"):
        law = _Sampled(one)
        yield from _held(one, law.gradient.rate, law, SAMPLE)
