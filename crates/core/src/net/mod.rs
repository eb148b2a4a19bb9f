//! The network: ports, wires, and switches that forward. Knows nothing of transports.
//!
//! The way of a packet, with the functions that handle it. One event a hop where the discipline decides at arrival:
//!
//! ```text
//! a host: send ── enter ── certain to be taken: Port::pass ───────────────────┐
//!                   └── enter_slow ──┐                                        │
//!                                    v                                        │
//! at a port:                       arrive                                     │
//!   takes all and records nothing ── Port::accept ────────────────────────────┤
//!   decides at arrival ──────────── Port::admit ──────────────────────────────┤ the packet is in the port's chain:
//!   arrive_slow                                                               │ queue and wire
//!     line before the discipline ── arrive_lined ── room in line ─────────────┤
//!     decides at departure ──────── arrive_scheduled                          │
//!                                     └── serve ── event Port: depart ────────┤
//!     controlled ────────────────── arrive_controlled, then as its discipline │
//!       its link is down ────────── arrive_down                               │
//!   no: lose                                                                  │
//!                                                                             │
//! at a wire's end:                 event Wire: land <─────────────────────────┤
//!   clear ──────────────────────────── forward                                │
//!   flow control, faults, observers ── land_checked ── land_with_faults       │
//!     delayed or doubled ────────────── event Stray: land_stray               │
//!   in another cell: hand_over ── mailbox ── land_parcel <────────────────────┘
//!
//! forward: a host has the packet, a switch chooses the next port and the packet comes to it (arrive)
//! ```

mod handle;
pub mod pfc;
pub mod port;
mod shared;
mod switch;
pub mod wire;

use crate::events::{Event, EventQueue, Source};
use crate::packet::{Extensions, Flags, Packet};
use crate::probe::traces::{LossRow, PacketRow};
use crate::queue::DropWhy;
use crate::queue::parts::fifo::Fifo;
use crate::routing::choice::{Chooser, Sight};
use crate::routing::table::{Entry, Routing};
pub use handle::Net;
use port::chain::Store;
pub use port::counts::{Totals, Waits};
use port::{Port, Scheduled, Service, WireEnd};
use shallows_units::{Index, Span, Time};
pub use shared::{Change, Connection, Directory, Happened, STAMPED};
use std::collections::BTreeMap;
use switch::shared_buffer::Buffers;
pub use switch::shared_buffer::Memory;
pub use wire::crossing::{Mailbox, Mailboxes, Parcel};

/// The network at work, or the part of it that is one cell.
pub struct Network {
    /// The present.
    pub now: Time,
    /// A future event.
    pub events: EventQueue,
    /// Every port, by number.
    pub ports: Vec<Port>,
    /// The packets in the ports' chains.
    pub store: Store,
    /// By port: its link.
    pub links: Vec<u32>,
    /// Ports whose wires lead to other cells and hold something.
    crossing: Vec<u32>,
    /// By a node's place in this cell: the chooser among equal next hops.
    choosers: Vec<Chooser>,
    /// Packets of flows that were lost or doubled since the hosts last looked.
    pub changes: Vec<Change>,
    /// Those of them whose senders are in other cells: these learn of them at the end of a window.
    pub abroad: Vec<Change>,
    /// Extensions of packets under way.
    pub extensions: Extensions,
    /// Books.
    pub totals: Totals,
    /// The end of the run.
    pub until: Time,
    /// By port: waits in those of hosts.
    pub host_waits: Vec<Waits>,
    /// Packets that may still enter before the engine counts them.
    pub room: u64,
    /// The port by which the last packet of a host with several has entered.
    entered: u32,
    /// The port that sends back along the wire by which the packet at hand has come, where flow control needs it.
    came_by: Index,
    buffers: Buffers,
    /// Packets that left the order of a wire, each with the end of its wire and the port that sends back.
    strays: Vec<(Packet, WireEnd, Index)>,
    stray_sources: Vec<Source>,
    free_strays: Vec<u32>,
    dropped: Vec<(Packet, DropWhy)>,
    /// By port of a switch: packets to senders (acknowledgements, notifications, requests) that found no room, and how many of
    /// them in the shared memory.
    pub lost_answers: BTreeMap<u32, (u64, u64)>,
    /// Packets that left tapped ports.
    pub tapped: Vec<PacketRow>,
    /// Packets that ports lost, if the run is to be audited.
    pub losses: Option<Vec<LossRow>>,
}

