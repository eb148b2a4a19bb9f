//! BBRv3: a model of the path, its bandwidth, its least round-trip time and the data it holds, sets rate and window.
//!
//! Source: draft-ietf-ccwg-bbr of 3 August 2026 (4ce5e87), named "s." here. Samples of the delivery rate are the transport's
//! (`transport/rates.rs`, s.4.1). Names are the draft's.
//! The draft has no response to ECN, but asks that CE counts as congestion where packets are ECN-capable (s.3.7): a mark counts
//! as a loss does for the short-term model.
//! Left out: bursts of `C.send_quantum`. Packets leave one by one, and the quantum only sets the offload budget.
//! Acknowledgements of a lost SYN's connection begin with one segment, as everywhere.

use super::{
    Ack, CcSettings, Congestion, CongestionControl, Cx, EcnUse, FlowInfo, LostPacket, RateSample, Transmit,
};
use crate::events::random::Stream;
use shallows_units::{Bytes, Rate, Span, Time};
use std::collections::VecDeque;

crate::params! {
    /// BBRv3. A model of the path sets rate and window; losses above 2 % bound it (draft-ietf-ccwg-bbr, August 2026).
    pub struct Settings {
        /// Pacing gain of Startup.
        startup_gain: f64 = 2.77, "(1, 10]", "draft s.2.5: 4 ln 2 = 2.77";
        /// Pacing gain of Drain.
        drain_gain: f64 = 0.5, "(0, 1]", "draft s.2.5";
        /// Pacing gain of ProbeBW_DOWN.
        down_gain: f64 = 0.9, "(0, 1]", "draft s.5.6.1";
        /// Pacing gain of ProbeBW_UP.
        up_gain: f64 = 1.25, "[1, 10]", "draft s.5.6.1";
        /// Window in bandwidth-delay products.
        cwnd_gain: f64 = 2.0, "[1, 100]", "draft s.2.6";
        /// Window over the bandwidth-delay product in ProbeBW_UP.
        up_cwnd_gain: f64 = 2.25, "[1, 100]", "draft s.5.6.1";
        /// Share by which the rate stays below the estimated bandwidth.
        pacing_margin: f64 = 0.01, "[0, 1)", "draft s.2.5: 1 %";
        /// Share of the data in flight whose loss is too much.
        loss_thresh: f64 = 0.02, "(0, 1)", "draft s.2.8";
        /// Share of the short-term model that a round trip with loss leaves.
        beta: f64 = 0.7, "(0, 1)", "draft s.2.8";
        /// Share of inflight_longterm left to others.
        headroom: f64 = 0.15, "[0, 1)", "draft s.2.8";
        /// Least window in segments.
        min_pipe: u64 = 4, "[1, 1000]", "draft s.2.8";
        /// Probing cycles over which the bandwidth is the greatest sample.
        max_bw_cycles: u64 = 2, "[1, 100]", "draft s.2.11";
        /// Round trips over which aggregation of acknowledgements is remembered; one in Startup.
        extra_acked_rounds: u64 = 10, "[1, 1000]", "draft s.2.12";
        /// Rounds without growth after which the pipe is full.
        full_rounds: u64 = 3, "[1, 100]", "draft s.5.3.1.2";
        /// Growth of the delivery rate that is growth.
        full_growth: f64 = 1.25, "(1, 10]", "draft s.5.3.1.2: 25 %";
        /// Lost ranges in a round trip of Startup that end it.
        startup_losses: u64 = 6, "[1, 1000]", "draft s.5.3.1.3";
        /// Most round trips of Drain.
        drain_rounds: u64 = 3, "[1, 100]", "draft s.5.3.2";
        /// Least time between two probes for bandwidth.
        probe_wait: Span = "2s", "(0s, 1000s]", "draft s.5.3.3.8";
        /// Greatest random time on top.
        probe_wait_spread: Span = "1s", "[0s, 1000s]", "draft s.5.3.3.8";
        /// Most round trips between two probes.
        probe_rounds: u64 = 63, "[1, 10000]", "draft s.5.3.3.8";
        /// Time over which the round-trip time is the least sample.
        min_rtt_window: Span = "10s", "(0s, 1000s]", "draft s.2.16";
        /// Time without a lower sample, after which ProbeRTT begins.
        probe_rtt_interval: Span = "5s", "(0s, 1000s]", "draft s.2.16";
        /// Its least length.
        probe_rtt_time: Span = "200ms", "(0s, 100s]", "draft s.2.16";
        /// Its window in bandwidth-delay products.
        probe_rtt_gain: f64 = 0.5, "(0, 1]", "draft s.2.16";
        /// Send quanta that the window leaves room for at least: 3 with TCP's offload, 1 with QUIC.
        offload_quanta: u64 = 3, "[0, 10]", "draft s.5.5.8";
    }
    facts {
        words: crate::params::Words {
            deviations: "Rate and window follow a model of the path. Losses of less than 2 % of the flight reduce neither (draft s.2.8), against RFC 5681 s.3.1.",
            scope: "Any path of the Internet. Each sender deploys it alone.",
            tunnels: "A loss or a delay inside a tunnel counts as any other. A mark set inside arrives if the tunnel's end copies it outwards (RFC 6040).",
        },
    }
}

