//! TIMELY: a rate that follows the gradient of the round-trip time; and its patched form, which has a fixed point.
//!
//! Sources: Mittal et al. 2015, "TIMELY: RTT-based Congestion Control for the Datacenter" (SIGCOMM), as Zhu,
//! Ghobadi, Misra and Padhye 2016, "ECN or Delay" (CoNEXT) restate it with its parameters, and patch
//! it. The weight of a new difference stands in the later paper alone.
//! A round-trip time here runs from the NIC's queue to the acknowledgement, on the transport's clock: a coarse
//! `clock_grain` blinds the law. TIMELY sends segments of 16 KB at the card's rate; that is `transport.burst`. The time
//! that a burst takes at the card's rate is taken off, as the paper says.
//! Losses are repaired by the transport and change no rate; a timeout neither: the papers run it over lossless
//! Ethernet.
//! Left out: the scaling of delta and beta by the time between completions, which the authors' published snippet adds.

use super::parts::own_rate::{OwnRate, by_own_rate};
use super::{Ack, CcSettings, Congestion, CongestionControl, Cx, EcnUse, FlowInfo};
use crate::params::Params;
use shallows_units::{Bytes, Rate, Span};

crate::choices! {
    /// The law between the two thresholds.
    pub enum Law {
        /// By the sign of the gradient (Mittal 2015).
        Original = "original",
        /// By gradient and round-trip time together (Zhu 2016).
        Patched = "patched",
    }
}

crate::choices! {
    /// The round-trip times that move the rate.
    pub enum Samples {
        /// One a segment.
        Segment = "segment",
        /// One a window: the first acknowledgement of what was sent after the sample before.
        Window = "window",
    }
}

crate::params! {
    /// TIMELY. A rate that follows the gradient of the round-trip time (Mittal 2015), or its patched law (Zhu 2016).
    pub struct Settings {
        /// The law between the two thresholds.
        law: Law = "original", "", "Mittal 2015; Zhu 2016: patched";
        /// Round-trip time below which the rate always grows. The patched law's reference.
        t_low: Span = "50us", "(0s, 100s]", "Zhu 2016: 50 us";
        /// Round-trip time above which the rate always shrinks.
        t_high: Span = "500us", "(0s, 100s]", "Zhu 2016: 500 us";
        /// Step by which the rate grows.
        delta: Rate = "10Mbps", "[1bps, ]", "Zhu 2016: 10 Mb/s";
        /// Factor of a reduction; "none": 0.8, and 0.008 under the patched law.
        beta: Option<f64> = "none", "(0, 1]", "Zhu 2016: 0.8; s.4.3: 0.008";
        /// Round-trip time by which the gradient is measured.
        min_rtt: Span = "20us", "(0s, 100s]", "Zhu 2016: D_minRTT, 20 us";
        /// Weight of a new difference of round-trip times.
        weight: f64 = 0.875, "(0, 1]", "Zhu 2016: 0.875; not printed in Mittal 2015; another code of the authors has 0.46";
        /// The round-trip times that move the rate: one a segment, or one a round trip. A flow that ends in a few round trips hardly
        /// slows down with "window".
        samples: Samples = "segment", "", "Mittal 2015 and Zhu 2016: a completion of each segment; simulator of HPCC's authors: window";
        /// Data between two samples, with samples = "segment".
        segment: Bytes = "16KB", "[1B, ]", "Zhu 2016: 16 KB; Mittal 2015: up to 64 KB";
        /// Samples in a row without a rise of the round-trip time, from which on a step is this many deltas.
        hai: u64 = 5, "[1, 1000]", "Zhu 2016: N = 5 after five";
        /// Most that a reduction takes of the rate.
        max_cut: f64 = 0.5, "(0, 1]", "the authors' published snippet: half; neither paper bounds it, though beta times the gradient may exceed 1";
        /// First rate; "none": the network card's.
        initial_rate: Option<Rate> = "none", "", "simulator of HPCC's authors: the card's; Mittal 2015: C / (N + 1)";
        /// Least rate.
        min_rate: Rate = "100Mbps", "[1bps, ]", "not printed; simulator of HPCC's authors: 100 Mb/s";
        /// A window of the rate times this bounds the data in flight, or "none".
        window_rtt: Option<Span> = "none", "(0s, 100s]", "Li 2019 (HPCC): TIMELY+win has the base round-trip time";
    }
    facts {
        // From the line rate it is cut, and climbs back by 10 Mb/s for each 16 KB. Mittal 2015 starts at C / (N + 1).
        example: r#"{"initial_rate": "3.3Gbps"}"#,
    }
}

impl CcSettings for Settings {
    fn begins_at_line_rate(&self) -> bool {
        true
    }

