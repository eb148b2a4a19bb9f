"""Loads that deliver less than a hundredth of what their path carries are reported; others are not."""

import pytest
import shallows
from shallows.document.load import load
from shallows.document.points import one_run

STAR = {"kind": "star", "senders": 2, "rate": "100Mbps", "sender_rate": "1Gbps", "delay": "250us"}
BULK = {"kind": "bulk", "from": "s*", "to": "r0"}
CUT = {"cut": {"at": "3ms", "link": "s0<->switch", "state": "down"}}


def notes(tmp_path, traffic, **more):
    document = {
        "duration": "400ms",
        "topology": STAR,
        "queue": {"kind": "drop-tail", "limit": "100pkt"},
        "transport": {"cc": "newreno"},
        "traffic": traffic,
    } | more
    run = shallows.run(one_run(load(document)).experiment, store=tmp_path)
    return [note for note in run.manifest["notes"] if "its path carries" in note]


def test_a_bulk_load_behind_a_cut_link_is_told_with_its_numbers(tmp_path):
    """2.5 MB of the 5 MB that 100 Mb/s carry in 0.4 s are one connection's share."""
    [note] = notes(tmp_path, {"dead": BULK | {"from": "s0"}, "live": BULK | {"from": "s1"}}, event=CUT)
    assert (
        note.startswith("traffic dead: delivered ")
        and "less than a hundredth" in note
        and "of 2.5 MB" in note
    )


def test_a_load_that_delivers_nothing_is_told(tmp_path):
    cut = {"cut": CUT["cut"] | {"at": "1us"}}
    [note] = notes(tmp_path, {"dead": BULK | {"from": "s0", "start": "10ms"}}, event=cut)
    assert "delivered nothing in 0.39 s" in note


def test_messages_that_had_time_and_did_not_come_are_told(tmp_path):
    web = {"kind": "messages", "from": "s0", "to": "r0", "bytes": "100KB", "interval": "20ms", "start": "2ms"}
    [note] = notes(tmp_path, {"web": web}, event={"cut": CUT["cut"] | {"at": "1us"}})
    assert note.startswith("traffic web: delivered nothing in ")


@pytest.mark.parametrize(
    ("traffic", "more"),
    [
        ({"a": BULK}, {}),
        ({"a": BULK}, {"duration": "1ms"}),  # no more than a handshake
        ({"a": BULK, "late": BULK | {"start": "399ms"}}, {}),
        ({"tiny": {"kind": "messages", "from": "s0", "to": "r0", "bytes": "1B", "interval": "50ms"}}, {}),
        ({"once": BULK | {"bytes": "1B", "start": "399990us"}}, {}),
        ({"slow": BULK | {"transport": {"receive_window": "1pkt"}}}, {"topology": STAR | {"delay": "20ms"}}),
        (
            {"a": BULK, "b": BULK | {"from": "s0", "transport": {"cc": {"kind": "cbr", "rate": "100Kbps"}}}},
            {},
        ),
        (
            {"web": {"kind": "messages", "from": "s0", "to": "r0", "bytes": "900KB", "interval": "100ms"}},
            {"topology": STAR | {"rate": "10Mbps"}, "duration": "150ms"},
        ),
        ({f"l{n}": BULK for n in range(40)}, {"duration": "1s"}),
    ],
)
def test_loads_that_do_what_they_are_asked_are_not(tmp_path, traffic, more):
    """Short runs, late starts, tiny messages, windows and rates of their own, messages under way, many that
    share.
    """
    assert notes(tmp_path, traffic, **more) == []
