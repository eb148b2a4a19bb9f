"""Numbers of one run: pure functions of its tables (docs/reference/tables.md).

`metrics` is what `run --json` and `sweep` print; `flows_json` and `queues_json` are the lists beside
it. Names end in their units. A missing value (the mean of nothing) is None, never NaN.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl
import polars.selectors as cs

from shallows.document.summary import DEFAULT, SIZE_EDGES_BYTES, Summary
from shallows.tables.drops import causes

Tables = Mapping[str, pl.DataFrame]
Quantiles = Mapping[str, float]
Number = float | int | None
Numbers = Sequence | pl.Series

BY_SIZE = (
    *("messages", "messages_unfinished"),
    *("fct_mean_ps", "fct_p50_ps", "fct_p99_ps", "slowdown_mean", "slowdown_p50", "slowdown_p99"),
)
"""Shown of the messages of a size unless other metrics are named; all but `NOT_BY_SIZE` are known."""

NOT_BY_SIZE = ("deadlines", "application_throughput")
"""Metrics of messages that no summary has by size."""

SWEEP_COLUMNS = ("goodput_bps_total", "jain", "drops", "marks")
"""Metrics that every sweep has and its table shows; the JSON has all."""

_QUANTILES = DEFAULT.quantiles
_TIMES = (
    ("fct_ps", "fct", "_ps"),
    ("slowdown", "slowdown", ""),
    ("acked_ps", "acked", "_ps"),
    ("slowdown_acked", "slowdown_acked", ""),
)


def metrics(tables: Tables, quantiles: Quantiles = _QUANTILES) -> dict[str, Number]:
    """Flat summary of a run.

    Always `goodput_bps_total`, `jain`, `drops`, `marks`, `retransmissions`, `timeouts` and the busiest
    switch port's `bottleneck_*`; then for each class c `c.goodput_bps`, `c.wait_mean_ps` and the
    others of `class_metrics`, for each load with rounds those of `round_metrics`, for each load with steps
    those of `step_metrics`, and for each load of datagrams those of `datagram_metrics`. `drops` counts
    every cause at every port, `marks` every CE mark set. A count of which a part is unknown is None.
    """
    flows, queues = tables["flows"], tables["queues"]
    out: dict[str, Number] = {
        "goodput_bps_total": _goodput_bps(flows, queues),
        "jain": jain(compared_goodput_bps(flows)),
        "drops": drops(queues),
        "marks": _total(queues["marks"]),
        "retransmissions": _total(flows["retransmissions"]),
        "timeouts": _total(flows["timeouts"]),
    }
    out |= bottleneck_metrics(queues)
    for name in flows["class"].unique().sort():
        out |= {f"{name}.{key}": value for key, value in class_metrics(tables, name, quantiles).items()}
    for name in tables["rounds"]["traffic"].unique().sort():
        out |= {f"{name}.{key}": value for key, value in round_metrics(tables, name, quantiles).items()}
    for name in tables["steps"]["traffic"].unique().sort():
        out |= {f"{name}.{key}": value for key, value in step_metrics(tables, name, quantiles).items()}
    if "datagrams" in tables:  # runs of a release before it have none
        for name in tables["datagrams"]["traffic"].unique().sort():
            out |= {f"{name}.{key}": value for key, value in datagram_metrics(tables, name).items()}
    return out


def with_sizes(tables: Tables, summary: Summary = DEFAULT) -> dict[str, Number]:
    """`metrics`, and for each class and size bin those of its messages, as `web.upto_10KB.fct_p99_ps`.

    Classes whose messages are all in one bin have only the former. `summary` has the bins and percentiles.
    """
    found = metrics(tables, summary.quantiles)
    sizes = by_size(tables["messages"], summary.edges, summary.quantiles)
    for row in sizes.to_dicts() if len(sizes) else ():
        if len(sizes.filter(sizes["class"] == row["class"])) > 1:
            stem = f"{row['class']}.{bin_word(row['low_bytes'], row['high_bytes'])}"
            known = {key: value for key, value in row.items() if key not in NOT_BY_SIZE}
            for key in ("class", "low_bytes", "high_bytes"):
                del known[key]
            found |= {f"{stem}.{key}": value for key, value in known.items()}
    return found


def drops(queues: pl.DataFrame) -> int | None:
    """Packets dropped at all ports, for any cause; None if a port's are unknown."""
    return _total(queues["drops"])


