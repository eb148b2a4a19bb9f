//! Laws of every discipline: books, order, limits, marks on the ECN-capable only, idle service, at rates
//! from a bit to a petabit a second.

use super::{allows, minimal, read};
use proptest::prelude::*;
use shallows_core::events::random::Stream;
use shallows_core::events::{Event, EventQueue};
use shallows_core::net::port::{Port, Service};
use shallows_core::net::{Connection, Directory, Network};
use shallows_core::packet::{Flags, NONE, Packet};
use shallows_core::params::Component;
use shallows_core::queue::parts::fifo::Fifo;
use shallows_core::queue::{Built, Place, Queue};
use shallows_units::{Rate, Span, Time};
use std::collections::BTreeSet;

/// A packet handed to the port: after so many ps, so many bytes, of which flow, with which codepoint.
type Arrival = (u64, u16, u32, usize);

/// Not ECN-capable, ECT(0), ECT(1).
const CODEPOINTS: [Flags; 3] = [Flags(0), Flags::ECT0, Flags::ECT1];

/// The fates of the packets: (number, time of delivery, its CE).
type Fates = Vec<(u64, Time, bool)>;

/// One port with a discipline, and a wire of 1 us behind it.
struct Bench {
    net: Network,
    directory: Directory,
    sent: u64,
    fates: Fates,
}

const WIRE: Span = Span::us(1);
const FLOWS: u32 = 3;

impl Bench {
    fn new(built: Built, rate: Rate) -> Self {
        let service = match built {
            Built::Arrival(admission) => Service::Arrival(admission),
            Built::Departure(disc) => Service::departure(disc),
        };
        let port = Port::new(rate, WIRE, true, service);
        let net = Network::new(vec![port], EventQueue::new(1));
        let connection = |serial| Connection { serial, ..Connection::default() };
        let directory = Directory::alone((0..FLOWS).map(connection).collect(), 1);
        Bench { net, directory, sent: 0, fates: vec![] }
    }

    /// Lets everything happen that is due by `until`.
    fn advance(&mut self, until: Time) {
        while let Some((at, event)) = self.net.events.pop_before(until + Span::ps(1)) {
            self.net.now = at;
            match event {
                Event::Wire(port) => {
                    let packet = self.net.land(port, &self.directory).expect("the path ends here");
                    self.fates.push((packet.seq, at, packet.flags.any(Flags::CE)));
                }
                Event::Port(port) => self.net.depart(port, &self.directory),
                _ => {} // a flow's last packet was dropped
            }
        }
        self.net.now = until;
    }

    fn arrive(&mut self, (gap, size, flow, codepoint): Arrival) {
        self.advance(self.net.now + Span::ps(gap));
        let packet = Packet {
            at: Time::ZERO,
            seq: self.sent,
            stamp: self.net.now,
            waited: 0,
            flow,
            label: 0,
            extension: NONE,
            size,
            flags: CODEPOINTS[codepoint],
        };
        self.sent += 1;
        self.net.send(&packet, &self.directory);
    }

    /// Packets and bytes held in the queue.
    fn held(&mut self) -> (u64, u64) {
        let now = self.net.now;
        self.net.ports[0].settle(now, &self.net.store);
        self.net.ports[0].held()
    }

    /// Packets and bytes held without the packet being transmitted, which Linux's disciplines have
    /// handed over and do not count.
    fn waiting(&mut self) -> (u64, u64) {
        let (packets, bytes) = self.held();
        let port = &self.net.ports[0];
        let serving = match &port.service {
            Service::Departure(scheduled) => scheduled.serving.map_or(0, |p| u64::from(p.size)),
            Service::Lined(_) => port.backlog(&self.net.store).serving,
            Service::Arrival(_) => port.backlog(&self.net.store).serving,
        };
        (packets - u64::from(serving > 0), bytes - serving)
    }

    fn books_balance(&mut self) {
        let held = self.held();
        let (totals, port) = (self.net.totals, &self.net.ports[0]);
        assert_eq!(totals.sent, totals.delivered + totals.dropped + self.net.in_flight());
        assert_eq!(port.counts.packets_in, self.sent);
        assert_eq!(totals.dropped, port.dropped());
        assert_eq!(totals.sent, totals.delivered + totals.dropped + held.0 + port.on_wire());
    }
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![4 => Just(0), 4 => 1u64..3_000_000, 1 => 1u64..1_000_000_000];
    prop::collection::vec((gap, 40u16..9001, 0..FLOWS, 0..CODEPOINTS.len()), 1..250)
}

fn rates() -> impl Strategy<Value = Rate> {
    let bps = [1, 1_000, 9_973_000_000, 10_000_000_000, 400_000_000_000, 1_000_000_000_000_000];
    prop::sample::select(bps.to_vec()).prop_map(Rate::bps)
}

fn place(rate: Rate) -> Place {
    Place { rate, last_hop: false, random: Stream::new(1, "queue", 0) }
}

