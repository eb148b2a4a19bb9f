"""Closed forms: published constants, limits, and direct step-by-step computation."""

import json
import math

import numpy as np
import pytest
from shallows import theory
from shallows.errors import SpecError
from shallows.theory.dctcp import alpha, bdp_packets
from shallows.theory.fct import ideal_fct, slow_start
from shallows.theory.queueing import md1, mg1
from shallows.theory.reno import mathis, reno


@pytest.mark.parametrize("form", theory.forms(), ids=lambda form: form.name)
def test_every_form_names_itself_and_gives_json(form):
    assert form.summary and len(form.source) > 10
    got = theory.evaluate(form.name)
    assert set(got) == {"name", "inputs", "outputs"}
    assert set(got["inputs"]) == {i.name for i in form.inputs}
    json.dumps(got, allow_nan=False)


def test_the_bound_on_g_of_the_document_lacks_a_two():
    got = theory.dctcp.dctcp_gain(packet_bytes=1460)
    assert got["g_max"] == pytest.approx(1.386 / math.sqrt(2 * (1e6 / (8 * 1460) + 65)))
    assert got["g_max"] == pytest.approx(0.0799, abs=5e-5)
    assert got["g_max_without_two"] == pytest.approx(0.1129, abs=5e-5)  # the document's "0.112"
    assert got["g_max_exact"] < got["g_max"]
    assert (1 - got["g_max_exact"]) ** got["period_round_trips"] == pytest.approx(0.5)


def test_dctcp_sawtooth():
    got = theory.dctcp.dctcp(flows=2)
    assert got["bdp_packets"] == pytest.approx(83.333, abs=1e-3)
    assert got["queue_max_packets"] == 67
    assert got["amplitude_approximate_packets"] == pytest.approx(
        0.5 * math.sqrt(2 * 2 * (83.333 + 65)), rel=1e-5
    )
    assert got["least_k_packets"] == pytest.approx(83.333 / 7, rel=1e-5)
    assert got["amplitude_packets"] == pytest.approx(got["amplitude_approximate_packets"], rel=0.1)


@pytest.mark.parametrize("window", [1, 5, 74, 1000])
def test_alpha_solves_its_equation_and_tends_to_the_square_root(window):
    a = alpha(window)
    assert a * a * (1 - a / 4) == pytest.approx((2 * window + 1) / (window + 1) ** 2) or a == 1
    if window == 1000:
        assert a == pytest.approx(math.sqrt(2 / window), rel=0.02)


@pytest.mark.parametrize("rtt_ps", [100_000_000, 1_000_000_000])
def test_k_above_a_seventh_keeps_the_queue_from_emptying(rtt_ps):
    bdp = bdp_packets(10**10, rtt_ps, 1500)

    def least_queue(k):  # over every number of flows; the worst is (C RTT + K) / 8
        each = [theory.dctcp.dctcp(rtt_ps=rtt_ps, k_packets=k, flows=n) for n in range(1, round(bdp))]
        return min(outputs["queue_min_approximate_packets"] for outputs in each)

    assert least_queue(math.ceil(bdp / 7) + 1) > 0
    assert least_queue(round(bdp / 8)) == 0


def test_reno_is_three_quarters_without_buffer_and_full_with_one_bdp():
    pipe = round(reno()["bdp_packets"])
    assert reno()["utilisation"] == pytest.approx(0.75)
    assert reno(buffer_packets=pipe + 1)["utilisation"] == pytest.approx(1)
    shares = [reno(buffer_packets=b)["utilisation"] for b in range(0, pipe + 1, 5)]
    assert shares == sorted(shares)


@pytest.mark.parametrize("buffer", [0, 40, 83, 200])
def test_reno_follows_its_sawtooth_round_by_round(buffer):
    got = reno(buffer_packets=buffer)
    pipe, top = got["bdp_packets"], got["window_max_packets"]
    windows = np.linspace(top / 2, top, 200_001)
    lasts = np.maximum(1.0, windows / pipe)  # round trips
    sent = windows.mean() / (pipe * lasts.mean())
    queue = (np.maximum(windows - pipe, 0) * lasts).sum() / lasts.sum()
    assert got["utilisation"] == pytest.approx(sent, rel=1e-4)
    assert got["queue_mean_packets"] == pytest.approx(queue, rel=1e-3, abs=1e-9)
    assert got["period_ps"] == pytest.approx(lasts.mean() * top / 2 * 1e8, rel=1e-4)


