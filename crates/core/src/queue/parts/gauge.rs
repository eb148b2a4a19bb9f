//! How a queue is measured: in packets or bytes, with or without the packet in service, before or
//! after the arrival. Papers and switches differ in these fine points, and a threshold means little
//! without them.

use crate::queue::Backlog;
use shallows_units::Size;

crate::choices! {
    /// When the queue is measured.
    pub enum Measure {
        /// Without the arriving packet.
        Before = "before",
        /// With the arriving packet, as it would stand if accepted.
        After = "after",
    }
}

/// A level in packets or bytes; the other unit is unbounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    packets: u64,
    bytes: u64,
}

impl Level {
    /// No level: never exceeded.
    pub const NEVER: Level = Level { packets: u64::MAX, bytes: u64::MAX };

    /// The level `size`.
    pub fn new(size: Option<Size>) -> Level {
        match size {
            None => Level::NEVER,
            Some(Size::Packets(packets)) => Level { packets, ..Level::NEVER },
            Some(Size::Bytes(bytes)) => Level { bytes: bytes.as_u64(), ..Level::NEVER },
        }
    }

    /// More stands than the level allows.
    #[inline]
    pub fn is_below(&self, (packets, bytes): (u64, u64)) -> bool {
        packets > self.packets || bytes > self.bytes
    }

    /// The level is reached or exceeded.
    #[inline]
    pub fn is_reached(&self, (packets, bytes): (u64, u64)) -> bool {
        packets >= self.packets || bytes >= self.bytes
    }
}

/// The way of measuring.
#[derive(Debug, Clone, Copy)]
pub struct Gauge {
    /// As masks, so that reading takes no branch: all ones where the packet being transmitted is
    /// left out, and where the arriving packet counts.
    less_serving: u64,
    plus_arriving: u64,
}

impl Gauge {
    /// Measures with or without the packet in service, before or `after` the arrival.
    pub fn new(in_service: bool, after: bool) -> Self {
        let mask = |yes: bool| if yes { u64::MAX } else { 0 };
        Gauge { less_serving: mask(!in_service), plus_arriving: mask(after) }
    }

    /// It measures with the arriving packet.
    #[inline]
    pub fn after(&self) -> bool {
        self.plus_arriving != 0
    }

    /// Packets and bytes as measured when a packet of `size` bytes meets `backlog`.
    #[inline(always)]
    pub fn read(&self, backlog: Backlog, size: u16) -> (u64, u64) {
        let serving = backlog.serving & self.less_serving;
        let packets = backlog.packets - u64::from(serving > 0) + (self.plus_arriving & 1);
        let bytes = backlog.bytes - serving + (self.plus_arriving & u64::from(size));
        (packets, bytes)
    }
}