/// The view of a node that chooses: its own ports.
struct Own<'a> {
    now: Time,
    ports: &'a [Port],
    directory: &'a Directory,
}

impl Sight for Own<'_> {
    #[inline]
    fn now(&self) -> Time {
        self.now
    }
    fn work(&self, link: u32) -> Span {
        self.ports[self.directory.port_places[link as usize] as usize].work(self.now)
    }
}

impl Network {
    /// A network of `ports`, nothing under way. A host stands at the end of each wire; [`Network::set_routes`] puts
    /// switches there. The wires of ports that cross lead to other cells.
    pub fn new(mut ports: Vec<Port>, mut events: EventQueue) -> Self {
        for (i, port) in (0..).zip(&mut ports).filter(|(_, port)| !port.flags.crosses) {
            port.end = events.add_wire(i);
        }
        for (i, port) in (0..).zip(&mut ports) {
            if let Some(scheduled) = port.service.scheduled_mut() {
                scheduled.source = events.add(Event::Port(i));
            }
        }
        for (i, port) in (0..).zip(&mut ports) {
            if let Some(controlled) = &mut port.control {
                controlled.source = events.add(Event::Tick(i));
            }
        }
        for (i, port) in (0..).zip(&mut ports) {
            if let Some(pausing) = port.pausing_mut() {
                pausing.source = events.add(Event::Pause(i));
            }
        }
        ports.iter_mut().for_each(Port::update_flags);
        let host_waits = vec![Waits::default(); ports.len()];
        Network {
            now: Time::ZERO,
            events,
            ports,
            store: Store::default(),
            host_waits,
            links: vec![],
            crossing: vec![],
            choosers: vec![],
            changes: vec![],
            abroad: vec![],
            extensions: Extensions::default(),
            totals: Totals::default(),
            until: Time::MAX,
            room: u64::MAX,
            entered: 0,
            came_by: Index::NONE,
            buffers: Buffers::default(),
            strays: vec![],
            stray_sources: vec![],
            free_strays: vec![],
            dropped: vec![],
            lost_answers: BTreeMap::new(),
            tapped: vec![],
            losses: None,
        }
    }

    /// The ports stand at `links`; switches forward by the tables of `routing` and share equally short paths by
    /// `choosers`. Call before any flow.
    pub fn set_routes(&mut self, links: Vec<u32>, choosers: Vec<Chooser>, routing: &Routing) {
        for (link, port) in links.iter().zip(&mut self.ports) {
            port.leads_to = routing.goes_on(*link).map_or(WireEnd::HOST, WireEnd::node);
        }
        (self.links, self.choosers) = (links, choosers);
    }

    /// Replaces every discipline that decides at arrival by its two-event twin; call before packets are sent.
    pub fn schedule_departures(&mut self) {
        for (i, port) in (0..).zip(&mut self.ports) {
            if let Service::Arrival(admission) = &port.service {
                let mut scheduled = Scheduled::new(Box::new(Fifo::new(admission.clone(), port.rate)));
                scheduled.source = self.events.add(Event::Port(i));
                port.service = Service::Departure(Box::new(scheduled));
                port.update_flags();
            }
        }
    }

    /// The first packet of a wire lands at `at`.
    fn expect(&mut self, number: u32, at: Time) {
        let port = &self.ports[number as usize];
        Self::expect_of(port, number, at, &mut self.events, &mut self.crossing);
    }

    /// Expects the event of `port`, whose number is `number`.
    #[inline(always)]
    fn expect_of(port: &Port, number: u32, at: Time, events: &mut EventQueue, crossing: &mut Vec<u32>) {
        if port.flags.crosses {
            crossing.push(number);
        } else {
            events.expect(port.end, at);
        }
    }

    /// A host hands `packet` to its NIC.
    #[inline(always)]
    pub fn send(&mut self, packet: &Packet, directory: &Directory) {
        let slot = self.store.put(packet);
        self.send_slot(slot, directory);
    }

    /// A host hands the packet in `slot` to its NIC.
    #[inline(never)]
    fn send_slot(&mut self, slot: u32, directory: &Directory) {
        let packet = self.store.at(slot);
        let reverse = usize::from(packet.flags.any(Flags::REVERSE));
        let port = match directory.connections[packet.flow as usize].enters[reverse] {
            Entry::Port(port) => port,
            Entry::Any(host) => {
                self.entered = self.choose(host, packet.label, directory);
                self.entered
            }
        };
        self.enter(port, slot, directory);
    }

