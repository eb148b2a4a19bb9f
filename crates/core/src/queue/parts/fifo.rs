//! First in, first out, over any discipline that decides at arrival: the two-event twin of the
//! port's fast path.

use crate::packet::Packet;
use crate::queue::{Admission, Backlog, Passing, QueueCx, QueueDisc, Verdict};
use shallows_units::{Bytes, Rate, Span};
use std::collections::VecDeque;

/// A queue in order of arrival.
#[derive(Debug)]
pub struct Fifo<A> {
    admission: A,
    held: VecDeque<Packet>,
    bytes: u64,
    rate: Rate,
    /// How long the transmitter takes for them.
    standing: Span,
}

impl<A> Fifo<A> {
    /// Empty, before a transmitter of `rate`.
    pub fn new(admission: A, rate: Rate) -> Self {
        Fifo { admission, held: VecDeque::new(), bytes: 0, rate, standing: Span::ZERO }
    }

    fn transmission(&self, packet: &Packet) -> Span {
        self.rate.transmit(Bytes(u64::from(packet.size)))
    }
}

impl<A: Admission + Send> QueueDisc for Fifo<A> {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut QueueCx<'_>) {
        // As the fast path reckons it, to the picosecond.
        let free_at = if self.held.is_empty() { cx.free_at } else { cx.free_at.max(cx.now) + self.standing };
        let standing = Backlog {
            packets: self.held.len() as u64 + u64::from(cx.serving > 0),
            bytes: self.bytes + cx.serving,
            serving: cx.serving,
            free_at,
        };
        match self.admission.admit(&packet, standing, cx.now) {
            Verdict::Drop(why) => return cx.drop(packet, why),
            Verdict::Mark => _ = cx.mark(&mut packet),
            Verdict::Pass => {}
        }
        self.standing += self.transmission(&packet);
        self.bytes += u64::from(packet.size);
        self.held.push_back(packet);
    }

    fn dequeue(&mut self, _cx: &mut QueueCx<'_>) -> Option<Packet> {
        let packet = self.held.pop_front()?;
        self.bytes -= u64::from(packet.size);
        self.standing -= self.transmission(&packet);
        Some(packet)
    }

    fn pass(&mut self, packet: &mut Packet, cx: &mut QueueCx<'_>) -> Passing {
        let standing = Backlog { free_at: cx.free_at, ..Backlog::default() };
        match self.admission.admit(packet, standing, cx.now) {
            Verdict::Drop(why) => {
                cx.drop(*packet, why);
                return Passing::Dropped;
            }
            Verdict::Mark => _ = cx.mark(packet),
            Verdict::Pass => {}
        }
        Passing::Sent
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.held.len() as u64, bytes: self.bytes, ..Backlog::default() }
    }

    fn rate_changes(&mut self, rate: Rate) {
        self.rate = rate;
        self.standing =
            self.held.iter().map(|packet| self.transmission(packet)).fold(Span::ZERO, |a, b| a + b);
        self.admission.rate_changes(rate);
    }

    fn decides_at_arrival(&self) -> bool {
        true
    }

    fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
        self.admission.observe(put);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::packet;
    use crate::packet::{DropWhy, Flags};
    use shallows_units::Time;

    /// Notes what it is asked: drops packets of 9 bytes, marks those of 8.
    #[derive(Default)]
    struct Spy {
        met: Vec<(u64, u64, u64, Time)>,
        rate: Option<Rate>,
    }

    impl Admission for Spy {
        fn admit(&mut self, packet: &Packet, backlog: Backlog, _now: Time) -> Verdict {
            self.met.push((backlog.packets, backlog.bytes, backlog.serving, backlog.free_at));
            match packet.size {
                9 => Verdict::Drop(DropWhy::Full),
                8 => Verdict::Mark,
                _ => Verdict::Pass,
            }
        }
        fn rate_changes(&mut self, rate: Rate) {
            self.rate = Some(rate);
        }
        fn observe(&self, put: &mut dyn FnMut(&'static str, f64)) {
            put("met", self.met.len() as f64);
        }
    }

    /// At 1 Gb/s a byte takes 8 ns. The admission meets what stands with the packet in transmission, and learns when the transmitter will
    /// have sent all of it; at another rate what stands takes another time.
    #[test]
    fn an_admission_meets_what_stands_and_when_that_has_left() {
        let at = |ns: u64| Time::ZERO + Span::ns(ns);
        let mut fifo = Fifo::new(Spy::default(), Rate::gbps(1));
        let mut dropped = vec![];
        let mut cx = QueueCx::new(at(5), 100, at(805), &mut dropped);
        for size in [1000, 9, 500, 10] {
            fifo.enqueue(packet(size), &mut cx);
        }
        let serving = 100;
        let met = |fifo: &Fifo<Spy>, from: usize| fifo.admission.met[from..].to_vec();
        assert_eq!(
            met(&fifo, 0),
            [
                (1, 100, serving, at(805)),
                (2, 1100, serving, at(805 + 8000)),
                (2, 1100, serving, at(805 + 8000)),
                (3, 1600, serving, at(805 + 12_000)),
            ]
        );
        fifo.rate_changes(Rate::gbps(2));
        assert_eq!(fifo.admission.rate, Some(Rate::gbps(2)));
        assert_eq!(fifo.dequeue(&mut cx).map(|packet| packet.size), Some(1000));
        let backlog = fifo.backlog();
        assert_eq!((backlog.packets, backlog.bytes, fifo.decides_at_arrival()), (2, 510, true));
        cx.serving = 0;
        cx.free_at = Time::ZERO;
        fifo.enqueue(Packet { flags: Flags::ECT0, ..packet(8) }, &mut cx);
        assert_eq!(met(&fifo, 4), [(2, 510, 0, at(5 + 510 * 4))]);
        let flags = std::iter::from_fn(|| fifo.dequeue(&mut cx)).map(|packet| packet.flags.any(Flags::CE));
        assert_eq!(flags.collect::<Vec<_>>(), [false, false, true]);
        let mut seen = vec![];
        fifo.observe(&mut |name, value| seen.push((name, value)));
        assert_eq!(seen, [("met", 5.0)]);
        assert_eq!(dropped.iter().map(|(packet, _)| packet.size).collect::<Vec<_>>(), [9]);
    }

    /// A packet that comes to a free transmitter meets an empty port: it leaves, marked or not, or is dropped.
    #[test]
    fn a_packet_that_passes_meets_an_empty_port() {
        let free_at = Time::ZERO + Span::ns(3);
        let mut fifo = Fifo::new(Spy::default(), Rate::gbps(1));
        let mut dropped = vec![];
        let mut cx = QueueCx::new(Time::ZERO + Span::ns(7), 0, free_at, &mut dropped);
        for (size, passing, marked) in
            [(1000, Passing::Sent, false), (8, Passing::Sent, true), (9, Passing::Dropped, false)]
        {
            let mut packet = Packet { flags: Flags::ECT0, ..packet(size) };
            assert_eq!(fifo.pass(&mut packet, &mut cx), passing);
            assert_eq!(packet.flags.any(Flags::CE), marked);
        }
        assert_eq!(fifo.admission.met, [(0, 0, 0, free_at); 3]);
        assert_eq!((fifo.backlog().packets, cx.marked()), (0, 1));
        assert_eq!(dropped.len(), 1);
    }
}
