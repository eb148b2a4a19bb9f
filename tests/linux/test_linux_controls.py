"""The kernel's own congestion controls: refusals, and their behaviour where there is a kernel.

Tolerances say what they follow from. Sources: Cardwell et al. 2016 (BBR: one round trip and 200 ms of every
10 s at four packets; 2 bandwidth-delay products in flight at most), Ware et al. 2019 (BBR's share beside
CUBIC), Brakmo and Peterson 1995 (Vegas: 2 to 4 packets of its own in the queue).
"""

import json

import pytest
import shallows
from conftest import shallows as command
from conftest import write_toml
from shallows.backends.linux import controls, kernel, refusals
from shallows.backends.linux.backend import Linux
from shallows.document.check import resolve
from shallows.document.load import load
from shallows.document.points import one_run
from shallows.document.schema import schema
from shallows.errors import SpecError
from shallows.execution.runner import Runner
from shallows.studies.compare.comparison import compare
from shallows.studies.compare.section import read

needs_kernel = pytest.mark.skipif(kernel.find() is None, reason="run ./shallows linux build")


def own(name):
    return {"kind": "kernel", "name": name}


def document(*names, **changes):
    """A flow of each control through 100 Mb/s and 20 ms: 167 packets of bandwidth-delay product."""
    loads = {
        f"f{i}": {
            "kind": "bulk",
            "from": f"s{i}",
            "to": "r0",
            "transport": {"cc": own(name) if isinstance(name, str) else name},
        }
        for i, name in enumerate(names)
    }
    rates = {"rate": "100Mbps", "sender_rate": "1Gbps"}
    return {
        "duration": "20s",
        "warmup": "5s",
        "topology": {"kind": "star", "senders": len(names), "delay": "5ms", **rates},
        "queue": {"kind": "drop-tail", "limit": "200pkt"},
        "transport": {"profile": "linux", "cc": "newreno"},
        "traffic": loads,
    } | changes


# ---- without a kernel ----


def test_the_simulator_refuses_each_by_path_and_runs_nothing(tmp_path):
    experiment = one_run(load(document("bbr", {"kind": "dctcp"}, "vegas"))).experiment
    with pytest.raises(SpecError) as error:
        shallows.run(experiment, store=tmp_path / "runs")
    paths = [fault.path for fault in error.value.faults]
    assert paths == ["traffic.f0.transport.cc", "traffic.f2.transport.cc"]
    assert {fault.hint for fault in error.value.faults} == {"run with --backend linux"}
    assert not (tmp_path / "runs").exists()


def test_commands_say_what_to_do(tmp_path):
    file = write_toml(tmp_path / "bbr.toml", document("bbr"))
    for words in (
        ["run"],
        ["sweep", "--set", "duration=9s"],
        ["compare", "--vary", "queue.limit=1pkt,2pkt", "--seeds", "2"],
    ):
        ran = command(words[0], file, *words[1:], cwd=tmp_path)
        assert ran.returncode == 2, ran.stdout
        assert "traffic.f0.transport.cc: is not part of the simulator, which has newreno" in ran.stderr
        assert "run with --backend linux" in ran.stderr
    assert not list((tmp_path / "runs").rglob("*.parquet"))
    listed = command("list", "cc", "--json", cwd=tmp_path)
    [entry] = [each for each in json.loads(listed.stdout) if each["name"] == "kernel"]
    assert "--backend linux" in entry["summary"]


def test_misspelt_names_are_suggested():
    with pytest.raises(SpecError) as error:
        resolve(document({"kind": "bbr"}))
    assert 'kind = "kernel", name = "bbr"' in error.value.faults[0].hint
    with pytest.raises(SpecError, match="must be a name of at most 15 letters"):
        resolve(document(own("no name")))


@needs_kernel
def test_the_kernel_itself_says_which_controls_it_has():
    with pytest.raises(SpecError) as error:
        Linux().check(resolve(document(own("vegsa"))))
    [fault] = error.value.faults
    assert "which has bbr, bic" in fault.rule and fault.hint == 'did you mean "vegas"?'


def test_names_are_the_kernels_and_linux_takes_them_all():
    [section] = [each for each in schema()["sections"] if each["path"] == "transport.cc"]
    [component] = [each for each in section["components"] if each.get("backend") == "linux"]
    [name] = component["params"]
    # The kernel's controls, in its own words; Reno and CUBIC are always there.
    options = {line[16:-2] for line in kernel._wanted() if line.startswith("CONFIG_TCP_CONG_")}
    spelt = {"highspeed": "HSTCP"}
    assert {spelt.get(one, one.upper()) for one in name["choices"]} == options - {"ADVANCED"} | {"RENO"}
    assert refusals.check(resolve(document(*name["choices"]))) == []


