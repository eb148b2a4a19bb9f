//! The sending end of Homa: the first bytes of a message at once, the rest as they are granted.
//!
//! Source: as `mod.rs`; Montazeri et al. 2018 s.3.2, s.3.3 and s.3.7.

use super::{BUSY, GRANT, RESEND};
use crate::cc::{FlowInfo, MessageInfo};
use crate::net::Net;
use crate::packet::level::stamp;
use crate::packet::{Extension, Flags, Packet};
use crate::transport::half::{Half, TakesTurns, Turn};
use crate::transport::ranges::Ranges;
use crate::transport::rtt::RttEstimator;
use crate::transport::{Config, State};
use shallows_units::{Span, Time};

/// Most doublings of a timeout.
const MOST_DOUBLINGS: u32 = 10;

/// A message of which the receiver has not said that it is whole.
#[derive(Debug, Clone, Copy)]
struct Outgoing {
    /// First byte.
    start: u64,
    /// One beyond its last byte.
    end: u64,
    /// Next byte that has never been sent.
    next: u64,
    /// One beyond the last byte that may be sent.
    granted: u64,
    /// One beyond the last unscheduled byte.
    blind: u64,
    /// Priority of its scheduled packets.
    level: u8,
    /// Its receiver has spoken of it.
    known: bool,
}

/// The sending end. Its window is the card's rate, without bound. Its statistics count requests that came as recoveries.
pub struct HomaSender {
    /// The part that all transports have in common.
    pub half: Half,
    /// Its turn at the host's port.
    pub(in crate::transport) turn: Turn,
    messages: Vec<Outgoing>,
    /// Whole at the receiver beyond `una`.
    arrived: Ranges,
    /// To be sent again.
    again: Ranges,
    /// Timeouts since the last packet that came.
    timeouts_in_a_row: u32,
    rtt: RttEstimator,
}

impl HomaSender {
    /// A connection that has sent nothing.
    pub fn new(flow: u32, label: u32, info: &FlowInfo<'_>, config: &Config, now: Time) -> Self {
        HomaSender {
            half: Half::new(flow, label, info, config, now),
            turn: Turn::default(),
            messages: vec![],
            arrived: Ranges::default(),
            again: Ranges::default(),
            timeouts_in_a_row: 0,
            rtt: RttEstimator::default(),
        }
    }

    // ---- the application ----

    /// The application is about to write a message, which says no more than the writing.
    pub fn announce(&mut self, _message: &MessageInfo, _config: &Config, _now: Time) {}

    /// The application writes a message of `bytes`.
    pub fn write(&mut self, bytes: u64, config: &Config, net: &mut Net) {
        let start = self.half.written;
        self.half.write(bytes);
        let end = self.half.written;
        if end > start {
            let blind = end.min(start.saturating_add(config.homa.rtt_bytes));
            self.messages.push(Outgoing {
                start,
                end,
                next: start,
                granted: blind,
                blind,
                level: 0,
                known: false,
            });
        }
        self.pump(config, net);
    }

    /// Bytes sent, of messages that are not known to be whole.
    pub fn flight(&self) -> u64 {
        self.messages.iter().map(|message| message.next - message.start).sum()
    }

    /// Bytes known to have arrived beyond the acknowledgement.
    pub fn sacked(&self) -> u64 {
        self.arrived.bytes()
    }

    /// Smoothed round-trip time, if there is one.
    pub fn srtt(&self) -> Option<Span> {
        self.rtt.known()
    }

    // ---- what the receiver says ----

    /// A grant, a request, or the report that a message is whole.
    #[inline(never)]
    pub fn on_packet(&mut self, packet: &Packet, about: Option<Extension>, config: &Config, net: &mut Net) {
        self.timeouts_in_a_row = 0;
        let [(first, beyond), (level, _), ..] = about.unwrap_or_default().sack;
        if packet.flags.any(GRANT) {
            if let Some(message) = self.messages.iter_mut().find(|message| message.start == first) {
                message.known = true;
                if packet.seq > message.granted {
                    // A grant that was overtaken says nothing new.
                    message.granted = packet.seq.min(message.end);
                    message.level = level as u8;
                }
            }
        } else if packet.flags.any(RESEND) {
            self.on_request(first, beyond, config, net);
        } else {
            self.rtt.sample(net.now - packet.stamp, &config.settings);
            self.half.counts.acks += 1;
            self.half.counts.srtt_sum += u128::from(self.rtt.srtt().as_ps());
            self.arrived.add(first.max(self.half.una), beyond);
            self.half.una = self.half.una.max(packet.seq);
            while let Some(end) = self.arrived.take_through(self.half.una) {
                self.half.una = self.half.una.max(end);
            }
            let una = self.half.una;
            self.messages.retain(|message| message.start != first && message.end > una);
            self.forget(first, beyond);
        }
        self.set_timer(config, net.now);
        self.pump(config, net);
    }

