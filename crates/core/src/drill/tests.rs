//! Connections from either side, and what is refused.

use super::*;
use crate::params::{Faults, Table};
use serde_json::{Map, Value, json};

const SOON: Span = Span::ms(1);

fn host(passive: bool) -> Host {
    host_with(passive, json!({}))
}

fn host_with(passive: bool, changes: Value) -> Host {
    let Value::Object(mut map) = json!({"profile": "linux", "cc": {"kind": "newreno"}, "mss": "1000B"})
    else {
        unreachable!()
    };
    map.extend(changes.as_object().expect("a table").clone());
    let mut faults = Faults::default();
    let transport = Transport::read(&mut Table::new("transport", &map, &mut faults), &Map::clone(&map));
    Host::new(&transport.expect("no fault"), passive)
}

fn segment(letters: &str, ack: u64) -> Segment {
    let flags = Segment::flags(letters, "noecn").expect("letters");
    Segment { flags, seq: u64::from(!letters.contains('S')), ack, ..Segment::default() }
}

fn sent(host: &mut Host) -> Vec<(String, u64, u64, u64)> {
    let until = host.now() + SOON;
    std::iter::from_fn(|| host.next(until)).map(|s| (s.letters(), s.seq, s.length, s.ack)).collect()
}

/// RFC 9293 s.3.5: three packets open a connection from either side, and data is numbered from 1.
#[test]
fn a_connection_opens_from_either_side() {
    let mut asked = host(true);
    assert_eq!(asked.arrive(&segment("S", 0), None), Ok(()));
    assert_eq!(sent(&mut asked), [("S.".into(), 0, 0, 1)]);
    asked.arrive(&segment(".", 1), None).expect("the third packet");
    assert_eq!(sent(&mut asked), []);

    let mut asks = host(false);
    asks.connect();
    assert_eq!(sent(&mut asks), [("S".into(), 0, 0, 0)]);
    asks.arrive(&segment("S.", 1), None).expect("the answer");
    assert_eq!(sent(&mut asks), [(".".into(), 1, 0, 1)]);
    for host in [&mut asked, &mut asks] {
        assert!(host.is_open());
        host.write(1500);
        assert_eq!(sent(host), [(".".into(), 1, 1000, 1), (".".into(), 1001, 500, 1)]);
    }
}

/// An answer to data of the peer carries what the receiver holds; an acknowledgement within a segment is refused.
#[test]
fn what_the_simulator_does_not_know_is_refused() {
    let mut host = host(true);
    host.arrive(&segment("S", 0), None).expect("opens");
    host.arrive(&segment(".", 1), None).expect("opens");
    sent(&mut host);
    let beyond = Segment { seq: 1001, length: 1000, ..segment(".", 1) };
    host.arrive(&beyond, None).expect("data");
    let answer = host.next(host.now() + SOON).expect("an acknowledgement");
    assert_eq!((answer.ack, answer.sack), (1, vec![(1001, 2001)]));
    host.write(1000);
    assert!(host.arrive(&segment(".", 501), None).is_err_and(|why| why.contains("part of a segment")));
    assert!(host.arrive(&segment(".", 1002), None).is_err_and(|why| why.contains("challenge")));
    assert!(host.arrive(&segment("F.", 1), None).is_err_and(|why| why.contains("closes first")));
}

/// A host that has sent ten segments of twenty, of 1000 bytes each, to a peer without SACK.
fn ten_sent() -> Host {
    let mut host = host_with(true, json!({"sack": false}));
    host.arrive(&segment("S", 0), None).expect("opens");
    host.arrive(&segment(".", 1), None).expect("opens");
    host.write(20_000);
    assert_eq!(sent(&mut host)[1..].len(), 10);
    host
}

fn window(host: &Host) -> u64 {
    host.info().iter().find(|(name, _)| *name == "tcpi_snd_cwnd").expect("known").1
}

