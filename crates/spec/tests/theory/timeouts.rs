//! The retransmission timer: RFC 6298. All times are exact.

use crate::bench::{FULL, HEADER, LINE, MS, MSS, Run, S, pair, run, watch, with};
use serde_json::{Value, json};

/// Everything that `s0` sends is lost from the `from`th packet on.
fn black_hole(transport: Value, bytes: u64, from: u64, duration: &str) -> Run {
    let lost: Vec<u64> = (from..from + 100).collect();
    let document = pair(transport, json!({"bytes": format!("{bytes}B")}));
    let fault = json!({"duration": duration, "port": {"s0->switch": {"drop_packets": lost}}});
    watch(with(document, fault), &["s0->switch"])
}

fn seconds(run: &Run) -> Vec<u64> {
    let times = run.times("s0->switch");
    times.iter().for_each(|at| assert_eq!(at % S, 0));
    times.iter().map(|at| at / S).collect()
}

/// RFC 6298 s.2.1, 5.5, 2.5: 1 s before any RTT is known, twice as long each time, 60 s at most; for data
/// and for SYN alike (s.2: both are the same timer).
#[test]
fn timeouts_back_off_from_one_second_by_doubling_up_to_the_maximum() {
    let expected = [0, 1, 3, 7, 15, 31, 63, 123, 183];
    for opening in ["established", "handshake"] {
        let done = black_hole(json!({"opening": opening}), 1000, 1, "200s");
        assert_eq!(seconds(&done), expected, "{opening}");
        assert_eq!(done.flow("timeouts"), 8.0);
    }
}

/// The factor and the first value are settings.
#[test]
fn backoff_and_first_timeout_are_settings() {
    let done = black_hole(json!({"initial_rto": "2s", "rto_backoff": 3, "max_rto": "20s"}), 1000, 1, "70s");
    assert_eq!(seconds(&done), [0, 2, 8, 26, 46, 66]);
    let done = black_hole(json!({"rto_backoff": 1}), 1000, 1, "5s");
    assert_eq!(seconds(&done), [0, 1, 2, 3, 4]);
}

/// RFC 9293 s.3.8.3: after R2 retransmissions of the same segment the connection is given up; the next
/// timeout sends nothing. Of a window of segments each timeout sends one again (RFC 5681 s.3.1: loss
/// window).
#[test]
fn a_connection_is_given_up_after_max_timeouts() {
    for opening in ["established", "handshake"] {
        let done = black_hole(json!({"opening": opening, "max_timeouts": 3}), 1000, 1, "200s");
        assert_eq!(seconds(&done), [0, 1, 3, 7], "{opening}");
        assert_eq!(done.simulation.roster().flow_rows.len(), 1);
        assert!(done.column("messages", "fct_ps")[0].is_nan());
    }
    let done = black_hole(json!({"max_timeouts": 2}), 10 * MSS, 1, "200s");
    assert_eq!(seconds(&done), [[0; 10].as_slice(), &[1, 3]].concat());
}

/// RFC 6298 s.2.2, 2.3, 5.3: after samples of one R the timeout is max(min_rto, SRTT + 4 RTTVAR) from the
/// last acknowledgement on. RTTVAR is R/2 after the first sample and 3/4 of itself after each further:
/// with 2 samples SRTT + 4 RTTVAR = R + 4 (R/2) (3/4) = 2.5 R. One segment a round trip, so that no queue
/// disturbs the samples.
#[test]
fn the_timeout_follows_the_measured_round_trip() {
    let lossy = |min_rto: &str| {
        let transport = json!({"initial_window": "1pkt", "cwnd_max": "1pkt", "min_rto": min_rto});
        black_hole(transport, 10 * MSS, 3, "1s").times("s0->switch")
    };
    let round = LINE.round();
    // Segments 1 and 2 are acknowledged; segment 3 is lost at 2 R.
    let first = 2 * round;
    let rto = 5 * round / 2;
    let measured = lossy("1us");
    assert_eq!(measured[..6], [0, round, first, first + rto, first + 3 * rto, first + 7 * rto]);
    // RFC 6298 s.2.4.
    let floor = 50 * MS;
    assert_eq!(lossy("50ms")[..5], [0, round, first, first + floor, first + 3 * floor]);
}

/// RFC 6298 s.5.3: each acknowledgement of new data restarts the timer. The last of ten segments is lost:
/// it is sent again one timeout after the ninth was acknowledged, and arrives.
#[test]
fn a_lost_tail_is_sent_again_one_timeout_after_the_last_acknowledgement() {
    for sack in [true, false] {
        let document = pair(json!({"sack": sack}), json!({"bytes": format!("{}B", 10 * MSS)}));
        let done = run(with(document, json!({"port": {"s0->switch": {"drop_packets": [10]}}})));
        let ninth = LINE.burst(9) + LINE.one_way(HEADER);
        assert_eq!(done.fct(), [ninth + 10 * MS + LINE.one_way(FULL)]);
        assert_eq!([done.flow("timeouts"), done.flow("retransmissions")], [1.0, 1.0]);
    }
}

