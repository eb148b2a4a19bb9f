//! PIE: a controller holds the queueing delay at a target by dropping arrivals at random.
//!
//! Source: RFC 8033 s.4, s.5, appendices A and B. By timestamps (appendix A; Linux's default) the delay is
//! the wait of the last departing packet, and zero once the queue is empty (Linux; the appendix leaves
//! open what an idle queue's delay is). By the departure rate (s.5.2, appendix B) it is the time that the bytes
//! held take.
//! A discipline has no periodic events: before a packet arrives or departs it makes up for every update
//! instant that has passed. Nothing that an update reads changes in between, so each is exact.
//! Where the RFC differs with itself: the probability decays by 2 % while both delays are zero (s.4.2,
//! appendix A), not below half of the target (appendix B); PIE becomes inactive below half of the
//! target (s.5.3), not at zero (appendix B); accu_prob_ does not grow during the burst allowance
//! (appendix A's order of tests), nor without `derandomise`.
//! Left out: the enqueue-based estimate at the end of s.5.2, Linux's non-linear step above 250 ms and its
//! byte mode.

use super::drop_tail::check_limit;
use super::{Backlog, DropWhy, Place, QueueCx, QueueDisc};
use crate::events::random::Stream;
use crate::packet::Packet;
use crate::params::{Code, Faults, ParamType};
use crate::queue::parts::departure_rate::DepartureRate;
use crate::queue::parts::gauge::Level;
use crate::queue::parts::held::Held;
use shallows_units::{Bytes, Size, Span, Time};

crate::choices! {
    /// How the queueing delay is measured.
    pub enum Latency {
        /// The wait of the last departing packet.
        Timestamps = "timestamps",
        /// The time that the bytes held take at the rate at which packets depart.
        DepartureRate = "departure_rate",
    }
}

crate::params! {
    /// PIE. A controller holds the queueing delay at a target by dropping arrivals at random (RFC 8033).
    pub struct Settings {
        /// Most that the queue may hold, in bytes or packets, or "none".
        limit: Option<Size> = "1000pkt", "[1pkt, ]", "Linux tc-pie";
        /// Delay at which the queue is held.
        target: Span = "15ms", "", "RFC 8033 s.4.2: QDELAY_REF; s.8: 15 us in a data centre";
        /// Time between updates of the probability.
        interval: Span = "15ms", "[1us, ]", "RFC 8033 s.4.2: T_UPDATE";
        /// Integral gain an update, in Hz.
        alpha: f64 = 0.125, "[0, ]", "RFC 8033 appendix A; s.4.2: x 100 for a target of 150 us";
        /// Proportional gain an update, in Hz.
        beta: f64 = 1.25, "[0, ]", "RFC 8033 appendix A; s.4.2: x 100 for a target of 150 us";
        /// Time from the start of congestion during which nothing is dropped.
        max_burst: Span = "150ms", "", "RFC 8033 s.4.4: MAX_BURST; s.8: 150 us in a data centre";
        /// Probability from which ECN-capable packets are dropped like any other; 0 ignores ECN.
        mark_ecnth: f64 = 0.1, "[0, 1]", "RFC 8033 s.5.1";
        /// Two packets of this size are never too much in the queue.
        mean_packet: Bytes = "1500B", "", "RFC 8033 s.4.1: MEAN_PKTSIZE";
        /// How the queueing delay is measured.
        latency: Latency = "timestamps", "", "RFC 8033 appendix A; s.4.3 allows both";
        /// Bytes that one measurement of the departure rate takes.
        dq_threshold: Bytes = "16384B", "[1B, 65536B]", "RFC 8033 appendix B: DQ_THRESHOLD, 2^14";
        /// Share of the limit from which PIE works, until congestion ends, or "none": it always works.
        active_from: Option<f64> = "none", "[0, 1]", "RFC 8033 s.5.3: optional; 1/3 of the tail drop threshold";
        /// Whether drops are kept from falling too close together or too far apart.
        derandomise: bool = false, "", "RFC 8033 s.5.4: optional";
        /// Whether a high probability rises by at most 2 % an update.
        cap_adjustment: bool = true, "", "RFC 8033 s.5.5: optional; Linux has it";
    }
}

impl Settings {
    /// Settings that contradict each other.
    pub fn check(&self, path: &str, faults: &mut Faults) {
        check_limit(self.limit, path, faults);
        if self.active_from.is_some() && self.limit.is_none() {
            let rule = "is a share of the limit and needs a limit other than \"none\" (RFC 8033 s.5.3)";
            faults.add(&format!("{path}.active_from"), Code::Conflict.rule(rule), &self.active_from.show());
        }
    }
}

/// `share` of `limit`, at least a packet or byte.
fn share_of(share: f64, limit: Option<Size>) -> Level {
    let part = |whole: u64| ((whole as f64 * share) as u64).max(1);
    Level::new(limit.map(|limit| match limit {
        Size::Packets(packets) => Size::Packets(part(packets)),
        Size::Bytes(bytes) => Size::Bytes(Bytes(part(bytes.as_u64()))),
    }))
}

/// The discipline at work.
#[derive(Debug)]
pub struct Discipline {
    settings: Settings,
    limit: Level,
    random: Stream,
    held: Held,
    /// RFC 8033's drop_prob_.
    p: f64,
    /// Delay measured last, in seconds: current_qdelay.
    delay: f64,
    /// Delay at the last update: qdelay_old_.
    before: f64,
    /// burst_allowance_.
    burst: Span,
    /// accu_prob_.
    accumulated: f64,
    next: Time,
    rate: DepartureRate,
    /// active_.
    active: bool,
    /// Where it becomes active.
    active_from: Level,
}

