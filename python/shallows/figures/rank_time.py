"""Ranks over time: messages to each rank from start to delivery, with the part beyond the ideal time."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from shallows.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 64
"""The most ranks that a figure has room for: the others are left out, those that lost least time first."""


class RankTime(NamedTuple):
    """A round: its hosts in order, and each message with its host's place, start, ideal end and end in ms."""

    title: str
    hosts: list[str]
    place: np.ndarray
    start: np.ndarray
    due: np.ndarray
    end: np.ndarray


def info(tables: Mapping[str, pl.DataFrame], traffic: str | None = None) -> RankTime:
    """The slowest round that ended, of load `traffic` or of all. Error: no round of such a load ended."""
    rounds = tables["rounds"].filter(pl.col("fct_ps").is_not_null())
    stepped = tables["steps"]["traffic"].unique()
    rounds = rounds.filter(pl.col("traffic").is_in(stepped.implode()))
    if traffic is not None:
        rounds = rounds.filter(pl.col("traffic") == traffic)
    if not len(rounds):
        raise ValueError("no operation ended")
    row = rounds.sort("fct_ps", "traffic", "round", descending=[True, False, False]).row(0, named=True)
    mine = (pl.col("traffic") == row["traffic"]) & (pl.col("round") == row["round"])
    ends = tables["flows"].select("id", "dst")
    messages = tables["messages"].filter(mine).join(ends, left_on="flow", right_on="id")
    late = pl.col("fct_ps").cast(pl.Int64) - pl.col("ideal_ps").cast(pl.Int64)
    lost = (
        messages.group_by("dst").agg(late.sum().alias("late")).sort("late", "dst", descending=[True, False])
    )
    shown = lost["dst"].head(MOST)
    hosts = [host for host in messages["dst"].unique(maintain_order=True) if host in set(shown)]
    messages = messages.filter(pl.col("dst").is_in(shown.implode()))
    places = {host: place for place, host in enumerate(hosts)}
    more = f", {MOST} of {len(lost)} ranks" if len(lost) > MOST else ""
    start = messages["start_ps"].to_numpy() / 1e9
    return RankTime(
        f"{row['traffic']}, round {row['round']}{more}",
        hosts,
        np.array([places[host] for host in messages["dst"]]),
        start,
        start + messages["ideal_ps"].to_numpy() / 1e9,
        messages["end_ps"].to_numpy() / 1e9,
    )


@style.styled
def draw(info: RankTime) -> "Figure":
    """A line a rank, messages to it as bars: the time that they take alone, then that beyond it."""
    height = max(1.6, 0.16 * len(info.hosts) + 0.8)
    figure, (ax,) = style.canvas(width_inch=style.PAGE_INCH, height_inch=height)
    due = np.minimum(info.due, info.end)
    ax.barh(info.place, due - info.start, left=info.start, height=0.5, color=style.colour(0), label="alone")
    ax.barh(info.place, info.end - due, left=due, height=0.5, color=style.colour(1), label="late")
    ax.set_yticks(range(len(info.hosts)), info.hosts)
    ax.invert_yaxis()
    ax.set(title=info.title, ylabel="message to")
    style.time_axis(ax)
    style.legend_outside(figure, dict(zip(["alone", "late"], ax.containers, strict=True)), "right upper", 1)
    return figure
