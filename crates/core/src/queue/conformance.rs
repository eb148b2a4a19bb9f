//! What every discipline of the list must keep, under arrivals of all kinds, pauses and any rate:
//! the books balance, no flow is reordered, no more than the limit is held, only ECN-capable packets are
//! marked, and the same seed gives the same packets.

use super::fifo::Fifo;
use super::*;
use crate::net::packet::Flags;
use crate::net::packet::tests::packet;
use crate::params::Table;
use serde_json::{Value, json};
use shallows_units::{Bytes, Size, Span};

fn read(kind: &str, limit: Option<&str>) -> Queue {
    let mut map = json!({ "kind": kind });
    // A limit of any name; thresholds may then lie beyond it, which `check` would refuse.
    let component = Queue::list().into_iter().find(|c| c.name == kind).expect("listed");
    for param in &component.params {
        if let (Some(limit), true) = (limit, param.name.contains("limit")) {
            let bytes = param.kind == crate::params::Kind::Bytes && limit.ends_with("pkt");
            map[param.name] = if bytes { "4500B".into() } else { Value::from(limit) };
        }
    }
    // Measured before the arrival, a limit in bytes gives way by a packet: that is what the option says.
    if component.params.iter().any(|param| param.name == "measure") {
        map["measure"] = "after".into();
    }
    let mut faults = Faults::default();
    let map = map.as_object().expect("a table").clone();
    let mut table = Table::new("queue", &map, &mut faults);
    let queue = Queue::read(&mut table).expect("a kind");
    table.finish();
    assert!(faults.0.is_empty(), "{kind}: {faults:?}");
    queue
}

/// The most that a queue of `kind` read with `limit` may hold, its bands added up; the packet being
/// transmitted may or may not count.
fn most(kind: &str, limit: &str) -> Size {
    let bands = Queue::list().into_iter().find(|c| c.name == kind).expect("listed");
    let bands = bands.params.iter().filter(|p| p.name.contains("limit"));
    let bands: Vec<_> = bands.map(|p| p.kind == crate::params::Kind::Bytes).collect();
    match Size::parse(limit).expect("a size") {
        Size::Packets(_) if bands[0] => Size::Bytes(Bytes(4500)),
        Size::Packets(n) => Size::Packets(n * bands.len() as u64),
        Size::Bytes(Bytes(n)) => Size::Bytes(Bytes(n * bands.len() as u64)),
    }
}