/// RFC 5681 s.3.1 and 3.2: slow start adds a segment for each that is newly acknowledged, and duplicates add none. Without
/// SACK a duplicate says that one segment has left, and RFC 3042 lets a new one out for each of two. The acknowledgement
/// of three segments after two duplicates brings one of them as new (Linux tcp_remove_reno_sacks): 10 + 1, not 10 + 3.
#[test]
fn segments_that_duplicates_reported_do_not_grow_the_window_again() {
    let mut plain = ten_sent();
    plain.arrive(&segment(".", 3001), None).expect("three segments");
    assert_eq!(window(&plain), 13);

    let mut reordered = ten_sent();
    for beyond in [11_001, 12_001] {
        reordered.arrive(&segment(".", 1), None).expect("a duplicate");
        let new = sent(&mut reordered);
        assert_eq!((new.len(), new[0].1 + new[0].2, window(&reordered)), (1, beyond, 10));
    }
    reordered.arrive(&segment(".", 3001), None).expect("three segments");
    assert_eq!(window(&reordered), 11);
}

/// Linux `tcp_remove_reno_sacks` is for connections without SACK (`tcp_is_reno`). With it, duplicates that report no block report nothing,
/// and the acknowledgement of three segments behind two of them makes 10 + 3.
#[test]
fn duplicates_of_a_connection_with_sack_report_by_blocks_alone() {
    let counting = json!({"loss_detection": "rfc6675", "tail_loss_probe": false});
    let mut host = host_with(true, counting);
    host.arrive(&segment("S", 0), None).expect("opens");
    host.arrive(&segment(".", 1), None).expect("opens");
    host.write(40_000);
    assert_eq!(sent(&mut host)[1..].len(), 10);
    for ack in [1, 1, 3001] {
        host.arrive(&segment(".", ack), None).expect("an acknowledgement");
        sent(&mut host);
    }
    assert_eq!(window(&host), 13);
}

/// RFC 5681 s.3.1 and RFC 3465 s.2.1 know the bytes that an acknowledgement is the first to cover, and no reports by duplicates: outside
/// of Linux's arithmetic the same three segments make 10 + 3.
#[test]
fn outside_of_linuxs_arithmetic_duplicates_report_nothing() {
    let mut host = host_with(true, json!({"sack": false, "arithmetic": "exact", "slow_start_limit": 1e6}));
    host.arrive(&segment("S", 0), None).expect("opens");
    host.arrive(&segment(".", 1), None).expect("opens");
    host.write(20_000);
    for ack in [1, 1, 3001] {
        host.arrive(&segment(".", ack), None).expect("an acknowledgement");
    }
    assert_eq!(window(&host), 13);
}

/// Linux tcp_cwnd_validate is reached while there is data that was never sent (`__tcp_push_pending_frames`). Three segments do not fill a
/// window of four, and are lost. The timer leaves a window of one and a threshold of two: the first repair's acknowledgement makes
/// it two, and there it stays, since repairs alone fill it.
#[test]
fn repairs_are_no_use_of_a_window() {
    let mut host = host_with(true, json!({"initial_window": "4pkt"}));
    host.arrive(&segment("S", 0), None).expect("opens");
    host.arrive(&segment(".", 1), None).expect("opens");
    host.write(3000);
    host.advance(host.now() + Span::ms(400));
    let windows = [1001, 2001, 3001].map(|ack| {
        host.arrive(&segment(".", ack), None).expect("an acknowledgement");
        window(&host)
    });
    assert_eq!(windows, [2, 2, 2]);
}

/// Linux tcp_cong_control: an acknowledgement that moves on grows the window by acked_sacked, all that it is the first to
/// report. Two segments by number and one by SACK make 10 + 3 in slow start; a duplicate with a further block adds none
/// (tcp_may_raise_cwnd), and the acknowledgement that then covers all five adds the one of them that is new.
#[test]
fn segments_that_sack_reports_first_grow_the_window() {
    let mut host = host(true);
    host.arrive(&segment("S", 0), None).expect("opens");
    host.arrive(&segment(".", 1), None).expect("opens");
    host.write(40_000);
    assert_eq!(sent(&mut host)[1..].len(), 10);
    let windows =
        [(2001, vec![(3001, 4001)]), (2001, vec![(3001, 5001)]), (5001, vec![])].map(|(ack, sack)| {
            host.arrive(&Segment { sack, ..segment(".", ack) }, None).expect("an acknowledgement");
            sent(&mut host);
            window(&host)
        });
    assert_eq!(windows, [13, 13, 14]);
}

