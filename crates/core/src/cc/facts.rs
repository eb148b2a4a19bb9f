//! The facts that an algorithm is given: acknowledgements, congestion, packets about to leave, its flow and messages.

use super::{PathInfo, WindowRules};
use shallows_units::{Rate, Span, Time};

/// An acknowledgement of new data, as an algorithm sees it.
#[derive(Debug, Clone, Copy)]
pub struct Ack {
    /// Bytes newly acknowledged by number; SACK may have reported some before.
    pub acked: u64,
    /// Bytes that it is the first to report, by number or by SACK.
    pub delivered: u64,
    /// It reports a mark: ECN-Echo, or an AccECN counter that has moved.
    pub ece: bool,
    /// Bytes of `acked` that met CE as far as the report tells: all of them beside ECN-Echo.
    pub marked: u64,
    /// A window of data has been acknowledged since the last such moment (RFC 8257 s.3.3 step 3).
    pub round_ended: bool,
    /// The window may grow: no recovery under way, and the window limits the sender; of marks,
    /// with ECN-Echo only (AccECN leaves them to the algorithm).
    pub may_grow: bool,
    /// Data that was sent before a timeout was still outstanding. Then `acked` says little of the data that left the
    /// network: the receiver may have held much of it for long.
    pub after_timeout: bool,
    /// This acknowledgement's round-trip time, where it gives one.
    pub rtt: Option<Span>,
    /// Smoothed round-trip time (RFC 6298), zero before the first sample.
    pub srtt: Span,
    /// Bytes in flight before it came.
    pub flight: u64,
    /// Bytes of the stream sent so far, each counted once.
    pub sent: u64,
}

/// The delivery rate as an acknowledgement shows it (draft-ietf-ccwg-bbr s.4.1, RS).
#[derive(Debug, Clone, Copy, Default)]
pub struct RateSample {
    /// Bytes delivered in a second; 0 where the interval is too short to tell.
    pub rate: f64,
    /// Bytes delivered over the interval.
    pub delivered: u64,
    /// The interval.
    pub interval: Span,
    /// Bytes that were delivered when the newest packet left; none where nothing is newly delivered.
    pub prior_delivered: Option<u64>,
    /// The newest packet left while the application limited the sender.
    pub app_limited: bool,
    /// Bytes in flight when it had left.
    pub tx_in_flight: u64,
    /// Bytes lost since then.
    pub lost: u64,
    /// Bytes that this acknowledgement is the first to report.
    pub newly_acked: u64,
    /// Bytes delivered so far.
    pub total_delivered: u64,
    /// Bytes in flight now.
    pub in_flight: u64,
    /// Bytes in flight before the acknowledgement came.
    pub prior_in_flight: u64,
    /// Its round-trip time.
    pub rtt: Option<Span>,
    /// The time since the newest packet that it reports left. Where that was sent again, the stamp's if it acknowledges by number
    /// (Linux `tcp_ack_update_rtt`), which counts milliseconds.
    pub newest_rtt: Option<Span>,
    /// How long pacing holds the next packet back.
    pub pacing_wait: Span,
    /// Smoothed round-trip time, zero before the first.
    pub srtt: Span,
    /// The window was full at some time of the last round trip.
    pub cwnd_limited: bool,
    /// Fast recovery is under way.
    pub in_fast_recovery: bool,
    /// Losses are being repaired, after a timeout or not.
    pub repairing: bool,
    /// It reports a mark.
    pub ece: bool,
    /// The connection uses SACK.
    pub sack: bool,
}

/// A packet that is found lost.
#[derive(Debug, Clone, Copy)]
pub struct LostPacket {
    /// Its payload.
    pub bytes: u64,
    /// Bytes lost since it left, itself included.
    pub lost: u64,
    /// Bytes in flight when it had left.
    pub in_flight: u64,
    /// It left while the application limited the sender.
    pub app_limited: bool,
    /// The packet before it was not found lost just before.
    pub begins_range: bool,
    /// Bytes delivered so far.
    pub delivered: u64,
}

/// A packet is about to leave.
#[derive(Debug, Clone, Copy)]
pub struct Transmit {
    /// Bytes in flight before it leaves.
    pub in_flight: u64,
    /// The application limits the sender.
    pub app_limited: bool,
    /// Smoothed round-trip time, zero before the first.
    pub srtt: Span,
}

/// Why the window should shrink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Congestion {
    /// A segment is lost and is being recovered. Once a window.
    Loss,
    /// A segment is lost in a window that has been reduced for ECN already. RFC 3168 s.6.1.2 does not reduce it
    /// again; RFC 8257 s.3.5 does, since its own reduction may have been slight.
    LossAfterEcn,
    /// ECN-Echo. Once a window.
    Ecn,
    /// The retransmission timer expired.
    Timeout,
}

/// The kind of the leaving packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It opens the connection.
    Syn,
    /// Data.
    Data,
    /// Data or none, and nothing after it.
    Fin,
    /// Header only, because [`CongestionControl::request_at`] asked for it.
    Probe,
}

/// A packet about to leave, as an algorithm with a header of its own sees it.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing {
    /// The kind of packet.
    pub kind: Kind,
    /// It, or part of it, was sent before.
    pub again: bool,
    /// Bytes that the application has written and that are not acknowledged.
    pub remaining: u64,
    /// Smoothed round-trip time, zero before the first sample.
    pub srtt: Span,
}

/// A packet came without its payload.
#[derive(Debug, Clone, Copy)]
pub struct Trim {
    /// Its bytes, as windows count them.
    pub bytes: u64,
    /// The time from when it left to the report.
    pub sample: Option<Span>,
    /// Bytes in flight without it.
    pub flight: i64,
    /// It may cause quick adapt: it was trimmed before the last hop, or no receiver grants credit.
    pub counts: bool,
}

/// The flow, as an algorithm may know it when it starts.
#[derive(Debug, Clone)]
pub struct FlowInfo<'a> {
    /// Declared class.
    pub class: &'a str,
    /// Bytes the application has announced, where it has.
    pub bytes: Option<u64>,
    /// Its path.
    pub path: PathInfo,
    /// The run's seed and the connection's number in the run, for a stream of random numbers.
    pub random: (u64, u64),
}

impl Default for FlowInfo<'_> {
    /// Without class and size, at 10 Gb/s through one switch, 100 us there and back: for tests.
    fn default() -> Self {
        let path = PathInfo {
            line_rate: Rate::gbps(10),
            peer_rate: Rate::gbps(10),
            switches: 1,
            base_rtt: Span::us(100),
        };
        FlowInfo { class: "", bytes: None, path, random: (1, 0) }
    }
}

/// A message that the application is about to write, as an algorithm may know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageInfo {
    /// One beyond its last byte in the stream.
    pub end: u64,
    /// When it must have been delivered, if it has a deadline.
    pub due: Option<Time>,
}

/// The facts that an algorithm gets with every call.
#[derive(Debug, Clone, Copy)]
pub struct Cx<'a> {
    /// The present.
    pub now: Time,
    /// Segment size, growth rule, bounds.
    pub rules: &'a WindowRules,
}
