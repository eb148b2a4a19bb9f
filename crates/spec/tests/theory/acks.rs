//! When the receiver acknowledges (RFC 5681 s.4.2) and when a short segment waits (RFC 9293 s.3.7.4).

use crate::bench::{FULL, HEADER, LINE, MS, MSS, Run, pair, watch, with};
use serde_json::{Value, json};

const DELAYED: &str = "r0->switch";

fn send(bytes: u64, transport: Value, lost: &[u64]) -> Run {
    let document = pair(transport, json!({"bytes": format!("{bytes}B")}));
    watch(with(document, json!({"port": {"s0->switch": {"drop_packets": lost}}})), &[DELAYED])
}

/// An acknowledgement every second segment, and one for the rest: exact counts.
// req: RFC5681 s4.2 SHOULD delayed-acks
// req: RFC5681 s4.2 SHOULD every-second-segment
// req: RFC5681 s4.2 MUST one-ack-a-segment
#[test]
fn every_second_segment_is_acknowledged() {
    for (every, segments, expected) in [(1, 100, 100), (2, 100, 50), (2, 101, 51), (4, 100, 25), (4, 103, 26)]
    {
        let transport = json!({"ack_every": every, "initial_window": "128pkt"});
        assert_eq!(send(segments * MSS, transport, &[]).times(DELAYED).len(), expected);
    }
}

/// Linux's quick acknowledgements: the first 16 segments one by one.
#[test]
fn the_first_segments_are_acknowledged_one_by_one() {
    let transport = json!({"ack_every": 2, "quick_acks": 16, "initial_window": "128pkt"});
    assert_eq!(send(100 * MSS, transport, &[]).times(DELAYED).len(), 16 + 42);
}

/// RFC 5681 s.4.2: a lone segment is acknowledged when the delay has passed, a second one ends the wait.
/// Exact.
// req: RFC5681 s4.2 SHOULD delayed-acks
// req: RFC5681 s4.2 MUST within-500ms
#[test]
fn a_lone_segment_is_acknowledged_after_the_delay() {
    let transport = || json!({"ack_every": 2, "ack_delay": "1ms"});
    assert_eq!(send(MSS, transport(), &[]).times(DELAYED), [LINE.one_way(FULL) + MS]);
    assert_eq!(send(2 * MSS, transport(), &[]).times(DELAYED), [LINE.burst(2)]);
    assert_eq!(send(3 * MSS, transport(), &[]).times(DELAYED), [LINE.burst(2), LINE.burst(3) + MS]);
}

/// Linux `tcp_measure_rcv_mss` and `tcp_cleanup_rbuf`: the segment with PSH, which ends what the application has written, is acknowledged
/// as the application reads it. Exact.
#[test]
fn the_end_of_a_message_is_acknowledged_at_once() {
    let transport = json!({"ack_every": 2, "ack_delay": "1ms", "ack_pushed": true, "initial_rto": "2ms", "min_rto": "2ms"});
    assert_eq!(send(MSS, transport.clone(), &[]).times(DELAYED), [LINE.one_way(FULL)]);
    assert_eq!(send(3 * MSS, transport.clone(), &[]).times(DELAYED), [LINE.burst(2), LINE.burst(3)]);
    // A segment sent again has it too: nothing is held, and nothing is acknowledged before.
    let done = send(MSS, transport, &[1]);
    assert_eq!(done.times(DELAYED), [done.fct()[0]]);
}

/// Linux `tcp_data_queue`: a segment that brings nothing new is acknowledged at once, and `quick_acks` after it one by one. The wire
/// doubles each packet; without the law every second segment is acknowledged besides, once 16 have been one by one.
#[test]
fn a_segment_that_brings_nothing_new_begins_quick_acknowledgements_again() {
    let acknowledged = |quick: u64| {
        let transport = json!({"ack_every": 4, "quick_acks": quick, "initial_window": "128pkt"});
        let document = pair(transport, json!({"bytes": format!("{}B", 100 * MSS)}));
        let doubles = json!({"port": {"s0->switch": {"duplicate": 1.0}}});
        watch(with(document, doubles), &[DELAYED]).times(DELAYED).len()
    };
    // 100 doubles, and 100 segments: by fours, but a double acknowledges what waits, so that no four come together.
    assert_eq!(acknowledged(0), 100);
    assert_eq!(acknowledged(16), 200);
}

