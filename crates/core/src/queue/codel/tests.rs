//! CoDel against its pseudocode and closed forms.

use super::*;
use crate::packet::Flags;
use crate::packet::tests::packet;
use crate::params::Params;
use crate::queue::tests::place;

fn plain(size: u16) -> Packet {
    Packet { flags: Flags::default(), ..packet(size) }
}

/// A queue and the record of its drops.
struct Bench {
    codel: Discipline,
    dropped: Vec<(Packet, DropWhy)>,
    marked: u64,
}

impl Bench {
    fn new(settings: &Settings) -> Self {
        Bench { codel: Discipline::new(settings, place()), dropped: vec![], marked: 0 }
    }

    fn call<T>(&mut self, at: Span, call: impl FnOnce(&mut Discipline, &mut QueueCx<'_>) -> T) -> T {
        let mut cx = QueueCx::new(Time::ZERO + at, 0, Time::ZERO, &mut self.dropped);
        let result = call(&mut self.codel, &mut cx);
        self.marked += cx.marked();
        result
    }

    fn fill(&mut self, n: usize, packet: Packet, at: Span) {
        for _ in 0..n {
            self.call(at, |codel, cx| codel.enqueue(packet, cx));
        }
    }

    /// One departure; returns the packets held and the drops so far.
    fn send(&mut self, at: Span) -> (u64, usize) {
        self.call(at, |codel, cx| codel.dequeue(cx));
        (self.codel.held.packets(), self.dropped.len())
    }
}

fn settings() -> Settings {
    Settings { ecn: false, ..Settings::defaults() }
}

#[test]
fn a_full_queue_drops_what_arrives() {
    // ns-3 codel-queue-disc: limit 500, 503 arrivals.
    let mut bench = Bench::new(&Settings { limit: Some(Size::Packets(500)), ..settings() });
    bench.fill(503, plain(1000), Span::ZERO);
    assert_eq!(bench.dropped.len(), 3);
    assert!(bench.dropped.iter().all(|(_, why)| *why == DropWhy::Full));
    assert_eq!(bench.codel.backlog().packets, 500);
}

// req: RFC8289 s3.3 SHOULD first-spacing
// req: RFC8289 s4.2 SHOULD default-interval
// req: RFC8289 s4.3 SHOULD default-target
// req: RFC8289 s4.5 SHOULD internet-defaults
#[test]
fn drop_state_begins_after_an_interval_and_quickens() {
    // ns-3 codel-queue-disc's basic drop: 20 packets, departures at 2 target, then 2 interval later.
    let mut bench = Bench::new(&settings());
    bench.fill(20, plain(1000), Span::ZERO);
    assert_eq!(bench.send(Span::ms(10)), (19, 0)); // first above
    assert_eq!(bench.send(Span::ms(210)), (17, 1)); // a drop, and the next one sent
    assert_eq!(bench.codel.law.drop_next, Time::ZERO + Span::ms(310));
    assert_eq!(bench.send(Span::ms(210)), (16, 1)); // the same instant: no other
    // At 420 ms the drops due at 310 ms and, 100 / sqrt(2) ms later, at 380.7 ms, have come.
    assert_eq!(bench.send(Span::ms(420)), (13, 3));
    assert_eq!(bench.codel.law.count(), 3);
}

// req: RFC8289 s3.3 SHOULD first-spacing
#[test]
fn the_kth_drop_comes_an_interval_over_the_root_of_k_later() {
    let mut bench = Bench::new(&settings());
    bench.fill(900, plain(1000), Span::ZERO);
    bench.send(Span::ms(10));
    let mut at = 0.110;
    for drops in 1..=100 {
        // Just before it is due, nothing; then one.
        let due = Span::ps((at * 1e12) as u64);
        assert_eq!(bench.send(due.saturating_sub(Span::us(1))).1, drops - 1);
        assert_eq!(bench.send(due + Span::us(1)).1, drops);
        at += 0.1 / (drops as f64).sqrt() + if drops == 1 { 1e-6 } else { 0.0 };
    }
}

// req: RFC8289 s4.1 SHOULD below-target
// req: RFC8289 s5.3 SHOULD mtu
#[test]
fn a_short_wait_or_a_short_queue_leaves_drop_state() {
    let mut bench = Bench::new(&settings());
    bench.fill(4, plain(1000), Span::ZERO);
    bench.send(Span::ms(10));
    assert_eq!(bench.send(Span::ms(110)), (1, 1)); // dropped one, sent one; one of 1000 B is left
    assert!(bench.codel.law.is_dropping());
    assert_eq!(bench.send(Span::ms(300)), (0, 1)); // no more than max_packet stands
    assert!(!bench.codel.law.is_dropping());
    // A wait below the target for one packet begins the interval anew.
    let mut bench = Bench::new(&settings());
    bench.fill(2, plain(1000), Span::ZERO);
    bench.fill(10, plain(1000), Span::ms(100));
    bench.send(Span::ms(10));
    bench.send(Span::ms(102));
    bench.send(Span::ms(104)); // waited 4 ms
    assert_eq!(bench.send(Span::ms(115)).1, 0);
    assert_eq!(bench.send(Span::ms(214)).1, 0);
    assert_eq!(bench.send(Span::ms(215)).1, 1);
}

#[test]
fn drop_state_resumes_near_the_last_rate() {
    let mut law = Law { count: 11, last_count: 1, drop_next: Time::ZERO + Span::s(1), ..Law::default() };
    let rules = Bench::new(&settings()).codel.rules;
    let resume = |law: &mut Law, at: Span| {
        law.first_above = Some(Time::ZERO);
        let (mut held, mut dropped) = (Held::default(), vec![]);
        (0..5).for_each(|_| held.push(plain(1000)));
        let now = Time::ZERO + at;
        law.dequeue(&mut held, 0, &rules, &mut QueueCx::new(now, 0, Time::ZERO, &mut dropped));
        law.count
    };
    assert_eq!(resume(&mut law.clone(), Span::ms(2599)), 10); // within 16 intervals
    assert_eq!(resume(&mut law, Span::ms(2600)), 1);
}

#[test]
fn ecn_marks_instead_and_keeps_the_packet() {
    let mut bench = Bench::new(&Settings { ecn: true, ..settings() });
    bench.fill(20, packet(1000), Span::ZERO);
    bench.send(Span::ms(10));
    assert_eq!(bench.send(Span::ms(210)), (18, 0));
    assert_eq!(bench.marked, 1);
    // One mark a departure even when two are due.
    assert_eq!(bench.send(Span::ms(420)), (17, 0));
    assert_eq!(bench.marked, 2);
    // Packets that are not ECN-capable are dropped.
    let mut bench = Bench::new(&Settings { ecn: true, ..settings() });
    bench.fill(20, plain(1000), Span::ZERO);
    bench.send(Span::ms(10));
    assert_eq!((bench.send(Span::ms(210)), bench.marked), ((17, 1), 0));
}

#[test]
fn the_marking_threshold_acts_at_once() {
    let threshold = Some(Span::ms(1));
    let mut bench = Bench::new(&Settings { ce_threshold: threshold, ..settings() });
    bench.fill(4, packet(1000), Span::ZERO);
    bench.send(Span::ms(1));
    assert_eq!(bench.marked, 0);
    bench.send(Span::ms(1) + Span::ps(1));
    assert_eq!(bench.marked, 1);
}

#[test]
fn newtons_root_is_linuxs() {
    // x = 65535 / 65536, count 2: x (3 - 2 x^2) / 2 = 0.50002 of 2^16; then towards 0.7071.
    let mut law = Law { count: 2, ..Law::default() };
    law.newton_step();
    assert_eq!(law.inverse_root, 32_769);
    for _ in 0..5 {
        law.newton_step();
    }
    // 46340.95; each step cuts, so that it stands a little below.
    assert!((46_330..=46_341).contains(&law.inverse_root), "{}", law.inverse_root);
    // Near the exact law once it has settled.
    let rules = Rules { root: Root::Newton, ..Bench::new(&settings()).codel.rules };
    let mut law = Law { count: 1, ..Law::default() };
    for _ in 0..200 {
        law.add_drop(&rules);
    }
    let step = (law.control_law(Time::ZERO, &rules) - Time::ZERO).as_secs_f64();
    assert!((step / (0.1 / 201f64.sqrt()) - 1.0).abs() < 0.01, "{step}");
}
