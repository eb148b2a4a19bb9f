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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Faults, Table};
    use crate::transport::Transport;
    use serde_json::json;

    const MTU: u64 = 9000;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::ms(ms)
    }

    /// A sender of ten full packets that has sent the first three, at 1, 2 and 3 ms, and all of its first window.
    fn sender() -> (NdpSender, Config) {
        let map =
            json!({"profile": "ndp", "cc": {"kind": "line-rate"}}).as_object().expect("a table").clone();
        let mut faults = Faults::default();
        let transport = Transport::read(&mut Table::new("transport", &map, &mut faults), &map.clone());
        let config = Config::new(&transport.expect("no fault"));
        let mut sender = NdpSender::new(0, 0, &FlowInfo::default(), &config, Time::ZERO);
        (sender.half.written, sender.next, sender.unpulled, sender.flight) = (10 * MTU, 3 * MTU, 0, 3 * MTU);
        for n in 0..3 {
            sender.unanswered.insert(n * MTU, (ms(n + 1), MTU));
            sender.order.push_back((ms(n + 1), n * MTU));
        }
        (sender, config)
    }

    fn waiting(sender: &NdpSender) -> (Vec<u64>, Vec<u64>, u64) {
        let in_packets = |seqs: Vec<u64>| seqs.iter().map(|seq| seq / MTU).collect();
        let unanswered = in_packets(sender.unanswered.keys().copied().collect());
        (unanswered, in_packets(sender.again.iter().copied().collect()), sender.flight / MTU)
    }

    /// Handley 2017 s.3.2.4, and the authors' simulator: a packet that came back goes at once if no other one will cause a pull, or if at least four
    /// of the last twelve answers were acknowledgements.
    #[test]
    fn a_returned_packet_goes_at_once_where_it_is_alone_or_unlucky() {
        let credit = |alone: bool, due: i64, unpulled: u64, answers: u16| {
            let (mut sender, config) = sender();
            if alone {
                sender.take_unanswered(0);
                sender.take_unanswered(MTU);
            }
            (sender.due, sender.unpulled, sender.answers) = (due, unpulled, answers);
            sender.on_return(2 * MTU, &config);
            assert_eq!(waiting(&sender).1, [2]);
            assert_eq!(sender.answers, answers << 1, "no acknowledgement");
            sender.on_return(2 * MTU, &config);
            assert!(sender.credit <= 1, "once");
            sender.credit
        };
        assert_eq!(credit(false, 0, 0, 0), 0);
        assert_eq!([0b111, 0b1111].map(|answers| credit(false, 0, 0, answers)), [0, 1]);
        // The thirteenth last answer counts no more.
        assert_eq!(
            [0b1000_0000_0111, 0b1_0000_0000_0111].map(|answers| credit(false, 0, 0, answers)),
            [1, 0]
        );
        assert_eq!([-1, 0, 1].map(|due| credit(true, due, 0, 0)), [1, 1, 0]);
        // While the first window lasts, its packets cause pulls.
        assert_eq!(credit(true, 0, 1, 0), 0);
        let (mut sender, config) = sender();
        (sender.next, sender.unpulled, sender.flight) = (10 * MTU, 1, MTU);
        sender.unanswered.retain(|seq, _| *seq == 2 * MTU);
        sender.on_return(2 * MTU, &config);
        assert_eq!(sender.credit, 1, "it has nothing new left");
    }

    /// An acknowledgement covers all below its number, and the packet of its block. Its pull is still to come, unless the receiver has said that none
    /// is to come for packets so early.
    #[test]
    fn an_acknowledgement_takes_packets_off_and_announces_a_pull() {
        let acked = |una: u64, block: Option<u64>, flushed: u64| {
            let (mut sender, config) = sender();
            sender.again.extend([3 * MTU, 4 * MTU]);
            sender.flushed = flushed;
            let mut about = Extension::default();
            if let Some(first) = block {
                (about.sack[0], about.blocks) = ((first * MTU, (first + 1) * MTU), 1);
            }
            let flags = Flags::ACK.with(Flags::REVERSE);
            let packet = sender.half.packet(una * MTU, (64, flags), NONE, ms(4));
            sender.on_ack(&packet, about, &config, ms(6));
            assert_eq!((sender.answers, sender.half.counts.acks, sender.srtt()), (1, 1, Some(Span::ms(2))));
            (waiting(&sender), sender.due, sender.sacked() / MTU, sender.half.una / MTU)
        };
        assert_eq!(acked(2, None, 0), ((vec![2], vec![3, 4], 1), 1, 0, 2));
        assert_eq!(acked(0, Some(1), 0), ((vec![0, 2], vec![3, 4], 2), 1, 1, 0));
        assert_eq!(acked(0, Some(3), 0), ((vec![0, 1, 2], vec![4], 3), 1, 1, 0));
        assert_eq!(acked(4, None, 0), ((vec![], vec![4], 0), 1, 0, 4));
        assert_eq!(acked(1, Some(1), 0), ((vec![2], vec![3, 4], 1), 1, 1, 1));
        // The packet of the answer ended at its number, and has its block's first byte.
        assert_eq!([2 * MTU - 1, 2 * MTU].map(|flushed| acked(2, None, flushed).1), [1, 0]);
        assert_eq!([MTU, MTU + 1].map(|flushed| acked(0, Some(1), flushed).1), [1, 0]);
    }

    /// The last answers stand in a register, the newest in its lowest place: 1 for an acknowledgement, 0 for a NACK.
    #[test]
    fn answers_are_kept_in_their_order() {
        let (mut sender, _) = sender();
        [true, true, false, true, false].iter().for_each(|whole| sender.answered(*whole, 0));
        assert_eq!((sender.answers, sender.due), (0b11010, 5));
        (0..16).for_each(|_| sender.answered(false, 0));
        assert_eq!(sender.answers, 0);
    }

    /// The oldest packet without an answer goes again 5 ms after it left the port, which doubles ten times at most; without any, one goes 100 ms
    /// after the last answer if data waits.
    #[test]
    fn the_timer_is_the_oldest_packets_or_that_of_lost_pulls() {
        let (mut sender, config) = sender();
        let timer = |sender: &mut NdpSender, timeouts: u32, now: Time| {
            sender.timeouts_in_a_row = timeouts;
            sender.set_timer(&config, now);
            sender.half.rto_at
        };
        assert_eq!(timer(&mut sender, 0, ms(3)), ms(1 + 5));
        assert_eq!(timer(&mut sender, 1, ms(3)), ms(1 + 10));
        assert_eq!([10, 11].map(|n| timer(&mut sender, n, ms(3))), [ms(1 + 5 * 1024); 2]);
        assert_eq!(timer(&mut sender, 0, ms(9)), ms(9), "not before now");
        sender.take_unanswered(0);
        assert_eq!(timer(&mut sender, 0, ms(3)), ms(2 + 5));
        // One that was sent again since counts from then.
        sender.unanswered.insert(MTU, (ms(4), MTU));
        sender.order.push_back((ms(4), MTU));
        assert_eq!(timer(&mut sender, 0, ms(4)), ms(3 + 5));
        sender.take_unanswered(2 * MTU);
        assert_eq!(timer(&mut sender, 0, ms(4)), ms(4 + 5));
        sender.take_unanswered(MTU);
        sender.answered_at = ms(7);
        assert_eq!([0, 2].map(|n| timer(&mut sender, n, ms(8))), [ms(7 + 100), ms(7 + 400)]);
        sender.next = 10 * MTU;
        assert_eq!(timer(&mut sender, 0, ms(8)), Time::MAX);
        sender.again.insert(0);
        assert_eq!(timer(&mut sender, 0, ms(8)), ms(107));
    }

    /// A timeout sends again what has waited for so long, the doubled time included. If nothing has, a pull was lost, and one packet goes.
    #[test]
    fn a_timeout_sends_again_what_is_late() {
        for (in_a_row, now, again, credit) in [
            (0, ms(6), vec![0], 1),
            (0, ms(7), vec![0, 1], 2),
            (1, ms(10), vec![], 1),
            (1, ms(11), vec![0], 1),
        ] {
            let (mut sender, config) = sender();
            sender.timeouts_in_a_row = in_a_row;
            sender.on_timeout(&config, now);
            let late = again.len() as u64;
            assert_eq!((waiting(&sender).1, sender.credit, sender.flight / MTU), (again, credit, 3 - late));
            assert_eq!((sender.timeouts_in_a_row, sender.half.counts.timeouts), (in_a_row + 1, 1));
            assert_eq!(sender.answered_at, now);
        }
    }

    /// A packet leaves for a pull, whether new or not, or as one of the first window, which are new.
    #[test]
    fn packets_leave_for_pulls_or_in_the_first_window() {
        for (credit, unpulled, new, again, may) in [
            (0, 0, true, true, false),
            (1, 0, true, false, true),
            (1, 0, false, true, true),
            (1, 0, false, false, false),
            (0, 1, true, false, true),
            (0, 1, false, true, false),
            (0, 1, false, false, false),
        ] {
            let (mut sender, _) = sender();
            (sender.credit, sender.unpulled) = (credit, unpulled);
            sender.next = if new { 9 * MTU } else { 10 * MTU };
            sender.again.extend(again.then_some(0));
            assert_eq!((sender.may_send(), sender.has_data()), (may, new || again));
        }
    }
}
