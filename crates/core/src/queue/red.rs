//! RED: packets are marked or dropped with a probability that rises with the average queue.
//!
//! Source: Floyd and Jacobson 1993, "Random Early Detection Gateways for Congestion Avoidance",
//! IEEE/ACM ToN 1(4), fig. 2; gentle mode: Floyd 2000, "Recommendation on using the gentle_ variant of
//! RED". The thresholds' unit, packets or bytes, is the unit in which the queue is averaged.
//!
//! Left out: ns-2's classes with weights and priorities; adaptive RED (`tc-red` has Linux's).

use super::drop_tail::{self, check_limit};
use super::{Admission, Backlog, DropWhy, Place, Verdict};
use crate::events::random::Stream;
use crate::packet::Packet;
use crate::params::{Code, Faults};
use crate::queue::parts::gauge::{Gauge, Measure};
use shallows_units::{Bytes, Rate, Size, Span, Time};

crate::choices! {
    /// How the packets between two marks are counted.
    pub enum Spacing {
        /// Uniform from 1 to 1/p - 1 packets: the paper's figure 2.
        Uniform = "uniform",
        /// Uniform from 1/p to 2/p - 1 packets: ns-2's `wait_`.
        Wait = "wait",
        /// Each packet for itself, so geometric: method 1 of the paper.
        Independent = "independent",
    }
}

crate::params! {
    /// Random early detection. Packets are marked or dropped with a probability that rises with the
    /// average queue.
    pub struct Settings {
        /// Most that the queue may hold, in bytes or packets, or "none".
        limit: Option<Size> = "250pkt", "[1pkt, ]", "as the threshold queue";
        /// Average queue min_th below which nothing is marked, in bytes or packets. 0: half the rate's bytes in
        /// target_delay, at least 5 mean packets.
        min: Size = "5pkt", "", "Floyd 1997, Discussions of setting parameters, not verified; ns-2 since 2001: thresh_ 0, red.cc initialize_params";
        /// Average queue max_th at which the probability is max_p, in the unit of min. 0: three times min_th.
        max: Size = "15pkt", "", "Floyd 1997: three times min_th, as tc-red has it too; ns-2 since 2001: maxthresh_ 0";
        /// Wait from which min_th follows, if min is 0.
        target_delay: Span = "5ms", "(0s, 100s]", "ns-2: targetdelay_";
        /// Weight w_q of a new queue length in the average.
        w_q: f64 = 0.002, "(0, 1]", "Floyd and Jacobson 1993 s.6";
        /// Probability max_p just below max.
        max_p: f64 = 0.1, "(0, 1]", "Floyd 1997, not verified; 0.02 in the paper of 1993";
        /// Whether the probability rises from max_p to 1 between max and twice max, instead of at once.
        gentle: bool = true, "", "Floyd 2000";
        /// How the packets between two marks are counted.
        spacing: Spacing = "uniform", "", "Floyd and Jacobson 1993 fig. 2 and s.7, method 2";
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: bool = true, "", "Floyd and Jacobson 1993 s.4: marks or drops; RFC 3168";
        /// Whether ECN-capable packets too are dropped when the probability is 1.
        hard_drop: bool = false, "", "Floyd and Jacobson 1993 fig. 2 marks; RFC 3168 s.7 recommends true";
        /// Whether the probability is in proportion to the packet's size.
        by_size: bool = false, "", "Floyd and Jacobson 1993 s.4: the option that measures bytes";
        /// Largest packet, which has the whole probability under by_size.
        max_packet: Bytes = "1500B", "[1B, ]", "Ethernet";
        /// Mean packet, whose transmission time is the step by which the average decays while idle.
        mean_packet: Bytes = "1500B", "[1B, ]", "Ethernet; Floyd and Jacobson 1993 s.4: s, a typical time";
        /// Whether the packet being transmitted counts as queued.
        count_in_service: bool = true, "", "a switch's buffer holds a packet until its last bit has left";
    }
}

fn is_zero(size: Size) -> bool {
    matches!(size, Size::Packets(0) | Size::Bytes(Bytes(0)))
}

impl Settings {
    /// min_th and max_th in packets or bytes at a port of `rate`.
    fn thresholds(&self, rate: Rate) -> (f64, f64) {
        let level = |size: Size| match size {
            Size::Packets(packets) => packets as f64,
            Size::Bytes(bytes) => bytes.as_u64() as f64,
        };
        // ns-2 red.cc initialize_params: ptc, packets of the mean size a second.
        let mean = self.mean_packet.as_u64() as f64;
        let ptc = rate.as_bps() as f64 / (8.0 * mean);
        let unit = if matches!(self.min, Size::Bytes(_)) { mean } else { 1.0 };
        let min = if is_zero(self.min) {
            (self.target_delay.as_secs_f64() * ptc / 2.0).max(5.0) * unit
        } else {
            level(self.min)
        };
        (min, if is_zero(self.max) { 3.0 * min } else { level(self.max) })
    }

    /// Settings that contradict each other.
    pub fn check(&self, path: &str, faults: &mut Faults) {
        check_limit(self.limit, path, faults);
        if is_zero(self.min) && !is_zero(self.max) {
            let rule = "must be 0 if min is 0: both follow from the rate";
            faults.add(&format!("{path}.max"), Code::Conflict.rule(rule), &self.max.to_string().into());
        }
        use std::cmp::Ordering::{Equal, Greater};
        match self.max.partial_cmp(&self.min) {
            Some(Greater) => {}
            Some(_) if is_zero(self.max) => {} // three times min
            order => {
                let rule = match order {
                    None => format!("must be in the unit of min, {}", self.min),
                    Some(Equal) => {
                        format!("must be above min, {}: the probability rises between them", self.min)
                    }
                    _ => format!("must be above min, {}", self.min),
                };
                faults.add(&format!("{path}.max"), Code::Conflict.rule(rule), &self.max.to_string().into());
            }
        }
        if let Some(limit) = self.limit
            && self.min.partial_cmp(&limit).is_some_and(|order| order.is_ge())
        {
            let rule =
                format!("must be below the limit of {limit}, or nothing is marked before it is dropped");
            faults.add(&format!("{path}.min"), Code::Conflict.rule(rule), &self.min.to_string().into());
        }
    }
}

