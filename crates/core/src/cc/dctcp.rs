//! DCTCP: the window shrinks in proportion to the share of marked bytes.
//!
//! Source: RFC 8257 s.3.3-3.5; Alizadeh et al. 2010. The receiver's part (s.3.2) is the transport's
//! acknowledgement policy.

use super::{Ack, CcSettings, Congestion, CongestionControl, Cx, EcnUse, FlowInfo, Window};
use shallows_units::Bytes;

crate::params! {
    /// DCTCP. The window shrinks in proportion to the share of marked bytes (RFC 8257).
    pub struct Settings {
        /// Weight of a new window's share of marks in alpha.
        g: f64 = 0.0625, "(0, 1]", "RFC 8257 s.4.2: 1/16";
        /// First alpha.
        initial_alpha: f64 = 1.0, "[0, 1]", "RFC 8257 s.4.2; ns-2 inputs use 0";
        /// Share of alpha by which a marked window shrinks.
        reduction: f64 = 0.5, "(0, 1]", "RFC 8257 s.3.3 step 9: cwnd x (1 - alpha / 2)";
    }
}

impl CcSettings for Settings {}

/// The running estimate alpha of the share of bytes that meet congestion.
#[derive(Debug, Clone)]
pub struct MarkEstimate {
    g: f64,
    alpha: f64,
    acked: u64,
    marked: u64,
}

impl MarkEstimate {
    /// With the weight `g` and the first estimate `alpha`.
    pub fn new(g: f64, alpha: f64) -> Self {
        MarkEstimate { g, alpha, acked: 0, marked: 0 }
    }

    /// RFC 8257 s.3.3 steps 1-8; call on every acknowledgement of new data, before any reduction.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack) {
        self.acked += ack.acked;
        self.marked += if ack.ece { ack.acked } else { 0 };
        if ack.round_ended && self.acked > 0 {
            let share = self.marked as f64 / self.acked as f64;
            // RFC 8257 s.3.3 step 6: alpha = alpha x (1 - g) + g x M.
            self.alpha = self.alpha * (1.0 - self.g) + self.g * share;
            (self.acked, self.marked) = (0, 0);
        }
    }

    /// The estimate, between 0 and 1.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }
}

/// One flow's control.
#[derive(Debug, Clone)]
pub struct Control {
    window: Window,
    marks: MarkEstimate,
    reduction: f64,
}

impl Control {
    /// Needs each mark reported.
    pub const ECN: EcnUse = EcnUse::PerPacket;

    /// At the start of a flow.
    pub fn start(settings: &Settings, _flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Self {
        Control {
            window: Window::new(cx.rules),
            marks: MarkEstimate::new(settings.g, settings.initial_alpha),
            reduction: settings.reduction,
        }
    }
}

/// DCTCP's three reactions, shared with its descendants; `cut` is the share by which a marked window
/// shrinks.
pub fn react(window: &mut Window, why: Congestion, cut: f64, flight: u64, cx: &Cx<'_>) {
    match why {
        // RFC 8257 s.3.3 step 9: cwnd = cwnd x (1 - alpha / 2).
        Congestion::Ecn => window.shrink(window.cwnd * (1.0 - cut), cx),
        // RFC 8257 s.3.5: loss is answered as by conventional TCP, whatever the marks were answered with.
        Congestion::Loss | Congestion::LossAfterEcn => window.on_loss(flight, cx),
        Congestion::Timeout => window.on_timeout(flight, cx),
    }
}

impl CongestionControl for Control {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, cx: &Cx<'_>) {
        self.marks.on_ack(ack);
        self.window.grow(ack, cx);
    }

    fn on_congestion(&mut self, why: Congestion, flight: u64, cx: &Cx<'_>) {
        react(&mut self.window, why, self.reduction * self.marks.alpha(), flight, cx);
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        Bytes(self.window.cwnd as u64)
    }

    fn ssthresh(&self) -> Option<f64> {
        Some(self.window.ssthresh)
    }

    fn on_idle(&mut self, cx: &Cx<'_>) {
        self.window.on_idle(cx);
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("alpha", self.marks.alpha());
    }
}

#[cfg(test)]
mod tests {
    use super::super::window::tests::{ack, cx, rules};
    use super::*;
    use crate::params::Params;

    fn start() -> Control {
        let rules = rules();
        Control::start(&Settings::defaults(), &FlowInfo { class: "", bytes: None }, &cx(&rules))
    }

    /// One window of ten segments, `marked` of them with ECN-Echo.
    fn window(control: &mut Control, marked: u64) {
        let rules = rules();
        for i in 0..10 {
            let ack = Ack { ece: i < marked, round_ended: i == 9, may_grow: false, ..ack(1000) };
            control.on_ack(&ack, &cx(&rules));
        }
    }

    #[test]
    fn alpha_decays_by_one_minus_g_a_window_without_marks() {
        let mut control = start();
        for n in 1..=20 {
            window(&mut control, 0);
            let expected = libm::pow(1.0 - 1.0 / 16.0, f64::from(n));
            assert!((control.marks.alpha() - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn alpha_tends_to_the_share_of_marks() {
        let mut control = start();
        for _ in 0..400 {
            window(&mut control, 3);
        }
        assert!((control.marks.alpha() - 0.3).abs() < 1e-9);
    }

    #[test]
    fn a_marked_window_shrinks_by_half_of_alpha() {
        let rules = rules();
        let mut control = start();
        control.on_congestion(Congestion::Ecn, 10_000, &cx(&rules));
        assert_eq!(control.cwnd(), Bytes(5000)); // alpha = 1 at the start
        for _ in 0..400 {
            window(&mut control, 2);
        }
        control.on_congestion(Congestion::Ecn, 5000, &cx(&rules));
        assert!((control.window.cwnd - 4500.0).abs() < 1e-6);
    }

    #[test]
    fn a_loss_halves_the_window_whatever_alpha() {
        let rules = rules();
        let mut control = start();
        for _ in 0..400 {
            window(&mut control, 0);
        }
        control.on_congestion(Congestion::Loss, 10_000, &cx(&rules));
        assert_eq!(control.cwnd(), Bytes(5000)); // RFC 8257 s.3.5
    }
}
