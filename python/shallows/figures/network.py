"""The network of a run, drawn from its ports: hosts, switches, and the rates of their links."""

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from shallows.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Network(NamedTuple):
    """Nodes by layer, the sink first; links as (node, node, Gb/s); `switches`: the nodes that forward."""

    layers: list[list[str]]
    links: list[tuple[str, str, float]]
    switches: set[str]


def info(tables: Mapping[str, Any], sink: str = "r0") -> Network:
    """The network of a run's tables, in layers by the distance from `sink`. Error: no port leads to it."""
    rows = tables["queues"].select("port", "is_switch", "rate_bps").to_dicts()
    near: dict[str, list[str]] = defaultdict(list)
    switches, links = set(), []
    for row in rows:
        one, other = row["port"].split("#")[0].split("->")
        near[one].append(other)
        if row["is_switch"]:
            switches.add(one)
        if (other, one) not in [(a, b) for a, b, _ in links]:
            links.append((one, other, row["rate_bps"] / 1e9))
    if sink not in near:
        raise ValueError(f"no port leads to {sink}; there are {', '.join(sorted(near))}")
    layers, seen = [[sink]], {sink}
    while ahead := [node for last in layers[-1] for node in near[last] if node not in seen]:
        layers.append(list(dict.fromkeys(ahead)))
        seen |= set(ahead)
    return Network(layers, links, switches)


@style.styled
def draw(info: Network, words: Mapping[str, str] | None = None) -> "Figure":
    """Layers from right to left, switches as squares; a link of another rate than most has it written beside.

    `words` are written beside nodes.
    """
    tallest = max(map(len, info.layers))
    figure, (ax,) = style.canvas(width_inch=style.PAGE_INCH, height_inch=max(1.6, 0.32 * tallest + 0.5))
    at = {}
    for x, layer in enumerate(info.layers):
        for k, node in enumerate(layer):
            at[node] = (-float(x), (len(layer) - 1) / 2 - k)
    rates = [rate for _, _, rate in info.links]
    usual = max(set(rates), key=rates.count)
    for one, other, rate in info.links:
        (x0, y0), (x1, y1) = at[one], at[other]
        ax.plot([x0, x1], [y0, y1], color=style.QUIET if rate == usual else style.INK, zorder=1)
        if rate != usual:
            ax.annotate(
                f"{rate:g} Gb/s", ((x0 + x1) / 2, (y0 + y1) / 2), fontsize=6, ha="center", va="bottom"
            )
    lowest = min(y for _, y in at.values())
    for node, (x, y) in at.items():
        switch = node in info.switches
        ax.plot(x, y, "s" if switch else "o", color=style.colour(0 if switch else 4), markersize=9, zorder=2)
        ax.annotate(node, (x, y), xytext=(0, 7), textcoords="offset points", fontsize=6, ha="center")
        for name, text in (words or {}).items():
            if name == node:
                # Below all links, with a line that leads to the node.
                ax.annotate(
                    text, (x, y), xytext=(x, lowest - 0.45), textcoords="data", fontsize=6, ha="center",
                    arrowprops={"arrowstyle": "-", "color": style.QUIET, "linewidth": 0.5},
                )  # fmt: skip
    ax.set(
        title=f"links of {usual:g} Gb/s where nothing else is written",
        xlim=(-len(info.layers) + 0.5, 0.5),
        ylim=(lowest - 0.6, None) if words else None,
    )
    ax.set_axis_off()
    return figure