/// The discipline at work; its state stands apart so that a port stays small.
#[derive(Debug, Clone)]
pub struct Discipline(Box<Red>);

#[derive(Debug, Clone)]
struct Red {
    settings: Settings,
    tail: drop_tail::Discipline,
    gauge: Gauge,
    in_bytes: bool,
    min: f64,
    max: f64,
    /// s: the time of a mean packet, in ps.
    step: f64,
    random: Stream,
    average: f64,
    /// Packets since the last mark; -1 below min.
    count: i64,
    last: Time,
}

impl Discipline {
    /// Ready to run.
    pub fn new(settings: &Settings, place: Place) -> Self {
        let Settings { limit, count_in_service, .. } = *settings;
        let (min, max) = settings.thresholds(place.rate);
        let tail = drop_tail::Settings { limit, count_in_service, measure: Measure::After };
        Discipline(Box::new(Red {
            tail: drop_tail::Discipline::new(&tail, place.clone()),
            gauge: Gauge::new(count_in_service, false),
            in_bytes: matches!(settings.min, Size::Bytes(_)),
            min,
            max,
            step: step(place.rate, settings.mean_packet),
            random: place.random,
            average: 0.0,
            count: -1,
            last: Time::ZERO,
            settings: settings.clone(),
        }))
    }
}

fn step(rate: Rate, mean_packet: Bytes) -> f64 {
    rate.transmit(mean_packet).as_ps() as f64
}

impl Red {
    /// Floyd and Jacobson 1993 fig. 2: "calculate the new average queue size".
    fn take_average(&mut self, backlog: Backlog, now: Time) {
        let (packets, bytes) = self.gauge.read(backlog, 0);
        let queue = if self.in_bytes { bytes } else { packets } as f64;
        let w_q = self.settings.w_q;
        if backlog.packets == 0 {
            // m = f(time - q_time) = idle / s; avg = (1 - w_q)^m avg. An arrival that was dropped has
            // had its share of the idle time already.
            let idle = now.saturating_sub(backlog.free_at.max(self.last)).as_ps() as f64;
            self.average *= libm::pow(1.0 - w_q, idle / self.step);
        } else {
            self.average += w_q * (queue - self.average);
        }
        self.last = now;
    }

    /// p_b for the present average: fig. 2, with Floyd 2000's second slope.
    fn probability(&self) -> f64 {
        let Settings { max_p, gentle, .. } = self.settings;
        if self.average < self.min {
            0.0
        } else if self.average < self.max {
            max_p * (self.average - self.min) / (self.max - self.min)
        } else if gentle && self.average < 2.0 * self.max {
            max_p + (1.0 - max_p) * (self.average - self.max) / self.max
        } else {
            1.0
        }
    }

    /// Whether the arriving packet is the one to mark, when each has `p_b`.
    fn choose(&mut self, p_b: f64) -> bool {
        // Fig. 2 counts the arriving packet too, so that 1/p_b packets never pass between two marks;
        // the text of s.7 counts one less (uniform from 1 to 1/p_b). ns-2 and Linux do as the figure.
        self.count += 1;
        let done = self.count as f64 * p_b;
        let p_a = match self.settings.spacing {
            // p_a = p_b / (1 - count p_b).
            Spacing::Uniform if done < 1.0 => p_b / (1.0 - done),
            Spacing::Wait if done < 1.0 => 0.0,
            Spacing::Wait if done < 2.0 => p_b / (2.0 - done),
            Spacing::Uniform | Spacing::Wait => 1.0,
            Spacing::Independent => p_b,
        };
        self.random.chance(p_a)
    }

    fn admit(&mut self, packet: &Packet, backlog: Backlog, now: Time) -> Verdict {
        self.take_average(backlog, now);
        if self.tail.is_full(self.tail.gauge().read(backlog, packet.size)) {
            self.count = 0;
            return Verdict::Drop(DropWhy::Full);
        }
        let p_b = self.probability();
        let chosen = if self.average < self.min {
            self.count = -1;
            false
        } else if p_b >= 1.0 {
            true
        } else {
            // Fig. 2, the option that measures bytes: p_b = p_b PacketSize / MaximumPacketSize.
            let share = f64::from(packet.size) / self.settings.max_packet.as_u64() as f64;
            self.choose(if self.settings.by_size { (p_b * share).min(1.0) } else { p_b })
        };
        if !chosen {
            return Verdict::Pass;
        }
        self.count = 0;
        let hard = self.settings.hard_drop && p_b >= 1.0;
        if self.settings.ecn && packet.ecn_capable() && !hard {
            Verdict::Mark
        } else {
            Verdict::Drop(DropWhy::Aqm)
        }
    }
}

impl Admission for Discipline {
    fn admit(&mut self, packet: &Packet, backlog: Backlog, now: Time) -> Verdict {
        self.0.admit(packet, backlog, now)
    }

    fn rate_changes(&mut self, rate: Rate) {
        self.0.step = step(rate, self.0.settings.mean_packet);
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("average", self.0.average);
        put("probability", self.0.probability());
    }
}

#[cfg(test)]
mod tests;
