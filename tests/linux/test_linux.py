"""The Linux backend: refusals, tc's lines, the edits; and runs, if a kernel has been built."""

import json
import os
import shutil

import pytest
import shallows
from conftest import shallows as command
from shallows import _core
from shallows.backends.linux import (
    backend,
    cache,
    kernel,
    machine,
    qdiscs,
    readback,
    refusals,
    root,
    source,
    tools,
)
from shallows.backends.linux.gpl import edits
from shallows.document.check import resolve
from shallows.document.load import load
from shallows.document.points import one_run
from shallows.errors import ShallowsError

STAR = {
    "title": "",
    "duration": "400ms",
    "warmup": "100ms",
    "seed": 1,
    "topology": {"kind": "star", "senders": 2, "rate": "100Mbps", "sender_rate": "1Gbps", "delay": "1ms"},
    "queue": {"kind": "threshold", "limit": "200pkt", "mark_at": "20pkt"},
    "transport": {"profile": "linux", "cc": "dctcp"},
    "traffic": {
        "long": {"kind": "bulk", "from": "s*", "to": "r0"},
        "web": {"kind": "messages", "from": "s0", "to": "r0", "bytes": "20KB", "interval": "50ms"},
        "query": {"kind": "incast", "from": "s*", "to": "r0", "response": "10KB", "rounds": 4, "gap": "50ms"},
    },
    "probe": {"queue_trace": "1ms", "flow_trace": "10ms"},
}

needs_kernel = pytest.mark.skipif(kernel.find() is None, reason="run ./shallows linux build")


def resolved(**changes):
    return resolve(STAR | changes)


def test_what_both_can_do_is_refused_nowhere():
    assert refusals.check(resolved()) == []


def test_a_latency_of_switches_makes_the_wires_into_them_longer():
    switches = {"switch": {"switch": {"latency": "3ms"}}, "event": {}}
    assert refusals.check(resolved(**switches)) == []
    with_buffer = resolved(
        switch={"*": {"buffer": "1MB", "latency": "3ms"}}, queue={"kind": "drop-tail", "limit": "none"}
    )
    assert "switch" in {fault.path for fault in refusals.check(with_buffer)}
    change = {"later": {"at": "200ms", "link": "s0->switch", "delay": "5ms"}}
    ports = json.loads(_core.plan(json.dumps(STAR | switches | {"event": change})))["ports"]
    assert {port["delay_ps"] for port in ports} == {1_000_000_000, 4_000_000_000}
    assert [c["delay_ps"] for port in ports for c in port.get("changes", [])] == [8_000_000_000]


def test_what_linux_cannot_do_is_refused_all_at_once():
    document = resolved(
        transport={"profile": "datacentre", "cc": "xdctcp"},
        queue={"kind": "pie", "max_burst": "10ms"},
        port={"s0->switch": {"mark": 0.1}},
    )
    found = {fault.path for fault in refusals.check(document)}
    assert {"queue.max_burst", "queue.derandomise"} <= found  # the kernel's own, and of other values
    assert {"port.s0->switch.mark", "traffic.long.transport.cc"} <= found
    assert "traffic.long.transport.profile" in found


def test_another_profile_is_one_fault_that_names_the_kernels_values():
    """A first file has a profile of the simulator, which differs from the kernel in some twenty settings."""
    only = {"long": STAR["traffic"]["long"]}
    [fault] = refusals.check(resolved(transport={"profile": "datacentre", "cc": "dctcp"}, traffic=only))
    assert fault.path == "traffic.long.transport.profile" and fault.value == '"datacentre"'
    assert "prr = true" in fault.rule and "cwnd_floor = " in fault.rule
    assert "mss" not in fault.rule  # which a route passes on to the kernel
    assert refusals.check(resolved(transport={"profile": "linux", "cc": "dctcp"}, traffic=only)) == []
    own = {"profile": "linux", "cc": "dctcp", "prr": False}
    assert [each.path for each in refusals.check(resolved(transport=own, traffic=only))] == [
        "traffic.long.transport.prr"
    ]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kind": "drop-tail", "limit": "200pkt"}, "pfifo limit 199"),
        ({"kind": "drop-tail", "limit": "30KB"}, "bfifo limit 28500"),
        (
            {"kind": "codel", "ecn": False, "root": "newton"},
            "codel limit 999 target 5000us interval 100000us noecn",
        ),
        (
            {"kind": "fq"},
            "fq limit 1000000 flow_limit 1000000 quantum 3028 initial_quantum 15140 refill_delay 40000us "
            "nopacing",
        ),
        (
            {"kind": "tc-red", "limit": "400KB", "min": "30KB", "max": "35KB", "ecn": True, "shaped": True},
            "red limit 400000 min 30000 max 35000 avpkt 1000 probability 0.02 bandwidth 10000000bit ecn",
        ),
    ],
)
def test_disciplines_in_the_words_of_tc(settings, words):
    assert qdiscs.qdisc(resolved(queue=settings)["queue"], 1500).words == words


