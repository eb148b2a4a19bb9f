"""The audit of runs on Linux: recorded runs are accepted and part from what they should, and no changed one.

    SHALLOWS_RECORD=1 tools/uv run --frozen pytest tests/audit/test_kernel.py -k recorded

records the runs again, which needs a kernel.
"""

import os
import random
from pathlib import Path

import polars as pl
import pytest
import shallows
from shallows.audit import audit
from shallows.audit.rule import RULES, Runs
from shallows.document.check import resolve
from test_audit import mutant

HERE = Path(__file__).parent / "recorded"
NAMES = ("packets", "losses", "flows", "queues", "messages")
BASE = {
    "title": "",
    "seed": 1,
    "duration": "600ms",
    "topology": {"kind": "star", "senders": 2, "rate": "20Mbps", "sender_rate": "100Mbps", "delay": "2ms"},
    "queue": {"kind": "drop-tail", "limit": "20pkt"},
    "transport": {"profile": "linux", "cc": "cubic"},
    "traffic": {"long": {"kind": "bulk", "from": "s*", "to": "r0"}},
    "probe": {"audit": True},
}
ECN = {"profile": "linux", "cc": "cubic", "ecn": "on"}
MARKING = {"kind": "threshold", "limit": "40pkt", "mark_at": "10pkt"}
IDLE = {"kind": "messages", "from": "s0", "to": "r0", "bytes": "60KB", "interval": "2s", "count": 2}
POISSON = {
    "kind": "poisson", "from": "s*", "to": "r0", "sizes": {"kind": "fixed", "bytes": "10KB"}, "every": "8ms",
}  # fmt: skip
RECORDED = {
    "tail": {},
    "step": {"queue": MARKING, "transport": {"profile": "linux", "cc": "dctcp"}},
    "classic": {"queue": MARKING, "transport": ECN},
    "codel": {"queue": {"kind": "codel", "limit": "100pkt"}, "transport": ECN, "duration": "1s"},
    "losing": {"duration": "3s", "port": {"switch->r0": {"loss": 0.3}}},
    "idle": {"duration": "3s", "traffic": {"short": IDLE}},
    "arrivals": {"duration": "1s", "traffic": {"short": POISSON}},
}
PARTS = {
    "tail": {"third-duplicate", "gap-answer"},
    "step": {"plain-syn", "plain-answer"},
    "classic": set(),
    "codel": set(),
    "losing": {"third-duplicate", "least-timer"},
    "idle": set(),
    "arrivals": {"third-duplicate"},
}
"""From what the kernel parts in each recorded run. Each was looked at: docs/audit.md."""


class Recorded:
    """A run as it was recorded."""

    def __init__(self, name):
        self.experiment = resolve(BASE | RECORDED[name])
        self.tables = {each: pl.read_parquet(HERE / f"{name}-{each}.parquet") for each in NAMES}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    if os.environ.get("SHALLOWS_RECORD"):
        store = tmp_path_factory.mktemp("runs")
        HERE.mkdir(exist_ok=True)
        for name, change in RECORDED.items():
            run = shallows.run(BASE | change, backend="linux", store=store, progress=False)
            for each in NAMES:
                place = HERE / f"{name}-{each}.parquet"
                run.tables[each].write_parquet(place, compression="zstd", compression_level=19)
    return {name: Recorded(name) for name in RECORDED}


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_run_is_accepted_and_parts_as_linux_does(runs, name):
    outcome = audit(runs[name].tables, runs[name].experiment, on_linux=True)
    assert [str(one) for one in outcome.rejected] == []
    assert {one.rule for one in outcome.parted} == PARTS[name]
    assert outcome.packets > 300 and outcome.standards == sum(rule.runs is Runs.STANDARD for rule in RULES)


def packets(change, **where):
    """A change of the rows of `packets` that hold `where`; `change` gives a column and its expression."""

    def changed(experiment, tables):
        rows = tables["packets"]
        here = pl.all_horizontal(pl.col(key) == value for key, value in where.items() if key != "nth")
        if "nth" in where:
            here &= here.cum_sum() == where["nth"] + 1
        column, value = change
        own = pl.when(here).then(value).otherwise(pl.col(column)).cast(rows.schema[column]).alias(column)
        return experiment, tables | {"packets": rows.with_columns(own)}

    return changed


