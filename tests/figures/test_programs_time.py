"""Programs over time: the shares of what arrived, round-trip times of TCP, and queues that were not empty."""

import numpy as np
import polars as pl
import pytest
from shallows.figures import programs_time

MS = 10**9


def tables():
    """A TCP flow of 10 bytes/ms, a UDP flow of 30 bytes/ms from 500 ms on, and a control flow."""
    times = range(0, 1001, 10)
    flows = pl.DataFrame(
        {
            "flow": [0, 1, 2],
            "protocol": ["tcp", "udp", "tcp"],
            "src": ["s0", "s1", "r0"],
            "src_port": [1, 2, 3],
            "dst": ["r0", "r0", "s0"],
            "dst_port": [9, 9, 1],
            "data_bytes": [10_000, 15_000, 5],
        }
    )
    rows = [(t * MS, 0, 10 * t, 8 * MS) for t in times]
    rows += [(t * MS, 1, 30 * (t - 500), None) for t in times if t >= 500]
    rows += [(t * MS, 2, 5, 9 * MS) for t in times]
    trace = pl.DataFrame(rows, ["time_ps", "flow", "data_bytes", "srtt_ps"], orient="row")
    queue = [(t * MS, port, n) for t in times for port, n in (("a->b", t % 7), ("b->a", 0))]
    return {
        "program_flows": flows,
        "program_trace": trace,
        "queue_trace": pl.DataFrame(queue, ["time_ps", "port", "packets"], orient="row"),
    }


def test_shares_are_of_what_arrived_in_each_part_of_the_time():
    found = programs_time.info(tables())
    assert found.receiver == "r0"
    times, tcp = found.shares["tcp s0:1 to r0:9"]
    assert tcp[times < 490] == pytest.approx(100) and tcp[times > 510] == pytest.approx(25)
    assert found.shares["udp s1:2 to r0:9"][1][times > 510] == pytest.approx(75)
    assert set(found.rtts) == {"tcp s0:1 to r0:9"}  # without the control flow, and UDP has none
    assert set(found.rtts["tcp s0:1 to r0:9"][1]) == {8.0}
    assert set(found.queues) == {"a->b"}
    assert len(programs_time.draw(found).axes) == 3


def test_the_files_own_loads_are_one_line():
    loads = pl.DataFrame({"id": [7, 8], "dst": ["r0", "r0"]})
    rows = [(t * MS, k, 20 * t) for t in range(0, 1001, 10) for k in (7, 8)]
    trace = pl.DataFrame(rows, ["time_ps", "flow", "arrived_bytes"], orient="row")
    found = programs_time.info(tables() | {"flows": loads, "flow_trace": trace})
    times, share = found.shares[programs_time.BACKGROUND]
    assert share[times < 490] == pytest.approx(80) and share[times > 510] == pytest.approx(50)
    assert np.sum([values[0] for _, values in found.shares.values()]) == pytest.approx(100)


def test_without_traces_there_is_nothing_to_draw():
    with pytest.raises(ValueError, match=r"probe\.flow_trace"):
        programs_time.info({})
