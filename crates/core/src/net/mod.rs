//! The network: ports, wires and the paths that packets take. Knows nothing of transports.

pub mod graph;
pub mod packet;
pub mod paths;
pub mod port;
pub mod ring;
pub mod routes;
pub mod select;

use crate::engine::events::{Event, EventQueue, Source};
use crate::queue::{Admission, DropWhy, QueueCx, Verdict};
use packet::{Extension, Extensions, Flags, Packet};
use paths::{END, Paths};
use port::{Port, Scheduled, Service};
use shallows_units::Time;

/// What the network keeps of each flow.
#[derive(Debug, Clone, Copy)]
pub struct Tag {
    /// Packets of the flow in the network now.
    pub outstanding: u32,
    /// Its class.
    pub class: u16,
    /// Packets of it dropped so far.
    pub drops: u64,
    /// Whose event is brought forward when the last of its packets is dropped: none is left that
    /// would tell the hosts that the flow is over.
    pub owner: Source,
}

/// Packets over the whole run; sent + duplicated = delivered + dropped + in flight.
#[derive(Debug, Clone, Copy, Default)]
pub struct Totals {
    /// Handed to a NIC.
    pub sent: u64,
    /// Handed to a host.
    pub delivered: u64,
    /// Dropped, anywhere.
    pub dropped: u64,
    /// Made by an injected fault.
    pub duplicated: u64,
    /// Transmissions that reached the far end of a wire (lost ones included).
    pub hops: u64,
}

/// The network at work.
pub struct Net {
    /// The present.
    pub now: Time,
    /// What will happen.
    pub events: EventQueue,
    /// Every port, by number.
    pub ports: Vec<Port>,
    /// Paths in use.
    pub paths: Paths,
    /// What is kept of each flow.
    pub tags: Vec<Tag>,
    /// Extensions of packets under way.
    pub extensions: Extensions,
    /// Books.
    pub totals: Totals,
    strays: Vec<Packet>,
    stray_sources: Vec<Source>,
    free_strays: Vec<u32>,
    dropped: Vec<(Packet, DropWhy)>,
}

impl Net {
    /// A network of `ports`, nothing under way.
    pub fn new(mut ports: Vec<Port>, paths: Paths, mut events: EventQueue) -> Self {
        for (i, port) in (0..).zip(&mut ports) {
            port.source = events.add(Event::Wire(i));
        }
        for (i, port) in (0..).zip(&mut ports) {
            if let Service::Departure(scheduled) = &mut port.service {
                scheduled.source = events.add(Event::Port(i));
            }
        }
        Net {
            now: Time::ZERO,
            events,
            ports,
            paths,
            tags: vec![],
            extensions: Extensions::default(),
            totals: Totals::default(),
            strays: vec![],
            stray_sources: vec![],
            free_strays: vec![],
            dropped: vec![],
        }
    }

    /// A host hands `packet`, whose `route` is at its first port, to its NIC.
    #[inline(never)]
    pub fn send(&mut self, packet: &Packet) {
        self.totals.sent += 1;
        self.tags[packet.flow as usize].outstanding += 1;
        self.arrive(self.paths.port(packet.route), packet, packet.route);
    }

    /// The head of `port`'s wire reaches the far end; a packet at its destination is returned.
    #[inline(always)]
    pub fn land(&mut self, port: u32) -> Option<Packet> {
        let here = &mut self.ports[port as usize];
        let (packet, next) = here.land(self.now);
        self.totals.hops += 1;
        let faulty = here.faults.is_some();
        if let Some(at) = next {
            self.events.schedule(here.source, at);
        }
        if faulty { self.land_faulty(port, packet) } else { self.onward(packet) }
    }

    /// A packet that left the order of its wire reaches the far end.
    pub fn land_stray(&mut self, place: u32) -> Option<Packet> {
        self.free_strays.push(place);
        self.onward(self.strays[place as usize])
    }

