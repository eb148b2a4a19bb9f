//! NSCC: the sender's congestion control of Ultra Ethernet, by delay and marks together.
//!
//! Source: Ultra Ethernet Specification 1.0.3 s.3.6.13, through public notes on it: parameters p. 390 and table 3-82, events
//! s.3.6.13.4 to 3.6.13.6. `reading = "uet"` takes what the consortium's simulator does otherwise (`ultraethernet/uet-htsim`,
//! 40ccb05, uec.cpp); the setting's text lists it.
//! Each acknowledgement falls into one of four cases. Little delay and no mark: proportional increase, or fast increase on an
//! idle path. Much delay and no mark: fair increase. Much delay and a mark: multiplicative decrease, once a round trip.
//! Little delay and a mark: nothing, since another path may mend it. Quick adapt sets the window to what was delivered
//! where a round trip delivered little.
//! Over UEC windows count whole packets, and over TCP their payload, as every window there.
//! Over TCP each loss takes one segment, and nothing is trimmed.
//!
//! Left out: the clock of 128 ns.
//! A receiver's penalty is carried out ([`Answer::penalty`]), but no receiver here asks for one.

use super::{Ack, CcSettings, Congestion, CongestionControl, Cx, EcnUse, FlowInfo, Trim};
use shallows_units::{Bytes, Span, Time};
use std::collections::VecDeque;

crate::choices! {
    /// Where the specification and the consortium's simulator differ.
    pub enum Reading {
        /// The specification's text. With trimming, delay alone never causes quick adapt. The mean of the delays is that of the
        /// last base round trip.
        Specification = "specification",
        /// The simulator's code. Quick adapt also follows four times the target with trimming, and begins after the end of its
        /// interval. Delays are averaged with a weight of 0.0125, in which an unmarked one above the target counts as a
        /// quarter of the round trip. Increases are counted in payload. The window is bounded before it grows, too.
        Uet = "uet",
    }
}

crate::params! {
    /// NSCC, the sender's control of Ultra Ethernet: a window by delay and marks.
    pub struct Settings {
        /// The specification's text, or what the consortium's simulator does otherwise.
        reading: Reading = "specification", "", "UE 1.0.3 s.3.6.13; uet-htsim 40ccb05";
        /// Whether switches trim: the target is shorter then, and by the specification delay alone never causes quick adapt.
        trimming: bool = true, "", "UE 1.0.3 p. 390";
        /// Round trip of a full packet over the empty path, or "none": that of the flow's longest one. Shorter samples replace it.
        base_rtt: Option<Span> = "none", "(0s, 1s]", "UE 1.0.3 table 3-82: config_base_rtt";
        /// Delay beyond the base round trip that the window aims at, or "none": 0.75 of that with trimming, and all of it without.
        target: Option<Span> = "none", "(0s, 1s]", "UE 1.0.3 p. 390: target_qdelay";
        /// First window and most, in bandwidth-delay products.
        max_window: f64 = 1.5, "(0, 100]", "UE 1.0.3 p. 390: MaxWnd";
        /// Proportional increase in a round trip without delay, in packets, on a network of 100 Gb/s and 12 us with a target of 12 us.
        alpha: f64 = 4.0, "[0, 1000]", "UE 1.0.3 p. 390: 4 a b MTU / target_qdelay";
        /// Fair increase in a round trip, in packets, on a network of 100 Gb/s and 12 us.
        fair_increase: f64 = 5.0, "[0, 1000]", "UE 1.0.3 p. 390: 5 MTU a";
        /// Fast increase: share of the acknowledged bytes, on a network of 100 Gb/s and 12 us.
        fast_increase: f64 = 0.25, "[0, 100]", "UE 1.0.3 p. 390: 0.25 a";
        /// Delay below which a path is idle, for fast increase.
        idle_delay: Span = "1us", "[0s, 1s]", "uet-htsim 40ccb05: 1 us; the specification: about 0";
        /// Increase each adjust_period whatever the delay, in packets, on a network of 100 Gb/s and 12 us.
        eta: f64 = 0.15, "[0, 1000]", "UE 1.0.3 p. 390: 0.15 MTU a";
        /// Share of the excess delay by which the window shrinks.
        gamma: f64 = 0.8, "[0, 1]", "UE 1.0.3 p. 390: 0.8";
        /// Most that the window shrinks by at once.
        max_decrease: f64 = 0.5, "(0, 1)", "UE 1.0.3 p. 390: max_md_jump, 0.5";
        /// Whether a round trip that delivered little sets the window to that.
        quick_adapt: bool = true, "", "UE 1.0.3 p. 390: disable_quick_adapt, false";
        /// Powers of two by which the greatest window is divided for what little is.
        quick_adapt_gate: u64 = 3, "[0, 30]", "UE 1.0.3 p. 390: qa_gate, 3";
        /// Delay that causes quick adapt by itself, or "none": four times the target, with trimming as `reading` says.
        quick_adapt_delay: Option<Span> = "none", "(0s, 1s]", "UE 1.0.3 p. 390: qa_threshold, of a drop threshold of 5 BDP";
        /// Increases are carried out once so many packets have come.
        adjust_packets: u64 = 8, "[1, 1000]", "UE 1.0.3 p. 390: adjust_bytes, 8 MTU";
        /// Increases are carried out after this time at the latest, or "none": the base round trip.
        adjust_period: Option<Span> = "none", "(0s, 1s]", "UE 1.0.3 p. 390: config_base_rtt";
    }
}

