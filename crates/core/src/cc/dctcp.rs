//! DCTCP: the window shrinks in proportion to the share of marked bytes.
//!
//! Source: RFC 8257 s.3.3-3.5; Alizadeh et al. 2010. The receiver's part (s.3.2) is the transport's
//! acknowledgement policy. `on_loss = "alpha"` is Linux's `tcp_dctcp.c` before "tcp: Ensure DCTCP reacts
//! to losses" (5.2, 2019), which asked `dctcp_ssthresh` for loss and marks alike.
//! Left out: Linux's `dctcp_clamp_alpha_on_loss` (off by default: alpha is 1 after a timeout).

use super::{Ack, CcSettings, Congestion, CongestionControl, Cx, EcnUse, FlowInfo, Window};
use crate::cc::parts::window::Arithmetic;

crate::choices! {
    /// The effect of a loss on the window.
    pub enum OnLoss {
        /// It halves, as conventional TCP's.
        Halve = "halve",
        /// It shrinks as for marks, so hardly at all where nothing marks.
        Alpha = "alpha",
    }
}

crate::params! {
    /// DCTCP. The window shrinks in proportion to the share of marked bytes (RFC 8257).
    pub struct Settings {
        /// Weight of a new window's share of marks in alpha.
        g: f64 = 0.0625, "(0, 1]", "RFC 8257 s.4.2: 1/16";
        /// First alpha.
        initial_alpha: f64 = 1.0, "[0, 1]", "RFC 8257 s.4.2; ns-2 inputs use 0";
        /// Share of alpha by which a marked window shrinks.
        reduction: f64 = 0.5, "(0, 1]", "RFC 8257 s.3.3 step 9: cwnd x (1 - alpha / 2)";
        /// Whether a marked window shrinks by whole segments only, and by less than one not at all; so
        /// always where `arithmetic` is Linux's.
        whole_segments: bool = false, "", "the RFC's window is in bytes; Linux `dctcp_ssthresh`: cwnd - (cwnd x alpha >> 11) segments";
        /// The effect of a loss on the window.
        on_loss: OnLoss = "halve", "", "RFC 8257 s.3.5; Linux 3.18 to 5.1: alpha";
    }
    facts {
        elsewhere: &[("linux", "dctcp"), ("ns3", "dctcp")],
        words: crate::params::Words {
            deviations: "A mark takes less of the window than a loss: the share follows the share of marked bytes (RFC 8257 s.3.3), against RFC 3168 s.5.",
            scope: "Controlled networks such as data centres, and not the Internet (RFC 8257 s.1). Switches, senders and receivers come into use together.",
            tunnels: "It needs the mark of each switch. A tunnel that does not copy marks outwards (RFC 6040) hides its queues until they lose packets.",
        },
    }
}

impl CcSettings for Settings {
    // RFC 5681 eq. (3): a segment.
    fn round_gain(&self, _window: f64, mss: f64) -> Option<f64> {
        Some(mss)
    }

    fn resumes(&self) -> bool {
        true
    }
}

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
    pub fn on_ack(&mut self, ack: &Ack, arithmetic: Arithmetic) {
        self.acked += ack.acked;
        self.marked += ack.marked;
        if ack.round_ended && self.acked > 0 {
            self.alpha = arithmetic.mean(self.alpha, self.g, self.marked, self.acked);
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
    whole_segments: bool,
    on_loss: OnLoss,
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
            whole_segments: settings.whole_segments,
            on_loss: settings.on_loss,
        }
    }
}

/// DCTCP's reactions, shared with its descendants; `cut` is the share by which a marked window shrinks.
pub fn react(window: &mut Window, why: Congestion, cut: f64, on_loss: OnLoss, flight: u64, cx: &Cx<'_>) {
    let by_marks = cx.rules.arithmetic.less(window.cwnd, cut, cx.rules.mss);
    match (why, on_loss) {
        // RFC 8257 s.3.3 step 9: cwnd = cwnd x (1 - alpha / 2).
        (Congestion::Ecn, _) => window.shrink(by_marks, cx),
        // RFC 8257 s.3.5: loss is answered as by conventional TCP, whatever the marks were answered with.
        (Congestion::Loss | Congestion::LossAfterEcn, OnLoss::Halve) => window.on_loss(flight, cx),
        (Congestion::Timeout, OnLoss::Halve) => window.on_timeout(flight, cx),
        // Linux 3.18 `dctcp_ssthresh`: of the window, not of the flight; a reduction under way (state CWR)
        // is not followed by another for loss (`tcp_enter_recovery`).
        (Congestion::Loss, OnLoss::Alpha) => window.shrink(by_marks, cx),
        (Congestion::LossAfterEcn, OnLoss::Alpha) => {}
        (Congestion::Timeout, OnLoss::Alpha) => {
            window.shrink(by_marks, cx);
            window.begin_again(cx);
        }
    }
}