    fn paces_wire(&self) -> bool {
        true
    }

    fn check(&self, path: &str, faults: &mut crate::params::Faults) {
        if self.samples == Samples::Window && self.segment != Self::defaults().segment {
            let rule =
                crate::params::Code::Conflict.rule("changes nothing: it belongs to samples = \"segment\"");
            faults.add(&format!("{path}.segment"), rule, &self.segment.to_string().into());
        }
        if self.t_high < self.t_low {
            let rule = crate::params::Code::Conflict.rule("must be at least t_low");
            faults.add(&format!("{path}.t_high"), rule, &self.t_high.to_string().into());
        }
    }
}

/// One flow's control.
#[derive(Debug, Clone)]
pub struct Control {
    own: OwnRate,
    law: Law,
    /// In seconds.
    t_low: f32,
    t_high: f32,
    min_rtt: f32,
    /// Time of a burst at the card's rate.
    burst: f32,
    beta: f32,
    weight: f32,
    max_cut: f32,
    /// In bit/s.
    delta: f64,
    samples: Samples,
    segment: u32,
    hai: u16,
    /// Samples in a row without a rise.
    calm: u16,
    /// Bytes acknowledged since the last sample.
    acked: u64,
    /// The last sample and the average difference of samples, in seconds.
    last: Option<f64>,
    difference: f64,
}

impl Control {
    /// Delay says all.
    pub const ECN: EcnUse = EcnUse::Off;

    /// At the start of a flow.
    pub fn start(settings: &Settings, flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Self {
        let s = settings;
        let own = OwnRate::new(s.initial_rate, s.min_rate, s.window_rtt, flow, cx);
        let usual = if s.law == Law::Patched { 0.008 } else { 0.8 };
        Control {
            burst: ((cx.rules.burst * cx.rules.mss * 8) as f64 / own.most()) as f32,
            own,
            law: s.law,
            t_low: s.t_low.as_secs_f64() as f32,
            t_high: s.t_high.as_secs_f64() as f32,
            min_rtt: s.min_rtt.as_secs_f64() as f32,
            beta: s.beta.unwrap_or(usual) as f32,
            weight: s.weight as f32,
            max_cut: s.max_cut as f32,
            delta: s.delta.as_bps() as f64,
            samples: s.samples,
            segment: s.segment.as_u64().min(u64::from(u32::MAX)) as u32,
            hai: s.hai as u16,
            calm: 0,
            acked: 0,
            last: None,
            difference: 0.0,
        }
    }

    /// A segment is complete, whose round trip took `rtt` s: the laws as Zhu 2016 prints them.
    fn complete(&mut self, rtt: f64) {
        let new = rtt - self.last.replace(rtt).unwrap_or(rtt);
        let weight = f64::from(self.weight);
        self.difference = (1.0 - weight) * self.difference + weight * new;
        let gradient = self.difference / f64::from(self.min_rtt);
        let (rate, beta) = (self.own.bps(), f64::from(self.beta));
        let (low, high) = (f64::from(self.t_low), f64::from(self.t_high));
        let calm = std::mem::take(&mut self.calm);
        let next = if rtt < low {
            rate + self.delta
        } else if rtt > high {
            rate * (1.0 - beta * (1.0 - high / rtt))
        } else if self.law == Law::Patched {
            let share = (2.0 * gradient + 0.5).clamp(0.0, 1.0);
            let error = (rtt - low) / low;
            self.delta * (1.0 - share) + rate * (1.0 - beta * share * error)
        } else if gradient <= 0.0 {
            self.calm = calm.saturating_add(1);
            let steps = if self.calm >= self.hai { f64::from(self.hai) } else { 1.0 };
            rate + steps * self.delta
        } else {
            rate * (1.0 - beta * gradient)
        };
        self.own.set(next.max(rate * (1.0 - f64::from(self.max_cut))));
    }
}

impl CongestionControl for Control {
    fn on_ack(&mut self, ack: &Ack, _cx: &Cx<'_>) {
        self.acked += ack.acked;
        let due = match self.samples {
            Samples::Segment => self.acked >= u64::from(self.segment),
            Samples::Window => ack.round_ended,
        };
        if let Some(rtt) = ack.rtt.filter(|_| due) {
            self.acked = 0;
            let rtt = (rtt.as_secs_f64() - f64::from(self.burst)).max(0.0);
            if self.samples == Samples::Window && self.last.is_none() {
                self.last = Some(rtt); // rdma-hw.cc: the first is only recorded
            } else {
                self.complete(rtt);
            }
        }
    }