/// A discipline that holds at most `limit`, where it has limits.
fn queue(component: &Component, limit: &str, mark_at: &str) -> Queue {
    let limits = ["limit", "high_limit", "low_limit"].map(|name| (name, limit));
    let wanted = [&limits[..], &[("mark_at", mark_at), ("measure", "after")]].concat();
    read("queue", &minimal(component, &wanted), Queue::read)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_discipline_keeps_its_limit_order_and_books(all in arrivals(), rate in rates(), bytes in any::<bool>()) {
        let (limit, mark_at) = if bytes { ("30000B", "9000B") } else { ("20pkt", "6pkt") };
        for component in Queue::list() {
            let queue = queue(&component, limit, mark_at);
            // Limits in bytes only are tested in the cases with bytes.
            let limits: Vec<_> = component.params.iter().filter(|param| param.name.ends_with("limit")).collect();
            let parts = limits.len() as u64;
            let counts_serving = component.params.iter().any(|param| param.name == "count_in_service");
            let limited = parts > 0 && limits.iter().all(|param| allows(&param.kind, limit));
            let built = queue.build(place(rate));
            let sorts = sorts(&built);
            let mut bench = Bench::new(built, rate);
            for arrival in &all {
                bench.arrive(*arrival);
                let (packets, held) = if counts_serving { bench.held() } else { bench.waiting() };
                let within = if bytes { held <= parts * 30_000 } else { packets <= parts * 20 };
                prop_assert!(within || !limited, "{}: {} packets, {} bytes", component.name, packets, held);
            }
            bench.books_balance();
            bench.advance(Time::MAX);
            bench.books_balance();
            prop_assert_eq!(bench.held(), (0, 0), "{} keeps packets for ever", component.name);
            check_fates(component.name, sorts, &bench, &all);

            // An idle port serves at once, and marks nothing once averages have had time to forget.
            let mut marked = true;
            for number in 0..100 {
                let idle = bench.net.ports[0].free_at + Span::s(1);
                bench.net.now = idle;
                bench.arrive((0, 1500, 0, number % 2 + 1));
                bench.advance(Time::MAX);
                let (_, at, now_marked) = *bench.fates.last().expect("delivered");
                prop_assert_eq!(at, idle + bench.net.ports[0].transmission(1500) + WIRE, "{}", component.name);
                marked = now_marked;
            }
            // At a few bits a second one packet alone stands for longer than any target.
            let slow = rate < Rate::gbps(1);
            prop_assert!(slow || !marked, "{} marks on an empty queue", component.name);
        }
    }

    /// The two ways of working a port agree for every discipline that decides at arrival, where no
    /// arrival falls on the end of a transmission.
    #[test]
    fn every_discipline_at_arrival_equals_its_twin(all in arrivals(), rate in rates()) {
        for component in Queue::list() {
            let queue = queue(&component, "20pkt", "6pkt");
            let (Built::Arrival(one), Built::Arrival(two)) = (queue.build(place(rate)), queue.build(place(rate))) else { continue };
            let mut fast = Bench::new(Built::Arrival(one), rate);
            let mut slow = Bench::new(Built::Departure(Box::new(Fifo::new(two, rate))), rate);
            all.iter().for_each(|arrival| { fast.arrive(*arrival); slow.arrive(*arrival); });
            fast.advance(Time::MAX);
            slow.advance(Time::MAX);
            let mut clock = Time::ZERO;
            let came: BTreeSet<Time> = all.iter().map(|(gap, ..)| { clock += Span::ps(*gap); clock }).collect();
            let ties = fast.fates.iter().any(|(_, at, _)| came.contains(&(*at - WIRE)));
            prop_assert!(ties || fast.fates == slow.fates, "{}: {:?} {:?}", component.name, fast.fates, slow.fates);
        }
    }
}

/// Whether a discipline sorts packets by codepoint into two queues, and says so.
fn sorts(built: &Built) -> bool {
    matches!(built, Built::Departure(disc) if disc.inner().is_some_and(|inner| inner.count() == 2))
}

/// Marks only on the ECN-capable, order within each flow, nothing faster than the port.
fn check_fates(name: &str, sorts: bool, bench: &Bench, all: &[Arrival]) {
    // A flow keeps to one codepoint in earnest; disciplines of two queues sort by it.
    let mut last = [[None; CODEPOINTS.len()]; FLOWS as usize];
    let mut free = Time::ZERO;
    for (number, at, marked) in &bench.fates {
        let (_, size, flow, codepoint) = all[*number as usize];
        assert!(codepoint > 0 || !marked, "{name} marked a packet that is not ECN-capable");
        let mine = &mut last[flow as usize][if sorts { codepoint } else { 0 }];
        assert!(*mine < Some(*number), "{name} reordered a flow");
        *mine = Some(*number);
        let took = bench.net.ports[0].transmission(size);
        assert!(*at >= free + took + WIRE, "{name} sent faster than its rate");
        free = *at - WIRE;
    }
    let marked = bench.fates.iter().filter(|fate| fate.2).count() as u64;
    assert!(marked <= bench.net.ports[0].counts.marks, "{name} marks more than it counts");
}
