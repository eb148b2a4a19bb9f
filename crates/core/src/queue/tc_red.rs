//! RED exactly as Linux computes it: tc derives the constants, the kernel's fixed point decides.
//!
//! Source: iproute2 6.1 (`tc_red_eval_ewma`, `tc_red_eval_P`, `tc_red_eval_idle_damping`, and the
//! defaults of `red_parse_opt`) and Linux 6.1 (`red_set_parms`, `red_calc_qavg`, `red_action`,
//! `red_adaptative_algo` of red.h; `red_enqueue` of sch_red.c). The queue is measured in bytes and
//! without the packet being transmitted, which Linux has handed to the device already.
//!
//! Left out: a child queue other than the byte FIFO; qevents; parents such as HTB that never ask an
//! empty RED for a packet, so that its idle time does not begin; setups by tc before 3.3, which sent no
//! max_P.

use super::{Admission, Backlog, DropWhy, Place, Verdict};
use crate::engine::random::Stream;
use crate::net::packet::Packet;
use crate::params::Faults;
use shallows_units::{Bytes, Rate, Span, Time};

crate::params! {
    /// RED as tc and the Linux kernel have it. Packets are marked or dropped with a probability that
    /// rises with the average queue in bytes; `burst` sets the weight of the average.
    pub struct Settings {
        /// Most that the queue may hold, in bytes.
        limit: Bytes = "400KB", "[1B, 4294967295B]", "tc-red(8), EXAMPLE; tc requires it";
        /// Average queue below which nothing is marked; "none": a third of max.
        min: Option<Bytes> = "none", "[1B, 4294967295B]", "iproute2 red_parse_opt";
        /// Average queue from which all is marked; "none": three times min, or a quarter of the limit.
        max: Option<Bytes> = "none", "[1B, 4294967295B]", "iproute2 red_parse_opt";
        /// Mean packet.
        avpkt: Bytes = "1000B", "[1B, 4294967295B]", "tc-red(8), EXAMPLE; tc requires it";
        /// Packets that may come at once to an empty queue, from which the weight of the average
        /// follows; "none": (2 min + max) / (3 avpkt).
        burst: Option<u64> = "none", "[1, 4294967295]", "iproute2 red_parse_opt";
        /// Probability just below max.
        probability: f64 = 0.02, "(0, 1)", "iproute2 red_parse_opt; 1 has no place in the kernel's 32 bits";
        /// Rate by which the average decays while idle. Not the port's unless it is written so.
        bandwidth: Rate = "10Mbps", "", "iproute2 red_parse_opt: 10Mbit if none is given";
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: bool = false, "", "tc-red(8)";
        /// Whether ECN-capable packets too are dropped when the average reaches max.
        harddrop: bool = false, "", "tc-red(8)";
        /// Whether packets that are not ECN-capable are queued where others are marked.
        nodrop: bool = false, "", "tc-red(8)";
        /// Whether the probability adapts every 500 ms to keep the average half-way between min and max.
        adaptative: bool = false, "", "tc-red(8); Floyd, Gummadi and Shenker 2001";
    }
}

/// What tc sends to the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Message {
    min: u32,
    max: u32,
    w_log: u32,
    scell_log: u32,
    max_p: u32,
    stab: Vec<u8>,
}

