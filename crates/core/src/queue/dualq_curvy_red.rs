//! DualQ Coupled with Curvy RED: a low-latency queue beside a classic one, coupled by two slopes.
//!
//! Source: De Schepper, Bondarenko, Tsang and Briscoe 2015, "Data Center to the Home" (slides):
//! p_classic = (p_low / 8)^2, three parameters; RFC 9332 appendix B figs. 9, 10. A packet is marked or
//! dropped as it departs.
//! A slope of n bits makes a probability of 2^n a second of classic queue; the RFC's S_C and S_L are
//! the same with the sign changed (range_C = 2^S_C seconds). Measured in bytes, the queue counts as the
//! time that its bytes take at the port's rate, so that the same three parameters serve both ways; a
//! slope in bits a byte is log2(rate / 8) less. Either way a queue is the one that the departing packet leaves
//! behind, as fig. 10 measures after its dequeue: how long the packet now at the head has waited
//! ("zero if empty"), or the bytes held. So a packet that is alone is never marked for its own wait.
//!
//! On an idle port fig. 10 marks at once: line 9a updates the average only when a classic packet
//! departs, so that the last ones leave an average behind by which low-latency packets are marked until the
//! next classic packet, however late. Note 4 allows other filters, and min(Q_C, cq.time()) by
//! name. `fall` chooses; its default, a deviation, counts a low-latency departure beside an empty
//! classic queue as a measurement of zero, which leaves a busy classic queue's average as the figure has it.
//! Packets of one flow with different codepoints go through different queues and may overtake each other.
//! With strict priority, as in the slides, low-latency traffic at the port's rate starves the classic
//! queue and, by line 9a, meets no coupling (s.4.2.2 warns of it).
//! Left out: the integer form of fig. 11, overload protection (appendix B has none).

use super::drop_tail::check_limit;
use super::{Backlog, DropWhy, InnerQueues, Place, QueueCx, QueueDisc};
use crate::events::random::Stream;
use crate::packet::Packet;
use crate::params::Faults;
use crate::queue::parts::classify::Classifier;
use crate::queue::parts::dual::{Dual, Scheduler};
use crate::queue::parts::gauge::Level;
use crate::queue::parts::held::Held;
use crate::queue::parts::slope::{Unit, largest, seconds};
use shallows_units::{Rate, Size, Span, Time};

crate::choices! {
    /// How the average of the classic queue falls while no classic packet departs.
    pub enum Fall {
        /// By a measurement of zero for each low-latency packet that departs beside an empty classic queue.
        Decay = "decay",
        /// Not at all: RFC 9332 fig. 10.
        Keep = "keep",
        /// At once: the smaller of average and present queue counts (RFC 9332 s.B.1 note 4).
        Min = "min",
    }
}

