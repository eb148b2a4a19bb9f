//! Traces: rows in time, at intervals or on change.

use super::settings::TraceWhen;
use crate::packet::{DropWhy, Extension, Packet};
use shallows_units::Time;

/// Packets of each class that came to a traced port in the present interval.
#[derive(Debug, Clone, Copy, Default)]
pub struct Arrivals {
    /// Packets that arrived.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Marked here.
    pub marks: u64,
    /// Dropped here.
    pub drops: u64,
}

impl Arrivals {
    /// A packet of `size` bytes has come; `marks` packets of the class were marked for it.
    #[inline]
    pub fn came(&mut self, size: u16, marks: u64) {
        self.packets += 1;
        self.bytes += u64::from(size);
        self.marks += marks;
    }
}

/// A queue at an instant.
#[derive(Debug, Clone, Copy)]
pub struct QueueRow {
    /// When.
    pub time: Time,
    /// Which port.
    pub port: u32,
    /// Packets held.
    pub packets: u64,
    /// Bytes held.
    pub bytes: u64,
}

/// The arrivals of one class at a port in an interval.
#[derive(Debug, Clone, Copy)]
pub struct PortRow {
    /// End of the interval.
    pub time: Time,
    /// Which port.
    pub port: u32,
    /// Which class.
    pub class: u32,
    /// Packets, bytes, marks, drops.
    pub arrivals: Arrivals,
}

/// A flow at an instant.
#[derive(Debug, Clone, Copy)]
pub struct FlowTraceRow {
    /// When.
    pub time: Time,
    /// Which flow.
    pub flow: u32,
    /// Congestion window in bytes, if it bounds anything.
    pub cwnd: Option<f64>,
    /// Slow-start threshold in bytes, if any.
    pub ssthresh: Option<f64>,
    /// Smoothed RTT in ps, if any.
    pub srtt: Option<f64>,
    /// The algorithm's estimate of congestion, if it has one.
    pub alpha: Option<f64>,
    /// Pacing rate in bit/s, if the sender is paced.
    pub pacing: Option<f64>,
    /// Bytes delivered in order.
    pub delivered: u64,
    /// Bytes that arrived, in order or not, each once.
    pub arrived: u64,
    /// Bytes in flight.
    pub flight: u64,
}

/// A packet that left a port.
#[derive(Debug, Clone, Copy)]
pub struct PacketRow {
    /// When its last bit left.
    pub left: Time,
    /// When that bit was at the far end; none: it was still on the wire when the run ended.
    pub landed: Option<Time>,
    /// Which port.
    pub port: u32,
    /// Running number of the connection.
    pub flow: u32,
    /// As it left, marks of this port included.
    pub packet: Packet,
    /// The packet's extension, if it carries one.
    pub extension: Option<Extension>,
    /// An injected fault lost it on the wire.
    pub lost: bool,
}

/// A packet that a port lost before its transmission ended.
#[derive(Debug, Clone, Copy)]
pub struct LossRow {
    /// When.
    pub time: Time,
    /// Which port.
    pub port: u32,
    /// Running number of the connection.
    pub flow: u32,
    /// As it was lost.
    pub packet: Packet,
    /// Why.
    pub why: DropWhy,
}

/// When the next row of an interval trace is due.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    every: Option<shallows_units::Span>,
    /// The next row's time; never reached when the trace is off.
    pub next: Time,
}

impl Clock {
    /// The clock of a trace.
    pub fn new(when: TraceWhen) -> Self {
        match when {
            TraceWhen::Every(span) => Clock { every: Some(span), next: Time::ZERO + span },
            TraceWhen::Off | TraceWhen::Change => Clock { every: None, next: Time::MAX },
        }
    }

    /// Whether a row is due at `now`; if so, the next one is set.
    pub fn due(&mut self, now: Time) -> bool {
        match self.every {
            Some(every) if now >= self.next => {
                self.next += every;
                true
            }
            _ => false,
        }
    }
}
