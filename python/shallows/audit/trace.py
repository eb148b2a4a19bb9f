"""The recorded packets of a run as the audit reads them: each departure with its arrival at the same node.

A packet is known by its connection, direction, kind, first byte and timestamp. Acknowledgements can agree in
all of these. Those that agree are matched at a node in their order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from shallows.audit.quantities import picoseconds

if TYPE_CHECKING:
    import polars as pl

    from shallows.audit.standards import Sides
    from shallows.audit.windows import Connection

__all__ = ["Trace", "matches"]

_NAMES = ("flow", "reverse", "pure_ack", "seq", "stamp_ps")
_AT_ARRIVAL = {"drop-tail", "threshold", "red", "tc-red", "double-threshold", "ramp"}


@dataclass(frozen=True)
class Trace:
    """The tables of a run, and its resolved experiment."""

    tables: Mapping[str, pl.DataFrame]
    experiment: Mapping[str, Any]
    kernel: bool = False
    """It is a run of the Linux kernel: `time_ps` is when a port began to send a packet."""
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
        `held` are the bytes that blocks of SACK report.
        """
        return self._matched[0]

    @cached_property
    def kept(self) -> pl.DataFrame:
        """Landings of packets that neither left their node nor were lost there as they came."""
        return self._matched[1]

    @cached_property
    def _types(self) -> dict[str, pl.Enum]:
        """Numbers for the names of nodes, ports, loads and disciplines, of which a trace has millions."""
        import polars as pl

        packets, ports = self.tables["packets"], self.ports

        def of(*columns: pl.Series) -> pl.Enum:
            return pl.Enum(pl.concat([one.drop_nulls() for one in columns]).unique(maintain_order=True))

        nodes = of(ports["from"], ports["to"], packets["src"].unique(), packets["dst"].unique())
        return {
            "port": of(ports["port"], packets["port"].unique()), "traffic": of(packets["traffic"].unique()),
            "kind": of(ports["kind"]), **dict.fromkeys(("from", "to", "src", "dst"), nodes),
        }  # fmt: skip

    @cached_property
    def _ends(self) -> pl.DataFrame:
        """The columns that a departure takes from its port."""
        import polars as pl

        ends = self.ports.select(
            "port", "number", "from", "to", pl.col("is_switch").cast(pl.UInt8), "kind", "rate_bps"
        )
        return ends.with_columns(
            pl.col(name).cast(self._types[name]) for name in ("port", "from", "to", "kind")
        )

    @cached_property
    def _rows(self) -> pl.DataFrame:
        """Departures in the order of their ports and times, in few bytes each."""
        import polars as pl

        table, types = self.tables["packets"], self._types
        blocks = [(pl.col(f"sack{i}_beyond") - pl.col(f"sack{i}_first")).fill_null(0) for i in range(4)]
        lean = table.lazy().select(
            "time_ps", "landed_ps", "flow", "seq", "stamp_ps", *_narrowed(table), _name(),
            *(pl.col(name).cast(types[name]) for name in ("port", "traffic", "src", "dst")),
            pl.sum_horizontal(blocks).clip(0, 2**32 - 1).cast(pl.UInt32).alias("held"),
        )  # fmt: skip
        joined = lean.join(self._ends.lazy(), on="port", how="left", maintain_order="left")
        return joined.sort("number", "time_ps", maintain_order=True).collect()

    @cached_property
    def _matched(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        import polars as pl

        rows = self._rows.with_row_index("row")
        landed = rows.lazy().filter(pl.col("landed_ps").is_not_null() & (pl.col("lost") == 0))
        then = {"to": "node", "landed_ps": "came", "row": "landing"}
        landings = landed.select("name", "held", *then).rename(then)
        if len(self.losses):
            lost = self.losses.lazy().select(
                "name", pl.col("from").alias("node"), pl.col("time_ps").alias("came")
            )
            # A packet that was refused as it came cannot be the one that left.
            nth = pl.int_range(pl.len()).over("name", "node", "came").alias("nth")
            lost, landings = lost.with_columns(nth), landings.with_columns(nth)
            landings = landings.join(lost, on=["name", "node", "came", "nth"], how="anti").drop("nth")
        nth = pl.int_range(pl.len(), dtype=pl.UInt32).over("name", "held", "node").alias("nth")
        landings = landings.sort("came").with_columns(nth).drop("came").collect().lazy()
        left = rows.lazy().select("name", "held", pl.col("from").alias("node"), "row", "time_ps")
        left = left.sort("time_ps").drop("time_ps").with_columns(nth).collect().lazy()
        # Acknowledgements can be alike but for what they hold. A landing left over has the greatest number.
        same = ["name", "held", "node", "nth"]
        joined = left.join(landings, on=same, how="left").select("row", "landing")
        landing = joined.sort("row").collect()["landing"]
        kept = landings.join(left, on=same, how="anti").collect()["landing"]
        before = {"landed_ps": "came", "port": "came_by", "ecn": "ecn_before", "trimmed": "trimmed_before",
                  "size": "size_before"}  # fmt: skip
        columns = [rows[name].gather(landing).alias(then) for name, then in before.items()]
        names = {"to": "node", **before}
        more = rows.select("traffic", "flow", "reverse", *names)[kept].rename(names)
        return rows.drop("row").with_columns(columns), more

    @cached_property
    def losses(self) -> pl.DataFrame:
        """Packets that ports lost, with the ends of the ports."""
        import polars as pl

        ends = self._ends.select("port", "from", "kind")
        lost = self.tables.get("losses")
        if lost is None:
            lost = self.tables["packets"].clear().with_columns(pl.lit("").alias("cause"))
        lost = lost.with_columns(_name(), pl.col("port").cast(self._types["port"]))
        return lost.join(ends, on="port", how="left")

    @cached_property
    def switched(self) -> dict[str, pl.DataFrame]:
        """The departures of each switch port, in order."""
        import polars as pl

        sizes = self.hops.group_by("port", maintain_order=True).agg(pl.len(), pl.col("is_switch").first())
        begins = sizes["len"].cum_sum().shift(1, fill_value=0)
        # They stand together, so that none is copied.
        return {
            port: self.hops.slice(begin, length)
            for begin, (port, length, switch) in zip(begins, sizes.iter_rows(), strict=True) if switch == 1
        }  # fmt: skip

    @cached_property
    def mistakable(self) -> set[str]:
        """Ports by which a packet left whose like left the same node by another port."""
        import polars as pl

        plain = self.hops.lazy().filter((pl.col("payload") == 0) & (pl.col("is_switch") == 1))
        alike = plain.select("port", ways=pl.col("port").n_unique().over("name", "held", "from"))
        return set(alike.filter(pl.col("ways") > 1).select("port").unique().collect()["port"])

    @cached_property
    def connections(self) -> list[Connection]:
        """Connections over TCP."""
        from shallows.audit.windows import connections

        return list(connections(self))

    @cached_property
    def sides(self) -> list[Sides]:
        """Connections over TCP as both of their hosts see them, of a run of the kernel."""
        from shallows.audit.standards import sides

        return list(sides(self))

    def skip(self, rule: str, why: str) -> None:
        """Notes that `rule` was not applied, or not everywhere."""
        self.unaudited.setdefault(rule, why)

    def fifo(self, port: str) -> bool:
        """The port serves in order of arrival and decides there."""
        return self.discipline(port, True)["kind"] in _AT_ARRIVAL


_SMALL = ("reverse", "pure_ack", "trimmed", "ecn", "lost", "opcode", "nak", "payload", "size", "tcp_flags")


def _narrowed(table: pl.DataFrame) -> Iterator[pl.Expr]:
    """Columns of small numbers, each in as few bytes as its greatest number needs."""
    import polars as pl

    most = table.select(pl.col(_SMALL).max().fill_null(0)).row(0, named=True)
    for name, greatest in most.items():
        kinds = ((2**8, pl.UInt8), (2**16, pl.UInt16), (2**32, pl.UInt32), (2**64, pl.UInt64))
        yield pl.col(name).cast(next(kind for beyond, kind in kinds if greatest < beyond))


def _name() -> pl.Expr:
    import polars as pl

    return pl.struct(_NAMES).hash(seed=1).alias("name")


def matches(pattern: str, port: str) -> bool:
    """Whether a name fits a pattern with stars."""
    return bool(re.fullmatch(".*".join(re.escape(part) for part in pattern.split("*")), port))
