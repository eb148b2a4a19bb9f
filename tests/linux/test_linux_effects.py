"""Effects of settings that nothing reads back, and second opinions on links that change: both backends,
short.

The tolerances are those of `validate` (queue 5 %, 10 % for CUBIC and NewReno, or a packet; marks 10 %;
throughput 1 %), unless the test says why.
"""

import math

import polars as pl
import pytest
import shallows
from shallows.audit import audit
from shallows.backends.linux import kernel
from test_linux_against_simulator import both, document

pytestmark = pytest.mark.skipif(kernel.find() is None, reason="run ./shallows linux build")

STAR = {"kind": "star", "senders": 2, "rate": "100Mbps", "sender_rate": "1Gbps", "delay": "1ms"}
BULK = {"a": {"kind": "bulk", "from": "s*", "to": "r0", "jitter": "50ms"}}


def bottleneck(tables, port="switch->r0"):
    return tables["queues"].filter(port=port).row(0, named=True)


def waiting(tables):
    """Mean packets that wait; the simulator counts the one in service too."""
    row = bottleneck(tables)
    return row["mean_packets"] - (row["utilisation"] if row["mean_wait_ps"] is not None else 0)


def goodput(tables, load=None):
    rows = tables["flows"] if load is None else tables["flows"].filter(traffic=load)
    return rows["goodput_bps"].sum()


def test_packets_without_ecn_pass_a_threshold(tmp_path):
    """DCTCP beside CUBIC without ECN: the threshold drops nothing of CUBIC's, which fills the buffer (a ratio
    of 0.015).
    """
    traffic = {
        "d": {"kind": "bulk", "from": "s0", "to": "r0", "jitter": "50ms"},
        "c": {"kind": "bulk", "from": "s1", "to": "r0", "jitter": "50ms", "transport": {"cc": "cubic"}},
    }
    simulated, linux = both(tmp_path, document(STAR, traffic, duration="8s", warmup="2s"))
    ratios = [goodput(tables, "d") / goodput(tables, "c") for tables in (simulated, linux)]
    assert ratios[1] == pytest.approx(ratios[0], rel=0.1) and ratios[1] < 0.05
    assert waiting(linux) == pytest.approx(waiting(simulated), rel=0.1)


def test_an_adaptive_red_adapts(tmp_path):
    """Six CUBIC flows keep the average below the target, so that the probability falls and the queue grows by
    a sixth.
    """
    red = {
        "kind": "tc-red", "limit": "300KB", "min": "30KB", "max": "90KB", "avpkt": "1500B", "burst": 30,
        "probability": 0.1, "bandwidth": "50Mbps", "shaped": True,
    }  # fmt: skip
    star = STAR | {"senders": 6, "rate": "50Mbps", "delay": "5ms"}
    more = {"transport": {"profile": "linux", "cc": "cubic"}, "duration": "30s", "warmup": "10s"}
    means = {}
    for adaptive in (False, True):
        queue = red | {"adaptative": adaptive}
        tables = both(tmp_path / str(adaptive), document(star, BULK, queue=queue, **more))
        means[adaptive] = [waiting(each) for each in tables]
    assert means[True][1] == pytest.approx(means[True][0], rel=0.1)
    assert means[False][1] == pytest.approx(means[False][0], rel=0.1)
    assert means[True][1] > 1.1 * means[False][1] and means[True][0] > 1.1 * means[False][0]


LONE = {
    "kind": "messages", "from": "s0", "to": "r0", "bytes": "1000B", "interval": "7ms", "connection":
    "persistent",
}  # fmt: skip


