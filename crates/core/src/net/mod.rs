//! The network: ports, wires, and switches that forward. Knows nothing of transports.

pub mod buffer;
pub mod port;
pub mod ring;
mod scheduled;
pub mod wire;

use crate::events::{Event, EventQueue, Source};
use crate::packet::{Extension, Extensions, Flags, Packet};
use crate::port_control::{AnyPortControl, Feedback, PortControl, PortView};
use crate::probe::traces::PacketRow;
use crate::queue::DropWhy;
use crate::routing::choice::{Chooser, Ecmp};
use crate::routing::graph::Graph;
use crate::routing::table::{Entry, Routing};
use buffer::{ALONE, Buffers};
use port::{Admitted, HOST, Port, Service};
use shallows_units::{Span, Time};

/// What the network keeps of each flow.
#[derive(Debug, Clone, Copy)]
pub struct Tag {
    /// Packets of the flow in the network now.
    pub outstanding: u32,
    /// Its class.
    pub class: u16,
    /// Packets of it dropped so far.
    pub drops: u64,
    /// Running number of the connection.
    pub serial: u32,
    /// One beyond the last byte of its stream that is to be sent, as far as is known.
    pub end: u64,
    /// Whose event is brought forward when the last of its packets is dropped: none is left that
    /// would tell the hosts that the flow is over.
    pub owner: Source,
    /// How packets of its sender and of its receiver enter the network.
    pub enters: [Entry; 2],
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
    /// The switches' tables.
    pub routing: Routing,
    /// By node: what chooses among equal next hops.
    choosers: Vec<Chooser>,
    /// What is kept of each flow.
    pub tags: Vec<Tag>,
    /// Extensions of packets under way.
    pub extensions: Extensions,
    /// Books.
    pub totals: Totals,
    buffers: Buffers,
    /// Packets that left the order of a wire, each with the node at its end.
    strays: Vec<(Packet, u32)>,
    stray_sources: Vec<Source>,
    free_strays: Vec<u32>,
    dropped: Vec<(Packet, DropWhy)>,
    /// Packets that left tapped ports.
    pub tapped: Vec<PacketRow>,
}

impl Net {
    /// A network of `ports`, nothing under way. A host stands at the end of each wire; [`Net::forward`] puts
    /// switches there.
    pub fn new(mut ports: Vec<Port>, mut events: EventQueue) -> Self {
        for (i, port) in (0..).zip(&mut ports) {
            port.source = events.add(Event::Wire(i));
        }
        for (i, port) in (0..).zip(&mut ports) {
            if let Service::Departure(scheduled) = &mut port.service {
                scheduled.source = events.add(Event::Port(i));
            }
        }
        for (i, port) in (0..).zip(&mut ports) {
            if let Some(controlled) = &mut port.control {
                controlled.source = events.add(Event::Tick(i));
            }
        }
        Net {
            now: Time::ZERO,
            events,
            ports,
            routing: Routing::new(&Graph::default(), 0),
            choosers: vec![],
            tags: vec![],
            extensions: Extensions::default(),
            totals: Totals::default(),
            buffers: Buffers::default(),
            strays: vec![],
            stray_sources: vec![],
            free_strays: vec![],
            dropped: vec![],
            tapped: vec![],
        }
    }

    /// Switches forward by the tables of `routing` and share equally short paths as `ecmp` says; `seed` is the
    /// run's. Call before any flow.
    pub fn forward(&mut self, routing: Routing, ecmp: Ecmp, seed: u64) {
        for (i, port) in (0..).zip(&mut self.ports) {
            port.leads_to = routing.goes_on(i).unwrap_or(HOST);
        }
        self.choosers = routing.choosers(ecmp, seed);
        self.routing = routing;
    }

    /// A host hands `packet` to its NIC.
    #[inline(never)]
    pub fn send(&mut self, packet: &Packet) {
        let enters = self.tags[packet.flow as usize].enters[usize::from(packet.flags.any(Flags::REVERSE))];
        let port = match enters {
            Entry::Port(port) => port,
            Entry::Any(host) => self.choose(host, packet),
        };
        self.inject(port, packet);
    }

