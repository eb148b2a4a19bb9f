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
}

impl DropWhy {
    /// How many causes there are.
    pub const COUNT: usize = 5;
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