def test_where_the_simulator_says_who_sends_what_another_stands_in():
    experiment = resolve(document("bbr", {"kind": "dctcp"}))
    stood = controls.with_stand_ins(experiment)
    kinds = [load["transport"]["cc"]["kind"] for load in stood["traffic"].values()]
    assert kinds == ["newreno", "dctcp"]
    assert experiment["traffic"]["f0"]["transport"]["cc"]["kind"] == "kernel"


@pytest.mark.parametrize(
    ("cc", "key"),
    [
        ({"kind": "cubic", "c": 0.5}, "c"),
        ({"kind": "cubic", "slow_start": "standard"}, "slow_start"),
        ({"kind": "newreno", "ecn_beta": 0.8}, "ecn_beta"),
        ({"kind": "dctcp", "g": 0.1}, "g"),
        ({"kind": "dctcp", "on_loss": "alpha"}, "on_loss"),
    ],
)
def test_settings_that_its_module_keeps_are_refused(cc, key):
    [fault] = refusals.check(resolve(document(cc)))
    assert fault.path == f"traffic.f0.transport.cc.{key}"
    assert fault.rule.startswith("must be the kernel's value, ")


def test_what_the_kernel_does_may_be_spelt_out():
    for cc in ({"kind": "cubic", "slow_start": "hystart"}, {"kind": "dctcp", "whole_segments": True}):
        assert refusals.check(resolve(document(cc))) == []


def test_what_a_sender_without_ecn_cannot_be():
    found = refusals.check(
        resolve(document("dctcp", transport={"profile": "linux", "cc": "cubic", "ecn": "off"}))
    )
    assert [fault.path for fault in found] == ["traffic.f0.transport.ecn"]


# ---- with one ----


def ran(tmp_path, *names, **changes):
    experiment = one_run(load(document(*names, **changes))).experiment
    tables = shallows.run(experiment, store=tmp_path, backend="linux").tables
    return tables, tables["queues"].filter(port="switch->r0").row(0, named=True)


@needs_kernel
def test_the_same_control_under_both_names_is_the_same_to_the_byte(tmp_path):
    for simulators, kernels in controls.controls().items():
        short = {"duration": "2s", "warmup": "500ms", "probe": {"flow_trace": "10ms"}}
        both = [ran(tmp_path, cc, **short)[0] for cc in ({"kind": simulators}, own(kernels))]
        assert [tables["flows"]["cc"].to_list() for tables in both] == [[simulators], [kernels]]
        for name in both[0]:
            one, other = (tables[name] for tables in both)
            if name == "flows":
                one, other = one.drop("cc"), other.drop("cc")
            assert one.equals(other), (simulators, name)
        # Only DCTCP has an alpha.
        alphas = both[1]["flows"]["alpha"].to_list() + both[1]["flow_trace"]["alpha"].to_list()
        assert all((alpha is None) != (kernels == "dctcp") for alpha in alphas)


@needs_kernel
def test_every_name_fills_the_link(tmp_path):
    [section] = [each for each in schema()["sections"] if each["path"] == "transport.cc"]
    [name] = next(each for each in section["components"] if each["name"] == "kernel")["params"]
    for cc in name["choices"]:
        tables, _ = ran(tmp_path, cc, duration="10s", warmup="6s")
        flow = tables["flows"].row(0, named=True)
        assert flow["cc"] == cc
        # CDG backs off at random as delays grow, and goes below the pipe; BBR goes there once.
        assert flow["goodput_bps"] > {"cdg": 80e6, "bbr": 90e6}.get(cc, 95e6), cc
        assert (flow["alpha"] is None) == (cc != "dctcp")


@needs_kernel
@pytest.mark.parametrize("cc", ["bbr", "cdg"])
def test_what_draws_lots_is_repeated_to_the_byte_and_differs_by_seed(tmp_path, cc):
    short = {"duration": "5s", "warmup": "1s", "probe": {"flow_trace": "10ms"}}
    one, again = (ran(tmp_path / run, cc, **short)[0] for run in "ab")
    for table in one:
        assert one[table].equals(again[table]), table
    # BBR draws one of seven phases, and so may draw the same.
    others = [ran(tmp_path, cc, seed=seed, **short)[0]["flow_trace"] for seed in (2, 3, 4)]
    assert not all(other.equals(one["flow_trace"]) for other in others)


