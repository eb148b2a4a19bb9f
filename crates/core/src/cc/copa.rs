//! Copa: a window that moves towards the rate 1 / (delta d_q), where d_q is the queueing delay.
//!
//! Source: Arun and Balakrishnan 2018, "Copa: Practical Delay-Based Congestion Control for the Internet" (NSDI), s.2;
//! its authors' published code (genericCC, markoviancc.cc, 09a79b7), and the one of mvfst (Copa.cpp, 223295b) where a line says so.
//! The window is compared once a window of data. A direction doubles the velocity once it has lasted for three windows,
//! since it lasts 2.5 round trips in equilibrium (s.2.1, s.3).
//! In equilibrium the queue of n flows moves between nothing and 2.5 n / delta packets, in five round trips (s.3).
//! The law holds where that queue is small beside the path. Where the path is very long beside it, at 400 us, 10 Gb/s and
//! delta = 0.5, doubling the velocity sustains swings as large as the path.
//! A round-trip time here runs from the NIC's queue to the acknowledgement, on the transport's clock: a coarse
//! `clock_grain` blinds the law.
//! Losses change no window in default mode. The window does not grow while less than half of it is in use, of which the paper
//! says nothing.

use super::{Ack, CcSettings, Congestion, CongestionControl, Cx, EcnUse, FlowInfo};
use shallows_units::{Bytes, Rate, Span, Time};
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};

crate::choices! {
    /// How delta is chosen.
    pub enum Mode {
        /// Competitive once the queue has not been nearly empty for some round trips, default otherwise.
        Switching = "switching",
        /// `delta` stays.
        Default = "default",
        /// 1 / delta grows by one a round trip without a loss, and a loss halves it.
        Competitive = "competitive",
    }
}

crate::params! {
    /// Copa. A window that moves towards the rate 1 / (delta d_q), where d_q is the queueing delay (Arun 2018).
    pub struct Settings {
        /// Weight of delay against throughput: in equilibrium a flow keeps about 1 / delta packets queued.
        delta: f64 = 0.5, "[0.001, 100]", "Arun 2018 s.2.2: 0.5";
        /// How delta is chosen: "switching" goes over to competitive mode beside flows that fill buffers.
        /// In a fabric where all run Copa, flows that start take each other for such, and stay competitive until the buffer is full.
        mode: Mode = "default", "", "Arun 2018 s.2.2 has switching, for paths shared with TCP";
        /// Round trips without a nearly empty queue, after which other flows must be filling it.
        patience: u64 = 5, "[1, 1000]", "Arun 2018 s.2.2: 5 RTTs";
        /// Share of the range of round-trip times below which a queue is nearly empty.
        nearly_empty: f64 = 0.1, "(0, 1)", "Arun 2018 s.2.2: 10 % of RTTmax - RTTmin, RTTmax over four RTTs";
        /// Span over which the least round-trip time counts as that of the empty path.
        min_rtt_window: Span = "10s", "(0s, 1000s]", "Arun 2018 s.2.1: 10 s";
        /// Whether a velocity above 1 ends at once when the rate crosses the target. The paper's text ends it when the windows
        /// compared say so; until then the window would go on in large steps.
        reset_at_crossing: bool = true, "", "mvfst Copa.cpp: changeDirection";
    }
}

impl CcSettings for Settings {
    // The velocity may be as large as the window in segments.
    fn opens_freely(&self) -> bool {
        true
    }
}

/// The least of recent values: those that no later one undercuts, oldest first.
#[derive(Debug, Clone, Default)]
struct Least {
    kept: VecDeque<(Time, f64)>,
}

impl Least {
    /// Adds `value` and forgets what is older than `window`. A value that comes within `grain` of the last kept and undercuts
    /// nothing is left out.
    fn add(&mut self, now: Time, value: f64, window: Span, grain: Span) -> f64 {
        while self.kept.front().is_some_and(|&(at, _)| at + window < now) {
            self.kept.pop_front();
        }
        while self.kept.back().is_some_and(|&(_, last)| last >= value) {
            self.kept.pop_back();
        }
        if self.kept.back().is_none_or(|&(at, _)| at + grain <= now) {
            self.kept.push_back((now, value));
        }
        self.kept[0].1
    }
}

/// One flow's control. Its state stands apart, since a flow of another control would hold as many bytes.
#[derive(Debug, Clone)]
pub struct Control(Box<State>);

