"""Share of time the queue is at most so long, from the exact `queue_histogram`; one line a run."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shallows.figures import style
from shallows.tables.metrics import Tables, bottleneck_port

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class QueueCdf(NamedTuple):
    """Per label: lengths in packets, ascending, and the share of time (0..1) at or below each; its port."""

    series: dict[str, tuple[np.ndarray, np.ndarray]]
    ports: list[str]


def info(runs: Mapping[str, Tables], port: str | None = None, weight: str = "time_ps") -> QueueCdf:
    """Distribution at `port` (default: the busiest switch port), over time or, with
    `weight="at_dequeue"`, over departures. Error: a run that held no statistics of that port."""
    series, ports = {}, []
    for label, tables in runs.items():
        name = port or bottleneck_port(tables["queues"])
        histogram = tables["queue_histogram"]
        histogram = histogram.filter(histogram["port"] == (name or "")).sort("packets")
        total = histogram[weight].sum()
        if not total:
            raise ValueError(f"{label or 'the run'} has no queue histogram of {name}")
        ports.append(str(name))
        series[label] = histogram["packets"].to_numpy(), histogram[weight].cum_sum().to_numpy() / total
    return QueueCdf(series, ports)


@style.styled
def draw(info: QueueCdf) -> "Figure":
    """Steps, one colour a run."""
    figure, (ax,) = style.canvas()
    for k, (label, (packets, share)) in enumerate(info.series.items()):
        ax.plot(packets, share, drawstyle="steps-post", color=style.colour(k, label), label=label)
    same = f" of port {info.ports[0]}" if len(set(info.ports)) == 1 else ""
    ax.set(xlabel=f"queue{same} (packets)", ylabel="share of time at or below", ylim=(0, 1.02))
    ax.set_xlim(left=0)
    style.legend(ax, loc="lower right")
    return figure
