//! When the receiver acknowledges (RFC 5681 s.4.2) and when a short segment waits (RFC 9293 s.3.7.4).

use crate::bench::{FULL, HEADER, LINE, MS, MSS, Run, pair, watch, with};
use serde_json::{Value, json};

const DELAYED: &str = "r0->switch";

fn send(bytes: u64, transport: Value, lost: &[u64]) -> Run {
    let document = pair(transport, json!({"bytes": format!("{bytes}B")}));
    watch(with(document, json!({"port": {"s0->switch": {"drop_packets": lost}}})), &[DELAYED])
}

/// An acknowledgement every second segment, and one for what is left: exact counts.
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
#[test]
fn a_lone_segment_is_acknowledged_after_the_delay() {
    let transport = || json!({"ack_every": 2, "ack_delay": "1ms"});
    assert_eq!(send(MSS, transport(), &[]).times(DELAYED), [LINE.one_way(FULL) + MS]);
    assert_eq!(send(2 * MSS, transport(), &[]).times(DELAYED), [LINE.burst(2)]);
    assert_eq!(send(3 * MSS, transport(), &[]).times(DELAYED), [LINE.burst(2), LINE.burst(3) + MS]);
}

/// RFC 5681 s.4.2: a segment out of order, and one that fills a gap, are acknowledged at once. Of ten
/// segments the third is lost: 1 and 2 together, 4 to 10 each, then the third: nine.
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
}

/// DCTCP's receiver with every second segment acknowledged, each third marked. What came before a change of
/// CE is acknowledged at once; by RFC 8257 s.3.2 (last paragraph) and Linux, so is the packet that changed
/// it, apart: 1 2 | 3 | 4 | 5, 6 | 7 | 8, 9 | ... Exact.
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
