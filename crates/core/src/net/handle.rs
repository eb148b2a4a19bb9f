//! The network as hosts see it: where they send, and what they ask about their own ports.

use super::{Directory, Network};
use crate::packet::{Extension, Packet};
use crate::routing::graph::NodeId;
use crate::routing::table::Entry;
use shallows_units::{Rate, Span, Time};
use std::ops::{Deref, DerefMut};

/// A cell's part of the network with the data that all cells read. Hosts send into it.
pub struct Net<'a> {
    /// The cell's part.
    pub network: &'a mut Network,
    /// The data that all cells read.
    pub directory: &'a Directory,
}

impl<'a> Net<'a> {
    /// A host hands `packet` to its NIC.
    #[inline(always)]
    pub fn send(&mut self, packet: &Packet) {
        self.network.send(packet, self.directory);
    }

    /// If `flow` has more than `most` bytes in its host's port: when it has so few, [`Time::MAX`] where the port will say.
    pub fn held_at_host(&mut self, flow: u32, most: u64) -> Option<Time> {
        self.network.held_at_host(flow, most, self.directory)
    }

    /// When the packet that `flow` has just sent will have left its host's port, so that one more may enter:
    /// [`Time::MAX`] where the port will say.
    pub fn leaves_host_at(&mut self, flow: u32) -> Time {
        self.network.leaves_host_at(flow, self.directory)
    }

    /// When the port of `flow`'s host will have sent all that it holds. Nothing where a port does not know at arrival when a
    /// packet leaves, or where the host has several.
    pub fn clears_at(&self, flow: u32) -> Option<Time> {
        self.network.clears_at(flow, self.directory)
    }

    /// When the packet that `flow` has just sent will have left its host's port, if no other overtakes it.
    pub fn sent_by(&self, flow: u32) -> Time {
        self.network.sent_by(flow, self.directory)
    }

    /// The links by which packets of `flow` with `label` may enter the network, there or in `reverse`, if their host has several ports.
    pub fn ports(&self, flow: u32, reverse: bool, label: u32) -> Option<&'a [u32]> {
        let connection = &self.directory.connections[flow as usize];
        match connection.enters[usize::from(reverse)] {
            Entry::Port(_) => None,
            Entry::Any(host) => {
                let ways = self.directory.routing.ways_of(NodeId(host), label);
                (!ways.is_empty()).then_some(ways)
            }
        }
    }

    /// All links of the host that sends on `flow`, there or in `reverse`, if it has several.
    pub fn all_ports(&self, flow: u32, reverse: bool) -> &'a [u32] {
        match self.directory.connections[flow as usize].enters[usize::from(reverse)] {
            Entry::Port(_) => &[],
            Entry::Any(host) => self.directory.routing.links_of(NodeId(host)),
        }
    }

    /// A host hands `packet` to its port at `link`.
    pub fn send_by(&mut self, link: u32, packet: &Packet) {
        let port = self.directory.port_places[link as usize];
        self.network.inject(port, packet, self.directory);
    }

    /// When the packet that `flow` has just sent by the port at `link` will have left it, so that one more may enter:
    /// [`Time::MAX`] where the port will say.
    pub fn leaves_port_at(&mut self, flow: u32, link: u32) -> Time {
        self.network.leaves_port_at(flow, self.directory.port_places[link as usize])
    }

    /// Whether the port at `link` holds no packet of `flow`, of one that says when they leave.
    pub fn has_left(&self, flow: u32, link: u32) -> bool {
        self.network.has_left(flow, self.directory.port_places[link as usize])
    }

    /// Whether the port at `link`, one of a host, is down.
    pub fn is_down(&self, link: u32) -> bool {
        self.network.ports[self.directory.port_places[link as usize] as usize].flags.down
    }

    /// How long the port at `link` takes to send all that it holds, and its rate.
    pub fn work_at(&self, link: u32) -> (Span, Rate) {
        let port = &self.network.ports[self.directory.port_places[link as usize] as usize];
        (port.work(self.network.now), port.rate)
    }

    /// Takes the extension of a delivered packet.
    pub fn extension(&mut self, packet: &Packet) -> Option<Extension> {
        self.network.extensions.take(packet.extension)
    }
}

impl Deref for Net<'_> {
    type Target = Network;
    #[inline(always)]
    fn deref(&self) -> &Network {
        self.network
    }
}

impl DerefMut for Net<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Network {
        self.network
    }
}