    #[inline(always)]
    fn onward(&mut self, packet: Packet) -> Option<Packet> {
        let route = packet.route + 1;
        let next = self.paths.port(route);
        if next == END {
            self.totals.delivered += 1;
            self.tags[packet.flow as usize].outstanding -= 1;
            return Some(packet);
        }
        self.arrive(next, &packet, route);
        None
    }

    #[inline(always)]
    fn arrive(&mut self, number: u32, packet: &Packet, route: u32) {
        let now = self.now;
        let port = &mut self.ports[number as usize];
        port.counts.packets_in += 1;
        port.counts.bytes_in += u64::from(packet.size);
        if port.plain {
            if let Some(at) = port.accept(packet, route, packet.flags, now) {
                self.events.schedule(port.source, at);
            }
            return;
        }
        port.settle(now);
        let backlog = port.backlog();
        let verdict = match &mut port.service {
            Service::Arrival(admission) => admission.admit(packet, backlog, now),
            Service::Departure(_) => return self.arrive_scheduled(number, Packet { route, ..*packet }),
        };
        let marked = verdict == Verdict::Mark && packet.ecn_capable() && !packet.flags.any(Flags::CE);
        let flags = packet.flags.with_if(Flags::CE, marked);
        port.counts.marks += u64::from(marked);
        if let Some(arrivals) = &mut port.arrivals {
            let mine = &mut arrivals[self.tags[packet.flow as usize].class as usize];
            mine.packets += 1;
            mine.bytes += u64::from(packet.size);
            mine.marks += u64::from(marked);
        }
        if let Verdict::Drop(why) = verdict {
            return self.lose(number, *packet, why);
        }
        if let Some(at) = port.accept(packet, route, flags, now) {
            self.events.schedule(port.source, at);
        }
    }

    /// Takes a dropped packet out of the books.
    #[cold]
    #[inline(never)]
    fn lose(&mut self, number: u32, packet: Packet, why: DropWhy) {
        let port = &mut self.ports[number as usize];
        let tag = &mut self.tags[packet.flow as usize];
        port.counts.drops[why as usize] += 1;
        if why != DropWhy::Wire {
            port.counts.dropped_bytes += u64::from(packet.size);
        }
        if let Some(arrivals) = &mut port.arrivals {
            arrivals[tag.class as usize].drops += 1;
        }
        tag.outstanding -= 1;
        tag.drops += 1;
        if tag.outstanding == 0 {
            self.events.schedule(tag.owner, self.now);
        }
        self.totals.dropped += 1;
        self.extensions.take(packet.extension);
    }

    #[cold]
    #[inline(never)]
    fn land_faulty(&mut self, number: u32, packet: Packet) -> Option<Packet> {
        let Some(faults) = &mut self.ports[number as usize].faults else { return self.onward(packet) };
        if faults.lose() {
            self.lose(number, packet, DropWhy::Wire);
            return None;
        }
        let twice = faults.random.chance(faults.duplicate);
        let late = faults.random.chance(faults.reorder);
        let extra = faults.random.within(faults.reorder_delay);
        if twice {
            let mut copy = packet;
            copy.extension = self.extensions.copy(packet.extension);
            self.totals.duplicated += 1;
            self.tags[packet.flow as usize].outstanding += 1;
            self.stray(copy, self.now);
        }
        if late {
            self.stray(packet, self.now + extra);
            return None;
        }
        self.onward(packet)
    }

    fn stray(&mut self, packet: Packet, at: Time) {
        let place = match self.free_strays.pop() {
            Some(place) => {
                self.strays[place as usize] = packet;
                place
            }
            None => {
                let place = self.strays.len() as u32;
                self.strays.push(packet);
                self.stray_sources.push(self.events.add(Event::Stray(place)));
                place
            }
        };
        self.events.schedule(self.stray_sources[place as usize], at);
    }

    // ---- disciplines that decide at departure: two events a packet ----