    /// `packet` enters the network at `port`.
    pub fn inject(&mut self, port: u32, packet: &Packet, directory: &Directory) {
        let slot = self.store.put(packet);
        self.enter(port, slot, directory);
    }

    /// The packet in `slot` enters the network at `port`.
    #[inline(always)]
    fn enter(&mut self, port: u32, slot: u32, directory: &Directory) {
        self.totals.sent += 1;
        self.room = self.room.saturating_sub(1);
        let here = &mut self.ports[port as usize];
        let Some((wait, lands)) = here.pass(slot, &mut self.store, self.now) else {
            return self.enter_slow(port, slot, directory);
        };
        if let Some(at) = lands {
            Self::expect_of(here, port, at, &mut self.events, &mut self.crossing);
        }
        if wait == Span::ZERO || self.now + wait < self.until {
            self.host_waits[port as usize].add(wait);
        }
    }

    /// The packet in `slot` enters the network at `port`, which may refuse it or records it.
    #[inline(never)]
    fn enter_slow(&mut self, port: u32, slot: u32, directory: &Directory) {
        let before = self.ports[port as usize].free_at;
        self.arrive(port, slot, directory);
        let here = &self.ports[port as usize];
        let admitted = here.free_at != before && before < self.until;
        if admitted && !matches!(here.service, Service::Departure(_)) {
            self.host_waits[port as usize].add(before.saturating_sub(self.now));
        }
    }

    /// The port by which `node` sends on a packet with `label`.
    #[inline(always)]
    fn choose(&mut self, node: u32, label: u32, directory: &Directory) -> u32 {
        let place = directory.node_places[node as usize];
        let (now, ports, chooser) = (self.now, &self.ports, &mut self.choosers[place as usize]);
        let link = directory.routing.next(node, label, chooser, || Own { now, ports, directory });
        directory.port_places[link as usize]
    }

    /// The head of `port`'s wire reaches the far end; a packet at its destination is returned.
    #[inline(always)]
    pub fn land(&mut self, port: u32, directory: &Directory) -> Option<Packet> {
        let here = &mut self.ports[port as usize];
        let (slot, next) = here.land(&self.store, self.now);
        self.totals.hops += 1;
        let (clear, leads_to) = (here.flags.clear, here.leads_to);
        match next {
            Some(at) => self.events.expect(here.end, at),
            None => self.events.expect_nothing(here.end),
        }
        if clear { self.forward(leads_to, slot, directory) } else { self.land_checked(port, slot, directory) }
    }

    /// A packet that left the order of its wire reaches the far end.
    #[cold]
    #[inline(never)]
    pub fn land_stray(&mut self, place: u32, directory: &Directory) -> Option<Packet> {
        self.free_strays.push(place);
        let (packet, node, came_by) = self.strays[place as usize];
        let slot = self.store.put(&packet);
        self.forward_from(came_by, node, slot, directory)
    }

    /// The packet in `slot` is at `node`: a switch sends it on, a host has it.
    #[inline(always)]
    fn forward(&mut self, end: WireEnd, slot: u32, directory: &Directory) -> Option<Packet> {
        let Some(node) = end.forwards() else {
            self.totals.delivered += 1;
            return Some(self.store.take(slot));
        };
        let next = self.choose(node, self.store.at(slot).label, directory);
        self.arrive(next, slot, directory);
        None
    }

    /// The packet in `slot` comes to port `number`. Compiled into its callers: the first two ways are those of nearly all packets.
    #[inline(always)]
    fn arrive(&mut self, number: u32, slot: u32, directory: &Directory) {
        let port = &mut self.ports[number as usize];
        port.counts.packets_in += 1;
        port.counts.bytes_in += u64::from(self.store.at(slot).size);
        if port.flags.plain {
            if let Some(at) = port.accept(slot, &mut self.store, self.now) {
                Self::expect_of(port, number, at, &mut self.events, &mut self.crossing);
            }
            return;
        }
        if !port.flags.at_arrival {
            return self.arrive_slow(number, slot, directory);
        }
        let serving = port.settle(self.now, &self.store);
        match port.admit(slot, serving, &mut self.store, self.now, |p| directory.class(p)) {
            Ok(Some(at)) => Self::expect_of(port, number, at, &mut self.events, &mut self.crossing),
            Ok(None) => {}
            Err(why) => self.lose_arrival(number, slot, why, directory),
        }
    }

