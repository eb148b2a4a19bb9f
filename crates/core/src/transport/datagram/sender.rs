//! The sending end of datagrams: each leaves at its time, or as soon as its socket has room.

use super::{Due, Emitter};
use crate::cc::{FlowInfo, MessageInfo};
use crate::net::Net;
use crate::packet::{Extension, Flags, NONE, Packet};
use crate::transport::config::Config;
use crate::transport::half::Half;
use shallows_units::{Span, Time};
use std::collections::VecDeque;

/// Datagrams that waited for room in their host's port.
#[derive(Debug, Clone, Copy, Default)]
pub struct Late {
    /// How many.
    pub datagrams: u64,
    /// The longest wait.
    pub longest: Span,
}

/// The datagrams of a socket that stand in its host's port: when each has left, and its bytes on the wire.
#[derive(Debug, Default)]
struct Standing {
    packets: VecDeque<(Time, u16)>,
    bytes: u64,
}

impl Standing {
    /// One of `size` bytes was sent; the port had sent all it held by `before`, and now by `after`.
    fn sent(&mut self, before: Option<Time>, after: Option<Time>, size: u16) {
        // The port has dropped it if nothing has changed.
        if let Some(leaves) = after.filter(|_| after > before) {
            self.packets.push_back((leaves, size));
            self.bytes += u64::from(size);
        }
    }

    /// If more than `most` bytes stand in the port at `now`: when they are so few.
    fn frees_at(&mut self, most: u64, now: Time) -> Option<Time> {
        while let Some(&(leaves, size)) = self.packets.front()
            && leaves <= now
        {
            self.packets.pop_front();
            self.bytes -= u64::from(size);
        }
        let mut left = self.bytes;
        let enough = self.packets.iter().find(|(_, size)| {
            left = left.saturating_sub(u64::from(*size));
            left <= most
        });
        enough.filter(|_| self.bytes > most).map(|(leaves, _)| *leaves)
    }
}

/// The sending end. Bytes count as acknowledged once they are sent, since nobody acknowledges them.
pub struct DatagramSender {
    /// The part that all transports have in common.
    pub half: Half,
    emitter: Option<Box<dyn Emitter>>,
    /// The datagram that leaves next.
    next: Option<Due>,
    /// Datagrams sent in the whole run: the number of the next one.
    number: u64,
    /// Its datagrams that stand in the port.
    standing: Standing,
    /// When the sender looks again.
    pub(in crate::transport) at: Time,
    /// Since the statistics began.
    pub late: Late,
}

impl DatagramSender {
    /// A socket that has sent nothing.
    pub fn new(flow: u32, label: u32, info: &FlowInfo<'_>, config: &Config, now: Time) -> Self {
        let half = Half::new(flow, label, info, config, now);
        let standing = Standing::default();
        DatagramSender {
            half,
            emitter: None,
            next: None,
            number: 0,
            standing,
            at: Time::MAX,
            late: Late::default(),
        }
    }

    /// The application begins to send; `pair` is its number in the load.
    pub fn emit(&mut self, pair: u64, config: &Config, net: &mut Net) {
        self.emitter = config.emission.as_ref().map(|emission| emission.start(pair));
        self.advance();
        self.pump(config, net);
    }

    fn advance(&mut self) {
        self.next = self.emitter.as_mut().and_then(|emitter| emitter.next());
    }

    /// Sends all that is due, as far as the socket has room.
    fn pump(&mut self, config: &Config, net: &mut Net) {
        let room = config.small_queues.unwrap_or(u64::MAX);
        while let Some(due) = self.next {
            if due.at > net.now {
                self.at = due.at;
                return;
            }
            // Linux: the check comes before the datagram's own bytes count.
            if let Some(at) = self.held(room.saturating_sub(1), net) {
                self.at = at;
                return;
            }
            if due.at < net.now {
                self.late.datagrams += 1;
                self.late.longest = self.late.longest.max(net.now - due.at);
            }
            let flags = Flags::default().with_if(config.ect, config.ecn);
            let size = config.header + due.bytes;
            let before = net.clears_at(self.half.flow);
            net.send(&self.half.packet(self.number, (size, flags), NONE, net.now));
            if room != u64::MAX && before.is_some() {
                self.standing.sent(before, net.clears_at(self.half.flow), size);
            }
            self.number += 1;
            self.half.counts.packets += 1;
            self.half.write(u64::from(due.bytes));
            self.half.una = self.half.written;
            self.advance();
        }
        self.at = Time::MAX;
    }

    /// If more than `most` bytes stand in the port: when they are so few. The port is not asked where it told the times
    /// at which packets leave as they came: it would look at each packet.
    fn held(&mut self, most: u64, net: &mut Net) -> Option<Time> {
        match net.clears_at(self.half.flow) {
            Some(_) => self.standing.frees_at(most, net.now),
            None => net.held_at_host(self.half.flow, most),
        }
    }

    /// When the sender wants to be woken.
    #[inline]
    pub fn wake_at(&self) -> Time {
        self.at
    }

    /// A timer event has come.
    pub fn on_timer(&mut self, config: &Config, net: &mut Net) {
        self.pump(config, net);
    }

    // ---- calls that concern connections alone ----

    /// No datagram belongs to a message.
    pub fn announce(&mut self, _message: &MessageInfo, _config: &Config, _now: Time) {}

    /// Datagrams come from their law alone.
    pub fn write(&mut self, _bytes: u64, _config: &Config, _net: &mut Net) {}

    /// Nothing comes back.
    pub fn on_packet(
        &mut self,
        _packet: &Packet,
        _about: Option<Extension>,
        _config: &Config,
        _net: &mut Net,
    ) {
    }

    /// Nothing is measured.
    pub fn srtt(&self) -> Option<Span> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The law of the walk: the newest packets first, up to the one that is too many.
    fn walked(packets: &[(Time, u16)], most: u64, now: Time) -> Option<Time> {
        let mut bytes = 0;
        let mut waiting = packets.iter().rev().filter(|(leaves, _)| *leaves > now);
        let too_many = waiting.find(|(_, size)| {
            bytes += u64::from(*size);
            bytes > most
        });
        too_many.map(|(leaves, _)| *leaves)
    }

    #[test]
    fn the_port_is_free_when_a_walk_over_its_packets_says_so() {
        let mut standing = Standing::default();
        let mut sent = vec![];
        let mut clears = Time::ZERO;
        for number in 0..2000_u64 {
            let now = Time::ps(number * 700);
            let size = 64 + (number * 7919 % 1400) as u16;
            let before = clears;
            // Each seventh is dropped.
            if number % 7 > 0 {
                clears = clears.max(now) + Span::ps(u64::from(size));
                sent.push((clears, size));
            }
            standing.sent(Some(before), Some(clears), size);
            for most in [0, 63, 1500, 40_000] {
                assert_eq!(standing.frees_at(most, now), walked(&sent, most, now), "{number}, {most}");
            }
        }
    }
}
