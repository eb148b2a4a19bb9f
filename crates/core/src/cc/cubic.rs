//! CUBIC: the window grows as a cubic of the time since the last congestion.
//!
//! Source: RFC 9438; RFC 8312, which it replaces, where both agree. What RFC 9438 changed is followed
//! and cited: K from the window after the reduction, the bounds of the target, the Reno-friendly
//! window counted in acknowledged bytes, its growth of one segment from the old window on. ECN is
//! answered as loss (s.4.6). The window is in bytes, C in segments a second cubed.
//! Left out: HyStart++ (s.4.10), the answer to spurious congestion (s.4.9), Linux's fixed point.

use super::window::Growth;
use super::{Ack, CcSettings, Congestion, CongestionControl, Cx, EcnUse, FlowInfo, Window};
use shallows_units::{Bytes, Span, Time};

crate::params! {
    /// CUBIC. The window grows as a cubic of the time since the last congestion (RFC 9438).
    pub struct Settings {
        /// Share of the window that congestion leaves.
        beta: f64 = 0.7, "(0, 1)", "RFC 9438 s.4.6";
        /// Steepness C of the cubic, in segments a second cubed.
        c: f64 = 0.4, "(0, ]", "RFC 9438 s.5.1";
        /// Whether a window reduced before it is as large as the last time makes room for others.
        fast_convergence: bool = true, "", "RFC 9438 s.4.7";
        /// Whether the window is at least what Reno would have (Reno-friendly region).
        friendly: bool = true, "", "RFC 9438 s.4.3";
    }
}

impl CcSettings for Settings {}

/// One flow's control.
#[derive(Debug, Clone)]
pub struct Control {
    window: Window,
    /// Where the plateau of the cubic lies, in bytes; 0 when no congestion has set it.
    w_max: f64,
    /// Window just before the last reduction.
    cwnd_prior: f64,
    /// What Reno would have.
    w_est: f64,
    /// Seconds from the start of the epoch to the plateau.
    k: f64,
    /// Start of this stage of congestion avoidance, later by the time that did not count; `MAX`
    /// before there is one.
    epoch: Time,
    /// Last acknowledgement.
    last: Time,
    beta: f64,
    c: f64,
    fast_convergence: bool,
    friendly: bool,
}

impl Control {
    /// Works on loss; ECN is an option of the transport.
    pub const ECN: EcnUse = EcnUse::Off;

