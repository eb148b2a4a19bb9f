//! BBR, version 1, as the Linux kernel has it: the bandwidth and the least round-trip time of the path set rate and window.
//!
//! Source: Linux 7.2 net/ipv4/tcp_bbr.c (functions are named by its names), lib/win_minmax.c, and for samples net/ipv4/tcp_input.c
//! `tcp_rate_gen`; Cardwell et al., "BBR: congestion-based congestion control", ACM Queue 14(5), 2016. Arithmetic is the kernel's: whole
//! packets and microseconds, gains in 1/256 (`BBR_UNIT`), bandwidths in packets a microsecond times 2^24 (`BW_SCALE`).
//! The kernel's BBR does not see marks of ECN, and neither does this.
//! Left out: bursts of `bbr_tso_segs_goal`, which only enters the window's budget, as packets leave one by one; `is_ack_delayed`, the
//! kernel's guess at a delayed acknowledgement of a lone short packet; a least round trip that is forgotten after 300 s
//! (`tcp_min_rtt_wlen`), below whose value no interval counts. Time is compared to the picosecond where the kernel counts ticks.

use super::{
    Ack, CcSettings, Congestion, CongestionControl, Cx, EcnUse, FlowInfo, LostPacket, RateSample, Transmit,
};
use crate::events::random::Stream;
use shallows_units::{Bytes, Rate, Span, Time};

/// `BBR_UNIT`: gains count in so many parts.
const UNIT: u64 = 256;
/// `BW_UNIT`: bandwidths in packets a microsecond count in so many parts.
const BW_UNIT: u64 = 1 << 24;
/// `CYCLE_LEN` and `bbr_pacing_gain`: one phase probes, the next drains, six cruise.
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// `bbr_cycle_rand`: ProbeBW begins in any phase but the second.
const CYCLE_RAND: u64 = 7;
/// `bbr_min_tso_rate`, in bytes a second: below it an offloaded packet has one segment, else two at least.
const MIN_TSO_RATE: u64 = 1_200_000 >> 3;
/// `GSO_LEGACY_MAX_SIZE - 1 - MAX_TCP_HEADER`, with a header's room as on x86-64 with wireless networks and tunnels.
const MOST_OFFLOADED: u64 = 65_536 - 1 - 320;
/// `sk_pacing_shift`: an offloaded packet has what leaves in a 1024th of a second.
const PACING_SHIFT: u32 = 10;
/// `TCP_INIT_CWND`.
const INIT_CWND: u64 = 10;
/// `bbr_extra_acked_win_rtts`, in rounds: the window's two halves have so many each.
const EXTRA_ROUNDS: u64 = 5;
/// `bbr_extra_acked_max_us`.
const EXTRA_MAX_US: u64 = 100_000;
/// `bbr_ack_epoch_acked_reset_thresh`.
const EPOCH_MOST: u64 = 1 << 20;
/// `bbr_lt_intvl_min_rtts`.
const LT_ROUNDS: u64 = 4;
/// `bbr_lt_loss_thresh`: a fifth, in 1/256.
const LT_LOSS: u64 = 50;
/// `bbr_lt_bw_ratio`: an eighth.
const LT_RATIO: u64 = UNIT / 8;
/// `bbr_lt_bw_diff`: 4 kbit/s in bytes.
const LT_DIFF: u64 = 4000 / 8;
/// `bbr_lt_bw_max_rtts`.
const LT_MOST_ROUNDS: u64 = 48;