/// Which setting is refused, and why.
type Refusal = (&'static str, String);

impl Settings {
    /// Settings that tc or the kernel would refuse.
    pub fn check(&self, path: &str, faults: &mut Faults) {
        if let Err((name, rule)) = self.message() {
            use crate::params::{ParamType, Params};
            let mut map = serde_json::Map::new();
            self.show(&mut map);
            let value = if map[name].is_null() { "none".to_owned().show() } else { map[name].clone() };
            faults.add(&format!("{path}.{name}"), rule, &value);
        }
    }

    /// The defaults, calculations and checks of iproute2's `red_parse_opt`, then the kernel's.
    fn message(&self) -> Result<Message, Refusal> {
        let whole = |bytes: Bytes| bytes.as_u64() as u32;
        let (limit, avpkt) = (whole(self.limit), whole(self.avpkt));
        let max = match (self.max, self.min) {
            (Some(max), _) => whole(max),
            (None, Some(min)) => whole(min).wrapping_mul(3),
            (None, None) => limit / 4,
        };
        let min = self.min.map_or(max / 3, whole);
        let burst = match self.burst {
            Some(burst) => burst as u32,
            None => min.wrapping_mul(2).wrapping_add(max) / 3u32.wrapping_mul(avpkt).max(1),
        };
        let w_log = eval_ewma(min, burst, avpkt)?;
        eval_p(min, max, self.probability)?;
        let (scell_log, stab) = eval_idle_damping(w_log, avpkt, self.bandwidth)?;
        // Linux red_check_params: the average, scaled by 2^Wlog, must fit in 32 bits.
        for (name, bytes) in [("min", min), ("max", max)] {
            let bits = 32 - bytes.leading_zeros();
            if bits + w_log >= 32 {
                let rule = format!(
                    "must be less than 2^{}: the kernel refuses what does not fit in 32 bits with \
                     the average's {w_log} binary places (red_check_params), burst being {burst}",
                    31 - w_log
                );
                return Err((name, rule));
            }
        }
        if self.nodrop && !self.ecn {
            // Linux red_validate_flags.
            return Err(("nodrop", "needs ecn: the kernel refuses it without (red_validate_flags)".into()));
        }
        let max_p = (self.probability * 4_294_967_296.0) as u32;
        // Linux red_set_parms: without max_P, the power of two that tc computed; ours is never 0 but
        // for a probability below 2^-32.
        Ok(Message { min, max, w_log, scell_log, max_p: max_p.max(1), stab })
    }
}

/// iproute2 `tc_red_eval_ewma`: the largest weight 2^-Wlog with which a burst that meets an empty queue
/// does not lift the average above min: burst + 1 - min / avpkt <= (1 - (1 - W)^burst) / W.
fn eval_ewma(min: u32, burst: u32, avpkt: u32) -> Result<u32, Refusal> {
    let a = f64::from(burst) + 1.0 - f64::from(min) / f64::from(avpkt);
    if a < 1.0 {
        let least = min.div_ceil(avpkt);
        let rule = format!("must be >= min / avpkt, {least}: tc fails to calculate the EWMA constant");
        return Err(("burst", rule));
    }
    (1..32)
        .find(|w_log| {
            let w = 1.0 / f64::from(1u32 << w_log);
            a <= (1.0 - libm::pow(1.0 - w, f64::from(burst))) / w
        })
        .ok_or_else(|| ("burst", "is too large for min: tc fails to calculate the EWMA constant".into()))
}

/// iproute2 `tc_red_eval_P`: Plog. The kernel uses max_P instead, but what fails here is refused.
fn eval_p(min: u32, max: u32, probability: f64) -> Result<u32, Refusal> {
    if max == min {
        return Ok(0);
    }
    if max < min {
        return Err(("max", format!("must be >= min, {min}B: tc fails to calculate the probability")));
    }
    let mut share = probability / f64::from(max - min);
    for p_log in 0..32 {
        if share > 1.0 {
            return Ok(p_log);
        }
        share *= 2.0;
    }
    let rule = "must be more than (max - min) / 2^31: tc fails to calculate the probability";
    Err(("probability", rule.into()))
}

/// iproute2 `tc_red_eval_idle_damping`: Scell_log, and a table of -ln(1 - W) x time / transmission time.
///
/// tc counts time in ticks of 64 ns (/proc/net/psched) where the kernel, since 2.6.39, looks the table up
/// by microseconds: the average decays 15.6 times slower than Floyd and Jacobson's. Kept.
fn eval_idle_damping(w_log: u32, avpkt: u32, bandwidth: Rate) -> Result<(u32, Vec<u8>), Refusal> {
    let bytes_a_second = bandwidth.as_bps() / 8;
    // iproute2 tc_calc_xmittime: whole microseconds, then whole ticks.
    let micros = 1e6 * f64::from(avpkt) / bytes_a_second as f64;
    let ticks = f64::from((f64::from(micros as u32) * 15.625) as u32);
    let l_w = -libm::log(1.0 - 1.0 / f64::from(1u32 << w_log)) / ticks;
    let longest = 31.0 / l_w;
    let Some(scell_log) = (0..32).find(|log| longest / f64::from(1u32 << log) < 512.0) else {
        let rule = "is too low for avpkt: tc fails to calculate the idle damping table";
        return Err(("bandwidth", rule.into()));
    };
    let cell = |i: u32| {
        let value = f64::from(i << scell_log) * l_w;
        // In C the number is cut to 8 bits before it is limited; beyond 31 bits x86 gives 0.
        let byte = if value < 2_147_483_648.0 { value as u32 as u8 } else { 0 };
        byte.min(31)
    };
    let stab = (0..256)
        .map(|i| {
            if i == 0 {
                0
            } else if i == 255 {
                31
            } else {
                cell(i)
            }
        })
        .collect();
    Ok((scell_log, stab))
}

/// Linux RED_ONE_PERCENT, of probabilities scaled by 2^32.
const ONE_PERCENT: u32 = 42_949_673;
/// Linux red_adaptative_timer: HZ / 2.
const ADAPT_EVERY: Span = Span::ms(500);

/// Linux red_action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Leave,
    Chance,
    Hard,
}

