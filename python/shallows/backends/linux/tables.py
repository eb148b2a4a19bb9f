"""The guest's answers as the tables of a run. Linux lacks some values, which are null (`docs/linux.md`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.backends.linux import controls, datagrams, packets, transports
from shallows.backends.linux.links import ETHERNET_BYTES
from shallows.backends.linux.loads import in_rounds
from shallows.backends.linux.scenario import address, traced_classes
from shallows.tables.drops import causes

if TYPE_CHECKING:
    import polars as pl

    from shallows.backends.linux.network import Scenario

UNKNOWN_SSTHRESH = 0x7FFFFFFF
"""Linux's slow-start threshold before there is one."""

__all__ = ["notes", "tables", "until"]


def notes(found: Mapping[str, pl.DataFrame], made: Scenario) -> list[str]:
    """A line for each port of a step whose `marks` may be off, and by how much at most.

    RED counts a mark before its FIFO turns out to be full, and nothing tells marked packets from others among
    those dropped so.
    """
    import polars as pl

    blind = found["flows"].filter(pl.col("marks") == 0)
    unmarked = int(blind["retransmissions"].sum())
    lines = []
    for port, row in zip(made.ports, found["queues"].iter_rows(named=True), strict=True):
        full = row["drops_full"]
        if not port.step or not full or not row["marks"]:
            continue
        if not port.marks_full:
            lines.append(
                f"{port.name}: marks has up to {full} of packets that were marked and then dropped,"
                " since some loads have no ECN"
            )
        elif unmarked:
            lines.append(
                f"{port.name}: marks lacks up to {min(full, unmarked)}, since {len(blind)} connections"
                " without a mark resent segments; on Linux a connection whose SYN was lost has no ECN"
            )
    return lines


def tables(
    directory: Path, made: Scenario, experiment: Mapping[str, Any], simulated: Mapping[str, pl.DataFrame]
) -> dict[str, pl.DataFrame]:
    """Every table that the simulator makes, with its columns and types; `simulated` gives these.

    `simulated` has no warm-up (`controls.with_stand_ins`). Queue lengths are samples without the packet in
    service, as qdiscs count.
    """
    import polars as pl

    duration, warmup = (made.numbers[key] for key in ("duration", "warmup"))
    names = ("flows", "messages", "rounds", "queues", "samples", "trace", "ports", "arrivals")
    read = _read(directory, names, made)
    flows = _flows(read["flows"], made, experiment, warmup, duration)
    connections = len(flows)
    sent = datagrams.flows(directory, made, experiment, (warmup, duration), connections)
    trace = _flow_trace(read["trace"], read["flows"], made, experiment)
    counted = pl.col("start_ps") >= warmup
    queues = _queues(read["queues"], read["samples"], made, warmup, duration)
    found = {
        "flows": _with(flows.filter((pl.col("end_ps") >= warmup).fill_null(True)), sent),
        "messages": _messages(read["messages"], flows, made, experiment, simulated).filter(counted),
        "rounds": _rounds(read["rounds"], made).filter(counted),
        "queues": queues,
        "queue_histogram": _histogram(read["samples"], made, warmup),
        "queue_trace": _trace(read["samples"], made, experiment),
        "port_trace": _port_trace(read["ports"], read["arrivals"], made, experiment),
        "flow_trace": _with(trace, datagrams.trace(directory, made, experiment, connections)).sort(
            "time_ps", maintain_order=True
        ),
        "datagrams": datagrams.table(directory, made, experiment, connections),
    }
    addresses = [address(number) for number in range(len(made.hosts))]
    found |= packets.tables(directory, made, experiment, read["flows"], queues, addresses)
    return {name: _shaped(found.get(name), table) for name, table in simulated.items()}


