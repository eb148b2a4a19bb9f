//! The sending end of NDP: a first window, then a packet for each pull.
//!
//! Source: as `mod.rs`; Handley et al. 2017 s.3.2. Which packets wait to be sent again is a set, the oldest first: the authors'
//! simulator sends them in the order of their NACKs, which differs where packets overtake each other.

use super::wire::{DONE, LAST, PULL};
use crate::cc::{FlowInfo, MessageInfo};
use crate::net::Net;
use crate::packet::{Extension, Flags, NONE, Packet};
use crate::transport::cutting::Cutting;
use crate::transport::half::{Half, TakesTurns, Turn};
use crate::transport::ranges::Ranges;
use crate::transport::rtt::RttEstimator;
use crate::transport::{Config, State};
use shallows_units::{Rate, Span, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The last [`HISTORY`] answers, of those that are kept (the authors' simulator: `HIST_LEN`).
const RECENT: u16 = (1 << HISTORY) - 1;
/// Answers that count.
const HISTORY: u32 = 12;

/// Most doublings of a timeout.
const MOST_DOUBLINGS: u32 = 10;

/// The sending end. Its window is the card's rate, without bound. Its statistics count NACKs that came as recoveries.
pub struct NdpSender {
    /// The part that all transports have in common.
    pub half: Half,
    /// Its turn at the host's port.
    pub(in crate::transport) turn: Turn,
    /// Next byte that has never been sent.
    next: u64,
    cutting: Cutting,
    /// Arrived beyond `una`.
    arrived: Ranges,
    /// Sent and not yet answered: first byte, and when it left and its bytes.
    unanswered: BTreeMap<u64, (Time, u64)>,
    /// Packets in the order in which they left, with others that were answered since.
    order: VecDeque<(Time, u64)>,
    /// Bytes sent and not yet answered.
    flight: u64,
    /// To be sent again: first bytes.
    again: BTreeSet<u64>,
    /// Packets that may leave without a pull, new ones only.
    unpulled: u64,
    /// Packets that may leave for pulls that came.
    credit: u64,
    /// Highest number of a pull that came.
    pulled: u64,
    /// Answers whose pulls are to come. Negative where pulls overtook the answers that they belong to, on another path.
    due: i64,
    /// No pull is to come for packets below this: the receiver has said so.
    flushed: u64,
    /// The last answers, newest last: 1 for an acknowledgement.
    answers: u16,
    /// Timeouts since the last answer.
    timeouts_in_a_row: u32,
    /// Since when pulls have been waited for.
    answered_at: Time,
    rtt: RttEstimator,
    /// The card's rate.
    line: Rate,
}

impl NdpSender {
    /// A connection that has sent nothing.
    pub fn new(flow: u32, label: u32, info: &FlowInfo<'_>, config: &Config, now: Time) -> Self {
        NdpSender {
            half: Half::new(flow, label, info, config, now),
            turn: Turn::default(),
            next: 0,
            cutting: Cutting::default(),
            arrived: Ranges::default(),
            unanswered: BTreeMap::new(),
            order: VecDeque::new(),
            flight: 0,
            again: BTreeSet::new(),
            unpulled: config.ndp.window,
            credit: 0,
            pulled: 0,
            due: 0,
            flushed: 0,
            answers: 0,
            timeouts_in_a_row: 0,
            answered_at: now,
            rtt: RttEstimator::default(),
            line: info.path.line_rate,
        }
    }

    // ---- the application ----

    /// The application is about to write a message.
    pub fn announce(&mut self, message: &MessageInfo, _config: &Config, _now: Time) {
        self.cutting.announce(message.end);
    }

    /// The application writes `bytes` more.
    pub fn write(&mut self, bytes: u64, config: &Config, net: &mut Net) {
        self.half.write(bytes);
        self.pump(config, net);
    }

    /// Bytes sent and not yet answered.
    pub fn flight(&self) -> u64 {
        self.flight
    }

    /// Bytes known to have arrived beyond the acknowledgement.
    pub fn sacked(&self) -> u64 {
        self.arrived.bytes()
    }

    /// Smoothed round-trip time, if there is one.
    pub fn srtt(&self) -> Option<Span> {
        self.rtt.known()
    }

    // ---- answers ----

    /// An answer, a pull, or a packet of its own that came back.
    #[inline(never)]
    pub fn on_packet(&mut self, packet: &Packet, about: Option<Extension>, config: &Config, net: &mut Net) {
        self.answered_at = net.now;
        self.timeouts_in_a_row = 0;
        if packet.trimmed() {
            self.on_return(packet.seq, config);
        } else if packet.flags.any(PULL) {
            let new = packet.seq.saturating_sub(self.pulled);
            self.pulled += new;
            self.due -= new as i64;
            self.credit += new;
        } else if packet.flags.any(Flags::ECE) {
            self.half.counts.fast_recoveries += 1;
            self.answered(false, packet.seq);
            if self.take_unanswered(packet.seq) {
                self.again.insert(packet.seq);
            }
        } else {
            self.on_ack(packet, about.unwrap_or_default(), config, net.now);
        }
        if packet.flags.any(DONE) && !packet.trimmed() {
            // In a packet that came back this bit means LAST.
            self.due = 0;
            self.flushed = self.flushed.max(packet.seq);
        }
        self.pump(config, net);
    }

    /// A packet with byte `seq` came and was answered. Its pull is on the way, unless the answer was overtaken by one that ends
    /// them.
    fn answered(&mut self, whole: bool, seq: u64) {
        self.answers = self.answers << 1 | u16::from(whole);
        self.due += i64::from(seq >= self.flushed);
    }

    fn on_ack(&mut self, packet: &Packet, about: Extension, config: &Config, now: Time) {
        // Without a block the packet ended at the number, or before it.
        self.answered(true, about.sacked().first().map_or(packet.seq.saturating_sub(1), |block| block.0));
        self.rtt.sample(now - packet.stamp, &config.settings);
        self.half.counts.acks += 1;
        self.half.counts.srtt_sum += u128::from(self.rtt.srtt().as_ps());
        for (first, beyond) in about.sacked() {
            self.arrived.add((*first).max(self.half.una), *beyond);
            self.take_unanswered(*first);
            self.again.remove(first);
        }
        if packet.seq > self.half.una {
            self.half.una = packet.seq;
            self.cutting.acknowledge(self.half.una, config.rules.mss);
            self.arrived.cut_below(self.half.una);
            self.again = self.again.split_off(&self.half.una);
            let rest = self.unanswered.split_off(&self.half.una);
            self.flight -= self.unanswered.values().map(|(_, bytes)| bytes).sum::<u64>();
            self.unanswered = rest;
        }
    }

    /// Notes an answer for the packet that begins at `seq`; returns whether one was awaited.
    fn take_unanswered(&mut self, seq: u64) -> bool {
        let found = self.unanswered.remove(&seq);
        self.flight -= found.map_or(0, |(_, bytes)| bytes);
        found.is_some()
    }

    /// A packet found no room, not even as a header. It goes again at once if no other packet will cause a pull, or if few others
    /// met with the same (Handley 2017 s.3.2.4); else it waits for a pull.
    #[cold]
    fn on_return(&mut self, seq: u64, config: &Config) {
        if !self.take_unanswered(seq) {
            return;
        }
        self.again.insert(seq);
        let acks = (self.answers & RECENT).count_ones();
        self.answers <<= 1;
        let first_window_over = self.unpulled == 0 || self.next >= self.half.written;
        let alone = self.due <= 0 && self.unanswered.is_empty() && first_window_over;
        self.credit += u64::from(alone || acks >= config.ndp.resend_acks);
    }

    // ---- sending ----

    /// Something is to be sent.
    fn has_data(&self) -> bool {
        !self.again.is_empty() || self.next < self.half.written
    }

    /// A packet may leave, for a pull or without one.
    fn may_send(&self) -> bool {
        self.credit > 0 && self.has_data() || self.unpulled > 0 && self.next < self.half.written
    }

    /// Sends the packet whose turn it is: for a pull one that goes again, else a new one.
    fn send_next(&mut self, config: &Config, net: &mut Net) {
        let pulled = self.credit > 0;
        if pulled {
            self.credit -= 1;
        } else {
            self.unpulled -= 1;
        }
        let again = if pulled { self.again.pop_first() } else { None };
        self.emit(again.unwrap_or(self.next), again.is_some(), config, net);
    }

    fn emit(&mut self, seq: u64, again: bool, config: &Config, net: &mut Net) {
        let payload = config.rules.mss.min(self.cutting.message_of(seq).1 - seq).min(self.half.written - seq);
        let beyond = seq + payload;
        let flags = Flags::TRIMMABLE
            .with_if(config.ect, config.ecn)
            .with_if(LAST, beyond == self.half.written)
            .with_if(Flags::RETRANSMITTED, again);
        self.half.counts.packets += 1;
        self.half.counts.retransmissions += u64::from(again);
        let size = config.header + payload as u16;
        net.send(&self.half.packet(seq, (size, flags), NONE, net.now));
        let left = net.sent_by(self.half.flow);
        self.turn.taken(self.half.flow, size, self.line, net);
        self.unanswered.insert(seq, (left, payload));
        self.order.push_back((left, seq));
        self.flight += payload;
        self.next = self.next.max(beyond);
    }

    // ---- timers ----

    /// When the oldest packet without an answer goes again; else when one goes without its pull, if some wait.
    fn set_timer(&mut self, config: &Config, now: Time) {
        let doubled = |span: Span| span * (1 << self.timeouts_in_a_row.min(MOST_DOUBLINGS));
        while let Some((left, seq)) = self.order.front().copied() {
            if self.unanswered.get(&seq).is_some_and(|(at, _)| *at == left) {
                // An answer has ended the doubling, so that the time may be over.
                self.half.rto_at = (left + doubled(config.ndp.timeout)).max(now);
                return;
            }
            self.order.pop_front();
        }
        self.half.rto_at = if self.has_data() {
            (self.answered_at + doubled(config.ndp.pull_timeout)).max(now)
        } else {
            Time::MAX
        };
    }
}

impl TakesTurns for NdpSender {
    fn parts(&self) -> (&Half, Turn) {
        (&self.half, self.turn)
    }

    /// Sends the next packet if it may go now; one alone stands in the host's port, so that the flows of a host take turns there.
    fn pump(&mut self, config: &Config, net: &mut Net) {
        if self.half.state != State::Established {
            return;
        }
        if self.has_data() && self.unanswered.is_empty() && self.due <= 0 && self.credit == 0 {
            // Nothing is on the way that would cause a pull.
            if self.again.is_empty() {
                self.unpulled = config.ndp.window;
            } else {
                self.credit = 1;
            }
        }
        if self.turn.at <= net.now && self.may_send() {
            self.send_next(config, net);
        }
        if !self.has_data() {
            self.credit = 0; // the receiver pulled more than there is
        }
        self.turn.waits = self.may_send();
        self.set_timer(config, net.now);
    }

    #[cold]
    fn on_timeout(&mut self, config: &Config, now: Time) {
        self.half.counts.timeouts += 1;
        let span = config.ndp.timeout * (1 << self.timeouts_in_a_row.min(MOST_DOUBLINGS));
        self.timeouts_in_a_row += 1;
        self.answered_at = now;
        let late = |(_, (left, _)): &(&u64, &(Time, u64))| *left + span <= now;
        let late: Vec<u64> = self.unanswered.iter().filter(late).map(|(seq, _)| *seq).collect();
        // Those without an answer go at once; else one goes for a pull that may have been lost.
        self.credit += (late.len() as u64).max(1);
        for seq in late {
            self.take_unanswered(seq);
            self.again.insert(seq);
        }
    }
}
