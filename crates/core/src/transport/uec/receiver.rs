//! The receiving end of Ultra Ethernet's transport: it keeps whatever comes, and answers now and then.
//!
//! Source: as `mod.rs`; UE 1.0.3 s.3.5: an answer is due after so many bytes, each packet counting 1 KiB at least, and at once after a
//! mark, a request, the first packet, a duplicate and a trimmed one. Received bytes count each packet once, headers included.
//! A request stands until nothing before the last packet is missing, and is answered again then (uet-htsim 40ccb05, uec.cpp): a short last
//! packet overtakes full ones on other paths, and nothing else would report these.

use super::card::bits;
use super::credit::{Grants, Waits};
use super::wire::{ASKS, AT_LAST_HOP, MAP, MARK, NACK, PULL, Report, UNIT, wanted};
use crate::net::Net;
use crate::packet::{Flags, NONE, Packet};
use crate::transport::Config;
use crate::transport::ranges::Ranges;
use crate::transport::receiver::ReceiverCounts;
use shallows_units::{Rate, Span, Time};

/// Bytes that a packet counts at least towards an answer (UE 1.0.3 s.3.5: ACK_Gen_Min_Pkt_Add).
const LEAST: u64 = 1024;

/// The receiving end.
#[derive(Debug, Clone)]
pub struct UecReceiver {
    flow: u32,
    label: u32,
    /// Next byte expected; everything below has been delivered.
    pub next: u64,
    /// Held beyond `next`.
    held: Ranges,
    /// Bytes of the packets that came, each once, headers included.
    received: u64,
    /// Bytes since the last answer.
    pending: u64,
    /// A request came since nothing was missing.
    asked: bool,
    /// The value of the next pull.
    pulls: u32,
    /// Its grants, where receivers give credit.
    pub credit: Option<Grants>,
    /// Statistics.
    pub counts: ReceiverCounts,
}

impl UecReceiver {
    /// Waiting for the first byte, at the end of a link of this rate, and of a path with this round trip.
    pub fn new(flow: u32, label: u32, config: &Config, (rate, base): (Rate, Span)) -> Self {
        UecReceiver {
            flow,
            label,
            next: 0,
            held: Ranges::default(),
            received: 0,
            pending: 0,
            asked: false,
            pulls: 0,
            credit: config.uec.credit.then(|| Grants::new(rate, base, config.packet)),
            counts: ReceiverCounts::default(),
        }
    }

    /// A packet from the sender.
    #[inline(never)]
    pub fn on_packet(&mut self, packet: &Packet, config: &Config, net: &mut Net) {
        if let Some(grants) = &mut self.credit
            && packet.extension != NONE
            && let Some(extension) = net.extension(packet)
        {
            grants.on_want(wanted(&extension));
        }
        if packet.trimmed() {
            let flags = NACK.with_if(AT_LAST_HOP, packet.flags.any(Flags::LAST_HOP));
            return self.send(flags, packet.seq, NONE, packet, config, net);
        }
        if packet.flags.any(Flags::PROBE) {
            return self.answer((packet.seq, packet.seq), false, packet, config, net);
        }
        let beyond = packet.seq + u64::from(packet.size - config.header);
        let marked = self.counts.add(packet, net.now);
        let first = self.received == 0;
        let new = self.keep(packet.seq, beyond);
        self.received += if new { packet.size.into() } else { 0 };
        self.pending += u64::from(packet.size).max(LEAST);
        self.asked |= packet.flags.any(ASKS);
        let whole = self.asked && new && self.held.is_empty();
        self.asked &= !whole;
        let at_once = marked || first || !new || whole || packet.flags.any(ASKS);
        if at_once || self.pending >= config.uec.ack_bytes {
            self.pending = 0;
            self.answer((packet.seq, beyond), marked, packet, config, net);
        }
    }

    /// Reports all that is there, and the packet `about`.
    fn answer(&self, about: (u64, u64), marked: bool, packet: &Packet, config: &Config, net: &mut Net) {
        let base = self.base(packet.seq, config.rules.mss);
        let report = Report {
            about,
            units: self.received.div_ceil(UNIT),
            base,
            map: self.map(base, config.rules.mss),
            ahead: self.held.bytes().div_ceil(config.rules.mss),
            granted: self.credit.as_ref().map_or(0, |grants| grants.granted),
            down: self.down(config, net),
        };
        let extension = net.extensions.put(&report.put());
        self.send(Flags::ACK.with_if(MARK, marked), self.next, extension, packet, config, net);
    }

    /// It waits for no turn to grant credit.
    pub fn rests(&self) -> bool {
        self.credit.as_ref().is_none_or(|grants| grants.waits == Waits::Nowhere)
    }

    /// Grants the next credit; how long the host's next pull waits.
    pub fn pull(&mut self, config: &Config, net: &mut Net) -> Span {
        let Some(grants) = &mut self.credit else { return Span::ZERO };
        let spacing = grants.pull();
        let report =
            Report { about: (0, 0), units: 0, base: 0, map: 0, ahead: 0, granted: grants.granted, down: 0 };
        let extension = net.extensions.put(&report.put());
        let packet = Packet {
            at: Time::ZERO,
            seq: self.next,
            stamp: net.now,
            waited: 0,
            flow: self.flow,
            label: self.label,
            extension,
            size: config.header,
            flags: PULL.with(Flags::REVERSE),
        };
        // No packet's value is its own, so that pulls take the values in turn where these choose a port or a path.
        let value = config.uec.entropy.turn(self.pulls, |_| true);
        let ports = net.ports(self.flow, true, self.label).map_or(1, |ports| ports.len() as u32);
        let like = net.directory.routing.with_plane(self.label, value, ports);
        self.pulls = (value + 1) % config.uec.entropy.count;
        self.hand(packet, like, config, net);
        spacing
    }