def until(
    directory: Path,
    made: Scenario,
    experiment: Mapping[str, Any],
    simulated: Mapping[str, pl.DataFrame],
    ended_ps: int,
) -> dict[str, pl.DataFrame]:
    """`queues`, `flows`, `datagrams` and traces of a run that was counted from 0 to `ended_ps`.

    The counts of a port are null if a program has removed it.
    """
    import polars as pl

    read = _read(directory, ("flows", "queues", "samples", "trace", "ports", "arrivals"), made)
    queues = _queues(read["queues"], read["samples"], made, 0, ended_ps)
    gone = pl.Series(read["queues"]["gone"] == 1)
    counts = [
        name for name in queues.columns if name not in ("queue", "port", "rate_bps", "over_ps", "is_switch")
    ]
    flows = _flows(read["flows"], made, experiment, 0, ended_ps)
    sent = datagrams.flows(directory, made, experiment, (0, ended_ps), len(flows))
    found = {
        "queues": queues.with_columns(pl.when(~gone).then(pl.col(counts)).name.keep()),
        "flows": _with(flows, sent),
        "datagrams": datagrams.table(directory, made, experiment, len(flows)),
    }
    probe = experiment["probe"]
    if probe["queue_trace"] != "off":
        found["queue_trace"] = _trace(read["samples"], made, experiment)
    if probe["port_trace"] != "off":
        found["port_trace"] = _port_trace(read["ports"], read["arrivals"], made, experiment)
    if probe["flow_trace"] != "off":
        trace = _flow_trace(read["trace"], read["flows"], made, experiment)
        further = datagrams.trace(directory, made, experiment, len(flows))
        found["flow_trace"] = _with(trace, further).sort("time_ps", maintain_order=True)
    return {name: _shaped(table, simulated[name]) for name, table in found.items()}


def _read(directory: Path, names: Sequence[str], made: Scenario) -> dict[str, pl.DataFrame]:
    """The guest's files, in bytes of the link: without headers that the disciplines of some ports count."""
    import polars as pl

    # Whole numbers all; a file without rows would else have columns of text.
    read = {name: pl.read_csv(directory / f"{name}.csv").cast(pl.Int64) for name in names}
    headers = pl.DataFrame(
        {"queue": range(len(made.ports)), "header": [port.header for port in made.ports]},
        schema={"queue": pl.Int64, "header": pl.Int64},
    )
    if headers["header"].sum() == 0:
        return read

    def less(table: pl.DataFrame, **packets_of: str) -> pl.DataFrame:
        joined = table.join(headers, on="queue", how="left", maintain_order="left")
        own = [pl.col(size) - pl.col("header") * pl.col(count) for size, count in packets_of.items()]
        return joined.with_columns(own).drop("header")

    queues = read["queues"].with_columns(pl.int_range(pl.len()).alias("queue"))
    queues = less(queues, bytes_before="packets_before", bytes="packets", held_bytes="held").drop("queue")
    read |= {"queues": queues, "samples": less(read["samples"], bytes="packets")}
    if "ports" in read:
        read["ports"] = less(read["ports"], bytes="packets", backlog="length")
    return read


def _with(table: pl.DataFrame, further: pl.DataFrame | None) -> pl.DataFrame:
    """A table with further rows, which lack some of its columns."""
    import polars as pl

    return table if further is None else pl.concat([table, further], how="diagonal_relaxed")


def _shaped(found: pl.DataFrame | None, like: pl.DataFrame) -> pl.DataFrame:
    """`found` with the columns and types of `like`; columns that it lacks are null."""
    import polars as pl

    if found is None:
        return like.clear()
    columns = [
        (pl.col(name) if name in found.columns else pl.lit(None)).cast(dtype).alias(name)
        for name, dtype in like.schema.items()
    ]
    return found.select(columns)


