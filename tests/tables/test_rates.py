"""No series called a rate, goodput or utilisation exceeds the capacity of the path, over any transport."""

import json

import numpy as np
import polars as pl
import pytest
import shallows
from conftest import ROOT
from shallows import _core
from shallows.document.load import load
from shallows.document.points import expand
from shallows.figures import goodput_time
from shallows.tables import laws
from shallows.web.live import film

RATE = 10e9
STAR = {
    "duration": "8ms",
    "warmup": "3ms",
    "topology": {"kind": "star", "senders": 3, "rate": "10Gbps", "delay": "25us"},
    "queue": {"kind": "drop-tail", "limit": "60pkt"},
    "traffic": {"long": {"kind": "bulk", "from": "s*", "to": "r0"}},
    "probe": {"flow_trace": "20us", "packets": "*->*"},
}
LOSSES = {"port": {"switch->r0": {"loss": 0.003}}}
CASES = {
    "cubic": {"transport": {"cc": "cubic"}},
    "reno without SACK": {"transport": {"cc": "newreno", "sack": False}},
    "losses": {"transport": {"cc": "dctcp"}} | LOSSES,
    "go-back-0": {
        "transport": {"profile": "roce", "cc": "line-rate", "repair": "go-back-0"},
        "traffic": {
            "long": {
                "kind": "messages", "from": "s0", "to": "r0", "bytes": "3MB", "interval": "2ms",
                "count": 3,
            }
        },
        "port": {"switch->r0": {"loss": 0.0003}},
    },
    "irn": {"transport": {"profile": "roce", "cc": "dcqcn", "repair": "irn"}} | LOSSES,
    "read": {"transport": {"profile": "roce", "cc": "dcqcn", "verb": "read"}} | LOSSES,
    "ndp": {
        "transport": {"profile": "ndp", "cc": "line-rate"},
        "queue": {"kind": "trimming", "limit": "4pkt", "header_limit": "8pkt"},
    },
    "rate changes": {
        "transport": {"cc": "cubic"},
        "event": {"slower": {"at": "4ms", "link": "switch->r0", "rate": "2Gbps"}},
    },
}  # fmt: skip


@pytest.fixture(scope="module", params=CASES)
def run(request, tmp_path_factory):
    """A run of each transport in which packets are lost, sent again and come out of order."""
    document = STAR | CASES[request.param]
    return shallows.run(document, store=tmp_path_factory.mktemp("runs"), progress=False)


def a_packet(run):
    """Bits of the longest packet."""
    return 8 * run.tables["packets"]["size"].max()


def test_tables_keep_the_laws_of_rates(run):
    assert laws.broken(run.tables, run.experiment, run.manifest["counts"]) == []
    assert run.tables["flows"]["arrived_bytes"].sum() > 0
    goodput = run.tables["flows"]["goodput_bps"]
    assert goodput.max() <= RATE
    assert run.metrics["goodput_bps_total"] <= RATE
    assert all(run.metrics[name] <= RATE for name in run.metrics if name.endswith("goodput_bps"))


def test_a_trace_gains_no_more_than_its_link_carries_in_an_interval(run):
    trace = run.tables["flow_trace"]
    for (_,), mine in trace.sort("time_ps").group_by("flow"):
        bits = 8 * np.diff(mine["arrived_bytes"].to_numpy().astype(float), prepend=0)
        spans = np.diff(mine["time_ps"].to_numpy().astype(float), prepend=0) / 1e12
        assert (bits >= 0).all(), "what arrived does not go away"
        assert (bits <= RATE * spans + a_packet(run)).all(), "a packet counts when its last bit arrives"


def test_the_figure_of_goodput_stays_below_the_link(run):
    for time_ms, gbps in goodput_time.info(run.tables, bin_ms=0.5).series.values():
        assert len(time_ms) and (gbps <= 10 + a_packet(run) / 0.5e6).all()


def test_a_film_stays_below_the_link(run):
    text = json.dumps(run.experiment)
    plan = json.loads(_core.plan(text))
    filming = film.Filming(_core.Simulation(text), plan["numbers"]["duration"], plan["ports"], paced=False)
    ports, seen = len(plan["ports"]), 0
    for chunk in filming.chunks():
        size = int.from_bytes(chunk[:4], "little")
        head, floats = json.loads(chunk[4 : 4 + size]), np.frombuffer(chunk[4 + size :], dtype="<f4")
        looks, flows = head["looks"], len(head["flows"])
        busy = floats[looks * ports : 2 * looks * ports]
        rate = floats[4 * looks * ports + looks * flows :][: looks * flows]
        assert (busy >= 0).all() and busy.max() <= 1 + 1e-6
        assert np.nanmax(rate) <= RATE * (1 + 1e-6) and np.nanmin(rate) >= 0
        seen += np.nansum(rate > 0)
    assert seen > 10


