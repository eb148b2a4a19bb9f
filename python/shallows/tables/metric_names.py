"""The metrics of a run, declared: name, unit, meaning. So they are known before anything runs.

`shallows.tables.metrics.with_sizes` computes them; a test holds the two to each other.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from shallows.document.schema import facts
from shallows.errors import Fault, SpecError
from shallows.tables.metrics import BY_SIZE, SIZE_EDGES_BYTES, bin_word, size_bins
from shallows.words import did_you_mean

__all__ = [
    "OF_A_CLASS",
    "OF_A_RUN",
    "OF_ROUNDS",
    "OF_STEPS",
    "Metric",
    "check",
    "meaning",
    "names",
]


class Metric(NamedTuple):
    """One metric. `unit` is empty for counts and shares."""

    name: str
    unit: str
    meaning: str


def _quantiles(stem: str, unit: str, meaning: str) -> tuple[Metric, ...]:
    suffix = f"_{unit}" if unit else ""
    return tuple(Metric(f"{stem}_p{q}{suffix}", unit, f"{q}th percentile of {meaning}") for q in (50, 95, 99))


_BUSIEST = "the switch port with the highest utilisation"

OF_A_RUN = (
    Metric("goodput_bps_total", "bps", "Unique bytes of all connections over the measured time."),
    Metric("jain", "", "Jain's index of fairness over the connections' goodputs, from 1/n to 1."),
    Metric("drops", "", "Packets dropped at all ports, for any reason."),
    Metric("marks", "", "Packets marked Congestion Experienced at all ports."),
    Metric("retransmissions", "", "Segments sent again."),
    Metric("timeouts", "", "Retransmission timeouts."),
    Metric("bottleneck_utilisation", "", f"Share of time in which {_BUSIEST} was sending."),
    Metric("bottleneck_mean_packets", "packets", f"Mean queue over time at {_BUSIEST}."),
    Metric("bottleneck_sd_packets", "packets", "Standard deviation of that queue over time."),
    *(
        Metric(f"bottleneck_p{q}_packets", "packets", f"{q}th percentile of that queue over time.")
        for q in (5, 50, 95, 99)
    ),
    Metric("bottleneck_max_packets", "packets", "Longest queue at that port."),
    Metric("bottleneck_mean_wait_ps", "ps", "Mean wait of a packet in that queue."),
    Metric("bottleneck_p99_wait_ps", "ps", "99th percentile of that wait over packets."),
)
"""Of every run."""

OF_A_CLASS = (
    Metric("goodput_bps", "bps", "Unique bytes of the class over the measured time."),
    Metric("goodput_mean_bps", "bps", "Mean over connections of each one's goodput over its own life."),
    Metric("marks", "", "Packets marked Congestion Experienced, as the receivers count them."),
    Metric("drops", "", "Packets of the class that were dropped."),
    Metric("retransmissions", "", "Segments sent again."),
    Metric("timeouts", "", "Retransmission timeouts."),
    Metric("timeouts_head", "", "Timeouts while nothing of the current message was known to have arrived."),
    Metric("timeouts_tail", "", "Timeouts that miss an acknowledgement of a message's last segments."),
    Metric("timeouts_per_flow", "", "Mean number of timeouts of a connection."),
    Metric("wait_mean_ps", "ps", "Mean over connections of their mean wait in switch queues."),
    Metric("delay_mean_ps", "ps", "Mean over connections of their mean one-way delay."),
    Metric("srtt_mean_ps", "ps", "Mean over connections of their mean smoothed round-trip time."),
    Metric("cwnd_mean_bytes", "bytes", "Mean over connections of their mean congestion window over time."),
    Metric("alpha", "", "Mean over connections of DCTCP's alpha at the end."),
    *_quantiles("wait", "ps", "the wait in switch queues, over packets."),
    *_quantiles("delay", "ps", "the one-way delay, over packets."),
    Metric("messages", "", "Finished messages."),
    Metric("messages_unfinished", "", "Messages that the run's end cut off; they have no completion time."),
    Metric("deadlines", "", "Messages whose deadline was met or missed."),
    Metric("application_throughput", "", "Share of those that met it (Wilson et al., SIGCOMM 2011)."),
    Metric("fct_mean_ps", "ps", "Mean completion time of the finished messages."),
    *_quantiles("fct", "ps", "the completion time."),
    Metric("slowdown_mean", "", "Mean of completion time over the ideal time on the empty network."),
    *_quantiles("slowdown", "", "the slowdown."),
)
"""Of each class of traffic, as `CLASS.name`."""

OF_ROUNDS = (
    Metric("rounds", "", "Finished rounds."),
    Metric("rounds_unfinished", "", "Rounds that the run's end cut off."),
    Metric("round_fct_mean_ps", "ps", "Mean completion time of a round."),
    Metric("round_goodput_bps", "bps", "Bytes of the finished rounds over the sum of their times."),
    Metric("round_timeouts_mean", "", "Mean number of timeouts in a round."),
    Metric("round_timeouts_head_mean", "", "Those while nothing of the message had arrived."),
    Metric("round_timeouts_tail_mean", "", "Those that miss one of a message's last segments."),
    *_quantiles("round_fct", "ps", "the completion time of a round."),
)
"""Of each load that fills the table of rounds, as `LOAD.name`."""

OF_STEPS = (
    Metric("round_ideal_mean_ps", "ps", "Mean ideal time of a finished round on the empty network."),
    Metric("round_slowdown_mean", "", "Mean of a round's completion time over its ideal time."),
    *_quantiles("round_slowdown", "", "the slowdown of a round."),
    Metric("steps", "", "Finished steps."),
    Metric("steps_unfinished", "", "Steps that the run's end cut off."),
    Metric("step_fct_mean_ps", "ps", "Mean completion time of a step, from its first rank's start."),
    Metric("step_slowdown_mean", "", "Mean of a step's completion time over its ideal time."),
    *_quantiles("step_fct", "ps", "the completion time of a step."),
)
"""Of each load that fills the table of steps, as `LOAD.name`."""


def names(experiment: Mapping[str, Any]) -> list[str]:
    """The metrics that runs of a resolved experiment may have."""
    loads = experiment["traffic"]
    classes = sorted({load["class"] for load in loads.values()})

    def filling(table: str) -> list[str]:
        return [name for name, load in loads.items() if table in facts("traffic", load["kind"])["fills"]]

    rounds, steps = filling("rounds"), filling("steps")
    bins = [bin_word(*each) for each in size_bins(SIZE_EDGES_BYTES)]
    return [
        *(metric.name for metric in OF_A_RUN),
        *(f"{one}.{metric.name}" for one in classes for metric in OF_A_CLASS),
        *(f"{one}.{metric.name}" for one in rounds for metric in OF_ROUNDS),
        *(f"{one}.{metric.name}" for one in steps for metric in OF_STEPS),
        *(f"{one}.{size}.{key}" for one in classes for size in bins for key in BY_SIZE),
    ]


def meaning(name: str) -> str:
    """The meaning of a metric by its name in a run, such as `web.upto_10KB.fct_p99_ps`; or nothing."""
    declared = {metric.name: metric.meaning for metric in (*OF_STEPS, *OF_ROUNDS, *OF_A_CLASS)}
    whole = {metric.name: metric.meaning for metric in OF_A_RUN}
    return whole.get(name) or declared.get(name.rpartition(".")[2], "")


def check(patterns: Iterable[str], experiments: Iterable[Mapping[str, Any]], at: str) -> None:
    """Raises SpecError for each pattern (`*` matches any text) that no metric of these experiments has."""
    known = list(dict.fromkeys(name for experiment in experiments for name in names(experiment)))
    rule = "matches no metric of these runs (* matches any text)"
    faults = [
        Fault(at, rule, pattern, did_you_mean(pattern, known), "unknown-word")
        for pattern in patterns
        if not fnmatch.filter(known, pattern)
    ]
    if faults:
        raise SpecError(faults)
