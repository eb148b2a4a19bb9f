//! What each connection has in its host's port, for senders that put no more than so much there.

use super::port::{Port, Service};
use super::{Change, Commons, Happened, Network};
use crate::packet::{Flags, Packet};
use crate::routing::table::Entry;
use shallows_units::Time;

/// Bytes of each connection's data in a port whose discipline decides at departure, by the connections' numbers. Few have
/// some at once, so that a sorted list beats a tree, which asks for memory with each packet that comes to an idle card.
#[derive(Debug, Default)]
pub struct Sockets(Vec<Socket>);

#[derive(Debug)]
struct Socket {
    flow: u32,
    bytes: u64,
    /// Its sender waits until some of them have left.
    waits: bool,
}

impl Sockets {
    /// Where `flow` stands in the list, or would.
    fn place(&self, flow: u32) -> Result<usize, usize> {
        self.0.binary_search_by_key(&flow, |socket| socket.flow)
    }

    /// `packet` has come.
    pub fn came(&mut self, packet: &Packet) {
        if !packet.flags.any(Flags::REVERSE) {
            let bytes = u64::from(packet.size);
            match self.place(packet.flow) {
                Ok(place) => self.0[place].bytes += bytes,
                Err(place) => self.0.insert(place, Socket { flow: packet.flow, bytes, waits: false }),
            }
        }
    }

    /// `packet` has left, or was dropped; whether its sender waits for that.
    #[must_use]
    pub fn left(&mut self, packet: &Packet) -> bool {
        if packet.flags.any(Flags::REVERSE) {
            return false;
        }
        let place = self.place(packet.flow).expect("what leaves has come");
        let socket = &mut self.0[place];
        socket.bytes -= u64::from(packet.size);
        let waits = std::mem::take(&mut socket.waits);
        if socket.bytes == 0 {
            self.0.remove(place);
        }
        waits
    }

    /// Whether `flow` has more than `most` bytes here; then its sender waits.
    fn holds(&mut self, flow: u32, most: u64) -> bool {
        let Ok(place) = self.place(flow) else { return false };
        let socket = &mut self.0[place];
        socket.waits = socket.bytes > most;
        socket.waits
    }
}

impl Port {
    /// When `flow` has at most `most` bytes in this port, whose discipline decides at arrival; nothing if it has so few.
    /// The newest packets come first: they are in the cache, and the walk ends with the one that is too many.
    fn frees_at(&self, flow: u32, most: u64, now: Time) -> Option<Time> {
        let mut bytes = 0;
        let mine = |packet: &&Packet| packet.flow == flow && !packet.flags.any(Flags::REVERSE);
        let too_many = self.waiting_beyond(most, now).filter(mine).find(|packet| {
            bytes += u64::from(packet.size);
            bytes > most
        });
        too_many.map(|packet| packet.at - self.delay)
    }
}

impl Network {
    /// See [`super::Net::held_at_host`].
    pub(super) fn held_at_host(&mut self, flow: u32, most: u64, commons: &Commons) -> Option<Time> {
        let Entry::Port(link) = commons.connections[flow as usize].enters[0] else { return None };
        let now = self.now;
        let port = &mut self.ports[commons.port_places[link as usize] as usize];
        match &mut port.service {
            Service::Arrival(_) => port.frees_at(flow, most, now),
            Service::Departure(scheduled) => {
                let held = scheduled.sockets.as_mut().is_some_and(|sockets| sockets.holds(flow, most));
                held.then_some(Time::MAX)
            }
        }
    }

    /// `packet` is no longer in the port of a host: its sender may wait for that.
    pub(super) fn leaves_host(&mut self, number: u32, packet: &Packet) {
        if let Service::Departure(scheduled) = &mut self.ports[number as usize].service
            && let Some(sockets) = &mut scheduled.sockets
            && sockets.left(packet)
        {
            self.changes.push(Change { flow: packet.flow, what: Happened::Left, at: self.now });
        }
    }
}