    /// Keeps bytes from `first` to `beyond`; whether they are new.
    fn keep(&mut self, first: u64, beyond: u64) -> bool {
        if first > self.next {
            return self.held.add(first, beyond) > 0;
        }
        if beyond <= self.next {
            return false;
        }
        self.next = beyond;
        while let Some(end) = self.held.take_through(self.next) {
            self.next = self.next.max(end);
        }
        true
    }

    /// Where the map begins: at the next byte expected, or so that the packet at `seq` stands in its middle.
    fn base(&self, seq: u64, mtu: u64) -> u64 {
        let ahead = seq.saturating_sub(self.next) / mtu;
        self.next + if ahead < MAP { 0 } else { ahead - MAP / 2 } * mtu
    }

    fn map(&self, base: u64, mtu: u64) -> u64 {
        if self.held.is_empty() {
            return 0;
        }
        let there = |place: u64| {
            let first = base + place * mtu;
            self.held.holding(first).is_some_and(|(_, beyond)| beyond >= first + mtu)
        };
        (0..MAP).filter(|place| there(*place)).fold(0, |map, place| map | 1 << place)
    }

    /// Bytes that have arrived whole, in order or not, each once.
    pub fn arrived(&self) -> u64 {
        self.next + self.held.bytes()
    }

    fn send(&self, flags: Flags, seq: u64, extension: u32, about: &Packet, config: &Config, net: &mut Net) {
        let again = about.flags.any(Flags::RETRANSMITTED);
        let packet = Packet {
            at: Time::ZERO,
            seq,
            stamp: about.stamp,
            waited: 0,
            flow: self.flow,
            label: self.label,
            extension,
            size: config.header,
            flags: flags.with(Flags::REVERSE).with_if(Flags::RETRANSMITTED, again),
        };
        self.hand(packet, about.label, config, net);
    }

    /// The ports of its card that are down, where it is to say so.
    fn down(&self, config: &Config, net: &Net) -> u64 {
        if !config.uec.port_status {
            return 0;
        }
        bits(net.all_ports(self.flow, true).iter().map(|link| net.is_down(*link)))
    }

    /// Hands a packet to the card. On one with several ports, and where values name paths, it goes back by the value in the label `like`: so
    /// what a value's path loses, in either direction, concerns that value.
    fn hand(&self, mut packet: Packet, like: u32, config: &Config, net: &mut Net) {
        let (routing, chooses) = (&net.directory.routing, config.uec.chooses_paths());
        let ports = net.ports(self.flow, true, self.label).filter(|_| chooses);
        if chooses && (ports.is_some() || routing.structured) {
            packet.label = routing.with_hash_of(self.label, like);
        }
        match ports {
            Some(ports) => {
                let place = routing.port_of(packet.label, ports.len() as u32) as usize;
                let mut next = ports[place..].iter().chain(&ports[..place]);
                let up = next.find(|link| !(config.uec.port_status && net.is_down(**link)));
                net.send_by(up.copied().unwrap_or(ports[place]), &packet);
            }
            None => net.send(&packet),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Faults, Table};
    use crate::transport::Transport;

    const MTU: u64 = 4096;

    fn receiver() -> UecReceiver {
        let map = serde_json::json!({"profile": "uec", "cc": {"kind": "nscc"}});
        let map = map.as_object().expect("a table").clone();
        let mut faults = Faults::default();
        let transport = Transport::read(&mut Table::new("transport", &map, &mut faults), &map.clone());
        let config = Config::new(&transport.expect("no fault"));
        UecReceiver::new(0, 0, &config, (Rate::gbps(100), Span::us(10)))
    }

    /// Bytes are new once, in order or not, and a gap that closes delivers what is behind it.
    #[test]
    fn bytes_are_new_once() {
        let mut receiver = receiver();
        for (first, new, next, arrived) in [
            (1, true, 0, 1),
            (1, false, 0, 1),
            (3, true, 0, 2),
            (0, true, 2, 3),
            (1, false, 2, 3),
            (2, true, 4, 4),
        ] {
            assert_eq!(receiver.keep(first * MTU, (first + 1) * MTU), new, "{first}");
            assert_eq!((receiver.next / MTU, receiver.arrived() / MTU), (next, arrived), "{first}");
        }
    }

    /// UE 1.0.3 s.3.5: a map of 64 packets shows what is there beyond the next byte expected, or, if the packet that it answers is further, has that in its
    /// middle. A packet that is there in part is not.
    #[test]
    fn a_map_shows_sixty_four_packets() {
        let mut receiver = receiver();
        receiver.next = 100;
        let base = |seq: u64| (receiver.base(100 + seq, MTU) - 100) as f64 / MTU as f64;
        assert_eq!([0, 63 * MTU, 64 * MTU - 1].map(base), [0.0; 3]);
        assert_eq!([64, 65, 100].map(|ahead| base(ahead * MTU)), [32.0, 33.0, 68.0]);
        assert_eq!((receiver.base(0, MTU), receiver.map(100, MTU)), (100, 0));
        for (place, bytes) in [(1, MTU), (2, MTU - 1), (5, MTU + 1), (63, MTU), (64, MTU)] {
            receiver.keep(100 + place * MTU, 100 + place * MTU + bytes);
        }
        assert_eq!(receiver.map(100, MTU), 1 << 63 | 1 << 5 | 1 << 1);
        assert_eq!(receiver.map(100 + 32 * MTU, MTU), 1 << 32 | 1 << 31);
    }
}