def test_a_threshold_is_a_step_that_leaves_out_the_packet_in_service():
    # A packet that finds more than 20 is marked, of which Linux does not see the one being sent.
    step = qdiscs.qdisc(resolved()["queue"], 1500).step
    assert step == (199 * 1500, 20 * 1500, 1 | 8)
    with pytest.raises(qdiscs.Refusal, match="first packet"):
        qdiscs.qdisc(resolved()["queue"] | {"first_exempt": True}, 1500)


CALLS = """#include <linux/kernel.h>
void handle_syscall(struct uml_pt_regs *r)
{
\t\tif (IS_ERR_VALUE(ret) &&
\t\t    (time_travel_mode == TT_MODE_INFCPU ||
\t\t     time_travel_mode == TT_MODE_EXTERNAL)) {
\t\t\tum_udelay(1);
\t\t\tschedule();
\t\t}
}
"""


def tree(tmp_path, timer="#define TIMER_MULTIPLIER 256\n#define TIMER_MIN_DELTA  500\n"):
    files = {
        "arch/um/Kconfig": "config HZ\n\tint\n\tdefault 100\n",
        edits.TIMER: timer,
        "arch/um/os-Linux/util.c": "#include <os.h>\nssize_t os_getrandom(void *b)\n{\n\treturn 0;\n}\n",
        edits.CALLS: CALLS,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


FAILS = {"cut": {"at": "1ms", "link": "s0<->switch", "state": "down"}}


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"port": {"s0->switch": {"mark": 0.1}}}, "port.s0->switch.mark"),
        ({"port": {"s0->switch": {"drop_packets": [3]}}}, "port.s0->switch.drop_packets"),
        ({"probe": {"packets": ["s0->switch"]}}, "probe.packets"),
        ({"port": {"s0->switch": {"duplicate": 0.1, "loss": 0.1}}}, "port.s0->switch.duplicate"),
        ({"port": {"s0->switch": {"reorder": 0.0001}}}, "port.s0->switch.reorder"),  # of 16384 two
        (
            {
                "probe": {"port_trace": "1ms"},
                "traffic": {f"load{n}": STAR["traffic"]["web"] for n in range(9)},
            },
            "probe.port_trace",  # of nine classes
        ),
        ({"probe": {"queue_trace": "change"}}, "probe.queue_trace"),
        ({"probe": {"flow_trace": "change"}}, "probe.flow_trace"),
        ({"queue": {"kind": "codel", "root": "newton", "max_packet": "9KB"}}, "queue.max_packet"),
        (
            {
                "traffic": {
                    "a": STAR["traffic"]["query"] | {"deadline": {"kind": "exponential", "mean": "5ms"}}
                }
            },
            "traffic.a.deadline",
        ),
        ({"traffic": {"a": STAR["traffic"]["long"] | {"primer": "5KB"}}}, "traffic.a.primer"),
        ({"ecmp": "random"}, "ecmp"),
        ({"ecmp": "flowlet"}, "ecmp"),  # and not `routing`, whose gap nobody wrote
        ({"routing": {"reconvergence": "1ms"}, "event": FAILS}, "routing.reconvergence"),
    ],
)
def test_what_would_be_left_out_silently_is_refused(changes, path):
    assert [fault.path for fault in refusals.check(resolved(**changes))] == [path]


def test_what_this_kernel_was_built_without_is_refused():
    settings = {"kind": "fq-codel", "root": "newton"}
    [fault] = refusals.check(resolved(queue=settings), ["CONFIG_NET_SCH_FQ_CODEL"])
    assert fault.path == "queue.kind"
    assert refusals.check(resolved(queue=settings), ["CONFIG_NET_SCH_DUALPI2"]) == []