def without(rows):
    """The tables without some rows of `packets`."""
    return lambda experiment, tables: (
        experiment,
        tables | {"packets": tables["packets"].filter(~rows.fill_null(False))},
    )


def queue(key, value):
    return lambda experiment, tables: (
        experiment | {"queue": experiment["queue"] | {key: value}},
        tables,
    )


def column(table, name, change):
    return lambda experiment, tables: (
        experiment,
        tables | {table: tables[table].with_columns(change(pl.col(name)).cast(tables[table].schema[name]))},
    )


def at_sender(begin_ms, end_ms, port="switch->s0"):
    """Answers that come to a sender in a span of time."""
    at = pl.col("landed_ps")
    return (pl.col("port") == port) & (at > begin_ms * 10**9) & (at < end_ms * 10**9)


def repeats(gaps_ms):
    """Further copies of the last data of a sender, so many ms after one another."""

    def changed(experiment, tables):
        rows = tables["packets"].sort("time_ps")
        last = rows.filter((pl.col("port") == "s0->switch") & (pl.col("payload") > 0)).tail(1)
        at, copies = last["time_ps"][0], []
        for gap in gaps_ms:
            at += gap * 10**9
            copies.append(last.with_columns(time_ps=pl.lit(at, pl.UInt64), stamp_ps=pl.lit(at, pl.UInt64),
                                            landed_ps=pl.lit(None, pl.UInt64)))  # fmt: skip
        return experiment | {"duration": "30s"}, tables | {"packets": pl.concat([rows, *copies])}

    return changed