def test_packets_are_held_back_as_in_the_simulator(tmp_path):
    """Lone packets: the share that waits, and waits spread evenly up to the longest, within three standard
    errors.
    """
    wires = {"s0->switch": {"reorder": 0.25, "reorder_delay": "2ms"}}
    for tables in both(tmp_path, document(STAR, {"a": LONE}, duration="6s", warmup="0s", port=wires)):
        late = (
            tables["messages"].sort("start_ps")["fct_ps"][1:].drop_nulls()
        )  # the first has the handshake too
        extra = (late - late.min()).filter(late - late.min() > 20_000_000) / 1e9
        n = len(late)
        assert len(extra) / n == pytest.approx(0.25, abs=3 * math.sqrt(0.25 * 0.75 / n) + 0.01)
        assert extra.mean() == pytest.approx(1.0, abs=3 * 0.58 / math.sqrt(len(extra)))
        assert 1.8 < extra.max() < 2.01


def test_packets_are_doubled_as_in_the_simulator(tmp_path):
    wires = {"s0->switch": {"duplicate": 0.25}}
    for tables in both(tmp_path, document(STAR, {"a": LONE}, duration="6s", warmup="0s", port=wires)):
        sent, came = bottleneck(tables, "s0->switch")["packets_out"], bottleneck(tables)["packets_in"]
        assert came / sent == pytest.approx(1.25, abs=3 * math.sqrt(0.25 * 0.75 / sent))


