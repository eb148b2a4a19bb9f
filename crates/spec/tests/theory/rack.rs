//! Losses found by time and probes for a lost tail: RFC 8985. Times are exact.

use crate::bench::{FULL, HEADER, LINE, MS, MSS, Run, pair, watch, with};
use serde_json::{Value, json};

/// An acknowledgement with one SACK block.
const WITH_BLOCK: u64 = HEADER + 12;

/// `segments` sent with losses found by time, the packets with numbers in `lost` lost.
fn lose(lost: &[u64], segments: u64, transport: Value) -> Run {
    let document = pair(json!({"loss_detection": "rack"}), json!({"bytes": format!("{}B", segments * MSS)}));
    let fault =
        json!({"duration": "5s", "port": {"s0->switch": {"drop_packets": lost}}, "transport": transport});
    watch(with(document, fault), &["s0->switch"])
}

/// Counts of the first connection: retransmissions, timeouts, fast recoveries.
fn repairs(run: &Run) -> [f64; 3] {
    ["retransmissions", "timeouts", "fast_recoveries"].map(|column| run.flow(column))
}

/// SRTT in ps after the acknowledgements of `n` segments sent together (RFC 6298 s.2.3): each waits for those before it.
fn srtt(n: u64) -> u64 {
    let sample = |k: u64| LINE.round() + k * LINE.transmission(FULL);
    (1..n).fold(sample(0), |srtt, k| srtt - srtt / 8 + sample(k) / 8)
}

/// s.7.2, 7.3: the last of ten segments is lost. Two round trips after the ninth's acknowledgement it is sent again, and
/// that repairs all; without probes the timer has to, here of 200 ms.
// req: RFC8985 s7.2 SHOULD start-pto
// req: RFC8985 s7.2 SHOULD pto
// req: RFC8985 s7.3 SHOULD probe-last-segment
#[test]
fn a_lost_tail_is_probed_for_after_two_round_trips() {
    let done = lose(&[10], 10, json!({"tail_loss_probe": true, "min_rto": "200ms"}));
    let last_answer = LINE.burst(9) + LINE.one_way(HEADER);
    let probe = last_answer + 2 * srtt(9);
    assert_eq!(done.times("s0->switch")[10..], [probe]);
    assert_eq!(done.fct(), [probe + LINE.one_way(FULL)]);
    assert_eq!(repairs(&done), [1.0, 0.0, 0.0]);
    let without = lose(&[10], 10, json!({"min_rto": "200ms"}));
    assert_eq!(repairs(&without), [1.0, 1.0, 0.0]);
    assert!(without.fct()[0] > 200 * MS);
}

/// s.7.4.1: of ten segments the last three are lost. The probe is the last; that it has come tells that those before it
/// are lost, which were sent earlier. The window is then two segments, of which the probe is counted as one: it, or the
/// packet that it was for, may still be under way (Linux `tcp_sacktag_one`).
// req: RFC8985 s7.3 MUST probe-is-recorded
#[test]
fn a_probe_tells_of_what_was_lost_before_it() {
    let done = lose(&[8, 9, 10], 10, json!({"tail_loss_probe": true, "min_rto": "200ms"}));
    let probe = LINE.burst(7) + LINE.one_way(HEADER) + 2 * srtt(7);
    let reported = probe + LINE.one_way(FULL) + LINE.one_way(WITH_BLOCK);
    let next = reported + LINE.one_way(FULL) + LINE.one_way(WITH_BLOCK);
    assert_eq!(done.times("s0->switch")[10..], [probe, reported, next]);
    assert_eq!(repairs(&done), [3.0, 0.0, 1.0]);
}

/// s.7.3: a probe is new data if there is some. A window of two segments is lost whole, and so is the acknowledgement of
/// the segment before; the third goes as the probe though the window is full.
// req: RFC8985 s7.3 SHOULD probe-new-data
#[test]
fn a_probe_is_new_data_if_there_is_some() {
    let lossy = |bytes: u64| {
        let transport = json!({"tail_loss_probe": true, "min_rto": "200ms", "initial_window": "2pkt", "cwnd_max": "2pkt"});
        lose(&[3, 4], bytes, transport)
    };
    // Segments 1 and 2 measure the round trip; 3 and 4 are lost.
    let more = lossy(8);
    assert_eq!(more.flow("timeouts"), 0.0);
    let sent = more.times("s0->switch");
    let waited = sent[4] - sent[3];
    assert!((LINE.round()..10 * LINE.round()).contains(&waited), "{waited}");
    // The probe is the fifth segment: each lost one goes again once, and the fifth is not sent twice.
    assert_eq!(more.flow("retransmissions"), 2.0);
    let last = lossy(4);
    assert_eq!([last.flow("retransmissions"), last.flow("timeouts")], [2.0, 0.0]);
}

