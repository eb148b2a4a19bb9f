"""Each setting that Linux takes has a row that says how its arrival is known, and the row holds."""

import ast
from pathlib import Path

import pytest
from shallows.backends.linux import controls, qdiscs, readback, refusals, scenario
from shallows.backends.linux.handover import ROWS
from shallows.document.schema import schema
from shallows.errors import RunError
from test_linux import resolved
from test_linux_networks import planned

ENOUGH = {
    "tc-red": {"shaped": True, "min": "30KB", "max": "90KB", "ecn": True},
    "codel": {"root": "newton"},
    "fq-codel": {"root": "newton"},
    "pie": {"derandomise": True},
    "dualpi2": {
        "min_length": 0, "min_backlog": "3028B", "classic_weight": 0.1, "draw": "random", "limit": "1000pkt",
    },
    "policer": {"rate": "15Mbps", "burst": "150KB"},
}  # fmt: skip
"""With which Linux takes a discipline."""

OTHER = {
    "limit": "77pkt", "mark_at": "31pkt", "count_in_service": False, "measure": "after", "first_exempt": True,
    "not_ect": "drop", "min": "40KB", "max": "80KB", "avpkt": "1500B", "burst": 60, "probability": 0.05,
    "bandwidth": "50Mbps", "ecn": False, "harddrop": True, "nodrop": True, "adaptative": True,
    "shaped": False,
    "target": "7ms", "interval": "21ms", "ce_threshold": "1ms", "max_packet": "9KB", "root": "exact",
    "left_in": "queue",
    "flow_limit": 55, "quantum": "2000B", "initial_quantum": "9000B", "fast_path": 4, "refill_delay": "30ms",
    "flows": 32, "drop_batch": 8, "alpha": 0.25, "beta": 2.5, "max_burst": "20ms", "mark_ecnth": 0.2,
    "mean_packet": "1000B", "latency": "departure_rate", "active_from": 0.3, "derandomise": False,
    "cap_adjustment": False, "classify": "any_ect", "k": 4.0, "threshold": "2ms", "threshold_packets": 12,
    "classic_weight": 0.2, "overload": "overflow", "ramp": "1ms", "min_length": 1, "min_backlog": "0B",
    "scheduler": "priority", "draw": "even", "rate": "20Mbps", "peak_rate": "40Mbps", "peak_burst": "60KB",
    "excess_burst": "60KB", "yellow": "drop", "red": "mark",
}  # fmt: skip
"""Another value of each setting of a discipline."""

OWN = {
    ("tc-red", "limit"): "300KB", ("tc-red", "ecn"): False, ("tc-red", "burst"): 200, ("drop-tail",
    "measure"): "before", ("policer", "burst"): "60KB",
}  # fmt: skip


TWO_RATES = {"meter": "trtcm", "peak_rate": "30Mbps", "peak_burst": "30KB"}
TWO_BURSTS = {"meter": "srtcm", "excess_burst": "30KB"}
BESIDE = {
    ("policer", "peak_rate"): TWO_RATES,
    ("policer", "peak_burst"): TWO_RATES,
    ("policer", "excess_burst"): TWO_BURSTS,
    ("policer", "yellow"): TWO_BURSTS,
    ("drop-tail", "measure"): {"limit": "30KB"},
    ("drop-tail", "count_in_service"): {"limit": "30pkt"},
}
"""Other settings, without which the setting means nothing."""

CHANGED = {("policer", "meter"): TWO_BURSTS}
"""Settings that cannot change alone."""


def declared(section, kind=None):
    [found] = [each for each in schema()["sections"] if each["path"] == section]
    of = next(each for each in found["components"] if kind is None or each["name"] == kind)
    return [param["name"] for param in of["params"]]


def test_every_declared_setting_has_a_row_and_no_other():
    """A new setting of a discipline that Linux runs, of a wire or of a connection fails here until it has
    one.
    """
    paths = {f"queue.{kind}.{key}" for kind in qdiscs.KINDS for key in declared("queue", kind)}
    paths |= {f"port.{key}" for key in refusals.PORT}
    paths |= {f"event.{key}" for key in declared("event")}
    paths |= {f"transport.{key}" for key in controls.HONOURED}
    paths |= {f"datagrams.{key}" for key in declared("transport", "udp")}
    assert set(ROWS) == paths


def test_tests_of_effects_are_there():
    functions = {
        node.name
        for file in Path(__file__).parent.glob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef)
    }
    assert {row.by for row in ROWS.values() if row.how == "effect"} <= functions


def asked(kind, **settings):
    before = {"kind": kind} | ENOUGH.get(kind, {}) | settings
    return qdiscs.qdisc(resolved(queue=before)["queue"], 1500)


@pytest.mark.parametrize("path", [path for path, row in ROWS.items() if path.startswith("queue.")])
def test_the_row_of_a_disciplines_setting_holds(path):
    """A setting that is read back changes just what its row says; the kernel's own are refused otherwise."""
    kind, key = path.removeprefix("queue.").rsplit(".", 1)
    row, value = ROWS[path], OWN.get((kind, key), OTHER.get(key))
    base = BESIDE.get((kind, key), {})
    if row.how == "read":
        before, after = asked(kind, **base).shows, asked(kind, **base, **{key: value}).shows
        changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
        assert changed == set(row.by.split())
    elif row.how == "kernel":
        settings = resolved(queue={"kind": kind} | ENOUGH.get(kind, {}))["queue"] | base
        with pytest.raises(qdiscs.Refusal) as refused:
            qdiscs.qdisc(settings | {key: value}, 1500)
        assert key in [each for each, _ in refused.value.faults]
    elif row.how == "effect":
        change = CHANGED.get((kind, key), {key: value})
        before, after = asked(kind, **base), asked(kind, **base | change)
        assert before != after  # it is handed over