/// RFC 6582 s.3.2 and RFC 5681 s.3.2 steps 2 to 6: the third duplicate halves the window to 5 + 3 and brings the first
/// segment back; each further one adds a segment; the acknowledgement of all leaves 5.
#[test]
fn a_recovery_by_duplicates_halves_the_window_and_inflates_it_meanwhile() {
    let mut host = ten_sent();
    let shown: Vec<Vec<u64>> = (0..9)
        .map(|_| {
            host.arrive(&segment(".", 1), None).expect("a duplicate");
            sent(&mut host).iter().map(|segment| segment.1).collect()
        })
        .collect();
    // Two of limited transmit, the repair; 12 are out, so that 5 + 3 lets nothing go before the inflation reaches 5 + 8.
    let want: [&[u64]; 9] = [&[10_001], &[11_001], &[1], &[], &[], &[], &[], &[12_001], &[13_001]];
    assert_eq!(shown, want);
    host.arrive(&segment(".", 14_001), None).expect("all");
    assert_eq!(window(&host), 5);
}

/// Linux tcp_timeout_mark_lost: a timeout forgets what duplicates reported. Four segments then count as four: slow start
/// goes from one to five.
#[test]
fn a_timeout_forgets_the_duplicates() {
    let mut host = ten_sent();
    for _ in 0..2 {
        host.arrive(&segment(".", 1), None).expect("a duplicate");
    }
    host.advance(host.now() + Span::ms(400));
    assert_eq!(window(&host), 1);
    host.arrive(&segment(".", 4001), None).expect("four segments");
    assert_eq!(window(&host), 5);
}

/// A host that finds losses by RFC 6675 and has sent ten segments of forty, of 1000 bytes each.
fn ten_sent_by_sack() -> Host {
    let mut host = host_with(true, json!({"profile": "datacentre", "sack": true}));
    host.arrive(&segment("S", 0), None).expect("opens");
    host.arrive(&segment(".", 1), None).expect("opens");
    host.write(40_000);
    assert_eq!(sent(&mut host)[1..].len(), 10);
    host
}

/// The segments that leave for an acknowledgement with SACK blocks, all by their numbers (1 to 40).
fn acknowledge(host: &mut Host, ack: u64, sack: &[(u64, u64)]) -> Vec<u64> {
    let first = |segment: u64| 1000 * (segment - 1) + 1;
    let sack = sack.iter().map(|(from, to)| (first(*from), first(to + 1))).collect();
    host.arrive(&Segment { sack, ..segment(".", first(ack)) }, None).expect("an acknowledgement");
    sent(host).iter().map(|segment| segment.1 / 1000 + 1).collect()
}

/// RFC 6675 s.5: a cumulative acknowledgement resets DupAcks. Twice two segments overtake another, which then comes: four
/// duplicates in all begin no recovery, and three in a row do.
// req: RFC6675 s5 MUST reset-dupacks
// req: RFC6675 s5 MUST count-dupacks
#[test]
fn a_cumulative_acknowledgement_resets_the_count_of_duplicates() {
    let mut host = ten_sent_by_sack();
    let again = |sent: &[u64], ack| sent.contains(&ack);
    for first in [1, 4] {
        for last in [first + 1, first + 2] {
            let left = acknowledge(&mut host, first, &[(first + 1, last)]);
            assert!(!again(&left, first), "{left:?}");
        }
        acknowledge(&mut host, first + 3, &[]);
    }
    let left: Vec<bool> = [8, 9, 10].map(|last| again(&acknowledge(&mut host, 7, &[(8, last)]), 7)).into();
    assert_eq!(left, [false, false, true]);
}

/// RFC 6675 s.5: SACK information above HighACK outlives the recovery. The first of ten segments is lost. Before its repair is
/// acknowledged, SACK reports the 14th and the 16th, which lie beyond the recovery point; the acknowledgement that ends the
/// recovery has no block. The next duplicate reports the 18th, the third range above the 13th, which is therefore lost
/// (s.4, IsLost). A sender that had forgotten would wait for two more.
// req: RFC6675 s5 SHOULD keep-scoreboard
#[test]
fn the_scoreboard_outlives_a_recovery() {
    let mut host = ten_sent_by_sack();
    let mut left: Vec<u64> = (2..=10).flat_map(|last| acknowledge(&mut host, 1, &[(2, last)])).collect();
    for last in [14, 16] {
        left.extend(acknowledge(&mut host, 1, &[(last, last), (2, 12)]));
    }
    left.extend(acknowledge(&mut host, 13, &[]));
    left.retain(|segment| *segment <= 10);
    assert_eq!(left, [1], "one segment is repaired");
    assert_eq!(acknowledge(&mut host, 13, &[(18, 18)]).first(), Some(&13));
}

