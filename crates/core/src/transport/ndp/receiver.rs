//! The receiving end of NDP: it answers at once, and owes a pull for each packet that came, whole or not.
//!
//! Source: as `mod.rs`; Handley et al. 2017 s.3.2. The pulls of a host's flows share one pacer (`hosts/pulls.rs`). When all that
//! the sender has written is there, no more pulls of it are sent: the last packet says that nothing is behind it.

use super::wire::{DONE, LAST, NACK, PULL};
use crate::net::Net;
use crate::packet::{Extension, Flags, NONE, Packet};
use crate::transport::Config;
use crate::transport::ranges::Ranges;
use crate::transport::receiver::ReceiverCounts;
use shallows_units::{Bytes, Rate, Span, Time};

/// The receiving end.
#[derive(Debug, Clone)]
pub struct NdpReceiver {
    flow: u32,
    label: u32,
    /// Next byte expected; everything below has been delivered.
    pub next: u64,
    /// Held beyond `next`.
    held: Ranges,
    /// Where the stream ends, as far as its sender has said.
    ends: u64,
    /// Pulls that are to be sent.
    pub owed: u64,
    /// Pulls sent.
    pulls: u64,
    /// It stands in its host's queue of pulls.
    pub queued: bool,
    /// Time that its link takes for a full packet: pulls are so far apart.
    pub spacing: Span,
    /// Statistics.
    pub counts: ReceiverCounts,
}

impl NdpReceiver {
    /// Waiting for the first byte, at the end of a link of `rate`.
    pub fn new(flow: u32, label: u32, config: &Config, rate: Rate) -> Self {
        NdpReceiver {
            flow,
            label,
            next: 0,
            held: Ranges::default(),
            ends: 0,
            owed: 0,
            pulls: 0,
            queued: false,
            spacing: rate.transmit(Bytes(config.packet)),
            counts: ReceiverCounts::default(),
        }
    }

    /// A packet from the sender.
    #[inline(never)]
    pub fn on_packet(&mut self, packet: &Packet, config: &Config, net: &mut Net) {
        self.owed += 1;
        if packet.trimmed() {
            // A copy of one that came whole may arrive after all is there: it causes no pull either.
            let flags = self.finish(NACK, packet.seq < self.next);
            return self.send(flags, packet.seq, NONE, packet.stamp, config, net);
        }
        let beyond = packet.seq + u64::from(packet.size - config.header);
        self.counts.packets += 1;
        self.counts.marks += u64::from(packet.flags.any(Flags::CE));
        self.counts.wait_sum += u128::from(packet.waited);
        self.counts.delay_sum += u128::from((net.now - packet.stamp).as_ps());
        if packet.flags.any(LAST) {
            self.ends = self.ends.max(beyond);
        }
        let mut extension = NONE;
        if packet.seq > self.next {
            self.held.add(packet.seq, beyond);
            let mut about = Extension { blocks: 1, ..Extension::default() };
            about.sack[0] = (packet.seq, beyond);
            extension = net.extensions.put(&about);
        } else if beyond > self.next {
            self.next = beyond;
            while let Some(end) = self.held.take_through(self.next) {
                self.next = self.next.max(end);
            }
        }
        let flags = self.finish(Flags::ACK, true);
        self.send(flags, self.next, extension, packet.stamp, config, net);
    }

    /// Bytes that have arrived whole, in order or not, each once.
    pub fn arrived(&self) -> u64 {
        self.next + self.held.bytes()
    }

    /// Nothing is owed once everything that the sender announced is there; the answer to a packet of that says so.
    fn finish(&mut self, answer: Flags, about_it: bool) -> Flags {
        let done = about_it && self.next == self.ends && self.held.is_empty();
        if done {
            self.owed = 0;
        }
        answer.with_if(DONE, done)
    }

    /// Sends the next pull that is owed.
    pub fn pull(&mut self, config: &Config, net: &mut Net) {
        self.owed -= 1;
        self.pulls += 1;
        self.send(PULL, self.pulls, NONE, net.now, config, net);
    }

    fn send(&self, flags: Flags, seq: u64, extension: u32, stamp: Time, config: &Config, net: &mut Net) {
        net.send(&Packet {
            at: Time::ZERO,
            seq,
            stamp,
            waited: 0,
            flow: self.flow,
            label: self.label,
            extension,
            size: config.header,
            flags: flags.with(Flags::REVERSE),
        });
    }
}
