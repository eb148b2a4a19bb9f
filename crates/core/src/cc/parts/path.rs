//! The path of a flow, as an algorithm may know it.

use shallows_units::{Bytes, Rate, Span};

/// A shortest path, as an algorithm may know it that runs in a network card.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathInfo {
    /// Rate of the host's network card.
    pub line_rate: Rate,
    /// Switches on the way.
    pub switches: u32,
    /// The delays there and back, and the transmissions of a full packet.
    pub base_rtt: Span,
}

impl PathInfo {
    /// The path over `links`, rate and delay each, for full packets of so many bytes on the wire.
    pub fn of(links: impl Iterator<Item = (Rate, Span)>, packet: u64) -> Self {
        let mut path = PathInfo { line_rate: Rate::bps(1), switches: 0, base_rtt: Span::ZERO };
        for (number, (rate, delay)) in links.enumerate() {
            if number == 0 {
                path.line_rate = rate;
            } else {
                path.switches += 1;
            }
            path.base_rtt += delay + delay + rate.transmit(Bytes(packet));
        }
        path
    }
}