/// RFC 6937 s.3 and Linux tcp_enter_recovery: a loss within the reduction for a mark lets that go on. Of ten segments the first's
/// acknowledgement brings ECN-Echo, which halves the window; SACK reports all but the second. From the mark on, a segment leaves for each
/// two delivered, the repair among them, and five stay in flight at the end. A reduction that began anew, from five segments to five,
/// would send one for each.
#[test]
fn a_loss_within_the_reduction_for_a_mark_lets_it_go_on() {
    let mut host = host_with(true, json!({"ecn": "on"}));
    host.arrive(&segment("SEW", 0), None).expect("opens");
    host.arrive(&segment(".", 1), None).expect("opens");
    host.write(40_000);
    assert_eq!(sent(&mut host)[1..].len(), 10);
    host.arrive(&segment("E.", 1001), None).expect("a mark");
    let mut left: Vec<u64> = sent(&mut host).iter().map(|segment| segment.1 / 1000 + 1).collect();
    let mut counts = vec![left.len()];
    for last in 3..=10 {
        left.extend(acknowledge(&mut host, 2, &[(3, last)]));
        counts.push(left.len());
    }
    assert_eq!(left.iter().filter(|segment| **segment == 2).count(), 1);
    let mut out = 0;
    let law = (1..=9usize).map(|delivered| {
        // The third block shows the second segment lost.
        let pipe = 10 - delivered + out - usize::from(delivered >= 4);
        out = if pipe > 5 { delivered.div_ceil(2) } else { out + 5 - pipe };
        out
    });
    assert_eq!(counts, law.collect::<Vec<_>>());
}

/// RFC 8985 s.7.2: no loss probe is scheduled while losses are repaired. Ten segments time out. The acknowledgement of eight lets the rest of
/// them go again and new data follow, with which a probe would be due after two round trips; the timer alone runs.
#[test]
fn no_probe_is_due_while_a_timeout_is_repaired() {
    let mut host = host(true);
    host.arrive(&segment("S", 0), None).expect("opens");
    host.advance(host.now() + Span::ms(20));
    host.arrive(&segment(".", 1), None).expect("opens");
    host.write(10_000);
    host.advance(host.now() + Span::ms(400));
    assert_eq!(window(&host), 1);
    host.write(10_000);
    sent(&mut host);
    for (ack, all) in [(2, vec![2, 3]), (4, vec![4, 5, 6, 7]), (8, vec![8, 9, 10, 11, 12])] {
        let first = host.now() + Span::ms(20);
        host.advance(first);
        assert_eq!(acknowledge(&mut host, ack, &[]), all);
    }
    let next = host.next(host.now() + Span::s(1)).expect("the timer");
    assert_eq!(next.seq / 1000 + 1, 8, "the oldest segment goes again, and no probe");
}

/// Linux tcp_cong_control, tcp_in_cwnd_reduction: marks stop growth in states CWR and Recovery, not in Loss. After a timeout ten segments are
/// sent again in slow start, though each acknowledgement brings ECN-Echo.
#[test]
fn marks_do_not_stop_slow_start_after_a_timeout() {
    let mut host = host_with(true, json!({"ecn": "on"}));
    host.arrive(&segment("SEW", 0), None).expect("opens");
    host.arrive(&segment(".", 1), None).expect("opens");
    host.write(40_000);
    host.advance(host.now() + Span::ms(400));
    assert_eq!(window(&host), 1);
    let windows = [1001, 2001, 4001].map(|ack| {
        host.arrive(&segment("E.", ack), None).expect("a mark");
        window(&host)
    });
    assert_eq!(windows, [2, 3, 5]);
}

