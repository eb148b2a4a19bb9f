//! The shared memory of a switch: its ports draw on one buffer, and admission looks at all of them.
//!
//! Source: Choudhury and Hahne 1998, "Dynamic Queue Length Thresholds for Shared-Memory Packet
//! Switches" (IEEE/ACM Trans. Networking 6(2)), s.III: T(t) = alpha (B - Q(t)), Q the bytes held by all
//! ports; a packet is refused when its port's queue has reached T. With n ports saturated each
//! holds alpha B / (1 + n alpha), and B / (1 + n alpha) stays free for others. Without alpha the sharing
//! is complete: a packet is refused only when the buffer is full.
//! Fine points: a queue counts whole packets, the one being transmitted included; the buffer decides
//! before the port's discipline does, whose own drops free nothing that was taken.
//! With flow control (`pfc`) the size is what is left beside headrooms and reserves. Lossless packets then pass by this
//! law, which counts them all the same, and a port's queue is its lossy packets.
//! Left out: pools by priority, alpha by queue inside a port.
//!
//! Each port's share is counted when it last was looked at. Since ports only send in between, that is
//! never less than they hold: where the old count admits a packet, the true one would, and the
//! other ports need not be touched. Only where it refuses are they all brought up to date.

use crate::net::port::Service;
use crate::net::{Commons, Network};
use crate::packet::Packet;
use crate::queue::DropWhy;

/// One switch's memory.
#[derive(Debug, Default)]
struct Buffer {
    size: u64,
    alpha: Option<f64>,
    /// Bytes of all ports as last counted.
    total: u64,
    /// Its ports.
    ports: Vec<u32>,
    /// Packets refused.
    refused: u64,
    /// Bytes of the total that stand in headrooms.
    headroom: u64,
    /// Accounts that are closed: port and priority.
    closed: Vec<(u32, u8)>,
}

impl Buffer {
    fn free(&self) -> u64 {
        (self.size + self.headroom).saturating_sub(self.total)
    }
}

/// One port's part of its buffer.
#[derive(Debug)]
struct Share {
    buffer: u32,
    counted: u64,
}

/// The shared memories of all switches.
#[derive(Debug, Default)]
pub struct Buffers {
    buffers: Vec<Buffer>,
    shares: Vec<Share>,
}

impl Buffers {
    /// A buffer of `size` bytes for `ports`, with dynamic thresholds where `alpha` is given; the number of the
    /// first port's share, the others follow.
    pub fn add(&mut self, size: u64, alpha: Option<f64>, ports: Vec<u32>) -> u32 {
        let (first, buffer) = (self.shares.len() as u32, self.buffers.len() as u32);
        self.shares.extend(ports.iter().map(|_| Share { buffer, counted: 0 }));
        self.buffers.push(Buffer { size, alpha, ports, ..Buffer::default() });
        first
    }

    /// The port of `share` holds `bytes` now.
    #[inline]
    pub fn count(&mut self, share: u32, bytes: u64) {
        let share = &mut self.shares[share as usize];
        let buffer = &mut self.buffers[share.buffer as usize];
        buffer.total = buffer.total - share.counted + bytes;
        share.counted = bytes;
    }

    /// Whether the port of `share`, which holds `charged` lossless bytes, may take a lossy packet of `size` bytes, by the
    /// last count.
    #[inline]
    pub fn fits(&self, share: u32, size: u16, charged: u64) -> bool {
        let Share { buffer, counted } = self.shares[share as usize];
        let buffer = &self.buffers[buffer as usize];
        let (free, queue) = (buffer.free(), counted - charged);
        u64::from(size) <= free && buffer.alpha.is_none_or(|alpha| (queue as f64) < alpha * free as f64)
    }

    fn of(&mut self, share: u32) -> &mut Buffer {
        &mut self.buffers[self.shares[share as usize].buffer as usize]
    }

    /// Bytes of shared memory that are free, where `share` is.
    pub fn free(&self, share: u32) -> u64 {
        self.buffers[self.shares[share as usize].buffer as usize].free()
    }

    /// So many bytes come into headrooms.
    pub fn use_headroom(&mut self, share: u32, bytes: u64) {
        self.of(share).headroom += bytes;
    }

    /// So many bytes leave headrooms.
    pub fn free_headroom(&mut self, share: u32, bytes: u64) {
        self.of(share).headroom -= bytes;
    }

    /// The closed accounts of the switch.
    pub fn closed(&mut self, share: u32) -> &mut Vec<(u32, u8)> {
        &mut self.of(share).closed
    }

