"""Loads of datagrams: their lines of the guest's plan, their faults, and their tables.

The simulator's law says when each datagram is sent and how large it is (`_core.emissions`). The guest sends
it from a UDP socket and counts what comes (`guest/datagrams.c`).

Left out: a sender's buffer holds whole buffers of the kernel, which are larger than their packets. In 212 992
bytes Linux has 92 full datagrams, and the simulator 142: so others are late where a host's port is full.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.backends.linux import transports
from shallows.backends.linux.transports import LEAST_BYTES
from shallows.document import kernel_settings
from shallows.errors import Fault

if TYPE_CHECKING:
    import polars as pl

    from shallows.backends.linux.network import Scenario

HEADER = "28B"
"""IPv4 and UDP: the kernel's."""

LEAST_BUFFER = 4608
"""The least send buffer of a socket (SOCK_MIN_SNDBUF)."""

ECN = {"not-ect": 0, "ect0": 2, "ect1": 1}
"""By the setting `ecn`: the codepoint in the type of service."""

KERNELS_BUFFER = "212992B"
"""net.core.wmem_default."""

DRAIN_PS = 10_000_000_000_000
"""How long at most the guest waits for datagrams under way at the end, beside the delays of all wires."""

MOST_TEXT = 64_000_000
"""Characters of the list of all datagrams, of which two million rows have as many."""

__all__ = ["flows", "found", "lines", "memory_mb", "of_network", "table", "trace", "transport_faults"]