impl CcSettings for Settings {
    fn takes_trims(&self) -> bool {
        true
    }

    fn path_settings(&self) -> Vec<&'static str> {
        let own = [
            ("base_rtt", self.base_rtt.is_none()),
            ("target", self.target.is_none() && self.base_rtt.is_none()),
            ("adjust_period", self.adjust_period.is_none() && self.base_rtt.is_none()),
        ];
        own.into_iter().filter(|(_, follows)| *follows).map(|(name, _)| name).collect()
    }
}

/// The reference network: its bandwidth-delay product in bytes, and its round trip in seconds.
const REFERENCE: (f64, f64) = (150_000.0, 12e-6);
/// Weight of a delay in the simulator's average (uet-htsim 40ccb05, uec.cpp).
const WEIGHT: f64 = 0.0125;
/// Multiples of the target that are quick adapt's threshold without trimming.
const MANY_TARGETS: u64 = 4;

/// An acknowledgement, as NSCC sees it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Answer {
    /// Bytes that it is the first to report.
    pub new: u64,
    /// The packet that it is about was marked.
    pub marked: bool,
    /// The round-trip time of that packet, where it is known.
    pub sample: Option<Span>,
    /// Bytes in flight without those. Below zero over UEC, where receivers round what they report.
    pub flight: i64,
    /// The receiver's penalty in 128ths of `new`, 0 for none.
    pub penalty: u8,
    /// The receiver takes its penalties back.
    pub restore: bool,
}

/// The constants of one flow.
#[derive(Debug, Clone)]
struct Constants {
    reading: Reading,
    mtu: f64,
    /// Bytes a second.
    rate: f64,
    config_base: Span,
    target: Span,
    most_bdp: f64,
    /// In bytes a second of delay; fair increase and eta in bytes.
    alpha: f64,
    fair: f64,
    fast: f64,
    eta: f64,
    idle: Span,
    gamma: f64,
    least_factor: f64,
    adapts: bool,
    gate: u32,
    threshold: Option<Span>,
    adjust_bytes: u64,
    adjust_period: Span,
}

/// The state of one flow, by the names of s.3.6.13.4.
#[derive(Debug, Clone)]
struct State {
    constants: Constants,
    cwnd: f64,
    saved_cwnd: f64,
    base_rtt: Span,
    max_wnd: f64,
    achieved_bytes: u64,
    received_bytes: u64,
    fi_count: u64,
    trigger_qa: bool,
    qa_endtime: Time,
    bytes_to_ignore: i64,
    bytes_ignored: i64,
    inc_bytes: f64,
    last_adjust_time: Time,
    increase_mode: bool,
    last_dec_time: Time,
    average: Average,
}

