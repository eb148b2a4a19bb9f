//! When a loss is noticed: fast retransmit (RFC 5681 s.3.2, RFC 6675 s.5) and limited transmit (RFC 3042).

use crate::bench::{FULL, HEADER, LINE, MSS, Run, S, pair, watch, with};
use serde_json::{Value, json};

/// An acknowledgement with one SACK block: the option takes 2 + 8 bytes, and 2 of padding (RFC 2018 s.3).
const WITH_BLOCK: u64 = HEADER + 12;

/// `segments` sent under `transport`, those with numbers in `lost` lost when first sent.
fn lose(lost: &[u64], segments: u64, transport: Value) -> Run {
    let document = pair(transport, json!({"bytes": format!("{}B", segments * MSS)}));
    let fault = json!({"duration": "5s", "port": {"s0->switch": {"drop_packets": lost}}});
    watch(with(document, fault), &["s0->switch"])
}

/// Counts of the first connection: retransmissions, timeouts, fast recoveries.
fn repairs(run: &Run) -> [f64; 3] {
    ["retransmissions", "timeouts", "fast_recoveries"].map(|column| run.flow(column))
}

/// RFC 5681 s.3.2: the third duplicate acknowledgement, neither an earlier nor a later event, brings the
/// segment back, and it alone. Ten segments, the first lost: those behind it each cause a duplicate. Exact.
// req: RFC5681 s3.2 SHOULD fast-retransmit
// req: RFC5681 s3.2 MUST third-duplicate-ssthresh
// req: RFC5681 s3.2 MUST retransmit-una
// req: RFC6675 s5 MUST count-dupacks
#[test]
fn the_third_duplicate_brings_the_segment_back() {
    for (sack, acknowledgement) in [(true, WITH_BLOCK), (false, HEADER)] {
        for duplicates in [1, 2, 3, 5] {
            let done = lose(&[1], 10, json!({"sack": sack, "dup_acks": duplicates}));
            let noticed = LINE.burst(duplicates + 1) + LINE.one_way(acknowledgement);
            let times = done.times("s0->switch");
            assert_eq!(times[9..11], [0, noticed], "{sack} {duplicates}");
            assert_eq!(done.fct(), [noticed + LINE.one_way(FULL)]);
            assert_eq!([done.flow("timeouts"), done.flow("fast_recoveries")], [0.0, 1.0]);
            // RFC 5681 eq. (4): half of the ten in flight.
            assert_eq!(done.flow("ssthresh_bytes"), 5.0 * MSS as f64);
        }
    }
}

/// Wherever a long flow loses a segment, it is sent again once, without a timeout.
// req: RFC5681 s3.2 SHOULD fast-retransmit
#[test]
fn one_lost_segment_is_sent_again_once() {
    for sack in [true, false] {
        for number in 1..60 {
            let done = lose(&[number], 200, json!({"sack": sack}));
            assert_eq!(repairs(&done), [1.0, 0.0, 1.0], "{sack} {number}");
        }
    }
}

/// RFC 5681 s.3.2: two duplicates may be reordering; nothing is sent again for them. With no more to come
/// the timer has to do it, here the first of 1 s.
#[test]
fn two_duplicates_do_not_tell_of_a_loss() {
    for sack in [true, false] {
        let done = lose(&[1], 3, json!({"sack": sack}));
        assert_eq!(repairs(&done), [1.0, 1.0, 0.0]);
        assert_eq!(done.times("s0->switch"), [0, 0, 0, S]);
    }
}

/// RFC 3042 s.2: with three segments in flight and the first lost, two duplicates come. Each lets a new
/// segment out; those cause the third, and the loss is repaired one round trip later instead of by the
/// timer (s.3: the aim). The same with two of four lost.
#[test]
fn limited_transmit_saves_small_windows_from_timeouts() {
    for sack in [true, false] {
        for (window, lost) in [(3, [1].as_slice()), (4, &[1, 2])] {
            let with_limited_transmit = |on: bool| {
                let window = format!("{window}pkt");
                lose(lost, 30, json!({"sack": sack, "initial_window": window, "limited_transmit": on}))
            };
            let losses = lost.len() as f64;
            assert_eq!(repairs(&with_limited_transmit(true)), [losses, 0.0, 1.0], "{sack} {window}");
            assert_eq!(with_limited_transmit(false).flow("timeouts"), 1.0, "{sack} {window}");
        }
    }
}

/// RFC 3042 s.2: one new segment on each of the first two duplicates, at once, and cwnd does not change.
/// Exact. Without SACK no third one, whatever the threshold; with it RFC 6675 s.5 step 3.3 goes on by the
/// pipe.
// req: RFC5681 s3.2 SHOULD limited-transmit
// req: RFC5681 s3.2 MUST limited-transmit-cwnd
// req: RFC5681 s3.2 MUST limited-transmit-excluded
#[test]
fn limited_transmit_sends_a_segment_for_each_of_two_duplicates() {
    for (sack, acknowledgement, more) in [(true, WITH_BLOCK, 4), (false, HEADER, 2)] {
        let done = lose(&[1], 30, json!({"sack": sack, "dup_acks": 5}));
        let duplicate = |n: u64| LINE.burst(n + 1) + LINE.one_way(acknowledgement);
        let fast_retransmit = duplicate(5);
        let times = done.times("s0->switch");
        let before: Vec<u64> = times[10..].iter().copied().filter(|at| *at < fast_retransmit).collect();
        assert_eq!(before, (1..=more).map(duplicate).collect::<Vec<_>>());
        assert!(times.contains(&fast_retransmit));
        // RFC 5681 s.3.2 step 2: segments of limited transmit do not count: half of ten.
        let ssthresh = done.column("flow_trace", "ssthresh_bytes");
        assert!(ssthresh.contains(&(5.0 * MSS as f64)), "{ssthresh:?}");
    }
}

/// RFC 5681 s.3.2 step 1, RFC 6675 s.2: with SACK a duplicate that reports nothing new lets nothing out and counts for
/// nothing. Every acknowledgement comes twice, and each packet leaves when it left without the copies.
// req: RFC5681 s3.2 MUST limited-transmit-news
// req: RFC6675 s5 MUST count-dupacks
#[test]
fn a_copy_of_an_acknowledgement_lets_nothing_out() {
    let times = |copies: f64| {
        let document = pair(json!({"dup_acks": 5}), json!({"bytes": format!("{}B", 30 * MSS)}));
        let ports = json!({"s0->switch": {"drop_packets": [1]}, "r0->switch": {"duplicate": copies}});
        let done = watch(with(document, json!({"duration": "5s", "port": ports})), &["s0->switch"]);
        assert_eq!(repairs(&done), [1.0, 0.0, 1.0]);
        done.times("s0->switch")
    };
    assert_eq!(times(1.0), times(0.0));
}

/// RFC 6675 s.2: a duplicate acknowledgement tells something new. Every packet delivered twice causes no
/// retransmission.
// req: RFC6675 s5 MUST count-dupacks
#[test]
fn duplicated_packets_are_no_duplicate_acknowledgements() {
    for sack in [true, false] {
        let document = pair(json!({"sack": sack}), json!({"bytes": "1MB"}));
        let done = crate::bench::run(with(document, json!({"port": {"*->r0": {"duplicate": 1.0}}})));
        assert_eq!(repairs(&done), [0.0; 3]);
    }
}