def found(experiment: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The loads of datagrams, by name."""
    loads = experiment["traffic"].items()
    return {name: load for name, load in loads if transports.datagrams(load)}


def transport_faults(path: str, load: Mapping[str, Any]) -> list[Fault]:
    """The settings of a load that Linux cannot do."""
    transport, numbers = load["transport"], transports.of_load(load).numbers
    faults = []
    if transport["header"] != HEADER:
        rule = f"must be {HEADER} on Linux, whose datagrams have these headers"
        faults.append(Fault(f"{path}.transport.header", rule, transport["header"]))
    if transport["priority"]:
        rule = "is not supported on Linux: only the simulator has priorities"
        faults.append(Fault(f"{path}.transport.priority", rule, transport["priority"]))
    if not LEAST_BUFFER <= numbers["send_buffer"] < 2**31:
        rule = f"must be from {LEAST_BUFFER}B to 2 GB on Linux (SOCK_MIN_SNDBUF)"
        faults.append(Fault(f"{path}.transport.send_buffer", rule, transport["send_buffer"]))
    return faults


def of_network(experiment: Mapping[str, Any]) -> list[Fault]:
    """All that Linux cannot do of the datagrams themselves."""
    faults = []
    loads = found(experiment)
    for name, pairs in _emissions(experiment).items():
        if pairs is None:
            rule = "must send at most 20 million datagrams in a run on Linux, and 2 million at random times"
            faults.append(Fault(f"traffic.{name}", rule))
            continue
        least = min((row[3] for rows in pairs for row in rows), default=LEAST_BYTES)
        if least < LEAST_BYTES:
            rule = f"must have datagrams of at least {LEAST_BYTES} bytes on Linux, which carry their number"
            load = loads[name]
            key = next(key for key in ("bytes", "sizes", "trace") if load[key] not in ("none", []))
            faults.append(Fault(f"traffic.{name}.{key}", rule, f"{least}B"))
    return faults


def _emissions(experiment: Mapping[str, Any]) -> dict[str, Any]:
    """By load, for each pair of hosts: rows of when, how far apart, how many, and how large. None stands
    for too many of them.
    """
    from shallows import _core

    loads = found(experiment)
    text = _core.emissions(json.dumps(kernel_settings.without(experiment))) if loads else "{}"
    return json.loads(text) if len(text) < MOST_TEXT else dict.fromkeys(loads)


def memory_mb(plan: Iterable[str]) -> int:
    """Memory of the guest for the datagrams of a plan."""
    rows = [line.split() for line in plan if line.startswith("emit ")]
    return (64 * len(rows) + 32 * sum(int(words[3]) for words in rows)) >> 20


def lines(
    experiment: Mapping[str, Any],
    network: Mapping[str, Any],
    hosts: Mapping[str, int],
    flows: pl.DataFrame,
) -> Iterator[str]:
    """Lines of the plan; `flows` is the simulator's table, whose rows are the pairs in their order."""
    if not found(experiment) or not len(flows):
        return
    numbers = {name: i for i, name in enumerate(experiment["traffic"])}
    for name, pairs in _emissions(experiment).items():
        transport = experiment["traffic"][name]["transport"]
        buffer = transports.of_load(experiment["traffic"][name]).numbers["send_buffer"]
        buffer = 0 if transport["send_buffer"] == KERNELS_BUFFER else buffer
        ends = _rows(flows, name).select("src", "dst").rows()
        for (source, target), rows in zip(ends, pairs, strict=True):
            settings = f"{ECN[transport['ecn']]} {buffer}"
            yield f"datagrams {numbers[name]} {hosts[source]} {hosts[target]} {settings}"
            yield from (f"emit {at} {gap} {count} {size}" for at, gap, count, size in rows)
    delays = sum(_delays(network))
    yield f"drain {(DRAIN_PS + delays) // 1000} {len(network['nodes'])}"


def _delays(network: Mapping[str, Any]) -> Iterator[int]:
    """The longest delay of each wire."""
    for port in network["ports"]:
        changes = port.get("changes", ())
        yield max([port["delay_ps"], *(change["delay_ps"] or 0 for change in changes)])


def _rows(flows: pl.DataFrame, load: str) -> pl.DataFrame:
    import polars as pl

    return flows.filter(pl.col("traffic") == load).sort("id")


def _raw(directory: Path, made: Scenario, experiment: Mapping[str, Any]) -> pl.DataFrame | None:
    """The guest's counts with the names of loads and hosts, or nothing without datagrams."""
    import polars as pl

    file = directory / "datagrams.csv"
    if not file.exists():
        return None
    loads, hosts = pl.Series(made.loads), pl.Series(made.hosts)
    classes = pl.Series([experiment["traffic"][name]["class"] for name in made.loads])
    # The sum of delays may be large, but fits 64 bits.
    raw = pl.read_csv(file).cast(pl.Int64).with_row_index("pair")
    return raw.with_columns(
        loads.gather(raw["load"]).alias("traffic"),
        classes.gather(raw["load"]).alias("class"),
        hosts.gather(raw["from"]).alias("src"),
        hosts.gather(raw["to"]).alias("dst"),
    )


def table(
    directory: Path, made: Scenario, experiment: Mapping[str, Any], connections: int
) -> pl.DataFrame | None:
    """The table `datagrams`; flows of datagrams have their numbers behind those of `connections`."""
    import polars as pl

    raw = _raw(directory, made, experiment)
    if raw is None:
        return None
    lost = pl.col("sent") - pl.col("arrived") - pl.col("in_flight")
    ended = pl.col("sent") - pl.col("in_flight")
    any_came, several = pl.col("arrived") > 0, pl.col("jitter_fs") >= 0
    return raw.select(
        (pl.col("pair") + connections).alias("flow"),
        *("traffic", "class", "src", "dst", "sent", "arrived"),
        lost.alias("lost"),
        "in_flight",
        pl.when(ended > 0).then(lost / ended).alias("loss"),
        *("copies", "overtaken", "late"),
        (pl.col("late_max_ns") * 1000).alias("late_max_ps"),
        "arrived_bytes",
        pl.when(any_came).then(pl.col("delay_min_ns") * 1000).alias("delay_min_ps"),
        pl.when(any_came).then(pl.col("delay_sum_ns") * 1000.0 / pl.col("arrived")).alias("delay_mean_ps"),
        pl.when(any_came).then(pl.col("delay_max_ns") * 1000).alias("delay_max_ps"),
        pl.when(several).then(pl.col("jitter_fs") / 1000.0).alias("jitter_ps"),
    )


def flows(
    directory: Path,
    made: Scenario,
    experiment: Mapping[str, Any],
    span: tuple[int, int],
    connections: int,
) -> pl.DataFrame | None:
    """Rows of `flows`, as the simulator has them; `span` is when counting begins and ends."""
    import polars as pl

    raw = _raw(directory, made, experiment)
    if raw is None:
        return None
    begin, end = span
    arrived = pl.col("received") - pl.col("received_before")
    return raw.select(
        (pl.col("pair") + connections).alias("id"),
        *("traffic", "class"),
        pl.lit("none").alias("cc"),
        *("src", "dst"),
        pl.lit(0).alias("start_ps"),
        (arrived * 8e12 / (end - begin)).alias("goodput_bps"),
        pl.col("received").alias("delivered_bytes"),
        arrived.alias("arrived_bytes"),
        pl.col("sent").alias("packets_sent"),
        *(
            pl.lit(0).alias(name)
            for name in ("retransmissions", "timeouts", "fast_recoveries", "ecn_reductions")
        ),
        "marks",
    )


def trace(
    directory: Path, made: Scenario, experiment: Mapping[str, Any], connections: int
) -> pl.DataFrame | None:
    """Rows of `flow_trace`."""
    import polars as pl

    raw = _raw(directory, made, experiment)
    if raw is None:
        return None
    wanted = experiment["probe"]["classes"]
    wanted = [wanted] if isinstance(wanted, str) else wanted
    own = raw.select(pl.col("pair").cast(pl.Int64), "class")
    rows = pl.read_csv(directory / "datagram_trace.csv").cast(pl.Int64).join(own, on="pair", how="left")
    if "*" not in wanted:
        rows = rows.filter(pl.col("class").is_in(wanted))
    return rows.select(
        (pl.col("time_ns") * 1000).alias("time_ps"),
        (pl.col("pair") + connections).alias("flow"),
        pl.col("delivered").alias("delivered_bytes"),
        pl.col("delivered").alias("arrived_bytes"),
        pl.lit(0).alias("flight_bytes"),
    )
