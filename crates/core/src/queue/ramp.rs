//! A marking ramp: packets are marked as they leave, with a probability that rises linearly with the queue.
//!
//! Source: Zhu et al. 2015, "Congestion Control for Large-Scale RDMA Deployments" (SIGCOMM), the congestion point of
//! DCQCN, and its restatement in Zhu et al. 2016, "ECN or Delay" (CoNEXT): nothing below Kmin, Pmax at Kmax, everything
//! above. The queue is the present one at departure, so that a mark is as old as the wire and no older.
//! Full, it drops what arrives. Packets that are not ECN-capable are never dropped by the ramp.
//! Left out: a queue for each of a NIC's priorities.

use super::drop_tail::check_limit;
use super::{Backlog, DropWhy, Passing, Place, QueueCx, QueueDisc};
use crate::events::random::Stream;
use crate::packet::Packet;
use crate::params::{Code, Faults};
use crate::queue::parts::gauge::Level;
use crate::queue::parts::held::Held;
use shallows_units::{Bytes, Size};

crate::params! {
    /// A marking ramp, DCQCN's. Packets are marked as they leave, with a probability that rises linearly with the queue
    /// from kmin to kmax.
    pub struct Settings {
        /// Most that the queue may hold, in bytes or packets, or "none".
        limit: Option<Size> = "none", "[1pkt, ]", "lossless Ethernet; the user's switch";
        /// Bytes behind a leaving packet below which nothing is marked.
        kmin: Bytes = "5KB", "", "Zhu 2016: 5 KB at 40 Gb/s";
        /// Bytes behind a leaving packet at which the probability is pmax, and above which every packet is marked.
        kmax: Bytes = "200KB", "[1B, ]", "Zhu 2016: 200 KB at 40 Gb/s";
        /// Probability at kmax.
        pmax: f64 = 0.01, "(0, 1]", "Zhu 2016: 1 %";
    }
}

impl Settings {
    /// Settings that contradict each other.
    pub fn check(&self, path: &str, faults: &mut Faults) {
        check_limit(self.limit, path, faults);
        if self.kmax < self.kmin {
            let rule = Code::Conflict.rule("must be at least kmin");
            faults.add(&format!("{path}.kmax"), rule, &self.kmax.to_string().into());
        }
    }
}

/// The discipline at work.
#[derive(Debug, Clone)]
pub struct Discipline {
    held: Held,
    limit: Level,
    kmin: f64,
    kmax: f64,
    pmax: f64,
    random: Stream,
}

impl Discipline {
    /// Ready to run.
    pub fn new(settings: &Settings, place: Place) -> Self {
        Discipline {
            held: Held::default(),
            limit: Level::new(settings.limit),
            kmin: settings.kmin.as_u64() as f64,
            kmax: settings.kmax.as_u64() as f64,
            pmax: settings.pmax,
            random: place.random,
        }
    }

    /// The probability of a mark with so many bytes behind the packet.
    fn probability(&self, bytes: u64) -> f64 {
        let bytes = bytes as f64;
        if bytes > self.kmax {
            1.0
        } else if bytes <= self.kmin {
            0.0
        } else {
            self.pmax * (bytes - self.kmin) / (self.kmax - self.kmin)
        }
    }
}

impl QueueDisc for Discipline {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut QueueCx<'_>) {
        let standing = self.held.with_serving(cx.serving);
        if self.limit.is_below((standing.packets + 1, standing.bytes + u64::from(packet.size))) {
            return cx.drop(packet, DropWhy::Full);
        }
        packet.at = cx.now;
        self.held.push(packet);
    }

    fn dequeue(&mut self, cx: &mut QueueCx<'_>) -> Option<Packet> {
        let mut packet = self.held.pop()?;
        let probability = self.probability(self.held.bytes());
        // No draw where none is needed.
        if probability >= 1.0 || probability > 0.0 && self.random.unit() < probability {
            cx.mark(&mut packet);
        }
        Some(packet)
    }

    fn pass(&mut self, packet: &mut Packet, cx: &mut QueueCx<'_>) -> Passing {
        if self.limit.is_below((1, packet.size.into())) {
            cx.drop(*packet, DropWhy::Full);
            return Passing::Dropped;
        }
        packet.at = cx.now;
        Passing::Sent // no packet stays behind it, so it is not marked
    }

    fn backlog(&self) -> Backlog {
        self.held.backlog()
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        put("probability", self.probability(self.held.bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Flags;
    use crate::packet::tests::packet;
    use crate::queue::tests::place;
    use shallows_units::Time;

    fn ramp() -> Discipline {
        let settings = Settings {
            kmin: Bytes(10_000),
            kmax: Bytes(110_000),
            pmax: 0.2,
            limit: Some(Size::Packets(200)),
        };
        Discipline::new(&settings, place())
    }

    #[test]
    fn the_probability_is_the_papers_ramp() {
        for (bytes, want) in [(0, 0.0), (10_000, 0.0), (60_000, 0.1), (110_000, 0.2), (110_001, 1.0)] {
            assert!((ramp().probability(bytes) - want).abs() < 1e-15, "{bytes}");
        }
    }

    /// With 60 000 bytes behind each leaving packet, one in ten is marked: 4 standard errors of 20 000 tries. The
    /// packet that leaves does not count.
    #[test]
    fn packets_are_marked_as_they_leave_by_what_stays() {
        let mut disc = ramp();
        let mut lost = vec![];
        let mut cx = QueueCx::new(Time::ZERO, 0, Time::ZERO, &mut lost);
        (0..60).for_each(|_| disc.enqueue(packet(1000), &mut cx));
        let mut marks = 0;
        for _ in 0..20_000 {
            disc.enqueue(packet(1000), &mut cx);
            let left = disc.dequeue(&mut cx).expect("it holds packets");
            marks += u64::from(left.flags.any(Flags::CE));
        }
        assert!((marks as f64 - 2000.0).abs() < 4.0 * 1800f64.sqrt(), "{marks}");
        assert_eq!(cx.marked(), marks);
        assert!(lost.is_empty());
    }

    #[test]
    fn beyond_kmax_all_are_marked_and_beyond_the_limit_all_are_dropped() {
        let mut disc = ramp();
        let mut lost = vec![];
        let mut cx = QueueCx::new(Time::ZERO, 0, Time::ZERO, &mut lost);
        (0..203).for_each(|_| disc.enqueue(packet(1000), &mut cx));
        let marked =
            (0..89).filter(|_| disc.dequeue(&mut cx).is_some_and(|packet| packet.flags.any(Flags::CE)));
        assert_eq!(marked.count(), 89);
        assert_eq!(lost.len(), 3);
        assert!(lost.iter().all(|(_, why)| *why == DropWhy::Full));
    }
}
