//! Swift: a window that keeps the round-trip time at a target, which grows with hops and shrinks with the window.
//!
//! Source: Kumar et al. 2020, "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter"
//! (SIGCOMM), whose text was not at hand: the laws stand here as the public htsim (csg, swift.cpp, 841d9e7) has them, and
//! so do all constants, which are its authors' guesses and not Google's. Two of its errors are not taken over: the
//! root of a window below one segment, and the first decrease.
//! The delay is the acknowledgement's round-trip time, from the NIC's queue on, on the transport's clock.
//! Hops are those of the path at the connection's opening; Swift takes them from each packet's time to live. A note says so where
//! a failure makes a path longer.
//! Left out: the window of the endpoint's delay, since hosts here take no time over a packet; Swift's own repair
//! of losses, for which the transport's stands.

use super::{Ack, CcSettings, Congestion, CongestionControl, Cx, EcnUse, FlowInfo};
use shallows_units::{Bytes, Rate, Span, Time};

crate::params! {
    /// Swift. A window that keeps the round-trip time at a target (Kumar 2020).
    pub struct Settings {
        /// Delay of the target for a path without switches and a large window; "none": 20 us, or the round trip of the
        /// flow's empty path where that is longer, which no window can undercut.
        base_target: Option<Span> = "none", "(0s, 1s]", "htsim swift.cpp: 20 us, in a fabric of 12 us";
        /// Delay that each switch on the path adds to the target.
        hop_target: Span = "3.05us", "[0s, 1s]", "htsim swift.cpp: base / 6.55";
        /// Most that a small window adds to the target.
        scaling_range: Span = "100us", "[0s, 1s]", "htsim swift.cpp: five times the base";
        /// Window in segments below which the whole range is added.
        scaling_min: f64 = 0.1, "(0, 1000]", "htsim swift.cpp: 0.1";
        /// Window in segments above which nothing is added.
        scaling_max: f64 = 100.0, "(0, 100000]", "htsim swift.cpp: 100";
        /// Segments that a window grows by in a round trip.
        ai: f64 = 1.0, "(0, 1000]", "htsim swift.cpp: 1";
        /// Share of the excess delay by which a window shrinks.
        beta: f64 = 0.8, "(0, 1]", "htsim swift.cpp: 0.8";
        /// Most that a window shrinks by at once.
        max_decrease: f64 = 0.5, "(0, 1)", "htsim swift.cpp: max_mdf, 0.5";
        /// Least window in segments.
        min_window: f64 = 0.001, "(0, 1]", "notes on Kumar 2020: 0.001";
        /// Timeouts in a row after which the window is the least one.
        reset_after: u64 = 5, "[1, 100]", "htsim swift.cpp: RETX_RESET, 5";
    }
}

impl CcSettings for Settings {
    fn path_settings(&self) -> Vec<&'static str> {
        let base = self.base_target.is_none().then_some("base_target");
        base.into_iter().chain((self.hop_target > Span::ZERO).then_some("hop_target")).collect()
    }

    fn check(&self, path: &str, faults: &mut crate::params::Faults) {
        if self.scaling_max <= self.scaling_min {
            let rule = crate::params::Code::Conflict.rule("must be above scaling_min");
            faults.add(&format!("{path}.scaling_max"), rule, &self.scaling_max.into());
        }
    }
}

/// One flow's control.
#[derive(Debug, Clone)]
pub struct Control {
    /// In segments, fractions of one too.
    window: f64,
    most: f64,
    mss: f64,
    /// Target without the window's part, its range, and the two numbers of the part, in seconds.
    target: f64,
    range: f64,
    slope: f64,
    offset: f64,
    ai: f32,
    beta: f32,
    max_decrease: f32,
    least: f32,
    srtt: Span,
    /// When the window last shrank.
    shrunk: Option<Time>,
    timeouts: u16,
    reset_after: u16,
}

impl Control {
    /// Delay says all.
    pub const ECN: EcnUse = EcnUse::Off;

    /// At the start of a flow.
    pub fn start(settings: &Settings, flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Self {
        let s = settings;
        let base = s.base_target.unwrap_or(flow.path.base_rtt.max(Span::us(20)));
        let range = s.scaling_range.as_secs_f64();
        let slope = range / (1.0 / s.scaling_min.sqrt() - 1.0 / s.scaling_max.sqrt());
        let mss = cx.rules.mss as f64;
        Control {
            window: cx.rules.initial_window / mss,
            most: cx.rules.cwnd_max.min((1u64 << 40) as f64) / mss,
            mss,
            target: base.as_secs_f64() + f64::from(flow.path.switches) * s.hop_target.as_secs_f64(),
            range,
            slope,
            offset: slope / s.scaling_max.sqrt(),
            ai: s.ai as f32,
            beta: s.beta as f32,
            max_decrease: s.max_decrease as f32,
            least: s.min_window as f32,
            srtt: Span::ZERO,
            shrunk: None,
            timeouts: 0,
            reset_after: s.reset_after as u16,
        }
    }

    /// The delay that the window is kept at, in seconds: base, hops, and alpha / sqrt(cwnd) - alpha / sqrt(fs_max) between 0
    /// and the range.
    fn target(&self) -> f64 {
        self.target + (self.slope / self.window.sqrt() - self.offset).clamp(0.0, self.range)
    }

    /// Whether a round trip has passed since the window shrank.
    fn may_shrink(&self, now: Time) -> bool {
        self.shrunk.is_none_or(|at| now >= at + self.srtt)
    }

    fn shrink(&mut self, factor: f64, now: Time) {
        let factor = factor.max(1.0 - f64::from(self.max_decrease));
        self.window = (self.window * factor).max(f64::from(self.least));
        self.shrunk = Some(now);
    }
}

impl CongestionControl for Control {
    fn on_ack(&mut self, ack: &Ack, cx: &Cx<'_>) {
        self.srtt = ack.srtt;
        self.timeouts = 0;
        let Some(delay) = ack.rtt.map(|rtt| rtt.as_secs_f64()) else { return };
        let target = self.target();
        if delay < target {
            // A round trip's acknowledgements add ai: those of a window of several segments share it.
            let acked = ack.acked as f64 / self.mss;
            self.window += f64::from(self.ai) * acked / self.window.max(1.0);
            self.window = self.window.min(self.most);
        } else if self.may_shrink(cx.now) {
            self.shrink(1.0 - f64::from(self.beta) * (delay - target) / delay, cx.now);
        }
    }