    /// A packet enters the network at `port`.
    #[inline]
    pub fn inject(&mut self, port: u32, packet: &Packet) {
        self.totals.sent += 1;
        self.tags[packet.flow as usize].outstanding += 1;
        self.arrive(port, packet);
    }

    /// The port by which `node` sends on `packet`.
    #[inline(always)]
    fn choose(&mut self, node: u32, packet: &Packet) -> u32 {
        self.routing.next(node, packet.label, &mut self.choosers[node as usize])
    }

    /// The head of `port`'s wire reaches the far end; a packet at its destination is returned.
    #[inline(always)]
    pub fn land(&mut self, port: u32) -> Option<Packet> {
        let here = &mut self.ports[port as usize];
        let (packet, next) = here.land(self.now);
        self.totals.hops += 1;
        let (clear, leads_to) = (here.clear, here.leads_to);
        if let Some(at) = next {
            self.events.schedule(here.source, at);
        }
        if clear { self.onward(leads_to, packet) } else { self.land_watched(port, packet) }
    }

    /// A packet that left the order of its wire reaches the far end.
    pub fn land_stray(&mut self, place: u32) -> Option<Packet> {
        self.free_strays.push(place);
        let (packet, node) = self.strays[place as usize];
        self.onward(node, packet)
    }

    /// `packet` is at `node`: a switch sends it on, a host has it.
    #[inline(always)]
    fn onward(&mut self, node: u32, packet: Packet) -> Option<Packet> {
        if node == HOST {
            self.totals.delivered += 1;
            self.tags[packet.flow as usize].outstanding -= 1;
            return Some(packet);
        }
        let next = self.choose(node, &packet);
        self.arrive(next, &packet);
        None
    }

    #[inline(always)]
    fn arrive(&mut self, number: u32, packet: &Packet) {
        let now = self.now;
        let port = &mut self.ports[number as usize];
        port.counts.packets_in += 1;
        port.counts.bytes_in += u64::from(packet.size);
        if port.plain {
            if let Some(at) = port.accept(packet, packet.flags, now) {
                self.events.schedule(port.source, at);
            }
            return;
        }
        port.settle(now);
        if port.apart {
            return self.arrive_apart(number, packet);
        }
        let class = || self.tags[packet.flow as usize].class as usize;
        match port.admit(packet, now, class) {
            Admitted::Queued(None) => {}
            Admitted::Queued(Some(at)) => self.events.schedule(port.source, at),
            other => self.finish(number, packet, other),
        }
    }