    #[inline(never)]
    fn arrive_scheduled(&mut self, number: u32, mut packet: Packet) {
        packet.at = self.now;
        let (class, size) = (self.tags[packet.flow as usize].class as usize, u64::from(packet.size));
        let marked = self.ask(number, |scheduled, cx| scheduled.disc.enqueue(packet, cx));
        let port = &mut self.ports[number as usize];
        if let Some(arrivals) = &mut port.arrivals {
            let mine = &mut arrivals[class];
            mine.packets += 1;
            mine.bytes += size;
            mine.marks += marked;
        }
        self.serve(number);
    }

    /// A port finishes a transmission, or asks its discipline again.
    pub fn depart(&mut self, number: u32) {
        let now = self.now;
        let port = &mut self.ports[number as usize];
        let Service::Departure(scheduled) = &mut port.service else { return };
        if scheduled.serving.is_some() && port.free_at == now {
            let before = scheduled.held();
            let packet = scheduled.serving.take().expect("just seen");
            let after = scheduled.held();
            if let Some(record) = &mut port.record {
                record.stood(before.0, before.1, now);
                record.shrank(after.0, after.1, now);
            }
            if let Some(at) = port.launch(packet, now) {
                self.events.schedule(port.source, at);
            }
        }
        self.serve(number);
    }

    /// Begins the next transmission if the transmitter is free.
    fn serve(&mut self, number: u32) {
        let now = self.now;
        let Service::Departure(scheduled) = &self.ports[number as usize].service else { return };
        if scheduled.serving.is_some() {
            return;
        }
        let mut next = None;
        self.ask(number, |scheduled, cx| {
            next = scheduled.disc.dequeue(cx);
            scheduled.serving = next;
        });
        let port = &mut self.ports[number as usize];
        match next {
            Some(mut packet) => {
                let wait = now - packet.at;
                packet.waited += if port.is_switch { wait.as_ps() } else { 0 };
                if let Some(record) = &mut port.record {
                    record.waited(wait);
                }
                port.free_at = now + port.transmission(packet.size);
                if let Service::Departure(scheduled) = &mut port.service {
                    scheduled.serving = Some(packet);
                    self.events.schedule(scheduled.source, port.free_at);
                }
            }
            None => {
                let Service::Departure(scheduled) = &mut port.service else { return };
                if let Some(at) = scheduled.disc.ready_at() {
                    self.events.schedule(scheduled.source, at);
                }
            }
        }
    }

    /// Calls the discipline, then counts and records what it did; returns the packets it marked.
    fn ask(&mut self, number: u32, call: impl FnOnce(&mut Scheduled, &mut QueueCx<'_>)) -> u64 {
        let now = self.now;
        let port = &mut self.ports[number as usize];
        let Service::Departure(scheduled) = &mut port.service else { return 0 };
        let before = scheduled.held();
        let mut dropped = std::mem::take(&mut self.dropped);
        let serving = scheduled.serving.map_or(0, |p| u64::from(p.size));
        let mut cx = QueueCx::new(now, serving, port.free_at, &mut dropped);
        call(scheduled, &mut cx);
        let marked = cx.marked();
        port.counts.marks += marked;
        let after = scheduled.held();
        if let Some(record) = &mut port.record
            && before != after
        {
            record.stood(before.0, before.1, now);
            if after.0 > before.0 {
                record.grew(after.0, after.1, now);
            } else {
                record.shrank(after.0, after.1, now);
            }
        }
        for (packet, why) in dropped.drain(..) {
            self.lose(number, packet, why);
        }
        self.dropped = dropped;
        marked
    }

    // ---- books ----

    /// Packets in queues and on wires now.
    pub fn in_flight(&self) -> u64 {
        let in_ports = |p: &Port| match &p.service {
            Service::Arrival(_) => u64::from(p.ring.len()),
            Service::Departure(s) => u64::from(p.ring.len()) + s.held().0,
        };
        let strays = (self.strays.len() - self.free_strays.len()) as u64;
        self.ports.iter().map(in_ports).sum::<u64>() + strays
    }

    /// Takes the extension of a delivered packet.
    pub fn extension(&mut self, packet: &Packet) -> Option<Extension> {
        self.extensions.take(packet.extension)
    }
}