/// The acknowledgements with which a receiver answers segments of 1000 bytes in order, each by its codepoint and perhaps CWR ("W"): up to which segment,
/// whether with ECN-Echo, and the counter of AccECN.
fn echoes(changes: Value, segments: &[&str]) -> Vec<Vec<(u64, bool, u8)>> {
    let mut settings = json!({"ecn": "on", "quick_acks": 0, "ack_pushed": false});
    settings.as_object_mut().expect("a table").extend(changes.as_object().expect("a table").clone());
    let mut host = host_with(true, settings);
    host.arrive(&segment("SEW", 0), None).expect("opens");
    host.arrive(&segment(".", 1), None).expect("opens");
    sent(&mut host);
    let mut answers = vec![];
    for (number, codepoint) in (0..).zip(segments) {
        let letters = if codepoint.ends_with('W') { "W." } else { "." };
        let flags = Segment::flags(letters, codepoint.trim_end_matches('W')).expect("known");
        let data = Segment { flags, seq: 1000 * number + 1, length: 1000, ack: 1, ..Segment::default() };
        host.arrive(&data, None).expect("data");
        let until = host.now() + Span::us(1);
        let answer = |s: Segment| (s.ack / 1000, s.flags.any(Flags::ECE), s.flags.ace());
        answers.push(std::iter::from_fn(|| host.next(until)).map(answer).collect());
    }
    answers
}

/// RFC 3168 s.6.1.3: ECN-Echo from the first mark on until CWR, on which a mark of the same packet begins it again. An acknowledgement
/// covers two segments. Linux sends two at once from the first mark on (tcp_data_ecn_check), and one at CWR (tcp_ecn_accept_cwr); the RFC
/// asks for neither.
#[test]
fn marks_are_echoed_until_the_reduction_is_reported() {
    let segments = ["ect0", "ect0", "ce", "ect0", "ce", "ect0", "ect0W", "ect0", "ect0", "ceW", "ect0"];
    let up = |to: u64, ece: bool| vec![(to, ece, 0)];
    let linux = echoes(json!({}), &segments);
    assert_eq!(
        linux,
        [
            vec![],
            up(2, false),
            up(3, true),
            up(4, true),
            vec![],
            up(6, true),
            up(7, false),
            vec![],
            up(9, false),
            up(10, true),
            up(11, true),
        ]
    );
    let rfc = echoes(json!({"ecn_acks": "change"}), &segments);
    assert_eq!(
        rfc,
        [
            vec![],
            up(2, false),
            vec![],
            up(4, true),
            vec![],
            up(6, true),
            vec![],
            up(8, false),
            vec![],
            up(10, true),
            vec![],
        ]
    );
}

/// RFC 8257 s.3.2 figure 1: a change of CE acknowledges at once the segments before it, with their state. Linux acknowledges the segment that brings
/// the change too (dctcp_ece_ack_update).
#[test]
fn each_change_of_marks_is_acknowledged_with_the_state_before() {
    let segments = ["ect0", "ce", "ce", "ce", "ect0", "ect0", "ce"];
    let dctcp = |rule: &str| echoes(json!({"cc": {"kind": "dctcp"}, "ecn_acks": rule}), &segments);
    let up = |to: u64, ece: bool| (to, ece, 0);
    assert_eq!(
        dctcp("linux"),
        [
            vec![],
            vec![up(1, false), up(2, true)],
            vec![],
            vec![up(4, true)],
            vec![up(5, false)],
            vec![],
            vec![up(6, false), up(7, true)],
        ]
    );
    assert_eq!(
        dctcp("change"),
        [
            vec![],
            vec![up(1, false)],
            vec![up(3, true)],
            vec![],
            vec![up(4, true)],
            vec![up(6, false)],
            vec![],
        ]
    );
}

/// RFC 9768 s.3.2.2.5.1: the first mark of a run and each second one that no acknowledgement has reported are acknowledged at once. The counter
/// has three bits, and there is no ECN-Echo.
#[test]
fn marks_are_counted_and_each_second_one_is_acknowledged() {
    let segments = ["ect0", "ce", "ce", "ce", "ect0", "ect0", "ce", "ect0", "ce", "ce", "ce", "ce", "ce"];
    let up = |to: u64, ace: u8| vec![(to, false, ace)];
    let counted = echoes(json!({"echo": "accecn", "ecn_acks": "change"}), &segments);
    assert_eq!(
        counted,
        [
            vec![],
            up(2, 1),
            vec![],
            up(4, 3),
            vec![],
            up(6, 3),
            up(7, 4),
            vec![],
            up(9, 5),
            vec![],
            up(11, 7),
            vec![],
            up(13, 1),
        ]
    );
}

