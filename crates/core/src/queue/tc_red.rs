//! RED exactly as Linux computes it: tc derives the constants, the kernel's fixed point decides.
//!
//! Source: iproute2 6.1 (`tc_red_eval_ewma`, `tc_red_eval_P`, `tc_red_eval_idle_damping`, and the
//! defaults of `red_parse_opt`) and Linux 6.1 (`red_set_parms`, `red_calc_qavg`, `red_action`,
//! `red_adaptative_algo` of red.h; `red_enqueue` of sch_red.c). The queue is measured in bytes and
//! without the packet being transmitted, which Linux has handed to the device already.
//!
//! Left out: a child queue other than the byte FIFO; qevents; setups by tc before 3.3, which sent no
//! max_P.

mod tc;

use super::{Admission, Backlog, DropWhy, Place, Verdict};
use crate::events::random::Stream;
use crate::packet::Packet;
use crate::params::Faults;
use shallows_units::{Bytes, Rate, Span, Time};
use tc::Message;

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
        /// Whether a shaper (TBF, HTB) is above it, which never asks an empty RED for a packet: then its idle
        /// time never begins, and the average stands still.
        shaped: bool = false, "", "sch_tbf.c tbf_dequeue looks by peek, sch_htb.c asks classes with packets; red_dequeue begins the idle time";
    }
}

impl Settings {
    /// Settings that tc or the kernel would refuse.
    pub fn check(&self, path: &str, faults: &mut Faults) {
        if let Err((name, rule)) = self.message() {
            use crate::params::{Code, ParamType, Params};
            let mut map = serde_json::Map::new();
            self.show(&mut map);
            let value = if map[name].is_null() { "none".to_owned().show() } else { map[name].clone() };
            faults.add(&format!("{path}.{name}"), Code::Conflict.rule(rule), &value);
        }
    }
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
    shaped: bool,
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
            shaped: settings.shaped,
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
        let idle_since = (backlog.packets == 0 && !self.shaped).then(|| backlog.free_at.max(self.last));
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
mod tests;
