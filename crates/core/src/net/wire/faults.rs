//! Faults injected on a wire: losses, marks, copies and delays, by chance or to a plan.

use super::bursts::{BitErrors, Bursts};
use super::jitter::Jitter;
use super::trace::Follower;

use crate::events::random::Stream;
use crate::packet::{DropWhy, Flags, Packet};
use shallows_units::{Rate, Span, Time};
use std::collections::VecDeque;

/// Faults injected on a wire, planned or each with its probability a packet.
#[derive(Debug)]
pub struct WireFaults {
    /// Packets that came to the far end so far, of the class `planned_of` alone if that is one.
    pub seen: u64,
    /// The class whose packets are numbered, or none: all are.
    pub planned_of: Option<u16>,
    /// Numbers of those to lose, the next one last.
    pub doomed: Vec<u64>,
    /// Lost.
    pub loss: f64,
    /// Marked CE, if ECN-capable.
    pub mark: f64,
    /// Each packet whose number is a multiple of this is marked, if any.
    pub mark_every: Option<u64>,
    /// ECN-capable packets that came to the far end so far.
    pub capable: u64,
    /// Delivered twice.
    pub duplicate: f64,
    /// Held back by up to `reorder_delay`.
    pub reorder: f64,
    /// Longest extra delay of a packet held back.
    pub reorder_delay: Span,
    /// Losses in bursts.
    pub bursts: Option<Bursts>,
    /// Wrong bits.
    pub bit_errors: Option<BitErrors>,
    /// Extra times of all packets.
    pub jitter: Option<Jitter>,
    /// Random numbers of this wire alone.
    pub random: Stream,
    /// Random numbers for marks.
    pub random_marks: Stream,
    /// Facts of a link that changes.
    pub varying: Option<Varying>,
    /// Packets that leave the port from then on are in the statistics; those before are not, nor are their losses.
    pub counts_from: Time,
}

impl WireFaults {
    /// Whether `packet`, which has come to the far end, is marked there; call once for each.
    pub fn marks(&mut self, packet: &Packet) -> bool {
        if !packet.ecn_capable() {
            return false;
        }
        self.capable += 1;
        let planned = self.mark_every.is_some_and(|every| self.capable.is_multiple_of(every));
        (planned || self.random_marks.chance(self.mark)) && !packet.flags.any(Flags::CE)
    }

    /// Whether the packet of so many bytes, of a connection of this class, that has come to the far end is lost; call once
    /// for each.
    pub fn lose(&mut self, bytes: u16, class: Option<u16>) -> bool {
        let numbered = self.planned_of.is_none() || self.planned_of == class;
        self.seen += u64::from(numbered);
        let planned = numbered && self.doomed.pop_if(|number| *number == self.seen).is_some();
        let by_chance = self.random.chance(self.loss);
        let in_burst = self.bursts.as_mut().is_some_and(Bursts::lose);
        let spoilt = self.bit_errors.as_mut().is_some_and(|bits| bits.spoil(bytes));
        by_chance || planned || in_burst || spoilt
    }

    /// Whether anything here is drawn.
    pub fn is_random(&self) -> bool {
        let chances = self.loss + self.mark + self.duplicate + self.reorder;
        chances > 0.0 || self.bursts.is_some() || self.bit_errors.is_some() || self.jitter.is_some()
    }
}

/// Facts of a port whose link changes, which follow from rate and delay elsewhere.
#[derive(Debug, Default)]
pub struct Varying {
    /// When each packet on the wire left.
    pub(super) left: VecDeque<Time>,
    /// When the last one left that came to the far end, or was cut off.
    pub(super) last: Time,
    /// How long the packet in the transmitter takes.
    pub(super) serving_for: Span,
    /// The highest rate that the link has had before the present one.
    pub(super) highest: Rate,
    /// How long all packets together were transmitted that have left, or were cut off on the way.
    pub sent_for: Span,
    /// The trace that its rate follows, if it does.
    pub trace: Option<Follower>,
    /// Packets dropped, by the causes of [`DropWhy`] that only such a port has.
    pub drops: [u64; DropWhy::COUNT - DropWhy::COMMON],
}

impl Varying {
    /// The facts of a link that follows this trace, if any.
    pub fn following(trace: Option<Follower>) -> Self {
        Varying { trace, ..Varying::default() }
    }

    /// The first packet of the wire is at the far end, or lost.
    pub(in crate::net) fn lands(&mut self) {
        self.last = self.left.pop_front().unwrap_or(self.last);
    }

    /// A transmission of so long begins.
    pub(in crate::net) fn begins(&mut self, span: Span) {
        self.serving_for = span;
    }

    /// It has ended.
    pub(in crate::net) fn ends(&mut self) {
        self.sent_for += self.serving_for;
    }
}
