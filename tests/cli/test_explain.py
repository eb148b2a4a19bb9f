"""`./shallows explain`, on networks whose losses and pauses are known by hand."""

import json

import polars as pl
import pytest
import shallows
from conftest import shallows as command
from shallows.cli.explain import sentences
from shallows.tables.story import tell

MS = 10**9
NETWORK = {
    "topology": {
        "kind": "dumbbell",
        "left": 1,
        "right": 1,
        "rate": "100Mbps",
        "access_rate": "1Gbps",
        "delay": "1ms",
        "access_delay": "100us",
    },
    "queue": {"kind": "drop-tail", "limit": "200pkt"},
    "transport": {"profile": "linux", "cc": "newreno"},
    "probe": {"audit": True},
}


def story(store, traffic, duration, **more):
    run = shallows.run(NETWORK | {"duration": duration, "traffic": {"x": traffic}} | more, store=store)
    return tell(run.tables, 0, 200 * MS)


def cut(begin, end):
    link = {"link": "left->right"}
    return {"event": {"a": {"at": begin, "loss": 1.0, **link}, "b": {"at": end, "loss": 0.0, **link}}}


def test_three_packets_lost_on_a_wire_and_repaired_by_sack(tmp_path):
    # At 100 Mb/s a packet of 1500 bytes lands each 120 us, so 360 us of a full link lose three.
    # They left a propagation delay of 1 ms earlier.
    # A receive window of 40 packets fills the path, which holds 20 of them, and no queue overflows.
    full = {"transport": {"profile": "linux", "cc": "newreno", "receive_window": "40pkt"}}
    bulk = {"kind": "bulk", "from": "l0", "to": "r0"}
    found = story(tmp_path, bulk, "80ms", **cut("40ms", "40.36ms"), **full)
    [episode] = found.episodes
    assert episode.packets == 3
    assert episode.places == {("left->right", "drops_wire"): 3}
    assert 39 * MS <= episode.begin < episode.end <= 39.36 * MS
    assert episode.how == "SACK"
    assert 1 <= episode.round_trips <= 2.5
    assert episode.window_least < episode.window_before
    told = list(sentences(found))
    assert any("3 packets were lost between 39." in line and "SACK reported them" in line for line in told)
    assert "None of its data was lost." not in told
    assert sum(found.waits.values()) == found.until


def test_a_silence_ends_by_the_retransmission_timer(tmp_path):
    sent = {"kind": "bulk", "from": "l0", "to": "r0", "bytes": "14480B"}
    quick = {"profile": "linux", "cc": "newreno", "tail_loss_probe": False}
    found = story(tmp_path, sent, "600ms", **cut("2ms", "30ms"), transport=quick)
    # The handshake passes before 2 ms; the first window of ten packets does not.
    [episode] = found.episodes
    assert (episode.packets, episode.how) == (10, "timeout")
    assert episode.silence >= 200 * MS
    assert found.flow["timeouts"] >= 1
    assert any("the retransmission timer expired after 2" in line for line in sentences(found))


def test_a_flow_without_data_has_its_handshake_told(tmp_path):
    bulk = {"kind": "bulk", "from": "l0", "to": "r0"}
    told = list(sentences(story(tmp_path, bulk, "40ms", **cut("0.2ms", "30ms"))))
    assert "1 packet of its handshake was lost, and the handshake did not end." in told
    assert not any("data was lost" in line for line in told)


def test_the_window_of_the_receiver_is_told_from_the_senders(tmp_path):
    """Four packets fill a fifth of the path, so nothing is lost and the window of ten never counts."""
    run = shallows.run(
        NETWORK
        | {
            "duration": "20ms",
            "traffic": {"x": {"kind": "bulk", "from": "l0", "to": "r0"}},
            "transport": {"profile": "linux", "cc": "newreno", "receive_window": "4pkt"},
        },
        store=tmp_path,
    )
    waits = tell(run.tables, 0, 200 * MS, 4 * 1448).waits
    assert waits["receiver"] > 0.7 * sum(waits.values())
    assert "window" not in waits
    said = command("explain", run.hash, "0", "--store", tmp_path, cwd=tmp_path).stdout
    assert "(the receiver's window)" in said


def test_repeats_after_lost_acknowledgements_are_needless(tmp_path):
    lost = {"at": "5ms", "link": "right->left", "loss": 1.0}
    events = {"event": {"a": lost, "b": lost | {"at": "500ms", "loss": 0.0}}}
    bulk = {"kind": "bulk", "from": "l0", "to": "r0", "bytes": "50KB"}
    found = story(tmp_path, bulk, "1500ms", **events)
    assert (found.episodes, found.needless) == ([], found.flow["retransmissions"])
    assert found.needless > 0
    assert found.waits["timer"] > 0.5 * found.until
    assert any("needless: no earlier copy was lost" in line for line in sentences(found))