    /// The packet in `slot` comes to a port whose discipline does not decide at arrival, or not alone.
    #[inline(never)]
    fn arrive_slow(&mut self, number: u32, slot: u32, directory: &Directory) {
        let port = &mut self.ports[number as usize];
        port.settle(self.now, &self.store);
        // A departure at the instant of an arrival comes first where the discipline decides at arrival, as without a controller. Its event,
        // which is still to come, finds nothing to do. Where one chooses among queues, the order of such events stays that of all others.
        if let Service::Departure(scheduled) = &port.service
            && port.free_at == self.now
            && !scheduled.is_free()
            && scheduled.disc.decides_at_arrival()
        {
            self.depart(number, directory);
        }
        let port = &mut self.ports[number as usize];
        if port.flags.controlled {
            let packet = self.store.take(slot);
            self.arrive_controlled(number, &packet, directory);
        } else if let Service::Lined(_) = port.service {
            self.arrive_lined(number, slot, directory);
        } else {
            let packet = self.store.take(slot);
            self.arrive_scheduled(number, packet, directory);
        }
    }

    /// The packet in `slot`, which has come to port `number`, is dropped.
    #[cold]
    #[inline(never)]
    fn lose_arrival(&mut self, number: u32, slot: u32, why: DropWhy, directory: &Directory) {
        let packet = self.store.take(slot);
        self.lose(number, packet, why, directory);
    }

    /// Takes a dropped packet out of the books.
    #[cold]
    #[inline(never)]
    fn lose(&mut self, number: u32, packet: Packet, why: DropWhy, directory: &Directory) {
        if let Service::Departure(scheduled) = &mut self.ports[number as usize].service
            && !why.on_wire()
        {
            let class = directory.class(&packet);
            scheduled.note(&packet, directory, |record, _, queue| record.dropped(queue, class, &packet, why));
        }
        self.lose_outside(number, packet, why, directory);
    }

    /// Records the loss of a packet that the port's discipline does not hold.
    fn lose_outside(&mut self, number: u32, packet: Packet, why: DropWhy, directory: &Directory) {
        let port = &mut self.ports[number as usize];
        if why.on_wire() && port.left_early(self.now) {
            port.counts.lost_early += 1;
        } else {
            port.drop_for(why);
            port.counts.dropped_bytes += if why.on_wire() { 0 } else { u64::from(packet.size) };
        }
        if let Some(losses) = self.losses.as_mut().filter(|_| !why.on_wire()) {
            losses.push(LossRow {
                time: self.now,
                port: self.links[number as usize],
                flow: directory.connections[packet.flow as usize].serial,
                packet,
                why,
            });
        }
        let cut = matches!(why, DropWhy::Dead | DropWhy::Cut) || why.on_wire();
        let credit = packet.is_credit();
        if port.flags.switch && !cut && !credit && packet.flags.any(Flags::REVERSE) {
            let (all, shared) = self.lost_answers.entry(number).or_default();
            (*all, *shared) = (*all + 1, *shared + u64::from(why == DropWhy::Buffer));
        }
        if let Some(arrivals) = &mut port.arrivals {
            arrivals[directory.class(&packet)].drops += 1;
        }
        let what = if credit { Happened::LostCredit } else { Happened::Lost };
        self.changes.push(Change { flow: packet.flow, what, at: self.now });
        self.totals.dropped += 1;
        self.extensions.take(packet.extension);
    }
}

impl Network {
    // ---- the whole network ----

    /// Packets in queues and on wires now.
    pub fn in_flight(&self) -> u64 {
        let in_ports = |p: &Port| match &p.service {
            Service::Arrival(_) | Service::Lined(_) => u64::from(p.chain.len()) + u64::from(p.behind),
            Service::Departure(s) => p.on_wire() + s.held().0,
        };
        let strays = (self.strays.len() - self.free_strays.len()) as u64;
        self.ports.iter().map(in_ports).sum::<u64>() + strays
    }

    /// The warm-up ends: the statistics of all ports begin.
    pub fn restart(&mut self, now: Time) {
        self.ports.iter_mut().for_each(|port| port.restart(now, &self.store));
        self.host_waits.fill(Waits::default());
        self.lost_answers.clear();
    }

    /// Brings the records of all ports up to `now`.
    pub fn sync(&mut self, now: Time) {
        self.ports.iter_mut().for_each(|port| port.sync(now, &self.store));
    }
}