impl CcSettings for Settings {
    fn samples(&self) -> bool {
        true
    }
    // Aggregated acknowledgements and a new bandwidth open the window at once.
    fn opens_freely(&self) -> bool {
        true
    }
}

/// The states of s.5.1, as `observe` numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Finds the bandwidth.
    Startup,
    /// Drains the queue of Startup.
    Drain,
    /// Sends more slowly than the path delivers.
    Down,
    /// Sends as fast.
    Cruise,
    /// Fills the pipe before a probe.
    Refill,
    /// Probes for more.
    Up,
    /// Drains the queue to measure the round-trip time.
    ProbeRtt,
}

/// Which samples of a probe the acknowledgements bring (s.2.14).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Acks {
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// The greatest of the values of the last so many steps.
#[derive(Debug, Clone, Default)]
struct Greatest {
    kept: VecDeque<(u64, f64)>,
}

impl Greatest {
    fn add(&mut self, step: u64, value: f64, steps: u64) -> f64 {
        while self.kept.back().is_some_and(|&(_, last)| last <= value) {
            self.kept.pop_back();
        }
        self.kept.push_back((step, value));
        while self.kept.front().is_some_and(|&(at, _)| at + steps <= step) {
            self.kept.pop_front();
        }
        self.kept.front().map_or(value, |&(_, most)| most)
    }
}

/// One flow's control. Its state stands apart, since a flow of another control would hold as many bytes.
#[derive(Debug, Clone)]
pub struct Control(Box<State>);

/// Rates are in bytes a second, volumes in bytes.
#[derive(Debug, Clone)]
struct State {
    s: Settings,
    random: Stream,
    mss: f64,
    initial: f64,
    most: f64,
    cwnd: f64,
    pacing_rate: f64,
    mode: Mode,
    max_bw: f64,
    bw: f64,
    bw_filter: Greatest,
    cycle_count: u64,
    bw_short: f64,
    inflight_short: f64,
    inflight_long: f64,
    bw_latest: f64,
    inflight_latest: f64,
    min_rtt: Option<Span>,
    min_rtt_at: Time,
    probe_rtt_min: Option<Span>,
    probe_rtt_at: Time,
    probe_rtt_expired: bool,
    probe_rtt_done: Option<Time>,
    probe_rtt_round: bool,
    round_count: u64,
    round_start: bool,
    next_round: u64,
    loss_round: u64,
    loss_round_start: bool,
    loss_in_round: bool,
    /// Lost ranges in this round trip with loss.
    ranges: u64,
    delivered: u64,
    full_bw: f64,
    full_count: u64,
    full_now: bool,
    full_reached: bool,
    drain_from: u64,
    rounds_since_up: u64,
    cycle_at: Time,
    probe_wait: Span,
    acks: Acks,
    probe_sample: bool,
    too_high: bool,
    precautionary: bool,
    up_per_inc: f64,
    up_acked: f64,
    up_rounds: u32,
    extra_filter: Greatest,
    extra_acked: f64,
    extra_from: Time,
    extra_delivered: f64,
    idle_restart: bool,
    prior_cwnd: f64,
    repairing: bool,
    sack: bool,
    knows_rtt: bool,
    /// Where a loss ended the state, and the models before it.
    undo: (Option<Mode>, f64, f64, f64),
}