def test_the_plan_says_which_hosts_a_load_names():
    many = {"kind": "star", "senders": 12, "rate": "1Gbps", "delay": "10us"}
    traffic = {"a": {"kind": "bulk", "from": "s*", "to": "r0"}}
    traffic["b"] = {"kind": "bulk", "from": ["s9..s11", "s1"], "to": "r0"}
    network = json.loads(_core.plan(json.dumps(resolved(topology=many, traffic=traffic))))
    hosts = [node["name"] for node in network["nodes"] if node["host"]]
    ends = {name: {end: [hosts[n] for n in of[end]] for end in of} for name, of in network["loads"].items()}
    assert ends["a"] == {"from": [f"s{n}" for n in range(12)], "to": ["r0"]}
    assert sorted(ends["b"]["from"]) == ["s1", "s10", "s11", "s9"]


@pytest.mark.parametrize(
    ("shows", "reported", "faults"),
    [
        ({"pacing": False}, {"limit": 1000, "pacing": False}, []),
        ({"pacing": False}, {"limit": 1000}, ["fq: pacing is True after False was asked"]),
        ({"target": readback.microseconds(5 * 10**9)}, {"target": 4999}, []),
        ({"ecn": False}, {"target": 5000, "ecn": True}, ["fq: ecn is True after False was asked"]),
        ({"rate.rate": readback.number(10)}, {"rate": {"rate": 10}}, []),
        ({"ce_threshold": None}, {"ce_threshold": 999}, ["fq: ce_threshold is 999 after None was asked"]),
    ],
)
def test_settings_are_compared_with_those_that_tc_reports(shows, reported, faults):
    """As iproute2 6.1 prints them: `pacing` where it is off alone."""
    text = f"[{json.dumps({'kind': 'fq', 'dev': 'p0', 'handle': '10:', 'options': reported})}]\n"
    asked = [readback.Asked("fq", ("p0", "fq", "10:"), shows)]
    assert readback.differences(asked, readback.of_disciplines(text)) == faults


def test_a_discipline_that_tc_does_not_know_has_no_options():
    text = '[{"kind":"dualpi2","handle":"10:","dev":"p0","options":{[Unknown qdisc, optlen=100] }}]'
    assert readback.of_disciplines(text) == {("p0", "dualpi2", "10:"): {"stab": None}}


def test_edits_are_made_once(tmp_path):
    assert len(edits.edit_tree(tree(tmp_path))) == 8
    assert edits.edit_tree(tmp_path) == []
    assert "default 1000" in (tmp_path / "arch/um/Kconfig").read_text()
    assert 'uml_seed=<number>\\n"' in (tmp_path / "arch/um/os-Linux/util.c").read_text()
    calls = (tmp_path / edits.CALLS).read_text()
    assert "um_udelay" not in calls and 'uml_call_ns=<nanoseconds>\\n"' in calls


def test_a_tree_that_looks_otherwise_is_refused(tmp_path):
    with pytest.raises(edits.UnknownTree, match="expected one place"):
        edits.edit_tree(tree(tmp_path, timer="#define TIMER_MULTIPLIER 512\n"))