impl CongestionControl for Control {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, cx: &Cx<'_>) {
        self.marks.on_ack(ack, cx.rules.arithmetic);
        self.window.grow(ack, cx);
    }

    fn on_congestion(&mut self, why: Congestion, flight: u64, cx: &Cx<'_>) {
        // Linux asks one function for marks and, before 5.2, for losses.
        let as_marks = why == Congestion::Ecn || (why == Congestion::Loss && self.on_loss == OnLoss::Alpha);
        let cut = self.reduction * self.marks.alpha();
        if as_marks && self.whole_segments {
            let target = cx.rules.arithmetic.less_whole_segments(self.window.cwnd, cut, cx.rules.mss);
            return self.window.shrink(target, cx);
        }
        react(&mut self.window, why, cut, self.on_loss, flight, cx);
    }

    crate::cc::parts::window::by_window!();

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("alpha", self.marks.alpha());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::WindowRules;
    use crate::cc::parts::window::tests::{cx, echo, rules};
    use crate::params::Params;
    use shallows_units::Bytes;

    fn start() -> Control {
        let rules = rules();
        Control::start(&Settings::defaults(), &FlowInfo::default(), &cx(&rules))
    }

    /// One window of ten segments, `marked` of them with ECN-Echo.
    fn window(control: &mut Control, marked: u64) {
        let rules = rules();
        for i in 0..10 {
            let ack = Ack { round_ended: i == 9, may_grow: false, ..echo(1000, i < marked) };
            control.on_ack(&ack, &cx(&rules));
        }
    }

    // req: RFC8257 s3.3 SHOULD alpha
    #[test]
    fn alpha_decays_by_one_minus_g_a_window_without_marks() {
        let mut control = start();
        for n in 1..=20 {
            window(&mut control, 0);
            let expected = libm::pow(1.0 - 1.0 / 16.0, f64::from(n));
            assert!((control.marks.alpha() - expected).abs() < 1e-12);
        }
    }

    // req: RFC8257 s3.3 SHOULD alpha
    // req: RFC8257 s3.3 MUST estimator
    #[test]
    fn alpha_tends_to_the_share_of_marks() {
        let mut control = start();
        for _ in 0..400 {
            window(&mut control, 3);
        }
        assert!((control.marks.alpha() - 0.3).abs() < 1e-9);
    }

    // req: RFC8257 s3.3 SHOULD reduce-by-alpha
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

    /// 10 - floor(10 x 0.15), 9 - floor(9 x 0.15), .. until 2 / alpha is not below the window; the same in Linux's
    /// arithmetic: 10 - (10 x 307 >> 11) = 9 with alpha = 307 / 1024.
    #[test]
    fn by_whole_segments_a_reduction_is_rounded_down() {
        let linux = WindowRules { arithmetic: Arithmetic::Linux, ..rules() };
        for (rules, whole_segments, initial_alpha) in [(rules(), true, 0.3), (linux, false, 307.0 / 1024.0)] {
            let settings = Settings { whole_segments, initial_alpha, ..Settings::defaults() };
            let flow = FlowInfo::default();
            let mut control = Control::start(&settings, &flow, &cx(&rules));
            let windows = [10, 9, 8, 7, 6, 6].map(|_| {
                control.on_congestion(Congestion::Ecn, 0, &cx(&rules));
                control.window.cwnd
            });
            assert_eq!(windows, [9000.0, 8000.0, 7000.0, 6000.0, 6000.0, 6000.0]);
        }
    }

    /// Linux `dctcp_update_alpha` by hand, g = 1/16: 1024 falls by 64; with 3 of 10 marked 960 falls by 60 and
    /// rises by floor(3 x 64 / 10) = 19; 15 falls by floor(15 / 16) = 0, and so to 0.
    // req: RFC8257 s4.2 SHOULD alpha-reaches-zero
    #[test]
    fn in_linuxs_arithmetic_alpha_is_rounded_down_and_then_forgotten() {
        let rules = WindowRules { arithmetic: Arithmetic::Linux, ..rules() };
        let mut control = Control::start(&Settings::defaults(), &FlowInfo::default(), &cx(&rules));
        let round = |control: &mut Control, marked: u64| {
            for i in 0..10 {
                let ack = Ack { round_ended: i == 9, may_grow: false, ..echo(1000, i < marked) };
                control.on_ack(&ack, &cx(&rules));
            }
            (control.marks.alpha() * 1024.0) as u64
        };
        assert_eq!(round(&mut control, 0), 960);
        assert_eq!(round(&mut control, 3), 919);
        control.marks.alpha = 16.0 / 1024.0;
        assert_eq!([round(&mut control, 0), round(&mut control, 0)], [15, 0]);
    }

    // req: RFC8257 s3.5 MUST loss
    // req: RFC8257 s3.5 MUST loss-state
    #[test]
    fn a_loss_halves_the_window_whatever_alpha() {
        let rules = rules();
        let mut control = start();
        for _ in 0..400 {
            window(&mut control, 0);
        }
        control.on_congestion(Congestion::Loss, 10_000, &cx(&rules));
        assert_eq!((control.cwnd(), control.ssthresh()), (Bytes(5000), Some(5000.0))); // RFC 8257 s.3.5
    }

    // req: RFC8257 s3.5 MUST timeout
    #[test]
    fn a_timeout_leaves_one_segment_whatever_was_reduced_before() {
        let rules = rules();
        let mut control = start();
        control.on_congestion(Congestion::Ecn, 10_000, &cx(&rules));
        control.on_congestion(Congestion::Timeout, 5000, &cx(&rules));
        assert_eq!(control.cwnd(), Bytes(1000));
    }

    // req: RFC8257 s4.2 MUST alpha-clamped
    #[test]
    fn in_linuxs_arithmetic_alpha_never_exceeds_one() {
        let rules = WindowRules { arithmetic: Arithmetic::Linux, ..rules() };
        for g in [1.0 / 16.0, 1.0 / 3.0, 1.0] {
            let settings = Settings { g, ..Settings::defaults() };
            let mut control = Control::start(&settings, &FlowInfo::default(), &cx(&rules));
            for _ in 0..100 {
                let ack = Ack { round_ended: true, may_grow: false, ..echo(1000, true) };
                control.on_ack(&ack, &cx(&rules));
                assert!((0.9..=1.0).contains(&control.marks.alpha()), "{g}: {}", control.marks.alpha());
            }
        }
    }

    /// Linux 3.18: `dctcp_ssthresh` is max(cwnd - cwnd x alpha / 2, 2), whatever it is asked for.
    #[test]
    fn without_the_fallback_a_loss_shrinks_the_window_by_alpha() {
        let rules = rules();
        let settings = Settings { on_loss: OnLoss::Alpha, initial_alpha: 0.2, ..Settings::defaults() };
        let mut control = Control::start(&settings, &FlowInfo::default(), &cx(&rules));
        control.on_congestion(Congestion::Loss, 4000, &cx(&rules));
        assert_eq!(control.cwnd(), Bytes(9000));
        control.on_congestion(Congestion::LossAfterEcn, 4000, &cx(&rules));
        assert_eq!(control.cwnd(), Bytes(9000)); // reduced in this window already
        control.on_congestion(Congestion::Timeout, 4000, &cx(&rules));
        assert_eq!((control.cwnd(), control.ssthresh()), (Bytes(1000), Some(8100.0)));
        // By whole segments, rounded down, neither is a window of 9 reduced by 0.9.
        let settings = Settings { whole_segments: true, ..settings };
        let mut whole = Control::start(&settings, &FlowInfo::default(), &cx(&rules));
        whole.window.cwnd = 9000.0;
        whole.on_congestion(Congestion::Loss, 9000, &cx(&rules));
        assert_eq!(whole.cwnd(), Bytes(9000));
        // Nothing marks: alpha is 0, and a loss costs nothing. That is the fault of which RFC 8257 s.3.5
        // and the slides of document 003 speak.
        for _ in 0..1000 {
            window(&mut control, 0);
        }
        control.window.cwnd = 10_000.0;
        control.on_congestion(Congestion::Loss, 10_000, &cx(&rules));
        assert_eq!(control.cwnd(), Bytes(10_000));
    }
}