impl Control {
    /// The draft has no response of its own to ECN.
    pub const ECN: EcnUse = EcnUse::Off;

    /// At the start of a flow.
    pub fn start(settings: &Settings, flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Self {
        let initial = cx.rules.initial_window;
        let infinite = f64::INFINITY;
        let mut state = State {
            s: settings.clone(),
            random: Stream::new(flow.random.0, "bbr3", flow.random.1),
            mss: cx.rules.mss as f64,
            initial,
            most: cx.rules.cwnd_max.min((1u64 << 40) as f64),
            cwnd: initial,
            pacing_rate: 0.0,
            mode: Mode::Startup,
            max_bw: 0.0,
            bw: 0.0,
            bw_filter: Greatest::default(),
            cycle_count: 0,
            bw_short: infinite,
            inflight_short: infinite,
            inflight_long: infinite,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            min_rtt: None,
            min_rtt_at: cx.now,
            probe_rtt_min: None,
            probe_rtt_at: cx.now,
            probe_rtt_expired: false,
            probe_rtt_done: None,
            probe_rtt_round: false,
            round_count: 0,
            round_start: false,
            next_round: 0,
            loss_round: 0,
            loss_round_start: false,
            loss_in_round: false,
            ranges: 0,
            delivered: 0,
            full_bw: 0.0,
            full_count: 0,
            full_now: false,
            full_reached: false,
            drain_from: 0,
            rounds_since_up: 0,
            cycle_at: cx.now,
            probe_wait: Span::ZERO,
            acks: Acks::Init,
            probe_sample: false,
            too_high: false,
            precautionary: false,
            up_per_inc: infinite,
            up_acked: 0.0,
            up_rounds: 0,
            extra_filter: Greatest::default(),
            extra_acked: 0.0,
            extra_from: cx.now,
            extra_delivered: 0.0,
            idle_restart: false,
            prior_cwnd: 0.0,
            repairing: false,
            sack: true,
            knows_rtt: false,
            undo: (None, infinite, infinite, infinite),
        };
        state.init_pacing(Span::ZERO);
        Control(Box::new(state))
    }
}

impl State {
    // ---- gains and volumes ----

    /// s.5.6.1.
    fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => self.s.startup_gain,
            Mode::Drain => self.s.drain_gain,
            Mode::Down => self.s.down_gain,
            Mode::Cruise | Mode::Refill | Mode::ProbeRtt => 1.0,
            Mode::Up => self.s.up_gain,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.mode {
            Mode::Up => self.s.up_cwnd_gain,
            Mode::ProbeRtt => self.s.probe_rtt_gain,
            _ => self.s.cwnd_gain,
        }
    }

    fn probes_bw(&self) -> bool {
        matches!(self.mode, Mode::Down | Mode::Cruise | Mode::Refill | Mode::Up)
    }

    fn min_pipe(&self) -> f64 {
        self.s.min_pipe as f64 * self.mss
    }

