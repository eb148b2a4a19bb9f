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
