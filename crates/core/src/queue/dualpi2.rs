//! DualPI2: a low-latency queue beside a classic one, coupled so that flows of both kinds get equal rates.
//!
//! Source: RFC 9332 appendix A, figs. 2-8 with the edge cases of s.A.2; Linux `sch_dualpi2` where
//! said. A packet is marked or dropped as it departs.
//! Fine points: the wait of a queue is that of its first packet, the packet being transmitted having
//! left it; every update instant is made up for exactly before the queues change ([`super::pi`]); a
//! queue's length at departure includes the departing packet, so that `min_length` spares a packet
//! that is alone. Packets of one flow with different codepoints (a retransmission without ECT) go
//! through different queues and may overtake each other, as the RFC has it.
//! Linux draws each mark and drop at random (`dualpi2_roll`), the RFC's `recur` spaces them evenly: `draw`. A number of
//! packets as the low-latency queue's own threshold is Linux's alone, which asks for the length after the dequeue.
//! Left out: the split of GSO packets, dropping at enqueue, `RTT_max` as a parameter (alpha and beta
//! follow from it).

use super::drop_tail::check_limit;
use super::{Backlog, DropWhy, InnerQueues, Place, QueueCx, QueueDisc};
use crate::events::random::Stream;
use crate::packet::Packet;
use crate::params::Faults;
use crate::queue::parts::classify::Classifier;
use crate::queue::parts::dual::{Dual, Scheduler};
use crate::queue::parts::pi::Pi;
use shallows_units::{Bytes, Size, Span, Time};

crate::choices! {
    /// The reaction to a coupled probability of one.
    pub enum Overload {
        /// The classic probability drops packets of both queues, ECN-capable or not.
        Drop = "drop",
        /// Marks go on, the base probability stays at 1/k, and the limit drops.
        Overflow = "overflow",
    }
}

crate::choices! {
    /// How a likelihood becomes marks and drops.
    pub enum Draw {
        /// Evenly spaced: each adds its likelihood to a count, and the count decides (RFC 9332 fig. 4, `recur`).
        Even = "even",
        /// Each packet for itself, at random (Linux `dualpi2_roll`).
        Random = "random",
    }
}

