//! Slow start: RFC 5681 s.3.1, RFC 3465, RFC 6928.

use crate::bench::{FULL, LINE, MS, MSS, Run, S, close, pair, run, watch, with};
use serde_json::{Value, json};

/// RFC 6928: the initial window goes out at once, and nothing more before the first acknowledgement.
// req: RFC5681 s3.1 MUST initial-window
#[test]
fn the_initial_window_is_sent_at_once() {
    for window in [1, 2, 4, 10] {
        let transport = json!({"initial_window": format!("{window}pkt")});
        let times = watch(pair(transport, json!({"bytes": "100KB"})), &["s0->switch"]).times("s0->switch");
        let at_once = times.iter().filter(|at| **at == 0).count();
        let before_any_ack = times.iter().filter(|at| **at < LINE.round()).count();
        assert_eq!((at_once, before_any_ack), (window, window));
        assert_eq!(times[window], LINE.round());
    }
}

/// RFC 5681 s.3.1: SYN+ACK and its acknowledgement add nothing. After a handshake too the initial window goes out at
/// once, and nothing more before the first acknowledgement of data.
// req: RFC5681 s3.1 MUST handshake-adds-nothing
#[test]
fn a_handshake_adds_nothing_to_the_initial_window() {
    for window in [1, 2, 4, 10] {
        let transport = json!({"initial_window": format!("{window}pkt"), "opening": "handshake"});
        let sent = watch(pair(transport, json!({"bytes": "100KB"})), &["s0->switch"]).sent("s0->switch");
        let full: Vec<u64> =
            sent.iter().filter(|packet| packet.bytes == FULL).map(|packet| packet.at).collect();
        assert_eq!(full.iter().filter(|at| **at < full[0] + LINE.round()).count(), window);
    }
}

/// RFC 5681 s.3.1: a sender whose SYN or SYN+ACK was lost begins with one segment. Linux keeps the initial window after
/// one loss (tcp_init_transfer: `total_retrans > 1`), since RFC 6298 made the first timeout short.
// req: RFC5681 s3.1 MUST one-segment-after-lost-syn
#[test]
fn a_lost_syn_leaves_a_window_of_one_segment() {
    let at_once = |port: &str, lost: u64, transport: Value| {
        let transport = with(json!({"opening": "handshake"}), transport);
        let lost: Vec<u64> = (1..=lost).collect();
        let fault = json!({"duration": "5s", "port": {(port): {"drop_packets": lost}}});
        let done = watch(with(pair(transport, json!({"bytes": "100KB"})), fault), &["s0->switch"]);
        let full: Vec<u64> =
            done.sent("s0->switch").iter().filter(|sent| sent.bytes >= FULL).map(|sent| sent.at).collect();
        full.iter().filter(|at| **at < full[0] + LINE.round()).count()
    };
    for port in ["s0->switch", "switch->s0"] {
        for (transport, windows) in [
            (json!({}), [10, 1, 1]),
            (json!({"cc": "cubic"}), [10, 1, 1]),
            (json!({"cc": "aimd"}), [10, 1, 1]),
            (json!({"cc": "swift"}), [10, 1, 1]),
            (json!({"profile": "rfc"}), [10, 1, 1]),
            (json!({"lost_syns": 2}), [10, 10, 1]),
            (json!({"profile": "linux"}), [10, 10, 1]),
            (json!({"lost_syns": "none"}), [10, 10, 10]),
        ] {
            assert_eq!(
                [0, 1, 2].map(|lost| at_once(port, lost, transport.clone())),
                windows,
                "{port} {transport}"
            );
        }
    }
}

/// Congestion window after each of the first `rounds` round trips, in segments, on a path whose round
/// trip of 100 ms is long beside all transmissions.
pub fn windows(rounds: u64, transport: Value) -> Vec<f64> {
    let slow = json!({"topology": {"delay": "25ms", "rate": "100Gbps"}, "duration": format!("{}ms", 100 * rounds + 60)});
    let trace: Run = watch(with(pair(transport, json!({})), slow), &["s0->switch"]);
    let (times, cwnd) = (trace.column("flow_trace", "time_ps"), trace.column("flow_trace", "cwnd_bytes"));
    let at = |time: f64| {
        let row = times.iter().rposition(|t| *t < time).expect("the window has grown");
        cwnd[row] / MSS as f64
    };
    // Half a round trip after the acknowledgements of the round have come.
    (1..=rounds).map(|n| at((100 * n * MS + 50 * MS) as f64)).collect()
}