    /// All closed accounts: the size of the shared memory, port, and priority.
    pub fn all_closed(&self) -> impl Iterator<Item = (u64, u32, u8)> {
        self.buffers
            .iter()
            .flat_map(|buffer| buffer.closed.iter().map(|(port, priority)| (buffer.size, *port, *priority)))
    }

    /// A packet for the port of `share` is refused.
    fn refuse(&mut self, share: u32) {
        self.buffers[self.shares[share as usize].buffer as usize].refused += 1;
    }

    /// A port of each switch whose dynamic threshold refused no packet.
    pub fn never_short(&self) -> impl Iterator<Item = u32> {
        let idle = |buffer: &&Buffer| buffer.alpha.is_some() && buffer.refused == 0;
        self.buffers.iter().filter(idle).filter_map(|buffer| buffer.ports.first().copied())
    }

    /// How many ports share the buffer of `share`.
    pub fn sharers(&self, share: u32) -> usize {
        self.buffers[self.shares[share as usize].buffer as usize].ports.len()
    }

    /// The `i`th port that shares the buffer of `share`.
    pub fn sharer(&self, share: u32, i: usize) -> u32 {
        self.buffers[self.shares[share as usize].buffer as usize].ports[i]
    }
}

impl Network {
    /// The shared memories of its switches.
    pub fn buffers(&self) -> &Buffers {
        &self.buffers
    }

    /// `ports` share a buffer of `size` bytes; call before packets are sent.
    pub fn share(&mut self, size: u64, alpha: Option<f64>, ports: Vec<u32>) {
        let numbers = ports.clone();
        let first = self.buffers.add(size, alpha, ports);
        for (share, number) in (first..).zip(numbers) {
            let port = &mut self.ports[number as usize];
            port.share = share;
            port.update_flags();
        }
    }

    /// The buffer has no room for `packet`.
    pub(in crate::net) fn lose_for_buffer(&mut self, number: u32, packet: &Packet, commons: &Commons) {
        let port = &mut self.ports[number as usize];
        self.buffers.refuse(port.share);
        let class = commons.class(packet);
        port.note_arrival(class, packet.size, 0);
        if let Service::Departure(scheduled) = &mut port.service {
            scheduled.note(packet, commons, |record, _, queue| record.came(queue, class, packet));
        }
        self.lose(number, *packet, DropWhy::Buffer, commons);
    }

    /// Whether the buffer has room for `size` bytes more at a port, settled.
    pub(in crate::net) fn has_room(&mut self, number: u32, size: u16) -> bool {
        self.count(number);
        let port = &self.ports[number as usize];
        let (share, charged) = (port.share, port.pausing().map_or(0, |pausing| pausing.charged));
        if self.buffers.fits(share, size, charged) {
            return true;
        }
        for i in 0..self.buffers.sharers(share) {
            let other = self.buffers.sharer(share, i);
            self.ports[other as usize].settle(self.now, &self.store);
            self.count(other);
        }
        self.buffers.fits(share, size, charged)
    }