def test_a_gentle_threshold_is_asked_of_the_kernel_by_name():
    """The kernel once took the bit of `not_ect` = "pass" for one of user space, and the guest's own look
    agreed.
    """
    shows = asked("threshold").shows
    has = {("p0", "red", "10:"): {"limit": 373500, "min": 97500, "max": 97500, "ewma": 0, "ecn": True}}
    [line] = readback.differences([readback.Asked("red of p0", ("p0", "red", "10:"), {"nodrop": True})], has)
    assert shows["nodrop"] is True and line == "red of p0: nodrop is False after True was asked"


WIRES = [
    ("loss", {"loss": 0.01}, "wire of s0->switch", "loss-random.loss"),
    ("delay", {"delay": "2ms"}, "wire of s0->switch", "delay.delay"),
    ("rate", {"rate": "33Mbps"}, "shaper of s0->switch", "rate"),
    ("duplicate", {"duplicate": 0.25}, "copies of s0->switch", "loss-random.loss"),
    ("burst_begins", {"burst_begins": 0.02}, "wire of s0->switch", "loss-gemodel.p"),
    ("burst_ends", {"burst_begins": 0.02, "burst_ends": 0.2}, "wire of s0->switch", "loss-gemodel.r"),
    ("burst_loss", {"burst_begins": 0.02, "burst_loss": 0.5}, "wire of s0->switch", "loss-gemodel.1-h"),
]


@pytest.mark.parametrize(("key", "port", "what", "name"), WIRES, ids=[each[0] for each in WIRES])
def test_settings_of_wires_are_read_back(key, port, what, name):
    def shown(**changes):
        made, _ = planned(**changes)
        [found] = [each.shows for each in made.disciplines if each.what == what] or [{}]
        return found.get(name)

    assert shown(port={"s0->switch": port}) != shown() and name.endswith(ROWS[f"port.{key}"].by)


ROUTES = [
    ("min_rto", "300ms", "rto_min", 300),
    ("receive_window", "20pkt", "window", 28960),
    ("receive_window", "64KB", "window", 64000),
    ("ack_every", 1, "quickack", 1),
    ("initial_window", "4pkt", "initcwnd", 4),
]


@pytest.mark.parametrize(("key", "value", "name", "shown"), ROUTES)
def test_settings_of_routes_are_read_back(key, value, name, shown):
    made, _ = planned(transport={"profile": "linux", "cc": "dctcp", key: value})
    hosts = [each for each in made.routes if each.what.startswith("route of s0 ")]
    assert hosts and all(each.shows[name] == readback.number(shown) for each in hosts)
    before, _ = planned()
    assert all(each.shows.get(name) != readback.number(shown) for each in before.routes)


def test_bursts_of_devices_are_read_back():
    made, _ = planned(transport={"profile": "linux", "cc": "dctcp", "burst": 16})
    assert {each.shows["gso_max_segs"] for each in made.devices} == {readback.number(16)}


def test_connections_report_their_settings():
    made, _ = planned(
        transport={"profile": "linux", "cc": "dctcp", "mss": "1000B", "timestamps": False, "sack": False}
    )
    assert "expect 1000 10 0 0 1" in made.plan.splitlines()


def test_accurate_ecn_is_a_sysctl():
    experiment = resolved(transport={"profile": "linux", "cc": "newreno", "ecn": "on", "echo": "accecn"})
    assert refusals.check(experiment) == []
    found = scenario.sysctls(experiment)
    assert (found["tcp_ecn"], found["tcp_ecn_option"]) == ("3", "0")


@pytest.mark.parametrize(
    ("key", "value"),
    [("header", "60B"), ("ack_every", 4), ("echo", "never"), ("echo", "until-cwr"), ("max_rto", "60s")],
)
def test_values_of_transports_that_the_kernel_has_not_are_refused(key, value):
    experiment = resolved(transport={"profile": "linux", "cc": "newreno", key: value})
    paths = {fault.path for fault in refusals.check(experiment)}
    assert f"traffic.long.transport.{key}" in paths


@pytest.mark.parametrize(
    ("key", "value"), [("ack_pieces", 4), ("ack_repeats", 4), ("ack_ahead", "5pkt"), ("hide_marks", True)]
)
def test_linux_says_that_it_has_no_misbehaving_receivers(key, value):
    transport = {"profile": "linux", "arithmetic": "exact", "cc": "newreno", "ack_every": 1, key: value}
    faults = {fault.path: fault.rule for fault in refusals.check(resolved(transport=transport))}
    assert "misbehaving receivers" in faults[f"traffic.long.transport.{key}"]


def test_every_difference_is_told_before_the_traffic(tmp_path):
    """A network that programs report otherwise ends the run as soon as it stands."""
    made, _ = planned()
    for node in range(made.nodes):
        (tmp_path / f"devices{node}").write_text("[]")
        (tmp_path / f"routes{node}").write_text("[]")
    (tmp_path / "disciplines").write_text('[{"kind":"tbf","handle":"1:","dev":"p0","options":{"rate":1}}]\n')
    with pytest.raises(RunError) as raised:
        made.verify(tmp_path)
    told = str(raised.value)
    assert "shaper of s0->switch: rate is 1 after" in told and "device p0 is not there" in told
    assert "route of s0 to 10.1.0.2 is not there" in told and "wire of s0->switch is not there" in told
