//! How a sender finds losses, with all that it knows of the segments in flight.

use super::config::Config;
use super::rack::Rack;
use super::scoreboard::Scoreboard;
use shallows_units::{Span, Time};

/// How losses are found; chosen once, when a connection starts.
#[derive(Debug)]
pub enum LossDetection {
    /// By what arrived beyond a segment: duplicate acknowledgements (RFC 5681 s.3.2) or SACK (RFC 6675).
    Count(Counting),
    /// By the times of sending (RFC 8985).
    Time(Box<Rack>),
}

/// What detection by counting knows.
#[derive(Debug, Default)]
pub struct Counting {
    /// What SACK tells.
    pub(super) board: Scoreboard,
    /// Duplicate acknowledgements in a row.
    pub(super) dup_acks: u64,
    /// No fast retransmit before this is acknowledged (RFC 6582 s.3.2 step 2, after recoveries and timeouts).
    pub(super) guard: u64,
}

impl LossDetection {
    /// Before anything is sent.
    pub(super) fn new(config: &Config) -> Self {
        if config.rack {
            LossDetection::Time(Box::default())
        } else {
            LossDetection::Count(Counting::default())
        }
    }

    #[inline]
    pub(super) fn is_by_time(&self) -> bool {
        matches!(self, LossDetection::Time(_))
    }

    /// State of detection by time, where that is in force.
    #[inline]
    pub(super) fn rack(&mut self) -> Option<&mut Rack> {
        match self {
            LossDetection::Count(_) => None,
            LossDetection::Time(rack) => Some(rack),
        }
    }

    /// What SACK tells.
    #[inline]
    pub(super) fn board(&self) -> &Scoreboard {
        match self {
            LossDetection::Count(counting) => &counting.board,
            LossDetection::Time(rack) => &rack.board,
        }
    }

    /// Bytes that SACK tells to have arrived.
    pub fn sacked(&self) -> u64 {
        self.board().bytes()
    }

    /// Nothing hints at a loss.
    #[inline]
    pub(super) fn is_quiet(&self) -> bool {
        match self {
            LossDetection::Count(counting) => counting.dup_acks == 0 && counting.board.is_empty(),
            LossDetection::Time(rack) => rack.board.is_empty(),
        }
    }

    /// Everything below `una` is acknowledged; returns how much of it SACK had told before.
    #[inline]
    pub(super) fn on_ack(&mut self, una: u64) -> u64 {
        let board = match self {
            LossDetection::Count(counting) => &mut counting.board,
            LossDetection::Time(rack) => &mut rack.board,
        };
        if board.is_empty() { 0 } else { board.advance(una) }
    }

    /// A round trip was measured.
    #[inline]
    pub(super) fn on_round_trip(&mut self, took: Span) {
        if let LossDetection::Time(rack) = self {
            rack.on_round_trip(took);
        }
    }

    /// New data was sent, `[seq, end)`, with a FIN at its end or not; returns whether its loss may need a probe.
    #[inline]
    pub(super) fn on_send(&mut self, seq: u64, end: u64, fin: bool, now: Time) -> bool {
        match self {
            LossDetection::Count(_) => false,
            LossDetection::Time(rack) => {
                rack.on_send(seq, end, fin, now);
                true
            }
        }
    }
}