def fake_apt(tmp_path, monkeypatch, says):
    """An apt-get that fails with these words, and a file that counts its calls."""
    calls, place = tmp_path / "calls", tmp_path / "bin"
    place.mkdir()
    (place / "apt-get").write_text(f"#!/bin/sh\necho \"$@\" >>{calls}\necho '{says}' >&2\nexit 100\n")
    (place / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    monkeypatch.setenv("SHALLOWS_CACHE", str(tmp_path / "cache"))
    return calls


def test_a_missing_network_is_said_at_once(tmp_path, monkeypatch):
    calls = fake_apt(tmp_path, monkeypatch, "E: Failed to fetch x  Temporary failure resolving somewhere")
    with pytest.raises(ShallowsError, match=r"the network is missing.*--tree"):
        source.fetch("linux-source-0.0", lambda text: None)
    assert len(calls.read_text().splitlines()) == 1


def test_a_package_that_is_nowhere_is_looked_for_in_every_suite(tmp_path, monkeypatch):
    calls = fake_apt(tmp_path, monkeypatch, "E: Unable to locate package linux-source-0.0")
    with pytest.raises(ShallowsError, match=r"linux-source-0.0 was not found .*Unable to locate"):
        source.fetch("linux-source-0.0", lambda text: None)
    assert len(calls.read_text().splitlines()) == 1 + len(source.NEWER_SUITES)


def test_missing_packages_are_named_together_with_the_command(tmp_path, monkeypatch):
    has = {"gcc", "make", "tar", "ip", "tc", "ldd"}
    monkeypatch.setattr(tools, "find", lambda name: f"/usr/bin/{name}" if name in has else None)
    monkeypatch.setenv("SHALLOWS_CACHE", str(tmp_path))
    with pytest.raises(ShallowsError, match=r"needs flex, bison, .*sudo apt install apt bc binutils bison"):
        kernel.build(None, None, print, print, 1)
    assert not list(tmp_path.iterdir())  # nothing was begun


def test_status_shows_a_build_that_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("SHALLOWS_CACHE", str(tmp_path))
    assert kernel.running() is None
    with cache.locked("build"):
        kernel._told("linux-source-7.2", lambda share: None)(0.0)
        found = kernel.running()
        assert (found["source"], found["share"]) == ("linux-source-7.2", 0.0)
        said = command("linux", "status", cwd=tmp_path)
        assert "a build of linux-source-7.2 runs: 0% after 0 minutes" in said.stdout
    assert kernel.running() is None


def test_without_a_kernel_it_says_how_to_get_one(tmp_path, monkeypatch):
    monkeypatch.setenv("SHALLOWS_CACHE", str(tmp_path))
    with pytest.raises(backend.NoKernel, match=r"\./shallows linux build"):
        shallows.run(resolved(), store=tmp_path / "runs", backend="linux")


def test_machines_share_no_core_while_another_is_free(monkeypatch):
    """Taken in turn, every second of the short ones came to the core of the long one."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5})
    with machine._core() as long:
        for _ in range(4):
            with machine._core() as short:
                assert {long, short} == {3, 5}
        with machine._core(), machine._core() as third:
            assert third in {3, 5}
    with machine._core() as again:
        assert again == long


@needs_kernel
def test_a_run_has_the_tables_of_the_simulator_and_is_repeated_to_the_byte(tmp_path):
    experiment = one_run(load(STAR)).experiment
    ran = [shallows.run(experiment, store=tmp_path / name, backend="linux") for name in "ab"]
    simulated = shallows.run(experiment, store=tmp_path / "a")
    assert set(ran[0].tables) == set(simulated.tables)
    for name in ran[0].tables:
        assert ran[0].tables[name].equals(ran[1].tables[name]), name
        assert ran[0].tables[name].schema == simulated.tables[name].schema, name
    queue = ran[0].tables["queues"].filter(port="switch->r0").row(0, named=True)
    assert queue["utilisation"] > 0.98
    assert 10 < queue["mean_packets"] < 25
    assert queue["marks"] > 0
    # All of the time is in the histogram, and its mean is the queue's.
    histogram = ran[0].tables["queue_histogram"].filter(port="switch->r0")
    assert histogram["time_ps"].sum() == pytest.approx(queue["over_ps"], rel=0.01)
    mean = (histogram["packets"] * histogram["time_ps"]).sum() / histogram["time_ps"].sum()
    assert mean == pytest.approx(queue["mean_packets"])
    assert ran[0].tables["rounds"].height == simulated.tables["rounds"].height == 2  # after the warm-up
    assert ran[0].tables["messages"].filter(traffic="web")["end_ps"].drop_nulls().len() >= 6


@needs_kernel
def test_where_kernel_and_files_are_changes_nothing(tmp_path, monkeypatch):
    """The kernel draws from an entropy into which it mixes its command line, so no path may be on that."""
    cc = {"kind": "kernel", "name": "bbr"}
    document = STAR | {"transport": {"profile": "linux", "cc": cc}, "duration": "2s"}
    experiment = one_run(load(document)).experiment
    here = shallows.run(experiment, store=tmp_path / "a", backend="linux")
    used, files = backend.ready(), backend.root()
    shutil.copytree(files.path, tmp_path / "elsewhere", symlinks=True)
    shutil.copy2(used.path, tmp_path / "a kernel")
    monkeypatch.setattr(backend, "ready", lambda name: kernel.Kernel(tmp_path / "a kernel", used.about))
    monkeypatch.setattr(backend, "root", lambda: root.Root(tmp_path / "elsewhere", files.about))
    there = shallows.run(experiment, store=tmp_path / "b", backend="linux")
    for name in here.tables:
        assert here.tables[name].equals(there.tables[name]), name
