//! The path of a flow, as an algorithm may know it.

use shallows_units::{Rate, Span};

/// The shortest paths of a flow, as an algorithm may know them that runs in a network card.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathInfo {
    /// Rate of the host's network card.
    pub line_rate: Rate,
    /// Rate of the card at the other end.
    pub peer_rate: Rate,
    /// Switches on the way: equally short paths have as many.
    pub switches: u32,
    /// The delays there and back and the transmissions of a full packet, over the longest of equally short paths.
    pub base_rtt: Span,
}
