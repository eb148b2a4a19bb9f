//! The network asks ahead for the memory that packets will touch. These are hints: nothing here changes a result.
//!
//! A packet that comes to a port touches three cache lines of the port, one to four of its record, and up to three of packets
//! in its chain. In a large network other cells have pushed them out of the caches since the last window. The second step
//! below needs the lines that the first one has brought.

use super::pfc::{MAC, PAUSE};
use super::{Commons, Network};
use crate::packet::Packet;

/// No port: the switch decides when a packet's turn comes.
pub const UNDECIDED: u32 = u32::MAX;

impl Network {
    /// The port by which `packet` will go on from `node`, where that can be said before its turn; else [`UNDECIDED`].
    #[inline(always)]
    pub fn way(&mut self, node: u32, packet: &Packet, commons: &Commons) -> u32 {
        if node >= MAC || commons.sprays {
            return UNDECIDED;
        }
        self.choose(node, packet.label, commons)
    }

    /// A packet will come to port `number` or leave it: asks for the port. [`UNDECIDED`] asks for nothing.
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
    pub fn next_from(&self, number: u32) -> Option<(&Packet, u32)> {
        let port = &self.ports[number as usize];
        let packet = port.chain.first(&self.store).filter(|packet| packet.flow != PAUSE)?;
        Some((packet, port.leads_to))
    }
}
