//! How a sender finds losses, and its state for that beside SACK's scoreboard.

use super::config::Config;
use super::rack::Rack;
use shallows_units::{Span, Time};

/// How losses are found; chosen once, when a connection starts.
#[derive(Debug)]
pub enum LossDetection {
    /// By arrivals beyond a segment: duplicate acknowledgements (RFC 5681 s.3.2) or SACK (RFC 6675).
    Count(Counting),
    /// By the times of sending (RFC 8985).
    Time(Box<Rack>),
}

/// State of detection by counting.
#[derive(Debug, Default)]
pub struct Counting {
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

    /// Duplicate acknowledgements in a row, where they count.
    #[inline]
    pub(super) fn dup_acks(&self) -> u64 {
        match self {
            LossDetection::Count(counting) => counting.dup_acks,
            LossDetection::Time(_) => 0,
        }
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