crate::params! {
    /// DualPI2. A low-latency queue beside a classic one, coupled by a PI controller (RFC 9332
    /// appendix A).
    pub struct Settings {
        /// Most that both queues together may hold, in bytes or packets, or "none".
        limit: Option<Size> = "10000pkt", "[1pkt, ]", "Linux sch_dualpi2; RFC 9332 fig. 2: 250 ms at the link's rate";
        /// Which packets go to the low-latency queue.
        classify: Classifier = "ect1", "", "RFC 9331 s.5.1";
        /// Wait at which the classic queue is held.
        target: Span = "15ms", "", "RFC 9332 fig. 2";
        /// Time between updates of the base probability.
        interval: Span = "16ms", "[1us, ]", "RFC 9332 s.A.1: Tupdate";
        /// Integral gain a update, in Hz.
        alpha: f64 = 0.16, "[0, ]", "RFC 9332 s.A.1";
        /// Proportional gain a update, in Hz.
        beta: f64 = 3.2, "[0, ]", "RFC 9332 s.A.1";
        /// Coupling factor: the low-latency queue is marked with k times the base probability.
        k: f64 = 2.0, "(0, ]", "RFC 9332 fig. 2";
        /// Wait from which the low-latency queue is marked.
        threshold: Span = "1ms", "", "Linux sch_dualpi2: a step at 1 ms; RFC 9332 fig. 2: a ramp from 800 us";
        /// Further wait over which its marking rises to certainty; zero makes a step.
        ramp: Span = "0s", "", "RFC 9332 s.A.1 note c: a step; fig. 2: 400 us";
        /// Packets that a departing one may leave behind in the low-latency queue unmarked, instead of a wait, or "none".
        threshold_packets: Option<u64> = "none", "[1, ]", "Linux sch_dualpi2 do_step_aqm: the length after the dequeue";
        /// Packets in the low-latency queue up to which its own threshold is not applied.
        min_length: u64 = 1, "", "RFC 9332 fig. 2: Th_len";
        /// Bytes held below which neither coupled nor classic marks and drops are made.
        min_backlog: Bytes = "0B", "", "RFC 9332 figs. 4, 7 have none; s.A.1: 2 MTU in Linux";
        /// Which queue is served next.
        scheduler: Scheduler = "wrr", "", "RFC 9332 s.A.2 recommends weighted round robin";
        /// Classic queue's share of a weighted round robin.
        classic_weight: f64 = 0.0625, "(0, 1)", "RFC 9332 s.A.2: 1/16; Linux 10 %";
        /// Handicap of the classic queue in a time-shifted FIFO.
        time_shift: Span = "50ms", "", "RFC 9332 s.A.2; 4 targets in a private network";
        /// How a likelihood becomes marks and drops.
        draw: Draw = "even", "", "RFC 9332 fig. 4, preferred there to random marking; Linux: random";
        /// The reaction to a coupled probability of one.
        overload: Overload = "drop", "", "RFC 9332 fig. 7";
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
    pi: Pi,
    k: f64,
    threshold: Span,
    ramp: Span,
    threshold_packets: Option<u64>,
    min_length: u64,
    min_backlog: u64,
    drop_in_overload: bool,
    dice: Dice,
}

const LOW: usize = 0;
const CLASSIC: usize = 1;

/// Says yes with a certain likelihood.
#[derive(Debug)]
enum Dice {
    /// Likelihoods added up: low-latency, classic.
    Even([f64; 2]),
    Random(Stream),
}

impl Dice {
    fn new(draw: Draw, random: Stream) -> Self {
        match draw {
            Draw::Even => Dice::Even([0.0; 2]),
            Draw::Random => Dice::Random(random),
        }
    }

    fn roll(&mut self, queue: usize, likelihood: f64) -> bool {
        match self {
            // RFC 9332 fig. 4 lines 23-30.
            Dice::Even(counts) => {
                counts[queue] += likelihood;
                let hit = counts[queue] > 1.0;
                counts[queue] -= f64::from(u8::from(hit));
                hit
            }
            Dice::Random(stream) => stream.chance(likelihood),
        }
    }
}

impl Discipline {
    /// Ready to run.
    pub fn new(settings: &Settings, place: Place) -> Self {
        let s = settings;
        let drop_in_overload = s.overload == Overload::Drop;
        // RFC 9332 s.A.1: p' is bounded; without drops it stops where p_CL is certainty.
        let most = if drop_in_overload { 1.0 } else { (1.0 / s.k).min(1.0) };
        Discipline {
            queues: Dual::new(s.limit, s.classify, s.scheduler, s.time_shift, s.classic_weight),
            pi: Pi::new(s.alpha, s.beta, s.target, s.interval, most),
            k: s.k,
            threshold: s.threshold,
            ramp: s.ramp,
            threshold_packets: s.threshold_packets,
            min_length: s.min_length,
            min_backlog: s.min_backlog.as_u64(),
            drop_in_overload,
            dice: Dice::new(s.draw, place.random),
        }
    }

    /// RFC 9332 fig. 8 line 2a: the longer wait of the two drives the controller.
    fn catch_up(&mut self, now: Time) {
        let since = match (self.queues.low.since(), self.queues.classic.since()) {
            (Some(low), Some(classic)) => Some(low.min(classic)),
            (low, classic) => low.or(classic),
        };
        self.pi.catch_up(now, since);
    }

    /// RFC 9332 fig. 5, and fig. 7 lines 5a-5d: the low-latency queue's own probability, for a packet
    /// that waited `wait` and whose queue held `length` packets.
    fn native(&self, wait: Span, length: u64) -> f64 {
        if length <= self.min_length {
            return 0.0;
        }
        if let Some(threshold) = self.threshold_packets {
            return f64::from(u8::from(length - 1 > threshold));
        }
        if wait >= self.threshold + self.ramp {
            1.0
        } else if wait > self.threshold {
            (wait - self.threshold).as_secs_f64() / self.ramp.as_secs_f64()
        } else {
            0.0
        }
    }

    /// The fate of a packet about to depart; false where it is to be dropped. RFC 9332 fig. 7.
    fn pass(&mut self, low: bool, packet: &mut Packet, held: u64, cx: &mut QueueCx<'_>) -> bool {
        let base = if held < self.min_backlog { 0.0 } else { self.pi.p() };
        let (coupled, classic) = (self.k * base, base * base); // fig. 8 lines 4, 5
        if !low {
            if self.dice.roll(CLASSIC, classic) {
                // Lines 12a, 12b; p_Cmax = min(1/k^2, 1).
                let overload = self.drop_in_overload && classic >= (1.0 / (self.k * self.k)).min(1.0);
                return !overload && cx.mark(packet);
            }
        } else if coupled < 1.0 || !self.drop_in_overload {
            let native = self.native(cx.now - packet.at, self.queues.low.packets() + 1);
            if self.dice.roll(LOW, native.max(coupled).min(1.0)) {
                cx.mark(packet);
            }
        } else {
            // Lines 8c-8i.
            if self.dice.roll(LOW, classic) {
                return false;
            }
            if self.dice.roll(LOW, coupled.min(1.0)) {
                cx.mark(packet);
            }
        }
        true
    }
}

impl QueueDisc for Discipline {
    fn enqueue(&mut self, packet: Packet, cx: &mut QueueCx<'_>) {
        self.catch_up(cx.now);
        self.queues.enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut QueueCx<'_>) -> Option<Packet> {
        self.catch_up(cx.now);
        loop {
            let held = self.queues.bytes();
            let (low, mut packet) = self.queues.pop(cx.now)?;
            if self.pass(low, &mut packet, held, cx) {
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

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("p", self.pi.p());
        put("coupling", self.k);
        put("l_packets", self.queues.low.packets() as f64);
        put("c_packets", self.queues.classic.packets() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Flags;
    use crate::params::Params;
    use crate::queue::test_bench::{conforms, drive, load};
    use crate::queue::tests::place;
    use shallows_units::Rate;

    fn discipline(settings: &Settings) -> Discipline {
        Discipline::new(settings, place())
    }

    /// How many of `n` packets that waited `wait` at a base probability of `p` are marked and dropped.
    fn fates(settings: &Settings, p: f64, low: bool, flags: Flags, wait: Span) -> (u64, usize) {
        let mut disc = discipline(settings);
        // One update of a controller that only adds its error sets the probability.
        let step = settings.interval.as_secs_f64();
        disc.pi = Pi::new(p / step, 0.0, Span::ZERO, settings.interval, 1.0);
        disc.pi.catch_up(Time::ZERO + settings.interval, Some(Time::ZERO));
        let mut dropped = vec![];
        let now = Time::ZERO + Span::s(1);
        let mut cx = QueueCx::new(now, 0, now, &mut dropped);
        let mut drops = 0;
        disc.queues.low.push(crate::packet::tests::packet(1500)); // not alone
        for _ in 0..1000 {
            let mut packet = Packet { at: now - wait, flags, ..crate::packet::tests::packet(1500) };
            drops += usize::from(!disc.pass(low, &mut packet, 10_000, &mut cx));
        }
        (cx.marked(), drops)
    }

    // req: RFC9332 s2.5.1 MUST square
    // req: RFC9332 s2.5.1 MUST coupled-marking
    // req: RFC9332 s2.5.1 SHOULD k
    // req: RFC9332 s2.5.1 MUST low-marks
    // req: RFC9332 s2.5.1.1 MUST overload-drops
    #[test]
    fn coupling_marks_k_p_and_drops_p_squared() {
        let settings = Settings::defaults();
        let near = |(marks, drops): (u64, usize), m: u64, d: usize| {
            assert!(marks.abs_diff(m) <= 1 && drops.abs_diff(d) <= 1, "{marks} {drops}: {m} {d}");
        };
        near(fates(&settings, 0.2, true, Flags::ECT1, Span::ZERO), 400, 0); // 2 x 0.2
        near(fates(&settings, 0.2, false, Flags::default(), Span::ZERO), 0, 40); // 0.2^2
        near(fates(&settings, 0.2, false, Flags::ECT0, Span::ZERO), 40, 0);
        // Overload, p' = 0.6: 0.36 dropped in both queues, the rest of the low-latency queue marked.
        near(fates(&settings, 0.6, false, Flags::ECT0, Span::ZERO), 0, 360);
        near(fates(&settings, 0.6, false, Flags::default(), Span::ZERO), 0, 360);
        let (marks, drops) = fates(&settings, 0.6, true, Flags::ECT1, Span::ZERO);
        assert!(marks + drops as u64 == 1000 && drops.abs_diff(360) <= 1, "{marks} {drops}");
        // Without drops in overload every low-latency packet is marked.
        let overflow = Settings { overload: Overload::Overflow, ..settings };
        near(fates(&overflow, 0.6, true, Flags::ECT1, Span::ZERO), 1000, 0);
    }

    /// `recur` leaves no chance in how many are marked, dice a binomial's: 1000 x 0.04 is 40 +- 6.2, and gaps between two
    /// are not all alike. Four standard deviations.
    #[test]
    fn drawn_at_random_marks_are_as_many_and_not_evenly_spaced() {
        let random = Settings { draw: Draw::Random, ..Settings::defaults() };
        let (marks, _) = fates(&random, 0.2, false, Flags::ECT0, Span::ZERO);
        assert!((15..=65).contains(&marks), "{marks}");
        let gaps = |draw: Draw| {
            let mut dice = Dice::new(draw, place().random);
            let hits: Vec<usize> = (0..20_000).filter(|_| dice.roll(CLASSIC, 0.04)).collect();
            let gaps: Vec<f64> = hits.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let variance =
                gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / gaps.len() as f64;
            (mean, variance.sqrt())
        };
        let (even, dice) = (gaps(Draw::Even), gaps(Draw::Random));
        assert!((even.0 - 25.0).abs() < 0.1 && even.1 < 0.5, "{even:?}");
        // Geometric: mean 1 / p, standard deviation sqrt(1 - p) / p = 24.5; 800 gaps.
        assert!((dice.0 - 25.0).abs() < 3.5 && (dice.1 - 24.5).abs() < 5.0, "{dice:?}");
    }

    // req: RFC9332 s2.5.1 MUST two-queues
    // req: RFC9332 s2.5.1 MUST low-marks
    #[test]
    fn the_own_threshold_is_a_step_a_ramp_or_a_number_of_packets() {
        let step = Settings::defaults();
        let marks = |settings: &Settings, wait| fates(settings, 0.0, true, Flags::ECT1, wait).0;
        assert_eq!([marks(&step, Span::us(999)), marks(&step, Span::ms(1))], [0, 999]);
        let ramp = Settings { threshold: Span::us(800), ramp: Span::us(400), ..step.clone() };
        assert_eq!(marks(&ramp, Span::us(800)), 0);
        assert!(marks(&ramp, Span::us(900)).abs_diff(250) <= 1);
        assert!(marks(&ramp, Span::us(1200)) >= 999);
        let packets = |n| Settings { threshold_packets: Some(n), ..step.clone() };
        // One packet is left behind by each: K = 1 is not exceeded, however long it waited (do_step_aqm).
        assert_eq!(marks(&packets(1), Span::s(1)), 0);
        let mut disc = discipline(&packets(1));
        disc.queues.low.push(crate::packet::tests::packet(1500));
        assert_eq!([disc.native(Span::ZERO, 2), disc.native(Span::ZERO, 3)], [0.0, 1.0]);
        // A packet that is alone goes unmarked however long it waited.
        assert_eq!(discipline(&step).native(Span::s(1), 1), 0.0);
    }

    #[test]
    fn the_longer_wait_drives_the_controller() {
        let mut disc = discipline(&Settings::defaults());
        let at = |ms| Time::ZERO + Span::ms(ms);
        disc.queues.low.push(Packet { at: at(10), ..crate::packet::tests::packet(1500) });
        disc.queues.classic.push(Packet { at: at(6), ..crate::packet::tests::packet(1500) });
        disc.catch_up(at(20)); // at 16 ms the classic packet has waited 10 ms, the other 6
        assert!((disc.pi.p() - (0.16 * -0.005 + 3.2 * 0.010)).abs() < 1e-12, "{}", disc.pi.p());
    }

    // req: RFC9332 s2.3 MUST identifier-unchanged
    #[test]
    fn it_keeps_the_rules() {
        for scheduler in Scheduler::ALL {
            for overload in Overload::ALL {
                for classify in Classifier::ALL {
                    let limit = Some(Size::Packets(100));
                    let settings = Settings { scheduler, overload, classify, limit, ..Settings::defaults() };
                    conforms(|_| Box::new(discipline(&settings)), 100);
                }
            }
        }
    }

    /// RFC 9332 s.4.2: unresponsive traffic at half as much again as the rate.
    // req: RFC9332 s2.5.2.1 SHOULD target-in-time
    #[test]
    fn overload_is_shed_at_the_classic_target() {
        let rate = Rate::mbps(40);
        for (flags, classify) in [(Flags::ECT1, Classifier::Ect1), (Flags::default(), Classifier::Ect1)] {
            let settings = Settings { classify, ..Settings::defaults() };
            let seen = drive(&mut discipline(&settings), rate, load(&[flags], 1.5, rate, 100_000));
            // A third has to go; the wait stays near the target of 15 ms.
            assert!((seen.drops(0) as f64 / 100_000.0 - 1.0 / 3.0).abs() < 0.01, "{}", seen.drops(0));
            let wait = seen.longest_wait(0, Time::ZERO + Span::s(10));
            assert!(wait < Span::ms(20), "{wait}");
        }
    }

    // req: RFC9332 s2.5.1 MUST priority-bounded
    #[test]
    fn classic_overload_leaves_low_latency_packets_their_low_latency() {
        let rate = Rate::mbps(40);
        let mut arrivals = load(&[Flags::ECT0], 1.5, rate, 50_000);
        let paced = load(&[Flags::ECT1], 0.1, rate, 3000);
        arrivals.extend(paced.into_iter().map(|(at, p)| (at, Packet { flow: 1, ..p })));
        arrivals.sort_by_key(|(at, _)| *at);
        let seen = drive(&mut discipline(&Settings::defaults()), rate, arrivals);
        let wait = seen.longest_wait(1, Time::ZERO);
        assert!(wait <= Span::ms(1), "{wait}"); // two packets of 0.3 ms, and round robin's own
    }
}