/// The state of a flow.
#[derive(Debug, Clone)]
pub struct State {
    /// In segments.
    window: f64,
    most: f64,
    mss: f64,
    slow_start: bool,
    delta: f64,
    usual: f64,
    mode: Mode,
    competing: bool,
    patience: u64,
    nearly_empty: f64,
    min_rtt_window: Span,
    reset_at_crossing: bool,
    min_rtt: Least,
    standing: Least,
    /// The greatest round-trip time, as the least of its negatives.
    max_rtt: Least,
    /// RTTstanding and RTTmin, in seconds; zero before the first sample.
    rtt_standing: f64,
    rtt_min: f64,
    /// When the queue was last nearly empty.
    empty_at: Time,
    lost: bool,
    /// The window at the start of this window of data.
    compared: f64,
    up: bool,
    /// Windows in a row in that direction.
    alike: u32,
    velocity: f64,
}

/// Least window in segments (genericCC: 2).
const LEAST: f64 = 2.0;
/// Windows in one direction, after which the next doubles the velocity (s.2.1: three RTTs).
const STEADY: u32 = 3;

impl Control {
    /// Delay says all.
    pub const ECN: EcnUse = EcnUse::Off;

    /// At the start of a flow.
    pub fn start(settings: &Settings, _flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Self {
        let s = settings;
        let mss = cx.rules.mss as f64;
        let window = cx.rules.initial_window / mss;
        Control(Box::new(State {
            window,
            most: cx.rules.cwnd_max.min((1u64 << 40) as f64) / mss,
            mss,
            slow_start: true,
            delta: s.delta,
            usual: s.delta,
            mode: s.mode,
            competing: s.mode == Mode::Competitive,
            patience: s.patience,
            nearly_empty: s.nearly_empty,
            min_rtt_window: s.min_rtt_window,
            reset_at_crossing: s.reset_at_crossing,
            min_rtt: Least::default(),
            standing: Least::default(),
            max_rtt: Least::default(),
            rtt_standing: 0.0,
            rtt_min: 0.0,
            empty_at: cx.now,
            lost: false,
            compared: window,
            up: true,
            alike: 0,
            velocity: 1.0,
        }))
    }
}

impl Deref for Control {
    type Target = State;
    fn deref(&self) -> &State {
        &self.0
    }
}

impl DerefMut for Control {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.0
    }
}

impl State {
    /// A sample of the round-trip time: RTTmin, RTTstanding over srtt / 2 (s.2.1), and the mode (s.2.2).
    fn measure(&mut self, rtt: Span, srtt: Span, now: Time) {
        let seconds = rtt.as_secs_f64();
        let grain = self.min_rtt_window / 1000;
        self.rtt_min = self.min_rtt.add(now, seconds, self.min_rtt_window, grain);
        self.rtt_standing = self.standing.add(now, seconds, srtt / 2, Span::ZERO);
        if self.mode == Mode::Switching {
            let rtt_max = -self.max_rtt.add(now, -seconds, srtt * 4, Span::ZERO);
            if self.rtt_standing - self.rtt_min <= self.nearly_empty * (rtt_max - self.rtt_min) {
                self.empty_at = now;
            }
            let competing = now > self.empty_at + srtt * self.patience;
            if !competing {
                self.delta = self.usual;
            }
            self.competing = competing;
        }
    }

    /// Whether the rate may rise: cwnd / RTTstanding is at most 1 / (delta d_q).
    fn below_target(&self) -> bool {
        self.window * self.delta * (self.rtt_standing - self.rtt_min) <= self.rtt_standing
    }

    /// A window of data has been acknowledged: its direction, and delta of competitive mode.
    fn end_round(&mut self) {
        let up = self.window > self.compared;
        self.compared = self.window;
        if up == self.up {
            self.alike += 1;
            if self.alike > STEADY {
                self.velocity *= 2.0;
            }
        } else {
            self.turn(up);
        }
        let lost = std::mem::take(&mut self.lost);
        if self.competing && !lost {
            self.delta = 1.0 / (1.0 / self.delta + 1.0);
        }
    }

    fn turn(&mut self, up: bool) {
        self.up = up;
        self.alike = 1;
        self.velocity = 1.0;
    }
}

