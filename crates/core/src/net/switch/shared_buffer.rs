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
//! A lossy priority of a port may have a reserve: it always takes that much, whatever the others hold, and the reserves are taken
//! off the shared memory. Chips have such a guaranteed minimum for each queue, and so has the simulator of HPCC's authors
//! (switch-mmu.cc: 4 KB). The law then looks at what stands beyond the reserves.
//! Left out: pools by priority, alpha by queue inside a port.
//!
//! Each port's share is counted when it last was looked at. Since ports only send in between, that is
//! never less than they hold: where the old count admits a packet, the true one would, and the
//! other ports need not be touched. Only where it refuses are they all brought up to date.

use crate::net::port::{Port, Service};
use crate::net::{Directory, Network};
use crate::packet::Packet;
use crate::queue::DropWhy;
use shallows_units::Index;

/// The law of one switch's memory.
#[derive(Debug, Clone, Copy, Default)]
pub struct Memory {
    /// Bytes that all share.
    pub size: u64,
    /// Dynamic threshold, if there is one.
    pub alpha: Option<f64>,
    /// Bytes that each lossy priority of each port has beside them.
    pub reserve: u64,
}

/// One switch's memory.
#[derive(Debug, Default)]
struct Buffer {
    law: Memory,
    /// Bytes of all ports as last counted.
    total: u64,
    /// Its ports.
    ports: Vec<u32>,
    /// Packets refused.
    refused: u64,
    /// Bytes of the total that stand in headrooms.
    headroom: u64,
    /// Bytes of the total that stand in reserves.
    reserved: u64,
    /// Accounts that are closed: port and priority.
    closed: Vec<(u32, u8)>,
}

impl Buffer {
    fn free(&self) -> u64 {
        (self.law.size + self.headroom + self.reserved).saturating_sub(self.total)
    }
}

/// One port's part of its buffer.
#[derive(Debug)]
struct Share {
    buffer: u32,
    counted: u64,
    /// Bytes that are in reserves.
    reserved: u64,
}

/// The shared memories of all switches.
#[derive(Debug, Default)]
pub struct Buffers {
    buffers: Vec<Buffer>,
    shares: Vec<Share>,
}

impl Buffers {
    /// A buffer for `ports`; the number of the first port's share, the others follow.
    pub fn add(&mut self, law: Memory, ports: Vec<u32>) -> u32 {
        let (first, buffer) = (self.shares.len() as u32, self.buffers.len() as u32);
        self.shares.extend(ports.iter().map(|_| Share { buffer, counted: 0, reserved: 0 }));
        self.buffers.push(Buffer { law, ports, ..Buffer::default() });
        first
    }

    /// The port of `share` holds `bytes` now, `reserved` of them in reserves.
    #[inline]
    pub fn count(&mut self, share: Index, bytes: u64, reserved: u64) {
        let share = &mut self.shares[share.at()];
        let buffer = &mut self.buffers[share.buffer as usize];
        buffer.total = buffer.total - share.counted + bytes;
        buffer.reserved = buffer.reserved - share.reserved + reserved;
        (share.counted, share.reserved) = (bytes, reserved);
    }

    /// Bytes that each lossy priority of the port of `share` has for itself.
    #[inline]
    pub fn reserve(&self, share: Index) -> u64 {
        self.buffers[self.shares[share.at()].buffer as usize].law.reserve
    }

    /// Whether the port of `share`, which holds `charged` lossless bytes and `own` of the packet's priority, may take a lossy packet
    /// of `size` bytes, by the last count.
    #[inline]
    pub fn fits(&self, share: Index, size: u16, (charged, own): (u64, u64)) -> bool {
        let Share { buffer, counted, reserved } = self.shares[share.at()];
        let buffer = &self.buffers[buffer as usize];
        let beyond = u64::from(size).saturating_sub(buffer.law.reserve.saturating_sub(own));
        if beyond == 0 {
            return true;
        }
        let (free, queue) = (buffer.free(), counted - charged - reserved);
        beyond <= free && buffer.law.alpha.is_none_or(|alpha| (queue as f64) < alpha * free as f64)
    }

    fn of(&mut self, share: Index) -> &mut Buffer {
        &mut self.buffers[self.shares[share.at()].buffer as usize]
    }

    /// Bytes of shared memory that are free, where `share` is.
    pub fn free(&self, share: Index) -> u64 {
        self.buffers[self.shares[share.at()].buffer as usize].free()
    }

