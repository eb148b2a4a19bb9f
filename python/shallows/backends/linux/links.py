"""Links as lines of the guest's plan: a token bucket, a netem at the far end, and their changes.

Source: sch_tbf.c and sch_netem.c of Linux 7.2.

Left out: packets that wait at a port when its link fails leave it at the port's rate, and are lost on the
wire. The simulator drops them at once. If the link is repaired before they have left, the rest arrives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from shallows.backends.linux.paths import drawn
from shallows.backends.linux.qdiscs import Qdisc
from shallows.backends.linux.readback import Shown, number

ETHERNET_BYTES = 14
"""Header that a qdisc counts and the simulator does not; a size table takes it off."""

LATENESS_NS = 10
"""The most that a port's timer is late: User-Mode Linux adds 1 ns, and so does each reading of the clock.
A port's bucket holds so much more than a frame, and so keeps its rate: a tenth of a frame at 100 Gb/s."""

ALL = 2**32 - 1
"""A share of 1 for netem, whose shares have 32 bits."""

TICK_NS = 64
"""The tick of tc (/proc/net/psched)."""

HOLDS = 16384
"""Entries of the table from which netem draws delays (NETEM_DIST_MAX)."""

LIMIT_BYTES = 2_000_000_000
"""The limit of a token bucket: its discipline has the real one."""

__all__ = [
    "ETHERNET_BYTES",
    "HOLDS",
    "Link",
    "Shaper",
    "changes",
    "copied",
    "copies",
    "losses",
    "shaper",
    "wire",
]


@dataclass(frozen=True)
class Link:
    """One direction of a cable at some time. `name` is the port's, as in the simulator."""

    name: str
    port: str  # device of the token bucket, of the sending node
    near: int
    wire: str  # device of the netem, of the far node
    far: int
    rate_bps: int
    delay_ps: int
    loss: float
    bursts: tuple[float, float, float] | None = None  # chances of a beginning, of an end, of a loss within
    up: bool = True
    times: int = 0  # it has changed