/// Runs `n` arrivals through `queue` at `rate`, in bursts with pauses between; returns what left, as flow
/// and number, with its mark.
fn run(name: &str, queue: &Queue, rate: Rate, most: Option<Size>, n: u64) -> Vec<(u32, u64, bool)> {
    let mut disc: Box<dyn QueueDisc> = match queue.build(Place { rate, random: Stream::new(1, "queue", 0) }) {
        Built::Arrival(admission) => Box::new(Fifo::new(admission)),
        Built::Departure(disc) => disc,
    };
    let mut random = Stream::new(7, "conformance", 0);
    let (mut now, mut free_at, mut serving) = (Time::ZERO, Time::ZERO, 0);
    let mut dropped = vec![];
    let (mut sent, mut marked, mut marks_seen, mut lost) = (vec![], 0, 0, 0);
    let (mut bytes_in, mut bytes_out) = (0, 0);
    let step = rate.transmit(Bytes(1500));
    let mut seq = 0;
    loop {
        // A burst, then service until it is gone or half gone, now and then a long pause.
        let burst = if seq < n { 1 + random.below(12) } else { 0 };
        for _ in 0..burst {
            let flow = random.below(6) as u32;
            let size = 64 + random.below(1437) as u16;
            let flags = [Flags::default(), Flags::ECT0, Flags::ECT1][flow as usize % 3];
            let mut cx = QueueCx::new(now, serving, free_at, &mut dropped);
            disc.enqueue(Packet { flow, seq, flags, at: now, ..packet(size) }, &mut cx);
            marked += cx.marked();
            seq += 1;
            bytes_in += u64::from(size);
        }
        let held = disc.backlog();
        match most {
            Some(Size::Packets(most)) => assert!(held.packets <= most, "{name}: {held:?}"),
            Some(Size::Bytes(most)) => assert!(held.bytes <= most.as_u64(), "{name}: {held:?}"),
            None => {}
        }
        let services = if seq < n { random.below(10) } else { u64::MAX };
        for _ in 0..services {
            now = now.max(free_at);
            serving = 0;
            let mut cx = QueueCx::new(now, 0, free_at, &mut dropped);
            let next = disc.dequeue(&mut cx);
            marked += cx.marked();
            let Some(packet) = next else {
                match disc.ready_at() {
                    Some(at) if at > now => now = at,
                    _ => break,
                }
                continue;
            };
            let mark = packet.flags.any(Flags::CE);
            assert!(
                !mark || packet.flags.any(Flags(Flags::ECT0.0 | Flags::ECT1.0)),
                "{name}: marked not ECT"
            );
            marks_seen += u64::from(mark);
            serving = u64::from(packet.size);
            bytes_out += serving;
            free_at = now + rate.transmit(Bytes(serving));
            sent.push((packet.flow, packet.seq, mark));
        }
        for (packet, _) in dropped.drain(..) {
            bytes_out += u64::from(packet.size);
            marks_seen += u64::from(packet.flags.any(Flags::CE));
            lost += 1;
        }
        let held = disc.backlog();
        assert_eq!(seq, sent.len() as u64 + lost + held.packets, "{name}: packets");
        assert_eq!(bytes_in, bytes_out + held.bytes, "{name}: bytes");
        if seq >= n && held.packets == 0 {
            break;
        }
        let pause = if random.chance(0.05) { step.as_ps().saturating_mul(200) } else { step.as_ps() * 2 };
        now += random.within(Span::ps(pause));
        if now >= free_at {
            serving = 0;
        }
    }
    assert_eq!(marked, marks_seen, "{name}: marks");
    let mut last = [None; 6];
    for (flow, number, _) in &sent {
        assert!(last[*flow as usize] < Some(*number), "{name}: flow {flow} reordered");
        last[*flow as usize] = Some(*number);
    }
    sent
}

/// From a slow modem to 1.6 Tb/s.
const RATES: [Rate; 3] = [Rate::bps(9600), Rate::mbps(40), Rate::gbps(1600)];

#[test]
fn every_discipline_keeps_its_books_order_and_marks() {
    for component in Queue::list() {
        for rate in RATES {
            let queue = read(component.name, None);
            let sent = run(component.name, &queue, rate, None, 3000);
            assert!(sent.len() > 100, "{}: {} sent at {rate}", component.name, sent.len());
            assert_eq!(sent, run(component.name, &queue, rate, None, 3000), "{}: repeats", component.name);
        }
    }
}

#[test]
fn no_discipline_holds_more_than_its_limit() {
    for component in Queue::list() {
        for limit in ["1pkt", "3pkt", "4500B"] {
            let queue = read(component.name, Some(limit));
            run(component.name, &queue, Rate::mbps(40), Some(most(component.name, limit)), 2000);
        }
    }
}

#[test]
fn every_discipline_passes_a_packet_that_comes_to_an_idle_port() {
    for component in Queue::list() {
        for rate in RATES {
            let queue = read(component.name, None);
            let Built::Departure(mut disc) =
                (match queue.build(Place { rate, random: Stream::new(1, "q", 0) }) {
                    Built::Arrival(admission) => Built::Departure(Box::new(Fifo::new(admission))),
                    departure => departure,
                })
            else {
                unreachable!()
            };
            let (mut dropped, mut now, mut free_at) = (vec![], Time::ZERO, Time::ZERO);
            for seq in 0..200 {
                let mut cx = QueueCx::new(now, 0, free_at, &mut dropped);
                disc.enqueue(Packet { seq, ..packet(1500) }, &mut cx);
                let sent = disc.dequeue(&mut cx).expect("sent at once");
                assert!(!sent.flags.any(Flags::CE) && cx.marked() == 0, "{}: marked", component.name);
                free_at = now + rate.transmit(Bytes(1500));
                now = free_at + Span::ps(seq * 1000);
            }
            assert!(dropped.is_empty(), "{}: dropped", component.name);
        }
    }
}