/// RFC 5681 s.3.1 after a timeout: cwnd is one segment, ssthresh half of the flight, and slow start
/// sends all again that was not acknowledged: 1, 2, 4, 8 segments in a round trip each.
// req: RFC5681 s3.1 MUST timeout-ssthresh
// req: RFC5681 s3.1 MUST loss-window
// req: RFC5681 s3.1 MUST ssthresh-reduced
#[test]
fn after_a_timeout_slow_start_begins_with_one_segment() {
    let document = pair(json!({"initial_window": "16pkt"}), json!({"bytes": format!("{}B", 15 * MSS)}));
    let lost: Vec<u64> = (1..=15).collect();
    let fault = json!({"duration": "2s", "port": {"s0->switch": {"drop_packets": lost}}});
    let done = watch(with(document, fault), &["s0->switch"]);
    let again = &done.times("s0->switch")[15..];
    let round = LINE.round();
    let count = |n: u64| again.iter().filter(|at| (S + n * round..S + (n + 1) * round).contains(at)).count();
    // Flight was 15 segments, so ssthresh is 7.5: from 8 on the window grows by one a round trip.
    assert_eq!([0, 1, 2, 3].map(count), [1, 2, 4, 8]);
    assert_eq!(done.flow("ssthresh_bytes"), 7.5 * MSS as f64);
}

/// RFC 6298 s.5 (end): with Karn's rule the timeout stays backed off until a segment sent once is measured;
/// timestamps measure at once, and it collapses. Segments 1 and 2 are lost at first, so that the
/// acknowledgement of 1 (sent twice) gives no sample, and 2's second loss waits for 2 x 1 s or, with a
/// sample of R = 102.464 us, for the minimum of 10 ms.
#[test]
fn the_backed_off_timeout_stays_until_there_is_a_sample() {
    let second = |rtt_by: &str| {
        let transport = json!({"rtt_by": rtt_by, "initial_window": "2pkt"});
        let document = pair(transport, json!({"bytes": format!("{}B", 2 * MSS)}));
        let fault = json!({"duration": "10s", "port": {"s0->switch": {"drop_packets": [1, 2, 4]}}});
        let times = watch(with(document, fault), &["s0->switch"]).times("s0->switch");
        // Sent: 1, 2 | 1 again after 1 s | 2 again a round trip later, lost | 2 again.
        assert_eq!(times[..4], [0, 0, S, S + LINE.round()]);
        times[4] - times[3]
    };
    assert_eq!(second("karn"), 2 * S);
    assert_eq!(second("timestamps"), 10 * MS);
}

/// Zhang, Ren and Lin 2011: a block (message) of ten segments in one window. All of it lost: a timeout at its
/// head. One of its last three: too few duplicates follow, a timeout at its tail. The fourth from the
/// end alone: three duplicates, no timeout. All but the first four of the block: neither head nor tail.
#[test]
fn timeouts_are_told_apart_by_where_in_the_block_they_strike() {
    let all: Vec<u64> = (1..=10).collect();
    let cases: [(&[u64], [f64; 3]); 6] = [
        (&all, [1.0, 1.0, 0.0]),
        (&[10], [1.0, 0.0, 1.0]),
        (&[8, 9], [1.0, 0.0, 1.0]),
        (&[8, 9, 10], [1.0, 0.0, 1.0]),
        (&[7], [0.0, 0.0, 0.0]),
        (&all[4..], [1.0, 0.0, 0.0]),
    ];
    for (lost, expected) in cases {
        let document = pair(json!({"initial_window": "10pkt"}), json!({"bytes": format!("{}B", 10 * MSS)}));
        let done =
            run(with(document, json!({"duration": "3s", "port": {"s0->switch": {"drop_packets": lost}}})));
        let counts = ["timeouts", "timeouts_head", "timeouts_tail"].map(|column| done.flow(column));
        assert_eq!(counts, expected, "{lost:?}");
    }
}

/// A timeout ends the count of duplicates. The first segment is lost, and all that fast recovery sends for
/// it: the timer begins anew. Were the duplicates remembered, the acknowledgement of data sent before the
/// timeout would begin a second recovery, though nothing is lost any more: one of nothing stalls a sender.
#[test]
fn a_timeout_forgets_the_duplicates_before_it() {
    for (sack, last) in (13..=20).flat_map(|last| [(true, last), (false, last)]) {
        let transport = json!({"sack": sack, "initial_rto": "10ms"});
        let lost: Vec<u64> = [1, 10].into_iter().chain(13..=last).collect();
        let document = pair(transport, json!({"bytes": format!("{}B", 200 * MSS)}));
        let done = run(with(document, json!({"port": {"s0->switch": {"drop_packets": lost}}})));
        assert_eq!(done.flow("fast_recoveries"), 1.0, "{sack} {last}");
        assert!(done.flow("timeouts") >= 1.0, "{sack} {last}");
        assert_eq!(done.fct().len(), 1, "{sack} {last}");
    }
}

