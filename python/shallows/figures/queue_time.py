"""Queue length of one port over time, from `queue_trace`; several runs one above the other."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shallows.figures import style
from shallows.tables.metrics import Tables, bottleneck_port

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class QueueTime(NamedTuple):
    """Per label: instants in ms, queue in packets, and port. `marks_at`: threshold lines in packets."""

    series: dict[str, tuple[np.ndarray, np.ndarray]]
    marks_at: dict[str, float]
    ports: list[str]


def info(
    runs: Mapping[str, Tables],
    port: str | None = None,
    from_ms: float = 0.0,
    to_ms: float = np.inf,
    lines: Mapping[str, float] | None = None,
) -> QueueTime:
    """Queue of `port` (default: the busiest switch port) in [from, to]; `lines` are drawn across.

    Error: a run without a queue trace of that port.
    """
    series, ports = {}, []
    for label, tables in runs.items():
        name = port or bottleneck_port(tables["queues"])
        trace = tables["queue_trace"]
        trace = trace.filter(trace["port"] == (name or ""))
        if trace.is_empty():
            raise ValueError(f"{label or 'the run'} has no queue trace of {name}: set probe.queue_trace")
        time_ms = trace["time_ps"].to_numpy() / 1e9
        ports.append(str(name))
        inside = (time_ms >= from_ms) & (time_ms <= to_ms)
        series[label] = time_ms[inside], trace["packets"].to_numpy()[inside]
    return QueueTime(series, dict(lines or {}), ports)


@style.styled
def draw(info: QueueTime) -> "Figure":
    """One panel a run, sharing both axes."""
    rows = len(info.series)
    figure, axes = style.canvas(rows=rows, height_inch=0.7 + 1.2 * rows, sharex=True, sharey=True)
    for k, (ax, (label, (time_ms, packets))) in enumerate(zip(axes, info.series.items(), strict=True)):
        ax.plot(time_ms, packets, color=style.colour(k), linewidth=0.7, drawstyle="steps-post")
        for name, packets_at in info.marks_at.items():
            ax.axhline(packets_at, color=style.QUIET, linewidth=0.6, linestyle="--")
            ax.annotate(name, (1, packets_at), xycoords=("axes fraction", "data"), fontsize=6,
                        ha="right", va="bottom", color=style.INK)  # fmt: skip
        ax.set(title=", ".join(filter(None, (label, f"port {info.ports[k]}"))), ylabel="queue (packets)")
    axes[0].set_ylim(bottom=0)
    style.time_axis(axes[-1])
    return figure
