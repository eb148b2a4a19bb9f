//! PI2: a linear PI controller whose output is squared for classic traffic.
//!
//! Source: De Schepper, Bondarenko, Tsang and Briscoe 2016, "PI2: A Linearized AQM for both Classic and
//! Scalable TCP" (CoNEXT): p' by the PI controller, classic packets dropped or marked with p'^2,
//! scalable ones marked with k p', at arrival.
//! The paper estimates the delay from the departure rate; here the port's rate is known, so the delay
//! is how long the transmitter will take for all that stands. Every update instant is made up for
//! exactly before the next packet is judged ([`super::pi`]).
//! Left out: PIE's heuristics, which the paper leaves out too; Linux's fixed point.

use super::drop_tail::check_limit;
use super::{Admission, Backlog, DropWhy, Place, Verdict};
use crate::events::random::Stream;
use crate::packet::Packet;
use crate::params::Faults;
use crate::queue::parts::classify::{Classifier, is_low_latency};
use crate::queue::parts::gauge::{Gauge, Level};
use crate::queue::parts::pi::Pi;
use crate::queue::parts::slope::judge;
use shallows_units::{Size, Span, Time};

crate::params! {
    /// PI2. A linear PI controller whose output is squared for classic traffic.
    pub struct Settings {
        /// Most that the queue may hold, in bytes or packets, or "none".
        limit: Option<Size> = "1000pkt", "[1pkt, ]", "the user's switch; Linux's PIE too";
        /// Which packets are marked as scalable traffic.
        classify: Classifier = "ect1", "", "RFC 9331 s.5.1";
        /// Delay at which the queue is held.
        target: Span = "20ms", "", "De Schepper 2016; its Linux module sch_pi2 has the same";
        /// Time between updates of the probability.
        interval: Span = "32ms", "[1us, ]", "De Schepper 2016, T = 32 ms, not verified; its Linux module has 30 ms";
        /// Integral gain an update, in Hz.
        alpha: f64 = 0.3125, "[0, ]", "De Schepper 2016: 5/16; its Linux module has 10/16 for scalable marks, k times this";
        /// Proportional gain an update, in Hz.
        beta: f64 = 3.125, "[0, ]", "De Schepper 2016: 50/16; its Linux module has 100/16 for scalable marks";
        /// Coupling factor: scalable packets are marked with k times p'.
        k: f64 = 2.0, "[1, ]", "De Schepper 2016; its Linux module has the same";
        /// Greatest classic probability; beyond it the limit drops.
        max_classic: f64 = 0.25, "(0, 1]", "RFC 9332 s.A.2: 1/k^2, where scalable marks are certain; De Schepper 2016, not verified";
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
    pi: Pi,
    k: f64,
    random: Stream,
}

impl Discipline {
    /// Ready to run.
    pub fn new(settings: &Settings, place: Place) -> Self {
        let s = settings;
        Discipline(Box::new(State {
            limit: Level::new(s.limit),
            classify: s.classify,
            pi: Pi::new(s.alpha, s.beta, s.target, s.interval, s.max_classic.sqrt()),
            k: s.k,
            random: place.random,
        }))
    }
}

impl Admission for Discipline {
    #[inline]
    fn admit(&mut self, packet: &Packet, backlog: Backlog, now: Time) -> Verdict {
        let free_at = backlog.free_at;
        self.0.pi.catch_up_by(now, free_at, |at| free_at.saturating_sub(at));
        let after = Gauge::new(true, true);
        if self.0.limit.is_below(after.read(backlog, packet.size)) {
            return Verdict::Drop(DropWhy::Full);
        }
        let p = self.0.pi.p();
        let scalable = is_low_latency(packet, self.0.classify);
        judge(packet, scalable, self.0.k * p, p, &mut self.0.random)
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("p", self.0.pi.p());
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
    use crate::queue::test_bench::{conforms, drive, load};
    use shallows_units::Rate;

    fn place(rate: Rate) -> Place {
        Place { rate, last_hop: false, random: Stream::new(7, "queue", 0) }
    }

    fn free_at(free_at: Time) -> Backlog {
        Backlog { packets: 1, bytes: 1500, serving: 1500, free_at }
    }

    #[test]
    fn the_updates_are_those_computed_by_hand() {
        let mut disc = Discipline::new(&Settings::defaults(), place(Rate::mbps(40)));
        let at = |ms| Time::ZERO + Span::ms(ms);
        // At 32 ms the queue takes 30 ms more: 0.3125 x 0.010 + 3.125 x 0.030.
        disc.admit(&packet(1500), free_at(at(62)), at(40));
        assert!((disc.0.pi.p() - 0.096_875).abs() < 1e-12);
        // At 64 ms it takes 50: + 0.3125 x 0.030 + 3.125 x 0.020; at 96 ms 18: - 0.0625 % - 0.1.
        disc.admit(&packet(1500), free_at(at(114)), at(96));
        assert!((disc.0.pi.p() - (0.096_875 + 0.071_875 - 0.000_625 - 0.1)).abs() < 1e-12);
    }

    #[test]
    fn classic_packets_meet_the_square_and_scalable_ones_k_p() {
        // A controller that adds the errors that it sees: one update at 32 ms sets p' to 0.2.
        let settings = Settings { alpha: 6.25, beta: 0.0, target: Span::ZERO, ..Settings::defaults() };
        let now = Time::ZERO + Span::ms(32);
        let n = 20_000;
        let share = |flags, verdict| {
            let mut disc = Discipline::new(&settings, place(Rate::mbps(40)));
            let packet = Packet { flags, ..packet(1500) };
            let hits = (0..n).filter(|_| disc.admit(&packet, free_at(now + Span::ms(32)), now) == verdict);
            hits.count() as f64 / f64::from(n)
        };
        let near = |share: f64, p: f64| {
            assert!((share - p).abs() < 4.0 * (p * (1.0 - p) / f64::from(n)).sqrt(), "{share} is not {p}");
        };
        near(share(Flags::ECT1, Verdict::Mark), 0.4);
        near(share(Flags::ECT0, Verdict::Mark), 0.04);
        near(share(Flags::default(), Verdict::Drop(DropWhy::Aqm)), 0.04);
    }

    #[test]
    fn an_overload_that_the_greatest_probability_can_shed_is_held_at_the_target() {
        let rate = Rate::mbps(40);
        let mut disc = Fifo::new(Discipline::new(&Settings::defaults(), place(rate)), rate);
        let seen = drive(&mut disc, rate, load(&[Flags::default()], 1.2, rate, 100_000));
        assert!((seen.drops(0) as f64 / 1e5 - 1.0 / 6.0).abs() < 0.01, "{}", seen.drops(0));
        let late: Vec<_> = seen.out.iter().filter(|(_, at)| *at > Time::ZERO + Span::s(10)).collect();
        let mean = late.iter().map(|(p, at)| (*at - p.at).as_secs_f64()).sum::<f64>() / late.len() as f64;
        assert!((mean - 0.020).abs() < 0.002, "{mean}");
    }

    #[test]
    fn it_keeps_the_rules() {
        for classify in Classifier::ALL {
            let settings = Settings { classify, limit: Some(Size::Packets(100)), ..Settings::defaults() };
            let make = |rate| Box::new(Fifo::new(Discipline::new(&settings, place(rate)), rate)) as Box<_>;
            conforms(make, 100);
        }
    }
}