    /// At the start of a flow.
    pub fn start(settings: &Settings, _flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Self {
        let Settings { beta, c, fast_convergence, friendly } = *settings;
        Control {
            window: Window::new(cx.rules),
            w_max: 0.0,
            cwnd_prior: 0.0,
            w_est: 0.0,
            k: 0.0,
            epoch: Time::MAX,
            last: cx.now,
            beta,
            c,
            fast_convergence,
            friendly,
        }
    }

    /// A stage of congestion avoidance begins.
    fn begin_epoch(&mut self, cx: &Cx<'_>) {
        let cwnd = self.window.cwnd;
        self.epoch = cx.now;
        self.w_est = cwnd; // RFC 9438 s.4.3
        // RFC 9438 s.4.2 fig. 2: K = cbrt((W_max - cwnd_epoch) / C). s.4.8, s.4.10: after a timeout,
        // and where slow start ended without congestion, K = 0 and W_max is the present window.
        self.w_max = self.w_max.max(cwnd);
        self.k = libm::cbrt((self.w_max - cwnd) / cx.rules.mss as f64 / self.c);
    }

    /// RFC 9438 s.4.2 fig. 1: C (t - K)^3 + W_max, in bytes, `t` seconds after the epoch's start.
    fn w_cubic(&self, t: f64, mss: f64) -> f64 {
        let from_plateau = t - self.k;
        self.c * mss * from_plateau * from_plateau * from_plateau + self.w_max
    }

    /// RFC 9438 s.4.3: segments a round trip that give an AIMD flow with this beta Reno's mean window.
    fn alpha(&self) -> f64 {
        if self.w_est >= self.cwnd_prior { 1.0 } else { 3.0 * (1.0 - self.beta) / (1.0 + self.beta) }
    }

    fn avoid(&mut self, counted: f64, srtt: Span, cx: &Cx<'_>) {
        if self.epoch == Time::MAX {
            self.begin_epoch(cx);
        }
        let (mss, cwnd) = (cx.rules.mss as f64, self.window.cwnd);
        let t = cx.now.saturating_sub(self.epoch).as_secs_f64();
        // RFC 9438 s.4.3 fig. 4: W_est += alpha_cubic x segments_acked / cwnd.
        self.w_est += self.alpha() * mss * counted / cwnd;
        if self.friendly && self.w_cubic(t, mss) < self.w_est {
            self.window.cwnd = self.w_est.max(cwnd); // s.4.3; a bounded window is not taken back
        } else {
            // s.4.2: the target is bounded to [cwnd, 1.5 cwnd]; s.4.4, 4.5: (target - cwnd) / cwnd a
            // segment acknowledged.
            let target = self.w_cubic(t + srtt.as_secs_f64(), mss).clamp(cwnd, 1.5 * cwnd);
            self.window.cwnd += (target - cwnd) / cwnd * counted;
        }
        self.window.cwnd = self.window.cwnd.min(cx.rules.cwnd_max);
    }

    /// RFC 9438 s.4.6, 4.7. A window without room for another segment is in use whole; else what was
    /// in flight counts.
    fn reduce(&mut self, flight: u64, cx: &Cx<'_>) {
        let cwnd = self.window.cwnd;
        let in_use = if (flight + cx.rules.mss) as f64 > cwnd { cwnd } else { flight as f64 };
        self.w_max =
            if self.fast_convergence && cwnd < self.w_max { cwnd * (1.0 + self.beta) / 2.0 } else { cwnd };
        self.cwnd_prior = cwnd;
        self.epoch = Time::MAX;
        self.window.shrink(in_use * self.beta, cx);
    }
}

impl CongestionControl for Control {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, cx: &Cx<'_>) {
        if !ack.may_grow {
            // RFC 9438 s.4.2, 5.8: time in which the window may not grow is not part of t.
            if self.epoch != Time::MAX {
                self.epoch += cx.now - self.last;
            }
        } else if self.window.cwnd < self.window.ssthresh {
            self.window.grow(ack, cx); // s.4.10: slow start of RFC 5681
        } else {
            let counted = match cx.rules.growth {
                Growth::Bytes => ack.acked as f64,
                Growth::Acks => cx.rules.mss as f64,
            };
            self.avoid(counted, ack.srtt, cx);
        }
        self.last = cx.now;
    }

    fn on_congestion(&mut self, why: Congestion, flight: u64, cx: &Cx<'_>) {
        match why {
            Congestion::LossAfterEcn => {} // RFC 3168 s.6.1.2: once a window
            Congestion::Ecn => self.reduce(flight, cx),
            Congestion::Loss => {
                self.reduce(flight, cx);
                self.window.cwnd = self.window.ssthresh; // s.4.6: at least 2 segments
            }
            Congestion::Timeout => {
                // s.4.8: as Reno, with this beta; the next stage has K = 0 and its own window as W_max.
                self.reduce(flight, cx);
                self.window.cwnd = cx.rules.mss as f64;
                self.w_max = 0.0;
            }
        }
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
        if self.epoch != Time::MAX {
            self.epoch += cx.now - self.last; // RFC 9438 s.4.2: idle time is not part of t
        }
        self.last = cx.now;
    }
}

#[cfg(test)]
mod tests {
    use super::super::WindowRules;
    use super::super::window::tests::{ack, rules};
    use super::*;
    use crate::params::Params;