    /// What remains to be done for a packet about which its port has decided.
    #[inline(never)]
    fn finish(&mut self, number: u32, packet: &Packet, admitted: Admitted) {
        match admitted {
            Admitted::Queued(first) => {
                if let Some(at) = first {
                    self.events.schedule(self.ports[number as usize].source, at);
                }
            }
            Admitted::Refused(why) => self.lose(number, *packet, why),
            Admitted::Scheduled => self.arrive_scheduled(number, *packet),
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
        if let Service::Departure(scheduled) = &mut port.service
            && why != DropWhy::Wire
        {
            let class = tag.class as usize;
            scheduled.note(&packet, |record, _, queue| record.dropped(queue, class, &packet, why));
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
    fn land_watched(&mut self, number: u32, mut packet: Packet) -> Option<Packet> {
        let port = &mut self.ports[number as usize];
        let lost = port.faults.as_mut().is_some_and(|faults| faults.lose());
        if !lost && port.faults.as_mut().is_some_and(|faults| faults.marks(&packet)) {
            packet.flags = packet.flags.with(Flags::CE);
            port.counts.marks += 1;
            if let Some(arrivals) = &mut port.arrivals {
                arrivals[self.tags[packet.flow as usize].class as usize].marks += 1;
            }
        }
        if port.tapped {
            self.tap(number, packet, lost);
        }
        if lost {
            self.lose(number, packet, DropWhy::Wire);
            return None;
        }
        let Some(faults) = &mut self.ports[number as usize].faults else {
            return self.come_back(number, packet);
        };
        let twice = faults.random.chance(faults.duplicate);
        let late = faults.random.chance(faults.reorder);
        let extra = faults.random.within(faults.reorder_delay);
        if twice {
            let mut copy = packet;
            copy.extension = self.extensions.copy(packet.extension);
            self.totals.duplicated += 1;
            self.tags[packet.flow as usize].outstanding += 1;
            self.stray(number, copy, self.now);
        }
        if late {
            self.stray(number, packet, self.now + extra);
            return None;
        }
        self.come_back(number, packet)
    }

    /// Records a packet that has come to the far end of the port's wire.
    fn tap(&mut self, number: u32, packet: Packet, lost: bool) {
        self.tapped.push(PacketRow {
            left: self.now - self.ports[number as usize].delay,
            landed: self.now,
            port: number,
            flow: self.tags[packet.flow as usize].serial,
            packet,
            extension: self.extensions.look(packet.extension),
            lost,
        });
    }

    fn stray(&mut self, number: u32, packet: Packet, at: Time) {
        let packet = (packet, self.ports[number as usize].leads_to);
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

    // ---- the switches' half of protocols with explicit feedback ----

    #[inline(never)]
    fn arrive_apart(&mut self, number: u32, packet: &Packet) {
        if self.ports[number as usize].control.as_ref().is_some_and(|c| !c.ticking) {
            self.strike(number, AnyPortControl::on_wake);
        }
        self.consult(number, packet, false, AnyPortControl::on_arrive);
        let shared = self.ports[number as usize].share != ALONE;
        if shared && !self.has_room(number, packet.size) {
            return self.refuse(number, packet);
        }
        let class = || self.tags[packet.flow as usize].class as usize;
        let admitted = self.ports[number as usize].admit(packet, self.now, class);
        self.finish(number, packet, admitted);
        if shared {
            self.count(number);
        }
    }

    /// A packet has come along the wire of `number`: the controller of the port that sends the other way
    /// sees what comes back.
    fn come_back(&mut self, number: u32, packet: Packet) -> Option<Packet> {
        if let Some(opposite) = self.ports[number as usize].opposite
            && packet.flags.any(Flags::REVERSE)
        {
            self.consult(opposite, &packet, true, AnyPortControl::on_return);
        }
        self.onward(self.ports[number as usize].leads_to, packet)
    }

    /// Shows `packet` to the controller of a port, with its header unless that is an echo on its way past
    /// ports that have no part in it.
    fn consult(
        &mut self,
        number: u32,
        packet: &Packet,
        returning: bool,
        hook: fn(&mut AnyPortControl, &Packet, &mut Feedback, &PortView),
    ) {
        let port = &mut self.ports[number as usize];
        let view = port.view(self.now);
        let Some(controlled) = &mut port.control else { return };
        let mine = packet.flags.any(Flags::REVERSE) == returning;
        let header = if mine { self.extensions.feedback(packet.extension) } else { None };
        hook(&mut controlled.control, packet, header.unwrap_or(&mut Feedback::None), &view);
    }

    /// A controller's clock strikes.
    pub fn tick(&mut self, number: u32) {
        self.strike(number, AnyPortControl::on_tick);
    }

    /// The same, or it is wound up.
    fn strike(&mut self, number: u32, hook: fn(&mut AnyPortControl, &PortView) -> Option<Span>) {
        let now = self.now;
        let port = &mut self.ports[number as usize];
        port.settle(now);
        let view = port.view(now);
        let Some(controlled) = &mut port.control else { return };
        let next = hook(&mut controlled.control, &view);
        controlled.ticking = next.is_some();
        if let Some(after) = next {
            self.events.schedule(controlled.source, now + after);
        }
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
