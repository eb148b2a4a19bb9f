//! Habits of ns-2's two-way TCP (`tcp-full.cc` with DCTCP, as in the inputs of xDCTCP), each a setting.

use crate::bench::{FULL, HEADER, LINE, MS, MSS, close, pair, run, watch, with};
use serde_json::{Value, json};

const TAIL: u64 = 540;

/// `need_send`: an acknowledgement is due for a full segment's bytes. A short one waits for the timer, or for
/// enough to come behind it. Exact.
#[test]
fn by_bytes_a_short_segment_waits_for_its_acknowledgement() {
    let transport = |counts: &str| json!({"ack_counts": counts, "ack_delay": "2ms"});
    let acks = |counts: &str, bytes: u64| {
        watch(pair(transport(counts), json!({"bytes": format!("{bytes}B")})), &["r0->switch"])
            .times("r0->switch")
    };
    let alone = LINE.one_way(TAIL);
    assert_eq!(acks("segments", TAIL - HEADER), [alone]);
    assert_eq!(acks("bytes", TAIL - HEADER), [alone + 2 * MS]);
    assert_eq!(acks("bytes", 3 * MSS), [1, 2, 3].map(|n| LINE.burst(n)));
    // 500 bytes at 0, 1460 more at 1 ms: one acknowledgement for both.
    let load = json!({"kind": "messages", "bytes": format!("{MSS}B"), "primer": "500B", "start": "1ms", "count": 1,
        "interval": "1s"});
    let done = watch(pair(transport("bytes"), load), &["r0->switch"]);
    assert_eq!(done.times("r0->switch"), [MS + LINE.one_way(FULL)]);
}

/// `window()` is a whole number: with 500 bytes outstanding a window of 3.5 segments lets two out and not three.
#[test]
fn by_segments_the_rest_of_a_window_lets_nothing_out() {
    let at_once = |counts: &str| {
        let transport = json!({"window_counts": counts, "initial_window": "5110B", "validate_cwnd": true,
            "ack_counts": "bytes", "ack_delay": "9ms"});
        let load = json!({"kind": "messages", "bytes": format!("{}B", 10 * MSS), "primer": "500B", "start": "1ms",
            "count": 1, "interval": "1s"});
        let times = watch(pair(transport, load), &["s0->switch"]).times("s0->switch");
        times.iter().filter(|at| **at == MS).count()
    };
    assert_eq!([at_once("bytes"), at_once("segments")], [3, 2]);
}

/// `recv` reduces before it counts. With every segment marked and hardly any alpha, a window of 8 is counted up just
/// when the next reduction is due: the other order adds a segment first.
#[test]
fn a_reduction_before_the_growth_keeps_a_marked_window_from_growing() {
    let most = |growth: &str| {
        let cc = json!({"kind": "dctcp", "g": 1e-9, "initial_alpha": 1e-6});
        let transport = json!({"cc": cc, "ece_growth": growth, "growth": "acks", "initial_window": "8pkt",
            "initial_ssthresh": "8pkt", "validate_cwnd": false});
        let mark_all = json!({"kind": "threshold", "mark_at": "0pkt", "measure": "after", "limit": "none"});
        let document = pair(transport, json!({"bytes": format!("{}B", 200 * MSS)}));
        let done = watch(with(document, json!({"queue": mark_all})), &["s0->switch"]);
        done.column("flow_trace", "cwnd_bytes").into_iter().fold(0.0, f64::max) / MSS as f64
    };
    assert!(most("first") > 8.9, "{}", most("first"));
    assert!(most("cut-first") <= 8.0, "{}", most("cut-first"));
}

/// `update_dctcp_alpha` sees the ECN-Echo of the SYN+ACK: alpha is g, and (1 - g) g after a round without marks.
#[test]
fn the_handshakes_echo_counts_as_a_mark() {
    let alpha = |marks: bool| {
        let cc: Value = json!({"kind": "dctcp", "g": 0.1, "initial_alpha": 0.0});
        let transport = json!({"opening": "handshake", "cc": cc, "handshake_marks": marks});
        run(pair(transport, json!({"bytes": format!("{MSS}B")}))).flow("alpha")
    };
    close("alpha", alpha(true), 0.09, 1e-12);
    assert_eq!(alpha(false), 0.0);
}