impl CongestionControl for Control {
    fn on_ack(&mut self, ack: &Ack, cx: &Cx<'_>) {
        if let Some(rtt) = ack.rtt {
            self.measure(rtt, ack.srtt, cx.now);
        }
        if self.rtt_standing == 0.0 {
            return;
        }
        if ack.round_ended && !self.slow_start {
            self.end_round();
        }
        let up = self.below_target();
        let acked = ack.acked as f64 / self.mss;
        let in_use = 2.0 * ack.flight as f64 >= self.window * self.mss;
        if self.slow_start && up {
            // s.2.1: doubles once a round trip until the rate exceeds the target.
            if in_use {
                self.window += acked;
            }
        } else {
            if std::mem::take(&mut self.slow_start) {
                self.turn(up);
                (self.alike, self.compared) = (0, self.window);
            }
            if self.reset_at_crossing && up != self.up && self.velocity > 1.0 {
                self.turn(up);
                (self.alike, self.compared) = (0, self.window);
            }
            // genericCC: the velocity is at most the window.
            self.velocity = self.velocity.min(self.window.max(1.0));
            let step = acked * self.velocity / (self.delta * self.window);
            if !up {
                self.window -= step;
            } else if in_use {
                self.window += step;
            }
        }
        self.window = self.window.min(self.most).max(LEAST);
    }

    fn on_congestion(&mut self, why: Congestion, _flight: u64, _cx: &Cx<'_>) {
        match why {
            Congestion::Ecn => {}
            Congestion::Loss | Congestion::LossAfterEcn => {
                self.lost = true;
                if self.competing {
                    // s.2.2: a loss halves 1 / delta, and delta stays at most that of default mode.
                    self.delta = (2.0 * self.delta).min(self.usual);
                }
            }
            // mvfst: persistent congestion leaves the least window. The paper says nothing.
            Congestion::Timeout => {
                self.lost = true;
                self.slow_start = false;
                self.window = LEAST;
                self.turn(true);
                (self.alike, self.compared) = (0, LEAST);
            }
        }
    }

    fn on_lost_syn(&mut self, _cx: &Cx<'_>) {
        self.0.window = 1.0;
    }

    fn cwnd(&self) -> Bytes {
        Bytes((self.window.max(1.0) * self.mss) as u64)
    }