/// RFC 5681 s.3.1: a segment more for each acknowledged one, so the window doubles each round trip.
/// Exact: the round trips do not overlap.
// req: RFC5681 s3.1 MUST both-algorithms
// req: RFC5681 s3.1 SHOULD ssthresh-high
#[test]
fn the_window_doubles_each_round_trip() {
    let doubling: Vec<f64> = (1..=8).map(|n| 10.0 * f64::from(1 << n)).collect();
    assert_eq!(windows(8, json!({})), doubling);
    assert_eq!(windows(8, json!({"growth": "acks"})), doubling);
}

/// RFC 3465 s.2.2, 2.3: with L = 2, counting bytes makes up for an acknowledgement every second segment.
/// Without it (L = 1, or counting acknowledgements) the window grows by half: RFC 3465 s.1.
/// Exact where each round's segments come in whole pairs, so 16 segments and three round trips.
// req: RFC5681 s3.1 SHOULD count-bytes
#[test]
fn delayed_acknowledgements_slow_the_start_unless_bytes_are_counted() {
    let delayed = |changes: Value| {
        windows(3, with(json!({"initial_window": "16pkt", "ack_every": 2, "ack_delay": "5ms"}), changes))
    };
    assert_eq!(delayed(json!({})), [32.0, 64.0, 128.0]);
    assert_eq!(delayed(json!({"slow_start_limit": 1.0})), [24.0, 36.0, 54.0]);
    assert_eq!(delayed(json!({"growth": "acks"})), [24.0, 36.0, 54.0]);
}

/// Completion of n segments in slow start, from an initial window of w: round k (counted from 0) begins
/// with the first acknowledgement of the round before, at k R, and sends w 2^k segments back to back,
/// until the last round, which sends the rest (Kurose and Ross, Computer Networking, s.3.7, "TCP
/// latency": K = log2(n / w + 1) rounds, rounded up). Exact while a round's transmission is shorter than R.
#[test]
fn a_flow_in_slow_start_completes_as_the_closed_form_says() {
    for (window, segments) in [(1, 1), (1, 7), (1, 8), (2, 30), (10, 10), (10, 11), (10, 70), (3, 93)] {
        let mut rest = segments;
        let mut round = 0;
        while rest > window << round {
            rest -= window << round;
            round += 1;
        }
        assert!(LINE.transmission(FULL) * (window << round) < LINE.round(), "the closed form holds");
        let transport = json!({"initial_window": format!("{window}pkt")});
        let done = run(pair(transport, json!({"bytes": format!("{}B", segments * MSS)})));
        assert_eq!(done.fct(), [round * LINE.round() + LINE.burst(rest)], "{window} {segments}");
    }
}

/// RFC 5681 s.3.1: beyond ssthresh the window grows by one segment each round trip. RFC 3465 s.2.1 counts
/// bytes for it. Exact but for the round in which the threshold is crossed.
// req: RFC5681 s3.1 MUST both-algorithms
// req: RFC5681 s3.1 SHOULD avoidance-once-a-round
// req: RFC5681 s3.1 MUST avoidance-at-most-one
#[test]
fn above_ssthresh_the_window_grows_by_a_segment_each_round_trip() {
    for transport in [json!({}), json!({"growth": "acks"}), json!({"ack_every": 2, "ack_delay": "5ms"})] {
        let windows = windows(10, with(json!({"initial_ssthresh": "20pkt"}), transport));
        assert_eq!(windows[0], 20.0);
        windows[1..].windows(2).for_each(|w| assert_eq!(w[1] - w[0], 1.0, "{windows:?}"));
    }
}