def test_a_run_without_connections_has_none_to_explain(tmp_path):
    late = {"x": {"kind": "bulk", "from": "l0", "to": "r0", "start": "1s"}}
    run = shallows.run(NETWORK | {"duration": "20ms", "traffic": late}, store=tmp_path)
    said = command("explain", run.hash, "0", "--store", tmp_path, cwd=tmp_path).stderr
    assert "must be a connection, and the run has none" in said


def test_a_probe_is_told_from_the_retransmission_timer(tmp_path):
    sent = {"kind": "bulk", "from": "l0", "to": "r0", "bytes": "14480B"}
    [episode] = story(tmp_path, sent, "600ms", **cut("2ms", "5ms")).episodes
    assert episode.how == "probe"
    assert episode.silence < 200 * MS


def test_a_link_that_goes_down_loses_packets_on_its_wire_and_in_its_queue(tmp_path):
    link = {"link": "left<->right"}
    down = {"a": {"at": "40ms", "state": "down", **link}, "b": {"at": "41ms", "state": "up", **link}}
    full = {"transport": {"profile": "linux", "cc": "newreno", "receive_window": "40pkt"}}
    bulk = {"kind": "bulk", "from": "l0", "to": "r0"}
    found = story(tmp_path, bulk, "90ms", event=down, **full)
    [episode] = found.episodes
    assert set(episode.places) == {("left->right", "drops_cut"), ("left->right", "drops_dead")}
    # A wire of 1 ms holds eight packets of 120 us; the others of the window waited or came later.
    assert episode.places["left->right", "drops_cut"] == 8
    assert sum(episode.places.values()) == episode.packets <= 40
    assert found.acks_lost > 0


def test_the_time_of_a_sender_without_data_is_its_applications(tmp_path):
    each = {"kind": "messages", "from": "l0", "to": "r0", "bytes": "1448B", "interval": "10ms", "count": 5}
    found = story(tmp_path, each, "60ms")
    assert found.episodes == []
    # Four pauses from one message's packet (12 us at 1 Gb/s) to the next message.
    assert found.waits["application"] == pytest.approx(40 * MS, rel=0.1)
    assert found.waits["sending"] == 5 * 12 * 10**6
    assert "None of its data was lost." in list(sentences(found))


def test_a_window_of_one_packet_limits_its_sender(tmp_path):
    narrow = {"profile": "linux", "cc": "newreno", "receive_window": "1pkt"}
    bulk = {"kind": "bulk", "from": "l0", "to": "r0"}
    found = story(tmp_path, bulk, "60ms", transport=narrow)
    total = sum(found.waits.values())
    # A round trip takes 2.4 ms and some transmissions, of which 12 us are the sender's.
    assert found.waits["window"] / total > 0.9
    assert found.waits["sending"] / total < 0.02


def test_marks_are_counted_where_they_were_set(tmp_path):
    more = {
        "queue": {"kind": "threshold", "limit": "200pkt", "mark_at": "20pkt"},
        "transport": {"cc": "dctcp"},
    }
    run = shallows.run(
        NETWORK | {"duration": "40ms", "traffic": {"x": {"kind": "bulk", "from": "l0", "to": "r0"}}} | more,
        store=tmp_path,
    )
    found = tell(run.tables, 0, 10 * MS)
    queue = run.tables["queues"].filter(pl.col("port") == "left->right")
    assert set(found.marked) == {"left->right"}
    assert 0 < found.marked["left->right"] <= queue["marks"][0]
    assert any("of data were marked" in line for line in sentences(found))


def test_the_command_runs_a_file_and_refuses_kindly(tmp_path):
    document = NETWORK | {"duration": "10ms", "traffic": {"x": {"kind": "bulk", "from": "l0", "to": "r0"}}}
    plain = shallows.run({**document, "probe": {}}, store=tmp_path / "runs")
    done = command("explain", plain.hash, "0", cwd=tmp_path)
    assert done.returncode == 2
    assert "shallows explain FILE FLOW" in done.stderr
    lines = [
        'duration = "10ms"',
        'queue = "drop-tail"',
        "[topology]",
        'kind = "star"',
        "senders = 1",
        "[traffic.x]",
        'kind = "bulk"',
    ]
    ends = ['from = "s0"', 'to = "r0"']
    (tmp_path / "one.toml").write_text("\n".join(['transport = { cc = "dctcp" }', *lines, *ends]))
    done = command("explain", "one.toml", "7", cwd=tmp_path)
    assert done.returncode == 2
    assert "must be a connection of the run, 0 to 0" in done.stderr
    done = command("explain", "one.toml", "0", "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert found["episodes"] == []
    assert found["sentences"][0].startswith("Flow 0 (class x, ")
    roce = 'transport = { profile = "roce", cc = "dcqcn" }'
    (tmp_path / "two.toml").write_text("\n".join([roce, *lines, *ends]))
    done = command("explain", "two.toml", "0", cwd=tmp_path)
    assert done.returncode == 2
    assert "must be a connection of TCP" in done.stderr