/// The average of delays.
#[derive(Debug, Clone)]
enum Average {
    /// The mean of those of the last base round trip: when, and how long; and their sum in ps.
    Mean(VecDeque<(Time, Span)>, u128),
    /// Weighted, in seconds.
    Weighted(f64),
}

impl Average {
    fn add(&mut self, now: Time, delay: Span, base: Span) {
        match self {
            Average::Mean(delays, sum) => {
                delays.push_back((now, delay));
                *sum += u128::from(delay.as_ps());
                while let Some((_, old)) = delays.front().copied().filter(|(at, _)| *at + base < now) {
                    delays.pop_front();
                    *sum -= u128::from(old.as_ps());
                }
            }
            Average::Weighted(average) => *average += WEIGHT * (delay.as_secs_f64() - *average),
        }
    }

    fn seconds(&self) -> f64 {
        match self {
            Average::Mean(delays, _) if delays.is_empty() => 0.0,
            Average::Mean(delays, sum) => *sum as f64 * 1e-12 / delays.len() as f64,
            Average::Weighted(average) => *average,
        }
    }
}

/// One flow's control.
#[derive(Debug, Clone)]
pub struct Control(Box<State>);

impl Control {
    /// Every mark is reported with the packet that has it.
    pub const ECN: EcnUse = EcnUse::PerPacket;

    /// At the start of a flow: UE 1.0.3 p. 390.
    pub fn start(settings: &Settings, flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Self {
        let s = settings;
        let mtu = (cx.rules.mss + cx.rules.overhead) as f64;
        let counted = if s.reading == Reading::Uet { cx.rules.mss as f64 } else { mtu };
        let config_base = s.base_rtt.unwrap_or(flow.path.base_rtt);
        let base = config_base.as_ps();
        let target = s.target.unwrap_or(if s.trimming { Span::ps(base * 3 / 4) } else { config_base });
        // Table 3-82: the lesser rate of sender and receiver; uet takes the sender's.
        let rate = match s.reading {
            Reading::Specification => flow.path.line_rate.min(flow.path.peer_rate),
            Reading::Uet => flow.path.line_rate,
        };
        let rate = rate.as_bps() as f64 / 8.0;
        let a = rate * config_base.as_secs_f64() / REFERENCE.0;
        let b = target.as_secs_f64() / REFERENCE.1;
        let follows = !s.trimming || s.reading == Reading::Uet;
        let constants = Constants {
            reading: s.reading,
            mtu,
            rate,
            config_base,
            target,
            most_bdp: s.max_window,
            alpha: s.alpha * a * b * counted / target.as_secs_f64(),
            fair: s.fair_increase * counted * a,
            fast: s.fast_increase * a,
            eta: s.eta * counted * a,
            idle: s.idle_delay,
            gamma: s.gamma,
            least_factor: 1.0 - s.max_decrease,
            adapts: s.quick_adapt,
            gate: s.quick_adapt_gate as u32,
            threshold: s.quick_adapt_delay.or(follows.then(|| target * MANY_TARGETS)),
            adjust_bytes: s.adjust_packets * mtu as u64,
            adjust_period: s.adjust_period.unwrap_or(config_base),
        };
        let max_wnd = constants.most(config_base).min(cx.rules.cwnd_max);
        Control(Box::new(State {
            cwnd: max_wnd,
            saved_cwnd: 0.0,
            base_rtt: config_base,
            max_wnd,
            achieved_bytes: 0,
            received_bytes: 0,
            fi_count: 0,
            trigger_qa: false,
            qa_endtime: Time::ZERO,
            bytes_to_ignore: 0,
            bytes_ignored: 0,
            inc_bytes: 0.0,
            last_adjust_time: cx.now,
            increase_mode: false,
            last_dec_time: cx.now,
            average: match s.reading {
                Reading::Specification => Average::Mean(VecDeque::new(), 0),
                Reading::Uet => Average::Weighted(0.0),
            },
            constants,
        }))
    }

    /// An acknowledgement: s.3.6.13.5, step by step.
    pub fn on_answer(&mut self, answer: &Answer, cx: &Cx<'_>) {
        self.0.on_answer(answer, cx);
    }
}

impl Constants {
    /// The greatest window on a path with this round trip.
    fn most(&self, base: Span) -> f64 {
        (self.most_bdp * self.rate * base.as_secs_f64()).max(self.mtu)
    }
}

impl State {
    fn on_answer(&mut self, answer: &Answer, cx: &Cx<'_>) {
        let Answer { new, marked, flight, .. } = *answer;
        self.bytes_ignored += new as i64;
        self.received_bytes += new;
        self.achieved_bytes += new;
        if answer.penalty > 0 {
            if self.saved_cwnd == 0.0 {
                self.saved_cwnd = self.cwnd;
            }
            let held = self.cwnd.min(flight as f64);
            self.cwnd = (held - ((u64::from(answer.penalty) * new) >> 7) as f64).max(self.constants.mtu);
        } else if answer.restore && self.saved_cwnd > 0.0 {
            self.cwnd = std::mem::take(&mut self.saved_cwnd);
        }
        let Some(sample) = answer.sample else { return };
        self.see(sample, cx);
        let delay = sample - self.base_rtt;
        self.feed(delay, marked, cx.now);
        if self.constants.reading == Reading::Uet {
            self.bound(cx);
        }
        if self.quick_adapt(false, marked, delay, flight, cx.now) {
            return;
        }
        if answer.penalty == 0 {
            self.react(new, marked, delay, cx.now);
        }
        let late = cx.now - self.last_adjust_time >= self.constants.adjust_period;
        if late || self.received_bytes > self.constants.adjust_bytes {
            self.fulfil(late, cx);
        }
    }

