//! DualQ Coupled with Curvy RED: a low-latency queue beside a classic one, coupled by two slopes.
//!
//! Source: De Schepper, Bondarenko, Tsang and Briscoe 2015, "Data Center to the Home" (slides):
//! p_classic = (p_low / 8)^2, three parameters; RFC 9332 appendix B figs. 9, 10. A packet is marked or
//! dropped as it departs.
//! A slope of n bits makes a probability of 2^n a second of classic queue; the RFC's S_C and S_L are
//! the same with the sign changed (range_C = 2^S_C seconds). Measured in bytes, the queue counts as the
//! time that its bytes take at the port's rate, so that the same three parameters serve both ways; a
//! slope in bits a byte is log2(rate / 8) less. In time a queue is what the departing packet waited,
//! in bytes what it leaves behind.
//! Deviation: the RFC updates the average of the classic queue when a classic packet departs; here
//! low-latency packets that depart while the classic queue is empty do so too, or the last classic
//! packets would have them marked for ever. Packets of one flow with different codepoints go through
//! different queues and may overtake each other.
//! Left out: U > 1, the integer form of fig. 11, overload protection (appendix B has none).

use super::classify::Classifier;
use super::drop_tail::check_limit;
use super::dual::{Dual, Scheduler};
use super::gauge::Level;
use super::slope::{Unit, largest, seconds};
use super::{Backlog, DropWhy, Place, QueueCx, QueueDisc};
use crate::engine::random::Stream;
use crate::net::packet::Packet;
use crate::params::Faults;
use shallows_units::{Rate, Size, Span};

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
        /// Classic queue below which there is no coupling and no drop.
        min_delay: Span = "0s", "", "the slides: slopes from the origin; RFC 9332 fig. 9 has a minTh";
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
            min_delay: s.min_delay.as_secs_f64(),
            average: 0.0,
        }
    }

    /// The queue in seconds, when a packet that waited `wait` leaves `bytes` behind.
    fn queue(&self, wait: Span, bytes: u64) -> f64 {
        match self.measure {
            Unit::Time => wait.as_secs_f64(),
            Unit::Bytes => seconds(bytes, self.rate),
        }
    }

    /// RFC 9332 fig. 10 line 9a: Q_C = gamma x cq.time() + (1 - gamma) x Q_C.
    fn smooth(&mut self, queue: f64) {
        self.average += self.smoothing * (queue - self.average);
    }

    /// What of the classic queue counts.
    fn excess(&self) -> f64 {
        (self.average - self.min_delay).max(0.0)
    }

    /// The fate of a packet about to depart, already out of its queue; false where it is to be
    /// dropped.
    fn pass(&mut self, low: bool, packet: &mut Packet, cx: &mut QueueCx<'_>) -> bool {
        let wait = cx.now - packet.at;
        if low {
            if self.queues.classic.is_empty() {
                self.smooth(0.0);
            }
            let (length, bytes) = (self.queues.low.len(), self.queues.low.bytes());
            let above = match &self.threshold_size {
                Some(level) => level.is_below((length, bytes)),
                None => self.queue(wait, bytes) > self.threshold,
            };
            // RFC 9332 fig. 10 lines 5a-5c.
            if above || self.low_gain * self.excess() > largest(1, &mut self.random) {
                cx.mark(packet);
            }
            return true;
        }
        self.smooth(self.queue(wait, self.queues.classic.bytes()));
        // Lines 10a-15: the root of the probability against the larger of two random numbers.
        let congested = self.classic_gain * self.excess() > largest(2, &mut self.random);
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

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("p", (self.low_gain * self.excess()).min(1.0));
        put("l_packets", self.queues.low.len() as f64);
        put("c_packets", self.queues.classic.len() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::packet::Flags;
    use crate::net::packet::tests::packet;
    use crate::params::Params;
    use crate::queue::bench::conforms;
    use shallows_units::Time;

    fn place(rate: Rate) -> Place {
        Place { rate, random: Stream::new(7, "queue", 0) }
    }

    /// Marks and drops among 20 000 packets of one kind with the classic queue at `average` seconds.
    fn shares(settings: &Settings, average: f64, low: bool) -> (f64, f64) {
        let mut disc = Discipline::new(settings, place(Rate::mbps(40)));
        let mut dropped = vec![];
        let now = Time::ZERO + Span::s(1);
        let mut cx = QueueCx::new(now, 0, now, &mut dropped);
        disc.queues.classic.push(packet(1500));
        let wait = if low { Span::ZERO } else { Span::ps((average * 1e12) as u64) };
        let flags = if low { Flags::ECT0 } else { Flags::default() };
        let n = 20_000;
        let mut drops = 0;
        for _ in 0..n {
            disc.average = average;
            let mut packet = Packet { at: now - wait, flags, ..packet(1500) };
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
            Discipline::new(&settings, place(Rate::mbps(40))).queue(Span::ms(7), 50_000)
        };
        assert_eq!(by(Unit::Time), 0.007);
        assert_eq!(by(Unit::Bytes), 0.010); // 400 kb at 40 Mb/s
    }

    #[test]
    fn the_threshold_marks_whatever_the_classic_queue() {
        let marks = |settings: &Settings, wait, behind: u32| {
            let mut disc = Discipline::new(settings, place(Rate::mbps(40)));
            for _ in 0..behind {
                disc.queues.low.push(packet(1500));
            }
            let mut dropped = vec![];
            let now = Time::ZERO + Span::s(1);
            let mut cx = QueueCx::new(now, 0, now, &mut dropped);
            disc.pass(true, &mut Packet { at: now - wait, ..packet(1500) }, &mut cx);
            cx.marked()
        };
        let settings = Settings::defaults();
        assert_eq!([marks(&settings, Span::ms(1), 9), marks(&settings, Span::us(1001), 0)], [0, 1]);
        let bytes = Settings { measure: Unit::Bytes, ..settings.clone() }; // 1 ms is 5000 bytes
        assert_eq!([marks(&bytes, Span::s(1), 3), marks(&bytes, Span::ZERO, 4)], [0, 1]);
        let size = Settings { threshold_size: Some(Size::Packets(5)), ..settings };
        assert_eq!([marks(&size, Span::s(1), 5), marks(&size, Span::ZERO, 6)], [0, 1]);
    }

    #[test]
    fn a_classic_queue_that_is_gone_is_forgotten() {
        let mut disc = Discipline::new(&Settings::defaults(), place(Rate::mbps(40)));
        disc.average = 0.05;
        let mut dropped = vec![];
        let mut cx = QueueCx::new(Time::ZERO, 0, Time::ZERO, &mut dropped);
        for _ in 0..320 {
            disc.pass(true, &mut packet(1500), &mut cx);
        }
        assert!(disc.average < 0.05 * 1e-4);
    }

    #[test]
    fn it_keeps_the_rules() {
        for measure in [Unit::Time, Unit::Bytes] {
            for scheduler in [Scheduler::Wrr, Scheduler::TsFifo, Scheduler::Priority] {
                let limit = Some(Size::Packets(100));
                let settings = Settings { measure, scheduler, limit, ..Settings::defaults() };
                conforms(|rate| Box::new(Discipline::new(&settings, place(rate))), 100);
            }
        }
    }
}