/// s.7.3, condition 2 and s.7.2: a probe is not sent before a round trip was measured, nor a second one for a tail lost
/// again: then the timer has its turn.
// req: RFC8985 s7.3 MUST probe-conditions
// req: RFC8985 s7.3 MUST skip-and-rearm
// req: RFC8985 s7.3 MUST rearm-rto
#[test]
fn a_tail_is_probed_for_once() {
    let done = lose(&[10, 11], 10, json!({"tail_loss_probe": true, "min_rto": "200ms"}));
    assert_eq!(repairs(&done), [2.0, 1.0, 0.0]);
    let blind = lose(&[1], 1, json!({"tail_loss_probe": true}));
    assert_eq!(repairs(&blind), [1.0, 1.0, 0.0]);
}

/// s.7.4.2: the probe repaired a loss that nothing else reported, and the first acknowledgement beyond it halves the window.
// req: RFC8985 s7.4.2 MUST repaired-by-probe
// req: RFC8985 s7.4.2 SHOULD repaired-by-probe-cuts
#[test]
fn what_a_probe_repairs_counts_as_congestion() {
    let two = |lost: &[u64]| {
        let load =
            json!({"kind": "messages", "bytes": format!("{}B", 10 * MSS), "interval": "20ms", "count": 2});
        let document = pair(json!({"loss_detection": "rack", "tail_loss_probe": true}), load);
        let fault =
            json!({"port": {"s0->switch": {"drop_packets": lost}}, "transport": {"min_rto": "200ms"}});
        watch(with(document, fault), &["s0->switch"])
    };
    assert!(two(&[]).flow("ssthresh_bytes").is_nan() || two(&[]).flow("ssthresh_bytes").is_infinite());
    let done = two(&[10]);
    assert_eq!(repairs(&done), [1.0, 0.0, 0.0]);
    assert!(done.flow("ssthresh_bytes") <= 10.0 * MSS as f64);
}

/// s.9.1, example 1: of three segments the first and the third are lost. The second's SACK reports the first at once, and
/// the acknowledgement of the repair reports the third.
// req: RFC8985 s3.3.2 SHOULD fraction-of-rtt
#[test]
fn the_first_and_third_of_three_are_recovered_in_two_round_trips() {
    let done = lose(&[1, 3], 3, json!({}));
    let first = LINE.burst(2) + LINE.one_way(WITH_BLOCK);
    let third = first + LINE.round();
    assert_eq!(done.times("s0->switch")[3..], [first, third]);
    assert_eq!(done.fct(), [third + LINE.one_way(FULL)]);
    assert_eq!(repairs(&done), [2.0, 0.0, 1.0]);
}

/// s.9.1, example 2: a retransmission is lost. Data sent after it arrives, and it is sent a third time; RFC 6675 has to
/// wait for the timer.
#[test]
fn a_lost_retransmission_is_sent_again() {
    let done = lose(&[1, 11], 60, json!({}));
    assert_eq!(repairs(&done)[..2], [2.0, 0.0]);
    // There two new segments go first, for the first two duplicates.
    let by_sack = lose(&[1, 13], 60, json!({"loss_detection": "rfc6675"}));
    assert_eq!(by_sack.flow("timeouts"), 1.0);
}

/// RFC 5681 s.4.3: the loss of a retransmission is another indication of congestion. RFC 6675 leaves it to the timer, and
/// the window falls to one segment.
// req: RFC5681 s4.3 MUST lost-retransmission-cuts
#[test]
fn a_lost_retransmission_lowers_the_window_again() {
    let least = |lost: &[u64]| {
        let done = lose(lost, 60, json!({"loss_detection": "rfc6675"}));
        done.column("flow_trace", "cwnd_bytes").into_iter().fold(f64::INFINITY, f64::min) / MSS as f64
    };
    assert_eq!([least(&[1]), least(&[1, 13])], [5.0, 1.0]);
}