    /// A round-trip time, which may be shorter than any before.
    fn see(&mut self, sample: Span, cx: &Cx<'_>) {
        if sample < self.base_rtt {
            self.base_rtt = sample;
            self.max_wnd = self.constants.most(sample).min(cx.rules.cwnd_max);
        }
    }

    fn feed(&mut self, delay: Span, marked: bool, now: Time) {
        let uet = self.constants.reading == Reading::Uet;
        // uec.cpp: the delay of another path than the one to blame.
        let counted = if uet && !marked && delay > self.constants.target {
            Span::ps(self.base_rtt.as_ps() / 4)
        } else {
            delay
        };
        self.average.add(now, counted, self.base_rtt);
    }

    /// The four cases.
    fn react(&mut self, new: u64, marked: bool, delay: Span, now: Time) {
        let constants = &self.constants;
        match (delay >= constants.target, marked) {
            (true, false) => {
                self.inc_bytes += constants.fair * new as f64;
            }
            (true, true) => self.decrease(now),
            (false, false) => {
                let room = (constants.target - delay).as_secs_f64();
                let proportional = constants.alpha * new as f64 * room;
                if !self.fast_increase(new, delay) {
                    self.inc_bytes += proportional;
                }
            }
            (false, true) => {}
        }
    }

    /// On an idle path, once a window has found it so. Whether it acted.
    fn fast_increase(&mut self, new: u64, delay: Span) -> bool {
        if delay >= self.constants.idle {
            (self.increase_mode, self.fi_count) = (false, 0);
            return false;
        }
        self.fi_count += new;
        if self.fi_count as f64 > self.cwnd || self.increase_mode {
            self.increase_mode = true;
            self.cwnd = (self.cwnd + new as f64 * self.constants.fast).min(self.max_wnd.max(self.cwnd));
        }
        self.increase_mode
    }

    fn decrease(&mut self, now: Time) {
        (self.increase_mode, self.fi_count) = (false, 0);
        let (average, target) = (self.average.seconds(), self.constants.target.as_secs_f64());
        if average > target && now - self.last_dec_time > self.base_rtt {
            let factor = 1.0 - self.constants.gamma * (average - target) / average;
            self.cwnd = (self.cwnd * factor.max(self.constants.least_factor)).max(self.constants.mtu);
            self.last_dec_time = now;
        }
    }

