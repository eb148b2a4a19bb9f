"""CoDel computed again: it marks or drops packets as they leave, by the waits of all."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from copy import copy
from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

from shallows.audit.quantities import level, picoseconds
from shallows.audit.rule import Breach, rule
from shallows.audit.rules import followed

if TYPE_CHECKING:
    import polars as pl

    from shallows.audit.trace import Trace

MARKED, DROPPED, PASSED = "marked", "dropped", "passed on"
NEVER = 2**62


class _Taken(NamedTuple):
    """A packet that a queue gave up: when it came and was taken, its bytes, and its fate."""

    came: int
    at: int
    size: int
    able: bool
    before: bool
    """It came with a mark."""
    fate: str
    seq: int
    flow: int


def _taken(trace: Trace, port: str, rows: pl.DataFrame) -> list[_Taken] | None:
    """Packets in the order in which they left a port's queue; None if a drop's arrival is not known."""
    import polars as pl

    lost = trace.losses.filter((pl.col("port") == port) & (pl.col("cause") == "drops_aqm"))
    node = str(rows["from"][0])
    landed = trace.hops.filter(
        (pl.col("to") == node) & pl.col("landed_ps").is_not_null() & (pl.col("lost") == 0)
    )
    landed = landed.join(lost.select("name").unique(), on="name", how="semi").select("name", "landed_ps")
    by_name: dict[int, list[int]] = {}
    for name, came in landed.sort("landed_ps").iter_rows():
        by_name.setdefault(name, []).append(came)
    found: list[tuple[int, int, _Taken]] = []
    for place, row in enumerate(lost.iter_rows(named=True)):
        came = [at for at in by_name.get(row["name"], []) if at <= row["time_ps"]]
        if not came:
            return None
        # RFC 3168 s.5: a packet that is marked is ECN-capable.
        able, before = row["ecn"] > 0, row["ecn"] == 3
        one = _Taken(came[-1], row["time_ps"], row["size"], able, before, DROPPED, row["seq"], row["flow"])
        found.append((one.at, place - len(lost), one))
    for place, row in enumerate(rows.iter_rows(named=True)):
        takes = -(-row["size"] * 8 * 10**12 // row["rate_bps"])
        able, before = row["ecn_before"] > 0, row["ecn_before"] == 3
        fate = MARKED if row["ecn"] == 3 and not before else PASSED
        at, seq, flow = row["time_ps"] - takes, row["seq"], row["flow"]
        one = _Taken(row["came"], at, row["size"], able, before, fate, seq, flow)
        found.append((one.at, place, one))
    # Packets of one instant are dropped before one is transmitted.
    return [one for _, _, one in sorted(found, key=lambda each: each[:2])]


class Law:
    """RFC 8289 s.5.5 and s.5.6 with marks as in Linux: `codel_dequeue` of codel_impl.h."""

    def __init__(self, settings: Mapping[str, Any]):
        self.target, self.interval = picoseconds(settings["target"]), picoseconds(settings["interval"])
        self.ecn, self.exact = settings["ecn"], settings["root"] == "exact"
        self.above = NEVER if settings["ce_threshold"] == "none" else picoseconds(settings["ce_threshold"])
        self.largest = (level(settings["max_packet"]) or (0, False))[0]
        self.first_above = self.drop_next = self.count = self.last_count = 0
        self.dropping = False
        self.inverse = 0xFFFF
        self.at = 0
        self.within = ""
        """The last packet was dropped, as the first of a drop state or a further one."""

    def twin(self) -> Law:
        """A copy of its own."""
        other = Law.__new__(Law)
        other.__dict__.update(self.__dict__)
        return other

    def summary(self) -> tuple[Any, ...]:
        """All that decides about its future, between two packets that were passed on."""
        return self.first_above, self.drop_next, self.count, self.last_count, self.dropping, self.inverse

    def _newton(self) -> None:
        """Linux codel_Newton_step: 1 / sqrt(count) in 16 bits, from the last one."""
        whole = self.inverse << 16
        value = ((3 << 32) - self.count * (whole * whole >> 32)) >> 2
        self.inverse = (value * whole >> 31 >> 16) & 0xFFFF

    def _after(self, at: int) -> int:
        part = self.interval / sqrt(self.count) if self.exact else self.interval * self.inverse >> 16
        return at + int(part)

    def _ok_to_drop(self, now: int, waited: int, left: int) -> bool:
        """RFC 8289 s.5.6: the wait was above the target for an interval, and more than a packet is left."""
        if waited < self.target or left <= self.largest:
            self.first_above = 0
            return False
        if not self.first_above:
            self.first_above = now + self.interval
            return False
        return now >= self.first_above

    def _begin(self, now: int) -> None:
        """RFC 8289 s.5.5: drop state begins, with the last count if it ended a little while ago."""
        delta = self.count - self.last_count
        self.dropping = True
        if delta > 1 and now - self.drop_next < 16 * self.interval:
            self.count = delta
            self._newton()
        else:
            self.count, self.inverse = 1, 0xFFFF
        self.drop_next, self.last_count = self._after(now), self.count

    def fate(self, at: int, waited: int, able: bool, left: int) -> str:
        """The fate that the law gives to a packet that is taken at `at` while `left` bytes remain."""
        fate = self._fate(at, waited, able, left)
        # Linux codel_dequeue: a second threshold marks a packet that the law passes on, too.
        return MARKED if fate is PASSED and able and waited > self.above else fate

    def _fate(self, at: int, waited: int, able: bool, left: int) -> str:
        if self.within and at != self.at:
            self.emptied()
        self.at = at
        ok = self._ok_to_drop(at, waited, left)
        if self.within == "first":
            # RFC 8289 s.5.5: the packet behind the first drop is transmitted in any case.
            self._go_on(ok)
            return PASSED
        if self.within:
            self._go_on(ok)
        elif self.dropping:
            self.dropping = ok
        elif ok:
            if self.ecn and able:
                self._begin(at)
                return MARKED
            self.within = "first"
            return DROPPED
        if not self.dropping or at < self.drop_next:
            return PASSED
        self.count += 1
        if not self.exact:
            self._newton()
        if self.ecn and able:
            self.drop_next = self._after(self.drop_next)
            return MARKED
        self.within = "further"
        return DROPPED

    def emptied(self) -> None:
        """RFC 8289 s.5.6: a packet was asked for, and the queue was empty."""
        self.first_above = 0
        if self.within:
            self._go_on(False)
        else:
            self.dropping = False

    def _go_on(self, ok: bool) -> None:
        """The packet behind a drop has been taken, or there was none."""
        if self.within == "first":
            self._begin(self.at)
        elif ok:
            self.drop_next = self._after(self.drop_next)
        else:
            self.dropping = False
        self.within = ""


@rule(
    "codel-law",
    "RFC 8289 s.5.5 and s.5.6: the interval over the root of a count, after an interval above target",
)
def follows_codel(trace: Trace) -> Iterator[Breach]:
    """CoDel marks and drops the packets that its law gives, and passes all others on."""
    if trace.faults("mark", "mark_every"):
        return trace.skip("codel-law", "wires mark packets")
    kinds = {trace.discipline(port, True)["kind"] for port in trace.switched}
    if "codel" not in kinds:
        return
    for port, rows in followed(trace, "codel-law"):
        settings = trace.discipline(port, True)
        if settings["kind"] != "codel":
            continue
        taken = _taken(trace, port, rows)
        if taken is None:
            trace.skip("codel-law", "a switch makes packets or sends them back")
            continue
        yield from _judged(trace, port, settings, taken)


MOST = 64
"""Readings of packets that come as others leave that are followed at once."""


def _judged(trace: Trace, port: str, settings: Mapping[str, Any], taken: list[_Taken]) -> Iterator[Breach]:
    laws = [Law(settings)]
    largest = laws[0].largest
    arrivals = deque(sorted((one.came, one.size) for one in taken))
    held = 0
    for one in taken:
        if one.at >= taken[-1].came:
            return  # Packets that are held at the end came after that, and have no row.
        tied = 0
        while arrivals and arrivals[0][0] <= one.at:
            came, size = arrivals.popleft()
            held += size
            tied += size if came == one.at else 0
        held -= one.size
        # Packets that come as this one leaves may have come before it or after it.
        least = held - min(tied, held)
        sides = [held] if (held <= largest) == (least <= largest) else [held, least]
        following: dict[tuple[Any, ...], Law] = {}
        for law in laws:
            for left in sides:
                own = copy(law)
                given = own.fate(one.at, one.at - one.came, one.able, left)
                # A mark changes nothing on a packet that came with one.
                if given == one.fate or (given == MARKED and one.before and one.fate == PASSED):
                    following[tuple(vars(own).values())] = own
        if not following:
            text = f"packet {one.seq} of flow {one.flow} waited {one.at - one.came} ps"
            yield Breach(f"{text} and is {one.fate}, which the law does not give", one.at, port)
            return
        if len(following) > MOST:
            return trace.skip("codel-law", "packets come as others leave, and their order decides too often")
        laws = list(following.values())
