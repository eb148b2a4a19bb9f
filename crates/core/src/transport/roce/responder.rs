//! The receiving end of a queue pair: acknowledgements, reports of gaps, notifications.
//!
//! Source: InfiniBand specification s.9.7.5 (an acknowledgement covers all before it; one NAK a gap; a duplicate is
//! acknowledged), Zhu et al. 2015 (SIGCOMM) for the notification point: a marked packet causes a notification at once if none
//! was sent in the last `cnp_interval`. With IRN, Mittal et al. 2018 s.3.1: what is out of order is kept, and each such packet
//! answered. With go-back-0 a gap throws away what came of the message, and the NAK asks for its first packet (ReceiverCheckSeq with
//! `L2_BACK_TO_ZERO` in the simulator of HPCC's authors); its first packet begins the message anew whenever it comes.
//! The order in InfiniBand's words: "expected", "beyond" a gap, "duplicate".

use super::Rules;
use super::wire::{AETH, ASKS, CNP_BODY, FIRST, LAST, NAK, TRIGGER};
use crate::net::Net;
use crate::packet::{Extension, Flags, NONE, Packet};
use crate::port_control::Feedback;
use crate::transport::Config;
use crate::transport::ranges::Ranges;
use crate::transport::receiver::ReceiverCounts;
use shallows_units::Time;

/// The receiving end.
#[derive(Debug, Clone)]
pub struct Responder {
    flow: u32,
    label: u32,
    /// Next byte expected; with go-back-0 it falls back to where the message begins.
    next: u64,
    /// Bytes delivered: with go-back-0 those of whole messages, otherwise all below `next`.
    pub delivered: u64,
    /// The most that `next` was before it fell back.
    furthest: u64,
    /// Held beyond `next` (IRN).
    held: Ranges,
    /// Packets not yet acknowledged.
    pending: u64,
    /// The gap at `next` is not reported before this.
    nak_at: Time,
    notifications: Notifications,
    /// Statistics.
    pub counts: ReceiverCounts,
}

impl Responder {
    /// Waiting for the first byte.
    pub fn new(flow: u32, label: u32) -> Self {
        Responder {
            flow,
            label,
            next: 0,
            delivered: 0,
            furthest: 0,
            held: Ranges::default(),
            pending: 0,
            nak_at: Time::ZERO,
            notifications: Notifications::default(),
            counts: ReceiverCounts::default(),
        }
    }

    /// A packet from the requester.
    pub fn on_packet(&mut self, packet: &Packet, config: &Config, net: &mut Net) {
        let rules = &config.roce;
        let header = net.extension(packet).map_or(Feedback::None, |extension| extension.feedback);
        let first = if packet.flags.any(FIRST) { rules.first } else { 0 };
        let payload = u64::from(packet.size - config.header - first - header.bytes(false));
        let marked = self.counts.add(packet, net.now);
        if marked && self.notifications.due(rules, net.now) {
            Notifications::send((self.flow, self.label), packet, config, net);
        }
        if rules.restarts && packet.flags.any(FIRST) && packet.seq == self.delivered {
            self.fall_back(); // another attempt at the message
        }
        if packet.seq > self.next {
            return self.on_gap(packet, payload, header, config, net);
        }
        if packet.seq == self.next {
            self.next += payload;
            self.nak_at = Time::ZERO;
            while let Some(end) = self.held.take_through(self.next) {
                self.next = self.next.max(end);
            }
            if !rules.restarts || packet.flags.any(LAST) {
                self.delivered = self.next;
            }
        }
        self.pending += 1;
        if self.pending >= rules.ack_every || packet.flags.any(ASKS.with(LAST)) || rules.selective {
            self.pending = 0;
            let extension = put(Extension { feedback: header, ..Extension::default() }, net);
            let size = config.header + AETH + header.bytes(true);
            self.send(Flags::ACK, self.next, size, extension, packet, net);
        }
    }

    /// All that came of the message at hand is thrown away (go-back-0).
    fn fall_back(&mut self) {
        self.furthest = self.furthest.max(self.next);
        self.next = self.delivered;
    }

    /// Bytes that have arrived, each once: those of an attempt that go-back-0 gave up count too, and those of the next
    /// attempt only from there on.
    pub fn arrived(&self) -> u64 {
        self.furthest.max(self.next) + self.held.bytes()
    }

    /// A packet beyond a gap.
    #[cold]
    fn on_gap(&mut self, packet: &Packet, payload: u64, header: Feedback, config: &Config, net: &mut Net) {
        let rules = &config.roce;
        let mut extension = Extension { feedback: header, ..Extension::default() };
        let mut size = config.header + AETH + header.bytes(true);
        if rules.selective {
            let beyond = packet.seq + payload;
            self.held.add(packet.seq, beyond);
            (extension.sack[0], extension.blocks) = ((packet.seq, beyond), 1);
            size += TRIGGER;
        } else if net.now >= self.nak_at {
            self.nak_at = net.now + rules.nak_interval;
            self.fall_back(); // with go-back-N it is there
        } else {
            return;
        }
        self.pending = 0;
        let extension = put(extension, net);
        self.send(Flags::ACK.with(NAK), self.next, size, extension, packet, net);
    }

    fn send(&self, flags: Flags, seq: u64, size: u16, extension: u32, about: &Packet, net: &mut Net) {
        answer((self.flow, self.label), (flags, seq), (size, extension), about.stamp, net);
    }
}

/// The notifications of a queue pair keep their distance.
#[derive(Debug, Clone, Default)]
pub struct Notifications {
    /// None before this.
    at: Time,
}

impl Notifications {
    /// Whether a mark that arrives at `now` causes one.
    #[inline]
    pub fn due(&mut self, rules: &Rules, now: Time) -> bool {
        let due = now >= self.at;
        if due {
            self.at = now + rules.cnp_interval;
        }
        due
    }

    /// Sends one about `packet` for the queue pair with this number and label.
    pub fn send(pair: (u32, u32), packet: &Packet, config: &Config, net: &mut Net) {
        answer(pair, (Flags::CNP, 0), (config.header + CNP_BODY, NONE), packet.stamp, net);
    }
}

/// Sends a packet back: for a connection with its label, flags and number, its size and extension.
pub fn answer(
    (flow, label): (u32, u32),
    (flags, seq): (Flags, u64),
    (size, extension): (u16, u32),
    stamp: Time,
    net: &mut Net,
) {
    let flags = flags.with(Flags::REVERSE);
    net.send(&Packet { at: Time::ZERO, seq, stamp, waited: 0, flow, label, extension, size, flags });
}

/// The place of `extension`, if it says anything.
fn put(extension: Extension, net: &mut Net) -> u32 {
    let says = extension.blocks > 0 || !matches!(extension.feedback, Feedback::None);
    if says { net.extensions.put(&extension) } else { NONE }
}
