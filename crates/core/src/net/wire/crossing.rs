//! Wires between cells: a packet leaves one cell's port and, a wire's delay later, is in another cell.
//!
//! A cell that has worked until some time hands over the packets of the next window; all have left their queues by
//! then, since a wire between cells is at least as long as a window. Faults of the wire, and its observers, see
//! the packets here, each at the time at which it lands.

use crate::net::port::WireEnd;
use crate::net::port::{Port, Service};
use crate::net::{Directory, Network};
use crate::packet::{Carried, NONE, Packet};
use shallows_units::{Index, Time};

/// A packet on its way to another cell.
#[derive(Debug, Clone, Copy)]
pub struct Parcel {
    /// The packet; `at` is when it lands. Its extension is in the mailbox.
    pub packet: Packet,
    /// The link that it comes along.
    pub link: u32,
    /// The link's end, as in [`crate::net::port::Port::leads_to`].
    pub end: WireEnd,
}

/// The arrivals of a cell from others.
#[derive(Debug, Default)]
pub struct Mailbox {
    /// Packets, those of one link in the order in which they left.
    pub parcels: Vec<Parcel>,
    /// The extensions that some of them carry.
    pub extensions: Carried,
}

/// Gives a cell's mailbox to `put`.
pub trait Mailboxes {
    /// Calls `put` with the mailbox of `cell`, to which something is added.
    fn open(&self, cell: u32, put: impl FnOnce(&mut Mailbox));
}

impl Network {
    /// Hands over the packets that land in other cells before `until`; the cell has worked until now. Returns when the
    /// next of the others lands.
    pub fn hand_over(&mut self, until: Time, mailboxes: &impl Mailboxes, directory: &Directory) -> Time {
        let mut next = Time::MAX;
        let mut i = 0;
        while let Some(number) = self.crossing.get(i).copied() {
            let port = &mut self.ports[number as usize];
            if port.soonest(&self.store) < until {
                port.leave(self.now, &self.store);
                mailboxes
                    .open(port.far_cell, |mailbox| self.hand_over_from(number, until, mailbox, directory));
            }
            let soonest = self.ports[number as usize].soonest(&self.store);
            if soonest == Time::MAX {
                self.crossing.swap_remove(i);
            } else {
                next = next.min(soonest);
                i += 1;
            }
        }
        next
    }

    #[inline(always)]
    fn hand_over_from(&mut self, number: u32, until: Time, mailbox: &mut Mailbox, directory: &Directory) {
        let link = self.links[number as usize];
        loop {
            // Beforehand, so that the packet is copied from its slot to the mailbox and not by way of the stack.
            if mailbox.parcels.len() == mailbox.parcels.capacity() {
                make_room(mailbox);
                continue;
            }
            let port = &mut self.ports[number as usize];
            let Some((slot, packet)) = port.take_before(until, &self.store) else { return };
            self.totals.hops += 1;
            if port.flags.clear_of_packets && !packet.is_pause() {
                let end = port.leads_to;
                let extended = packet.extension != NONE;
                mailbox.parcels.push(Parcel { packet: *packet, link, end });
                if extended {
                    self.carry(mailbox);
                }
                self.store.free(slot);
            } else {
                let packet = self.store.take(slot);
                self.hand_over_with_faults(number, packet, mailbox, directory);
            }
        }
    }

    /// The extension of the newest parcel in `mailbox` goes with it.
    #[inline(never)]
    fn carry(&mut self, mailbox: &mut Mailbox) {
        if let Some(parcel) = mailbox.parcels.last_mut() {
            let place = parcel.packet.extension;
            parcel.packet.extension = self.extensions.hand_over(place, &mut mailbox.extensions);
        }
    }

    #[cold]
    fn hand_over_with_faults(
        &mut self,
        number: u32,
        mut packet: Packet,
        mailbox: &mut Mailbox,
        directory: &Directory,
    ) {
        let (now, link) = (self.now, self.links[number as usize]);
        if let Some(varying) = self.ports[number as usize].varying_mut() {
            varying.lands();
        }
        if self.ends_frame(number, &packet) {
            return self.put(Parcel { packet, link, end: WireEnd::MAC }, mailbox);
        }
        let end = self.ports[number as usize].leads_to;
        self.now = packet.at;
        if let Some(at) = self.pass_wire(number, &mut packet, directory) {
            packet.at = at;
            let (twice, late) = self.disturb(number);
            if twice {
                let packet = self.double(&packet);
                self.put(Parcel { packet, link, end }, mailbox);
            }
            packet.at += late.unwrap_or_default();
            self.put(Parcel { packet, link, end }, mailbox);
        }
        self.now = now;
    }