    /// In congestion avoidance after a loss at `segments` segments of 1000 bytes.
    fn after_loss(settings: &Settings, segments: u64, rules: &WindowRules) -> Control {
        let cx = Cx { now: Time::ZERO, rules };
        let mut control = Control::start(settings, &FlowInfo { class: "", bytes: None }, &cx);
        control.window.cwnd = (segments * 1000) as f64;
        control.on_congestion(Congestion::Loss, segments * 1000, &cx);
        control
    }

    /// A window of acknowledgements a round trip for `rounds` rounds; the time after them.
    fn run(control: &mut Control, rtt: Span, rounds: u64, rules: &WindowRules) -> Time {
        let mut now = control.last;
        for _ in 0..rounds {
            let acks = control.cwnd().as_u64() / 1000;
            let start = now;
            for i in 1..=acks {
                now = start + Span::ps(rtt.as_ps() * i / acks);
                control.on_ack(&Ack { srtt: rtt, ..ack(1000) }, &Cx { now, rules });
            }
        }
        now
    }

    fn near(x: f64, y: f64, tolerance: f64) {
        assert!((x - y).abs() <= tolerance, "{x} is not within {tolerance} of {y}");
    }

    #[test]
    fn k_is_the_cube_root_of_the_reduction_over_c() {
        let rules = rules();
        let mut control = after_loss(&Settings::defaults(), 100, &rules);
        assert_eq!(control.window.cwnd, 70_000.0);
        control.begin_epoch(&Cx { now: Time::ZERO, rules: &rules });
        near(control.k, 4.217_163_326_508_746, 1e-12); // (100 x 0.3 / 0.4)^(1/3)
        // The curve starts at the reduced window, is flat at W_max at K, and is there symmetric.
        near(control.w_cubic(0.0, 1000.0), 70_000.0, 1e-6);
        near(control.w_cubic(control.k, 1000.0), 100_000.0, 1e-6);
        near(control.w_cubic(2.0 * control.k, 1000.0), 130_000.0, 1e-6);
        near(control.w_cubic(control.k + 2.0, 1000.0), 103_200.0, 1e-6); // 0.4 x 8 segments above
    }

    #[test]
    fn a_long_path_follows_the_cubic() {
        let rules = rules();
        let settings = Settings { friendly: false, ..Settings::defaults() };
        let mut control = after_loss(&settings, 1000, &rules);
        let rtt = Span::ms(50);
        for _ in 0..20 {
            let now = run(&mut control, rtt, 10, &rules);
            let t = (now - control.epoch).as_secs_f64();
            // A round trip's increments aim at the end of the round: between W(t) and W(t + RTT).
            let (low, high) = (control.w_cubic(t, 1000.0), control.w_cubic(t + 0.05, 1000.0));
            let mid = (low + high) / 2.0;
            near(control.window.cwnd, mid, 0.01 * mid);
        }
    }

    #[test]
    fn a_short_path_grows_as_reno_would() {
        let rules = rules();
        let mut control = after_loss(&Settings::defaults(), 20, &rules);
        // alpha_cubic = 3 x 0.3 / 1.7 = 0.529 segments a round trip; each round acknowledges a little
        // less than the window that it ends with.
        run(&mut control, Span::ms(1), 10, &rules);
        near(control.w_est, 14_000.0 + 10.0 * 529.4, 300.0);
        assert_eq!(control.window.cwnd, control.w_est);
        // From the window of the last congestion on, one segment a round trip (RFC 9438 s.4.3).
        while control.window.cwnd < 20_000.0 {
            run(&mut control, Span::ms(1), 1, &rules);
        }
        let before = control.window.cwnd;
        run(&mut control, Span::ms(1), 1, &rules);
        near(control.window.cwnd - before, 1000.0, 60.0);
    }

    #[test]
    fn w_est_is_counted_in_acknowledged_bytes() {
        let rules = rules();
        for segments_per_ack in [1, 2] {
            let mut control = after_loss(&Settings::defaults(), 100, &rules);
            let cx = Cx { now: Time::ZERO, rules: &rules };
            control.on_ack(&Ack { srtt: Span::us(100), ..ack(1000 * segments_per_ack) }, &cx);
            near(control.w_est, 70_000.0 + 0.9 / 1.7 * 1000.0 * segments_per_ack as f64 / 70.0, 1e-9);
        }
    }

