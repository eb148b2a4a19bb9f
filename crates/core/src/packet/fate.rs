//! A packet's fate at a port: the waiting queue, and the discipline's verdict.

use shallows_units::Time;

/// The content of a queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets, the one being transmitted included.
    pub packets: u64,
    /// Bytes, the packet being transmitted included whole.
    pub bytes: u64,
    /// Bytes of the packet being transmitted; 0 when the transmitter is idle.
    pub serving: u64,
    /// When the transmitter will have sent all that stands, or since when it has been idle.
    pub free_at: Time,
}

/// Why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropWhy {
    /// The queue's limit.
    Full,
    /// The discipline's law.
    Aqm,
    /// Removed after it had been accepted, for another's sake.
    Evicted,
    /// Lost on the wire (an injected fault).
    Wire,
    /// Refused by the buffer that the ports of the switch share.
    Buffer,
    /// At a port whose link is down: it waited there, was being transmitted, or came.
    Dead,
    /// On a wire as its link went down.
    Cut,
    /// Not lost: a header for which there was no room, on its way back to its sender. No port counts it as a drop.
    Returned,
}

impl DropWhy {
    /// How many causes of a loss there are.
    pub const COUNT: usize = 7;
    /// How many of them, the first ones, any port may have. The next two follow from links that change.
    pub const COMMON: usize = 5;

    /// The packet had left its port.
    pub fn on_wire(self) -> bool {
        matches!(self, DropWhy::Wire | DropWhy::Cut)
    }
}

/// The fate of an arriving packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Queued as it is.
    Pass,
    /// Queued, and marked CE if it is ECN-capable.
    Mark,
    /// Dropped.
    Drop(DropWhy),
}