/// RFC 8985 s.9.3: without proportional rate reduction the loss of a retransmission lowers the window again, once for all that
/// was sent before. With it the recovery has one reduction, as in Linux.
// req: RFC8985 s9.3 MUST lost-retransmission-cuts
#[test]
fn a_lost_retransmission_reduces_the_window_again_without_prr() {
    let levels = |lost: &[u64], prr: bool| {
        let transport = json!({"initial_window": "40pkt", "cwnd_max": "40pkt", "prr": prr});
        let done = lose(lost, 200, transport);
        assert_eq!([done.flow("timeouts"), done.flow("fast_recoveries")], [0.0, 1.0], "{lost:?}");
        let mut levels = done.column("flow_trace", "ssthresh_bytes");
        levels.retain(|level| level.is_finite());
        levels.dedup();
        levels.iter().map(|level| level / MSS as f64).collect::<Vec<_>>()
    };
    for prr in [false, true] {
        assert_eq!(levels(&[1], prr), [20.0]);
    }
    for lost in [&[1, 41][..], &[1, 2, 41, 42]] {
        assert_eq!(levels(lost, false), [20.0, 10.0], "{lost:?}");
        assert_eq!(levels(lost, true), [20.0], "{lost:?}");
    }
}

/// Wherever losses strike a long flow, each lost segment is sent again once and no other is: nothing overtakes here. No
/// timer expires.
// req: RFC8985 s4 MUST sack
#[test]
fn each_loss_is_repaired_by_one_retransmission() {
    for prr in [true, false] {
        for first in (1..240).step_by(7) {
            let lost: Vec<u64> = (0..6).map(|i| first + i * (first % 11 + 1)).collect();
            let done = lose(&lost, 400, json!({"prr": prr, "tail_loss_probe": true}));
            assert_eq!(done.port("s0->switch", "drops_wire"), 6.0);
            assert_eq!(repairs(&done)[..2], [6.0, 0.0], "{first} {prr}");
        }
    }
}

/// s.6.2 step 4: once packets have overtaken each other, a missing segment counts as lost only after a quarter of the least
/// round trip.
// req: RFC8985 s3.3.2 SHOULD fraction-of-rtt
// req: RFC8985 s6.2 SHOULD reordering-timer
#[test]
fn reordering_that_was_seen_is_waited_for() {
    let reordered = |extra: &str| {
        let wire = json!({"port": {"switch->r0": {"reorder": 0.2, "reorder_delay": extra}}, "seed": 3});
        watch(with(pair(json!({"loss_detection": "rack"}), json!({"bytes": "3MB"})), wire), &["s0->switch"])
    };
    // A packet takes 1.2 us; the round trip 102 us, a quarter of it 25 us.
    let slight = reordered("10us");
    let severe = reordered("60us");
    assert!(slight.flow("retransmissions") <= 12.0, "{}", slight.flow("retransmissions"));
    assert!(severe.flow("retransmissions") > 10.0 * slight.flow("retransmissions").max(1.0));
}

/// An acknowledgement that waited for a second segment and then reports a hole too does not look like reordering: a loss
/// is found when the third segment behind the hole has been sacked, whether or not one was waiting when the hole came.
// req: RFC8985 s3.3.2 SHOULD zero-window
#[test]
fn a_delayed_acknowledgement_is_no_reordering() {
    for number in 40..60 {
        let transport = json!({"loss_detection": "rack", "ack_every": 2, "ack_delay": "400us"});
        let document = pair(transport, json!({"bytes": format!("{}B", 200 * MSS)}));
        let fault = json!({"port": {"s0->switch": {"drop_packets": [number]}}});
        let done = watch(with(document, fault), &["s0->switch", "r0->switch"]);
        let reported: Vec<u64> =
            done.sent("r0->switch").iter().filter(|ack| ack.bytes == WITH_BLOCK).map(|ack| ack.at).collect();
        let found = reported[2] + LINE.one_way(WITH_BLOCK);
        let (at, window) = (done.column("flow_trace", "time_ps"), done.column("flow_trace", "cwnd_bytes"));
        let cut = (1..at.len()).find(|i| window[*i] < window[i - 1]).expect("a reduction");
        assert_eq!(at[cut] as u64, found, "{number}");
        assert_eq!(repairs(&done), [1.0, 0.0, 1.0], "{number}");
    }
}