impl Discipline {
    /// Ready to run.
    pub fn new(settings: &Settings, place: Place) -> Self {
        Discipline {
            limit: Level::new(settings.limit),
            random: place.random,
            held: Held::default(),
            p: 0.0,
            delay: 0.0,
            before: 0.0,
            burst: settings.max_burst,
            accumulated: 0.0,
            next: Time::ZERO + settings.interval,
            rate: DepartureRate::new(settings.dq_threshold.as_u64()),
            active: settings.active_from.is_none(),
            active_from: settings.active_from.map_or(Level::NEVER, |share| share_of(share, settings.limit)),
            settings: settings.clone(),
        }
    }

    /// Does the updates that were due by `now`.
    fn catch_up(&mut self, now: Time) {
        let interval = self.settings.interval;
        while self.active && self.next <= now {
            if self.settings.latency == Latency::DepartureRate {
                self.delay = self.rate.delay(self.held.bytes());
            }
            self.update();
            self.next += interval;
            let at_rest = self.p == 0.0 && self.delay == 0.0 && self.before == 0.0;
            if at_rest && self.burst == Span::ZERO && self.next <= now {
                // Nothing changes before a packet comes or departs.
                let missed = (now - self.next).as_ps() / interval.as_ps() + 1;
                self.next += interval * missed;
            }
        }
    }

    /// RFC 8033 appendix A, `calculate_drop_prob`.
    fn update(&mut self) {
        let Settings { alpha, beta, target, interval, cap_adjustment, .. } = self.settings;
        let mut step = alpha * (self.delay - target.as_secs_f64()) + beta * (self.delay - self.before);
        step /= match self.p {
            p if p < 0.000_001 => 2048.0,
            p if p < 0.000_01 => 512.0,
            p if p < 0.000_1 => 128.0,
            p if p < 0.001 => 32.0,
            p if p < 0.01 => 8.0,
            p if p < 0.1 => 2.0,
            _ => 1.0,
        };
        if cap_adjustment && self.p >= 0.1 {
            step = step.min(0.02); // s.5.5
        }
        self.p += step;
        if self.delay == 0.0 && self.before == 0.0 {
            self.p *= 0.98;
        }
        self.p = self.p.clamp(0.0, 1.0);
        self.before = self.delay;
        self.burst = self.burst.saturating_sub(interval);
    }

    /// RFC 8033 appendices A and B, `drop_early`.
    fn drop_early(&mut self) -> bool {
        let half = self.settings.target.as_secs_f64() / 2.0;
        if (self.before < half && self.p < 0.2) || self.held.bytes() <= 2 * self.settings.mean_packet.as_u64()
        {
            return false;
        }
        if self.settings.derandomise {
            // s.5.4.
            self.accumulated = if self.p == 0.0 { 0.0 } else { self.accumulated + self.p };
            if self.accumulated < 0.85 {
                return false;
            }
            if self.accumulated >= 8.5 {
                return true;
            }
        }
        self.random.chance(self.p)
    }
}

impl Discipline {
    /// RFC 8033 s.5.3 and appendix B, when `packets` and `bytes` are held and congestion has `ended`.
    fn update_active(&mut self, held: (u64, u64), ended: bool, now: Time) {
        if !self.active && self.active_from.is_reached(held) {
            (self.p, self.delay, self.before, self.accumulated) = (0.0, 0.0, 0.0, 0.0);
            self.rate.restart(now);
            self.burst = self.settings.max_burst;
            self.next = now + self.settings.interval;
            self.active = true;
        } else if self.active && ended && !self.active_from.is_reached(held) {
            self.rate.stop();
            self.active = false;
        }
    }
}

impl QueueDisc for Discipline {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut QueueCx<'_>) {
        self.catch_up(cx.now);
        let packets = self.held.packets() + u64::from(cx.serving > 0) + 1;
        let bytes = self.held.bytes() + cx.serving + u64::from(packet.size);
        if self.limit.is_below((packets, bytes)) {
            self.accumulated = 0.0;
            return cx.drop(packet, DropWhy::Full);
        }
        let half = self.settings.target.as_secs_f64() / 2.0;
        let ended = self.p == 0.0 && self.delay < half && self.before < half;
        if ended {
            self.burst = self.settings.max_burst;
        }
        if self.settings.active_from.is_some() {
            self.update_active((packets, bytes), ended, cx.now);
        }
        if self.active && self.burst == Span::ZERO && self.drop_early() {
            self.accumulated = 0.0;
            // s.5.1.
            if self.p >= self.settings.mark_ecnth || !cx.mark(&mut packet) {
                return cx.drop(packet, DropWhy::Aqm);
            }
        }
        self.held.push(packet);
    }

    fn dequeue(&mut self, cx: &mut QueueCx<'_>) -> Option<Packet> {
        self.catch_up(cx.now);
        let packet = self.held.pop();
        match (&packet, self.settings.latency) {
            (Some(packet), Latency::DepartureRate) => {
                self.rate.departed(packet.size, self.held.bytes(), cx.now);
            }
            (None, Latency::DepartureRate) => {}
            (Some(packet), Latency::Timestamps) if !self.held.is_empty() => {
                self.delay = (cx.now - packet.at).as_secs_f64();
            }
            (_, Latency::Timestamps) => self.delay = 0.0,
        }
        packet
    }

    fn backlog(&self) -> Backlog {
        self.held.backlog()
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("p", self.p);
    }
}

#[cfg(test)]
mod tests;