def _flows(
    raw: pl.DataFrame, made: Scenario, experiment: Mapping[str, Any], warmup: int, duration: int
) -> pl.DataFrame:
    import polars as pl

    loads, hosts = pl.Series(made.loads), pl.Series(made.hosts)
    classes = pl.Series([experiment["traffic"][name]["class"] for name in made.loads])
    names = pl.Series([controls.shown_name(experiment["traffic"][name]["transport"]) for name in made.loads])
    ended = pl.col("ended_ns") >= 0
    end = pl.when(ended).then(pl.col("ended_ns") * 1000)
    from_ = pl.max_horizontal(pl.col("opened_ns") * 1000, warmup)
    to = pl.min_horizontal(end.fill_null(duration), duration)
    arrived = pl.col("received") - pl.col("received_before")  # a socket reports no byte out of order
    samples = pl.when(pl.col("samples") > 0).then("samples")
    return raw.with_row_index("id").select(
        "id",
        pl.col("load").map_elements(lambda i: loads[i], pl.String).alias("traffic"),
        pl.col("load").map_elements(lambda i: classes[i], pl.String).alias("class"),
        pl.col("load").map_elements(lambda i: names[i], pl.String).alias("cc"),
        pl.col("from").map_elements(lambda i: hosts[i], pl.String).alias("src"),
        pl.col("to").map_elements(lambda i: hosts[i], pl.String).alias("dst"),
        pl.when(pl.col("forever") == 0).then(pl.col("written")).alias("bytes"),
        (pl.col("opened_ns") * 1000).alias("start_ps"),
        end.alias("end_ps"),
        (end - pl.col("opened_ns") * 1000).alias("fct_ps"),
        pl.when(to > from_).then(arrived * 8e12 / (to - from_)).otherwise(0.0).alias("goodput_bps"),
        pl.col("received").alias("delivered_bytes"),
        arrived.alias("arrived_bytes"),
        _since_warmup("segments").alias("packets_sent"),
        *(_since_warmup(name) for name in ("retransmissions", "timeouts", "marks")),
        (pl.col("srtt_sum_us") * 1e6 / samples).alias("srtt_mean_ps"),
        (pl.col("cwnd_sum") * pl.col("mss") / samples).alias("cwnd_mean_bytes"),
        (pl.col("cwnd") * pl.col("mss")).cast(pl.Float64).alias("cwnd_bytes"),
        pl.when(pl.col("ssthresh") != UNKNOWN_SSTHRESH)
        .then(pl.col("ssthresh") * pl.col("mss"))
        .alias("ssthresh_bytes"),
        pl.when(pl.col("load").is_in(_dctcp(made, experiment))).then(pl.col("alpha") / 1024).alias("alpha"),
    )


def _since_warmup(name: str) -> pl.Expr:
    """Null where this kernel does not count it."""
    import polars as pl

    counted = pl.col(name) - pl.max_horizontal(pl.col(f"{name}_before"), 0)
    return pl.when(pl.col(name) >= 0).then(counted).alias(name)


def _dctcp(made: Scenario, experiment: Mapping[str, Any]) -> list[int]:
    """Numbers of the loads whose flows have an alpha."""
    loads = {name: load["transport"] for name, load in transports.tcp_loads(experiment).items()}
    dctcp = {name for name, transport in loads.items() if controls.kernel_name(transport) == "dctcp"}
    return [number for number, name in enumerate(made.loads) if name in dctcp]


def _messages(
    raw: pl.DataFrame,
    flows: pl.DataFrame,
    made: Scenario,
    experiment: Mapping[str, Any],
    simulated: Mapping[str, pl.DataFrame],
) -> pl.DataFrame:
    import polars as pl

    asking = {
        name: made.hosts[made.ends[name]["to"][0]]
        for name, load in experiment["traffic"].items()
        if in_rounds(load)
    }
    # The requests of an incast are no messages: rounds count from them.
    requests = [(pl.col("traffic") == name) & (pl.col("src") == host) for name, host in asking.items()]
    end = pl.when(pl.col("end_ns") >= 0).then(pl.col("end_ns") * 1000)
    start = pl.col("start_ns") * 1000
    own = raw.with_columns(pl.col("flow").cast(pl.UInt32)).join(
        flows.filter(~pl.any_horizontal(pl.lit(False), *requests)).select(
            pl.col("id").alias("flow"), "traffic", "class"
        ),
        on="flow",
    )
    place = pl.int_range(pl.len()).over("flow").cast(pl.UInt32).alias("place")
    own = own.with_columns(place).join(
        _deadlines(made, experiment, simulated), on=["flow", "place"], how="left", maintain_order="left"
    )
    fixed = _fixed_deadlines(made, experiment)
    allowed = pl.coalesce(
        "deadline_ps", pl.col("traffic").replace_strict(fixed, default=None).cast(pl.UInt64)
    ).cast(pl.Int64)
    # As in the simulator: a message under way has missed its deadline once that has passed.
    missed = end.is_null() & (made.numbers["duration"] - start >= allowed)
    met = pl.when(missed).then(False).otherwise(end - start <= allowed)
    return own.select(
        "flow",
        "traffic",
        "class",
        "bytes",
        start.alias("start_ps"),
        end.alias("end_ps"),
        (end - start).alias("fct_ps"),
        allowed.alias("deadline_ps"),
        met.cast(pl.UInt32).alias("met"),
    )