crate::params! {
    /// BBRv1 as Linux has it: a model of the path sets rate and window, and losses bound neither (Linux 7.2 tcp_bbr.c).
    pub struct Settings {
        /// Gain of rate and window in Startup; Drain's is its inverse.
        startup_gain: f64 = 2.885, "(1, 4)", "bbr_high_gain: 2 / ln 2";
        /// Window in bandwidth-delay products in ProbeBW.
        cwnd_gain: f64 = 2.0, "[1, 4)", "bbr_cwnd_gain";
        /// Per cent by which the rate stays below the estimated bandwidth.
        pacing_margin: u64 = 1, "[0, 50]", "bbr_pacing_margin_percent";
        /// Rounds over which the bandwidth is the greatest sample.
        bw_rounds: u64 = 10, "[1, 1000]", "bbr_bw_rtts";
        /// Time over which the round-trip time is the least sample; ProbeRTT follows where nothing lower was seen for so long.
        min_rtt_window: Span = "10s", "(0s, 1000s]", "bbr_min_rtt_win_sec";
        /// Least length of ProbeRTT.
        probe_rtt_time: Span = "200ms", "(0s, 100s]", "bbr_probe_rtt_mode_ms";
        /// Window of ProbeRTT and least window otherwise, in segments.
        min_pipe: u64 = 4, "[1, 1000]", "bbr_cwnd_min_target";
        /// Growth of the bandwidth that is growth.
        full_growth: f64 = 1.25, "(1, 4)", "bbr_full_bw_thresh";
        /// Rounds without growth after which the pipe is full.
        full_rounds: u64 = 3, "[1, 100]", "bbr_full_bw_cnt";
        /// Whether the window has room for aggregated acknowledgements.
        aggregation: bool = true, "", "bbr_extra_acked_gain";
        /// Whether losses of a fifth at an even rate are taken for a policer's, whose rate then holds for 48 rounds.
        policers: bool = true, "", "bbr_lt_bw_sampling";
    }
    facts {
        elsewhere: &[("linux", "bbr")],
        words: crate::params::Words {
            deviations: "Rate and window follow a model of the path. No loss reduces either beyond the round trip after it, against RFC 5681 s.3.1 and RFC 9743 s.5.1.3.",
            scope: "Any path of the Internet. Each sender deploys it alone; several share a buffer below 1.5 bandwidth-delay products with lasting loss (Hock et al. 2017).",
            tunnels: "A loss or a delay inside a tunnel counts as any other. Marks have no effect.",
        },
    }
}

impl CcSettings for Settings {
    fn samples(&self) -> bool {
        true
    }
    // Startup's window grows by what is delivered, and the end of a repair restores the old one at once.
    fn opens_freely(&self) -> bool {
        true
    }
}

impl Settings {
    fn high_gain(&self) -> u64 {
        (UNIT as f64 * self.startup_gain) as u64 + 1
    }
    fn drain_gain(&self) -> u64 {
        (UNIT as f64 / self.startup_gain) as u64
    }
}

/// `enum bbr_mode`, as `observe` numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Finds the bandwidth.
    Startup,
    /// Drains the queue of Startup.
    Drain,
    /// Goes round the cycle of gains.
    ProbeBw,
    /// Drains the queue to measure the round-trip time.
    ProbeRtt,
}

/// The repair under way in the transport (`icsk_ca_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repair {
    None,
    Recovery,
    Loss,
}

/// The greatest value of the last so many rounds, by the three best of parts of it (lib/win_minmax.c, `minmax_running_max`).
#[derive(Debug, Clone, Copy, Default)]
struct Greatest([(u64, u64); 3]);

impl Greatest {
    fn get(&self) -> u64 {
        self.0[0].1
    }

    fn add(&mut self, window: u64, round: u64, value: u64) {
        let new = (round, value);
        let best = &mut self.0;
        if value >= best[0].1 || round - best[2].0 > window {
            *best = [new; 3];
            return;
        }
        if value >= best[1].1 {
            (best[1], best[2]) = (new, new);
        } else if value >= best[2].1 {
            best[2] = new;
        }
        // minmax_subwin_update: a best that is too old gives way, and the second and third come from later parts.
        let age = round - best[0].0;
        if age > window {
            *best = [best[1], best[2], new];
            if round - best[0].0 > window {
                *best = [best[1], best[2], new];
            }
        } else if best[1].0 == best[0].0 && age > window / 4 {
            (best[1], best[2]) = (new, new);
        } else if best[2].0 == best[1].0 && age > window / 2 {
            best[2] = new;
        }
    }
}

/// One flow's control. Its state stands apart, since a flow of another control would hold as many bytes.
#[derive(Debug, Clone)]
pub struct Control(Box<State>);

