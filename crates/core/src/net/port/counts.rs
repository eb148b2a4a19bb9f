//! The counts of a port, and those of the network over the whole run.

use crate::queue::DropWhy;
use shallows_units::Span;

/// The traffic of a port since the warm-up; `packets_in` = out + dropped in the queue + held.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)] // the fields that each packet changes come first
pub struct PortCounts {
    /// Packets that arrived, dropped ones included.
    pub packets_in: u64,
    /// Their bytes.
    pub bytes_in: u64,
    /// Packets that were marked CE here.
    pub marks: u64,
    /// Packets dropped, by the common ones of [`DropWhy`].
    pub drops: [u64; DropWhy::COMMON],
    /// Bytes that left the queue otherwise than by the transmitter: dropped, cut off, or sent back.
    pub dropped_bytes: u64,
    /// Time for which the first of these packets had been transmitted when counting began.
    pub early: Span,
    /// Packets that left before counting began, and that were lost on the wire since.
    pub lost_early: u64,
}

/// Packets that a port trimmed since the warm-up.
#[derive(Debug, Clone, Copy, Default)]
pub struct TrimCounts {
    /// Packets whose payload was cut off.
    pub trims: u64,
    /// Headers sent back to their senders, since no room was left for them.
    pub returned: u64,
}

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
    pub(in crate::net) fn add(&mut self, wait: Span) {
        self.packets += 1;
        self.sum += u128::from(wait.as_ps());
    }
}
