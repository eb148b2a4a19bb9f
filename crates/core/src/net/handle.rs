//! The network as hosts see it: where they send, and what they ask about their own ports.

use super::{Directory, Network};
use crate::packet::{Extension, Packet};
use shallows_units::Time;
use std::ops::{Deref, DerefMut};

/// A cell's part of the network with the data that all cells read. Hosts send into it.
pub struct Net<'a> {
    /// The cell's part.
    pub network: &'a mut Network,
    /// The data that all cells read.
    pub directory: &'a Directory,
}

impl Net<'_> {
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
