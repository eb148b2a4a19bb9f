"""The metrics of a run, declared: name, unit, meaning. So they are known before anything runs.

`shallows.tables.metrics.with_sizes` computes them; a test holds the two to each other.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from shallows.document.schema import facts
from shallows.document.summary import DEFAULT, Summary
from shallows.errors import Fault, SpecError
from shallows.tables.metrics import NOT_BY_SIZE, bin_word, size_bins
from shallows.words import did_you_mean

__all__ = [
    "OF_A_CLASS",
    "OF_A_RUN",
    "OF_DATAGRAMS",
    "OF_ROUNDS",
    "OF_STEPS",
    "Metric",
    "bounds",
    "check",
    "meaning",
    "names",
    "unit",
]


class Metric(NamedTuple):
    """One metric. `unit` is empty for counts and shares; `least` and `most` are what it can be."""

    name: str
    unit: str
    meaning: str
    least: float = 0.0
    most: float | None = None


def _quantiles(stem: str, unit: str, meaning: str, least: float = 0.0) -> tuple[Metric, ...]:
    suffix = f"_{unit}" if unit else ""
    return tuple(
        Metric(f"{stem}_p{q}{suffix}", unit, f"{q}th percentile of {meaning}", least) for q in (50, 95, 99)
    )


_BUSIEST = "the switch port with the highest utilisation"

_MESSAGES = Metric("messages", "", "Finished messages.")

OF_A_RUN = (
    Metric("goodput_bps_total", "bps", "Unique bytes of all connections over the measured time."),
    Metric("jain", "", "Jain's index of fairness over the connections' goodputs, from 1/n to 1.", most=1.0),
    Metric("drops", "", "Packets dropped at all ports, for any reason."),
    Metric("marks", "", "Packets marked Congestion Experienced at all ports."),
    Metric("retransmissions", "", "Segments sent again."),
    Metric("timeouts", "", "Retransmission timeouts."),
    Metric("bottleneck_utilisation", "", f"Share of time in which {_BUSIEST} was sending.", most=1.0),
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
"""The metrics of every run."""

OF_A_CLASS = (
    Metric("goodput_bps", "bps", "Unique bytes of the class over the measured time."),
    Metric("goodput_mean_bps", "bps", "Mean over connections of each one's goodput over its own life."),
    Metric("marks", "", "Packets marked Congestion Experienced, as the receivers count them."),
    Metric("drops", "", "Packets of the class that were dropped; not known of Linux."),
    Metric("retransmissions", "", "Segments sent again."),
    Metric("timeouts", "", "Retransmission timeouts."),
    Metric("timeouts_head", "", "Timeouts while nothing of the current message was known to have arrived."),
    Metric("timeouts_tail", "", "Timeouts that miss an acknowledgement of a message's last segments."),
    Metric("timeouts_per_flow", "", "Mean number of timeouts of a connection."),
    Metric("wait_mean_ps", "ps", "Mean over connections of their mean wait in switch queues."),
    Metric("delay_mean_ps", "ps", "Mean over connections of their mean one-way delay."),
    Metric("srtt_mean_ps", "ps", "Mean over connections of their mean smoothed round-trip time."),
    Metric("cwnd_mean_bytes", "bytes", "Mean over connections of their mean congestion window over time."),
    Metric("alpha", "", "Mean over connections of DCTCP's alpha at the end.", most=1.0),
    *_quantiles("wait", "ps", "the wait in switch queues, over packets."),
    *_quantiles("delay", "ps", "the one-way delay, over packets."),
    _MESSAGES,
    Metric("messages_unfinished", "", "Messages that the run's end cut off; they have no completion time."),
    Metric("deadlines", "", "Messages whose deadline was met or missed."),
    Metric(
        "application_throughput", "", "Share of those that met it (Wilson et al., SIGCOMM 2011).", most=1.0
    ),
    Metric("fct_mean_ps", "ps", "Mean completion time of the finished messages."),
    *_quantiles("fct", "ps", "the completion time."),
    Metric("slowdown_mean", "", "Mean of completion time over the ideal time on the empty network.", 1.0),
    *_quantiles("slowdown", "", "the slowdown.", 1.0),
    Metric("acked_mean_ps", "ps", "Mean time until a message's last acknowledgement was back at the sender."),
    *_quantiles("acked", "ps", "that time."),
    Metric("slowdown_acked_mean", "", "Mean of that time over the same on the empty network.", 1.0),
    *_quantiles("slowdown_acked", "", "that slowdown.", 1.0),
)
"""The metrics of each class of traffic, as `CLASS.name`."""

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
"""The metrics of each load that fills the table of rounds, as `LOAD.name`."""

OF_STEPS = (
    Metric("round_ideal_mean_ps", "ps", "Mean ideal time of a finished round on the empty network."),
    Metric("round_slowdown_mean", "", "Mean of a round's completion time over its ideal time.", 1.0),
    *_quantiles("round_slowdown", "", "the slowdown of a round.", 1.0),
    Metric("steps", "", "Finished steps."),
    Metric("steps_unfinished", "", "Steps that the run's end cut off."),
    Metric("step_fct_mean_ps", "ps", "Mean completion time of a step, from its first rank's start."),
    Metric("step_slowdown_mean", "", "Mean of a step's completion time over its ideal time.", 1.0),
    *_quantiles("step_fct", "ps", "the completion time of a step."),
)
"""The metrics of each load that fills the table of steps, as `LOAD.name`."""


OF_DATAGRAMS = (
    Metric("datagrams", "", "Datagrams sent."),
    Metric("datagrams_lost", "", "Those that were dropped."),
    Metric("datagram_loss", "", "Share of the datagrams that were dropped, of those that ended.", most=1.0),
    Metric("datagrams_overtaken", "", "Those that arrived after a later one."),
    Metric("datagrams_late", "", "Those that waited for room in their host's port."),
    Metric("datagram_jitter_mean_ps", "ps", "Mean over senders of the jitter (RFC 3550)."),
    Metric("datagram_jitter_max_ps", "ps", "Largest jitter of a sender."),
)
"""The metrics of each load of datagrams, as `LOAD.name`."""


def names(experiment: Mapping[str, Any], summary: Summary = DEFAULT) -> list[str]:
    """The metrics that runs of a resolved experiment may have."""
    loads = experiment["traffic"]
    classes = sorted({load["class"] for load in loads.values()})

    def filling(table: str) -> list[str]:
        return [name for name, load in loads.items() if table in facts("traffic", load["kind"])["fills"]]

    rounds, steps, datagrams = filling("rounds"), filling("steps"), filling("datagrams")
    bins = [bin_word(*each) for each in size_bins(summary.edges)]
    messages = OF_A_CLASS[OF_A_CLASS.index(_MESSAGES) :]
    by_size = [metric for metric in messages if metric.name not in NOT_BY_SIZE]
    of_a_class, of_rounds, of_steps, by_size = (
        _with_percentiles(each, summary) for each in (OF_A_CLASS, OF_ROUNDS, OF_STEPS, by_size)
    )
    return [
        *(metric.name for metric in OF_A_RUN),
        *(f"{one}.{name}" for one in classes for name in of_a_class),
        *(f"{one}.{name}" for one in rounds for name in of_rounds),
        *(f"{one}.{name}" for one in steps for name in of_steps),
        *(f"{one}.{metric.name}" for one in datagrams for metric in OF_DATAGRAMS),
        *(f"{one}.{size}.{name}" for one in classes for size in bins for name in by_size),
    ]


def _with_percentiles(metrics: Sequence[Metric], summary: Summary) -> list[str]:
    """Their names, and those of the percentiles that the summary has beside the usual ones."""
    found = []
    for metric in metrics:
        found.append(metric.name)
        if "_p99" in metric.name:
            more = [part for part in summary.quantiles if part not in DEFAULT.quantiles]
            found += [metric.name.replace("_p99", f"_{part}") for part in more]
    return found


@cache
def _declared() -> tuple[dict[str, Metric], dict[str, Metric]]:
    """The metrics of a run, and those of its classes and loads, by name."""
    return {m.name: m for m in OF_A_RUN}, {
        m.name: m for m in (*OF_DATAGRAMS, *OF_STEPS, *OF_ROUNDS, *OF_A_CLASS)
    }


def _find(name: str) -> Metric | None:
    whole, parts = _declared()
    last = name.rpartition(".")[2]
    found = whole.get(name) or parts.get(last)
    if found is None and (other := re.search(r"_p(\d+(?:_\d+)?)(?=_|$)", last)):
        usual = parts.get(last.replace(other[0], "_p99"))
        percentile = other[1].replace("_", ".")
        found = usual and usual._replace(name=last, meaning=usual.meaning.replace("99th", f"{percentile}th"))
    return found


def meaning(name: str) -> str:
    """The meaning of a metric by its name in a run, such as `web.upto_10KB.fct_p99_ps`; or nothing."""
    found = _find(name)
    return found.meaning if found else ""


def unit(name: str) -> str:
    """The unit of a metric by its name: `bps`, `ps`, `bytes`, `packets`, or nothing for counts and shares."""
    found = _find(name)
    return found.unit if found else ""


def bounds(name: str) -> tuple[float, float | None]:
    """The least that a metric can be, and the most if there is one."""
    found = _find(name)
    return (found.least, found.most) if found else (0.0, None)


def check(
    patterns: Iterable[str],
    experiments: Iterable[Mapping[str, Any]],
    at: str,
    summary: Summary = DEFAULT,
) -> None:
    """Raises SpecError for each pattern (`*` matches any text) that no metric of these experiments has."""
    known = list(dict.fromkeys(name for experiment in experiments for name in names(experiment, summary)))
    rule = "matches no metric of these runs (* matches any text)"
    faults = [
        Fault(at, rule, pattern, did_you_mean(pattern, known), "unknown-word")
        for pattern in patterns
        if not fnmatch.filter(known, pattern)
    ]
    if faults:
        raise SpecError(faults)
