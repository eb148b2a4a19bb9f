//! The common part of senders of explicit-rate protocols: a rate, and the window that follows from it.

use crate::cc::Cx;
use shallows_units::{Bytes, Rate, Span};

/// A rate that switches assigned.
#[derive(Debug, Clone)]
pub struct RatePaced {
    /// In bit/s; 0 for none yet.
    rate: u64,
    cwnd: u64,
}

impl RatePaced {
    /// No rate yet: one segment asks for it.
    pub fn new(cx: &Cx<'_>) -> Self {
        RatePaced { rate: 0, cwnd: cx.rules.mss }
    }

    /// The switches assign `bps`, headers included, to a flow whose round trip is `srtt`.
    pub fn set(&mut self, bps: f64, srtt: Span, cx: &Cx<'_>) {
        // A path on which no switch has a say leaves the rate unbounded: nothing is known.
        if !bps.is_finite() {
            return;
        }
        self.rate = (bps as u64).max(1);
        // Twice rate x round trip and two segments: pacing limits, and the window only where nothing
        // comes back.
        let path = bps / 8.0 * srtt.as_secs_f64();
        let most = cx.rules.cwnd_max.min((1u64 << 40) as f64);
        self.cwnd = (2.0 * path + 2.0 * cx.rules.mss as f64).min(most) as u64;
    }

    /// The rate is out of date: one segment asks for another.
    pub fn forget(&mut self, cx: &Cx<'_>) {
        *self = RatePaced::new(cx);
    }

    /// The rate, once there is one.
    #[inline]
    pub fn rate(&self) -> Option<Rate> {
        (self.rate > 0).then_some(Rate::bps(self.rate))
    }

    /// Values that a sampler may record.
    pub fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        if self.rate > 0 {
            put("rate_bps", self.rate as f64);
        }
    }

    /// Bytes that may be in flight.
    #[inline]
    pub fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd)
    }
}

/// The part of [`crate::cc::CongestionControl`] that a field `paced` answers.
macro_rules! by_rate {
    () => {
        #[inline]
        fn cwnd(&self) -> shallows_units::Bytes {
            self.paced.cwnd()
        }

        #[inline]
        fn pacing_rate(&self) -> Option<shallows_units::Rate> {
            self.paced.rate()
        }
    };
}
pub(crate) use by_rate;
