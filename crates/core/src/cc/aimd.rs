//! AIMD: alpha segments more a round trip, a share less on congestion.
//!
//! Source: Chiu and Jain 1989, s.4; the sources of Shorten, Wirth and Leith 2006, s.II, and of the model of
//! Munir 2012, s.3.4 (w + alpha a round trip, beta w on overload).

use super::{Ack, CcSettings, Congestion, CongestionControl, Cx, EcnUse, FlowInfo};
use shallows_units::Bytes;

crate::params! {
    /// AIMD. A number of segments more a round trip, a share less on congestion.
    pub struct Settings {
        /// Segments that a round trip adds.
        alpha: f64 = 1.0, "(0, 1000]", "RFC 5681 s.3.1";
        /// Share of the window that congestion leaves.
        beta: f64 = 0.5, "(0, 1)", "Chiu and Jain 1989 s.4";
    }
}

impl CcSettings for Settings {
    fn round_gain(&self, _window: f64, mss: f64) -> Option<f64> {
        Some(self.alpha * mss)
    }

    // `alpha` may be many segments a round trip.
    fn opens_freely(&self) -> bool {
        true
    }
}

/// One flow's control; window in bytes.
#[derive(Debug, Clone)]
pub struct Control {
    cwnd: f64,
    alpha: f64,
    beta: f64,
}

impl Control {
    /// Works on loss alone unless a setting asks for ECN.
    pub const ECN: EcnUse = EcnUse::Off;

    /// At the start of a flow.
    pub fn start(settings: &Settings, _flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Self {
        Control { cwnd: cx.rules.initial_window, alpha: settings.alpha, beta: settings.beta }
    }
}

impl CongestionControl for Control {
    fn on_ack(&mut self, ack: &Ack, cx: &Cx<'_>) {
        if ack.may_grow {
            // A window of acknowledged bytes adds alpha segments.
            let grown = self.cwnd + self.alpha * cx.rules.mss as f64 * cx.rules.counted(ack) / self.cwnd;
            self.cwnd = grown.min(cx.rules.cwnd_max);
        }
    }

    fn on_congestion(&mut self, _why: Congestion, _flight: u64, cx: &Cx<'_>) {
        self.cwnd = (self.cwnd * self.beta).max(cx.rules.mss as f64);
    }

    fn on_lost_syn(&mut self, cx: &Cx<'_>) {
        self.cwnd = cx.rules.mss as f64;
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::parts::window::tests::{ack, cx, rules};

    #[test]
    fn a_round_trip_adds_alpha_segments_and_congestion_leaves_beta() {
        let rules = rules();
        let settings = Settings { alpha: 3.0, beta: 0.8 };
        let mut control = Control::start(&settings, &FlowInfo::default(), &cx(&rules));
        assert_eq!(control.cwnd(), Bytes(10_000));
        control.on_ack(&ack(10_000), &cx(&rules));
        assert_eq!(control.cwnd(), Bytes(13_000));
        control.on_ack(&Ack { may_grow: false, ..ack(10_000) }, &cx(&rules));
        control.on_congestion(Congestion::Ecn, 0, &cx(&rules));
        assert_eq!(control.cwnd(), Bytes(10_400));
        (0..100).for_each(|_| control.on_congestion(Congestion::Loss, 0, &cx(&rules)));
        assert_eq!(control.cwnd(), Bytes(1000));
    }
}
