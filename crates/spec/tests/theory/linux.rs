//! The profile `linux` against Linux: DCTCP over a threshold, on the real kernel in virtual time
//! (`--backend linux`, Linux 7.2.12), and here.
//!
//! A star of 100 Mb/s with hosts ten times as fast, 4 ms of base round trip, 5 s of which the first 0.2 s do
//! not count, K = 20, DCTCP's own ACKs every second segment. Both agree for these reasons: windows in whole
//! segments, alpha in 1/1024; the packet that changes CE and one with CWR acknowledged at once; reductions
//! spread over a round trip in segments; rounds that end when all of a window is acknowledged.

use crate::bench::{Run, close, near, pair, run, with};
use serde_json::{Value, json};

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

/// Reno with ECN beside DCTCP, on paths of two round trips, in ps, with the share on Linux, DCTCP's rate over Reno's. Reno's
/// window has some four segments, so that a half of a segment that it keeps or loses at a mark counts: with halves kept the
/// shares were 10.95 and 7.56.
const BESIDE_RENO: [(u64, f64); 2] = [(3_920_000_000, 9.197), (4_040_000_000, 9.453)];

fn beside_reno(round_trip: u64) -> Run {
    run(json!({
        "duration": "42s",
        "warmup": "2s",
        "topology": {"kind": "star", "senders": 2, "rate": "100Mbps", "sender_rate": "1Gbps",
            "delay": format!("{}ps", round_trip / 4)},
        "queue": {"kind": "threshold", "limit": "200pkt", "mark_at": "20pkt", "not_ect": "drop"},
        "nic": "drop-tail",
        "transport": {"profile": "linux", "cc": "dctcp", "ecn": "on"},
        "traffic": {
            "d": {"kind": "bulk", "from": "s0", "to": "r0", "jitter": "2ms"},
            "r": {"kind": "bulk", "from": "s1", "to": "r0", "jitter": "2ms", "transport": {"cc": "newreno"}},
        },
        "probe": {"waits": false},
    }))
}

/// Within 3 %. The cycle of two flows depends on the path, and so both paths are Linux's.
#[test]
fn the_share_of_reno_beside_dctcp_is_that_of_linux() {
    for (round_trip, share) in BESIDE_RENO {
        let goodputs = beside_reno(round_trip).column("flows", "goodput_bps");
        close(&format!("share at {round_trip} ps"), goodputs[0] / goodputs[1], share, 0.03);
    }
}

/// Losses and mean number of packets waiting of one Reno flow behind 200 packets of drop-tail, 100 Mb/s and 4 ms, 60 s
/// counted, as Linux gives them (7.2.12). Two packets are lost a cycle: the acknowledgement with the first report of a loss
/// completes a window by what it confirms and what SACK reports (`tcp_cong_control`, acked_sacked), and the grown window sends
/// one segment more into the full port. Counted by number alone it is one a cycle, 24.
const BEHIND_DROP_TAIL: (f64, f64) = (48.0, 146.4);

#[test]
fn a_reno_flow_loses_as_many_packets_a_cycle_as_on_linux() {
    let losses = |growth: Value| {
        let done = run(with(
            json!({
                "duration": "62s",
                "warmup": "2s",
                "topology": {"kind": "star", "senders": 1, "rate": "100Mbps", "sender_rate": "1Gbps", "delay": "1ms"},
                "queue": {"kind": "drop-tail", "limit": "200pkt"},
                "nic": "drop-tail",
                "transport": {"profile": "linux", "cc": "newreno"},
                "traffic": {"x": {"kind": "bulk", "from": "s*", "to": "r0"}},
                "probe": {"waits": false},
            }),
            json!({"transport": growth}),
        ));
        let waiting = done.port("switch->r0", "mean_packets") - done.port("switch->r0", "utilisation");
        (done.flow("retransmissions"), waiting)
    };
    let (lost, waiting) = losses(json!({}));
    assert_eq!(lost, BEHIND_DROP_TAIL.0);
    near("waiting", waiting, BEHIND_DROP_TAIL.1, 1.0);
    assert_eq!(losses(json!({"growth": "bytes"})).0, 24.0);
}

/// `tcp_cong.c` counts windows in segments: no sample of a window has a part of one.
#[test]
fn windows_are_whole_segments() {
    for cc in ["newreno", "cubic", "dctcp"] {
        let done = run(json!({
            "duration": "1s",
            "topology": {"kind": "star", "senders": 3, "rate": "100Mbps", "sender_rate": "1Gbps", "delay": "1ms"},
            "queue": {"kind": "threshold", "limit": "200pkt", "mark_at": "20pkt"},
            "transport": {"profile": "linux", "cc": cc, "ecn": "on"},
            "traffic": {"x": {"kind": "bulk", "from": "s*", "to": "r0"}},
            "probe": {"flow_trace": "1ms"},
        }));
        assert!(done.column("flows", "ecn_reductions").iter().sum::<f64>() > 10.0);
        let parts =
            done.column("flow_trace", "cwnd_bytes").iter().filter(|bytes| **bytes % 1448.0 != 0.0).count();
        assert_eq!(parts, 0, "{cc}");
    }
}

/// Linux tcp_cwnd_validate: a window that was full counts as full until what was outstanding then is acknowledged. Ten segments fill the
/// first window, which slow start doubles. Two segments a millisecond later do not fill it, and it stays.
#[test]
fn a_window_counts_as_full_for_one_round_trip() {
    let mut document = pair(json!({}), json!({}));
    document["transport"] = json!({"profile": "linux", "cc": "newreno", "opening": "established"});
    document["traffic"] = json!({"x": {"kind": "graph", "messages": [
        {"id": "full", "from": "s0", "to": "r0", "bytes": "14480B"},
        {"id": "short", "from": "s0", "to": "r0", "bytes": "2896B", "start": "1ms"},
    ]}});
    document["probe"] = json!({"flow_trace": "change"});
    let done = run(with(document, json!({"duration": "5ms"})));
    let windows = done.column("flow_trace", "cwnd_bytes");
    assert_eq!(done.fct().len(), 2);
    assert_eq!(*windows.last().expect("a row"), 20.0 * 1448.0, "{windows:?}");
}
