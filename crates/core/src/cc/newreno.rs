//! NewReno: slow start, congestion avoidance, and half the window on congestion.
//!
//! Source: RFC 5681 s.3.1; RFC 3168 s.6.1.2 for ECN. Its recovery (RFC 6582, RFC 6675) is the
//! transport's.

use super::{Ack, CcSettings, Congestion, CongestionControl, Cx, EcnUse, FlowInfo, Window};
use shallows_units::{Bytes, Rate};

crate::params! {
    /// NewReno. One segment more a round trip, half the window on congestion (RFC 5681).
    pub struct Settings {
        /// Share of the window that an ECN-Echo leaves.
        ecn_beta: f64 = 0.5, "(0, 1)", "RFC 3168 s.6.1.2: as a loss; RFC 8511 s.3.1 suggests 0.8";
    }
}

impl CcSettings for Settings {}

/// One flow's control.
#[derive(Debug, Clone)]
pub struct Control {
    window: Window,
    ecn_beta: f64,
}

impl Control {
    /// Works on loss; ECN is an option of the transport.
    pub const ECN: EcnUse = EcnUse::Off;

    /// At the start of a flow.
    pub fn start(settings: &Settings, _flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Self {
        Control { window: Window::new(cx.rules), ecn_beta: settings.ecn_beta }
    }
}

impl CongestionControl for Control {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, cx: &Cx<'_>) {
        self.window.grow(ack, cx);
    }

    fn on_congestion(&mut self, why: Congestion, flight: u64, cx: &Cx<'_>) {
        match why {
            Congestion::Loss => self.window.on_loss(flight, cx),
            Congestion::LossAfterEcn => {} // RFC 3168 s.6.1.2: once a window
            Congestion::Ecn => self.window.shrink(self.window.cwnd * self.ecn_beta, cx),
            Congestion::Timeout => self.window.on_timeout(flight, cx),
        }
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        Bytes(self.window.cwnd as u64)
    }

    fn ssthresh(&self) -> Option<f64> {
        Some(self.window.ssthresh)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    fn on_idle(&mut self, cx: &Cx<'_>) {
        self.window.on_idle(cx);
    }
}
