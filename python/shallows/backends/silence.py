"""Loads that should send and deliver nothing, or less than a hundredth of what their path carries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from shallows.document.paths import Document

PATIENCE = 100
"""Round trips of the empty path that a load has before it is judged: the handshake and slow start are long
over.
"""

SHARE = 100
"""A load that delivers less than one part in so many of what it could is reported."""

__all__ = ["notes"]


def notes(
    experiment: Document,
    tables: Mapping[str, pl.DataFrame],
    slowest: Mapping[str, Mapping[str, int]],
    numbers: Mapping[str, int],
) -> list[str]:
    """A line for each load of a run that delivered (almost) nothing.

    `slowest` has, by load, `rate_bps` of the slowest link on its connections' ways and `rtt_ps` of the
    longest empty way. `numbers` are the quantities of the experiment (`_core.numbers`). A load is left out
    whose own settings ask for less, or which had less time than `PATIENCE` round trips.
    """
    return [
        line for name in experiment["traffic"] for line in _note(name, experiment, tables, slowest, numbers)
    ]


def _note(
    name: str,
    experiment: Document,
    tables: Mapping[str, pl.DataFrame],
    slowest: Mapping[str, Mapping[str, int]],
    numbers: Mapping[str, int],
) -> Iterator[str]:
    if name not in slowest:
        return
    flows = _where(tables["flows"], tables["flows"]["traffic"] == name)
    if flows.is_empty():
        return
    rate, rtt = slowest[name]["rate_bps"], slowest[name]["rtt_ps"]
    end, warmup = numbers["duration"], numbers.get("warmup", 0)
    delivered = int(flows["arrived_bytes"].sum())
    endless = _where(flows, flows["bytes"].is_null())
    if not endless.is_empty():
        since = max(int(endless["start_ps"].min()), warmup)
        # Connections without end share what the path carries.
        sharing = tables["flows"]["bytes"].null_count()
        most = min(
            [
                rate / sharing,
                *_own_bounds(f"traffic.{name}.transport", experiment["traffic"][name], numbers, rtt),
            ]
        )
        could = most * (end - since) / 8e12
    else:
        since, could = _offered(name, tables["messages"], rate, rtt, end)
        # The others that have not ended share the path.
        every = tables["flows"]
        could /= 1 + ((every["traffic"] != name) & every["end_ps"].is_null()).sum()
        since = max(since, warmup)
    if end - since < PATIENCE * rtt or could < 1 or SHARE * delivered >= could:
        return
    span = f"{(end - since) / 1e12:.3g} s"
    what = "nothing" if delivered == 0 else f"{_amount(delivered)}, less than a hundredth"
    yield (
        f"traffic {name}: delivered {what} in {span}, of {_amount(could)} that its path carries. "
        "Its connections stand still or starve."
    )


def _where(table: pl.DataFrame, chosen: pl.Series) -> pl.DataFrame:
    """The chosen rows. A filter costs more than the look whether there is one to leave out."""
    return table if chosen.all() else table.filter(chosen)


def _own_bounds(path: str, load: Mapping[str, Any], numbers: Mapping[str, int], rtt: int) -> Iterator[float]:
    """The rates that the load's own settings allow one connection, in bit/s: a rate, a window."""
    yield from (numbers[key] for key in (f"{path}.cc.rate",) if key in numbers)
    mss = numbers.get(f"{path}.mss", 1460)
    for key in ("receive_window", "cwnd_max"):
        written = load["transport"].get(key, "none")
        if written != "none":
            window = numbers.get(f"{path}.{key}") or int(str(written).removesuffix("pkt")) * mss
            yield window * 8e12 / rtt


def _offered(name: str, messages: pl.DataFrame, rate: int, rtt: int, end: int) -> tuple[int, float]:
    """The first start of a load's messages, and the bytes of those that had time to arrive."""
    own = messages["traffic"] == name
    starts, sizes = messages["start_ps"].filter(own), messages["bytes"].filter(own)
    due = starts + PATIENCE * rtt + sizes * (8e12 / rate) < end
    if not due.any():
        return end, 0.0
    return int(starts.filter(due).min()), float(sizes.filter(due).sum())


def _amount(size: float) -> str:
    for unit, least in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if size >= least:
            return f"{size / least:.3g} {unit}"
    return f"{size:.0f} B"