/// Linux `tcp_data_ecn_check`: a segment without ECT after others with it is taken for a retransmission, and is acknowledged at once.
/// The third of three segments is lost; its repair comes in order, nothing follows it, and else it waits for the delay. Exact.
#[test]
fn a_segment_without_ect_after_others_is_acknowledged_at_once() {
    let of_repair = |ecn_acks: &str, control: &str| {
        let transport = json!({
            "ecn": "on", "ect_on_control": control, "ecn_acks": ecn_acks, "ack_every": 4, "ack_delay": "1ms", "min_rto": "5ms",
            "initial_rto": "5ms",
        });
        let load = json!({"kind": "messages", "bytes": format!("{}B", 3 * MSS), "interval": "1s"});
        let document = with(pair(transport, load), json!({"port": {"s0->switch": {"drop_packets": [3]}}}));
        watch(with(document, json!({"duration": "50ms"})), &[DELAYED]).times(DELAYED)[1]
    };
    let usual = of_repair("change", "never");
    assert_eq!(of_repair("linux", "never") + MS, usual);
    assert_eq!(of_repair("linux", "always"), usual);
}

/// RFC 5681 s.4.2: a segment out of order, and one that fills a gap, are acknowledged at once. Of ten
/// segments the third is lost: 1 and 2 together, 4 to 10 each, then the third: nine.
// req: RFC5681 s3.2 SHOULD out-of-order-at-once
// req: RFC5681 s3.2 SHOULD filled-gap-at-once
#[test]
fn disorder_is_acknowledged_at_once() {
    for sack in [true, false] {
        let done = send(10 * MSS, json!({"ack_every": 2, "sack": sack}), &[3]);
        let times = done.times(DELAYED);
        assert_eq!(times[..8], [2, 4, 5, 6, 7, 8, 9, 10].map(|n| LINE.burst(n)));
        assert_eq!(times[8], done.fct()[0]);
    }
}

/// RFC 9293 s.3.7.4 (Nagle): 2000 bytes are a full segment and a short one, which waits until the first is
/// acknowledged; without Nagle they go together. RFC 1122 s.4.2.3.2's trap: with delayed acknowledgements
/// the wait lasts for the delay too. Exact.
#[test]
fn nagle_holds_the_short_tail_back() {
    let tail = 2000 - MSS + HEADER;
    let fct = |transport: Value| send(2000, transport, &[]).fct()[0];
    // Behind the full segment on the first link, alone on the second.
    let together = LINE.transmission(FULL)
        + LINE.transmission(FULL).max(LINE.transmission(tail))
        + LINE.transmission(tail)
        + 2 * LINE.delay;
    assert_eq!(fct(json!({"nagle": false})), together);
    let waiting = LINE.round() + LINE.one_way(tail);
    assert_eq!(fct(json!({"nagle": true})), waiting);
    assert_eq!(fct(json!({"nagle": true, "ack_every": 2, "ack_delay": "1ms"})), waiting + MS);
    // A lone short segment, or a tail behind nothing outstanding, does not wait.
    assert_eq!(send(500, json!({"nagle": true}), &[]).fct()[0], LINE.one_way(540));
    // Linux tcp_minshall_check: a short segment waits for an earlier short one alone.
    let linux = json!({"nagle": true, "arithmetic": "linux"});
    assert_eq!(fct(linux.clone()), together);
    let two = json!({"kind": "messages", "bytes": "500B", "interval": "1ns", "count": 2});
    for transport in [json!({"nagle": true}), linux] {
        let done = watch(pair(transport, two.clone()), &[DELAYED]);
        assert_eq!(done.fct()[1], 2 * LINE.one_way(540) + LINE.one_way(HEADER) - 1000);
    }
}