/// RFC 5681 s.4.1: after an idle time longer than the timeout at most the restart window goes out at once.
// req: RFC5681 s4.1 SHOULD restart-window
#[test]
fn after_an_idle_time_the_window_is_the_initial_one_again() {
    let load = json!({"kind": "messages", "bytes": "146KB", "interval": "50ms", "count": 2});
    let burst = |restart: bool| {
        let transport = json!({"idle_restart": restart, "validate_cwnd": false});
        let run = watch(pair(transport, load.clone()), &["s0->switch"]);
        run.times("s0->switch").iter().filter(|at| **at == 50 * MS).count()
    };
    assert_eq!(burst(true), 10);
    // 100 segments took the window from 10 to 110.
    assert_eq!(burst(false), 100);
}

/// RFC 2861, Linux tcp_cwnd_restart: a window of 110 segments halves for each timeout but the first, down to the restart
/// window, and slow start goes to three quarters of it, each rounded as Linux does. Timeouts are 200 ms and the round trip.
#[test]
fn an_idle_time_halves_the_window_for_each_timeout() {
    let burst = |interval_ms: u64, halves: bool| {
        let load =
            json!({"kind": "messages", "bytes": "146KB", "interval": format!("{interval_ms}ms"), "count": 2});
        let transport = json!({"idle_halves": halves, "min_rto": "200ms", "validate_cwnd": false});
        let document = with(pair(transport, load), json!({"duration": "2s"}));
        let run = watch(document, &["s0->switch"]);
        run.times("s0->switch").iter().filter(|at| **at == interval_ms * MS).count()
    };
    assert_eq!([150, 250, 450, 650, 1500].map(|ms| burst(ms, true)), [100, 55, 27, 13, 10]);
    assert_eq!([150, 250, 1500].map(|ms| burst(ms, false)), [100, 10, 10]);
}

/// The window's mean over time, by hand: 10 segments until the first acknowledgement, 11 until the restart at 1 s
/// (RFC 5681 s.4.1), then the same again. So the idle time counts with the window that stood during it.
#[test]
fn the_mean_window_counts_an_idle_time_with_the_window_that_stood() {
    let load = json!({"kind": "messages", "bytes": "1460B", "interval": "1s", "count": 2});
    let document = with(pair(json!({"validate_cwnd": false}), load), json!({"duration": "2s"}));
    let (before, all) = (LINE.round() as f64, S as f64);
    let want = (10.0 * before + 11.0 * (all - before)) / all * MSS as f64;
    close("mean window", run(document).flow("cwnd_mean_bytes"), want, 1e-12);
}

/// RFC 7661 s.4.1, as far as slow start goes: a window that the application does not fill does not grow.
#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let load = json!({"kind": "messages", "bytes": "1460B", "interval": "1ms", "count": 100});
    let last =
        |validate: bool| run(pair(json!({"validate_cwnd": validate}), load.clone())).flow("cwnd_bytes");
    close("validated", last(true), 10.0 * MSS as f64, 0.0);
    close("not validated", last(false), 110.0 * MSS as f64, 0.0);
}

/// Linux tcp_cwnd_validate and tcp_is_cwnd_limited: a window that was full once grows until all that was outstanding then
/// is acknowledged; another grows to twice the most that was outstanding. The kernel's own scripts say the same
/// (slow-start-app-limited.pkt: 20 of ten segments; -9-packets-out.pkt: 18 of nine; ack-per-2pkt-send-5pkt.pkt: 10 of five).
#[test]
fn in_linuxs_arithmetic_a_window_grows_to_twice_what_was_outstanding() {
    for (segments, window) in [(5, 10.0), (6, 12.0), (9, 18.0), (10, 20.0)] {
        let load = json!({"kind": "messages", "bytes": format!("{}B", segments * 1448), "interval": "1s", "count": 1});
        let run = run(pair(json!({"profile": "linux"}), load));
        close("window", run.flow("cwnd_bytes") / 1448.0, window, 0.0);
    }
}