    fn put(&mut self, parcel: Parcel, mailbox: &mut Mailbox) {
        mailbox.parcels.push(parcel);
        if parcel.packet.extension != NONE {
            self.carry(mailbox);
        }
    }

    /// A packet from another cell lands now; `way` is the answer of [`Network::way`] for it.
    #[inline(always)]
    pub fn land_parcel(&mut self, parcel: &Parcel, way: Index, directory: &Directory) -> Option<Packet> {
        if !directory.backs.is_empty() {
            return self.land_parcel_charged(parcel, way, directory);
        }
        self.land_parcel_here(parcel, way, directory)
    }

    /// Lands a parcel where ports are charged for packets, and pause frames come too.
    #[inline(never)]
    fn land_parcel_charged(&mut self, parcel: &Parcel, way: Index, directory: &Directory) -> Option<Packet> {
        let came_by = directory.backs[parcel.link as usize];
        if parcel.end == WireEnd::MAC {
            self.receive_frame(came_by, &parcel.packet, directory);
            return None;
        }
        self.came_by = came_by;
        let delivered = match (way.get(), self.ports.get_mut(way.at())) {
            // Its discipline holds the packets: no slot on the way there.
            (Some(number), Some(Port { service: Service::Departure(_), flags, counts, .. }))
                if flags.controlled =>
            {
                counts.packets_in += 1;
                counts.bytes_in += u64::from(parcel.packet.size);
                self.show_parcel(parcel, directory);
                self.arrive_controlled(number, &parcel.packet, directory);
                None
            }
            _ => self.land_parcel_here(parcel, way, directory),
        };
        self.came_by = Index::NONE;
        delivered
    }

    #[inline(always)]
    fn land_parcel_here(&mut self, parcel: &Parcel, way: Index, directory: &Directory) -> Option<Packet> {
        self.show_parcel(parcel, directory);
        let slot = self.store.put(&parcel.packet);
        let Some(port) = way.get() else {
            return self.forward(parcel.end, slot, directory);
        };
        self.arrive(port, slot, directory);
        None
    }

    /// A controller at the far end of its cable sees a packet that returns.
    #[inline(always)]
    fn show_parcel(&mut self, parcel: &Parcel, directory: &Directory) {
        if let Some(Some(opposite)) = directory.opposites.get(parcel.link as usize) {
            self.show_return(*opposite, &parcel.packet);
        }
    }
}

// The network asks ahead for the memory that packets will touch. These are hints: nothing here changes a result.
//
// A packet that comes to a port touches three cache lines of the port, one to four of its record, and up to three of packets
// in its chain. In a large network other cells have pushed them out of the caches since the last window. The second step
// below needs the lines that the first one has brought.

impl Network {
    /// The port by which `packet` will go on from `node`, where that can be said before its turn; else none.
    #[inline(always)]
    pub fn way(&mut self, end: WireEnd, packet: &Packet, directory: &Directory) -> Index {
        match end.forwards() {
            Some(node) if !directory.sprays => Index::new(self.choose(node, packet.label, directory)),
            _ => Index::NONE,
        }
    }

    /// A packet will come to port `number` or leave it: asks for the port.
    #[inline(always)]
    pub fn foresee(&self, number: u32) {
        if let Some(port) = self.ports.get(number as usize) {
            port.foresee();
        }
    }

    /// Asks for the packets at which port `number` looks, and for its record.
    #[inline(always)]
    pub fn foresee_queue(&self, number: u32) {
        if let Some(port) = self.ports.get(number as usize) {
            port.foresee_queue(&self.store);
        }
    }

    /// Ports whose wires lead to other cells and hold something.
    pub fn crossing(&self) -> &[u32] {
        &self.crossing
    }

    /// The packet that lands next from a port's wire, which leads to a node of this cell.
    #[inline]
    pub fn next_from(&self, number: u32) -> Option<(&Packet, WireEnd)> {
        let port = &self.ports[number as usize];
        let packet = port.chain.first(&self.store).filter(|packet| !packet.is_pause())?;
        Some((packet, port.leads_to))
    }
}

/// Makes room for one parcel at least.
#[cold]
#[inline(never)]
fn make_room(mailbox: &mut Mailbox) {
    mailbox.parcels.reserve(1);
}