    fn on_congestion(&mut self, _why: Congestion, _flight: u64, _cx: &Cx<'_>) {}

    by_own_rate!();

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("rate_bps", self.own.bps());
        put("gradient", self.difference / f64::from(self.min_rtt));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::parts::window::tests::rules;
    use shallows_units::Time;

    fn started(settings: &Settings, gbps: u64) -> Control {
        let rules = rules();
        let cx = Cx { now: Time::ZERO, rules: &rules };
        let mut control = Control::start(settings, &FlowInfo::default(), &cx);
        control.own.set(gbps as f64 * 1e9);
        control
    }

    /// By hand: 5 Gb/s, delta 10 Mb/s, beta 0.8, D_minRTT 20 us, a = 0.875.
    #[test]
    fn each_branch_of_the_original_law_by_hand() {
        let mut control = started(&Settings::defaults(), 5);
        control.complete(40e-6); // below t_low, though it is the first
        assert_eq!(control.own.bps(), 5.01e9);
        control.complete(100e-6); // a rise of 60 us: gradient 0.875 x 60 / 20 = 2.625, so that the bound of a half holds
        assert_eq!(control.own.bps(), 5.01e9 / 2.0);
        control.own.set(5e9);
        control.difference = 0.0;
        control.complete(102e-6); // 0.875 x 2 / 20 = 0.0875: 1 - 0.8 x 0.0875
        assert!((control.own.bps() - 5e9 * 0.93).abs() < 200.0, "{}", control.own.bps());
        control.own.set(5e9);
        control.complete(1e-3); // above t_high: 1 - 0.8 (1 - 1 / 2)
        assert!((control.own.bps() - 3e9).abs() < 200.0, "{}", control.own.bps());
    }

    /// 64 KB in four round trips: four samples by segments of 16 KB, three by windows, whose first is only recorded.
    #[test]
    fn samples_come_with_segments_or_with_windows() {
        let rules = rules();
        let cx = Cx { now: Time::ZERO, rules: &rules };
        for (samples, want) in [(Samples::Segment, 4.0), (Samples::Window, 3.0)] {
            let mut control = started(&Settings { samples, ..Settings::defaults() }, 5);
            for n in 0..64 {
                let round_ended = n % 16 == 0;
                let rtt = Some(Span::us(40)); // below t_low: each sample is one step
                control.on_ack(&Ack { rtt, round_ended, ..crate::cc::parts::window::tests::ack(1000) }, &cx);
            }
            assert_eq!((control.own.bps() - 5e9) / 10e6, want);
        }
    }

    /// Mittal 2015 s.4.1: RTT = t_completion - seg.size / NIC rate. 16 segments of 1000 bytes take 12.8 us at 10 Gb/s.
    #[test]
    fn a_bursts_own_time_is_taken_off() {
        let rules = crate::cc::WindowRules { burst: 16, ..rules() };
        let cx = Cx { now: Time::ZERO, rules: &rules };
        for (ns, left) in [(112_800, 100e-6), (12_800, 0.0), (5000, 0.0)] {
            let settings = Settings { samples: Samples::Window, ..Settings::defaults() };
            let mut control = Control::start(&settings, &FlowInfo::default(), &cx);
            let rtt = Some(Span::ns(ns));
            let ack = Ack { rtt, round_ended: true, ..crate::cc::parts::window::tests::ack(1000) };
            control.on_ack(&ack, &cx);
            assert!((control.last.expect("recorded") - left).abs() < 1e-11, "{ns}");
        }
    }

    #[test]
    fn five_calm_samples_in_a_row_make_larger_steps_and_a_rise_ends_them() {
        let mut control = started(&Settings::defaults(), 5);
        let steps: Vec<f64> = (0..7)
            .map(|_| {
                let before = control.own.bps();
                control.complete(100e-6);
                (control.own.bps() - before) / 10e6
            })
            .collect();
        assert_eq!(steps, [1.0, 1.0, 1.0, 1.0, 5.0, 5.0, 5.0]);
        control.complete(101e-6);
        let before = control.own.bps();
        control.difference = 0.0;
        control.complete(101e-6);
        assert_eq!(control.own.bps() - before, 10e6);
    }

    /// The patched law of Zhu 2016: at a steady round trip w = 1/2, so that the rate stays where
    /// delta = R beta (rtt - t_low) / t_low.
    #[test]
    fn the_patched_law_rests_where_its_fixed_point_is() {
        let settings = Settings { law: Law::Patched, ..Settings::defaults() };
        for (gbps, want) in [(5, 62.5e-6), (1, 112.5e-6)] {
            let mut control = started(&settings, gbps);
            for _ in 0..10 {
                control.complete(want);
            }
            assert!((control.own.bps() / (gbps as f64 * 1e9) - 1.0).abs() < 1e-6, "{}", control.own.bps());
            control.complete(want + 1e-6);
            assert!(control.own.bps() < gbps as f64 * 1e9);
        }
    }
}