    /// These bytes and all that are acknowledged go no more.
    fn forget(&mut self, first: u64, beyond: u64) {
        self.again.cut_below(self.half.una);
        if self.again.holding(first).is_none()
            && self.again.next_above(first).is_none_or(|next| next >= beyond)
        {
            return;
        }
        let mut kept = Ranges::default();
        for (from, to) in self.again.iter() {
            kept.add(from, to.min(first));
            kept.add(from.max(beyond), to);
        }
        self.again = kept;
    }

    /// The receiver misses these bytes (s.3.7): those that were sent go again, and of others it is said that they will come.
    fn on_request(&mut self, first: u64, beyond: u64, config: &Config, net: &mut Net) {
        self.half.counts.fast_recoveries += 1;
        let Some(message) = self.messages.iter().find(|m| (m.start..m.end).contains(&first)).copied() else {
            return;
        };
        // A request says too that a grant was sent whose packet may be lost.
        if let Some(message) = self.messages.iter_mut().find(|m| m.start == message.start) {
            message.granted = message.granted.max(beyond.min(message.end));
            message.known = true;
        }
        let sent = message.next.min(beyond);
        let waits = self.again.holding(first).is_some() || sent <= first;
        if waits {
            self.send(first, 0, BUSY.with(stamp(config.settings.priority as u8)), message, config, net);
        } else {
            self.again.add(first, sent);
        }
    }

    // ---- sending ----

    /// The message with least left to send of those that may send, by its place (s.3.2).
    fn ready(&self) -> Option<usize> {
        let may = self.messages.iter().enumerate().filter(|(_, message)| message.next < message.granted);
        may.min_by_key(|(_, message)| message.end - message.next).map(|(place, _)| place)
    }

    fn may_send(&self) -> bool {
        !self.again.is_empty() || self.messages.iter().any(|message| message.next < message.granted)
    }

    fn send_next(&mut self, config: &Config, net: &mut Net) {
        let repeated = self.again.iter().next();
        let place = match repeated {
            Some((seq, _)) => self.messages.iter().position(|m| (m.start..m.end).contains(&seq)),
            None => self.ready(),
        };
        let Some(place) = place else { return self.again.clear() };
        let message = self.messages[place];
        let seq = repeated.map_or(message.next, |(first, _)| first);
        // Packets are cut at whole ones from the message's first byte on.
        let mtu = config.rules.mss;
        let payload = (mtu - (seq - message.start) % mtu).min(message.end - seq);
        if repeated.is_some() {
            self.again.cut_below(seq + payload);
        } else {
            self.messages[place].next = seq + payload;
        }
        let level = if seq < message.blind {
            config.homa.unscheduled_level(message.end - message.start)
        } else {
            message.level
        };
        let flags = Flags::default()
            .with_if(config.ect, config.ecn)
            .with_if(Flags::RETRANSMITTED, repeated.is_some())
            .with(stamp(level));
        self.half.counts.packets += 1;
        self.half.counts.retransmissions += u64::from(repeated.is_some());
        self.send(seq, payload as u16, flags, message, config, net);
    }

    fn send(&self, seq: u64, payload: u16, flags: Flags, message: Outgoing, config: &Config, net: &mut Net) {
        let mut about = Extension { blocks: 1, ..Extension::default() };
        about.sack[0] = (message.start, message.end);
        let extension = net.extensions.put(&about);
        net.send(&self.half.packet(seq, (config.header + payload, flags), extension, net.now));
    }

    // ---- timers ----

    /// A receiver that knows of a message grants and asks by itself. One that does not is reminded, and so is one that has everything,
    /// whose report may be lost.
    fn is_silent(message: &Outgoing) -> bool {
        !message.known || message.next == message.end
    }

    fn set_timer(&mut self, config: &Config, now: Time) {
        // A receiver asks first: its time began later, and its request takes a while.
        let span = config.homa.timeout * (2 << self.timeouts_in_a_row.min(MOST_DOUBLINGS));
        self.half.rto_at = if self.messages.iter().any(Self::is_silent) { now + span } else { Time::MAX };
    }

    /// Nothing has come for long: the first packet of each message that was sent goes again, so that its receiver learns of it, or says
    /// again that it is whole.
    #[cold]
    fn remind(&mut self, config: &Config) {
        if self.may_send() {
            return; // what waits in this host will be answered
        }
        self.half.counts.timeouts += 1;
        self.timeouts_in_a_row += 1;
        for message in self.messages.iter().filter(|message| Self::is_silent(message)) {
            let beyond = message.end.min(message.start.saturating_add(config.rules.mss));
            self.again.add(message.start, beyond);
        }
    }
}

impl TakesTurns for HomaSender {
    fn parts(&self) -> (&Half, Turn) {
        (&self.half, self.turn)
    }

    /// Sends what may go now. Two packets stand in the host's port at most (s.3.2), so that it finds the message with least left there
    /// while another packet leaves.
    fn pump(&mut self, config: &Config, net: &mut Net) {
        if self.half.state != State::Established {
            return;
        }
        self.turn.waits = false;
        while self.may_send() {
            if let Some(at) = net.held_at_host(self.half.flow, config.packet) {
                self.turn = Turn { at, waits: true };
                break;
            }
            self.send_next(config, net);
        }
        if self.half.rto_at == Time::MAX {
            self.set_timer(config, net.now);
        }
    }