/// Windows and volumes are in packets, `pacing_rate` in bytes a second, what is delivered and lost in bytes.
#[derive(Debug, Clone)]
struct State {
    s: Settings,
    random: Stream,
    mss: u64,
    most: f64,
    cwnd: u64,
    pacing_rate: u64,
    mode: Mode,
    pacing_gain: u64,
    cwnd_gain: u64,
    has_seen_rtt: bool,
    min_rtt_us: Option<u64>,
    min_rtt_at: Time,
    /// `tcp_min_rtt`: below it no interval is a sample.
    least_rtt_us: Option<u64>,
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,
    bw: Greatest,
    round: u64,
    round_start: bool,
    next_round: u64,
    delivered: u64,
    delivered_at: Time,
    cycle_at: Time,
    cycle_idx: usize,
    before: Repair,
    /// The repair was needless; the next sample restores the window.
    undone: bool,
    conserves: bool,
    idle_restart: bool,
    full_bw: u64,
    full_count: u64,
    full_reached: bool,
    prior_cwnd: u64,
    /// Bytes lost, and of them since the last sample.
    lost: u64,
    losses: u64,
    lt_samples: bool,
    lt_uses: bool,
    lt_rounds: u64,
    lt_bw: u64,
    lt_delivered: u64,
    lt_lost: u64,
    lt_at: Time,
    epoch_at: Time,
    epoch_acked: u64,
    extra: [u64; 2],
    extra_rounds: u64,
    extra_idx: usize,
}

fn us(span: Span) -> u64 {
    span.as_ps() / 1_000_000
}

impl Control {
    /// The kernel's BBR does not use marks.
    pub const ECN: EcnUse = EcnUse::Off;

    /// bbr_init.
    pub fn start(settings: &Settings, flow: &FlowInfo<'_>, cx: &Cx<'_>) -> Self {
        let gain = settings.high_gain();
        let mut state = State {
            s: settings.clone(),
            random: Stream::new(flow.random.0, "bbr1", flow.random.1),
            mss: cx.rules.mss,
            most: cx.rules.cwnd_max.min((1u64 << 40) as f64),
            cwnd: (cx.rules.initial_window as u64 / cx.rules.mss).max(1),
            pacing_rate: 0,
            mode: Mode::Startup,
            pacing_gain: gain,
            cwnd_gain: gain,
            has_seen_rtt: false,
            min_rtt_us: None,
            min_rtt_at: cx.now,
            least_rtt_us: None,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            bw: Greatest::default(),
            round: 0,
            round_start: false,
            next_round: 0,
            delivered: 0,
            delivered_at: cx.now,
            cycle_at: Time::ZERO,
            cycle_idx: 0,
            before: Repair::None,
            undone: false,
            conserves: false,
            idle_restart: false,
            full_bw: 0,
            full_count: 0,
            full_reached: false,
            prior_cwnd: 0,
            lost: 0,
            losses: 0,
            lt_samples: false,
            lt_uses: false,
            lt_rounds: 0,
            lt_bw: 0,
            lt_delivered: 0,
            lt_lost: 0,
            lt_at: cx.now,
            epoch_at: cx.now,
            epoch_acked: 0,
            extra: [0; 2],
            extra_rounds: 0,
            extra_idx: 0,
        };
        state.init_pacing(Span::ZERO);
        Control(Box::new(state))
    }
}