@needs_kernel
def test_vegas_keeps_two_to_four_packets_in_the_queue(tmp_path):
    _, queue = ran(tmp_path, "vegas")
    assert 1 < queue["mean_packets"] < 5  # less the one in service, more one of a delayed acknowledgement
    assert queue["utilisation"] > 0.999


@needs_kernel
def test_one_bbr_is_paced_leaves_a_small_queue_and_probes_two_per_cent_away(tmp_path):
    """Its pacing timer runs in virtual time: without it a window of two products would stand in the queue."""
    tables, queue = ran(tmp_path, "bbr", probe={"flow_trace": "10ms", "queue_trace": "1ms"})
    trace = tables["flow_trace"].filter(tables["flow_trace"]["time_ps"] > 5 * 10**12)
    packets = trace["cwnd_bytes"] / 1448
    # The share of 15 s without one or two times 200 ms and a round trip at four packets.
    shortest, longest = 1 - 2 * 0.22 / 15, 1 - 0.2 / 15
    assert shortest - 0.003 < queue["utilisation"] < longest + 0.003
    assert packets.min() == 4
    # Two products and, in both, 3 ms of packets at 1 ms each (bbr_quantization_budget), rounded to pairs.
    assert 2 * 167 < packets.median() < 2 * 167 + 3 * 9 + 10
    # The queue: probes by a quarter of a product, 42 packets, over what these 3 ms leave standing.
    assert queue["drops_full"] == 0
    assert queue["p50_packets"] < 3 * 9
    assert queue["max_packets"] < 3 * 9 + 42 + 5


@needs_kernel
def test_two_bbr_share_with_one_product_of_queue(tmp_path):
    """Hock et al. 2017: such flows have 1 to 1.5 products in the queue, and lose none where it fits."""
    late = document("bbr", "bbr", queue={"kind": "drop-tail", "limit": "600pkt"})
    late["traffic"]["f1"]["start"] = "2s"
    changes = {"traffic": late["traffic"], "queue": late["queue"], "duration": "60s", "warmup": "30s"}
    tables, queue = ran(tmp_path, "bbr", "bbr", **changes)
    shares = tables["flows"]["goodput_bps"].to_list()
    # Each takes the greatest rate of ten rounds for its own, and probes by a quarter in one of eight. (A
    # first bound of 1.1 had no such reason, and 1.15 came.)
    assert max(shares) < 1.25 * min(shares)
    assert 167 < queue["mean_packets"] < 1.5 * 167
    assert queue["drops_full"] == 0


@needs_kernel
def test_bbr_beside_cubic_takes_most_of_a_small_buffer_and_less_of_a_large_one(tmp_path):
    """Ware et al. 2019, eq. (7): the less, the larger the buffer, for any number of others."""
    shares = {}
    for limit in (200, 1000):
        queue = {"kind": "drop-tail", "limit": f"{limit}pkt"}
        tables, _ = ran(tmp_path, "bbr", "cubic", queue=queue, duration="60s", warmup="20s")
        rates = tables["flows"]["goodput_bps"].to_list()
        shares[limit] = rates[0] / sum(rates)
    assert shares[200] > 0.75
    assert 0.25 < shares[1000] < 0.6


@needs_kernel
@pytest.mark.parametrize("ecn", ["auto", "on"])
def test_ecn_is_as_set(tmp_path, ecn):
    queue = {"kind": "threshold", "limit": "400pkt", "mark_at": "40pkt"}
    transport = {"profile": "linux", "cc": "newreno", "ecn": ecn}
    for cc in ("bbr", "reno", "dctcp"):
        tables, port = ran(tmp_path, cc, queue=queue, transport=transport, duration="4s", warmup="0s")
        assert (port["marks"] > 0) == (ecn == "on" or cc == "dctcp"), cc
        told = (kernel.find().release or (7, 2)) > (6, 12)  # its tcp_info has no tcpi_received_ce
        assert tables["flows"]["marks"].to_list() == [port["marks"] if told else None]


@needs_kernel
def test_schemes_are_compared_on_linux(tmp_path):
    settings = document("cubic", duration="16s", warmup="10s")
    file = write_toml(tmp_path / "a.toml", settings)
    what = read([file], vary=["traffic.f0.transport.cc.name=cubic,bbr,vegas"], seeds=2)
    found = compare(what, Runner.of(store=tmp_path / "runs", backend="linux"))
    queue = {name: values[0]["bottleneck_mean_packets"] for name, values in found.values.items()}
    assert list(queue) == ["name cubic", "name bbr", "name vegas"]
    assert queue["name cubic"] > queue["name bbr"] > queue["name vegas"]
