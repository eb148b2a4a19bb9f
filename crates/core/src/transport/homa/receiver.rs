//! The receiving end of Homa: it says what may be granted, asks for what is missing, and reports whole messages.
//!
//! Source: as `mod.rs`; Montazeri et al. 2018 s.3.3 and s.3.7. The grants of a host's connections are chosen together
//! (`hosts/grants.rs`).

use super::{BUSY, GRANT, RESEND};
use crate::net::Net;
use crate::packet::{Extension, Flags, Packet};
use crate::transport::Config;
use crate::transport::ranges::Ranges;
use crate::transport::receiver::ReceiverCounts;
use shallows_units::Time;
use std::collections::BTreeMap;

/// Most doublings of the time after which a receiver asks again.
const MOST_DOUBLINGS: u32 = 10;
/// Most requests that leave at a time.
const MOST_REQUESTS: usize = 16;

/// A message of which something is missing.
#[derive(Debug, Clone, Copy)]
struct Incoming {
    /// One beyond its last byte.
    end: u64,
    /// One beyond the last byte that may be sent.
    granted: u64,
    /// Bytes that have come.
    came: u64,
}

/// The receiving end.
#[derive(Debug, Clone)]
pub struct HomaReceiver {
    flow: u32,
    label: u32,
    /// Next byte expected; everything below has been delivered.
    pub next: u64,
    /// Held beyond `next`.
    held: Ranges,
    /// By first byte: messages that are not whole.
    messages: BTreeMap<u64, Incoming>,
    /// It stands in its host's list of those that may be granted to.
    pub listed: bool,
    /// When it asks for what is missing.
    pub rto_at: Time,
    /// Time of the soonest event that will look at it.
    pub timer_at: Time,
    /// Requests since the last packet.
    asked: u32,
    /// Statistics.
    pub counts: ReceiverCounts,
}

impl HomaReceiver {
    /// Waiting for the first byte.
    pub fn new(flow: u32, label: u32) -> Self {
        HomaReceiver {
            flow,
            label,
            next: 0,
            held: Ranges::default(),
            messages: BTreeMap::new(),
            listed: false,
            rto_at: Time::MAX,
            timer_at: Time::MAX,
            asked: 0,
            counts: ReceiverCounts::default(),
        }
    }

    /// A packet from the sender.
    #[inline(never)]
    pub fn on_packet(&mut self, packet: &Packet, config: &Config, net: &mut Net) {
        self.asked = 0;
        let about = net.extension(packet).unwrap_or_default();
        if packet.flags.any(BUSY) {
            return self.set_timer(config, net.now);
        }
        let (start, end) = about.sack[0];
        let beyond = packet.seq + u64::from(packet.size - config.header);
        self.counts.packets += 1;
        self.counts.marks += u64::from(packet.flags.any(Flags::CE));
        self.counts.wait_sum += u128::from(packet.waited);
        self.counts.delay_sum += u128::from((net.now - packet.stamp).as_ps());
        let fresh = beyond > self.next && self.held.holding(packet.seq).is_none();
        if fresh {
            self.take(packet.seq, beyond);
            let first = end.min(start.saturating_add(config.homa.rtt_bytes));
            let message = self.messages.entry(start).or_insert(Incoming { end, granted: first, came: 0 });
            message.came += beyond - packet.seq;
        }
        let whole = match self.messages.get(&start) {
            Some(message) => message.came >= message.end - start,
            None => true, // a copy of a packet of a message that is whole: the report was lost
        };
        if whole {
            self.messages.remove(&start);
            self.report(start, end, packet.stamp, config, net);
        } else if !fresh && let Some(message) = self.messages.get(&start) {
            // Its sender does not know whether anybody knows of the message.
            self.send(GRANT, message.granted, [(start, message.granted), (0, 0)], packet.stamp, config, net);
        }
        self.set_timer(config, net.now);
    }

    fn take(&mut self, seq: u64, beyond: u64) {
        if seq > self.next {
            self.held.add(seq, beyond);
            return;
        }
        self.next = beyond;
        while let Some(end) = self.held.take_through(self.next) {
            self.next = self.next.max(end);
        }
    }

    /// Bytes that have arrived, in order or not, each once.
    pub fn arrived(&self) -> u64 {
        self.next + self.held.bytes()
    }

    /// The message with least left of those to which something may be granted: what is left, and its first byte.
    pub fn wants(&self) -> Option<(u64, u64)> {
        let waiting = self.messages.iter().filter(|(_, message)| message.granted < message.end);
        waiting.map(|(start, message)| (message.end - start - message.came, *start)).min()
    }

    /// Grants to the message that begins at `start`, on priority `level`, so that `rtt_bytes` are on the way (s.3.3).
    pub fn grant(&mut self, start: u64, level: u8, config: &Config, net: &mut Net) {
        let Some(message) = self.messages.get_mut(&start) else { return };
        let mtu = config.rules.mss;
        // All packets but the last are full, so that the sum is a whole number of them.
        let wanted = message.came.div_ceil(mtu) * mtu + config.homa.rtt_bytes;
        let until = start.saturating_add(wanted).min(message.end);
        if until > message.granted {
            message.granted = until;
            self.send(GRANT, until, [(start, until), (level.into(), 0)], net.now, config, net);
            self.set_timer(config, net.now);
        }
    }

    /// The message of these bytes is whole.
    fn report(&self, start: u64, end: u64, stamp: Time, config: &Config, net: &mut Net) {
        self.send(Flags::ACK, self.next, [(start, end), (0, 0)], stamp, config, net);
    }

