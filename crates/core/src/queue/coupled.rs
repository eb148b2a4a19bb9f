//! A single queue with coupled marking: scalable packets are marked with p, classic ones marked or
//! dropped with (p / k)^2, p rising with the queue from the origin.
//!
//! Source: De Schepper, Bondarenko, Tsang and Briscoe 2015, "Data Center to the Home" (slides):
//! p_reno = (p_dc / 1.63)^2 from equal rates, the square as the larger of two random numbers; the
//! slope starts at the origin, "to avoid on/off behaviour in steady state".
//! The queue is measured at the instant that a packet arrives: in time, its own wait to come; in bytes,
//! all that stand, the packet being transmitted included whole, over the port's rate.
//! Left out: smoothing (the slides have none here).

use super::drop_tail::check_limit;
use super::{Admission, Backlog, DropWhy, Place, Verdict};
use crate::events::random::Stream;
use crate::packet::Packet;
use crate::params::Faults;
use crate::queue::parts::classify::{Classifier, is_low_latency};
use crate::queue::parts::gauge::{Gauge, Level};
use crate::queue::parts::slope::{Unit, judge, seconds};
use shallows_units::{Rate, Size, Time};

crate::params! {
    /// Coupled single queue. Scalable packets are marked with p, classic ones dropped or marked with
    /// (p / k)^2.
    pub struct Settings {
        /// Most that the queue may hold, in bytes or packets, or "none".
        limit: Option<Size> = "1000pkt", "[1pkt, ]", "the user's switch";
        /// Which packets are marked as scalable traffic.
        classify: Classifier = "any_ect", "", "the slides: DCTCP is ECT, CUBIC is not";
        /// How the queue is measured.
        measure: Unit = "time", "", "the slides: in time is important for fairness";
        /// Slope in bits: p is the queue in seconds times 2 to this.
        slope: f64 = 1.7, "", "RFC 9332 fig. 9: a classic slope of 1, and log2(1.63) for the coupling";
        /// Coupling factor: a classic packet meets (p / k)^2.
        k: f64 = 1.63, "[1, ]", "the slides: 2 / 1.22 makes DCTCP and Reno equal; 1 is p^2 itself";
    }
}

impl Settings {
    /// Settings that contradict each other.
    pub fn check(&self, path: &str, faults: &mut Faults) {
        check_limit(self.limit, path, faults);
    }
}

/// The discipline at work; boxed, since every port of the fast path has room for any discipline.
#[derive(Debug, Clone)]
pub struct Discipline(Box<State>);

#[derive(Debug, Clone)]
struct State {
    limit: Level,
    classify: Classifier,
    measure: Unit,
    rate: Rate,
    random: Stream,
    gain: f64,
    k: f64,
    p: f64,
}

impl Discipline {
    /// Ready to run.
    pub fn new(settings: &Settings, place: Place) -> Self {
        Discipline(Box::new(State {
            limit: Level::new(settings.limit),
            classify: settings.classify,
            measure: settings.measure,
            rate: place.rate,
            random: place.random,
            gain: libm::exp2(settings.slope),
            k: settings.k,
            p: 0.0,
        }))
    }
}

impl Admission for Discipline {
    #[inline]
    fn admit(&mut self, packet: &Packet, backlog: Backlog, now: Time) -> Verdict {
        let after = Gauge::new(true, true);
        if self.0.limit.is_below(after.read(backlog, packet.size)) {
            return Verdict::Drop(DropWhy::Full);
        }
        let queue = match self.0.measure {
            Unit::Time => backlog.free_at.saturating_sub(now).as_secs_f64(),
            Unit::Bytes => seconds(backlog.bytes, self.0.rate),
        };
        self.0.p = self.0.gain * queue;
        let scalable = is_low_latency(packet, self.0.classify);
        judge(packet, scalable, self.0.p, self.0.p / self.0.k, &mut self.0.random)
    }

    fn rate_changes(&mut self, rate: Rate) {
        self.0.rate = rate;
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("p", self.0.p.min(1.0));
        put("coupling", self.0.k);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Flags;
    use crate::packet::tests::packet;
    use crate::params::Params;
    use crate::queue::parts::fifo::Fifo;
    use crate::queue::test_bench::conforms;
    use shallows_units::Span;

    const N: u32 = 20_000;

    /// Shares of packets marked and dropped that meet `wait` and `packets` of 1500 bytes at 40 Mb/s.
    fn shares(settings: &Settings, wait: Span, packets: u64, flags: Flags) -> (f64, f64) {
        let place = Place { rate: Rate::mbps(40), last_hop: false, random: Stream::new(7, "queue", 0) };
        let mut disc = Discipline::new(settings, place);
        let now = Time::ZERO + Span::s(1);
        let backlog = Backlog { packets, bytes: 1500 * packets, serving: 1500, free_at: now + wait };
        let (mut marks, mut drops) = (0, 0);
        for _ in 0..N {
            match disc.admit(&Packet { flags, ..packet(1500) }, backlog, now) {
                Verdict::Mark => marks += 1,
                Verdict::Drop(_) => drops += 1,
                Verdict::Pass => {}
            }
        }
        (f64::from(marks) / f64::from(N), f64::from(drops) / f64::from(N))
    }

    fn near((marks, drops): (f64, f64), expected: (f64, f64)) {
        for (share, expected) in [(marks, expected.0), (drops, expected.1)] {
            let four_errors = 4.0 * (expected * (1.0 - expected) / f64::from(N)).sqrt();
            assert!((share - expected).abs() <= four_errors, "{share} is not {expected}");
        }
    }

    #[test]
    fn scalable_packets_meet_p_and_classic_ones_its_square() {
        let settings = Settings { slope: 3.0, k: 1.63, ..Settings::defaults() };
        for wait in [Span::ZERO, Span::ms(10), Span::ms(50), Span::ms(100)] {
            let p = 8.0 * wait.as_secs_f64();
            let squared = (p / 1.63) * (p / 1.63);
            near(shares(&settings, wait, 1, Flags::ECT0), (p, 0.0));
            near(shares(&settings, wait, 1, Flags::default()), (0.0, squared));
            let strict = Settings { classify: Classifier::Ect1, ..settings.clone() };
            near(shares(&strict, wait, 1, Flags::ECT0), (squared, 0.0));
        }
        let plain = Settings { k: 1.0, ..settings };
        near(shares(&plain, Span::ms(50), 1, Flags::default()), (0.0, 0.16));
    }

    #[test]
    fn the_queue_may_be_measured_in_bytes() {
        let settings = Settings { slope: 3.0, measure: Unit::Bytes, ..Settings::defaults() };
        near(shares(&settings, Span::ZERO, 100, Flags::ECT0), (0.24, 0.0)); // 1.2 Mb: 30 ms
    }

    #[test]
    fn it_keeps_the_rules() {
        for measure in Unit::ALL {
            let settings = Settings { measure, limit: Some(Size::Packets(100)), ..Settings::defaults() };
            let make = |rate| {
                let place = Place { rate, last_hop: false, random: Stream::new(7, "queue", 0) };
                Box::new(Fifo::new(Discipline::new(&settings, place), rate)) as Box<_>
            };
            conforms(make, 100);
        }
    }
}