    /// So many bytes come into headrooms.
    pub fn use_headroom(&mut self, share: Index, bytes: u64) {
        self.of(share).headroom += bytes;
    }

    /// So many bytes leave headrooms.
    pub fn free_headroom(&mut self, share: Index, bytes: u64) {
        self.of(share).headroom -= bytes;
    }

    /// The closed accounts of the switch.
    pub fn closed(&mut self, share: Index) -> &mut Vec<(u32, u8)> {
        &mut self.of(share).closed
    }

    /// All closed accounts: the size of the shared memory, port, and priority.
    pub fn all_closed(&self) -> impl Iterator<Item = (u64, u32, u8)> {
        self.buffers.iter().flat_map(|buffer| {
            buffer.closed.iter().map(|(port, priority)| (buffer.law.size, *port, *priority))
        })
    }

    /// A packet for the port of `share` is refused.
    fn refuse(&mut self, share: Index) {
        self.buffers[self.shares[share.at()].buffer as usize].refused += 1;
    }

    /// A port of each switch whose dynamic threshold refused no packet.
    pub fn never_short(&self) -> impl Iterator<Item = u32> {
        let idle = |buffer: &&Buffer| buffer.law.alpha.is_some() && buffer.refused == 0;
        self.buffers.iter().filter(idle).filter_map(|buffer| buffer.ports.first().copied())
    }

    /// How many ports share the buffer of `share`.
    pub fn sharers(&self, share: Index) -> usize {
        self.buffers[self.shares[share.at()].buffer as usize].ports.len()
    }

    /// The `i`th port that shares the buffer of `share`.
    pub fn sharer(&self, share: Index, i: usize) -> u32 {
        self.buffers[self.shares[share.at()].buffer as usize].ports[i]
    }
}

impl Port {
    /// Bytes held of `priority`; call after [`Port::settle`].
    fn held_of(&self, priority: u8) -> u64 {
        match &self.service {
            Service::Arrival(_) | Service::Lined(_) => self.held().1,
            Service::Departure(scheduled) => scheduled.held_of(priority),
        }
    }

    /// Bytes held that stand in reserves of `reserve` bytes for each lossy priority; call after [`Port::settle`].
    fn held_in_reserves(&self, reserve: u64) -> u64 {
        match &self.service {
            Service::Arrival(_) | Service::Lined(_) => self.held().1.min(reserve),
            Service::Departure(scheduled) => scheduled.held_in_reserves(reserve),
        }
    }
}

impl Network {
    /// The shared memories of its switches.
    pub fn buffers(&self) -> &Buffers {
        &self.buffers
    }

    /// `ports` share a buffer; call before packets are sent.
    pub fn share(&mut self, law: Memory, ports: Vec<u32>) {
        let numbers = ports.clone();
        let first = self.buffers.add(law, ports);
        for (share, number) in (first..).zip(numbers) {
            let port = &mut self.ports[number as usize];
            port.share = Index::new(share);
            port.update_flags();
        }
    }

    /// The buffer has no room for `packet`.
    pub(in crate::net) fn lose_for_buffer(&mut self, number: u32, packet: &Packet, directory: &Directory) {
        self.buffers.refuse(self.ports[number as usize].share);
        self.refuse(number, packet, DropWhy::Buffer, directory);
    }

    /// `packet` is lost as it comes, before the port's discipline sees it.
    pub(in crate::net) fn refuse(
        &mut self,
        number: u32,
        packet: &Packet,
        why: DropWhy,
        directory: &Directory,
    ) {
        let port = &mut self.ports[number as usize];
        let class = directory.class(packet);
        port.note_arrival(class, packet.size, 0);
        if let Service::Departure(scheduled) = &mut port.service {
            scheduled.note(packet, directory, |record, _, queue| record.came(queue, class, packet));
        }
        self.lose(number, *packet, why, directory);
    }

    /// Whether the buffer has room for a lossy `packet` at a port, settled.
    pub(in crate::net) fn has_room(&mut self, number: u32, packet: &Packet, directory: &Directory) -> bool {
        self.count(number);
        let port = &self.ports[number as usize];
        let (share, size) = (port.share, packet.size);
        let own = match self.buffers.reserve(share) {
            0 => 0,
            _ => port.held_of(directory.priority(packet)),
        };
        let held = (port.pausing().map_or(0, |pausing| pausing.charged), own);
        if self.buffers.fits(share, size, held) {
            return true;
        }
        for i in 0..self.buffers.sharers(share) {
            let other = self.buffers.sharer(share, i);
            self.ports[other as usize].settle(self.now, &self.store);
            self.count(other);
        }
        self.buffers.fits(share, size, held)
    }