    /// s.5.6.4.2, BDPMultiple.
    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        self.min_rtt.map_or(self.initial, |rtt| gain * bw * rtt.as_secs_f64())
    }

    /// s.5.6.3.
    fn send_quantum(&self) -> f64 {
        (self.pacing_rate * 1e-3).min(65_536.0).max(2.0 * self.mss)
    }

    /// QuantizationBudget.
    fn with_budget(&self, volume: f64) -> f64 {
        let budget = self.s.offload_quanta as f64 * self.send_quantum();
        let extra = if self.mode == Mode::Up { 2.0 * self.mss } else { 0.0 };
        volume.max(budget).max(self.min_pipe()) + extra
    }

    fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.with_budget(self.bdp(bw, gain))
    }

    fn target_inflight(&self) -> f64 {
        self.bdp(self.bw, 1.0).min(self.cwnd)
    }

    fn with_headroom(&self) -> f64 {
        if self.inflight_long.is_infinite() {
            return f64::INFINITY;
        }
        let headroom = self.mss.max(self.s.headroom * self.inflight_long);
        (self.inflight_long - headroom).max(self.min_pipe())
    }

    // ---- rounds and bandwidth ----

    fn start_round(&mut self) {
        self.next_round = self.delivered;
    }

    /// s.5.5.5, with the round of s.5.5.1.
    fn update_max_bw(&mut self, rs: &RateSample) {
        self.round_start = rs.prior_delivered.is_some_and(|prior| prior >= self.next_round);
        if self.round_start {
            self.start_round();
            self.round_count += 1;
            self.rounds_since_up += 1;
        }
        if rs.rate > 0.0 && (rs.rate >= self.max_bw || !rs.app_limited) {
            self.max_bw = self.bw_filter.add(self.cycle_count, rs.rate, self.s.max_bw_cycles);
        }
    }

    /// s.5.5.10.3, near the start.
    fn update_latest(&mut self, rs: &RateSample) {
        self.bw_latest = self.bw_latest.max(rs.rate);
        self.inflight_latest = self.inflight_latest.max(rs.delivered as f64);
        self.loss_round_start = rs.prior_delivered.is_some_and(|prior| prior >= self.loss_round);
        if self.loss_round_start {
            self.loss_round = self.delivered;
        }
    }

    fn update_congestion(&mut self, rs: &RateSample) {
        self.update_max_bw(rs);
        if !self.loss_round_start {
            return;
        }
        let probing = matches!(self.mode, Mode::Startup | Mode::Refill | Mode::Up);
        if self.loss_in_round && !probing {
            if self.bw_short.is_infinite() {
                self.bw_short = self.max_bw;
            }
            if self.inflight_short.is_infinite() {
                self.inflight_short = self.cwnd;
            }
            self.bw_short = self.bw_latest.max(self.s.beta * self.bw_short);
            self.inflight_short = self.inflight_latest.max(self.s.beta * self.inflight_short);
        }
        self.loss_in_round = false;
    }

    fn reset_congestion(&mut self) {
        (self.loss_in_round, self.bw_latest, self.inflight_latest) = (false, 0.0, 0.0);
    }

    fn reset_short(&mut self) {
        (self.bw_short, self.inflight_short) = (f64::INFINITY, f64::INFINITY);
    }

    /// s.5.5.9.
    fn update_aggregation(&mut self, rs: &RateSample, now: Time) {
        let mut expected = self.bw * (now - self.extra_from).as_secs_f64();
        if self.extra_delivered <= expected {
            (self.extra_delivered, self.extra_from, expected) = (0.0, now, 0.0);
        }
        self.extra_delivered += rs.newly_acked as f64;
        let extra = (self.extra_delivered - expected).min(self.cwnd);
        let rounds = if self.full_reached { self.s.extra_acked_rounds } else { 1 };
        self.extra_acked = self.extra_filter.add(self.round_count, extra, rounds);
    }

    // ---- Startup and Drain ----

    fn reset_full(&mut self) {
        (self.full_bw, self.full_count, self.full_now) = (0.0, 0, false);
    }

    /// s.5.3.1.2.
    fn check_full(&mut self, rs: &RateSample) {
        if self.full_now || !self.round_start || rs.app_limited {
            return;
        }
        if rs.rate >= self.full_bw * self.s.full_growth {
            self.reset_full();
            self.full_bw = rs.rate;
            return;
        }
        self.full_count += 1;
        self.full_now = self.full_count >= self.s.full_rounds;
        self.full_reached |= self.full_now;
    }

    /// s.5.3.1.3. A round trip with loss began with its first loss: that it has ended in recovery is "a full round".
    fn check_startup(&mut self, rs: &RateSample) {
        if self.mode == Mode::Startup {
            let all = self.loss_round_start && rs.in_fast_recovery && self.ranges >= self.s.startup_losses;
            let some = !rs.sack && rs.in_fast_recovery;
            if !self.full_reached && (all || some) && self.too_much_lost(rs.lost, rs.tx_in_flight, rs.sack) {
                self.undo.0 = Some(Mode::Startup);
                (self.full_now, self.full_reached) = (true, true);
                self.inflight_long = self.bdp(self.bw, 1.0).max(self.inflight_latest);
            }
            if self.full_reached {
                self.mode = Mode::Drain;
                self.drain_from = self.round_count;
            }
        }
        if self.loss_round_start {
            self.ranges = 0;
        }
    }

    /// s.5.3.2.
    fn check_drain(&mut self, rs: &RateSample, now: Time) {
        let drained = rs.in_flight as f64 <= self.inflight(self.bw, 1.0);
        if self.mode == Mode::Drain && (drained || self.round_count > self.drain_from + self.s.drain_rounds) {
            self.start_down(now);
        }
    }

    // ---- ProbeBW (s.5.3.3.9) ----

    fn start_down(&mut self, now: Time) {
        self.reset_congestion();
        self.up_per_inc = f64::INFINITY;
        self.rounds_since_up = self.random.below(2);
        self.probe_wait = self.s.probe_wait + self.random.within(self.s.probe_wait_spread);
        self.cycle_at = now;
        self.acks = Acks::Stopping;
        self.start_round();
        self.mode = Mode::Down;
    }

    fn start_refill(&mut self) {
        self.reset_short();
        (self.up_rounds, self.up_acked, self.precautionary) = (0, 0.0, false);
        self.acks = Acks::Refilling;
        self.start_round();
        self.mode = Mode::Refill;
    }

    fn start_up(&mut self, rs: &RateSample) {
        self.acks = Acks::Starting;
        self.start_round();
        self.reset_full();
        self.full_bw = rs.rate;
        self.mode = Mode::Up;
        self.raise_slope();
    }

    fn raise_slope(&mut self) {
        let growth = (1u64 << self.up_rounds) as f64;
        self.up_rounds = (self.up_rounds + 1).min(30);
        self.up_per_inc = (self.cwnd / growth).max(self.mss);
    }

    fn probe_upward(&mut self, rs: &RateSample) {
        if !rs.cwnd_limited || self.cwnd < self.inflight_long {
            return;
        }
        self.up_acked += rs.newly_acked as f64;
        if self.up_acked >= self.up_per_inc {
            let delta = libm::floor(self.up_acked / self.up_per_inc);
            self.up_acked -= delta * self.up_per_inc;
            self.inflight_long += delta * self.mss;
        }
        if self.round_start {
            self.raise_slope();
        }
    }

    fn too_much_lost(&self, lost: u64, in_flight: u64, sack: bool) -> bool {
        lost as f64 > in_flight as f64 * self.s.loss_thresh || (lost > 0 && !sack)
    }

    /// AdaptLongTermModel: whether it has decided a transition.
    fn adapt_long(&mut self, rs: &RateSample) -> bool {
        if self.acks == Acks::Starting && self.round_start {
            self.acks = Acks::Feedback;
        }
        if self.acks == Acks::Stopping && self.round_start {
            self.probe_sample = false;
            self.acks = Acks::Init;
            if self.probes_bw() && !rs.app_limited {
                self.cycle_count += 1;
            }
            // s.5.3.3.5: a precautionary probe that lost nothing is followed by another at once.
            if self.probes_bw() && self.precautionary && !self.too_high {
                self.start_refill();
                return true;
            }
        }
        if !self.too_much_lost(rs.lost, rs.tx_in_flight, rs.sack) && self.inflight_long.is_finite() {
            self.inflight_long = self.inflight_long.max(rs.tx_in_flight as f64);
            if self.mode == Mode::Up {
                self.probe_upward(rs);
            }
        }
        false
    }

    fn is_time_to_probe(&self, now: Time) -> bool {
        let rounds = (self.target_inflight() / self.mss).min(self.s.probe_rounds as f64);
        now > self.cycle_at + self.probe_wait || self.rounds_since_up as f64 >= rounds
    }

    fn is_time_to_go_down(&mut self, rs: &RateSample) -> bool {
        if self.too_high && rs.in_flight as f64 >= self.inflight_long {
            self.precautionary = true;
            return true;
        }
        if rs.cwnd_limited && self.cwnd >= self.inflight_long {
            self.reset_full();
            self.full_bw = rs.rate;
            return false;
        }
        self.full_now
    }

    fn update_cycle(&mut self, rs: &RateSample, now: Time) {
        if !self.full_reached || self.adapt_long(rs) {
            return;
        }
        let mode = self.mode;
        match mode {
            Mode::Down | Mode::Cruise if self.is_time_to_probe(now) => self.start_refill(),
            Mode::Down => {
                let in_flight = rs.in_flight as f64;
                if in_flight <= self.with_headroom() && in_flight <= self.inflight(self.max_bw, 1.0) {
                    self.mode = Mode::Cruise;
                }
            }
            Mode::Refill if self.round_start => {
                self.probe_sample = true;
                self.start_up(rs);
            }
            Mode::Up if self.is_time_to_go_down(rs) => {
                self.too_high = false;
                self.start_down(now);
            }
            _ => {}
        }
    }

    /// s.5.5.10.2.
    fn handle_too_high(&mut self, tx_in_flight: f64, app_limited: bool, now: Time) {
        self.too_high = true;
        self.probe_sample = false;
        if !app_limited {
            self.inflight_long = tx_in_flight.max(self.target_inflight() * self.s.beta);
        }
        if self.mode == Mode::Up {
            self.undo.0 = Some(Mode::Up);
            self.start_down(now);
        }
    }

    // ---- the round-trip time (s.5.3.4.3) ----

    fn update_min_rtt(&mut self, rs: &RateSample, now: Time) {
        self.probe_rtt_expired = now > self.probe_rtt_at + self.s.probe_rtt_interval;
        if let Some(rtt) = rs.rtt
            && (self.probe_rtt_expired || self.probe_rtt_min.is_none_or(|least| rtt < least))
        {
            (self.probe_rtt_min, self.probe_rtt_at) = (Some(rtt), now);
        }
        let expired = now > self.min_rtt_at + self.s.min_rtt_window;
        if let Some(least) = self.probe_rtt_min
            && (expired || self.min_rtt.is_none_or(|held| least < held))
        {
            (self.min_rtt, self.min_rtt_at) = (Some(least), self.probe_rtt_at);
        }
    }

    fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp(self.bw, self.s.probe_rtt_gain).max(self.min_pipe())
    }

    /// Whether samples of packets that leave now are limited by the sender itself.
    fn check_probe_rtt(&mut self, rs: &RateSample, now: Time) -> bool {
        if self.mode != Mode::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            // SaveCwnd, before the state says that the window has been cut.
            self.save_cwnd();
            self.mode = Mode::ProbeRtt;
            self.probe_rtt_done = None;
            self.acks = Acks::Stopping;
            self.start_round();
        }
        let probes = self.mode == Mode::ProbeRtt;
        if probes {
            if self.probe_rtt_done.is_none() && rs.in_flight as f64 <= self.probe_rtt_cwnd() {
                self.probe_rtt_done = Some(now + self.s.probe_rtt_time);
                self.probe_rtt_round = false;
                self.start_round();
            } else if self.probe_rtt_done.is_some() {
                self.probe_rtt_round |= self.round_start;
                if self.probe_rtt_round {
                    self.check_probe_rtt_done(now);
                }
            }
        }
        if rs.delivered > 0 {
            self.idle_restart = false;
        }
        probes
    }

    fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt_done.is_some_and(|done| now > done) {
            self.probe_rtt_at = now;
            self.restore_cwnd();
            self.reset_short();
            if self.full_reached {
                self.start_down(now);
                self.mode = Mode::Cruise;
            } else {
                self.mode = Mode::Startup;
            }
        }
    }

    // ---- rate and window (s.5.6) ----

    fn init_pacing(&mut self, srtt: Span) {
        let over = if srtt == Span::ZERO { Span::ms(1) } else { srtt };
        self.pacing_rate = self.s.startup_gain * self.initial / over.as_secs_f64();
    }

    /// The handshake gives the round-trip time before any data leave; without one the first sample does, as in Linux
    /// (tcp_bbr.c, bbr_set_pacing_rate). The draft's rate of a window a millisecond would stand for all of Startup.
    fn know_rtt(&mut self, srtt: Span) {
        if srtt > Span::ZERO && !std::mem::replace(&mut self.knows_rtt, true) {
            self.init_pacing(srtt);
        }
    }

    fn set_pacing(&mut self, gain: f64) {
        let rate = gain * self.bw * (1.0 - self.s.pacing_margin);
        if self.full_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn save_cwnd(&mut self) {
        let kept = if self.repairing || self.mode == Mode::ProbeRtt { self.prior_cwnd } else { 0.0 };
        self.prior_cwnd = self.cwnd.max(kept);
    }

    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// s.5.5.11.1.
    fn save_upon_loss(&mut self) {
        self.save_cwnd();
        self.undo = (None, self.bw_short, self.inflight_short, self.inflight_long);
    }

    fn note_loss(&mut self) {
        if !self.loss_in_round {
            self.loss_round = self.delivered;
            self.save_upon_loss();
        }
        self.loss_in_round = true;
    }

    fn set_cwnd(&mut self, rs: &RateSample) {
        let acked = rs.newly_acked as f64;
        let most = self.with_budget(self.bdp(self.bw, self.cwnd_gain()) + self.extra_acked);
        if self.full_reached {
            self.cwnd = (self.cwnd + acked).min(most);
        } else if self.cwnd < most || (rs.total_delivered as f64) < self.initial {
            self.cwnd += acked;
        }
        self.cwnd = self.cwnd.max(self.min_pipe());
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        // s.5.6.4.7.
        let cap = match self.mode {
            Mode::Down | Mode::Refill | Mode::Up => self.inflight_long,
            Mode::Cruise | Mode::ProbeRtt => self.with_headroom(),
            Mode::Startup | Mode::Drain => f64::INFINITY,
        };
        self.cwnd = self.cwnd.min(cap.min(self.inflight_short).max(self.min_pipe()));
    }
}

