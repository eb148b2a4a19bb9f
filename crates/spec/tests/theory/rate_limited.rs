//! Windows that their senders do not fill: draft-ietf-ccwg-ratelimited-increase, by closed forms.

use crate::bench::{MSS, close, pair, run, with};
use serde_json::{Value, json};

/// The last window in segments, with a cap and without one.
fn windows(transport: &Value, load: &Value, changes: &Value) -> [f64; 2] {
    ["max-flight", "none"].map(|cap| {
        let transport = with(json!({"validate_cwnd": false, "growth_cap": cap}), transport.clone());
        run(with(pair(transport, load.clone()), changes.clone())).flow("cwnd_bytes") / MSS as f64
    })
}

/// Draft s.3.1: ten segments take the window from 10 to 20. Four more segments take an unconstrained one to 24, and a capped one
/// stays at 2 maxFS = 20. So k messages of n segments each leave 10 + k n and max(10, 2 n). A first window that is too large stays.
#[test]
fn in_slow_start_a_window_grows_to_twice_the_most_in_flight() {
    for segments in [1, 4, 5, 6, 7, 10] {
        for count in [1, 2, 50] {
            let load = json!({"kind": "messages", "bytes": format!("{}B", segments * MSS), "interval": "1ms", "count": count});
            let [capped, free] = windows(&json!({}), &load, &json!({}));
            let grown = (10 + count * segments) as f64;
            close("free", free, grown, 0.0);
            close("capped", capped, grown.min((2 * segments) as f64).max(10.0), 0.0);
        }
    }
}

/// The load of an application that writes a segment each millisecond, on a path whose round trip is a little more than 100 ms: 101
/// segments are in flight.
fn steady(count: u64) -> (Value, Value) {
    let load = json!({"kind": "messages", "bytes": format!("{MSS}B"), "interval": "1ms", "count": count});
    (load, json!({"topology": {"delay": "25ms"}, "duration": "12s"}))
}

/// An application that sends at a fixed rate below its window: rule 2 bounds the window at 2 maxFS = 202 in slow start. Without it each
/// acknowledgement adds a segment, for ever.
#[test]
fn at_a_fixed_rate_the_window_is_bounded() {
    for count in [500, 2000, 8000] {
        let (load, path) = steady(count);
        for (transport, step) in [(json!({}), 1.0), (json!({"ack_every": 2, "ack_delay": "5ms"}), 2.0)] {
            let transport = with(json!({"initial_window": "150pkt"}), transport);
            let [capped, free] = windows(&transport, &load, &path);
            close("free", free, (150 + count) as f64, 0.0);
            // An acknowledgement of two segments comes a millisecond later.
            close("capped", capped, 202.0, 2.0 * (step - 1.0) / 202.0);
        }
    }
}

/// Draft s.3: in congestion avoidance limit(maxFS) is what a round trip adds: a segment for Reno, alpha segments for AIMD, and half a
/// window for CUBIC (RFC 9438 s.4.4: a target of at most 1.5 windows). Without the cap the windows grow beyond it.
#[test]
fn in_avoidance_a_window_grows_by_what_a_round_trip_adds() {
    let (load, path) = steady(11_000);
    let aimd = json!({"kind": "aimd", "alpha": 3.0});
    for (cc, limit) in
        [(json!("newreno"), 102.0), (json!("dctcp"), 102.0), (json!("cubic"), 151.5), (aimd, 104.0)]
    {
        let transport = json!({"cc": cc, "initial_window": "101pkt", "initial_ssthresh": "101pkt"});
        let [capped, free] = windows(&transport, &load, &path);
        close("capped", capped, limit, 0.0);
        assert!(free > limit + 20.0, "{cc}: {free}");
    }
}

/// Draft s.1.1: maxFS counts since the window last decreased. A path whose round trip falls to 20 ms has 21 segments in flight. Two losses
/// leave a quarter of the window, 202 / 4 = 50.5, which is more than 21 + 1 segments: it stays there. A maxFS of the
/// whole connection, 101, would let it grow on.
#[test]
fn a_reduction_begins_the_most_in_flight_anew() {
    let (load, path) = steady(8000);
    let shorter = json!({
        "event": {
            "a": {"at": "3s", "link": "s0<->switch", "delay": "5ms"},
            "b": {"at": "3s", "link": "switch<->r0", "delay": "5ms"},
        },
        "port": {"s0->switch": {"drop_packets": [4000, 5000]}},
    });
    let transport = json!({"initial_window": "150pkt", "loss_halves": "window"});
    let [capped, free] = windows(&transport, &load, &with(path, shorter));
    close("capped", capped, 50.5, 0.0);
    assert!(free > 60.0, "{free}");
}