def test_a_port_whose_rate_falls_is_busy_and_no_more(tmp_path):
    """The old film divided bytes by the first rate: a port at a fifth of it seemed idle."""
    document = STAR | CASES["rate changes"] | {"warmup": "0s"}
    run = shallows.run(document, store=tmp_path, progress=False)
    text = json.dumps(run.experiment)
    plan = json.loads(_core.plan(text))
    filming = film.Filming(_core.Simulation(text), plan["numbers"]["duration"], plan["ports"], paced=False)
    names = [f"{plan['nodes'][p['from']]['name']}->{plan['nodes'][p['to']]['name']}" for p in plan["ports"]]
    at, parts = names.index("switch->r0"), []
    for chunk in filming.chunks():
        size = int.from_bytes(chunk[:4], "little")
        looks = json.loads(chunk[4 : 4 + size])["looks"]
        floats = np.frombuffer(chunk[4 + size :], dtype="<f4")
        parts.append(floats[looks * len(names) : 2 * looks * len(names)].reshape(looks, -1)[:, at])
    busy = np.concatenate(parts)
    assert busy[len(busy) * 3 // 4 :].mean() > 0.9
    assert busy.mean() == pytest.approx(
        run.tables["queues"].filter(pl.col("port") == "switch->r0")["utilisation"][0], abs=1e-6
    )


def test_a_repaired_hole_is_no_peak(tmp_path):
    """Bytes in order jump by a window when a hole is repaired: 50 Gb/s on a link of 10 were drawn."""
    document = STAR | {
        "transport": {"cc": "cubic"},
        "duration": "30ms",
        "warmup": "0s",
        "probe": {"flow_trace": "100us"},
    }
    trace = shallows.run(document, store=tmp_path, progress=False).tables["flow_trace"]
    mine = trace.sort("flow", "time_ps").with_columns(
        pl.col("delivered_bytes", "arrived_bytes").cast(pl.Int64).diff().over("flow")
    )
    most = 1.25e9 * 100e-6
    assert mine["delivered_bytes"].max() > 1.5 * most, "the case has a repaired hole"
    assert mine["arrived_bytes"].max() <= most + 1600


@pytest.mark.parametrize("probe", ["s0->switch", "switch->r0"])
def test_captures_hold_what_is_still_on_a_wire(tmp_path, probe):
    document = STAR | {"transport": {"cc": "dctcp"}, "probe": {"packets": probe}, "warmup": "0s"}
    run = shallows.run(document, store=tmp_path, progress=False)
    packets, queues = run.tables["packets"], run.tables["queues"]
    out = queues.filter(pl.col("port") == probe)["packets_out"][0]
    under_way = packets.filter(pl.col("landed_ps").is_null())
    assert len(packets) == out and len(under_way) > 5
    assert (under_way["time_ps"] > 8_000_000_000 - 25_000_000 - 2).all()


def test_laws_refuse_rates_that_no_link_bears(run):
    """Each law of item 13 finds the fault that it was written for."""
    flows, packets = run.tables["flows"], run.tables["packets"]

    def broken(**tables):
        found = laws.broken({**run.tables, **tables}, run.experiment, run.manifest["counts"])
        return " ".join(each.law for each in found)

    if "event" not in run.experiment or not run.experiment["event"]:
        many = pl.lit(10**12, pl.UInt64)
        assert "a host receives no more" in broken(
            flows=flows.with_columns(arrived_bytes=many, bytes=pl.lit(None, pl.UInt64))
        )
        fast = flows.with_columns(goodput_bps=pl.lit(4.56e11))
        assert "rate of the receiver's links" in broken(flows=fast)
    assert "are its departures" in broken(packets=packets.filter(pl.col("landed_ps").is_not_null()).head(100))
    ended = flows.with_columns(
        end_ps=pl.lit(7 * 10**9, pl.UInt64), fct_ps=7 * 10**9 - pl.col("start_ps"),
        bytes=pl.col("delivered_bytes") + 1,
    ).cast({"fct_ps": pl.UInt64})  # fmt: skip
    assert "delivered_bytes = bytes" in broken(flows=ended)


def test_the_reference_names_both_counts():
    text = (ROOT / "docs/reference/tables.md").read_text()
    assert "`arrived_bytes`" in text and "in the whole run" in text


def test_a_constant_delay_has_constant_percentiles(tmp_path):
    """52.4 us for every packet gave a median of 52.30 us and a 99th percentile of 52.43 us."""
    document = {
        "duration": "20ms",
        "topology": {"kind": "star", "senders": 1, "rate": "10Gbps", "delay": "25us"},
        "queue": {"kind": "drop-tail", "limit": "250pkt"},
        "transport": {"cc": {"kind": "cbr", "rate": "1Gbps"}},
        "traffic": {"f": {"kind": "bulk", "from": "s0", "to": "r0"}},
    }
    found = shallows.run(expand(load(document))[0].experiment, store=tmp_path, progress=False).metrics
    assert {found[f"f.delay_p{q}_ps"] for q in (50, 95, 99)} == {52_400_000.0}
    assert found["f.delay_mean_ps"] == pytest.approx(52_400_000)
    assert {found[f"f.wait_p{q}_ps"] for q in (50, 95, 99)} == {0.0}