    fn send(
        &self,
        flags: Flags,
        seq: u64,
        sack: [(u64, u64); 2],
        stamp: Time,
        config: &Config,
        net: &mut Net,
    ) {
        let mut about = Extension { blocks: 1, ..Extension::default() };
        [about.sack[0], about.sack[1]] = sack;
        let extension = net.extensions.put(&about);
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

    // ---- what is missing ----

    /// Bytes that may have been sent and have not come (s.3.7): so many ranges at most.
    fn missing(&self, most: usize) -> Vec<(u64, u64)> {
        let mut gaps = vec![];
        for (start, message) in &self.messages {
            let first = (*start).max(self.next);
            self.held
                .each_gap(first, message.granted, |a, b| gaps.extend((gaps.len() < most).then_some((a, b))));
            if gaps.len() == most {
                break;
            }
        }
        gaps
    }

    /// Something that may have been sent has not come.
    fn misses(&self) -> bool {
        self.messages.iter().any(|(start, message)| message.granted - start > message.came)
    }

    fn set_timer(&mut self, config: &Config, now: Time) {
        let span = config.homa.timeout * (1 << self.asked.min(MOST_DOUBLINGS));
        self.rto_at = if self.misses() { now + span } else { Time::MAX };
    }

    /// A timer event has come.
    #[inline(never)]
    pub fn on_timer(&mut self, config: &Config, net: &mut Net) {
        self.timer_at = Time::MAX;
        if net.now < self.rto_at {
            return;
        }
        for gap in self.missing(MOST_REQUESTS) {
            self.send(RESEND, gap.0, [gap, (0, 0)], net.now, config, net);
        }
        self.asked += 1;
        self.set_timer(config, net.now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A receiver that holds each second thousand of bytes of two messages, granted so far.
    fn holes(granted: [u64; 2]) -> HomaReceiver {
        let mut receiver = HomaReceiver::new(0, 0);
        for (start, granted) in [0, 50_000].into_iter().zip(granted) {
            let mut came = 0;
            for first in (start + 1000..granted).step_by(2000) {
                receiver.held.add(first, first + 1000);
                came += 1000;
            }
            receiver.messages.insert(start, Incoming { end: start + 50_000, granted, came });
        }
        receiver
    }

    /// S.3.7: what may have been sent and has not come is missing, the lowest bytes first; so many ranges at most, of one message or of several.
    #[test]
    fn what_was_granted_and_has_not_come_is_missing() {
        let range = |first: u64| (first, first + 1000);
        let both = holes([6000, 54_000]);
        assert!(both.misses());
        assert_eq!(both.missing(16), [0, 2000, 4000, 50_000, 52_000].map(range));
        for most in 1..=5 {
            assert_eq!(both.missing(most).len(), most);
        }
        let many = holes([50_000, 100_000]);
        assert_eq!(many.missing(16), Vec::from_iter((0..16).map(|place| range(2000 * place))));
        assert_eq!(many.missing(30).last(), Some(&range(58_000)));
        let whole = HomaReceiver::new(0, 0);
        assert!(!whole.misses() && whole.missing(16).is_empty());
    }

    /// S.3.3: the message with least left, of those to which something may still be granted; of two alike the older one.
    #[test]
    fn the_message_with_least_left_wants_a_grant() {
        let mut receiver = HomaReceiver::new(0, 0);
        assert_eq!(receiver.wants(), None);
        let incoming = |end, granted, came| Incoming { end, granted, came };
        receiver.messages.insert(0, incoming(9000, 9000, 8000));
        assert_eq!(receiver.wants(), None, "all is granted");
        receiver.messages.insert(9000, incoming(59_000, 20_000, 45_000));
        receiver.messages.insert(59_000, incoming(65_000, 62_000, 1000));
        receiver.messages.insert(65_000, incoming(71_000, 70_999, 1000));
        assert_eq!(receiver.wants(), Some((5000, 9000)));
        receiver.messages.remove(&9000);
        assert_eq!(receiver.wants(), Some((5000, 59_000)));
    }

    /// S.3.7: a receiver asks 2 ms after the last packet, where something is granted and has not come; that doubles ten times at most.
    #[test]
    fn a_receiver_asks_while_something_is_missing() {
        use crate::params::{Faults, Table};
        use crate::transport::Transport;
        use shallows_units::Span;
        let map = serde_json::json!({"profile": "homa", "cc": {"kind": "line-rate"}});
        let map = map.as_object().expect("a table").clone();
        let mut faults = Faults::default();
        let transport = Transport::read(&mut Table::new("transport", &map, &mut faults), &map.clone());
        let config = Config::new(&transport.expect("no fault"));
        let at = |us: u64| Time::ZERO + Span::us(us);
        let timer = |start: u64, granted: u64, came: u64, asked: u32| {
            let mut receiver = HomaReceiver::new(0, 0);
            receiver.messages.insert(start, Incoming { end: start + 9000, granted: start + granted, came });
            receiver.asked = asked;
            receiver.set_timer(&config, at(5));
            receiver.rto_at
        };
        assert_eq!([4999, 5000].map(|came| timer(70, 5000, came, 0)), [at(2005), Time::MAX]);
        assert_eq!(
            [1, 10, 11].map(|asked| timer(70, 5000, 0, asked)),
            [at(4005), at(2_048_005), at(2_048_005)]
        );
    }

    /// Bytes count once they have come; a gap that closes delivers what is behind it.
    #[test]
    fn a_gap_that_closes_delivers_what_is_behind_it() {
        let mut receiver = HomaReceiver::new(0, 0);
        for (first, beyond, next, arrived) in [
            (0, 1000, 1000, 1000),
            (2000, 3000, 1000, 2000),
            (4000, 5000, 1000, 3000),
            (1000, 2000, 3000, 4000),
        ] {
            receiver.take(first, beyond);
            assert_eq!((receiver.next, receiver.arrived()), (next, arrived));
        }
    }
}