impl CongestionControl for Control {
    fn on_ack(&mut self, _: &Ack, _: &Cx<'_>) {}

    fn on_congestion(&mut self, why: Congestion, _: u64, _: &Cx<'_>) {
        let state = &mut self.0;
        match why {
            Congestion::Ecn => state.note_loss(),
            Congestion::Loss | Congestion::LossAfterEcn => state.save_upon_loss(),
            Congestion::Timeout => {
                state.save_upon_loss();
                state.cwnd = state.mss; // until `on_timeout` tells what is in flight
            }
        }
        state.repairing |= why != Congestion::Ecn;
    }

    fn on_timeout(&mut self, in_flight: u64, _: &Cx<'_>) {
        self.0.cwnd = in_flight as f64 + self.0.mss;
    }

    /// s.5.5.10.2, HandleLostPacket.
    fn on_packet_lost(&mut self, packet: &LostPacket, cx: &Cx<'_>) {
        let state = &mut self.0;
        state.delivered = packet.delivered;
        state.note_loss();
        state.ranges += u64::from(packet.begins_range);
        if state.probe_sample && state.too_much_lost(packet.lost, packet.in_flight, state.sack) {
            // InflightAtLoss: the part of the packet with which losses crossed the threshold.
            let size = packet.bytes as f64;
            let (before, lost_before) = (packet.in_flight as f64 - size, packet.lost as f64 - size);
            let thresh = state.s.loss_thresh;
            let prefix = (thresh * before - lost_before) / (1.0 - thresh);
            state.handle_too_high(before + prefix, packet.app_limited, cx.now);
        }
    }

    /// s.5.4.1.
    fn on_transmit(&mut self, packet: &Transmit, cx: &Cx<'_>) {
        let state = &mut self.0;
        state.know_rtt(packet.srtt);
        if packet.in_flight == 0 && packet.app_limited {
            state.idle_restart = true;
            state.extra_from = cx.now;
            if state.probes_bw() {
                state.set_pacing(1.0);
            } else if state.mode == Mode::ProbeRtt {
                state.check_probe_rtt_done(cx.now);
            }
        }
    }

    /// s.5.5.11.2.
    fn on_needless_repair(&mut self, _: &Cx<'_>) {
        let state = &mut self.0;
        state.restore_cwnd();
        state.loss_in_round = false;
        state.reset_full();
        let (from, bw, short, long) = state.undo;
        state.bw_short = state.bw_short.max(bw);
        state.inflight_short = state.inflight_short.max(short);
        state.inflight_long = state.inflight_long.max(long);
        let elsewhere = state.mode != Mode::ProbeRtt;
        if from == Some(Mode::Startup) && state.mode != Mode::Startup {
            state.full_reached = false;
            if elsewhere {
                state.mode = Mode::Startup;
            }
        } else if from == Some(Mode::Up) && state.mode != Mode::Up && elsewhere {
            state.start_refill();
        }
        state.undo.0 = None;
    }

    /// s.5.2.3.
    fn on_sample(&mut self, rs: &RateSample, cx: &Cx<'_>) -> bool {
        let state = &mut self.0;
        (state.delivered, state.sack) = (rs.total_delivered, rs.sack);
        if std::mem::replace(&mut state.repairing, rs.repairing) && !rs.repairing {
            state.restore_cwnd();
        }
        state.know_rtt(rs.srtt);
        state.update_latest(rs);
        state.update_congestion(rs);
        state.update_aggregation(rs, cx.now);
        state.check_full(rs);
        state.check_startup(rs);
        state.check_drain(rs, cx.now);
        state.update_cycle(rs, cx.now);
        state.update_min_rtt(rs, cx.now);
        let limits_itself = state.check_probe_rtt(rs, cx.now);
        if state.loss_round_start {
            (state.bw_latest, state.inflight_latest) = (rs.rate, rs.delivered as f64);
        }
        state.bw = state.max_bw.min(state.bw_short);
        state.set_pacing(state.pacing_gain());
        state.set_cwnd(rs);
        limits_itself
    }

    fn on_lost_syn(&mut self, _: &Cx<'_>) {
        self.0.cwnd = self.0.mss;
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.0.cwnd.min(self.0.most).max(self.0.mss) as u64)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::bps(((8.0 * self.0.pacing_rate) as u64).max(1)))
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        let s = &self.0;
        put("state", f64::from(s.mode as u8));
        put("max_bw_bps", 8.0 * s.max_bw);
        put("pacing_bps", 8.0 * s.pacing_rate);
        put("min_rtt_s", s.min_rtt.map_or(0.0, Span::as_secs_f64));
        put("extra_acked_bytes", s.extra_acked);
        put("full_bw_count", s.full_count as f64);
        put("full_bw_reached", f64::from(u8::from(s.full_reached)));
        put("rounds", s.round_count as f64);
        put("idle_restart", f64::from(u8::from(s.idle_restart)));
        put("probe_wait_s", s.probe_wait.as_secs_f64());
        put("bdp_bytes", s.bdp(s.bw, 1.0));
        put("inflight_target_bytes", s.inflight(s.bw, 1.0));
        // A model without bounds has none to show.
        for (name, value) in [
            ("bw_shortterm_bps", 8.0 * s.bw_short),
            ("inflight_shortterm_bytes", s.inflight_short),
            ("inflight_longterm_bytes", s.inflight_long),
        ] {
            if value.is_finite() {
                put(name, value);
            }
        }
    }
}

#[cfg(test)]
mod tests;