crate::params! {
    /// DualQ Coupled with Curvy RED. A low-latency queue beside a classic one, coupled by two slopes
    /// (RFC 9332 appendix B).
    pub struct Settings {
        /// Most that both queues together may hold, in bytes or packets, or "none".
        limit: Option<Size> = "10000pkt", "[1pkt, ]", "as dualpi2; RFC 9332 fig. 9: 250 ms at the link's rate";
        /// Which packets go to the low-latency queue.
        classify: Classifier = "any_ect", "", "the slides: DCTCP is ECT, CUBIC is not";
        /// How the queues are measured.
        measure: Unit = "time", "", "the slides: in time is important for fairness";
        /// Classic slope in bits: the root of the classic probability is the classic queue in seconds
        /// times 2 to this.
        classic_slope: f64 = 1.0, "", "RFC 9332 fig. 9: S_C = -1";
        /// Low-latency slope in bits: its probability is the classic queue in seconds times 2 to this.
        low_slope: f64 = 4.0, "", "the slides: classic slope + 3, so that p_classic = (p_low / 8)^2";
        /// Wait from which the low-latency queue is marked in any case.
        threshold: Span = "1ms", "", "RFC 9332 fig. 9: T";
        /// Threshold as an amount left behind by the departing packet instead, or "none".
        threshold_size: Option<Size> = "none", "", "the slides: DCTCP's threshold K";
        /// Weight of a new measurement in the average of the classic queue.
        smoothing: f64 = 0.03125, "(0, 1]", "RFC 9332 fig. 9: g_C = 5; 1 takes the instant";
        /// How that average falls while no classic packet departs.
        fall: Fall = "decay", "", "RFC 9332 s.B.1: keep by fig. 10, min by note 4; see this page's head";
        /// Curviness U: probabilities rise with the queue to this power, classic ones to twice it.
        curviness: u64 = 1, "[1, 16]", "RFC 9332 s.B.1: only 1 has been used in experiments so far";
        /// Classic queue below which there is no coupling and no drop.
        min_delay: Span = "0s", "", "the slides: slopes from the origin; RFC 9332 fig. 9 prints a minTh of 500 ms, as long as its whole ramp";
        /// Which queue is served next.
        scheduler: Scheduler = "priority", "", "the slides; RFC 9332 fig. 10: ts_fifo";
        /// Handicap of the classic queue in a time-shifted FIFO.
        time_shift: Span = "50ms", "", "RFC 9332 fig. 9: tshift";
        /// Classic queue's share of a weighted round robin.
        classic_weight: f64 = 0.0625, "(0, 1)", "RFC 9332 s.B.1 note 2: 1/16";
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
    queues: Dual,
    random: Stream,
    rate: Rate,
    measure: Unit,
    classic_gain: f64,
    low_gain: f64,
    threshold: f64,
    threshold_size: Option<Level>,
    smoothing: f64,
    fall: Fall,
    curviness: u64,
    min_delay: f64,
    /// Average of the classic queue in seconds: RFC 9332's Q_C.
    average: f64,
}

impl Discipline {
    /// Ready to run.
    pub fn new(settings: &Settings, place: Place) -> Self {
        let s = settings;
        Discipline {
            queues: Dual::new(s.limit, s.classify, s.scheduler, s.time_shift, s.classic_weight),
            random: place.random,
            rate: place.rate,
            measure: s.measure,
            classic_gain: libm::exp2(s.classic_slope),
            low_gain: libm::exp2(s.low_slope),
            threshold: s.threshold.as_secs_f64(),
            threshold_size: s.threshold_size.map(|size| Level::new(Some(size))),
            smoothing: s.smoothing,
            fall: s.fall,
            curviness: s.curviness,
            min_delay: s.min_delay.as_secs_f64(),
            average: 0.0,
        }
    }

    /// A queue in seconds, as it stands at `now`.
    fn queue(&self, line: &Held, now: Time) -> f64 {
        match self.measure {
            Unit::Time => line.wait(now).as_secs_f64(),
            Unit::Bytes => seconds(line.bytes(), self.rate),
        }
    }

    /// RFC 9332 fig. 10 line 9a: Q_C = gamma x cq.time() + (1 - gamma) x Q_C.
    fn smooth(&mut self, queue: f64) {
        self.average += self.smoothing * (queue - self.average);
    }

    /// The part of the classic queue that counts, when it stands at `present`.
    fn excess(&self, present: f64) -> f64 {
        let average = if self.fall == Fall::Min { self.average.min(present) } else { self.average };
        (average - self.min_delay).max(0.0)
    }

    /// The fate of a packet about to depart, already out of its queue; false where it is to be
    /// dropped.
    fn pass(&mut self, low: bool, packet: &mut Packet, cx: &mut QueueCx<'_>) -> bool {
        let classic = self.queue(&self.queues.classic, cx.now);
        if low {
            if self.fall == Fall::Decay && self.queues.classic.is_empty() {
                self.smooth(0.0);
            }
            let above = match &self.threshold_size {
                Some(level) => level.is_below((self.queues.low.packets(), self.queues.low.bytes())),
                None => self.queue(&self.queues.low, cx.now) > self.threshold,
            };
            // RFC 9332 fig. 10 lines 5a-5c.
            let coupled = self.low_gain * self.excess(classic);
            if above || coupled > largest(self.curviness, &mut self.random) {
                cx.mark(packet);
            }
            return true;
        }
        self.smooth(classic);
        // Lines 10a-15: the root of the probability against the largest of twice as many random numbers.
        let root = self.classic_gain * self.excess(classic);
        let congested = root > largest(2 * self.curviness, &mut self.random);
        !congested || cx.mark(packet)
    }
}

impl QueueDisc for Discipline {
    fn enqueue(&mut self, packet: Packet, cx: &mut QueueCx<'_>) {
        self.queues.enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut QueueCx<'_>) -> Option<Packet> {
        loop {
            let (low, mut packet) = self.queues.pop(cx.now)?;
            if self.pass(low, &mut packet, cx) {
                self.queues.sent(low, packet.size);
                return Some(packet);
            }
            cx.drop(packet, DropWhy::Aqm);
        }
    }

    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn inner(&self) -> Option<&dyn InnerQueues> {
        Some(&self.queues)
    }

    fn rate_changes(&mut self, rate: Rate) {
        self.rate = rate;
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        let power = self.curviness as f64;
        put("p", libm::pow((self.low_gain * self.average).min(1.0), power));
        put("coupling", libm::pow(self.low_gain / self.classic_gain, power));
        put("l_packets", self.queues.low.packets() as f64);
        put("c_packets", self.queues.classic.packets() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Flags;
    use crate::packet::tests::packet;
    use crate::params::Params;
    use crate::queue::test_bench::conforms;

    fn place(rate: Rate) -> Place {
        Place { rate, last_hop: false, random: Stream::new(7, "queue", 0) }
    }

    /// Marks and drops among 20 000 packets of one kind with the classic queue at `average` seconds.
    fn shares(settings: &Settings, average: f64, low: bool) -> (f64, f64) {
        let mut disc = Discipline::new(settings, place(Rate::mbps(40)));
        let mut dropped = vec![];
        let now = Time::ZERO + Span::s(1);
        let mut cx = QueueCx::new(now, 0, now, &mut dropped);
        let wait = Span::ps((average * 1e12) as u64);
        disc.queues.classic.push(Packet { at: now - wait, ..packet(1500) });
        let flags = if low { Flags::ECT0 } else { Flags::default() };
        let n = 20_000;
        let mut drops = 0;
        for _ in 0..n {
            disc.average = average;
            let mut packet = Packet { at: now, flags, ..packet(1500) };
            drops += u32::from(!disc.pass(low, &mut packet, &mut cx));
        }
        (cx.marked() as f64 / f64::from(n), f64::from(drops) / f64::from(n))
    }

    fn near(share: f64, expected: f64) {
        let four_errors = 4.0 * (expected * (1.0 - expected) / 20_000.0).sqrt();
        assert!((share - expected).abs() <= four_errors, "{share} is not {expected}");
    }

    #[test]
    fn the_curve_is_a_line_and_its_square_an_eighth_as_steep() {
        let settings = Settings::defaults();
        for average in [0.0, 0.005, 0.02, 0.04] {
            let p_low = 16.0 * average; // 2^4
            near(shares(&settings, average, true).0, p_low);
            near(shares(&settings, average, false).1, (p_low / 8.0) * (p_low / 8.0));
        }
        near(shares(&settings, 0.1, true).0, 1.0);
        near(shares(&settings, 0.6, false).1, 1.0);
    }

    #[test]
    fn below_the_least_delay_nothing_happens() {
        let settings = Settings { min_delay: Span::ms(20), ..Settings::defaults() };
        assert_eq!(shares(&settings, 0.02, true).0, 0.0);
        near(shares(&settings, 0.04, true).0, 16.0 * 0.02);
    }

    #[test]
    fn the_average_is_the_rfcs() {
        let mut disc = Discipline::new(&Settings::defaults(), place(Rate::mbps(40)));
        disc.smooth(0.032);
        assert_eq!(disc.average, 0.001); // gamma = 1/32
        disc.smooth(0.0);
        assert_eq!(disc.average, 0.001 * 31.0 / 32.0);
    }

    #[test]
    fn a_queue_is_measured_in_time_or_bytes() {
        let by = |measure| {
            let settings = Settings { measure, ..Settings::defaults() };
            let mut disc = Discipline::new(&settings, place(Rate::mbps(40)));
            let at = |ms| Time::ZERO + Span::ms(ms);
            assert_eq!(disc.queue(&disc.queues.classic, at(7)), 0.0); // "zero if empty"
            (0..50).for_each(|ms| disc.queues.classic.push(Packet { at: at(ms), ..packet(1000) }));
            disc.queue(&disc.queues.classic, at(7))
        };
        assert_eq!(by(Unit::Time), 0.007);
        assert_eq!(by(Unit::Bytes), 0.010); // 400 kb at 40 Mb/s
    }

    #[test]
    fn the_threshold_marks_whatever_the_classic_queue() {
        let marks = |settings: &Settings, wait, behind: u32| {
            let mut disc = Discipline::new(settings, place(Rate::mbps(40)));
            let now = Time::ZERO + Span::s(1);
            for _ in 0..behind {
                disc.queues.low.push(Packet { at: now - wait, ..packet(1500) });
            }
            let mut dropped = vec![];
            let mut cx = QueueCx::new(now, 0, now, &mut dropped);
            disc.pass(true, &mut Packet { at: now - wait, ..packet(1500) }, &mut cx);
            cx.marked()
        };
        let settings = Settings::defaults();
        assert_eq!([marks(&settings, Span::ms(1), 9), marks(&settings, Span::us(1001), 1)], [0, 1]);
        assert_eq!(marks(&settings, Span::s(1), 0), 0); // alone
        let bytes = Settings { measure: Unit::Bytes, ..settings.clone() }; // 1 ms is 5000 bytes
        assert_eq!([marks(&bytes, Span::s(1), 3), marks(&bytes, Span::ZERO, 4)], [0, 1]);
        let size = Settings { threshold_size: Some(Size::Packets(5)), ..settings };
        assert_eq!([marks(&size, Span::s(1), 5), marks(&size, Span::ZERO, 6)], [0, 1]);
    }

    /// Marks among 320 low-latency packets after the classic queue, at 50 ms on average, is gone.
    #[test]
    fn a_classic_queue_that_is_gone_is_kept_decays_or_is_forgotten() {
        let marks = |fall| {
            let settings = Settings { fall, low_slope: 10.0, ..Settings::defaults() }; // 50 ms is certainty
            let mut disc = Discipline::new(&settings, place(Rate::mbps(40)));
            disc.average = 0.05;
            let mut dropped = vec![];
            let mut cx = QueueCx::new(Time::ZERO, 0, Time::ZERO, &mut dropped);
            (0..320).for_each(|_| {
                disc.pass(true, &mut packet(1500), &mut cx);
            });
            cx.marked()
        };
        assert_eq!([marks(Fall::Keep), marks(Fall::Min)], [320, 0]);
        // Certain for ln(51.2) / ln(32/31) = 123 packets, then the sum of (31/32)^n: 31 more.
        let decay = marks(Fall::Decay);
        assert!((135..175).contains(&decay), "{decay}");
    }

    #[test]
    fn curviness_is_the_power_of_the_curve() {
        let settings = Settings { curviness: 2, ..Settings::defaults() };
        near(shares(&settings, 0.04, true).0, 0.64 * 0.64);
        near(shares(&settings, 0.4, false).1, libm::pow(0.8, 4.0));
        let mut found = 0.0;
        let disc = Discipline::new(&settings, place(Rate::mbps(40)));
        disc.observe(&mut |name, value| found = if name == "coupling" { value } else { found });
        assert_eq!(found, 64.0);
    }

    #[test]
    fn it_keeps_the_rules() {
        for measure in Unit::ALL {
            for scheduler in Scheduler::ALL {
                let limit = Some(Size::Packets(100));
                let settings = Settings { measure, scheduler, limit, ..Settings::defaults() };
                conforms(|rate| Box::new(Discipline::new(&settings, place(rate))), 100);
            }
        }
    }
}