/// DCTCP's receiver with every second segment acknowledged, each third marked. Segments before a change of
/// CE are acknowledged at once; by RFC 8257 s.3.2 (last paragraph) and Linux, so is the packet that changed
/// it, apart: 1 2 | 3 | 4 | 5, 6 | 7 | 8, 9 | ... Exact.
// req: RFC8257 s3.2 MUST ce-change
#[test]
fn a_change_of_ce_is_acknowledged_at_once() {
    let times = |change: &str| {
        let transport =
            json!({"cc": "dctcp", "ack_every": 2, "ecn_acks": change, "initial_window": "128pkt"});
        let document = pair(transport, json!({"bytes": format!("{}B", 12 * MSS)}));
        let document = with(document, json!({"port": {"s0->switch": {"mark_every": 3}}}));
        watch(document, &[DELAYED]).times(DELAYED)
    };
    let arrivals = |list: &[u64]| list.iter().map(|n| LINE.burst(*n)).collect::<Vec<_>>();
    // Marked are 3, 6, 9 and 12; the changes are at these and at the packet behind each.
    assert_eq!(times("change")[..7], arrivals(&[2, 4, 5, 7, 8, 10, 11])[..]);
    assert_eq!(times("linux"), arrivals(&[2, 3, 4, 6, 6, 7, 9, 9, 10, 12, 12]));
}

/// RFC 9768 s.3.2.2.5.1: with each eighth segment acknowledged, the first mark of a run is acknowledged at once, and then each second one.
#[test]
fn accurate_ecn_acknowledges_the_first_mark_and_each_second_one() {
    let transport = json!({"cc": "dctcp", "echo": "accecn", "ack_every": 8, "initial_window": "128pkt"});
    let document = pair(transport, json!({"bytes": format!("{}B", 16 * MSS)}));
    let marked = with(document, json!({"port": {"s0->switch": {"mark": 1.0}}}));
    let times = watch(marked, &[DELAYED]).times(DELAYED);
    let arrivals: Vec<u64> = (1..16).step_by(2).map(|n| LINE.burst(n)).collect();
    assert_eq!(times[..8], arrivals[..]);
    assert!(times.len() <= 9, "{times:?}");
}

/// Linux `tcp_ecn_accept_cwr`: a segment with CWR is acknowledged at once, the sender's window may be one segment.
/// Every segment is marked, windows hold two segments and each is reduced: of each window one segment has
/// CWR, and with an acknowledgement every second segment both of a window would have shared one.
#[test]
fn a_segment_with_cwr_is_acknowledged_at_once() {
    let acknowledgements = |change: &str| {
        let transport = json!({"cc": "dctcp", "ack_every": 2, "ecn_acks": change, "initial_window": "2pkt",
            "cwnd_max": "2pkt", "cwnd_floor": "2pkt", "ack_delay": "5ms"});
        let document = pair(transport, json!({"bytes": format!("{}B", 40 * MSS)}));
        let mark_all = json!({"kind": "threshold", "mark_at": "0pkt", "measure": "after", "limit": "none"});
        watch(with(document, json!({"queue": mark_all})), &[DELAYED]).times(DELAYED).len()
    };
    // The first segment changes CE.
    assert_eq!(acknowledgements("change"), 20);
    assert!(acknowledgements("linux") > 25, "{}", acknowledgements("linux"));
}

/// Linux `tcp_event_data_recv`: after a gap of more than the minimum RTO segments are acknowledged one by one again. Messages of a
/// segment each, 20 of them, of which the first 16 are acknowledged at once in any case.
#[test]
fn a_gap_makes_acknowledgements_quick_again() {
    let delayed = |interval: &str| {
        let load = json!({"kind": "messages", "bytes": format!("{MSS}B"), "interval": interval, "count": 20});
        let transport = json!({"ack_every": 2, "ack_delay": "10ms", "quick_acks": 16, "min_rto": "50ms"});
        let done =
            watch(with(pair(transport, load), json!({"duration": "4s"})), &["s0->switch", "r0->switch"]);
        let (sent, acks) = (done.times("s0->switch"), done.times("r0->switch"));
        sent.iter().zip(acks).filter(|(sent, ack)| ack - *sent > 10 * crate::bench::MS).count()
    };
    assert_eq!(delayed("100ms"), 0);
    assert_eq!(delayed("40ms"), 4);
}
