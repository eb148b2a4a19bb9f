"""Programs over a network whose conditions change: links that fail and change, jitter, bursts of losses, and
datagrams as background. Runs alone, if there is a kernel.
"""

import re

import pytest
from test_linux_exec import NET, execute, needs_kernel, needs_ping, texts

PING = "ping -n -i .1 -c 30 r0"
CHANGES = {
    "longer": {"at": "1050ms", "link": "switch<->r0", "delay": "6ms"},
    "cut": {"at": "2050ms", "link": "s0->switch", "state": "down"},
    "mend": {"at": "2550ms", "link": "s0->switch", "state": "up"},
}


def times_ms(outcome):
    text = outcome.programs[0].stdout.decode()
    found = re.findall(r"icmp_seq=(\d+) .*time=([\d.]+) ms", text)
    return {int(number): float(time) for number, time in found}


@needs_kernel
@needs_ping
def test_a_program_sees_links_change_and_fail(tmp_path):
    """A ping each 100 ms: round trips of 8 and 16 ms, and none while the link is down. Twice to the byte."""
    runs = [execute(tmp_path, ("s0", PING), document=NET | {"event": CHANGES}) for _ in range(2)]
    assert texts(runs[0]) == texts(runs[1])
    found = times_ms(runs[0])
    assert all(7.9 < found[number] < 8.2 for number in range(1, 11))
    assert all(15.9 < found[number] < 16.2 for number in range(12, 21))
    assert set(range(1, 31)) - set(found) == set(range(22, 27))
    assert all(15.9 < found[number] < 16.2 for number in range(27, 31))


@needs_kernel
@needs_ping
def test_a_program_has_jitter_and_bursts_of_losses(tmp_path):
    port = {
        "s0->switch": {"jitter": "5ms", "jitter_order": "free", "jitter_law": "exponential"},
        "r0->switch": {"burst_begins": 0.05, "burst_ends": 0.2},
    }
    ping = "ping -n -i .01 -c 400 r0"
    runs = [execute(tmp_path, ("s0", ping), document=NET | {"port": port}) for _ in range(2)]
    assert texts(runs[0]) == texts(runs[1])
    found = times_ms(runs[0])
    late = [time - 8 for time in found.values()]
    assert sum(late) / len(late) == pytest.approx(5, abs=4 * 5 / len(late) ** 0.5)
    assert 0.05 < 1 - len(found) / 400 < 0.35  # a fifth, in some twenty bursts


@needs_kernel
@needs_ping
def test_datagrams_are_background(tmp_path):
    """Half the link's rate in datagrams: a ping waits for a packet of theirs at most. Twice to the byte."""
    voice = {"kind": "datagrams", "from": "s0", "to": "r0", "bytes": "1200B", "rate": "50Mbps"}
    document = NET | {"traffic": {"voice": voice}, "duration": "3s"}
    runs = [execute(tmp_path, ("s0", "ping -n -i .1 -c 10 r0"), document=document) for _ in range(2)]
    assert texts(runs[0]) == texts(runs[1])
    assert runs[0].tables["datagrams"].equals(runs[1].tables["datagrams"])
    [row] = runs[0].tables["datagrams"].iter_rows(named=True)
    ended = runs[0].ended_s
    assert row["sent"] == pytest.approx(ended * 50e6 / 9600, abs=2)
    assert row["lost"] == 0 and row["arrived"] + row["in_flight"] == row["sent"]
    assert row["delay_mean_ps"] == pytest.approx(4e9 + 1228 * 8 * 11e3, rel=0.05)
    found = times_ms(runs[0])
    assert len(found) == 10 and all(8.0 < time < 8.3 for time in found.values())
