//! Two queues and the scheduler between them, for the dual-queue disciplines: a low-latency queue and
//! a classic one that share a buffer.
//!
//! Source: RFC 9332 fig. 3 (classifier, limit), fig. 10 (time-shifted FIFO), s.A.1 and A.2 (weighted
//! round robin). The buffer includes the packet being transmitted, as everywhere here, and the
//! arriving packet's own size stands for the RFC's MTU.

use super::classify::{Classifier, is_low_latency};
use super::gauge::Level;
use super::held::Held;
use crate::packet::{Flags, Packet};
use crate::queue::{Backlog, DropWhy, InnerQueues, QueueCx};
use shallows_units::{Size, Span, Time};

crate::choices! {
    /// Which of two queues is served next.
    pub enum Scheduler {
        /// Weighted round robin; the weight matters only while both queues hold packets.
        Wrr = "wrr",
        /// The packet that has waited longest, classic ones handicapped by a time shift.
        TsFifo = "ts_fifo",
        /// Always the low-latency queue.
        Priority = "priority",
    }
}

/// The two queues.
#[derive(Debug)]
pub struct Dual {
    /// Low-latency packets.
    pub low: Held,
    /// Classic packets.
    pub classic: Held,
    limit: Level,
    classify: Classifier,
    scheduler: Scheduler,
    /// Handicap of classic packets in the time-shifted FIFO.
    shift: Span,
    /// Share of the classic queue while both hold packets.
    weight: f64,
    /// Bytes that the classic queue may send before it is the low-latency queue's turn.
    credit: f64,
}

impl Dual {
    /// Empty.
    pub fn new(
        limit: Option<Size>,
        classify: Classifier,
        scheduler: Scheduler,
        shift: Span,
        weight: f64,
    ) -> Self {
        let limit = Level::new(limit);
        let (low, classic) = Default::default();
        Dual { low, classic, limit, classify, scheduler, shift, weight, credit: 0.0 }
    }

    /// RFC 9332 fig. 3: drops a packet that does not fit, queues all others by their codepoint.
    pub fn enqueue(&mut self, packet: Packet, cx: &mut QueueCx<'_>) {
        let packets = self.low.packets() + self.classic.packets() + u64::from(cx.serving > 0) + 1;
        let bytes = self.bytes() + cx.serving + u64::from(packet.size);
        if self.limit.is_below((packets, bytes)) {
            cx.drop(packet, DropWhy::Full);
        } else if is_low_latency(&packet, self.classify) {
            self.low.push(packet);
        } else {
            self.classic.push(Packet { flags: packet.flags.with(Flags::CLASSIC), ..packet });
        }
    }

    /// Takes the packet whose turn it is, and says whether it is a low-latency one. Tell
    /// [`Dual::sent`] if it is transmitted.
    pub fn pop(&mut self, now: Time) -> Option<(bool, Packet)> {
        let low = match (self.low.is_empty(), self.classic.is_empty()) {
            (true, true) => {
                self.credit = 0.0; // RFC 9332 s.A.1: reset when the link is idle
                return None;
            }
            (false, true) => true,
            (true, false) => false,
            (false, false) => match self.scheduler {
                Scheduler::Priority => true,
                // RFC 9332 fig. 10: lq.time() + tshift >= cq.time().
                Scheduler::TsFifo => self.low.wait(now) + self.shift >= self.classic.wait(now),
                Scheduler::Wrr => self.credit <= 0.0,
            },
        };
        let packet = if low { self.low.pop() } else { self.classic.pop() };
        packet.map(|packet| (low, packet))
    }

    /// A packet goes out. RFC 9332 s.A.1: the credit changes only while there is contention, so that a
    /// paced low-latency flow need never wait.
    pub fn sent(&mut self, low: bool, size: u16) {
        let size = f64::from(size);
        if low && !self.classic.is_empty() {
            self.credit += self.weight * size;
        } else if !low && !self.low.is_empty() {
            self.credit -= (1.0 - self.weight) * size;
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        self.low.bytes() + self.classic.bytes()
    }

    /// The held packets.
    pub fn backlog(&self) -> Backlog {
        let packets = self.low.packets() + self.classic.packets();
        Backlog { packets, bytes: self.bytes(), ..Backlog::default() }
    }
}

impl InnerQueues for Dual {
    fn count(&self) -> usize {
        2
    }

    fn name(&self, number: usize) -> String {
        ["L", "C"][number].into()
    }

    fn of(&self, packet: &Packet, _: u8) -> usize {
        let classic = packet.flags.any(Flags::CLASSIC) || !is_low_latency(packet, self.classify);
        usize::from(classic)
    }

    fn len(&self, number: usize) -> u64 {
        [&self.low, &self.classic][number].packets()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Flags;
    use crate::packet::tests::packet;

    #[test]
    fn each_inner_queue_has_its_own_length() {
        let dual = dual(Scheduler::Wrr, 3, 2);
        assert_eq!([dual.len(0), dual.len(1)], [3, 2]);
    }

    /// `low` and `classic` packets, all come at time zero.
    fn dual(scheduler: Scheduler, low: u32, classic: u32) -> Dual {
        let mut dual = Dual::new(None, Classifier::Ect1, scheduler, Span::ms(50), 0.1);
        let mut dropped = vec![];
        let mut cx = QueueCx::new(Time::ZERO, 0, Time::ZERO, &mut dropped);
        for _ in 0..low {
            dual.enqueue(Packet { flags: Flags::ECT1, ..packet(1000) }, &mut cx);
        }
        for _ in 0..classic {
            dual.enqueue(packet(1000), &mut cx);
        }
        dual
    }

    fn order(dual: &mut Dual, packets: u32) -> String {
        (0..packets)
            .map_while(|_| {
                let (low, packet) = dual.pop(Time::ZERO)?;
                dual.sent(low, packet.size);
                Some(if low { 'L' } else { 'c' })
            })
            .collect()
    }

    // req: RFC9332 s2.5.1 MUST priority-bounded
    #[test]
    fn round_robin_gives_each_its_weight_while_both_wait() {
        let served = order(&mut dual(Scheduler::Wrr, 2000, 2000), 2000);
        let classic = served.matches('c').count();
        assert!((195..=205).contains(&classic), "{classic} of 2000 at a weight of 0.1");
        assert_eq!(order(&mut dual(Scheduler::Wrr, 3, 2), 9), "LcLLc");
    }

    // req: RFC9332 s2.5.1 SHOULD work-conserving
    #[test]
    fn alone_a_queue_earns_and_owes_nothing() {
        let mut dual = dual(Scheduler::Wrr, 0, 50);
        assert_eq!(order(&mut dual, 50), "c".repeat(50));
        assert_eq!(dual.credit, 0.0);
    }

    #[test]
    fn priority_serves_low_latency_packets_first() {
        assert_eq!(order(&mut dual(Scheduler::Priority, 3, 2), 9), "LLLcc");
    }

    #[test]
    fn the_time_shift_is_how_much_longer_a_classic_packet_waits() {
        for (later, first) in [(Span::ms(50), true), (Span::ms(51), false)] {
            let mut dual = dual(Scheduler::TsFifo, 0, 1);
            let now = Time::ZERO + later;
            dual.low.push(Packet { at: now, flags: Flags::ECT1, ..packet(1000) });
            assert_eq!(dual.pop(now).map(|(low, _)| low), Some(first));
        }
    }
}