    fn fulfil(&mut self, late: bool, cx: &Cx<'_>) {
        self.cwnd += self.inc_bytes / self.cwnd;
        if late {
            self.last_adjust_time = cx.now;
            self.cwnd += self.constants.eta;
        }
        self.bound(cx);
        (self.inc_bytes, self.received_bytes) = (0.0, 0);
    }

    fn bound(&mut self, cx: &Cx<'_>) {
        self.cwnd = self.cwnd.min(self.max_wnd).min(cx.rules.cwnd_max).max(self.constants.mtu);
    }

    /// Whether it acted, so that the four cases do not.
    fn quick_adapt(&mut self, loss: bool, marked: bool, delay: Span, flight: i64, now: Time) -> bool {
        if !self.constants.adapts {
            return false;
        }
        let uet = self.constants.reading == Reading::Uet;
        let over = if uet { now > self.qa_endtime } else { now >= self.qa_endtime };
        let mut acted = false;
        if self.bytes_ignored < self.bytes_to_ignore && marked {
            acted = true;
        } else if over {
            let slow = self.constants.threshold.is_some_and(|threshold| delay > threshold);
            let little = self.achieved_bytes < self.max_wnd as u64 >> self.constants.gate;
            if self.qa_endtime > Time::ZERO && (self.trigger_qa || loss || slow) && little {
                self.cwnd = (self.achieved_bytes as f64).max(self.constants.mtu);
                (self.bytes_to_ignore, self.bytes_ignored) = (flight, 0);
                (self.trigger_qa, acted) = (false, true);
            }
            self.achieved_bytes = 0;
            self.qa_endtime = now + self.base_rtt + self.constants.target;
        }
        if acted {
            (self.inc_bytes, self.received_bytes) = (0.0, 0);
        }
        acted
    }

    /// A packet of `bytes` was lost: no answer will come.
    fn lose(&mut self, bytes: u64) {
        self.cwnd = (self.cwnd - bytes as f64).max(self.constants.mtu);
        self.bytes_ignored += bytes as i64;
    }
}

impl CongestionControl for Control {
    fn on_ack(&mut self, ack: &Ack, cx: &Cx<'_>) {
        let answer = Answer {
            new: ack.delivered,
            marked: ack.ece,
            sample: ack.rtt,
            flight: ack.flight as i64 - ack.delivered as i64,
            ..Answer::default()
        };
        self.0.on_answer(&answer, cx);
    }

    fn on_trim(&mut self, trim: &Trim, cx: &Cx<'_>) {
        let state = &mut *self.0;
        if let Some(sample) = trim.sample {
            state.see(sample, cx);
        }
        state.feed(state.constants.config_base, true, cx.now);
        state.bytes_ignored += trim.bytes as i64;
        state.trigger_qa |= trim.counts;
        if !state.quick_adapt(true, true, Span::ZERO, trim.flight, cx.now) {
            state.cwnd = (state.cwnd - trim.bytes as f64).max(state.constants.mtu);
        }
    }

    fn on_base_rtt(&mut self, round_trip: Span, cx: &Cx<'_>) {
        self.0.see(round_trip, cx);
    }

    fn on_lost_packet(&mut self, bytes: u64, _cx: &Cx<'_>) {
        self.0.lose(bytes);
    }

    fn delays(&self) -> Option<(Span, Span)> {
        Some((self.0.base_rtt, self.0.constants.target))
    }

    fn on_congestion(&mut self, why: Congestion, _flight: u64, _cx: &Cx<'_>) {
        match why {
            Congestion::Ecn => {} // the acknowledgement has said so
            Congestion::Loss | Congestion::LossAfterEcn | Congestion::Timeout => {
                self.0.lose(self.0.constants.mtu as u64);
            }
        }
    }

    fn on_lost_syn(&mut self, _cx: &Cx<'_>) {
        self.0.cwnd = self.0.constants.mtu;
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.0.cwnd as u64)
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("average_delay_s", self.0.average.seconds());
        put("base_rtt_s", self.0.base_rtt.as_secs_f64());
        put("achieved_bytes", self.0.achieved_bytes as f64);
    }
}

#[cfg(test)]
mod tests;