/// RFC 6582 s.3.2, RFC 6675 s.5: duplicates that a timeout itself causes report no loss. The first timeout
/// is shorter than the round trip: nothing is lost, all is sent twice, and the receiver answers each repeated
/// segment with a duplicate.
// req: RFC6675 s5.1 MUST timeout-ends-recovery
// req: RFC6675 s5.1 MUST no-recovery-before-point
#[test]
fn late_duplicates_after_a_timeout_stall_nothing() {
    for sack in [true, false] {
        let transport = json!({"sack": sack, "initial_rto": "60us", "initial_window": "20pkt"});
        let done = run(with(pair(transport, json!({"bytes": "3MB"})), json!({"duration": "100ms"})));
        let [again, timeouts, recoveries] =
            ["retransmissions", "timeouts", "fast_recoveries"].map(|column| done.flow(column));
        assert!(again > 3.0 && timeouts >= 1.0, "{sack}: {again} sent again, {timeouts} timeouts");
        assert_eq!(recoveries, 0.0, "{sack}");
        assert_eq!(done.fct().len(), 1, "{sack}");
    }
}

/// RFC 6298 s.5.6 restarts the timer when the oldest segment is sent again. Where pacing lets a packet out every
/// 10 ms and the timeout is 1 ms and doubles, the segment leaves at 0, 10, 20, 30, 40, 56, 88 ms, and each expiry, at
/// 1, 12, 24, 38, 56, 88 ms, concerns data that has left.
#[test]
fn a_paced_retransmission_is_timed_from_when_it_leaves() {
    let done = run(json!({
        "duration": "100ms",
        "topology": {"kind": "star", "senders": 1, "rate": "1Gbps", "delay": "1us"},
        "queue": "drop-tail",
        "port": {"s0->switch": {"loss": 1.0}},
        "transport": {"cc": {"kind": "cbr", "rate": "1200Kbps"}, "opening": "established", "initial_rto": "1ms",
            "min_rto": "1ms", "max_rto": "1s", "clock_grain": "1us", "mss": "1460B"},
        "traffic": {"x": {"kind": "bulk", "from": "s0", "to": "r0", "bytes": "1460B"}},
    }));
    assert_eq!([done.flow("timeouts"), done.flow("retransmissions")], [6.0, 6.0]);
}

/// RFC 3465 s.2.3, its own example: segment N is lost, N + 1 and N + 2 arrive, two duplicates are too few, the timer
/// expires. The acknowledgement of N sent again covers three segments, of which one left the network in the last round
/// trip; the window grows from one segment to two, whatever L is elsewhere. ssthresh is two (RFC 5681 eq. 4).
#[test]
fn after_a_timeout_an_acknowledgement_adds_one_segment() {
    for (profile, sack, limit) in [
        ("datacentre", true, 2.0),
        ("datacentre", false, 2.0),
        ("rfc", true, 2.0),
        ("datacentre", true, 100.0),
    ] {
        let transport = json!({"profile": profile, "sack": sack, "slow_start_limit": limit, "initial_window": "3pkt",
            "initial_ssthresh": "100pkt", "opening": "established", "cc": {"kind": "newreno"}});
        let document = pair(transport, json!({"bytes": format!("{}B", 3 * MSS)}));
        let lost = json!({"duration": "3s", "port": {"s0->switch": {"drop_packets": [1]}}});
        let run = run(with(document, lost));
        assert_eq!(run.flow("timeouts"), 1.0);
        assert_eq!(run.flow("cwnd_bytes"), 2.0 * MSS as f64, "{profile} {sack} {limit}");
    }
}

/// RFC 3465 s.2.3 for a whole window of 100 segments: the first is lost, and all that it kept from being delivered in order is
/// acknowledged at once. Limited transmit and SACK are off, so that nothing reports the loss before the timer.
#[test]
fn after_a_timeout_cubic_does_not_jump_either() {
    let cc = json!({"kind": "cubic"});
    let transport = json!({"dup_acks": 1000, "initial_window": "100pkt", "slow_start_limit": 1e6, "cc": cc});
    let document = pair(transport, json!({"bytes": format!("{}B", 100 * MSS)}));
    let lost = json!({"duration": "3s", "port": {"s0->switch": {"drop_packets": [1]}}});
    let run = run(with(document, lost));
    assert_eq!(run.flow("timeouts"), 1.0);
    assert_eq!(run.flow("cwnd_bytes"), 2.0 * MSS as f64);
}