    /// Counts the bytes of its buffer that a port, settled, holds.
    pub(in crate::net) fn count(&mut self, number: u32) {
        let port = &self.ports[number as usize];
        let reserved = match self.buffers.reserve(port.share) {
            0 => 0,
            reserve => port.held_in_reserves(reserve),
        };
        self.buffers.count(port.share, port.held().1, reserved);
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
        directory: Directory,
        law: Memory,
    }

    impl Bench {
        fn new(ports: u32, law: Memory, mixed: bool) -> Self {
            let (rate, wire) = (Rate::gbps(1), Span::us(1));
            let tail =
                Queue::DropTail(drop_tail::Settings { limit: None, ..drop_tail::Settings::defaults() });
            let codel_queue = Queue::Codel(codel::Settings { limit: None, ..codel::Settings::defaults() });
            let fq_queue = Queue::Fq(fq::Settings::defaults());
            let port = |i: u32| {
                let place = Place { rate, last_hop: false, random: Stream::new(1, "queue", u64::from(i)) };
                let queue = [&tail, &codel_queue, &fq_queue][if mixed { i as usize % 3 } else { 0 }];
                let service = match queue.build(place) {
                    Built::Arrival(admission) => Service::Arrival(admission),
                    Built::Departure(disc) => Service::departure(disc),
                };
                Port::new(rate, wire, true, service)
            };
            let mut net = Network::new((0..ports).map(port).collect(), EventQueue::new(1));
            net.share(law, (0..ports).collect());
            let directory = Directory::alone(vec![Connection::default()], ports);
            Bench { net, directory, law }
        }

        fn advance(&mut self, until: Time) {
            while let Some((at, event)) = self.net.events.pop_before(until + Span::ps(1)) {
                self.net.now = at;
                match event {
                    Event::Wire(port) => _ = self.net.land(port, &self.directory),
                    Event::Port(port) => self.net.depart(port, &self.directory),
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
            let Memory { size: all, alpha, reserve } = self.law;
            let shared = |held: u64| held.saturating_sub(reserve);
            let free = all - held.iter().map(|held| shared(*held)).sum::<u64>();
            let own = held[port as usize];
            let more = shared(own + u64::from(size)) - shared(own);
            let below = |alpha: f64| (shared(own) as f64) < alpha * free as f64;
            let expected = more == 0 || more <= free && alpha.is_none_or(below);
            let refused =
                |bench: &Bench| bench.net.ports[port as usize].counts.drops[DropWhy::Buffer as usize];
            let before = refused(self);
            self.net.inject(port, &packet(size), &self.directory);
            assert_eq!(refused(self) - before, u64::from(!expected), "{held:?} of {:?}", self.law);
            let held = self.held();
            assert!(held.iter().map(|held| shared(*held)).sum::<u64>() <= all, "{held:?} of {:?}", self.law);
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
            reserve in prop::sample::select(vec![0u64, 0, 3000, 20_000]),
        ) {
            let mut bench = Bench::new(4, Memory { size, alpha, reserve }, true);
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
                let mut bench = Bench::new(n, Memory { size, alpha: Some(alpha), reserve: 0 }, false);
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

    /// Another port has taken all that is shared: a port still takes its reserve, and no more.
    #[test]
    fn a_reserve_is_free_whatever_the_others_hold() {
        let law = Memory { size: 60_000, alpha: None, reserve: 10_000 };
        let mut bench = Bench::new(2, law, false);
        (0..100).for_each(|_| bench.arrive(Span::ZERO, 0, 1000));
        assert_eq!(bench.held(), [70_000, 0]);
        (0..20).for_each(|_| bench.arrive(Span::ZERO, 1, 1000));
        assert_eq!(bench.held(), [70_000, 10_000]);
    }

    #[test]
    fn complete_sharing_gives_all_to_who_comes() {
        let mut bench = Bench::new(2, Memory { size: 60_000, ..Memory::default() }, false);
        (0..100).for_each(|_| bench.arrive(Span::ZERO, 0, 1500));
        bench.arrive(Span::ZERO, 1, 1500);
        assert_eq!(bench.held(), [60_000, 0]);
    }
}
