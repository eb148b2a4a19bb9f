//! The counts of a network over the whole run.

use super::Network;
use super::port::{Port, Service};
use shallows_units::Span;

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

/// How long packets wait in a host's port: of those whose transmission begins within the run, as far as is known.
#[derive(Debug, Clone, Copy, Default)]
pub struct Waits {
    /// How many.
    pub packets: u64,
    /// In ps, all together.
    pub sum: u128,
}

impl Waits {
    #[inline]
    pub(super) fn add(&mut self, wait: Span) {
        self.packets += 1;
        self.sum += u128::from(wait.as_ps());
    }
}

impl Network {
    /// Packets in queues and on wires now.
    pub fn in_flight(&self) -> u64 {
        let in_ports = |p: &Port| match &p.service {
            Service::Arrival(_) | Service::Lined(_) => u64::from(p.chain.len()) + u64::from(p.behind),
            Service::Departure(s) => p.on_wire() + s.held().0,
        };
        let strays = (self.strays.len() - self.free_strays.len()) as u64;
        self.ports.iter().map(in_ports).sum::<u64>() + strays
    }
}
