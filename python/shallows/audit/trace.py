"""The recorded packets of a run as the audit reads them: each departure with its arrival at the same node.

A packet is known by its connection, direction, kind, first byte and timestamp. Acknowledgements can agree in
all of these. Those that agree are matched at a node in their order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from shallows.audit.quantities import picoseconds

if TYPE_CHECKING:
    import polars as pl

    from shallows.audit.windows import Connection

__all__ = ["Trace", "matches"]

_NAMES = ("flow", "reverse", "pure_ack", "seq", "stamp_ps")
_AT_ARRIVAL = {"drop-tail", "threshold", "red", "tc-red", "double-threshold", "ramp"}


@dataclass(frozen=True)
class Trace:
    """The tables of a run, and its resolved experiment."""

    tables: Mapping[str, pl.DataFrame]
    experiment: Mapping[str, Any]
    unaudited: dict[str, str] = field(default_factory=dict)

    @cached_property
    def duration(self) -> int:
        """The run's duration in ps."""
        return picoseconds(self.experiment["duration"])

    @cached_property
    def warmup(self) -> int:
        """When statistics begin, in ps."""
        return picoseconds(self.experiment["warmup"])

    @cached_property
    def ports(self) -> pl.DataFrame:
        """Ports with their ends, rates and disciplines."""
        import polars as pl

        queues = self.tables["queues"]
        plain = pl.col("port").str.replace(r"#\d+$", "")
        ends = plain.str.split_exact("->", 1).struct.rename_fields(["from", "to"])
        frame = queues.with_columns(ends.alias("ends")).unnest("ends")
        kinds = [self.discipline(name, bool(switch))["kind"] for name, switch in frame.select(
            "port", "is_switch").iter_rows()]  # fmt: skip
        return frame.with_columns(pl.Series("kind", kinds, pl.String)).with_row_index("number")

    def discipline(self, port: str, switch: bool) -> Mapping[str, Any]:
        """The settings of a port's discipline: `queue` or `nic`, or those that `port` puts in their place."""
        found = self.experiment["queue" if switch else "nic"]
        for names, over in self.experiment.get("port", {}).items():
            if "queue" in over and any(matches(name.strip(), port) for name in names.split(",")):
                found = over["queue"] if "kind" in over["queue"] else {**found, **over["queue"]}
        return found

    def faults(self, *keys: str) -> bool:
        """Whether any port has one of these injected faults."""
        return any(over.get(key) for over in self.experiment.get("port", {}).values() for key in keys)

    @cached_property
    def changes(self) -> bool:
        """Links change in the run, or a wire does not keep its delay and order."""
        odd = ("duplicate", "reorder", "jitter", "trace", "bursts")
        return bool(self.experiment.get("event")) or self.faults(*odd)

    @cached_property
    def hops(self) -> pl.DataFrame:
        """Departures in the order of their ports and times.

        `came` (null at a host), `came_by`, `ecn_before` and `trimmed_before` belong to the packet's landing.
        """
        return self._matched[0]

    @cached_property
    def kept(self) -> pl.DataFrame:
        """Landings of packets that neither left their node nor were lost there as they came."""
        return self._matched[1]

    @cached_property
    def _matched(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        import polars as pl

        ends = self.ports.select("port", "number", "from", "to", "is_switch", "kind", "rate_bps")
        name = pl.struct(_NAMES).hash(seed=1).alias("name")
        rows = self.tables["packets"].with_columns(name).join(ends, on="port", how="left")
        rows = rows.with_row_index("row")
        landed = rows.filter(pl.col("landed_ps").is_not_null() & (pl.col("lost") == 0))
        landings = landed.select("name", pl.col("to").alias("node"), pl.col("landed_ps").alias("came"),
                                 pl.col("ecn").alias("ecn_before"), pl.col("port").alias("came_by"),
                                 pl.col("row").alias("landing"),
                                 pl.col("trimmed").alias("trimmed_before"),
                                 pl.col("size").alias("size_before"))  # fmt: skip
        if "losses" in self.tables and len(self.tables["losses"]):
            lost = self.losses.select("name", pl.col("from").alias("node"), pl.col("time_ps").alias("came"))
            # A packet that was refused as it came cannot be the one that left.
            nth = pl.int_range(pl.len()).over("name", "node", "came").alias("nth")
            lost, landings = lost.with_columns(nth), landings.with_columns(nth)
            landings = landings.join(lost, on=["name", "node", "came", "nth"], how="anti").drop("nth")
        nth = pl.int_range(pl.len()).over("name", "node").alias("nth")
        landings = landings.sort("came").with_columns(nth)
        left = rows.sort("time_ps").with_columns(pl.col("from").alias("node")).with_columns(nth)
        # Acknowledgements can be alike; a landing that is left over has the greatest number.
        joined = left.join(landings, on=["name", "node", "nth"], how="left")
        kept = landings.join(left, on=["name", "node", "nth"], how="anti")
        return joined.sort("number", "time_ps"), kept

    @cached_property
    def losses(self) -> pl.DataFrame:
        """Packets that ports lost, with the ends of the ports."""
        import polars as pl

        name = pl.struct(_NAMES).hash(seed=1).alias("name")
        ends = self.ports.select("port", "from", "kind")
        if "losses" not in self.tables:
            return self.tables["packets"].clear().with_columns(
                name, pl.lit("").alias("cause")).join(ends, on="port", how="left")  # fmt: skip
        return self.tables["losses"].with_columns(name).join(ends, on="port", how="left")

    @cached_property
    def switched(self) -> dict[str, pl.DataFrame]:
        """The departures of each switch port, in order."""
        import polars as pl

        frames = self.hops.filter(pl.col("is_switch") == 1).partition_by("port", as_dict=True)
        return {str(key[0]): frame for key, frame in frames.items()}

    @cached_property
    def connections(self) -> list[Connection]:
        """Connections over TCP."""
        from shallows.audit.windows import connections

        return list(connections(self))

    def skip(self, rule: str, why: str) -> None:
        """Notes that `rule` was not applied, or not everywhere."""
        self.unaudited.setdefault(rule, why)

    def fifo(self, port: str) -> bool:
        """The port serves in order of arrival and decides there."""
        return self.discipline(port, True)["kind"] in _AT_ARRIVAL


def matches(pattern: str, port: str) -> bool:
    """Whether a name fits a pattern with stars."""
    return bool(re.fullmatch(".*".join(re.escape(part) for part in pattern.split("*")), port))