/// The profile `linux`: two round trips and 2 ms from when the eighth of ten was acknowledged, three ticks of 1 ms, and then
/// the next one. For a single segment its timer waits for a delayed acknowledgement of the minimum RTO instead.
// req: RFC8985 s7.2 SHOULD pto
#[test]
fn linux_probes_with_a_tick() {
    let load = json!({"bytes": format!("{}B", 10 * 1448)});
    let document = with(pair(json!({"profile": "linux"}), load), json!({"duration": "5s"}));
    let lossy = |lost: &[u64]| {
        let fault = json!({"port": {"s0->switch": {"drop_packets": lost}}});
        watch(with(document.clone(), fault), &["s0->switch"])
    };
    let done = lossy(&[9, 10]);
    assert_eq!(done.times("s0->switch")[10], 4 * MS);
    assert_eq!(repairs(&done), [2.0, 0.0, 1.0]);
    assert_eq!(lossy(&[10]).times("s0->switch")[10], 208 * MS);
}

/// Linux's proportional rate reduction, RFC 6937 s.3 in segments (`tcp_cwnd_reduction`): while D segments are reported, one
/// by one, ceil(ssthresh D / cwnd) leave. One of a window is lost; by its end half a window has left.
#[test]
fn linux_spreads_a_reduction_over_the_window_by_segments() {
    let load = json!({"bytes": format!("{}B", 3000 * 1448)});
    for lost in [150, 201, 302] {
        let document = pair(json!({"profile": "linux", "initial_ssthresh": "64pkt"}), load.clone());
        let fault = json!({"port": {"s0->switch": {"drop_packets": [lost]}}});
        let done = watch(with(document, fault), &["s0->switch", "r0->switch"]);
        let (at, window) = (done.column("flow_trace", "time_ps"), done.column("flow_trace", "cwnd_bytes"));
        let cut = (1..at.len()).find(|i| window[*i] < window[i - 1]).expect("a reduction");
        let [before, after] = [window[cut - 1], window[cut]].map(|bytes| bytes as u64 / 1448);
        assert_eq!(after, before / 2);
        let begins = at[cut] as u64;
        let acks = done.sent("r0->switch");
        // Twelve bytes of timestamps more.
        let reported = |ack: &&crate::bench::Sent| ack.bytes == WITH_BLOCK + 12;
        let arrives = |ack: &crate::bench::Sent| ack.at + LINE.one_way(ack.bytes);
        let delivered = acks.iter().filter(reported).filter(|ack| arrives(ack) >= begins).count() as u64;
        let ends = arrives(acks.iter().rfind(reported).expect("SACK"));
        let left = done.times("s0->switch").iter().filter(|at| (begins..=ends).contains(*at)).count() as u64;
        assert_eq!(left, (after * delivered).div_ceil(before), "{lost}: {before} {delivered}");
        assert_eq!(repairs(&done), [1.0, 0.0, 1.0]);
    }
}

/// Linux, state Loss: slow start from one segment, whatever was reduced before. The SYN comes, all ten of the first window and
/// the probe of 4 ms are lost; the timer of 200 ms and a round trip expires with a tick of 8 ms.
#[test]
fn linux_slow_starts_after_a_timeout() {
    let transport = json!({"profile": "linux", "opening": "handshake"});
    let document = pair(transport, json!({"bytes": format!("{}B", 10 * 1448)}));
    let lost: Vec<u64> = (2..=12).collect();
    let fault = json!({"duration": "5s", "port": {"s0->switch": {"drop_packets": lost}}});
    let times = watch(with(document, fault), &["s0->switch"]).times("s0->switch");
    assert_eq!(times[11..13], [4 * MS, 208 * MS]);
    let mut rounds = vec![1];
    for pair in times[12..].windows(2) {
        if pair[1] - pair[0] > 50 * crate::bench::US {
            rounds.push(0);
        }
        *rounds.last_mut().expect("a round") += 1;
    }
    assert_eq!(rounds[..4], [1, 2, 4, 3]); // and the acknowledgement of a FIN
}