def _deadlines(
    made: Scenario, experiment: Mapping[str, Any], simulated: Mapping[str, pl.DataFrame]
) -> pl.DataFrame:
    """The simulator's deadlines of messages that leave at their time, by connection and place on it."""
    import polars as pl

    open_loops = [name for name in made.loads if not in_rounds(experiment["traffic"][name])]
    flows = simulated["flows"].filter(pl.col("traffic").is_in(open_loops))
    number = pl.int_range(pl.len(), dtype=pl.UInt32).alias("number")  # of the guest's connections
    numbers = flows.select(pl.col("id").alias("flow"), number)
    place = pl.int_range(pl.len()).over("number").cast(pl.UInt32).alias("place")
    found = simulated["messages"].sort("start_ps", maintain_order=True).join(numbers, on="flow")
    return found.with_columns(place).select(pl.col("number").alias("flow"), "place", "deadline_ps")


def _fixed_deadlines(made: Scenario, experiment: Mapping[str, Any]) -> dict[str, int]:
    """The deadline of the answers of each incast that has one."""
    paths = {name: f"traffic.{name}.deadline.span" for name in made.loads}
    incasts = [name for name in made.loads if in_rounds(experiment["traffic"][name])]
    return {name: made.numbers[paths[name]] for name in incasts if paths[name] in made.numbers}


def _rounds(raw: pl.DataFrame, made: Scenario) -> pl.DataFrame:
    import polars as pl

    start, end = pl.col("start_ns") * 1000, pl.col("end_ns") * 1000
    name = pl.col("load").map_elements(lambda i: made.loads[i], pl.String).alias("traffic")
    same = ["round", "responses", "bytes"]
    timeouts = (
        pl.when(pl.col("timeouts") >= 0).then("timeouts").alias("timeouts")
    )  # where the kernel counts them
    times = [start.alias("start_ps"), end.alias("end_ps"), (end - start).alias("fct_ps")]
    return raw.select(name, *same, timeouts, *times)


def _queues(
    raw: pl.DataFrame, samples: pl.DataFrame, made: Scenario, warmup: int, duration: int
) -> pl.DataFrame:
    import polars as pl

    def difference(name: str) -> pl.Expr:
        return pl.col(name) - pl.col(f"{name}_before")

    late = _measured(samples, made, warmup, duration)
    packets = pl.col("packets")
    percentiles = [packets.quantile(q / 100, "lower").alias(f"p{q}_packets") for q in (5, 50, 95, 99)]
    lengths = late.group_by("queue").agg(
        packets.mean().alias("mean_packets"),
        packets.std(ddof=0).alias("sd_packets"),
        packets.min().alias("min_packets"),
        packets.max().alias("max_packets"),
        *percentiles,
        pl.col("bytes").mean().alias("mean_bytes"),
        pl.col("bytes").max().alias("max_bytes"),
    )
    over = duration - warmup
    rates = [port.rate_bps for port in made.ports]
    means = [port.mean_bps for port in made.ports]
    counted = raw.with_row_index("queue").select(
        pl.col("queue").cast(pl.Int64),
        pl.Series("port", [port.name for port in made.ports]),
        pl.Series("rate_bps", rates),
        pl.lit(over).alias("over_ps"),
        (difference("packets") + difference("drops") + pl.col("held")).alias("packets_in"),
        difference("packets").alias("packets_out"),
        pl.col("held").alias("packets_held"),
        difference("bytes").alias("bytes_out"),
        pl.col("held_bytes").alias("bytes_held"),
        difference("full").alias("drops_full"),
        (difference("drops") - difference("full")).alias("drops_aqm"),
        difference("lost").alias("drops_wire"),
        (difference("drops") + difference("lost")).alias("drops"),
        *(pl.lit(0).alias(cause.column) for cause in causes() if cause.name not in ("full", "aqm", "wire")),
        # A mark counts where its packet was sent: those of packets that found the FIFO full are taken off.
        (
            difference("marks")
            - difference("full") * pl.Series([int(port.marks_full) for port in made.ports], dtype=pl.Int64)
        )
        .clip(lower_bound=0)
        .alias("marks"),
        (difference("bytes") * 8e12 / over / pl.Series("rate", means)).alias("utilisation"),
        pl.Series("is_switch", [int(port.switch) for port in made.ports]),
    )
    return counted.join(lengths, on="queue", how="left").sort("queue")


def _histogram(samples: pl.DataFrame, made: Scenario, warmup: int) -> pl.DataFrame:
    import polars as pl

    late = _measured(samples, made, warmup, made.numbers["duration"])
    counted = late.group_by("queue", "packets").len().sort("queue", "packets")
    time = pl.col("len").cast(pl.UInt64) * made.sample_ps  # a count has 32 bits, which a time overflows
    return counted.select(_port(made), "packets", time.alias("time_ps"))