    #[test]
    fn without_the_friendly_region_a_short_path_is_slow() {
        let rules = rules();
        let settings = Settings { friendly: false, ..Settings::defaults() };
        let mut control = after_loss(&settings, 20, &rules);
        run(&mut control, Span::ms(1), 10, &rules);
        near(control.window.cwnd, 14_000.0, 100.0); // 10 ms of 2.5 s to the plateau
    }

    #[test]
    fn a_smaller_window_than_last_time_makes_room() {
        let rules = rules();
        let cx = Cx { now: Time::ZERO, rules: &rules };
        for (fast_convergence, plateau) in [(true, 70_000.0 * 0.85), (false, 70_000.0)] {
            let settings = Settings { fast_convergence, ..Settings::defaults() };
            let mut control = after_loss(&settings, 100, &rules);
            control.on_congestion(Congestion::Loss, 70_000, &cx);
            near(control.w_max, plateau, 1e-6);
            near(control.window.cwnd, 49_000.0, 1e-6);
        }
    }

    #[test]
    fn ecn_is_answered_as_loss_once_a_window() {
        let rules = rules();
        let cx = Cx { now: Time::ZERO, rules: &rules };
        let mut control = after_loss(&Settings::defaults(), 100, &rules);
        control.on_congestion(Congestion::Ecn, 70_000, &cx);
        near(control.window.cwnd, 49_000.0, 1e-6);
        control.on_congestion(Congestion::LossAfterEcn, 49_000, &cx);
        near(control.window.cwnd, 49_000.0, 1e-6);
    }

    #[test]
    fn a_timeout_starts_over_with_its_own_window_as_the_plateau() {
        let rules = rules();
        let cx = Cx { now: Time::ZERO, rules: &rules };
        let mut control = after_loss(&Settings::defaults(), 100, &rules);
        control.on_congestion(Congestion::Timeout, 70_000, &cx);
        assert_eq!(control.window.cwnd, 1000.0);
        near(control.window.ssthresh, 49_000.0, 1e-6);
        control.window.cwnd = 49_000.0;
        control.on_ack(&ack(1000), &cx);
        assert_eq!((control.k, control.w_max), (0.0, 49_000.0));
    }

    #[test]
    fn what_is_not_in_use_does_not_count() {
        let rules = rules();
        let cx = Cx { now: Time::ZERO, rules: &rules };
        let mut control = after_loss(&Settings::defaults(), 100, &rules);
        control.on_congestion(Congestion::Ecn, 30_000, &cx);
        near(control.window.cwnd, 21_000.0, 1e-6);
    }

    #[test]
    fn time_without_growth_is_not_counted() {
        let rules = rules();
        let mut control = after_loss(&Settings::defaults(), 100, &rules);
        control.on_ack(&ack(1000), &Cx { now: Time::ZERO, rules: &rules });
        let later = Cx { now: Time::ZERO + Span::s(5), rules: &rules };
        control.on_ack(&Ack { may_grow: false, ..ack(1000) }, &later);
        assert_eq!(control.epoch, later.now);
        let latest = Cx { now: Time::ZERO + Span::s(9), rules: &rules };
        control.on_idle(&latest);
        assert_eq!(control.epoch, latest.now);
    }

    #[test]
    fn the_target_is_at_most_half_as_much_again() {
        let rules = rules();
        let mut control = after_loss(&Settings::defaults(), 100, &rules);
        control.on_ack(&ack(1000), &Cx { now: Time::ZERO, rules: &rules });
        let before = control.window.cwnd;
        let far = Cx { now: Time::ZERO + Span::s(1000), rules: &rules };
        control.on_ack(&ack(1000), &far);
        near(control.window.cwnd, before + 500.0, 1e-6);
    }
}
