//! PIE: a controller holds the queueing delay at a target by dropping arrivals at random.
//!
//! Source: RFC 8033 s.4, s.5.1, s.5.4, s.5.5, appendices A and B. The delay is measured by timestamps, as
//! appendix A and Linux's default have it: what the last departing packet waited, and zero once the
//! queue is empty (Linux; the appendix leaves open what an idle queue's delay is).
//! A discipline has no periodic events: before a packet arrives or departs it makes up for every update
//! instant that has passed. The delay only changes at departures, so each update is exact.
//! Left out: the delay from the departure rate (s.5.2), turning itself off when idle (s.5.3), Linux's
//! non-linear step above 250 ms and its byte mode.

use super::drop_tail::check_limit;
use super::dual::Line;
use super::gauge::Level;
use super::{Backlog, DropWhy, Place, QueueCx, QueueDisc};
use crate::engine::random::Stream;
use crate::net::packet::Packet;
use crate::params::Faults;
use shallows_units::{Bytes, Size, Span, Time};

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
    }
}

/// The discipline at work.
#[derive(Debug)]
pub struct Discipline {
    settings: Settings,
    limit: Level,
    random: Stream,
    held: Line,
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
}

impl Discipline {
    /// Ready to run.
    pub fn new(settings: &Settings, place: Place) -> Self {
        Discipline {
            limit: Level::new(settings.limit),
            random: place.random,
            held: Line::default(),
            p: 0.0,
            delay: 0.0,
            before: 0.0,
            burst: settings.max_burst,
            accumulated: 0.0,
            next: Time::ZERO + settings.interval,
            settings: settings.clone(),
        }
    }

