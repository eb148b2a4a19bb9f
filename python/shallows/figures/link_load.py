"""Loads of links as a heat map, one cell a port of a switch, with the connections that share it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from shallows.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 40
"""The most switches for which a map has room."""

WRITTEN = 24
"""The most columns in which numbers are written."""


class LinkLoad(NamedTuple):
    """Switches, the nodes that they send to, the utilisation of each port (NaN: no link), and connections."""

    switches: list[str]
    nodes: list[str]
    load: np.ndarray
    connections: np.ndarray


def info(tables: Mapping[str, pl.DataFrame]) -> LinkLoad:
    """The ports between switches, several cables together; of a network with one switch its ports to hosts.

    Connections are those of the table `shares` with data there: their hashes put them on this link.
    Errors: no statistics of a switch's port, or more than 40 switches.
    """
    queues = tables["queues"].filter(pl.col("is_switch") == 1)
    if not len(queues):
        raise ValueError("no port of a switch was recorded")
    ends = queues["port"].str.split("#").list.first().str.split("->")
    queues = queues.with_columns(ends.list.first().alias("from"), ends.list.last().alias("to"))
    switches = queues["from"].unique(maintain_order=True).to_list()
    if len(switches) > MOST:
        raise ValueError(f"a map has room for {MOST} switches, and the network has {len(switches)}")
    between = queues.filter(pl.col("to").is_in(switches))
    shown = between if len(between) else queues
    crowd: dict[str, int] = {}
    if len(shares := tables.get("shares", pl.DataFrame())):
        data = shares.filter(pl.col("reverse") == 0).group_by("port").len()
        crowd = dict(data.iter_rows())
    rows = [one for one in switches if one in set(shown["from"])]
    ends_of = shown["to"].unique(maintain_order=True).to_list()
    nodes = sorted(ends_of, key=lambda node: switches.index(node) if node in switches else len(switches))
    load = np.full((len(rows), len(nodes)), np.nan)
    count = np.zeros(load.shape, dtype=int)
    for one, other, port, share in shown.select("from", "to", "port", "utilisation").iter_rows():
        at = rows.index(one), nodes.index(other)
        load[at] = np.nanmax([load[at], share])
        count[at] += crowd.get(port, 0)
    return LinkLoad(rows, nodes, load, count)


@style.styled
def draw(info: LinkLoad) -> "Figure":
    """Darker cells are busier links; the number in a cell counts the connections with data on it."""
    rows, columns = info.load.shape
    figure, (ax,) = style.canvas(
        width_inch=style.PAGE_INCH if columns > 8 else style.COLUMN_INCH,
        height_inch=max(1.6, 0.22 * rows + 1.0),
    )
    shown = ax.imshow(info.load, aspect="auto", cmap="Reds", vmin=0, vmax=max(1e-9, np.nanmax(info.load)))
    if columns <= WRITTEN and info.connections.any():
        for (row, column), load in np.ndenumerate(info.load):
            if not np.isnan(load):
                dark = load > 0.6 * np.nanmax(info.load)
                ax.text(column, row, f"{info.connections[row, column]}", ha="center", va="center", fontsize=6,
                        color="white" if dark else "black")  # fmt: skip
    ax.grid(False)
    ax.set_xticks(range(columns), info.nodes, rotation=90 if columns > 4 else 0)
    ax.set_yticks(range(rows), info.switches)
    ax.set(xlabel="to", ylabel="from")
    figure.colorbar(shown, ax=ax, label="utilisation")
    return figure