    /// Counts the bytes of its buffer that a port, settled, holds.
    pub(in crate::net) fn count(&mut self, number: u32) {
        let port = &self.ports[number as usize];
        self.buffers.count(port.share, port.held().1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::random::Stream;
    use crate::events::{Event, EventQueue};
    use crate::net::Connection;
    use crate::net::port::Port;
    use crate::packet::tests::packet;
    use crate::params::Params;
    use crate::queue::{Built, Place, Queue, codel, drop_tail, fq};
    use proptest::prelude::*;
    use shallows_units::{Rate, Span, Time};

    /// A switch with `ports` ports of 1 Gb/s that share `size` bytes; if `mixed`, CoDel at every third one and
    /// FQ at another third, so that all ways of working a port are there.
    struct Bench {
        net: Network,
        commons: Commons,
        size: u64,
        alpha: Option<f64>,
    }

    impl Bench {
        fn new(ports: u32, size: u64, alpha: Option<f64>, mixed: bool) -> Self {
            let (rate, wire) = (Rate::gbps(1), Span::us(1));
            let tail =
                Queue::DropTail(drop_tail::Settings { limit: None, ..drop_tail::Settings::defaults() });
            let codel_queue = Queue::Codel(codel::Settings { limit: None, ..codel::Settings::defaults() });
            let fq_queue = Queue::Fq(fq::Settings::defaults());
            let port = |i: u32| {
                let place = Place { rate, random: Stream::new(1, "queue", u64::from(i)) };
                let queue = [&tail, &codel_queue, &fq_queue][if mixed { i as usize % 3 } else { 0 }];
                let service = match queue.build(place) {
                    Built::Arrival(admission) => Service::Arrival(admission),
                    Built::Departure(disc) => Service::departure(disc),
                };
                Port::new(rate, wire, true, service)
            };
            let mut net = Network::new((0..ports).map(port).collect(), EventQueue::new(1));
            net.share(size, alpha, (0..ports).collect());
            let commons = Commons::alone(vec![Connection::default()], ports);
            Bench { net, commons, size, alpha }
        }

        fn advance(&mut self, until: Time) {
            while let Some((at, event)) = self.net.events.pop_before(until + Span::ps(1)) {
                self.net.now = at;
                match event {
                    Event::Wire(port) => _ = self.net.land(port, &self.commons),
                    Event::Port(port) => self.net.depart(port, &self.commons),
                    _ => {}
                }
            }
            self.net.now = until;
        }

        /// Bytes held by each port now.
        fn held(&mut self) -> Vec<u64> {
            let now = self.net.now;
            let Network { ports, store, .. } = &mut self.net;
            let held = |port: &mut Port| {
                port.settle(now, store);
                port.held().1
            };
            ports.iter_mut().map(held).collect()
        }

        /// A packet comes; the buffer takes it exactly if the law allows it at present.
        fn arrive(&mut self, gap: Span, port: u32, size: u16) {
            self.advance(self.net.now + gap);
            let held = self.held();
            let free = self.size - held.iter().sum::<u64>();
            let below = |alpha: f64| (held[port as usize] as f64) < alpha * free as f64;
            let expected = u64::from(size) <= free && self.alpha.is_none_or(below);
            let refused =
                |bench: &Bench| bench.net.ports[port as usize].counts.drops[DropWhy::Buffer as usize];
            let before = refused(self);
            self.net.inject(port, &packet(size), &self.commons);
            assert_eq!(refused(self) - before, u64::from(!expected), "{held:?} of {}", self.size);
            let held: u64 = self.held().iter().sum();
            assert!(held <= self.size, "{held} of {}", self.size);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        /// Old counts decide as fresh ones would, and never more is held than there is.
        #[test]
        fn the_law_holds_at_every_arrival(
            all in prop::collection::vec((0u64..8_000_000, 0u32..4, 40u16..9001), 1..200),
            size in 1u64..60_000,
            alpha in prop::option::of(prop::sample::select(vec![0.125, 0.5, 1.0, 4.0])),
        ) {
            let mut bench = Bench::new(4, size, alpha, true);
            all.iter().for_each(|(gap, port, size)| bench.arrive(Span::ps(*gap), *port, *size));
            bench.advance(Time::MAX);
            prop_assert_eq!(bench.held(), [0; 4]);
            let totals = bench.net.totals;
            prop_assert_eq!(totals.sent, totals.delivered + totals.dropped);
        }
    }

    #[test]
    fn saturated_ports_hold_equal_shares_and_leave_one_free() {
        let (packet, size) = (1000, 1_000_000);
        for alpha in [0.25, 0.5, 1.0, 2.0, 8.0] {
            for n in [1, 2, 3, 8] {
                let mut bench = Bench::new(n, size, Some(alpha), false);
                for round in 0..3000 {
                    // One more for each port than it can send: a packet takes 8 us.
                    let gap = if round < 2000 { Span::ZERO } else { Span::us(4) };
                    (0..n).for_each(|port| {
                        bench.arrive(if port == 0 { gap } else { Span::ZERO }, port, packet)
                    });
                }
                // Choudhury and Hahne 1998, s.III: alpha B / (1 + n alpha), within a packet a port.
                let expected = alpha * size as f64 / (1.0 + f64::from(n) * alpha);
                let slack = f64::from(packet) * (1.0 + alpha * f64::from(n));
                for held in bench.held() {
                    assert!((held as f64 - expected).abs() <= slack, "{alpha} {n}: {held} is not {expected}");
                }
            }
        }
    }

    #[test]
    fn complete_sharing_gives_all_to_who_comes() {
        let mut bench = Bench::new(2, 60_000, None, false);
        (0..100).for_each(|_| bench.arrive(Span::ZERO, 0, 1500));
        bench.arrive(Span::ZERO, 1, 1500);
        assert_eq!(bench.held(), [60_000, 0]);
    }
}