    /// s.2.1: 2 cwnd / RTTstanding.
    fn pacing_rate(&self) -> Option<Rate> {
        (self.rtt_standing > 0.0)
            .then(|| Rate::bps(((16.0 * self.window * self.mss / self.rtt_standing) as u64).max(1)))
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("window_segments", self.window);
        put("velocity", self.velocity);
        put("delta", self.delta);
        put("queueing_delay_s", self.rtt_standing - self.rtt_min);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::parts::window::tests::{ack, rules};
    use crate::params::Params;

    fn started(settings: Settings) -> Control {
        let rules = rules();
        let cx = Cx { now: Time::ZERO, rules: &rules };
        Control::start(&settings, &FlowInfo::default(), &cx)
    }

    fn acknowledge(control: &mut Control, now_us: u64, rtt_us: u64, round_ended: bool) {
        let rules = rules();
        let cx = Cx { now: Time::ZERO + Span::us(now_us), rules: &rules };
        let (rtt, srtt) = (Some(Span::us(rtt_us)), Span::us(100));
        let flight = control.cwnd().as_u64();
        control.on_ack(&Ack { rtt, srtt, round_ended, flight, ..ack(1000) }, &cx);
    }

    /// RTTstanding is the least of srtt / 2 = 50 us, RTTmin that of the whole time.
    #[test]
    fn the_queueing_delay_is_the_least_of_half_a_round_trip() {
        let mut control = started(Settings::defaults());
        let delay = |control: &Control| ((control.rtt_standing - control.rtt_min) * 1e6).round();
        for (now, rtt, want) in
            [(0, 100, 0.0), (10, 130, 0.0), (30, 120, 0.0), (55, 140, 20.0), (81, 150, 40.0), (82, 105, 5.0)]
        {
            acknowledge(&mut control, now, rtt, false);
            assert_eq!(delay(&control), want, "at {now} us");
        }
    }

    /// 1 / (0.5 x 20 us) is 100 packets a ms: 10 of 120 us are below it, 13 above. A step is v / (delta cwnd).
    #[test]
    fn the_window_moves_towards_the_target_rate() {
        for (window, want) in [(10.0, 10.0 + 1.0 / (0.5 * 10.0)), (13.0, 13.0 - 1.0 / (0.5 * 13.0))] {
            let mut control = started(Settings::defaults());
            acknowledge(&mut control, 0, 100, false);
            control.window = window;
            control.slow_start = false;
            control.up = window < 12.0;
            acknowledge(&mut control, 1000, 120, false);
            assert!((control.window - want).abs() < 1e-9, "{}", control.window);
            // 2 cwnd / RTTstanding
            let rate = 2.0 * want * 8000.0 / 120e-6;
            assert!((control.pacing_rate().expect("paced").as_bps() as f64 / rate - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn slow_start_doubles_until_the_rate_exceeds_the_target() {
        let mut control = started(Settings::defaults());
        (0..10).for_each(|n| acknowledge(&mut control, n, 100, false));
        assert_eq!((control.window, control.slow_start), (20.0, true));
        acknowledge(&mut control, 1000, 120, true);
        assert_eq!((control.window, control.slow_start), (20.0 - 1.0 / (0.5 * 20.0), false));
    }

    /// Three windows up, and from the fourth on the velocity doubles; a crossing ends it at once, or the comparison does.
    #[test]
    fn the_velocity_doubles_after_three_windows_in_one_direction() {
        for reset_at_crossing in [true, false] {
            let mut control = started(Settings { reset_at_crossing, ..Settings::defaults() });
            acknowledge(&mut control, 0, 100, false);
            (control.slow_start, control.compared) = (false, control.window);
            let mut velocities = vec![];
            for n in 1..=6 {
                acknowledge(&mut control, 100 * n, 100, false);
                acknowledge(&mut control, 100 * n + 50, 100, true);
                velocities.push(control.velocity);
            }
            assert_eq!(velocities, [1.0, 1.0, 1.0, 2.0, 4.0, 8.0]);
            let before = control.window;
            acknowledge(&mut control, 1000, 200, false);
            let steps = (before - control.window) * 0.5 * before;
            let want = if reset_at_crossing { 1.0 } else { 8.0 };
            assert!((steps - want).abs() < 1e-9, "{steps}");
        }
    }

    /// 1 / delta: 2, and 1 more a round trip without loss; a loss halves it, and it stays at least 2.
    #[test]
    fn competitive_mode_is_aimd_on_the_inverse_of_delta() {
        let mut control = started(Settings { mode: Mode::Competitive, ..Settings::defaults() });
        let rules = rules();
        let cx = Cx { now: Time::ZERO, rules: &rules };
        control.slow_start = false;
        for n in 1..=3 {
            acknowledge(&mut control, 100 * n, 100, true);
        }
        assert!((1.0 / control.delta - 5.0).abs() < 1e-9);
        control.on_congestion(Congestion::Loss, 0, &cx);
        assert!((1.0 / control.delta - 2.5).abs() < 1e-9);
        acknowledge(&mut control, 400, 100, true); // of the round trip with the loss
        assert!((1.0 / control.delta - 2.5).abs() < 1e-9);
        control.on_congestion(Congestion::Loss, 0, &cx);
        assert_eq!(control.delta, 0.5);
    }

    /// Round trips of 200 us for more than 5 x 100 us after the last of 100; nearly empty again at 109 of at most 200.
    #[test]
    fn modes_switch_when_the_queue_is_not_nearly_empty_for_five_round_trips() {
        let mut control = started(Settings { mode: Mode::Switching, ..Settings::defaults() });
        acknowledge(&mut control, 0, 100, false);
        let mut modes = vec![];
        // The sample of 100 us stays RTTstanding until 50 us.
        for now in [50, 60, 200, 550, 551, 700] {
            acknowledge(&mut control, now, 200, true);
            modes.push(control.competing);
        }
        assert_eq!(modes, [false, false, false, false, true, true]);
        assert!(control.delta < 0.5);
        acknowledge(&mut control, 710, 111, true);
        assert!(control.competing);
        acknowledge(&mut control, 720, 109, false);
        assert!(!control.competing && control.delta == 0.5);
    }

    #[test]
    fn a_loss_moves_nothing_in_default_mode_and_a_timeout_leaves_two_segments() {
        let mut control = started(Settings::defaults());
        let rules = rules();
        let cx = Cx { now: Time::ZERO, rules: &rules };
        control.on_congestion(Congestion::Loss, 0, &cx);
        assert_eq!((control.window, control.delta), (10.0, 0.5));
        control.on_congestion(Congestion::Timeout, 0, &cx);
        assert_eq!(control.cwnd(), Bytes(2000));
    }
}
