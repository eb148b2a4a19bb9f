//! Wires between cells: a packet leaves one cell's port and, a wire's delay later, is in another cell.
//!
//! A cell that has worked until some time hands over what lands in the next window; all of it has left its queue by
//! then, since a wire between cells is at least as long as a window. Faults of the wire, and who watches it, see
//! the packets here, each at the time at which it lands.

use super::{Commons, Network};
use crate::packet::{Extension, NONE, Packet};
use crate::port_control::{AnyPortControl, PortControl};
use shallows_units::Time;

/// A packet on its way to another cell.
#[derive(Debug, Clone, Copy)]
pub struct Parcel {
    /// The packet; `at` is when it lands. Its extension is in the inbox.
    pub packet: Packet,
    /// The link that it comes along.
    pub link: u32,
}

/// The arrivals of a cell from others.
#[derive(Debug, Default)]
pub struct Inbox {
    /// Packets, those of one link in the order in which they left.
    pub parcels: Vec<Parcel>,
    /// What some of them carry.
    pub extensions: Vec<Extension>,
}

/// Gives a cell's inbox to `put`.
pub trait Post {
    /// Calls `put` with the inbox of `cell`, to which something is added.
    fn open(&self, cell: u32, put: &mut dyn FnMut(&mut Inbox));
}

impl Network {
    /// Hands over what lands in other cells before `until`; the cell has worked until now. Returns when the next of
    /// what remains lands.
    pub fn hand_over(&mut self, until: Time, post: &dyn Post, commons: &Commons) -> Time {
        let mut next = Time::MAX;
        let mut i = 0;
        while let Some(number) = self.crossing.get(i).copied() {
            let port = &mut self.ports[number as usize];
            if port.soonest() < until {
                port.leave(self.now);
                let link = self.links[number as usize];
                post.open(commons.wires[link as usize].cell, &mut |inbox| {
                    self.hand_over_from(number, link, until, inbox, commons);
                });
            }
            let soonest = self.ports[number as usize].soonest();
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
    fn hand_over_from(&mut self, number: u32, link: u32, until: Time, inbox: &mut Inbox, commons: &Commons) {
        while let Some(packet) = self.ports[number as usize].take_before(until) {
            self.totals.hops += 1;
            if self.ports[number as usize].clear {
                self.put(packet, link, inbox);
            } else {
                self.hand_over_watched(number, packet, inbox, commons);
            }
        }
    }

    #[cold]
    fn hand_over_watched(&mut self, number: u32, mut packet: Packet, inbox: &mut Inbox, commons: &Commons) {
        let (now, link) = (self.now, self.links[number as usize]);
        self.now = packet.at;
        if self.pass_wire(number, &mut packet, commons) {
            let (twice, late) = self.disturb(number);
            if twice {
                let extension = self.double(&packet);
                self.put(Packet { extension, ..packet }, link, inbox);
            }
            packet.at += late.unwrap_or_default();
            self.put(packet, link, inbox);
        }
        self.now = now;
    }

    #[inline(always)]
    fn put(&mut self, mut packet: Packet, link: u32, inbox: &mut Inbox) {
        if packet.extension != NONE {
            let extension = self.extensions.take(packet.extension).unwrap_or_default();
            packet.extension = inbox.extensions.len() as u32;
            inbox.extensions.push(extension);
        }
        inbox.parcels.push(Parcel { packet, link });
    }

    /// A packet from another cell lands now.
    #[inline(always)]
    pub fn land_from(&mut self, parcel: &Parcel, commons: &Commons) -> Option<Packet> {
        let wire = &commons.wires[parcel.link as usize];
        if let Some(opposite) = wire.opposite {
            self.consult_return(opposite, &parcel.packet);
        }
        self.onward(wire.node, parcel.packet, commons)
    }

    #[cold]
    fn consult_return(&mut self, opposite: u32, packet: &Packet) {
        if packet.flags.any(crate::packet::Flags::REVERSE) {
            self.consult(opposite, packet, true, AnyPortControl::on_return);
        }
    }
}
