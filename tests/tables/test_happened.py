"""The sentences of a summary: events of a run with cost and cause."""

import shallows

RING = {"kind": "collective", "operation": "all-reduce", "rounds": 1}
STAR = {"kind": "star", "senders": 16, "rate": "10Gbps", "delay": "10us"}


def told(tmp_path, document):
    run = shallows.run(document, store=tmp_path, progress=False)
    return run, " ".join(run.happened)


def test_drops_are_told_by_cause_and_timeouts_by_what_they_waited_for(tmp_path):
    """450 packets were lost in a shared buffer, and the printed table had a column of zeros."""
    document = {
        "duration": "60ms",
        "topology": STAR | {"senders": 48},
        "queue": {"kind": "threshold", "limit": "none", "mark_at": "100KB"},
        "switch": {"*": {"buffer": "500KB", "alpha": 0.5}},
        "transport": {"cc": "dctcp", "min_rto": "20ms", "initial_rto": "20ms"},
        "traffic": {"q": {"kind": "bulk", "from": "s*", "to": "r0", "bytes": "64KB"}},
    }
    run, text = told(tmp_path, document)
    lost = run.tables["queues"]["drops_buffer"].sum()
    assert lost > 0 and f"{lost} packets were dropped because the shared buffer was full" in text
    flows = run.tables["flows"].filter(run.tables["flows"]["timeouts"] > 0)
    assert len(flows) > 0 and f"q: {len(flows)} connections" in text and "transport.min_rto" in text
    from shallows.studies.outcomes.rows import QUEUE_COLUMNS, busiest

    rows, _ = busiest(run, 60)
    at = QUEUE_COLUMNS.index("drops")
    assert sum(int(row[at]) for row in rows) == lost


FABRIC = {
    "duration": "2ms",
    "topology": {"kind": "star", "senders": 8, "rate": "100Gbps", "delay": "1us"},
    "queue": {"kind": "drop-tail", "limit": "none"},
    "switch": {"*": {"buffer": "1MB"}},
    "priority": {"3": {"pfc": True}, "6": {}},
    "transport": {"profile": "roce", "cc": "line-rate", "priority": 3, "ack_priority": 6},
}


def test_pauses_are_told_by_priority(tmp_path):
    document = FABRIC | {"traffic": {"q": {"kind": "bulk", "from": "s*", "to": "r0", "bytes": "1MB"}}}
    run, text = told(tmp_path, document)
    pauses = run.tables["pauses"]
    count = pauses["paused"].sum()
    assert count > 0 and f"Priority 3: {count} pauses stopped 8 hosts and 0 switches" in text
    assert "The headroom held at most" in text
    top = pauses["max_headroom_bytes"].max()
    assert f"{top / 1000:.4g} KB of" in text


def test_an_operation_that_did_not_end_tells_how_far_it_came_and_what_it_needs(tmp_path):
    load = RING | {"hosts": "*", "bytes": "1GB"}
    document = FABRIC | {"topology": FABRIC["topology"] | {"senders": 1}, "traffic": {"g": load}}
    run, text = told(tmp_path, document)
    [row] = run.tables["rounds"].to_dicts()
    assert row["end_ps"] is None and row["ideal_ps"] >= 80_000_000_000
    came = run.tables["flows"]["delivered_bytes"].sum()
    assert f"g: round 0 did not end: {came / row['bytes']:.1%} of its 2 GB came in 2 ms" in text
    assert "on the empty network it takes 80 ms at least" in text


def test_a_queue_pair_that_waited_for_its_timer_is_named_with_its_step(tmp_path):
    document = {
        "duration": "200ms",
        "port_control": "hpcc",
        "topology": {
            "kind": "leaf-spine", "leaves": 4, "spines": 4, "hosts_per_leaf": 4, "rate": "400Gbps",
            "delay": "500ns", "uplink_delay": "500ns",
        },
        "queue": {"kind": "drop-tail", "limit": "none"},
        "switch": {"*": {"buffer": "32MB"}},
        "priority": {"3": {"pfc": True}, "6": {}},
        "transport": {
            "profile": "roce", "mtu": "4096B", "cc": {"kind": "hpcc", "base_rtt": "6us"},
            "priority": 3, "ack_priority": 6,
        },
        "traffic": {"g": RING | {"hosts": "h*", "bytes": "16MB"}},
        "event": {"cut": {"at": "100us", "link": "leaf0<->spine0", "state": "down"}},
        "routing": {"reconvergence": "200us"},
    }  # fmt: skip
    run, text = told(tmp_path, document)
    assert run.metrics["timeouts"] == 1
    assert "waited 67.11 ms for transport.timeout" in text and ", step " in text
    assert "on a wire whose link went down" in text and "at a port whose link was down" in text


def test_a_quiet_run_has_nothing_to_tell(tmp_path):
    document = {
        "duration": "2ms", "topology": STAR | {"senders": 1}, "transport": {"cc": "dctcp"},
        "queue": {"kind": "threshold", "limit": "250pkt", "mark_at": "65pkt"},
        "traffic": {"f": {"kind": "bulk", "from": "s0", "to": "r0"}},
    }  # fmt: skip
    assert told(tmp_path, document)[1] == ""