def jain(values: Sequence[float] | pl.Series) -> float | None:
    """Jain's index (sum x)^2 / (n sum x^2): 1 for equal shares, 1/n for one taker. None if all are 0.

    Jain, Chiu and Hawe, DEC-TR-301 (1984).
    """
    shares = [float(x) for x in values]
    squares = sum(x * x for x in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares > 0 else None


def compared_goodput_bps(flows: pl.DataFrame) -> pl.Series:
    """Goodputs whose fairness means something: of unbounded connections if there are any, else of all.

    A connection that carries messages takes what it is offered, so its share does not show fairness.
    """
    unbounded = flows.filter(pl.col("bytes").is_null())["goodput_bps"]
    return unbounded if len(unbounded) else flows["goodput_bps"]


def bottleneck_port(queues: pl.DataFrame) -> str | None:
    """Name of the switch port with the highest utilisation; the first by name among equals."""
    switch = queues["is_switch"] == 1
    use, ports = queues["utilisation"].filter(switch), queues["port"].filter(switch)
    return str(ports.filter(use == use.max()).min()) if len(use) else None


def bottleneck_metrics(queues: pl.DataFrame) -> dict[str, Number]:
    """Queue of the busiest switch port in packets, its waits in ps, its utilisation (0..1)."""
    columns = "utilisation mean_packets sd_packets p5_packets p50_packets p95_packets p99_packets"
    columns += " max_packets mean_wait_ps p99_wait_ps"
    port = bottleneck_port(queues)
    if port is None:
        return dict.fromkeys((f"bottleneck_{name}" for name in columns.split()), None)
    row = (queues["port"] == port).arg_max()
    return {f"bottleneck_{name}": _number(queues[name][row]) for name in columns.split()}


def class_metrics(tables: Tables, name: str, quantiles: Quantiles = _QUANTILES) -> dict[str, Number]:
    """Summary of one class.

    `goodput_bps` is all that they delivered over the whole measured time; `goodput_mean_bps` the mean over
    connections of each connection's goodput, over its life. Delay four ways, each a mean
    over connections of the connection's own mean, unweighted: `wait_mean_ps` in switch queues,
    `delay_mean_ps` one way, `srtt_mean_ps` at the sender; and message completion times `fct_*_ps`
    with slowdowns over the messages that ended in the run (`messages`, `messages_unfinished` count).
    `wait_p*_ps` and `delay_p*_ps` are percentiles over packets.
    """
    flows = _of_class(tables["flows"], name)
    out: dict[str, Number] = {
        "goodput_bps": _goodput_bps(flows, tables["queues"]),
        "goodput_mean_bps": _mean(flows["goodput_bps"]),
        "marks": _total(flows["marks"]),
        "drops": _total(flows["drops"]),
        "retransmissions": _total(flows["retransmissions"]),
        "timeouts": _total(flows["timeouts"]),
        "timeouts_head": _total(flows["timeouts_head"]),
        "timeouts_tail": _total(flows["timeouts_tail"]),
        "timeouts_per_flow": _mean(flows["timeouts"]),
    }
    for column in ("wait_mean_ps", "delay_mean_ps", "srtt_mean_ps", "cwnd_mean_bytes", "alpha"):
        out[column] = _mean(flows[column])
    histogram = _of_class(tables["wait_histogram"], name)
    for what in ("wait", "delay"):
        chosen = histogram["what"] == what
        columns = (histogram[name].filter(chosen).to_list() for name in ("low_ps", "high_ps", "packets"))
        low, high, packets = (
            zip(*sorted(zip(*columns, strict=True)), strict=True) if chosen.any() else ((),) * 3
        )
        for label, q in quantiles.items():
            out[f"{what}_{label}_ps"] = binned_quantile(low, high, packets, q)
    return out | message_metrics(_of_class(tables["messages"], name), quantiles)


def delays(tables: Tables, classes: Sequence[str]) -> dict[str, Number]:
    """Delay four ways over the connections of these classes together, in us.

    `wait_us` in switch queues, `delay_us` one way, `srtt_us` at the sender: means over connections of
    each connection's own mean, unweighted. `fct_us`, `fct_p99_us`: completion times of their messages.
    """
    chosen = pl.col("class").is_in(list(classes))
    flows = tables["flows"].filter(chosen)
    times = tables["messages"].filter(chosen)["fct_ps"].drop_nulls().cast(pl.Float64)
    means = {name: _mean(flows[f"{name}_mean_ps"]) for name in ("wait", "delay", "srtt")}
    means |= {"fct": _mean(times), "fct_p99": _number(times.quantile(0.99, "linear"))}
    return {f"{name}_us": None if value is None else value / 1e6 for name, value in means.items()}


def message_metrics(messages: pl.DataFrame, quantiles: Quantiles = _QUANTILES) -> dict[str, Number]:
    """Counts, completion times in ps and slowdowns of a `messages` table, all sizes together.

    A completion time ends when the last byte is in order at the receiver; `acked_*` and
    `slowdown_acked_*` when its acknowledgement is back at the sender, as papers on RDMA count.

    Unfinished messages have no time and are left out of it, which favours a system that leaves its
    slowest unfinished: read `messages_unfinished` first. `deadlines` counts the messages whose deadline
    was met or missed, `application_throughput` is the share that met it.
    """
    if messages.is_empty():
        return _no_messages(messages.columns, tuple(quantiles))
    ended = messages.filter(messages["fct_ps"].is_not_null())
    out: dict[str, Number] = {"messages": len(ended), "messages_unfinished": len(messages) - len(ended)}
    out |= {"deadlines": len(messages["met"].drop_nulls()), "application_throughput": met_share(messages)}
    for column, stem, unit in _TIMES:
        if column not in messages.columns:  # a run of a release before it
            continue
        values = ended[column].cast(pl.Float64).drop_nulls()
        out[f"{stem}_mean{unit}"] = _mean(values)
        for label, q in quantiles.items():
            out[f"{stem}_{label}{unit}"] = _number(values.quantile(q, "linear"))
    return out


def _no_messages(columns: Sequence[str], labels: Sequence[str]) -> dict[str, Number]:
    """The row of `message_metrics` where there are no messages."""
    out: dict[str, Number] = {"messages": 0, "messages_unfinished": 0}
    out |= {"deadlines": 0, "application_throughput": None}
    for column, stem, unit in _TIMES:
        if column in columns:
            out |= dict.fromkeys((f"{stem}_{label}{unit}" for label in ("mean", *labels)), None)
    return out


def met_share(messages: pl.DataFrame) -> float | None:
    """Application throughput: the share (0..1) of the messages with a deadline that met it.

    Wilson et al., SIGCOMM 2011. A message under way whose deadline has passed has missed it; one whose
    deadline was still to come when the run ended counts neither way. None where none has a deadline.
    """
    return _mean(messages["met"])


def round_metrics(tables: Tables, traffic: str, quantiles: Quantiles = _QUANTILES) -> dict[str, Number]:
    """Rounds of one load, of those that ended: an incast's queries, a collective's operations, a whole graph.

    How many, their completion times in ps, `round_goodput_bps` their bytes over the sum of their times,
    and retransmission timeouts a round: all, at a block's head, at its tail.
    """
    rounds = tables["rounds"].filter(pl.col("traffic") == traffic)
    ended = rounds.filter(pl.col("fct_ps").is_not_null())
    times = ended["fct_ps"].cast(pl.Float64)
    out: dict[str, Number] = {"rounds": len(times), "rounds_unfinished": len(rounds) - len(times)}
    out["round_fct_mean_ps"] = _mean(times)
    out["round_goodput_bps"] = 8e12 * int(ended["bytes"].sum()) / float(times.sum()) if len(times) else None
    for column in ("timeouts", "timeouts_head", "timeouts_tail"):
        out[f"round_{column}_mean"] = _mean(ended[column])
    return out | {f"round_fct_{k}_ps": _number(times.quantile(q, "linear")) for k, q in quantiles.items()}


def step_metrics(tables: Tables, traffic: str, quantiles: Quantiles = _QUANTILES) -> dict[str, Number]:
    """Steps of one collective or graph load, of those that ended, and the ideal times of its rounds.

    Times in ps. `round_ideal_mean_ps` and `round_slowdown_*` compare whole operations with the empty network.
    """
    rounds = tables["rounds"].filter((pl.col("traffic") == traffic) & pl.col("fct_ps").is_not_null())
    steps = tables["steps"].filter(pl.col("traffic") == traffic)
    ended = steps.filter(pl.col("fct_ps").is_not_null())
    times = ended["fct_ps"].cast(pl.Float64)
    out: dict[str, Number] = {
        "round_ideal_mean_ps": _mean(rounds["ideal_ps"]),
        "round_slowdown_mean": _mean(rounds["slowdown"]),
    }
    slow = {k: _number(rounds["slowdown"].quantile(q, "linear")) for k, q in quantiles.items()}
    out |= {f"round_slowdown_{k}": value for k, value in slow.items()}
    out |= {"steps": len(ended), "steps_unfinished": len(steps) - len(ended)}
    out |= {"step_fct_mean_ps": _mean(times), "step_slowdown_mean": _mean(ended["slowdown"])}
    return out | {f"step_fct_{k}_ps": _number(times.quantile(q, "linear")) for k, q in quantiles.items()}


def datagram_metrics(tables: Tables, traffic: str) -> dict[str, Number]:
    """The datagrams of one load: how many, how many were lost, the share, and the jitter.

    `datagram_loss` leaves out those still under way. `datagram_jitter_*_ps` are over the load's senders.
    """
    mine = tables["datagrams"].filter(pl.col("traffic") == traffic)
    sent, arrived, lost = (int(mine[name].sum()) for name in ("sent", "arrived", "lost"))
    jitter = mine["jitter_ps"].drop_nulls()
    return {
        "datagrams": sent,
        "datagrams_lost": lost,
        "datagram_loss": lost / (lost + arrived) if lost + arrived else None,
        "datagrams_overtaken": int(mine["overtaken"].sum()),
        "datagrams_late": int(mine["late"].sum()),
        "datagram_jitter_mean_ps": _mean(jitter),
        "datagram_jitter_max_ps": _number(jitter.max()) if len(jitter) else None,
    }


def timeouts_by(flows: pl.DataFrame, groups: Mapping[str, str]) -> dict[str, Number]:
    """Mean timeouts a connection by the group of its sending host, such as the worker's switch.

    `groups` names the group of each host; connections of other hosts are left out.
    """
    where = pl.col("src").replace_strict(dict(groups), default=None, return_dtype=pl.String)
    found = (
        flows.with_columns(group=where).drop_nulls("group").group_by("group").agg(pl.col("timeouts").mean())
    )
    return dict(found.sort("group").iter_rows())


def by_size(
    messages: pl.DataFrame,
    edges_bytes: Sequence[int] = SIZE_EDGES_BYTES,
    quantiles: Quantiles = _QUANTILES,
) -> pl.DataFrame:
    """`message_metrics` of each class and size bin (low, high] that holds a message.

    Columns `class`, `low_bytes`, `high_bytes` (null: open), then the metrics.
    """
    rows = []
    for name in messages["class"].unique().sort():
        mine = messages.filter(pl.col("class") == name)
        for low, high in size_bins(edges_bytes):
            inside = pl.col("bytes") > low if high is None else pl.col("bytes").is_between(low, high, "right")
            chosen = mine.filter(inside)
            if len(chosen):
                rows.append(
                    {"class": name, "low_bytes": low, "high_bytes": high} | message_metrics(chosen, quantiles)
                )
    return pl.DataFrame(rows, infer_schema_length=None)


def bin_word(low: int, high: int | None) -> str:
    """A size bin (low, high] as a part of a metric's name: `upto_10KB`, `over_10MB`."""
    return (f"over_{size_name(low)}" if high is None else f"upto_{size_name(high)}").replace(" ", "")


def size_name(size: int) -> str:
    """A size in bytes for people: 10 KB."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "KB")):
        if size >= unit:
            return f"{size / unit:g} {name}"
    return f"{size} B"


def size_bins(edges: Sequence[int]) -> Iterator[tuple[int, int | None]]:
    """The bins (low, high] between the edges, the last one open."""
    yield from zip(edges, [*edges[1:], None], strict=True)


def weighted_quantile(values: Numbers, weights: Numbers, q: float) -> Number:
    """Least value whose share of the weight, with all lesser values, reaches q. None without weight.

    For `queue_histogram`: values in packets, weights the time spent at each length.
    """
    total = sum(weights)
    reached = 0
    for value, weight in sorted(zip(values, weights, strict=True)):
        reached += weight
        if weight and reached >= q * total:
            return value
    return None


def binned_quantile(low: Numbers, high: Numbers, counts: Numbers, q: float) -> float | None:
    """The q-quantile of counts of whole numbers in bins [low, high), as the core takes it.

    It is the least value with at least the share q at or below it. Its bin is certain. Within the bin the
    values are taken to lie evenly, from its low end to the last value before its high end, so the error is
    less than the bin's width. A bin of one value is exact. `quantile` of crates/core/src/probe/histogram.rs
    is this function for the core.
    """
    total, reached = sum(counts), 0
    for bottom, top, count in zip(low, high, counts, strict=True):
        rank = max(math.ceil(q * total - reached), 1)
        if rank <= count:
            return float(bottom) + (top - 1 - bottom) * (rank - 0.5) / count
        reached += count
    return None


def wait_quantile_ms(tables: Tables, name: str, q: float, what: str = "wait") -> float | None:
    """The q-quantile of the waits of a class's data packets in ms, or with `what="delay"` of their one-way
    delays; None without packets. Needs `wait_histogram`."""
    rows = tables["wait_histogram"].filter((pl.col("class") == name) & (pl.col("what") == what))
    rows = rows.sort("low_ps")
    value = binned_quantile(rows["low_ps"], rows["high_ps"], rows["packets"], q)
    return None if value is None else value / 1e9


def arrivals_bits(tables: Tables, port: str, name: str, until_ps: int) -> int:
    """Bits on the wire of class `name` that arrived at `port` in (0, until], dropped ones included.

    Needs the `port_trace` probe with an interval that divides `until_ps`; the trace starts at time 0.
    """
    trace = tables["port_trace"].filter((pl.col("port") == port) & (pl.col("class") == name))
    if until_ps not in trace["time_ps"]:
        raise ValueError(f"port_trace of {port} has no interval of class {name} ending at {until_ps} ps")
    return 8 * int(trace.filter(pl.col("time_ps") <= until_ps)["bytes_in"].sum())


def flows_json(tables: Tables) -> list[dict]:
    """`flows` of `run --json`: one record a connection; `bytes` and `fct_ps` may be null."""
    return flow_records(tables).to_dicts()


def flow_records(tables: Tables) -> pl.DataFrame:
    """`flows` of `run --json` as a frame."""
    columns = "id cc class bytes start_ps fct_ps goodput_bps retransmissions timeouts"
    return _records(tables["flows"].select(columns.split()))


def queues_json(tables: Tables) -> list[dict]:
    """`queues` of `run --json`: one record a port, drops by cause in a table of their own."""
    return queue_records(tables).to_dicts()


def queue_records(tables: Tables) -> pl.DataFrame:
    """`queues` of `run --json` as a frame."""
    columns = "mean_packets p5_packets p50_packets p95_packets p99_packets mean_wait_ps p99_wait_ps"
    columns += " packets_in packets_out packets_held marks utilisation"
    by_cause = pl.struct([pl.col(cause.column).alias(cause.name) for cause in causes()])
    table = tables["queues"].select(pl.col("port").alias("link"), *columns.split(), drops_by_cause=by_cause)
    return _records(table)


def _records(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(cs.float().fill_nan(None))


def _of_class(table: pl.DataFrame, name: str) -> pl.DataFrame:
    chosen = table["class"] == name
    return table if chosen.all() else table.filter(chosen)  # a filter costs more than a look


def _number(value: Number) -> Number:
    return None if value is None or not math.isfinite(value) else value


def _total(column: pl.Series) -> int | None:
    """The sum of counts. None if one is unknown: a kernel does not say which connection lost a packet."""
    return None if column.null_count() else int(column.sum())


def _mean(column: pl.Series) -> float | None:
    values = column.cast(pl.Float64)
    if values.null_count() or np.isnan(values.to_numpy()).any():  # rare, and each of these calls is dear
        values = values.fill_nan(None).drop_nulls()
    return float(values.sum()) / len(values) if len(values) else None


def _goodput_bps(flows: pl.DataFrame, queues: pl.DataFrame) -> float:
    """Unique payload of these connections that arrived, over the whole measured time."""
    over_ps = int(queues["over_ps"].max() or 0) if len(queues) else 0
    return 8e12 * int(flows["arrived_bytes"].sum()) / over_ps if over_ps else 0.0
