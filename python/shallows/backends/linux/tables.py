"""The guest's answers as the tables of a run. Linux lacks some values, which are null (`docs/linux.md`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.backends.linux import controls

if TYPE_CHECKING:
    import polars as pl

    from shallows.backends.linux.scenario import Scenario

UNKNOWN_SSTHRESH = 0x7FFFFFFF
"""Linux's slow-start threshold before there is one."""

__all__ = ["tables", "until"]


def tables(
    directory: Path, made: Scenario, experiment: Mapping[str, Any], simulated: Mapping[str, pl.DataFrame]
) -> dict[str, pl.DataFrame]:
    """Every table that the simulator makes, with its columns and types; `simulated` gives these.

    Queue lengths are samples without the packet in service, as qdiscs count.
    """
    import polars as pl

    duration, warmup = (made.numbers[key] for key in ("duration", "warmup"))
    names = ("flows", "messages", "rounds", "queues", "samples", "trace")
    # Whole numbers all; a file without rows would else have columns of text.
    read = {name: pl.read_csv(directory / f"{name}.csv").cast(pl.Int64) for name in names}
    flows = _flows(read["flows"], made, experiment, warmup, duration)
    found = {
        "flows": flows,
        "messages": _messages(read["messages"], flows, made, experiment),
        "rounds": _rounds(read["rounds"], made),
        "queues": _queues(read["queues"], read["samples"], made, warmup, duration),
        "queue_histogram": _histogram(read["samples"], made, warmup),
        "queue_trace": _trace(read["samples"], made, simulated["queue_trace"]),
        "flow_trace": _flow_trace(read["trace"], read["flows"], made, experiment),
    }
    return {name: _shaped(found.get(name), table) for name, table in simulated.items()}


def until(
    directory: Path,
    made: Scenario,
    experiment: Mapping[str, Any],
    simulated: Mapping[str, pl.DataFrame],
    ended_ps: int,
) -> dict[str, pl.DataFrame]:
    """`queues` and `flows` of a run that was counted from 0 to `ended_ps`."""
    import polars as pl

    read = {
        name: pl.read_csv(directory / f"{name}.csv").cast(pl.Int64) for name in ("flows", "queues", "samples")
    }
    found = {
        "queues": _queues(read["queues"], read["samples"], made, 0, ended_ps),
        "flows": _flows(read["flows"], made, experiment, 0, ended_ps),
    }
    return {name: _shaped(table, simulated[name]) for name, table in found.items()}


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
    delivered = pl.col("received") - pl.col("received_before")
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
        pl.when(to > from_).then(delivered * 8e12 / (to - from_)).otherwise(0.0).alias("goodput_bps"),
        delivered.alias("delivered_bytes"),
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
    names = [controls.kernel_name(experiment["traffic"][name]["transport"]) for name in made.loads]
    return [number for number, name in enumerate(names) if name == "dctcp"]


def _messages(
    raw: pl.DataFrame, flows: pl.DataFrame, made: Scenario, experiment: Mapping[str, Any]
) -> pl.DataFrame:
    import polars as pl

    asking = {
        name: made.hosts[made.ends[name]["to"][0]]
        for name, load in experiment["traffic"].items()
        if load["kind"] == "incast"
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
    return own.select(
        "flow",
        "traffic",
        "class",
        "bytes",
        start.alias("start_ps"),
        end.alias("end_ps"),
        (end - start).alias("fct_ps"),
    )


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

    late = samples.filter(pl.col("time_ns") * 1000 >= warmup)
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
    counted = raw.with_row_index("queue").select(
        pl.col("queue").cast(pl.Int64),
        pl.Series("port", made.ports),
        pl.Series("rate_bps", made.rates_bps),
        pl.lit(over).alias("over_ps"),
        (difference("packets") + difference("drops")).alias("packets_in"),
        difference("packets").alias("packets_out"),
        pl.col("held").alias("packets_held"),
        difference("bytes").alias("bytes_out"),
        pl.col("held_bytes").alias("bytes_held"),
        difference("full").alias("drops_full"),
        (difference("drops") - difference("full")).alias("drops_aqm"),
        *(pl.lit(0).alias(f"drops_{cause}") for cause in ("evicted", "wire", "buffer")),
        difference("marks").alias("marks"),
        (difference("bytes") * 8e12 / over / pl.Series("rate", made.rates_bps)).alias("utilisation"),
        pl.lit(1).alias("is_switch"),
    )
    return counted.join(lengths, on="queue", how="left").sort("queue")


def _histogram(samples: pl.DataFrame, made: Scenario, warmup: int) -> pl.DataFrame:
    import polars as pl

    late = samples.filter(pl.col("time_ns") * 1000 >= warmup)
    counted = late.group_by("queue", "packets").len().sort("queue", "packets")
    time = pl.col("len").cast(pl.UInt64) * made.sample_ps  # a count has 32 bits, which a time overflows
    return counted.select(_port(made), "packets", time.alias("time_ps"))


def _trace(samples: pl.DataFrame, made: Scenario, simulated: pl.DataFrame) -> pl.DataFrame:
    """Of the ports that the probe chose, which the simulator has traced."""
    import polars as pl

    found = samples.select((pl.col("time_ns") * 1000).alias("time_ps"), _port(made), "packets", "bytes")
    return found.filter(pl.col("port").is_in(simulated["port"].unique().to_list()))


def _port(made: Scenario) -> pl.Expr:
    import polars as pl

    return pl.col("queue").map_elements(lambda i: made.ports[i], pl.String).alias("port")


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
        (pl.col("flight") * pl.col("mss")).alias("flight_bytes"),
    )
