//! PIAS: data fall to lower priorities by the bytes that their flow has sent (Bai 2015, s.3).

use crate::bench::{FULL, HEADER, MSS, Run, pair, run, with};
use serde_json::{Value, json};

/// Three strict priorities, and thresholds after 10 and 30 segments.
fn pias(changes: Value) -> Value {
    let transport = json!({"priority": 7, "demote_at": [format!("{}B", 10 * MSS), format!("{}B", 30 * MSS)],
        "initial_window": "1000pkt"});
    let lanes = json!({"priority": {"7": {}, "6": {}, "5": {}}, "nic": "drop-tail", "queue": {"limit": "none"}, "probe": {"nic_queues": true}});
    with(with(pair(transport, json!({})), lanes), changes)
}

/// Packets that each lane of `port` was handed, from the highest priority on.
fn lanes(run: &Run, port: &str) -> Vec<f64> {
    let (ports, queues) = (run.words("inner_queues", "port"), run.words("inner_queues", "queue"));
    let packets = run.column("inner_queues", "packets_in");
    let of = |priority: &str| {
        let row = (0..ports.len()).find(|row| ports[*row] == port && queues[*row].contains(priority));
        row.map_or(0.0, |row| packets[row])
    };
    ["7", "6", "5"].map(of).to_vec()
}

/// A flow of n segments has min(n, 10) packets in the first priority, the next 20 in the second, the rest in the third, at
/// its host's port and at the switch. Acknowledgements have the first.
#[test]
fn each_priority_has_its_share_of_a_flow() {
    for (segments, want) in
        [(4, [4.0, 0.0, 0.0]), (10, [10.0, 0.0, 0.0]), (11, [10.0, 1.0, 0.0]), (100, [10.0, 20.0, 70.0])]
    {
        let bytes = format!("{}B", segments * MSS);
        let done = run(pias(json!({"traffic": {"x": {"bytes": bytes, "start": "1us"}}})));
        for port in ["s0->switch", "switch->r0"] {
            assert_eq!(lanes(&done, port), want, "{segments} segments at {port}");
        }
        assert_eq!(lanes(&done, "r0->switch"), [segments as f64, 0.0, 0.0]);
    }
}

/// Two senders of 100 Gb/s share a port of 10 Gb/s. One has sent a window of 1000 segments, so that its data have the third priority by
/// then. A message of ten segments of the other passes what waits, and so does one of 30, since nobody else is in the second
/// priority: each ends one packet's time later than on an empty network at most. Of 31 segments the last waits behind all that
/// the third priority holds, and without thresholds all wait.
#[test]
fn a_short_flow_passes_a_long_one_until_it_is_demoted() {
    let late = |segments: u64, demotes: bool| {
        let transport = if demotes { json!({}) } else { json!({"demote_at": []}) };
        let done = run(pias(json!({
            "topology": {"senders": 2, "sender_rate": "100Gbps"}, "duration": "20ms", "transport": transport,
            "traffic": {"x": {"bytes": "5MB"}, "short": {"kind": "messages", "from": "s1", "to": "r0",
                "bytes": format!("{}B", segments * MSS), "interval": "1s", "start": "1ms"}},
        })));
        let row = done.words("messages", "traffic").iter().position(|name| *name == "short").expect("a row");
        (done.column("messages", "fct_ps")[row] - done.column("messages", "ideal_ps")[row])
            / (800 * FULL) as f64
    };
    for segments in [10, 30] {
        let packets = late(segments, true);
        assert!((0.0..=1.0).contains(&packets), "{segments} segments: {packets} packets late");
    }
    assert!(late(31, true) > 100.0, "{}", late(31, true));
    assert!(late(10, false) > 100.0, "{}", late(10, false));
    assert_eq!(HEADER + MSS, FULL);
}

/// Thresholds ascend, there is a priority for each, and a section declares it.
#[test]
fn thresholds_without_a_priority_are_refused() {
    let found = |changes: Value| {
        let faults = shallows_spec::load(&pias(changes).to_string()).err().expect("it is refused");
        faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    let few = found(json!({"transport": {"priority": 1}, "priority": {"1": {}, "0": {}}}));
    assert!(
        few.contains("transport.demote_at: must be at most 1, the number of priorities below 1"),
        "{few}"
    );
    let fall = found(json!({"transport": {"demote_at": ["20KB", "10KB"]}}));
    assert!(fall.contains("transport.demote_at.1: must be above the one before it"), "{fall}");
    let none = found(json!({"transport": {"demote_at": ["10KB", "20KB", "30KB"]}}));
    assert!(
        none.contains("demote_at: names a priority that no section declares: write [priority.4]"),
        "{none}"
    );
}