impl State {
    fn packets(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.mss)
    }

    // ---- rates ----

    /// bbr_bw.
    fn bw(&self) -> u64 {
        if self.lt_uses { self.lt_bw } else { self.bw.get() }
    }

    /// bbr_rate_bytes_per_sec, whose products are cut in this order.
    fn rate(&self, bw: u64, gain: u64) -> u64 {
        let scaled = (u128::from(bw) * u128::from(self.mss) * u128::from(gain)) >> 8;
        let per_second = u128::from(1_000_000 / 100 * (100 - self.s.pacing_margin));
        ((scaled * per_second) >> 24) as u64
    }

    /// bbr_init_pacing_rate_from_rtt: a window in a round trip, or in a millisecond where none is known.
    fn init_pacing(&mut self, srtt: Span) {
        self.has_seen_rtt = srtt > Span::ZERO;
        let over = if self.has_seen_rtt { us(srtt).max(1) } else { 1000 };
        self.pacing_rate = self.rate(self.cwnd * BW_UNIT / over, self.s.high_gain());
    }

    /// bbr_set_pacing_rate.
    fn set_pacing(&mut self, bw: u64, gain: u64, srtt: Span) {
        if !self.has_seen_rtt && srtt > Span::ZERO {
            self.init_pacing(srtt);
        }
        let rate = self.rate(bw, gain);
        if self.full_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// The kernel's control starts with the connection, whose handshake has measured a round trip.
    fn know_handshake(&mut self, srtt: Span, now: Time) {
        if !self.has_seen_rtt && self.least_rtt_us.is_none() && srtt > Span::ZERO {
            self.init_pacing(srtt);
            (self.min_rtt_us, self.least_rtt_us) = (Some(us(srtt)), Some(us(srtt)));
            (self.min_rtt_at, self.epoch_at) = (now, now);
        }
    }

    // ---- volumes ----

    /// bbr_tso_segs_goal.
    fn offloaded(&self) -> u64 {
        let bytes = (self.pacing_rate >> PACING_SHIFT).min(MOST_OFFLOADED);
        let least = if self.pacing_rate < MIN_TSO_RATE { 1 } else { 2 };
        (bytes / self.mss).max(least).min(0x7f)
    }

    /// bbr_bdp, rounded up.
    fn bdp(&self, bw: u64, gain: u64) -> u64 {
        let Some(rtt) = self.min_rtt_us else { return INIT_CWND };
        let product = (u128::from(bw) * u128::from(rtt) * u128::from(gain)) >> 8;
        product.div_ceil(u128::from(BW_UNIT)) as u64
    }

    /// bbr_quantization_budget.
    fn with_budget(&self, window: u64) -> u64 {
        let even = (window + 3 * self.offloaded() + 1) & !1;
        let probes = self.mode == Mode::ProbeBw && self.cycle_idx == 0;
        even + if probes { 2 } else { 0 }
    }

    /// bbr_inflight.
    fn inflight(&self, bw: u64, gain: u64) -> u64 {
        self.with_budget(self.bdp(bw, gain))
    }

    /// bbr_packets_in_net_at_edt: packets in the network when pacing lets out the next.
    fn in_network(&self, in_flight: u64, wait: Span) -> u64 {
        let delivered = ((u128::from(self.bw()) * u128::from(us(wait))) >> 24) as u64;
        let next = if self.pacing_gain > UNIT { self.offloaded() } else { 0 };
        (in_flight + next).saturating_sub(delivered)
    }

    /// bbr_ack_aggregation_cwnd.
    fn aggregation(&self) -> u64 {
        if !self.s.aggregation || !self.full_reached {
            return 0;
        }
        let most = (u128::from(self.bw()) * u128::from(EXTRA_MAX_US) / u128::from(BW_UNIT)) as u64;
        self.extra[0].max(self.extra[1]).min(most)
    }

    // ---- the bandwidth ----

    /// bbr_update_bw.
    fn update_bw(&mut self, rs: &RateSample, sample: Option<(u64, u64)>, now: Time) {
        self.round_start = false;
        let Some((delivered, interval)) = sample else { return };
        if rs.prior_delivered.is_some_and(|prior| prior >= self.next_round) {
            self.next_round = self.delivered;
            self.round += 1;
            self.round_start = true;
            self.conserves = false;
        }
        self.sample_policer(self.losses > 0, rs.app_limited, now);
        let bw = delivered * BW_UNIT / interval;
        if !rs.app_limited || bw >= self.bw.get() {
            self.bw.add(self.s.bw_rounds, self.round, bw);
        }
    }

    /// bbr_reset_lt_bw_sampling_interval.
    fn begin_policer_interval(&mut self) {
        (self.lt_at, self.lt_delivered, self.lt_lost) = (self.delivered_at, self.delivered, self.lost);
        self.lt_rounds = 0;
    }

    /// bbr_reset_lt_bw_sampling.
    fn forget_policer(&mut self) {
        (self.lt_bw, self.lt_uses, self.lt_samples) = (0, false, false);
        self.begin_policer_interval();
    }

    /// bbr_lt_bw_sampling.
    fn sample_policer(&mut self, loses: bool, app_limited: bool, now: Time) {
        if !self.s.policers {
            return;
        }
        if self.lt_uses {
            if self.mode == Mode::ProbeBw && self.round_start {
                self.lt_rounds += 1;
                if self.lt_rounds >= LT_MOST_ROUNDS {
                    self.forget_policer();
                    self.begin_cycle();
                }
            }
            return;
        }
        // From the first loss on, since before it a policer spends the tokens that it saved.
        if !self.lt_samples {
            if !loses {
                return;
            }
            self.begin_policer_interval();
            self.lt_samples = true;
        }
        if app_limited {
            return self.forget_policer();
        }
        self.lt_rounds += u64::from(self.round_start);
        if self.lt_rounds < LT_ROUNDS {
            return;
        }
        if self.lt_rounds > 4 * LT_ROUNDS {
            return self.forget_policer();
        }
        // To a loss, when the tokens are spent again.
        if !loses {
            return;
        }
        let lost = self.packets(self.lost - self.lt_lost);
        let delivered = self.packets(self.delivered - self.lt_delivered);
        if delivered == 0 || lost * UNIT < LT_LOSS * delivered {
            return;
        }
        let millis = |time: Time| time.as_ps() / 1_000_000_000;
        let length = millis(self.delivered_at.min(now)) - millis(self.lt_at);
        if length >= 1 {
            self.end_policer_interval(delivered * BW_UNIT / (length * 1000));
        }
    }

    /// bbr_lt_bw_interval_done: two intervals alike are a policer's.
    fn end_policer_interval(&mut self, bw: u64) {
        if self.lt_bw > 0 {
            let diff = bw.abs_diff(self.lt_bw);
            if diff * UNIT <= LT_RATIO * self.lt_bw || self.rate(diff, UNIT) <= LT_DIFF {
                self.lt_bw = (bw + self.lt_bw) >> 1;
                self.lt_uses = true;
                self.pacing_gain = UNIT;
                self.lt_rounds = 0;
                return;
            }
        }
        self.lt_bw = bw;
        self.begin_policer_interval();
    }

    /// bbr_update_ack_aggregation.
    fn update_aggregation(&mut self, acked: u64) {
        if self.round_start {
            self.extra_rounds += 1;
            if self.extra_rounds >= EXTRA_ROUNDS {
                self.extra_rounds = 0;
                self.extra_idx = 1 - self.extra_idx;
                self.extra[self.extra_idx] = 0;
            }
        }
        let epoch = us(self.delivered_at - self.epoch_at);
        let mut expected = (u128::from(self.bw()) * u128::from(epoch) / u128::from(BW_UNIT)) as u64;
        if self.epoch_acked <= expected || self.epoch_acked + acked >= EPOCH_MOST {
            (self.epoch_acked, self.epoch_at, expected) = (0, self.delivered_at, 0);
        }
        self.epoch_acked = (self.epoch_acked + acked).min(EPOCH_MOST - 1);
        let extra = (self.epoch_acked - expected).min(self.cwnd);
        self.extra[self.extra_idx] = self.extra[self.extra_idx].max(extra);
    }

    // ---- the states ----

    /// bbr_is_next_cycle_phase.
    fn phase_is_over(&self, rs: &RateSample) -> bool {
        let full = us(self.delivered_at - self.cycle_at) > self.min_rtt_us.unwrap_or(u64::from(u32::MAX));
        if self.pacing_gain == UNIT {
            return full;
        }
        let in_flight = self.in_network(self.packets(rs.prior_in_flight), rs.pacing_wait);
        let bw = self.bw.get();
        if self.pacing_gain > UNIT {
            return full && (self.losses > 0 || in_flight >= self.inflight(bw, self.pacing_gain));
        }
        full || in_flight <= self.inflight(bw, UNIT)
    }

    /// bbr_advance_cycle_phase.
    fn next_phase(&mut self) {
        self.cycle_idx = (self.cycle_idx + 1) % CYCLE.len();
        self.cycle_at = self.delivered_at;
    }

    /// bbr_reset_probe_bw_mode.
    fn begin_cycle(&mut self) {
        self.mode = Mode::ProbeBw;
        self.cycle_idx = CYCLE.len() - 1 - self.random.below(CYCLE_RAND) as usize;
        self.next_phase();
    }

    /// bbr_check_full_bw_reached.
    fn check_full(&mut self, rs: &RateSample) {
        if self.full_reached || !self.round_start || rs.app_limited {
            return;
        }
        let growth = (UNIT as f64 * self.s.full_growth) as u64;
        if self.bw.get() >= (self.full_bw * growth) >> 8 {
            (self.full_bw, self.full_count) = (self.bw.get(), 0);
            return;
        }
        self.full_count += 1;
        self.full_reached = self.full_count >= self.s.full_rounds;
    }

    /// bbr_check_drain.
    fn check_drain(&mut self, rs: &RateSample) {
        if self.mode == Mode::Startup && self.full_reached {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain {
            let in_network = self.in_network(self.packets(rs.in_flight), rs.pacing_wait);
            if in_network <= self.inflight(self.bw.get(), UNIT) {
                self.begin_cycle();
            }
        }
    }

    /// bbr_update_min_rtt; returns whether the control limits the sender of itself.
    fn update_min_rtt(&mut self, rs: &RateSample, now: Time) -> bool {
        let expired = now > self.min_rtt_at + self.s.min_rtt_window;
        if let Some(rtt) = rs.newest_rtt.map(us)
            && (expired || self.min_rtt_us.is_none_or(|least| rtt < least))
        {
            (self.min_rtt_us, self.min_rtt_at) = (Some(rtt), now);
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt_done = None;
        }
        let probes = self.mode == Mode::ProbeRtt;
        if probes {
            if self.probe_rtt_done.is_none() && self.packets(rs.in_flight) <= self.s.min_pipe {
                self.probe_rtt_done = Some(now + self.s.probe_rtt_time);
                self.probe_rtt_round_done = false;
                self.next_round = self.delivered;
            } else if self.probe_rtt_done.is_some() {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done {
                    self.check_probe_rtt_done(now);
                }
            }
        }
        if rs.prior_delivered.is_some() {
            self.idle_restart = false;
        }
        probes
    }

    /// bbr_check_probe_rtt_done, bbr_reset_mode.
    fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt_done.is_none_or(|done| now <= done) {
            return;
        }
        self.min_rtt_at = now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.full_reached {
            self.begin_cycle();
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// bbr_update_gains.
    fn update_gains(&mut self) {
        let high = self.s.high_gain();
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (high, high),
            Mode::Drain => (self.s.drain_gain(), high),
            Mode::ProbeBw => {
                let pacing = if self.lt_uses { UNIT } else { CYCLE[self.cycle_idx] };
                (pacing, (UNIT as f64 * self.s.cwnd_gain) as u64)
            }
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    // ---- the window ----

    /// bbr_save_cwnd.
    fn save_cwnd(&mut self) {
        let good = self.before == Repair::None && self.mode != Mode::ProbeRtt;
        let kept = if good { 0 } else { self.prior_cwnd };
        self.prior_cwnd = self.cwnd.max(kept);
    }

    /// bbr_set_cwnd_to_recover_or_restore; returns whether packets are conserved.
    fn recover_or_restore(&mut self, state: Repair, in_flight: u64, acked: u64) -> bool {
        self.cwnd = self.cwnd.saturating_sub(self.losses).max(1);
        if state == Repair::Recovery && self.before != Repair::Recovery {
            self.conserves = true;
            self.next_round = self.delivered;
            self.cwnd = in_flight + acked;
        } else if self.undone || (self.before != Repair::None && state == Repair::None) {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.conserves = false;
        }
        (self.before, self.undone) = (state, false);
        if self.conserves {
            self.cwnd = self.cwnd.max(in_flight + acked);
        }
        self.conserves
    }

    /// bbr_set_cwnd.
    fn set_cwnd(&mut self, rs: &RateSample) {
        let (acked, in_flight) = (self.packets(rs.newly_acked), self.packets(rs.in_flight));
        let state = match (rs.in_fast_recovery, rs.repairing) {
            (true, _) => Repair::Recovery,
            (false, true) => Repair::Loss,
            (false, false) => Repair::None,
        };
        if acked > 0 && !self.recover_or_restore(state, in_flight, acked) {
            let target = self.with_budget(self.bdp(self.bw(), self.cwnd_gain) + self.aggregation());
            if self.full_reached {
                self.cwnd = (self.cwnd + acked).min(target);
            } else if self.cwnd < target || self.packets(self.delivered) + 1 < INIT_CWND {
                // The kernel counts the SYN as delivered too.
                self.cwnd += acked;
            }
            self.cwnd = self.cwnd.max(self.s.min_pipe);
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(self.s.min_pipe);
        }
    }
}

impl CongestionControl for Control {
    fn on_ack(&mut self, _: &Ack, _: &Cx<'_>) {}

    /// bbr_ssthresh: the window is saved, and the next sample decides.
    fn on_congestion(&mut self, _: Congestion, _: u64, _: &Cx<'_>) {
        self.0.save_cwnd();
    }

    /// tcp_enter_loss, then bbr_set_state.
    fn on_timeout(&mut self, in_flight: u64, cx: &Cx<'_>) {
        let state = &mut self.0;
        state.cwnd = state.packets(in_flight) + 1;
        state.before = Repair::Loss;
        state.full_bw = 0;
        state.round_start = true;
        state.sample_policer(true, false, cx.now);
        state.losses = 0; // the next sample has its own alone
    }

    fn on_packet_lost(&mut self, packet: &LostPacket, _: &Cx<'_>) {
        let state = &mut self.0;
        state.lost += packet.bytes;
        state.losses += state.packets(packet.bytes);
    }

    /// bbr_cwnd_event_tx_start.
    fn on_transmit(&mut self, packet: &Transmit, cx: &Cx<'_>) {
        let state = &mut self.0;
        state.know_handshake(packet.srtt, cx.now);
        if packet.in_flight == 0 && packet.app_limited {
            state.idle_restart = true;
            (state.epoch_at, state.epoch_acked) = (cx.now, 0);
            if state.mode == Mode::ProbeBw {
                let bw = state.bw();
                state.set_pacing(bw, UNIT, packet.srtt);
            } else if state.mode == Mode::ProbeRtt {
                state.check_probe_rtt_done(cx.now);
            }
        }
    }

    /// bbr_undo_cwnd. The kernel ends the repair, and bbr_main then restores the window. It does so last: the window of the
    /// repair bounds how much more than expected this acknowledgement is said to bring (bbr_update_ack_aggregation).
    fn on_needless_repair(&mut self, _: &Cx<'_>) {
        let state = &mut self.0;
        (state.full_bw, state.full_count) = (0, 0);
        state.forget_policer();
        state.undone = true;
    }

    /// bbr_main.
    fn on_sample(&mut self, rs: &RateSample, cx: &Cx<'_>) -> bool {
        let state = &mut self.0;
        state.delivered = rs.total_delivered;
        if rs.newly_acked > 0 {
            state.delivered_at = cx.now;
        }
        if let Some(rtt) = rs.newest_rtt.map(us) {
            state.least_rtt_us = Some(state.least_rtt_us.map_or(rtt, |least| least.min(rtt)));
        }
        // tcp_rate_gen.
        let interval = us(rs.interval);
        let valid = interval > 0 && state.least_rtt_us.is_none_or(|least| interval >= least);
        let sample = rs.prior_delivered.filter(|_| valid).map(|_| (state.packets(rs.delivered), interval));

        state.update_bw(rs, sample, cx.now);
        if rs.newly_acked > 0 && sample.is_some() {
            state.update_aggregation(state.packets(rs.newly_acked));
        }
        if state.mode == Mode::ProbeBw && state.phase_is_over(rs) {
            state.next_phase();
        }
        state.check_full(rs);
        state.check_drain(rs);
        let limits_itself = state.update_min_rtt(rs, cx.now);
        state.update_gains();
        let bw = state.bw();
        state.set_pacing(bw, state.pacing_gain, rs.srtt);
        state.set_cwnd(rs);
        state.losses = 0;
        limits_itself
    }

    fn on_lost_syn(&mut self, _: &Cx<'_>) {
        self.0.cwnd = 1;
    }

    fn cwnd(&self) -> Bytes {
        let bytes = self.0.cwnd.saturating_mul(self.0.mss) as f64;
        Bytes(bytes.min(self.0.most).max(self.0.mss as f64) as u64)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::bps((8 * self.0.pacing_rate).max(1)))
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        let s = &self.0;
        put("state", f64::from(s.mode as u8));
        put("max_bw_bps", 8.0 * s.rate(s.bw.get(), UNIT) as f64);
        put("pacing_bps", 8.0 * s.pacing_rate as f64);
        put("min_rtt_s", s.min_rtt_us.map_or(0.0, |rtt| rtt as f64 * 1e-6));
        put("pacing_gain", s.pacing_gain as f64 / UNIT as f64);
        put("extra_acked_bytes", (s.extra[0].max(s.extra[1]) * s.mss) as f64);
        put("full_bw_count", s.full_count as f64);
        put("full_bw_reached", f64::from(u8::from(s.full_reached)));
        put("rounds", s.round as f64);
        put("lt_uses_bw", f64::from(u8::from(s.lt_uses)));
        put("idle_restart", f64::from(u8::from(s.idle_restart)));
        put("bdp_bytes", (s.bdp(s.bw(), UNIT) * s.mss) as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::parts::window::tests::{cx, rules};

    /// lib/win_minmax.c by hand, over ten rounds: a greater value replaces all. A lesser one of a later part stands in for the greatest
    /// once that is older than the window.
    #[test]
    fn the_greatest_is_forgotten_after_the_window() {
        let mut greatest = Greatest::default();
        greatest.add(10, 1, 100);
        for round in 2..=11 {
            greatest.add(10, round, 50 + round);
            assert_eq!(greatest.get(), 100, "round {round}");
        }
        // The second of the three was replaced last in round 11, whose value is greater than all before it.
        greatest.add(10, 12, 40);
        assert_eq!(greatest.get(), 61);
        greatest.add(10, 13, 200);
        assert_eq!(greatest.get(), 200);
        greatest.add(10, 40, 1);
        assert_eq!(greatest.get(), 1, "all are too old");
    }

    fn control() -> Control {
        let settings = <Settings as crate::params::Params>::defaults();
        Control::start(&settings, &FlowInfo::default(), &cx(&rules()))
    }

    /// bbr_set_cwnd_to_recover_or_restore: recovery begins with what is in flight and conserves packets, once; losses are taken off;
    /// its end restores the window from before.
    #[test]
    fn recovery_conserves_packets_and_its_end_restores_the_window() {
        let mut state = *control().0;
        (state.cwnd, state.prior_cwnd, state.delivered) = (100, 100, 7000);
        let step = |state: &mut State, repair, in_flight, acked, losses| {
            state.losses = losses;
            (state.recover_or_restore(repair, in_flight, acked), state.cwnd)
        };
        assert_eq!(step(&mut state, Repair::None, 40, 2, 0), (false, 100));
        assert_eq!(step(&mut state, Repair::Recovery, 40, 2, 1), (true, 42));
        assert_eq!(state.next_round, 7000);
        state.delivered = 8000;
        assert_eq!(step(&mut state, Repair::Recovery, 30, 1, 0), (true, 42));
        assert_eq!(step(&mut state, Repair::Recovery, 30, 1, 5), (true, 37));
        assert_eq!(step(&mut state, Repair::Recovery, 38, 2, 5), (true, 40));
        assert_eq!(state.next_round, 7000, "a round begins with recovery alone");
        assert_eq!(step(&mut state, Repair::None, 30, 1, 0), (false, 100));
        // A timeout conserves nothing and restores nothing before it is over.
        state.cwnd = 1;
        assert_eq!(step(&mut state, Repair::Loss, 0, 1, 0), (false, 1));
        assert_eq!(step(&mut state, Repair::None, 30, 1, 0), (false, 100));
    }

    /// bbr_is_next_cycle_phase, bbr_update_bw: a phase of gain 1 is over when it has lasted longer than the least round trip, here 10 ms. Ten
    /// segments of 1000 bytes a millisecond are 80 Mb/s, of which a hundredth is kept free.
    #[test]
    fn a_phase_lasts_a_round_trip() {
        let rules = rules();
        let mut control = control();
        let state = &mut control.0;
        (state.mode, state.pacing_gain, state.full_reached) = (Mode::ProbeBw, UNIT, true);
        (state.min_rtt_us, state.cycle_idx) = (Some(10_000), 2);
        for (us, phase) in [(5000, 2), (10_000, 2), (10_001, 3), (20_001, 3), (20_002, 4)] {
            let rs = RateSample {
                delivered: 10_000,
                interval: Span::ms(1),
                prior_delivered: Some(0),
                newly_acked: 1000,
                total_delivered: us,
                ..RateSample::default()
            };
            control.on_sample(&rs, &Cx { now: Time::ZERO + Span::us(us), rules: &rules });
            assert_eq!(control.0.cycle_idx, phase, "{us}");
        }
        let mut bps = 0.0;
        control.observe(&mut |name, value| bps = if name == "max_bw_bps" { value } else { bps });
        assert!((bps - 0.99 * 80e6).abs() < 100.0, "{bps}");
    }

    /// `bbr_high_gain`, `bbr_drain_gain`: 739/256 and 88/256.
    #[test]
    fn gains_are_the_kernels_fractions() {
        let settings = <Settings as crate::params::Params>::defaults();
        assert_eq!((settings.high_gain(), settings.drain_gain()), (739, 88));
    }
}
