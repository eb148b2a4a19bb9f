//! Connections from either side, and what is refused.

use super::*;
use crate::params::{Faults, Table};
use serde_json::{Map, Value, json};

const SOON: Span = Span::ms(1);

fn host(passive: bool) -> Host {
    let Value::Object(map) = json!({"profile": "linux", "cc": {"kind": "newreno"}, "mss": "1000B"}) else {
        unreachable!()
    };
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