    fn on_timeout(&mut self, config: &Config, now: Time) {
        self.remind(config);
        self.set_timer(config, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Faults, Table};
    use crate::transport::Transport;
    use serde_json::json;

    fn sender() -> HomaSender {
        with_config().0
    }

    fn with_config() -> (HomaSender, Config) {
        let settings = json!({"profile": "homa", "cc": {"kind": "line-rate"}});
        let map = settings.as_object().expect("a table");
        let mut faults = Faults::default();
        let transport = Transport::read(&mut Table::new("transport", map, &mut faults), &map.clone());
        let config = Config::new(&transport.expect("no fault"));
        (HomaSender::new(0, 0, &FlowInfo::default(), &config, Time::ZERO), config)
    }

    /// A message of `start` to `end` bytes, of which so much was sent and granted.
    fn message(start: u64, end: u64, next: u64, granted: u64, known: bool) -> Outgoing {
        Outgoing { start, end, next, granted, blind: granted, level: 0, known }
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Span::us(us)
    }

    /// S.3.2: of the messages that may send, the one with least left goes first, whatever its size; those that wait for a grant do not count.
    #[test]
    fn the_message_with_least_left_goes_first() {
        let mut sender = sender();
        assert_eq!((sender.ready(), sender.may_send(), sender.flight()), (None, false, 0));
        sender.messages = vec![
            message(0, 9000, 1000, 9000, true),
            message(9000, 59_000, 52_000, 53_000, true),
            message(59_000, 60_000, 59_500, 59_500, true),
        ];
        assert_eq!((sender.ready(), sender.may_send(), sender.flight()), (Some(1), true, 44_500));
        sender.messages[1].next = 53_000;
        assert_eq!(sender.ready(), Some(0));
        sender.messages[0].next = 9000;
        assert_eq!((sender.ready(), sender.may_send()), (None, false));
        sender.again.add(0, 1000);
        assert!(sender.may_send());
    }

    /// S.3.7: a receiver that knows of a message asks by itself. One that may not, or that may have all of it, is reminded after twice its own time of 2 ms,
    /// which doubles ten times at most: by the first packet of each such message, unless something waits here.
    #[test]
    fn silent_messages_are_reminded_of() {
        let (mut sender, config) = with_config();
        let mut timer = |messages: Vec<Outgoing>, timeouts: u32| {
            (sender.messages, sender.timeouts_in_a_row) = (messages, timeouts);
            sender.set_timer(&config, at(7));
            sender.half.rto_at
        };
        let asked_for = message(0, 9000, 5000, 5000, true);
        assert_eq!(timer(vec![asked_for], 0), Time::MAX);
        assert_eq!(timer(vec![Outgoing { known: false, ..asked_for }], 0), at(7 + 4000));
        let whole = message(9000, 9500, 9500, 9500, true);
        assert_eq!(timer(vec![asked_for, whole], 1), at(7 + 8000));
        assert_eq!([10, 11].map(|n| timer(vec![whole], n)), [at(7 + 4_096_000); 2]);
        let unknown = message(20_000, 29_000, 25_000, 25_000, false);
        for (messages, again) in [
            (vec![asked_for, whole, unknown], vec![(9000, 9500), (20_000, 21_440)]),
            (vec![unknown, message(30_000, 39_000, 31_000, 32_000, false)], vec![]),
        ] {
            let (mut sender, config) = with_config();
            sender.messages = messages;
            sender.remind(&config);
            assert_eq!(sender.again.iter().collect::<Vec<_>>(), again);
            let count = u64::from(!again.is_empty());
            assert_eq!((sender.half.counts.timeouts, u64::from(sender.timeouts_in_a_row)), (count, count));
        }
    }

    /// Bytes that have come go no more. All others that were asked for still do: of other messages, and before and behind these.
    #[test]
    fn what_has_come_goes_no_more() {
        for (una, (first, beyond), left) in [
            (0, (0, 500), vec![(1000, 3000), (5000, 7000)]),
            (0, (3000, 5000), vec![(1000, 3000), (5000, 7000)]),
            (0, (1000, 3000), vec![(5000, 7000)]),
            (0, (5500, 6000), vec![(1000, 3000), (5000, 5500), (6000, 7000)]),
            (0, (2000, 6000), vec![(1000, 2000), (6000, 7000)]),
            (0, (0, 9000), vec![]),
            (2000, (0, 2000), vec![(2000, 3000), (5000, 7000)]),
            (6000, (6500, 7000), vec![(6000, 6500)]),
        ] {
            let mut sender = sender();
            sender.again.add(1000, 3000);
            sender.again.add(5000, 7000);
            sender.half.una = una;
            sender.forget(first, beyond);
            assert_eq!(sender.again.iter().collect::<Vec<_>>(), left, "{una} {first} {beyond}");
        }
    }
}
