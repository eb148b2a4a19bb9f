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