STEPS_PS = (10**4, 10**6)
"""Changes of times that the kernel's clock of nanoseconds shows."""
ACK, DATA = {"port": "r0->switch", "pure_ack": 1}, {"port": "switch->r0"}
BLOCK = pl.col("sack0_first").is_not_null()
SOONER = packets(("landed_ps", pl.col("landed_ps") - 5 * 10**8), port="switch->s0", sack0_first=23168)
HURRIED = packets(("time_ps", pl.col("time_ps") - 42 * 10**8), port="s0->switch", seq=21720, nth=1)
"""An answer that reports a hole comes sooner, and so does its repair."""
# Recorded runs part from some standards by themselves, and other runs do not: PARTS says which.
MUTANTS = [
    ("arrival", "tail", packets(("time_ps", pl.col("time_ps") - 30 * 10**9), **DATA, nth=90)),
    ("once", "step", lambda e, t: (e, t | {"packets": pl.concat([t["packets"], t["packets"][700:720]])})),
    ("content", "tail", packets(("payload", pl.col("payload") - 1), **DATA, nth=60)),
    ("destination", "tail", packets(("port", pl.lit("switch->s1")), port="switch->s0", nth=30)),
    ("path", "tail", packets(("port", pl.lit("switch->s0")), port="switch->s1", nth=30)),
    ("order", "tail", packets(("time_ps", pl.col("time_ps") + 2 * 10**9), **DATA, nth=70)),
    ("codepoint", "tail", packets(("ecn", pl.lit(3)), **DATA, nth=70)),
    ("acknowledgement", "tail", packets(("seq", pl.col("seq") + 10**6), **ACK, nth=40)),
    ("bucket", "tail", packets(("time_ps", pl.col("time_ps") - 10**8), port="s0->switch", nth=5)),
    ("bucket", "tail", lambda e, t: (e | {"topology": e["topology"] | {"rate": "19Mbps"}}, t)),
    ("turn", "tail", packets(("time_ps", pl.col("time_ps") + 10**4), **DATA, nth=40)),
    ("wire", "tail", packets(("landed_ps", pl.col("landed_ps") + 10**5), **DATA, nth=40)),
    ("wire", "tail", lambda e, t: (e | {"topology": e["topology"] | {"delay": "2001us"}}, t)),
    ("tail", "tail", queue("limit", "19pkt")),
    ("tail", "tail", queue("limit", "21pkt")),
    ("tail", "tail", queue("count_in_service", False)),
    ("step", "step", queue("mark_at", "9pkt")),
    ("step", "classic", queue("mark_at", "11pkt")),
    ("sojourn", "codel", queue("target", "20ms")),
    ("counters", "tail", without((pl.col("port") == "switch->r0") & (pl.col("time_ps") > 59 * 10**10))),
    ("counters", "step", column("queues", "marks", lambda own: own - 1)),
    ("counters", "tail", column("queues", "drops_full", lambda own: own // 2)),
    ("in-order", "tail", column("flows", "arrived_bytes", lambda own: own + 1448)),
    (
        "poisson",
        "arrivals",
        lambda e, t: (e | {"traffic": {"short": e["traffic"]["short"] | {"every": "16ms"}}}, t),
    ),
    ("initial-window", "step", without(at_sender(0, 25))),
    ("slow-start", "tail", without(at_sender(14, 28) & (pl.col("seq") % 4344 != 0))),
    ("third-duplicate", "tail", lambda e, t: (e, t)),
    ("settling", "losing", lambda e, t: HURRIED(*SOONER(e, t))),
    ("least-timer", "losing", lambda e, t: (e, t)),
    ("backoff", "idle", repeats([300, 300, 500])),
    (
        "second-segment",
        "step",
        without((pl.col("port") == "r0->switch") & pl.col("seq").is_between(2 * 1448, 4 * 1448)),
    ),
    ("delayed-answer", "step", without((pl.col("reverse") == 1) & (pl.col("seq") > 14480))),
    ("gap-answer", "tail", lambda e, t: (e, t)),
    ("first-block", "losing", lambda e, t: (e, t | {"packets": swapped(t["packets"])})),
    ("true-blocks", "tail", packets(("sack0_beyond", pl.col("sack0_beyond") + 50 * 1448), **ACK)),
    ("plain-syn", "step", lambda e, t: (e, t)),
    ("plain-answer", "classic", packets(("ecn", pl.lit(2)), **ACK)),
    ("plain-repeat", "codel", lambda e, t: (e, t | {"packets": again(t["packets"])})),
    ("echo-until-cwr", "classic", packets(("tcp_flags", pl.col("tcp_flags") ^ 0x40), **ACK, nth=70)),
    ("echo-exact", "step", packets(("tcp_flags", pl.col("tcp_flags") ^ 0x40), **ACK, nth=70)),
    (
        "cwr",
        "classic",
        packets(("tcp_flags", pl.col("tcp_flags") & ~0x80), port="s0->switch", reverse=0, payload=1448),
    ),
    ("idle-restart", "idle", without(at_sender(2000, 2030))),
]


def swapped(rows):
    """Two blocks of SACK in the other order."""
    two = pl.col("sack1_first").is_not_null()
    pairs = {f"sack{i}_{e}": f"sack{1 - i}_{e}" for i in (0, 1) for e in ("first", "beyond")}
    return rows.with_columns(
        pl.when(two).then(pl.col(other)).otherwise(pl.col(own)).alias(own) for own, other in pairs.items()
    )


def again(rows):
    """The first data of a sender leave it once more."""
    first = rows.filter((pl.col("port") == "s0->switch") & (pl.col("payload") > 0)).sort("time_ps")
    copy = first.head(1).with_columns(time_ps=first["time_ps"][40] + 1, stamp_ps=first["time_ps"][40] + 1)
    return pl.concat([rows, copy.select(rows.columns).cast(rows.schema)])


@pytest.mark.parametrize("number", range(len(MUTANTS)))
def test_a_changed_run_is_told_by_the_rule(runs, number):
    rule, name, change = MUTANTS[number]
    outcome = audit(*reversed(change(runs[name].experiment, dict(runs[name].tables))), on_linux=True)
    told = {one.rule for one in (*outcome.rejected, *outcome.parted)}
    assert rule in told, (rule, told)


def test_each_rule_of_the_kernels_runs_has_a_mutant():
    assert {rule.name for rule in RULES if rule.judges(True)} == {rule for rule, _, _ in MUTANTS}


def test_fields_that_are_changed_at_random_are_told(runs):
    draws, alive, count = random.Random(5), [], 0
    for name in ("tail", "step"):
        for _ in range(60):
            field, tables = mutant(runs[name], draws, STEPS_PS)
            outcome = audit(tables, runs[name].experiment, on_linux=True)
            alive += [] if outcome.rejected else [(name, field)]
            count += 1
    assert not alive, (len(alive), count, alive)