def _measured(samples: pl.DataFrame, made: Scenario, warmup: int, duration: int) -> pl.DataFrame:
    """Samples from the warm-up to the end, of the ports whose lengths `queues` has."""
    import polars as pl

    ports = [number for number, port in enumerate(made.ports) if port.measured]
    at = pl.col("time_ns") * 1000
    # A sample stands for the time up to the next one, so one at the end of the run for nothing.
    return samples.filter(at >= warmup, at < duration, pl.col("queue").is_in(ports))


def _traced(made: Scenario) -> list[int]:
    return [number for number, port in enumerate(made.ports) if port.traced]


def _trace(samples: pl.DataFrame, made: Scenario, experiment: Mapping[str, Any]) -> pl.DataFrame:
    """The table `queue_trace` of the ports that the probe chose."""
    import polars as pl

    chosen = _traced(made) if experiment["probe"]["queue_trace"] != "off" else []
    found = samples.filter(pl.col("queue").is_in(chosen))
    return found.select((pl.col("time_ns") * 1000).alias("time_ps"), _port(made), "packets", "bytes")


def _port_trace(
    raw: pl.DataFrame, arrivals: pl.DataFrame, made: Scenario, experiment: Mapping[str, Any]
) -> pl.DataFrame:
    """Arrivals of each interval. With one class, bytes of dropped packets are not known.

    With several, neither marks nor drops are.
    """
    import polars as pl

    def grown(*names: str, over: Sequence[str] = ("queue",)) -> pl.Expr:
        total = pl.sum_horizontal(*names)
        return total - total.shift(1, fill_value=0).over(over)

    if classes := traced_classes(experiment):
        each = ("queue", "class")
        packets = grown("packets", over=each)
        return arrivals.select(
            (pl.col("time_ns") * 1000).alias("time_ps"),
            _port(made),
            pl.col("class").map_elements(lambda i: classes[i], pl.String),
            packets.alias("packets_in"),
            (grown("bytes", over=each) - ETHERNET_BYTES * packets).alias("bytes_in"),
        )
    name = next(iter(experiment["traffic"].values()))["class"]
    return raw.select(
        (pl.col("time_ns") * 1000).alias("time_ps"),
        _port(made),
        pl.lit(name).alias("class"),
        grown("packets", "length", "drops").alias("packets_in"),
        grown("bytes", "backlog").alias("bytes_in"),
        grown("marks").alias("marks"),
        grown("drops", "lost").alias("drops"),
    )


def _port(made: Scenario) -> pl.Expr:
    import polars as pl

    return pl.col("queue").map_elements(lambda i: made.ports[i].name, pl.String).alias("port")


def _flow_trace(
    raw: pl.DataFrame, flows: pl.DataFrame, made: Scenario, experiment: Mapping[str, Any]
) -> pl.DataFrame:
    import polars as pl

    wanted = experiment["probe"]["classes"]
    wanted = [wanted] if isinstance(wanted, str) else wanted
    classes = [experiment["traffic"][name]["class"] for name in made.loads]
    traced = [number for number, name in enumerate(classes) if "*" in wanted or name in wanted]
    dctcp = _dctcp(made, experiment)
    own = flows.with_row_index("flow").select(pl.col("flow").cast(pl.Int64), "mss", "load")
    joined = raw.join(own, on="flow", how="left").filter(pl.col("load").is_in(traced))
    return joined.select(
        (pl.col("time_ns") * 1000).alias("time_ps"),
        "flow",
        (pl.col("cwnd") * pl.col("mss")).alias("cwnd_bytes"),
        pl.when(pl.col("ssthresh") != UNKNOWN_SSTHRESH)
        .then(pl.col("ssthresh") * pl.col("mss"))
        .alias("ssthresh_bytes"),
        (pl.col("srtt_us") * 1_000_000).alias("srtt_ps"),
        pl.when(pl.col("load").is_in(dctcp)).then(pl.col("alpha") / 1024).alias("alpha"),
        pl.col("delivered").alias("delivered_bytes"),
        pl.col("delivered").alias("arrived_bytes"),
        (pl.col("flight") * pl.col("mss")).alias("flight_bytes"),
    )
