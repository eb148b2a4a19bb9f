"""Wrong bits on a wire: packets that fail their check at the far end, long ones more often.

netem's own corruption spoils the same share of packets of every size, and they travel on to a host that
looks at their checksum. So a discipline of priorities at the end of the wire sorts packets by the
length in their IP header, and a netem for each band of lengths loses the share that has a wrong bit. The wire
counts them: a discipline reports drops to those above it (qdisc_tree_reduce_backlog).

Left out: sizes between. Full packets of each load and acknowledgements without data have their own band, and
others the chance of the middle of theirs: within a quarter of their own, within a half beside packets of more
than 4 KB.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from shallows.backends.linux.links import ALL, Link
from shallows.backends.linux.paths import drawn
from shallows.backends.linux.readback import Shown, number

MOST_BANDS = 16
"""Bands of the discipline `prio` (TCQ_PRIO_BANDS)."""

FIRST = 64
"""Smaller packets are one block."""

SMALL = 50
"""Their size, between headers alone and a full block."""

__all__ = ["Band", "bands", "chance", "line", "shows"]


@dataclass(frozen=True)
class Band:
    """Packets whose length is `value` in the bits of `mask`, and the share of 2^32 - 1 that is lost."""

    value: int
    mask: int
    lost: int


def chance(rate: float, size: int) -> float:
    """The chance that a packet of so many bytes has a wrong bit, if each bit is wrong with this chance."""
    return -math.expm1(8 * size * math.log1p(-rate))


def _blocks(largest: int, parts: int) -> Iterator[tuple[int, int]]:
    """Blocks of lengths as (first, number): each power of two in so many parts."""
    yield 0, FIRST
    start = FIRST
    while start <= largest:
        step = start // parts
        yield from ((first, step) for first in range(start, 2 * start, step) if first <= largest)
        start *= 2


def bands(rate: float, exact: Iterable[int]) -> list[Band]:
    """Bands of a wire, of which a packet belongs to the first that it matches. Packets of the lengths `exact`
    have their own, the largest first, as far as there is room.
    """
    sizes = sorted(set(exact), reverse=True)
    blocks = next(
        found
        for parts in (2, 1)
        if len(found := list(_blocks(sizes[0], parts))) <= MOST_BANDS - 2 or parts == 1
    )
    own = [(size, 0xFFFF, size) for size in sizes[: MOST_BANDS - len(blocks)]]
    ranges = [
        (first, 0xFFFF & ~(count - 1), first + count // 2 if first else SMALL) for first, count in blocks
    ]
    return [Band(value, mask, round(chance(rate, size) * ALL)) for value, mask, size in own + ranges]


def line(link: Link, found: list[Band], parent: int, seed: int) -> str:
    """The line of the plan, for a discipline below that of the handle `parent`."""
    words = " ".join(f"{band.value}:{band.mask}:{band.lost}" for band in found)
    own = drawn(seed, "bits", link.name, *[str(link.times)] * bool(link.times))
    return f"bits {link.far} {link.wire} {parent:x}0000 {own} {words}"


def shows(link: Link, found: list[Band]) -> Iterator[tuple[str, tuple[str, str, str], dict[str, Shown]]]:
    """The report of tc about each discipline: its name, its key, and its options."""
    yield f"sorting of {link.name}", (link.wire, "prio", "4:"), {"bands": number(len(found))}
    for place, band in enumerate(found):
        lost = number(band.lost / ALL, within=1e-6) if band.lost else None
        key = (link.wire, "netem", f"{0x40 + place:x}:")
        yield f"band {place} of {link.name}", key, {"loss-random.loss": lost, "delay.delay": None}