@dataclass(frozen=True)
class Shaper:
    """A token bucket of one frame. With `segments` it takes apart super-packets of its host.

    tbf compares the segments of a super-packet, with their Ethernet header, with its bucket (tbf_enqueue),
    and charges the header (tbf_segment): a size table reaches whole packets alone. So the bucket of such a
    port holds the header, and its rate is that of frames with headers. A packet below full size then takes
    the time of up to 14 bytes more.
    """

    rate_bps: int
    frame: int
    segments: bool = False

    @property
    def bytes_a_second(self) -> int:
        """A millionth less than the link: the shaper's fixed point takes up to 1 ns from a frame's time, and
        packets that it sends too fast would wait, unseen, in the netem behind it.
        """
        rate = self.rate_bps - -(-self.rate_bps // 1_000_000)
        return rate * (self.frame + self.header) // self.frame // 8

    @property
    def header(self) -> int:
        """Bytes of each packet that it counts beside those of the link."""
        return ETHERNET_BYTES if self.segments else 0

    @property
    def burst(self) -> int:
        """Bytes of the bucket."""
        return self.frame + self.header + max(self.rate_bps * LATENESS_NS // 8_000_000_000, 10)

    @property
    def words(self) -> str:
        """The words that tc takes."""
        return f"tbf rate {8 * self.bytes_a_second}bit burst {self.burst} limit {LIMIT_BYTES}"

    @property
    def table(self) -> str:
        """The size table, for tc."""
        return "" if self.segments else f"stab overhead -{ETHERNET_BYTES} mtu 2048 "

    @property
    def shows(self) -> dict[str, Shown]:
        """The values that tc reports. It shows a bucket in whole microseconds of its rate, which says
        nothing at 10 Gb/s.
        """
        overhead = None if self.segments else number(-ETHERNET_BYTES)
        return {"rate": number(self.bytes_a_second, 1), "stab.overhead": overhead}


def shaper(link: Link, frame: int, segments: bool) -> Shaper:
    """The token bucket of a link."""
    return Shaper(link.rate_bps, frame, segments)


def _lost(link: Link) -> int:
    return round(link.loss * ALL) if link.up else ALL


def _bursts(link: Link) -> tuple[int, int, int] | None:
    """Chances of 2^32 - 1 that a burst begins, that it ends, and that a packet in it arrives. A packet is
    lost there as outside too, as in the simulator.
    """
    if link.bursts is None or not link.up:
        return None
    begins, ends, loss = link.bursts
    begin, end, kept = (round(share * ALL) for share in (begins, ends, (1 - loss) * (1 - link.loss)))
    return begin, end, kept


def _words(link: Link, device: str, lost: int, seed: int, bursts: tuple[int, int, int] | None = None) -> str:
    share = f"{lost} {seed if lost or bursts else 0}"
    further = "".join(f" {chance}" for chance in bursts or ())
    speed = f"{link.rate_bps // 8} -{ETHERNET_BYTES}"
    return f"{link.far} {device} {link.delay_ps // 1000} {speed} {share}{further}"


def _shows(link: Link, lost: int, bursts: tuple[int, int, int] | None = None) -> dict[str, Shown]:
    """The report of tc about a wire. It cuts a delay to microseconds, and leaves out one below a tick."""
    late = link.delay_ps // 1000 >= TICK_NS
    if bursts is not None:
        begin, end, kept = bursts
        lost_in, names = ALL - kept, ("p", "r", "1-h", "1-k")
        chances = zip(names, (begin, end, lost_in, lost), strict=True)
        own = {f"loss-gemodel.{name}": number(chance / ALL, within=1e-6) for name, chance in chances}
        plain = _shows(link, 0)
        del plain["loss-gemodel"]
        return plain | own
    return {
        "limit": number(1_000_000),
        "delay.delay": number(link.delay_ps / 1e12, within=1.01e-6) if late else None,
        "rate.rate": number(link.rate_bps // 8),
        "rate.packetoverhead": number(-ETHERNET_BYTES),
        "loss-random.loss": number(lost / ALL, within=1e-6) if lost else None,
        "loss-gemodel": None,
        "duplicate": None,
        "reorder": None,
        "corrupt": None,
    }


def _seed(link: Link, seed: int, what: str) -> int:
    return drawn(seed, what, link.name, *[str(link.times)] * bool(link.times))


def losses(link: Link, seed: int) -> tuple[int, int]:
    """The share that a wire without bursts loses, of 2^32 - 1, and the seed of its draws."""
    lost = _lost(link)
    return lost, _seed(link, seed, "loss") if lost else 0


def wire(link: Link, seed: int) -> tuple[str, dict[str, Shown]]:
    """A wire: the words for the guest, and what tc reports."""
    lost, bursts = _lost(link), _bursts(link)
    return _words(link, link.wire, lost, _seed(link, seed, "loss"), bursts), _shows(link, lost, bursts)


def copied(link: Link, share: float, seed: int) -> tuple[str, dict[str, Shown]]:
    """The wire of a link's copies, as `wire`: it loses all packets but `share`, which arrive beside the
    packet.
    """
    lost = ALL - round(share * ALL) if link.up else ALL
    return _words(link, copies(link), lost, _seed(link, seed, "duplicate")), _shows(link, lost)


def changes(
    link: Link, port: Mapping[str, Any], frame: int, segments: bool, under: Qdisc, seed: int
) -> Iterator[tuple[int, str, Link]]:
    """Changes of a link: time in ns, line of the plan without it, and the link from then on."""
    for change in port.get("changes", ()):
        before = link
        new = {key: change[key] for key in ("rate_bps", "delay_ps", "loss") if change[key] is not None}
        if change["state"] is not None:
            new["up"] = change["state"] == "up"
        link = replace(link, **new, times=link.times + 1)
        at = change["at_ps"] // 1000
        if link.rate_bps != before.rate_bps:
            made = shaper(link, frame, segments)
            overhead = 0 if under.meters else made.header - ETHERNET_BYTES  # the meters' prio has the table
            words = f"{made.bytes_a_second} {made.burst} {LIMIT_BYTES} {overhead}"
            yield at, f"shape {link.near} {link.port} 10000 {words}", link
            if under.kind in ("pfifo", "bfifo"):  # whose limit the shaper's change overwrites
                limit = under.words.split()[-1]
                yield at, f"limit {link.near} {link.port} 100000 {under.kind} {limit}", link
        how = "cut" if before.up and not link.up else "wire"
        yield at, f"{how} {wire(link, seed)[0]}", link
        if port["duplicate"]:
            yield at, f"{how} {copied(link, port['duplicate'], seed)[0]}", link


def rates(link: Link, port: Mapping[str, Any], warmup_ps: int, end_ps: int) -> tuple[int, float]:
    """The rate of a link at the end, and its mean over the measured time, in bit/s."""
    rate, since, bits = link.rate_bps, warmup_ps, 0
    for change in port.get("changes", ()):
        if change["rate_bps"] is not None:
            at = max(change["at_ps"], warmup_ps)
            bits += rate * (at - since)
            rate, since = change["rate_bps"], at
    return rate, (bits + rate * (end_ps - since)) / (end_ps - warmup_ps)


def copies(link: Link) -> str:
    """The device of a link's copies."""
    return "d" + link.wire[1:]


def mirror(link: Link) -> str:
    """The device that hands copies on to theirs: an ifb drops packets that were not redirected to it."""
    return "c" + link.wire[1:]