/// The discipline at work; its state stands apart so that a port stays small.
#[derive(Debug, Clone)]
pub struct Discipline(Box<Red>);

#[derive(Debug, Clone)]
struct Red {
    limit: u64,
    ecn: bool,
    hard_drop: bool,
    no_drop: bool,
    // struct red_parms
    w_log: u32,
    scell_log: u32,
    stab: Vec<u8>,
    /// Scaled by 2^w_log, as is `average`.
    min: u64,
    max: u64,
    delta: u32,
    target: (u64, u64),
    max_p: u32,
    /// max_P / (max - min), by which a random number is divided.
    slope: u32,
    // struct red_vars
    average: u64,
    count: i64,
    /// qR: the random number that stands until the next mark.
    drawn: u32,
    random: Stream,
    last: Time,
    adapt_at: Option<Time>,
}

impl Discipline {
    /// Ready to run.
    pub fn new(settings: &Settings, place: Place) -> Self {
        let message = settings.message().unwrap_or_else(|_| {
            use crate::params::Params;
            Settings::defaults().message().expect("the defaults pass")
        });
        let Message { min, max, w_log, scell_log, max_p, stab } = message;
        // Linux red_set_parms.
        let delta = (max - min).max(1);
        let fifth = u64::from(delta / 5);
        Discipline(Box::new(Red {
            limit: settings.limit.as_u64(),
            ecn: settings.ecn,
            hard_drop: settings.harddrop,
            no_drop: settings.nodrop,
            w_log,
            scell_log,
            stab,
            min: u64::from(min) << w_log,
            max: u64::from(max) << w_log,
            delta,
            target: (u64::from(min) + 2 * fifth, u64::from(min) + 3 * fifth),
            max_p,
            slope: (max_p / delta).max(1),
            average: 0,
            count: -1,
            drawn: 0,
            random: place.random,
            last: Time::ZERO,
            adapt_at: settings.adaptative.then_some(Time::ZERO + ADAPT_EVERY),
        }))
    }
}

impl Red {
    /// Linux `red_calc_qavg_from_idle_time`.
    fn after_idle(&self, idle: Span) -> u64 {
        let micros = (idle.as_ps() / 1_000_000).min(255 << self.scell_log);
        let shift = self.stab[(micros >> self.scell_log) as usize & 255];
        if shift > 0 {
            return self.average >> shift;
        }
        // Before the table's first step (1 - W)^m is taken as 1 - m W, with W = 2^-Scell_log.
        let loss = self.average.wrapping_mul(micros) >> self.scell_log;
        if loss < self.average >> 1 { self.average - loss } else { self.average >> 1 }
    }

    /// Linux `red_calc_qavg_no_idle_time`: avg = avg (1 - W) + backlog W, scaled.
    fn with_backlog(&self, bytes: u64) -> u64 {
        self.average.wrapping_add(bytes).wrapping_sub(self.average >> self.w_log)
    }

    /// Linux `red_adaptative_algo`, at a time when the average, in bytes, is `average`.
    fn adapt(&mut self, average: u64) {
        if average > self.target.1 && self.max_p <= 50 * ONE_PERCENT {
            self.max_p += ONE_PERCENT.min(self.max_p / 4);
        } else if average < self.target.0 && self.max_p >= ONE_PERCENT {
            self.max_p = self.max_p / 10 * 9;
        }
        let half = u64::from(self.delta / 2);
        self.slope = (((u64::from(self.max_p) + half) / u64::from(self.delta)) as u32).max(1);
    }

