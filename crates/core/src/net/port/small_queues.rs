//! The packets of each connection in its host's port, for senders that put no more than so much there: TCP's small queues, and
//! queue pairs, which have one packet there at most.

use crate::net::port::Port;
use crate::net::port::chain::Store;
use crate::net::{Change, Directory, Happened, Network};
use crate::packet::{Flags, Packet};
use crate::routing::table::Entry;
use shallows_units::{Span, Time};

impl Port {
    /// When `flow` has at most `most` bytes in this port's chain; nothing if it has so few.
    /// The newest packets come first: they are in the cache, and the walk ends with the one that is too many.
    fn frees_at(&self, flow: u32, most: u64, store: &Store, now: Time) -> Option<Time> {
        let mut bytes = 0;
        let mine = |packet: &&Packet| packet.flow == flow && !packet.flags.any(Flags::REVERSE);
        let too_many = self.waiting_beyond(most, now, store).filter(mine).find(|packet| {
            bytes += u64::from(packet.size);
            bytes > most
        });
        too_many.map(|packet| packet.at - self.delay)
    }
}

impl Network {
    /// See [`crate::net::Net::held_at_host`].
    pub(in crate::net) fn held_at_host(
        &mut self,
        flow: u32,
        most: u64,
        directory: &Directory,
    ) -> Option<Time> {
        let Entry::Port(port) = directory.connections[flow as usize].enters[0] else { return None };
        let now = self.now;
        let port = &mut self.ports[port as usize];
        let here = port.service.scheduled().and_then(|scheduled| scheduled.sockets.as_ref());
        let here = here.map_or(0, |sockets| sockets.bytes_of(flow));
        // A packet that the discipline holds joins the chain when it is transmitted, and counts until that is over.
        let at =
            if here > most { Some(Time::MAX) } else { port.frees_at(flow, most - here, &self.store, now) };
        if at == Some(Time::MAX)
            && let Some(sockets) =
                port.service.scheduled_mut().and_then(|scheduled| scheduled.sockets.as_mut())
        {
            sockets.let_wait(flow);
        }
        at
    }

    /// See [`crate::net::Net::leaves_host_at`].
    pub(in crate::net) fn leaves_host_at(&mut self, flow: u32, directory: &Directory) -> Time {
        let number = match directory.connections[flow as usize].enters[0] {
            Entry::Port(port) => port,
            // A host has several: the flow has sent the last packet.
            Entry::Any(_) => self.entered,
        };
        self.leaves_port_at(flow, number)
    }

    /// See [`crate::net::Net::leaves_port_at`].
    pub(in crate::net) fn leaves_port_at(&mut self, flow: u32, number: u32) -> Time {
        let port = &mut self.ports[number as usize];
        if let Some(sockets) = port.service.scheduled_mut().and_then(|scheduled| scheduled.sockets.as_mut())
            && sockets.bytes_of(flow) > 0
        {
            sockets.let_wait(flow);
            return Time::MAX;
        }
        // It stands in the chain, or in transmission, behind all that was there.
        port.free_at
    }

    /// See [`crate::net::Net::has_left`].
    pub(in crate::net) fn has_left(&self, flow: u32, number: u32) -> bool {
        let scheduled = self.ports[number as usize].service.scheduled();
        let sockets = scheduled.and_then(|scheduled| scheduled.sockets.as_ref());
        sockets.is_none_or(|sockets| sockets.bytes_of(flow) == 0)
    }

    /// See [`crate::net::Net::clears_at`].
    pub(in crate::net) fn clears_at(&self, flow: u32, directory: &Directory) -> Option<Time> {
        let Entry::Port(port) = directory.connections[flow as usize].enters[0] else { return None };
        let port = &self.ports[port as usize];
        port.service.scheduled().is_none().then_some(port.free_at)
    }

    /// See [`crate::net::Net::sent_by`].
    pub(in crate::net) fn sent_by(&self, flow: u32, directory: &Directory) -> Time {
        let work = match directory.connections[flow as usize].enters[0] {
            Entry::Port(port) => self.ports[port as usize].work(self.now),
            Entry::Any(_) => Span::ZERO,
        };
        self.now + work
    }

    /// `packet` has left the discipline of a host's port, or the port: its sender may wait for that.
    pub(in crate::net) fn leaves_host(&mut self, number: u32, packet: &Packet) {
        if let Some(scheduled) = self.ports[number as usize].service.scheduled_mut()
            && let Some(sockets) = &mut scheduled.sockets
            && sockets.left(packet)
        {
            self.changes.push(Change { flow: packet.flow, what: Happened::Left, at: self.now });
        }
    }
}