    fn on_congestion(&mut self, why: Congestion, _flight: u64, cx: &Cx<'_>) {
        match why {
            Congestion::Ecn => {}
            Congestion::Loss | Congestion::LossAfterEcn if self.may_shrink(cx.now) => {
                self.shrink(0.0, cx.now)
            }
            Congestion::Loss | Congestion::LossAfterEcn => {}
            Congestion::Timeout => {
                self.timeouts = self.timeouts.saturating_add(1);
                if self.timeouts >= self.reset_after {
                    self.window = f64::from(self.least);
                } else if self.may_shrink(cx.now) {
                    self.shrink(0.0, cx.now);
                }
            }
        }
    }

    fn on_lost_syn(&mut self, _cx: &Cx<'_>) {
        self.window = 1.0;
    }

    fn cwnd(&self) -> Bytes {
        Bytes((self.window.max(1.0) * self.mss) as u64)
    }

    /// A window below one segment is a packet each rtt / cwnd.
    fn pacing_rate(&self) -> Option<Rate> {
        let paced = self.window < 1.0 && self.srtt > Span::ZERO;
        paced.then(|| Rate::bps(((8.0 * self.mss * self.window / self.srtt.as_secs_f64()) as u64).max(1)))
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("window_segments", self.window);
        put("target_s", self.target());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::parts::window::tests::{ack, rules};
    use crate::params::Params;

    fn started(window: f64) -> Control {
        let rules = rules();
        let cx = Cx { now: Time::ZERO, rules: &rules };
        let settings = Settings { base_target: Some(Span::us(20)), ..Settings::defaults() };
        let mut control = Control::start(&settings, &FlowInfo::default(), &cx);
        control.window = window;
        control
    }

    fn acknowledge(control: &mut Control, now_us: u64, rtt_us: u64) {
        let rules = rules();
        let cx = Cx { now: Time::ZERO + Span::us(now_us), rules: &rules };
        let rtt = Span::us(rtt_us);
        control.on_ack(&Ack { rtt: Some(rtt), srtt: rtt, ..ack(1000) }, &cx);
    }

    /// 20 us and one hop of 3.05 us; at 100 segments nothing more, at 0.1 the whole 100 us, between them by the root.
    #[test]
    fn the_target_falls_with_the_root_of_the_window() {
        for (window, want) in [(100.0, 23.05), (1e4, 23.05), (0.1, 123.05), (0.01, 123.05)] {
            assert!((started(window).target() * 1e6 - want).abs() < 1e-9, "{window}");
        }
        let slope = 100.0 / (10f64.sqrt() - 0.1);
        let at_four = 23.05 + slope * (0.5 - 0.1);
        assert!((started(4.0).target() * 1e6 - at_four).abs() < 1e-9);
    }

    #[test]
    fn a_window_of_acknowledgements_below_the_target_adds_one_segment() {
        let mut control = started(10.0);
        (0..10).for_each(|n| acknowledge(&mut control, n, 20));
        assert!((control.window - 11.0).abs() < 0.05, "{}", control.window);
        let mut small = started(0.5);
        acknowledge(&mut small, 0, 20);
        assert_eq!(small.window, 1.5);
    }

    /// 1 - 0.8 (delay - target) / delay once a round trip, and half at most.
    #[test]
    fn delay_above_the_target_shrinks_once_a_round_trip() {
        let mut control = started(100.0);
        acknowledge(&mut control, 0, 30);
        let once = 100.0 * (1.0 - 0.8 * (30.0 - 23.05) / 30.0);
        assert!((control.window - once).abs() < 1e-4, "{}", control.window);
        acknowledge(&mut control, 29, 30);
        assert!((control.window - once).abs() < 1e-4);
        let before = control.window;
        acknowledge(&mut control, 10_000, 10_000);
        assert!((control.window - before / 2.0).abs() < 1e-4);
    }

    #[test]
    fn five_timeouts_in_a_row_leave_the_least_window_which_is_paced() {
        let rules = rules();
        let mut control = started(32.0);
        control.srtt = Span::us(100);
        for n in 0..5 {
            assert!(control.pacing_rate().is_none());
            let cx = Cx { now: Time::ZERO + Span::us(1000 * n), rules: &rules };
            control.on_congestion(Congestion::Timeout, 0, &cx);
        }
        assert_eq!(control.cwnd(), Bytes(1000));
        // 8000 bits x 0.001 in 100 us.
        assert!((control.pacing_rate().expect("paced").as_bps() as f64 - 80_000.0).abs() < 1.0);
    }
}