/// RFC 7661 s.4.3: in slow start a window of ten segments grows where more than half of it is in use, and in congestion avoidance where it
/// holds data back. Linux remembers the most that was out, and stops at its double too (tcp_is_cwnd_limited).
#[test]
fn a_window_grows_while_half_of_it_is_in_use() {
    for profile in ["datacentre", "linux"] {
        for (segments, grown) in [(5, 10), (6, 11)] {
            let mut host = host_with(true, json!({"profile": profile}));
            host.arrive(&segment("S", 0), None).expect("opens");
            host.arrive(&segment(".", 1), None).expect("opens");
            host.write(1000 * segments);
            sent(&mut host);
            host.arrive(&segment(".", 1001), None).expect("an acknowledgement");
            assert_eq!(window(&host), grown, "{profile} {segments}");
        }
    }
}

/// RFC 2018 s.4: the first block has the newest segment, and the others repeat those that were reported last. Three blocks have room beside timestamps
/// (s.3), and four without.
#[test]
fn blocks_begin_with_the_newest_segment() {
    let block = |from: u64, to: u64| (1000 * (from - 1) + 1, 1000 * to + 1);
    for (timestamps, room) in [(true, 3), (false, 4)] {
        let mut host = host_with(true, json!({"timestamps": timestamps}));
        host.arrive(&segment("S", 0), None).expect("opens");
        host.arrive(&segment(".", 1), None).expect("opens");
        sent(&mut host);
        let mut shown = |number: u64| {
            let data = Segment { seq: 1000 * (number - 1) + 1, length: 1000, ..segment(".", 1) };
            host.arrive(&data, None).expect("data");
            let until = host.now() + Span::us(1);
            host.next(until).map(|answer| (answer.ack / 1000, answer.sack)).expect("an answer")
        };
        for (number, mut blocks) in [
            (2, vec![block(2, 2)]),
            (4, vec![block(4, 4), block(2, 2)]),
            (6, vec![block(6, 6), block(4, 4), block(2, 2)]),
            (8, vec![block(8, 8), block(6, 6), block(4, 4), block(2, 2)]),
            (10, vec![block(10, 10), block(8, 8), block(6, 6), block(4, 4)]),
            (5, vec![block(4, 6), block(10, 10), block(8, 8), block(2, 2)]),
        ] {
            blocks.truncate(room);
            assert_eq!(shown(number), (0, blocks), "{timestamps} {number}");
        }
        let (ack, blocks) = shown(1);
        assert_eq!((ack, blocks[0]), (2, block(4, 6)));
        assert_eq!(shown(3), (6, vec![block(10, 10), block(8, 8)]));
        for number in [9, 7] {
            shown(number);
        }
    }
}

/// Linux tcp_event_data_recv: the first segments are acknowledged one by one, and so are those after a gap that is longer than the retransmission
/// timeout, here the least of 200 ms; else each second one is.
#[test]
fn segments_after_a_long_gap_are_acknowledged_one_by_one() {
    let mut host = host_with(true, json!({"quick_acks": 2, "ack_pushed": false}));
    host.arrive(&segment("S", 0), None).expect("opens");
    host.arrive(&segment(".", 1), None).expect("opens");
    sent(&mut host);
    let mut last = host.now();
    let gap = Span::ms(200);
    let waits = [
        Span::us(5),
        Span::us(5),
        Span::us(5),
        Span::us(5),
        gap,
        gap + Span::ps(1),
        Span::us(5),
        Span::us(5),
    ];
    let at_once = (0..).zip(waits).map(|(number, wait)| {
        host.advance(last + wait);
        while host.next(last + wait).is_some() {}
        last = host.now();
        let data = Segment { seq: 1000 * number + 1, length: 1000, ..segment(".", 1) };
        host.arrive(&data, None).expect("data");
        let until = host.now() + Span::us(1);
        let answers = std::iter::from_fn(|| host.next(until)).count();
        answers > 0
    });
    assert_eq!(at_once.collect::<Vec<_>>(), [true, true, false, true, false, true, true, false]);
}
