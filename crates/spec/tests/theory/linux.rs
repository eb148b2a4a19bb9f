//! The profile `linux` against Linux: DCTCP over a threshold, on the real kernel in virtual time
//! (`--backend linux`, Linux 7.2.12), and here.
//!
//! A star of 100 Mb/s with hosts ten times as fast, 4 ms of base round trip, 5 s of which the first 0.2 s do
//! not count, K = 20, DCTCP's own ACKs every second segment. Both agree for these reasons: windows in whole
//! segments, alpha in 1/1024; the packet that changes CE and one with CWR acknowledged at once; reductions
//! spread over a round trip in segments; rounds that end when all of a window is acknowledged.

use crate::bench::{close, near, run};
use serde_json::json;

/// Marks and the mean number of packets waiting, by number of senders, as Linux gives them.
const LINUX: [(u64, f64, f64); 3] = [(1, 5214.0, 17.63), (2, 8321.0, 18.09), (8, 16066.0, 17.75)];

/// Marks within 10 %, waiting packets within one: the bounds that validation holds both backends to.
#[test]
fn marks_and_queues_are_those_of_linux() {
    for (senders, marks, waiting) in LINUX {
        let done = run(json!({
            "duration": "5s",
            "warmup": "200ms",
            "topology": {"kind": "star", "senders": senders, "rate": "100Mbps", "sender_rate": "1Gbps",
                "delay": "1ms"},
            "queue": {"kind": "threshold", "limit": "200pkt", "mark_at": "20pkt", "not_ect": "drop"},
            "transport": {"profile": "linux", "cc": "dctcp"},
            "traffic": {"x": {"kind": "bulk", "from": "s*", "to": "r0"}},
            "probe": {"waits": false},
        }));
        let queue = |column| done.port("switch->r0", column);
        close(&format!("marks of {senders}"), queue("marks"), marks, 0.1);
        // The packet in transmission does not wait.
        near(&format!("waiting of {senders}"), queue("mean_packets") - queue("utilisation"), waiting, 1.0);
    }
}
