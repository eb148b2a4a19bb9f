//! Careful resume: RFC 9959, by closed forms and step by step.

use crate::bench::{FULL, HEADER, Line, MS, MSS, Run, pair, run, watch, with};
use serde_json::{Value, json};

/// A path whose round trip is long beside all transmissions: 100 Gb/s, and 25 ms on each of two links.
const LONG: Line = Line { byte: 80, delay: 25 * MS };

/// A transfer of `segments` over it.
fn transfer(segments: u64, transport: Value) -> Value {
    let path = json!({"topology": {"delay": "25ms", "rate": "100Gbps"}, "duration": "3s"});
    let transport = with(json!({"small_queues": "none"}), transport);
    with(pair(transport, json!({"bytes": format!("{}B", segments * MSS)})), path)
}

fn saved(cwnd: &str, rtt: &str) -> Value {
    json!({"saved_cwnd": cwnd, "saved_rtt": rtt})
}

/// RFC 9959 s.3.2 to s.3.4, without loss. A window of 10 is sent, and the last of its acknowledgements comes 9 transmissions after a round
/// trip: then 20 segments are in flight, and the path is confirmed. The window jumps to half of the saved 800. The 380 segments that fit
/// go one by one in a 400th of the round trip that the last acknowledgement measured. They are all sent before any acknowledgement
/// comes, so the window of 400 is in flight whole and holds. In the next round trip it doubles by slow start.
/// So 10 + 20 + 380 + 2 x 400 = 1210 segments take less than four round trips; a slow start takes six and the sixth round.
#[test]
fn a_transfer_with_a_right_saved_window_ends_sooner_by_the_predicted_round_trips() {
    let (round, hop) = (LONG.round(), LONG.transmission(FULL));
    let confirmed = round + 9 * hop;
    let gap = (round + 9 * hop).div_ceil(400);
    let resumed = confirmed + 379 * gap + round + LONG.one_way(FULL) + hop;
    // Rounds 0 to 5 send 10 (2^6 - 1) = 630 segments, and the next one the other 580.
    let slow = 6 * round + LONG.burst(580);
    assert_eq!(run(transfer(1210, json!({}))).fct(), [slow]);
    assert_eq!(run(transfer(1210, saved("800pkt", "100ms"))).fct(), [resumed]);
    assert!((3.0..3.1).contains(&((slow - resumed) as f64 / round as f64)));

    let times = watch(transfer(1210, saved("800pkt", "100ms")), &["s0->switch"]).times("s0->switch");
    let mut due: Vec<u64> = vec![0; 10];
    due.extend((0..20).map(|k| round + k / 2 * hop));
    due.extend((0..380).map(|k| confirmed + k * gap));
    due.extend((0..40).map(|k| 2 * round + k / 2 * hop));
    due.extend((0..760).map(|k| confirmed + round + k / 2 * gap));
    let late: Vec<_> =
        times.iter().zip(&due).enumerate().filter(|(_, (at, due))| at != due).take(5).collect();
    assert!(late.is_empty(), "{late:?}");
}

#[test]
fn probe_retreat() {
    let path = json!({
        "duration": "6s",
        "topology": {"delay": "25ms", "rate": "4800kbps", "sender_rate": "10Gbps"},
        "queue": {"kind": "drop-tail", "limit": "20pkt"},
    });
    let transport = with(json!({"small_queues": "none"}), saved("800pkt", "100ms"));
    let done = watch(with(pair(transport, json!({})), path), &["s0->switch", "switch->r0"]);
    let t = done.column("flow_trace", "time_ps");
    let c = done.column("flow_trace", "cwnd_bytes");
    let s = done.column("flow_trace", "ssthresh_bytes");
    let times = done.times("s0->switch");
    let mut last = (0.0, 0.0);
    for i in 0..t.len() {
        let row = (c[i] / 1460.0, s[i] / 1460.0);
        if row != last {
            let n = times.iter().filter(|x| (**x as f64) <= t[i]).count();
            println!("{:.3} ms cwnd {:.3} ssthresh {:.3} sent {n}", t[i] / 1e9, row.0, row.1);
        }
        last = row;
        if t[i] > 2.5e12 {
            break;
        }
    }
    println!("drops {} retrans {}", done.port("switch->r0", "drops_full"), done.flow("retransmissions"));
}