    /// Does the updates that were due by `now`.
    fn catch_up(&mut self, now: Time) {
        let interval = self.settings.interval;
        while self.next <= now {
            self.update();
            self.next += interval;
            let at_rest = self.p == 0.0 && self.delay == 0.0 && self.before == 0.0;
            if at_rest && self.burst == Span::ZERO && self.next <= now {
                // Nothing changes before a packet departs.
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

impl QueueDisc for Discipline {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut QueueCx<'_>) {
        self.catch_up(cx.now);
        let packets = self.held.len() + u64::from(cx.serving > 0) + 1;
        let bytes = self.held.bytes() + cx.serving + u64::from(packet.size);
        if self.limit.is_below((packets, bytes)) {
            self.accumulated = 0.0;
            return cx.drop(packet, DropWhy::Full);
        }
        let half = self.settings.target.as_secs_f64() / 2.0;
        if self.p == 0.0 && self.delay < half && self.before < half {
            self.burst = self.settings.max_burst;
        }
        if self.burst == Span::ZERO && self.drop_early() {
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
        self.delay = match &packet {
            Some(packet) if !self.held.is_empty() => (cx.now - packet.at).as_secs_f64(),
            _ => 0.0,
        };
        packet
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.held.len(), bytes: self.held.bytes(), ..Backlog::default() }
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("p", self.p);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::packet::Flags;
    use crate::net::packet::tests::packet;
    use crate::params::Params;
    use crate::queue::bench::{Seen, conforms, drive, load};
    use shallows_units::Rate;

    fn discipline(settings: &Settings) -> Discipline {
        Discipline::new(settings, Place { rate: Rate::mbps(40), random: Stream::new(7, "queue", 0) })
    }

    fn near(x: f64, y: f64) {
        assert!((x - y).abs() < 1e-15, "{x} is not {y}");
    }

    #[test]
    fn the_steps_are_those_computed_by_hand() {
        let mut disc = discipline(&Settings::defaults());
        disc.delay = 0.025;
        disc.update(); // (0.125 x 0.010 + 1.25 x 0.025) / 2048
        near(disc.p, 0.0325 / 2048.0);
        disc.update(); // at 1.6e-5: + 0.125 x 0.010 / 128
        near(disc.p, 0.0325 / 2048.0 + 0.00125 / 128.0);
        // The scale at each decade: 15 ms more than before, at the target's 15 ms, is 1.25 x 0.015.
        let scales = [(5e-7, 2048.0), (5e-6, 512.0), (5e-5, 128.0), (5e-4, 32.0), (5e-3, 8.0), (0.05, 2.0)];
        for (p, scale) in scales {
            (disc.p, disc.delay, disc.before) = (p, 0.015, 0.0);
            disc.update();
            near(disc.p, p + 0.01875 / scale);
        }
        (disc.p, disc.delay, disc.before) = (0.1, 0.035, 0.015);
        disc.update(); // 0.125 x 0.020 + 1.25 x 0.020 = 0.0275, capped
        near(disc.p, 0.12);
        let mut uncapped = discipline(&Settings { cap_adjustment: false, ..Settings::defaults() });
        (uncapped.p, uncapped.delay, uncapped.before) = (0.1, 0.035, 0.015);
        uncapped.update();
        near(uncapped.p, 0.1275);
    }

    #[test]
    fn without_delay_the_probability_decays() {
        let mut disc = discipline(&Settings::defaults());
        disc.p = 0.5;
        disc.update();
        near(disc.p, (0.5 - 0.125 * 0.015) * 0.98);
        disc.catch_up(Time::ZERO + Span::s(1000));
        assert_eq!(disc.p, 0.0);
        assert!(disc.next > Time::ZERO + Span::s(1000));
        assert_eq!(disc.next.as_ps() % Span::ms(15).as_ps(), 0);
    }

    #[test]
    fn catching_up_late_equals_updating_in_time() {
        let (mut late, mut timely) = (discipline(&Settings::defaults()), discipline(&Settings::defaults()));
        (late.delay, timely.delay) = (0.040, 0.040);
        late.catch_up(Time::ZERO + Span::ms(300));
        (0..20).for_each(|_| timely.update());
        assert_eq!((late.p, late.before, late.burst), (timely.p, timely.before, timely.burst));
    }

    fn overload(settings: &Settings, flags: Flags, over: f64) -> Seen {
        let rate = Rate::mbps(40);
        drive(&mut discipline(settings), rate, load(&[flags], over, rate, 100_000))
    }

    #[test]
    fn a_burst_shorter_than_the_allowance_loses_nothing() {
        let rate = Rate::mbps(40);
        let settings = Settings { limit: None, ..Settings::defaults() };
        let mut disc = discipline(&settings);
        let seen = drive(&mut disc, rate, load(&[Flags::default()], 5.0, rate, 2400)); // 144 ms
        assert!(seen.dropped.is_empty());
        let none = Settings { max_burst: Span::ZERO, ..settings };
        let seen = drive(&mut discipline(&none), rate, load(&[Flags::default()], 5.0, rate, 2400));
        assert!(seen.drops(0) > 0);
    }

    #[test]
    fn an_overload_is_held_at_the_target() {
        for derandomise in [false, true] {
            let settings = Settings { derandomise, ..Settings::defaults() };
            let seen = overload(&settings, Flags::default(), 1.2);
            assert!((seen.drops(0) as f64 / 1e5 - 1.0 / 6.0).abs() < 0.01, "{}", seen.drops(0));
            let late: Vec<_> = seen.out.iter().filter(|(_, at)| *at > Time::ZERO + Span::s(10)).collect();
            let mean = late.iter().map(|(p, at)| (*at - p.at).as_secs_f64()).sum::<f64>() / late.len() as f64;
            assert!((mean - 0.015).abs() < 0.002, "{mean}");
        }
    }

    #[test]
    fn above_the_threshold_ecn_does_not_save_a_packet() {
        let seen = overload(&Settings::defaults(), Flags::ECT0, 1.2);
        assert!(seen.marks(0) > 0 && seen.drops(0) > 0);
        let deaf = overload(&Settings { mark_ecnth: 0.0, ..Settings::defaults() }, Flags::ECT0, 1.2);
        assert!(deaf.marks(0) == 0 && deaf.drops(0) > 0);
    }

    /// Distances between drops at a probability of 0.05.
    fn gaps(derandomise: bool) -> Vec<u32> {
        let mut disc = discipline(&Settings { derandomise, ..Settings::defaults() });
        (0..10).for_each(|_| disc.held.push(packet(1500)));
        (disc.p, disc.before) = (0.05, 0.030);
        let (mut gaps, mut gap) = (vec![], 0);
        for _ in 0..200_000 {
            gap += 1;
            if disc.drop_early() {
                disc.accumulated = 0.0;
                gaps.push(std::mem::take(&mut gap));
            }
        }
        gaps
    }

    #[test]
    fn derandomised_drops_keep_their_distance() {
        assert!(gaps(false).contains(&1));
        let gaps = gaps(true);
        assert!(gaps.iter().all(|gap| (17..=171).contains(gap))); // 0.85 / 0.05, 8.5 / 0.05
        let mean = f64::from(gaps.iter().sum::<u32>()) / gaps.len() as f64;
        assert!((mean - 36.0).abs() < 1.0, "{mean}"); // 16 spared, then 20 on average
    }

    #[test]
    fn it_keeps_the_rules() {
        for derandomise in [false, true] {
            let limit = Some(Size::Packets(100));
            let settings = Settings { derandomise, limit, ..Settings::defaults() };
            conforms(|_| Box::new(discipline(&settings)), 100);
        }
    }
}