/// RFC 7661 s.4.3, Linux tcp_is_cwnd_limited: a window that the receiver's keeps from being filled grows to at most twice
/// the flight in slow start, since there "half the window is in use" lets it grow, and not at all in avoidance.
#[test]
fn a_window_that_the_receiver_limits_stops_growing() {
    for profile in ["datacentre", "rfc", "linux"] {
        let last = |more: Value| {
            let transport = with(json!({"profile": profile, "receive_window": "100pkt"}), more);
            let run = run(with(pair(transport, json!({})), json!({"duration": "300ms"})));
            let mss = if profile == "linux" { 1448.0 } else { MSS as f64 };
            run.flow("cwnd_bytes") / mss
        };
        let slow = last(json!({}));
        assert!((199.0..=202.0).contains(&slow), "{profile}: {slow}");
        let avoiding = last(json!({"initial_ssthresh": "50pkt"}));
        assert!((99.0..=102.0).contains(&avoiding), "{profile}: {avoiding}");
    }
}

/// RFC 9406 s.1: HyStart++ leaves slow start before a deep buffer overflows. 100 Mb/s and 40 ms are 333
/// packets; the buffer holds 13 times that. Standard slow start goes on until window = pipe + buffer and then
/// loses thousands of packets. HyStart++ ends it where the shortest round trip of a round has grown by
/// max(4 ms, min(40 ms / 8, 16 ms)) = 5 ms. The window of 320, just below the pipe, doubles in a round that
/// builds a queue for its end only, and doubles again in the next, whose first packets met none; the first of
/// the third tell. So it begins with 1280 segments, and five rounds at a quarter of the growth make at most
/// (5/4)^5 = 3.05 times that of it: 3906.
#[test]
fn hystart_leaves_slow_start_before_a_deep_buffer_overflows() {
    for cc in ["newreno", "cubic"] {
        let start = |slow_start: &str| {
            let done = run(json!({
                "duration": "4s",
                "topology": {"kind": "star", "senders": 1, "rate": "100Mbps", "sender_rate": "10Gbps",
                    "delay": "10ms"},
                "queue": {"kind": "drop-tail", "limit": "4400pkt"},
                "transport": {"opening": "established", "cc": {"kind": cc, "slow_start": slow_start},
                    "min_rto": "500ms"},
                "traffic": {"x": {"kind": "bulk", "from": "s0", "to": "r0"}},
            }));
            let port = |column: &str| done.port("switch->r0", column);
            (port("drops_full"), port("max_packets"), port("utilisation"))
        };
        let (drops, _, _) = start("standard");
        assert!(drops > 500.0, "{cc}: {drops}");
        let (drops, most, utilisation) = start("hystart++");
        assert_eq!(drops, 0.0, "{cc}");
        assert!((1280.0 - 333.0..3906.0 + 8.0 * 3.05 - 333.0).contains(&most), "{cc}: {most}");
        assert!(utilisation > 0.85, "{cc}: {utilisation}"); // 0.3 s of 4 s pass until the pipe is full
    }
}

/// HyStart of Linux's CUBIC (Ha and Rhee 2008; tcp_cubic.c, hystart_update): slow start ends once acknowledgements have come for half of the
/// least round trip without a gap. 100 Mb/s send a packet in 120 us. The round trip of 40 ms and two transmissions has more than
/// half of that in acknowledgements in the round that begins with 320 segments, after some 167 of them.
#[test]
fn linuxs_cubic_leaves_slow_start_after_half_a_round_trip_of_acknowledgements() {
    let threshold = |slow_start: &str, duration: &str| {
        let done = run(json!({
            "duration": duration,
            "topology": {"kind": "star", "senders": 1, "rate": "100Mbps", "sender_rate": "10Gbps", "delay": "10ms"},
            "queue": {"kind": "drop-tail", "limit": "none"},
            "transport": {"profile": "linux", "opening": "established", "cc": {"kind": "cubic", "slow_start": slow_start}},
            "traffic": {"x": {"kind": "bulk", "from": "s0", "to": "r0"}},
        }));
        done.flow("ssthresh_bytes") / 1448.0
    };
    for detector in ["auto", "hystart"] {
        // Four bursts at twice the window a round trip, a millisecond at most, are allowed for beside: up to five packets' times.
        let got = threshold(detector, "1s");
        assert!((320.0 + 167.0..=320.0 + 173.0).contains(&got), "{detector}: {got}");
    }
    assert!(threshold("standard", "1s").is_nan());
    // RFC 9406 in the same arithmetic: as in the test above.
    let got = threshold("hystart++", "4s");
    assert!((1280.0..3906.0).contains(&got), "{got}");
}