    /// The timer's calls up to `now`. Between two arrivals the average stands, and falls once idle.
    fn adapt_until(&mut self, now: Time, idle_since: Option<Time>) {
        while let Some(at) = self.adapt_at.filter(|at| *at <= now) {
            let average = match idle_since {
                Some(since) if since <= at => self.after_idle(at - since),
                _ => self.average,
            };
            self.adapt(average >> self.w_log);
            self.adapt_at = Some(at + ADAPT_EVERY);
        }
    }

    fn draw(&mut self) {
        // Linux red_random: 0 .. (max - min) / max_P.
        self.drawn = self.random.below(1 << 32) as u32 / self.slope;
    }

    /// Linux `red_action`.
    fn act(&mut self) -> Action {
        if self.average < self.min {
            self.count = -1;
            Action::Leave
        } else if self.average >= self.max {
            self.count = -1;
            Action::Hard
        } else {
            self.count += 1;
            // Linux red_mark_probability: max_P (avg - min) / (max - min) >= random / count.
            let above = (self.average - self.min) >> self.w_log;
            if self.count > 0 && above * self.count as u64 >= u64::from(self.drawn) {
                self.count = 0;
                self.draw();
                return Action::Chance;
            }
            if self.count == 0 {
                self.draw();
            }
            Action::Leave
        }
    }

    /// Linux `red_enqueue`.
    fn admit(&mut self, packet: &Packet, backlog: Backlog, now: Time) -> Verdict {
        let waiting = backlog.bytes - backlog.serving;
        // Linux red_dequeue: idle since the device asked in vain, which it does after a drop too.
        let idle_since = (backlog.packets == 0).then(|| backlog.free_at.max(self.last));
        self.adapt_until(now, idle_since);
        self.average = match idle_since {
            Some(since) => self.after_idle(now.saturating_sub(since)),
            None => self.with_backlog(waiting),
        };
        self.last = now;
        let action = self.act();
        // Linux bfifo_enqueue.
        let full = waiting + u64::from(packet.size) > self.limit;
        let otherwise = if full { Verdict::Drop(DropWhy::Full) } else { Verdict::Pass };
        match action {
            Action::Leave => otherwise,
            Action::Hard if self.hard_drop => Verdict::Drop(DropWhy::Aqm),
            _ if !self.ecn => Verdict::Drop(DropWhy::Aqm),
            _ if packet.ecn_capable() => {
                if full {
                    otherwise
                } else {
                    Verdict::Mark
                }
            }
            _ if self.no_drop => otherwise,
            _ => Verdict::Drop(DropWhy::Aqm),
        }
    }
}