def test_mathis():
    assert mathis(loss=0.01)["window_mean_packets"] == pytest.approx(math.sqrt(150))
    assert mathis(loss=0.01, per_ack=2.0)["goodput_bps"] < mathis(loss=0.01)["goodput_bps"]


def test_md1_is_half_of_mm1_and_matches_lindley():
    assert md1()["wait_mean_ps"] == pytest.approx(mg1(cv=1.0)["wait_mean_ps"] / 2)
    rng = np.random.default_rng(3)
    gaps = rng.exponential(1 / 0.7, 400_000)
    wait, total = 0.0, 0.0
    for gap in gaps:
        wait = max(wait + 1 - gap, 0.0)
        total += wait
    assert md1(load=0.7)["wait_mean_ps"] / 1.2e6 == pytest.approx(total / len(gaps), rel=0.03)


def _followed(size, initial, links, rate=10**10, delay=50_000_000, mss=1460, header=40, ack=40):
    """Slow start packet by packet: the first link is a server, each ACK releases two packets."""
    per_byte = 8e12 / rate
    sizes = [mss + header] * (-(-size // mss))
    sizes[-1] = size - (len(sizes) - 1) * mss + header
    free = [0.0] * links
    ready = [0.0] * min(initial, len(sizes))
    done = 0.0
    for k, wire in enumerate(sizes):
        at = ready[k]
        for link in range(links):
            at = max(at, free[link]) + wire * per_byte
            free[link] = at
        done = at + delay
        ready += [done + delay + links * ack * per_byte] * 2
    return done


@pytest.mark.parametrize("size", [1, 1460, 1461, 14_600, 14_700, 44_000, 512_000, 3_000_000])
@pytest.mark.parametrize(("initial", "links"), [(2, 2), (10, 2), (10, 4), (3, 1)])
def test_slow_start_follows_every_packet(size, initial, links):
    got = slow_start(size_bytes=size, initial_packets=initial, links=links)
    assert got["fct_ps"] == pytest.approx(_followed(size, initial, links), rel=1e-9)
    assert got["fct_ps"] >= ideal_fct(size_bytes=size, links=links)["fct_ps"] - 1


@pytest.mark.parametrize("size", [1, 1460, 1461, 512_000])
@pytest.mark.parametrize("links", [1, 2, 6])
def test_ideal_fct_is_a_stream_without_a_window(size, links):
    got = ideal_fct(size_bytes=size, links=links)["fct_ps"]
    assert got == pytest.approx(_followed(size, 10**6, links), rel=1e-9)


def test_every_fault_at_once():
    with pytest.raises(SpecError) as caught:
        theory.evaluate("dctcp", ["flow=2", "flows=x", "k"])
    assert [f.path for f in caught.value.faults] == ["flow", "flows", "k"]
    assert caught.value.faults[0].hint == 'did you mean "flows"?'
    for name, inputs, rule in [
        ("dctpc", [], 'did you mean "dctcp"'),
        ("md1", ["load=1"], "load must be >= 0 and < 1"),
        ("md1", ["load=nan"], "must be finite"),
        ("dctcp", ["flows=0"], "flows must be > 0"),
        ("reno", ["buffer=-3pkt"], "must be finite and >= 0"),
    ]:
        with pytest.raises(SpecError, match=rule):
            theory.evaluate(name, inputs)


def test_units_are_read_by_the_core():
    pytest.importorskip("shallows._core")
    got = theory.evaluate("dctcp", ["rate=1Gbps", "rtt=250us", "k=20pkt", "packet=1500B"])
    assert got["inputs"]["rate_bps"] == 10**9 and got["inputs"]["rtt_ps"] == 250_000_000
    assert got["inputs"]["k_packets"] == 20
    with pytest.raises(SpecError, match="needs a unit"):
        theory.evaluate("dctcp", ["rate=10"])


def test_packets_may_be_written_in_bytes():
    from shallows.theory import evaluate

    in_packets = evaluate("dctcp", ["k=65"])
    assert evaluate("dctcp", ["k=97500B"]) == in_packets
    assert evaluate("dctcp", ["k=65KB", "packet=1000B"]) == evaluate("dctcp", ["k=65", "packet=1000B"])
    assert evaluate("dctcp", ["k=1KB"])["inputs"]["k_packets"] == pytest.approx(2 / 3)
