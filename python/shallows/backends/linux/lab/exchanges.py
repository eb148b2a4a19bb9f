"""Flows of programs: packets of each five-tuple, the words of TCP's sockets, counters of hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from shallows.backends.linux.paths import Ways

PROTOCOLS = {1: "icmp", 6: "tcp", 17: "udp", 58: "icmpv6", 132: "sctp"}

MUCH = 100_000
"""Bytes of data from one host to another from which on it is worth a note that they met no queue."""

UNKNOWN_SSTHRESH = 0x7FFFFFFF

__all__ = ["counters", "program_flows", "program_trace", "unqueued"]


def program_flows(directory: Path, hosts: Mapping[str, str]) -> pl.DataFrame:
    """A row for each five-tuple, as its packets arrived. `hosts` has names by address."""
    import polars as pl

    raw = pl.read_csv(directory / "exchanges.csv", schema_overrides={"src": pl.String, "dst": pl.String})
    whole = [name for name, kind in raw.schema.items() if name not in ("src", "dst")]
    raw = raw.with_columns(pl.col(whole).cast(pl.Int64), pl.col("src", "dst").cast(pl.String))
    span = pl.col("last_ns") - pl.col("first_ns")
    return raw.with_row_index("flow").select(
        "flow",
        pl.col("protocol").map_elements(lambda n: PROTOCOLS.get(n, str(n)), pl.String),
        pl.col("src").replace(dict(hosts)),
        "src_port",
        pl.col("dst").replace(dict(hosts)),
        "dst_port",
        (pl.col("first_ns") * 1000).alias("first_ps"),
        (pl.col("last_ns") * 1000).alias("last_ps"),
        "packets",
        "bytes",
        "data_bytes",
        pl.when(span > 0).then(pl.col("data_bytes") * 8e9 / span).alias("mean_bps"),
    )


def program_trace(directory: Path, flows: pl.DataFrame, hosts: Mapping[str, str]) -> pl.DataFrame:
    """By time and flow: packets and bytes so far, and of TCP what its sending socket told."""
    import polars as pl

    arrived = pl.read_csv(directory / "exchange_trace.csv").cast(pl.Int64)
    arrived = arrived.select(
        (pl.col("time_ns") * 1000).alias("time_ps"),
        pl.col("exchange").cast(pl.UInt32).alias("flow"),
        "packets",
        "bytes",
        "data_bytes",
    )
    texts = {"src": pl.String, "dst": pl.String, "cc": pl.String}
    sockets = pl.read_csv(directory / "sockets.csv", schema_overrides=texts)
    numbers = [name for name in sockets.columns if name not in texts]
    sockets = sockets.with_columns(pl.col(numbers).cast(pl.Int64), pl.col(*texts).cast(pl.String))
    ends = ("src", "src_port", "dst", "dst_port")
    tcp = flows.filter(pl.col("protocol") == "tcp").select("flow", *ends)
    told = (
        sockets.with_columns(pl.col("src", "dst").replace(dict(hosts)))
        .join(tcp, on=ends)
        .select(
            (pl.col("time_ns") * 1000).alias("time_ps"),
            "flow",
            "cc",
            (pl.col("cwnd") * pl.col("mss")).alias("cwnd_bytes"),
            pl.when(pl.col("ssthresh") != UNKNOWN_SSTHRESH)
            .then(pl.col("ssthresh") * pl.col("mss"))
            .alias("ssthresh_bytes"),
            (pl.col("srtt_us") * 1_000_000).alias("srtt_ps"),
            (pl.col("flight") * pl.col("mss")).alias("flight_bytes"),
            "retransmissions",
            "acked_bytes",
            pl.when(pl.col("pacing_rate") >= 0).then(pl.col("pacing_rate") * 8).alias("pacing_bps"),
        )
    )
    return arrived.join(told, on=["time_ps", "flow"], how="full", coalesce=True).sort("time_ps", "flow")


def counters(directory: Path, nodes: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """The kernel's counters of each host (nstat) whenever one had changed, each counted from the boot on."""
    import polars as pl

    raw = pl.read_csv(directory / "counters.csv", schema_overrides={"counter": pl.String})
    return raw.select(
        (pl.col("time_ns").cast(pl.Int64) * 1000).alias("time_ps"),
        pl.col("node").map_elements(lambda n: nodes[n]["name"], pl.String).alias("host"),
        "counter",
        pl.col("value").cast(pl.Int64),
    )


def unqueued(flows: pl.DataFrame, queues: pl.DataFrame, network: Mapping[str, Any], ways: Ways) -> list[str]:
    """A line for each pair of hosts between which much passed, and nothing of it ever waited at a switch.

    So it is where the slowest link of the path is the sender's own: its buffer takes all, and the file's
    [queue] has no part.
    """
    import polars as pl

    nodes, ports = network["nodes"], network["ports"]
    number = {node["name"]: place for place, node in enumerate(nodes)}
    hosts = [place for place, node in enumerate(nodes) if node["host"]]
    met = {
        row["port"]: bool((row["max_packets"] or 0) or (row["drops"] or 0) or (row["marks"] or 0))
        for row in queues.iter_rows(named=True)
    }
    sums = flows.group_by("src", "dst", maintain_order=True).agg(pl.col("data_bytes").sum())
    found = []
    for source, target, size in sums.iter_rows():
        if size < MUCH or source not in number or target not in number or source == target:
            continue
        path = _path(ways, ports, number[source], hosts.index(number[target]))
        names = ["->".join(nodes[ports[port][end]]["name"] for end in ("from", "to")) for port in path]
        rates = [ports[port]["rate_bps"] for port in path]
        if not path or min(rates) < rates[0] or any(met.get(name, False) for name in names[1:]):
            continue
        found.append(
            f"the {size} bytes of data from {source} to {target} waited at no switch: the slowest link of"
            f" their path is {names[0]}, the sender's own, whose buffer has no limit, so that the file's"
            " [queue] had no part; data the other way may meet it"
        )
    return found


def _path(ways: Ways, ports: Sequence[Mapping[str, Any]], node: int, host: int) -> list[int]:
    """The ports on the way to a host; of several equal ones the first."""
    found: list[int] = []
    while (several := ways.ports(node, host)) and len(found) < len(ports):
        found.append(several[0])
        node = ports[several[0]]["to"]
    return found