impl Admission for Discipline {
    fn admit(&mut self, packet: &Packet, backlog: Backlog, now: Time) -> Verdict {
        self.0.admit(packet, backlog, now)
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("average_bytes", (self.0.average >> self.0.w_log) as f64);
        put("max_p", f64::from(self.0.max_p) / 4_294_967_296.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::packet::Flags;
    use crate::net::packet::tests::packet;
    use crate::params::Params;
    use crate::queue::tests::place;

    /// The example of tc-red(8).
    fn example() -> Settings {
        Settings {
            min: Some(Bytes(30_000)),
            max: Some(Bytes(90_000)),
            burst: Some(55),
            ecn: true,
            ..Settings::defaults()
        }
    }

    fn red(settings: &Settings) -> Red {
        *Discipline::new(settings, place()).0
    }

    fn waiting(bytes: u64) -> Backlog {
        Backlog { packets: 1 + bytes / 1000, bytes: bytes + 1000, serving: 1000, ..Backlog::default() }
    }

    fn fault(settings: Settings) -> String {
        let mut faults = Faults::default();
        settings.check("queue", &mut faults);
        faults.0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn burst_gives_the_weight() {
        // The example: a = 55 + 1 - 30 = 26. (1 - (31/32)^55) 32 = 26.4 suffices; (1 - (15/16)^55) 16 = 15.5
        // does not.
        assert_eq!(eval_ewma(30_000, 55, 1000), Ok(5));
        // burst = min / avpkt: a = 1, and W = 1/2 suffices. Legal.
        assert_eq!(eval_ewma(40_000, 40, 1000), Ok(1));
        // a = 41: (1 - (1 - 2^-5)^80) 32 = 29.5 < 41 <= (1 - (1 - 2^-6)^80) 64 = 45.8.
        assert_eq!(eval_ewma(40_000, 80, 1000), Ok(6));
    }

    #[test]
    fn what_is_not_given_follows_as_in_tc() {
        // limit / 4, a third of it, and (2 x 33333 + 100000) / 3000 = 55: a = 22.7 > 15.5.
        let message = Settings::defaults().message().unwrap();
        assert_eq!((message.min, message.max, message.w_log), (33_333, 100_000, 5));
        let message = Settings { min: Some(Bytes(10_000)), ..Settings::defaults() }.message().unwrap();
        assert_eq!(message.max, 30_000);
        assert_eq!(message.max_p, 85_899_345); // 0.02 x 2^32, cut
    }

    #[test]
    fn the_idle_table_counts_ticks() {
        // 1000 B at 10 Mb/s take 800 us = 12500 ticks; -ln(31/32) = 0.0317487 a packet; the 31st halving, as
        // tc has it, at 31 x 12500 / 0.0317487 = 12205487 ticks: below 512 cells from 2^15 = 32768 on.
        let (scell_log, stab) = eval_idle_damping(5, 1000, Rate::mbps(10)).unwrap();
        assert_eq!(scell_log, 15);
        // Cell i holds i x 32768 x 0.0317487 / 12500 = 0.083227 i, cut.
        assert_eq!((stab[0], stab[12], stab[13], stab[24], stab[25]), (0, 0, 1, 1, 2));
        assert_eq!((stab[254], stab[255]), (21, 31));
        assert_eq!(stab.len(), 256);
    }

    #[test]
    fn the_average_is_the_kernels_fixed_point() {
        let mut red = red(&example());
        let admit = |red: &mut Red, bytes| red.admit(&packet(1000), waiting(bytes), Time::ZERO);
        // avg' = avg + q - avg / 32, avg scaled by 32.
        admit(&mut red, 32_000);
        assert_eq!(red.average, 32_000);
        admit(&mut red, 32_000);
        assert_eq!(red.average, 32_000 + 32_000 - 1000);
        admit(&mut red, 0); // one in service, none waiting: not idle
        assert_eq!(red.average, 63_000 - 1968);
    }

    #[test]
    fn idle_time_decays_by_line_and_then_by_table() {
        let mut red = red(&example());
        red.average = 1 << 20;
        assert_eq!(red.after_idle(Span::us(0)), 1 << 20);
        assert_eq!(red.after_idle(Span::us(8192)), (1 << 20) - (1 << 18)); // 8192 / 32768 of it
        assert_eq!(red.after_idle(Span::us(32_767)), 1 << 19); // never below a half by the line
        assert_eq!(red.after_idle(Span::us(13 << 15)), 1 << 19); // table: a shift by 1
        assert_eq!(red.after_idle(Span::us(25 << 15)), 1 << 18);
        assert_eq!(red.after_idle(Span::s(3600)), 0); // the last cell: a shift by 31
        let idle = Backlog { free_at: Time::ZERO + Span::ms(1), ..Backlog::default() };
        red.admit(&packet(1000), idle, Time::ZERO + Span::us(9192));
        assert_eq!(red.average, (1 << 20) - (1 << 18));
    }

    #[test]
    fn marks_come_when_count_times_excess_reaches_the_random_number() {
        let mut red = red(&example());
        // slope = max_P / 60000 = 1431; random numbers up to 2^32 / 1431 = 3001374 = 60000 / 0.02.
        assert_eq!(red.slope, 1431);
        red.average = 60_000 << 5; // half-way: 30000 above min
        assert_eq!(red.act(), Action::Leave);
        assert_eq!(red.count, 0);
        red.drawn = 90_000;
        assert_eq!(red.act(), Action::Leave); // 1 x 30000 < 90000
        assert_eq!(red.act(), Action::Leave);
        assert_eq!(red.act(), Action::Chance); // 3 x 30000
        assert_eq!(red.count, 0);
        // Uniform: on average 2^32 / 1431 / 2 / 30000 = 50 packets from mark to mark, and half a one.
        let n = 400_000;
        let marks = (0..n).filter(|_| red.act() == Action::Chance).count();
        assert!((f64::from(n) / marks as f64 - 50.5).abs() < 1.5);
        red.average = 90_000 << 5;
        assert_eq!(red.act(), Action::Hard);
        red.average = (30_000 << 5) - 1;
        assert_eq!((red.act(), red.count), (Action::Leave, -1));
    }

    #[test]
    fn flags_decide_between_mark_and_drop() {
        let mut plain = packet(1000);
        plain.flags = Flags::default();
        let fate = |settings: Settings, packet: &Packet| {
            let mut red = red(&settings);
            red.average = 100_000 << 5;
            red.admit(packet, waiting(100_000), Time::ZERO)
        };
        let drop = Verdict::Drop(DropWhy::Aqm);
        assert_eq!(fate(example(), &packet(1000)), Verdict::Mark);
        assert_eq!(fate(example(), &plain), drop);
        assert_eq!(fate(Settings { nodrop: true, ..example() }, &plain), Verdict::Pass);
        assert_eq!(fate(Settings { harddrop: true, ..example() }, &packet(1000)), drop);
        assert_eq!(fate(Settings { ecn: false, ..example() }, &packet(1000)), drop);
        let full = Settings { limit: Bytes(100_999), ..example() };
        assert_eq!(fate(full, &packet(1000)), Verdict::Drop(DropWhy::Full));
    }

    #[test]
    fn max_p_adapts_every_half_second() {
        let settings = Settings { adaptative: true, ..example() };
        let mut red = red(&settings);
        // Targets: 30000 + 2 x 12000 and + 3 x 12000.
        assert_eq!(red.target, (54_000, 66_000));
        red.average = 70_000 << 5;
        let at = |ms| Time::ZERO + Span::ms(ms);
        red.adapt_until(at(499), None);
        assert_eq!(red.max_p, 85_899_345);
        red.adapt_until(at(500), None);
        assert_eq!(red.max_p, 85_899_345 + 21_474_836); // a quarter, less than 1 %
        assert_eq!(red.slope, 1790); // (107374181 + 30000) / 60000
        red.average = 60_000 << 5;
        red.adapt_until(at(1500), None); // on target, twice
        assert_eq!(red.max_p, 107_374_181);
        red.average = 50_000 << 5;
        red.adapt_until(at(2000), None);
        assert_eq!(red.max_p, 96_636_762); // 10737418 x 9
        // Idle since 2.1 s: at 2.5 s 400000 us >> 15 = cell 12 is 0, the line halves; below target anyway.
        red.average = 60_000 << 5;
        red.adapt_until(at(2500), Some(at(2100)));
        assert_eq!(red.max_p, 86_973_084); // 9663676 x 9
    }

    #[test]
    fn tc_and_the_kernel_refuse_with_their_reasons() {
        assert_eq!(fault(Settings::defaults()), "");
        assert_eq!(fault(example()), "");
        assert_eq!(fault(Settings { burst: Some(30), ..example() }), ""); // burst = min / avpkt
        assert_eq!(
            fault(Settings { burst: Some(29), ..example() }),
            "queue.burst: must be >= min / avpkt, 30: tc fails to calculate the EWMA constant, got 29"
        );
        let same = Settings { max: Some(Bytes(30_000)), ..example() };
        assert_eq!(fault(same), "");
        let swapped = Settings { max: Some(Bytes(29_999)), ..example() };
        assert!(fault(swapped).starts_with("queue.max: must be >= min, 30000B: tc fails"));
        assert!(
            fault(Settings { probability: 1e-9, ..example() }).starts_with("queue.probability: must be more")
        );
        assert!(fault(Settings { ecn: false, nodrop: true, ..example() }).contains("red_validate_flags"));
        let large = Settings { max: Some(Bytes(1 << 26)), probability: 0.5, ..example() };
        assert!(fault(large).starts_with("queue.max: must be less than 2^26: the kernel refuses"));
        let slow = Settings { bandwidth: Rate::bps(8), avpkt: Bytes(1000), ..example() };
        assert!(fault(slow).starts_with("queue.bandwidth: is too low for avpkt: tc fails"));
    }

    #[test]
    fn rates_beyond_tcs_microseconds_give_an_empty_table() {
        // 1000 B at 100 Gb/s take less than 1 us, so 0 ticks: tc divides by 0 and the table
        // is 0 but for its end.
        let (scell_log, stab) = eval_idle_damping(5, 1000, Rate::gbps(100)).unwrap();
        assert_eq!(scell_log, 0);
        assert!(stab[..255].iter().all(|cell| *cell == 0) && stab[255] == 31);
    }
}