def test_a_link_fails_and_comes_back_as_in_the_simulator(tmp_path):
    events = {
        "cut": {"at": "1s", "link": "switch<->r0", "state": "down"},
        "mend": {"at": "1300ms", "link": "switch<->r0", "state": "up"},
    }
    probe = {"flow_trace": "10ms"}
    found = []
    for tables in both(tmp_path, document(STAR, BULK, duration="3s", warmup="0s", event=events, probe=probe)):
        trace = tables["flow_trace"].group_by("time_ps").agg(pl.col("delivered_bytes").sum()).sort("time_ps")
        at = dict(zip(trace["time_ps"] // 10**9, trace["delivered_bytes"], strict=True))
        assert at[1300] - at[1010] <= 2 * 1448  # packets that had left the switch before
        assert at[2990] - at[2000] > 0.9 * 990e-3 * 100e6 / 8 * 1448 / 1500
        found.append(next(time for time in sorted(at) if time > 1300 and at[time] > at[1300]))
    # Retransmission timers of 200 ms and twice that; Linux's tail probes come first.
    assert found[1] == pytest.approx(found[0], abs=60)


def test_a_link_changes_as_in_the_simulator(tmp_path):
    """Rate and delay of the bottleneck, and losses of its wire, from a second on."""
    cases = {
        "rate": {"link": "switch->r0", "rate": "40Mbps"},
        "delay": {"link": "switch<->r0", "delay": "5ms"},
        "loss": {"link": "switch->r0", "loss": 0.02},
    }
    for name, change in cases.items():
        probe = {"flow_trace": "10ms"}
        event = {"new": {"at": "1s"} | change}
        simulated, linux = both(
            tmp_path / name, document(STAR, BULK, duration="4s", warmup="1500ms", event=event, probe=probe)
        )
        rates = [goodput(tables) for tables in (simulated, linux)]
        if name == "loss":
            rows = [bottleneck(tables) for tables in (simulated, linux)]
            for row in rows:
                lost, sent = row["drops_wire"], row["packets_out"]
                assert lost / sent == pytest.approx(0.02, abs=3 * math.sqrt(0.02 * 0.98 / sent))
            assert rates[1] == pytest.approx(rates[0], rel=0.25)  # chance: some 150 losses each
            continue
        assert rates[1] == pytest.approx(rates[0], rel=0.01)
        trips = [
            tables["flow_trace"].filter(pl.col("time_ps") > 2e12)["srtt_ps"].mean()
            for tables in (simulated, linux)
        ]
        assert trips[1] == pytest.approx(trips[0], rel=0.05)
        assert (rates[0] < 40e6) == (name == "rate")


def test_a_change_of_rate_leaves_the_limit_of_the_queue(tmp_path):
    """The kernel sets the limit of a fifo under a token bucket to the bucket's, whenever that changes."""
    star = STAR | {"rate": "50Mbps"}
    event = {"new": {"at": "200ms", "link": "switch->r0", "rate": "100Mbps"}}
    more = {
        "transport": {"profile": "linux", "cc": "newreno"},
        "queue": {"kind": "drop-tail", "limit": "40pkt"},
    }
    simulated, linux = both(
        tmp_path, document(star, BULK, duration="2s", warmup="500ms", event=event, **more)
    )
    assert bottleneck(linux)["max_packets"] == 39 and bottleneck(simulated)["max_packets"] == 40
    assert goodput(linux) == pytest.approx(goodput(simulated), rel=0.02)


def test_a_short_segment_waits_with_nagle(tmp_path):
    """Messages of 300 bytes each millisecond over a round trip of 4 ms."""
    small = LONE | {"bytes": "300B", "interval": "1ms"}
    times = {}
    for nagle in (False, True):
        transport = {"profile": "linux", "cc": "newreno", "nagle": nagle}
        tables = both(tmp_path / str(nagle), document(STAR, {"a": small}, transport=transport))
        times[nagle] = [each["messages"]["fct_ps"].drop_nulls().median() for each in tables]
        assert times[nagle][1] == pytest.approx(times[nagle][0], rel=0.05)
    assert times[True][1] > 1.3 * times[False][1]


HOSTS = [("10Mbps", 4), ("100Mbps", 16), ("1Gbps", 44), ("10Gbps", 16), ("25Gbps", 44), ("100Gbps", 16)]


@pytest.mark.parametrize(("rate", "burst"), HOSTS)
def test_bursts_pass_at_every_rate_of_a_host(tmp_path, rate, burst):
    """One sender fills its own link. A bucket below a frame with its Ethernet header let no burst pass."""
    from shallows import _core

    bps = _core.parse_quantity("rate", rate)
    tick_ns = 1500 * 8 * 10**9 // bps  # a frame's time
    star = {
        "kind": "star",
        "senders": 1,
        "rate": f"{4 * bps}bps",
        "sender_rate": rate,
        "delay": f"{25 * tick_ns}ns",
    }
    more = {
        "duration": f"{6000 * tick_ns}ns",
        "warmup": f"{2000 * tick_ns}ns",
        "transport": {"profile": "linux", "cc": "cubic", "burst": burst},
        "queue": {"kind": "drop-tail", "limit": "1000pkt"},
    }
    bulk = {"a": {"kind": "bulk", "from": "s0", "to": "r0"}}
    probe = {"nic_queues": True}
    simulated, linux = both(tmp_path, document(star, bulk, probe=probe, **more))
    assert goodput(linux) == pytest.approx(goodput(simulated), rel=0.01)
    rows = [bottleneck(tables, "s0->switch") for tables in (simulated, linux)]
    assert rows[1]["utilisation"] == pytest.approx(rows[0]["utilisation"], abs=0.01)
    assert rows[1]["bytes_out"] == pytest.approx(rows[0]["bytes_out"], rel=0.01)


@pytest.mark.parametrize("window", ["3pkt", "10pkt", "40KB"])
def test_a_receive_window_limits_as_in_the_simulator(tmp_path, window):
    transport = {"profile": "linux", "cc": "newreno", "receive_window": window}
    one = {"a": {"kind": "bulk", "from": "s0", "to": "r0"}}
    simulated, linux = both(
        tmp_path, document(STAR | {"delay": "5ms"}, one, transport=transport, duration="3s")
    )
    assert goodput(linux) == pytest.approx(goodput(simulated), rel=0.02)
    assert goodput(linux) < 20e6


def test_every_segment_is_acknowledged_if_asked(tmp_path):
    """Once the receiver's window has grown: each growth lets Linux acknowledge at once (tcp_grow_window)."""
    for every in (1, 2):
        more = {
            "transport": {"profile": "linux", "cc": "dctcp", "ack_every": every, "receive_window": "30pkt"},
            "queue": {"kind": "drop-tail", "limit": "none"},
            "probe": {"nic_queues": True},
        }
        shares = [
            bottleneck(tables, "r0->switch")["packets_out"] / bottleneck(tables)["packets_out"]
            for tables in both(tmp_path / str(every), document(STAR, BULK, **more))
        ]
        assert shares[1] == pytest.approx(shares[0], rel=0.03)
        assert shares[1] == pytest.approx(1 / every, rel=0.05)


@pytest.mark.parametrize("cc", ["newreno", "dctcp"])
def test_accurate_ecn_has_the_simulators_marks_and_queue(tmp_path, cc):
    """The cell `reno-accecn-100M-10ms-5-k50`, shorter."""
    transport = {"profile": "linux", "cc": cc, "ecn": "on", "echo": "accecn"}
    star = STAR | {"senders": 5, "delay": "2500us"}
    queue = {"kind": "threshold", "mark_at": "50pkt", "limit": "400pkt"}
    simulated, linux = both(
        tmp_path, document(star, BULK, transport=transport, queue=queue, duration="10s", warmup="2s")
    )
    assert waiting(linux) == pytest.approx(waiting(simulated), abs=max(1.0, 0.1 * waiting(simulated)))
    marks = [bottleneck(tables)["marks"] for tables in (simulated, linux)]
    assert marks[1] == pytest.approx(marks[0], rel=0.1) and marks[1] > 50
    assert goodput(linux) == pytest.approx(goodput(simulated), rel=0.01)


DUALPI2 = {
    "kind": "dualpi2", "limit": "1000pkt", "min_length": 0, "min_backlog": "3028B", "classic_weight": 0.1,
    "classify": "any_ect", "draw": "random",
}  # fmt: skip
ACTS = [
    {}, {"target": "8ms"}, {"interval": "64ms"}, {"alpha": 0.5}, {"beta": 0.5}, {"k": 6.0}, {"threshold":
    "3ms"}, {"threshold_packets": 5}, {"classic_weight": 0.5}, {"overload": "overflow"}, {"classify": "ect1"},
    {"limit": "60pkt"},
]  # fmt: skip


@pytest.mark.skipif(
    "CONFIG_NET_SCH_DUALPI2" in getattr(kernel.find(), "without", []), reason="an older kernel"
)
@pytest.mark.parametrize("setting", ACTS, ids=[next(iter(each), "default") for each in ACTS])
def test_each_setting_of_dualpi2_acts_as_in_the_simulator(tmp_path, setting):
    """Two DCTCP and two CUBIC flows. The queue is two packets longer on Linux, whose shaper and AQM look
    earlier.
    """
    star = STAR | {"senders": 4, "rate": "50Mbps", "delay": "3ms"}
    traffic = {
        "d": {"kind": "bulk", "from": "s0..s1", "to": "r0", "jitter": "50ms"},
        "c": {"kind": "bulk", "from": "s2..s3", "to": "r0", "jitter": "50ms", "transport": {"cc": "cubic"}},
    }
    more = {"queue": DUALPI2 | setting, "duration": "20s", "warmup": "5s"}
    simulated, linux = both(tmp_path, document(star, traffic, **more))
    assert waiting(linux) == pytest.approx(waiting(simulated), abs=max(2.5, 0.15 * waiting(simulated)))
    for load in traffic:
        assert goodput(linux, load) == pytest.approx(goodput(simulated, load), abs=0.1 * 48e6)


def test_a_port_counts_marks_of_what_it_sent(tmp_path):
    """RED counts a mark before its FIFO turns out to be full. `marks` are those that receivers saw."""
    star = STAR | {"senders": 10, "delay": "1ms"}
    queue = {"kind": "threshold", "mark_at": "20pkt", "limit": "24pkt"}
    more = {"queue": queue, "transport": {"profile": "linux", "cc": "dctcp"}}
    _, linux = both(tmp_path, document(star, BULK, duration="6s", warmup="1s", **more))
    blind = linux["flows"].filter(marks=0)
    least = linux["flows"]["marks"].sum() - blind["retransmissions"].sum()
    assert bottleneck(linux)["drops_full"] > 100
    assert 0.995 * least <= bottleneck(linux)["marks"] <= 1.005 * linux["flows"]["marks"].sum()


def test_marks_that_may_be_off_are_told(tmp_path):
    """DCTCP beside CUBIC without ECN at a limit that both reach: whose packets RED had marked is unknown."""
    star = STAR | {"senders": 10, "delay": "1ms"}
    traffic = {
        "d": {"kind": "bulk", "from": "s0..s4", "to": "r0", "jitter": "50ms"},
        "c": {"kind": "bulk", "from": "s5..s9", "to": "r0", "jitter": "50ms", "transport": {"cc": "cubic"}},
    }
    queue = {"kind": "threshold", "mark_at": "20pkt", "limit": "24pkt"}
    made = document(star, traffic, duration="3s", warmup="1s", queue=queue)
    run = shallows.run(made, store=tmp_path, backend="linux")
    full = run.tables["queues"].filter(port="switch->r0")["drops_full"][0]
    assert full > 0
    assert any(line.startswith(f"switch->r0: marks has up to {full} ") for line in run.manifest["notes"])


@pytest.mark.parametrize("rehash", (0, 1))
def test_a_timeout_leaves_a_connection_in_its_queue_of_fq(tmp_path, rehash):
    """Timeouts send 60 connections' data again while their first copies wait. With txrehash a copy goes to
    another queue of the switch, and leaves it before the first: those behind look dropped, and fq drops
    none.
    """
    dumbbell = {"kind": "dumbbell", "left": 3, "right": 3, "rate": "20Mbps", "access_rate": "80Mbps"}
    load = {"kind": "bulk", "from": "l*", "to": "r*", "pattern": "pairs", "flows": 20}
    more = {"queue": {"kind": "fq"}, "transport": {"profile": "linux", "cc": "newreno"}, "duration": "600ms"}
    more |= {"port": {"left->right": {"loss": 0.05}}, "probe": {"audit": True}, "warmup": "0s"}
    if rehash:
        more["linux"] = {"sysctl": {"net.core.txrehash": 1}}
    run = shallows.run(
        document(dumbbell, {"load": load}, **more), backend="linux", store=tmp_path, progress=False
    )
    assert bottleneck(run.tables, "left->right")["drops_full"] == 0
    rejected = {one.rule for one in audit(run.tables, run.experiment, on_linux=True).rejected}
    assert rejected == ({"counters"} if rehash else set())


def test_repairs_before_a_third_duplicate_are_those_of_rack(tmp_path):
    """RACK (RFC 8985) waits for a time, not for three duplicates: without SACK the kernel has no RACK, and
    parts from RFC 5681 s.3.2 at most a tenth as often. With SACK its repairs keep to RACK's time.
    """
    star = {"kind": "star", "senders": 3, "rate": "10Mbps", "sender_rate": "100Mbps", "delay": "2ms"}
    more = {"queue": {"kind": "drop-tail", "limit": "12pkt"}, "port": {"switch->r0": {"loss": 0.01}}}
    more |= {"duration": "3s", "warmup": "0s", "probe": {"audit": True}}
    load = {"load": {"kind": "bulk", "from": "s*", "to": "r0"}}
    early = []
    for sack in (True, False):
        tcp = {"profile": "linux", "cc": "cubic", "sack": sack}
        made = document(star, load, **more, transport=tcp)
        run = shallows.run(made, backend="linux", store=tmp_path, progress=False)
        outcome = audit(run.tables, run.experiment, on_linux=True)
        parted = {one.rule: one.breach.rows for one in outcome.parted}
        assert "settling" not in parted
        early.append(parted.get("third-duplicate", 0))
    assert early[0] > 30 and early[1] < early[0] / 10
