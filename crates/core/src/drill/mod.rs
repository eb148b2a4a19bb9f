//! One host alone: a sender and a receiver of TCP whose peer is a packet script (`./shallows packetdrill`).
//!
//! Both are those of every run, on a wire that takes next to no time. A connection is two of one direction each here, so
//! that this room does nothing but join and split packets: a segment of the script with data and an acknowledgement is a
//! packet for the receiver and one for the sender. An opening from outside is one from inside as the sender sees it: the
//! SYN+ACK is its SYN, and the third packet of the handshake is what answers it.
//! Left out, and refused where a script shows it: data while an acknowledgement waits, which Linux would send with it; a peer
//! that closes first; acknowledgements within a segment; D-SACK.

mod segment;

use crate::cc::FlowInfo;
use crate::events::random::Stream;
use crate::events::{Event, EventQueue, Source};
use crate::net::port::{Port, Service};
use crate::net::{Connection, Directory, Net, Network};
use crate::packet::{Extension, Flags, NONE, Packet};
use crate::queue::{Built, Place, Queue};
use crate::transport::{Config, Receiver, Sender, State, Transport};
pub use segment::Segment;
use shallows_units::{Rate, Span, Time};
use std::collections::VecDeque;

/// A byte takes a picosecond: a window leaves in well below a microsecond.
const WIRE: Rate = Rate::gbps(8000);
const MS: u64 = 1_000_000_000;
const SENDER: u32 = 0;
const RECEIVER: u32 = 1;

/// A part of the stream that has been sent, by the packets' numbers.
#[derive(Debug, Clone, Copy)]
struct Sent {
    seq: u64,
    end: u64,
    last: Time,
}

/// The host.
pub struct Host {
    config: Config,
    sender: Sender,
    receiver: Receiver,
    network: Network,
    directory: Directory,
    timers: [Source; 2],
    /// The peer opens the connection.
    passive: bool,
    /// Outstanding data, in order.
    sent: VecDeque<Sent>,
    /// When the SYN, or the SYN+ACK, was sent last.
    opened: Time,
    /// The peer's FIN has come.
    peer_closed: bool,
    /// When the peer's last data came, or the connection began to stand.
    last_data: Time,
    left: VecDeque<Segment>,
    refused: Option<&'static str>,
}

impl Host {
    /// A host whose connection is opened by its peer (`passive`) or by itself.
    pub fn new(transport: &Transport, passive: bool) -> Self {
        let config = Config::new(transport);
        let port = Port::new(WIRE, Span::ZERO, false, service());
        let mut network = Network::new(vec![port], EventQueue::new(1));
        let timers =
            [Event::Sender(SENDER), Event::Receiver(RECEIVER)].map(|event| network.events.add(event));
        let directory = Directory::alone(vec![Connection::default()], 1);
        let info = FlowInfo { class: "script", ..FlowInfo::default() };
        Host {
            sender: Sender::new(0, 0, &info, &config, Time::ZERO),
            receiver: Receiver::new(0, 0, &config),
            config,
            network,
            directory,
            timers,
            passive,
            sent: VecDeque::new(),
            opened: Time::ZERO,
            peer_closed: false,
            last_data: Time::ZERO,
            left: VecDeque::new(),
            refused: None,
        }
    }

    // ---- the application ----

    /// Opens the connection.
    pub fn connect(&mut self) {
        self.act(|host, net| host.0.open(host.2, net));
    }

    /// Writes `bytes`.
    pub fn write(&mut self, bytes: u64) {
        self.act(|host, net| host.0.write(bytes, host.2, net));
    }

    /// Closes the host's direction.
    pub fn close(&mut self) {
        self.act(|host, net| host.0.close(host.2, net));
    }

    /// Whether short segments wait while data is outstanding.
    pub fn set_nagle(&mut self, waits: bool) {
        self.config.settings.nagle = waits;
        self.write(0);
    }

    /// Bytes of the peer's stream that have come in order.
    pub fn delivered(&self) -> u64 {
        self.receiver.delivered()
    }

    /// The connection stands.
    pub fn is_open(&self) -> bool {
        self.sender.half.state == State::Established
    }

    /// The peer has closed its direction.
    pub fn peer_closed(&self) -> bool {
        self.peer_closed
    }

    // ---- time ----

    /// The present.
    pub fn now(&self) -> Time {
        self.network.now
    }

    /// Lets all happen that is due by `until`.
    pub fn advance(&mut self, until: Time) {
        while self.step(until) {}
        self.network.now = self.network.now.max(until);
    }

    /// The next segment that leaves by `until`.
    pub fn next(&mut self, until: Time) -> Option<Segment> {
        while self.left.is_empty() && self.step(until) {}
        self.left.pop_front()
    }

    /// Why the script cannot go on: it shows what is left out.
    pub fn refused(&self) -> Option<&'static str> {
        self.refused
    }

    /// Handles the next event by `until`, if there is one.
    fn step(&mut self, until: Time) -> bool {
        let Some((at, event)) = self.network.events.pop_before(until + Span::ps(1)) else { return false };
        self.network.now = at;
        match event {
            Event::Wire(port) => {
                if let Some(packet) = self.network.land(port, &self.directory) {
                    self.on_left(&packet);
                }
            }
            Event::Sender(_) => {
                self.sender.half.timer_at = Time::MAX;
                if self.sender.wake_at() <= at {
                    self.act(|host, net| host.0.on_timer(host.2, net));
                }
                self.arm();
            }
            Event::Receiver(_) => {
                self.receiver.timer_at = Time::MAX;
                self.act(|host, net| host.1.on_timer(host.2, net));
            }
            _ => {}
        }
        true
    }

    /// Lets the two ends act; what they send leaves.
    fn act<T>(&mut self, act: impl FnOnce(Ends<'_>, &mut Net) -> T) -> T {
        let mut net = Net { network: &mut self.network, directory: &self.directory };
        let done = act((&mut self.sender, &mut self.receiver, &self.config), &mut net);
        self.arm();
        while self.network.totals.delivered < self.network.totals.sent && self.step(Time::MAX) {}
        done
    }

    fn arm(&mut self) {
        let (sender, receiver) = (&mut self.sender, &mut self.receiver);
        let wanted =
            [(sender.wake_at(), &mut sender.half.timer_at), (receiver.ack_at, &mut receiver.timer_at)];
        for ((wanted, armed), timer) in wanted.into_iter().zip(self.timers) {
            if wanted < *armed {
                *armed = wanted;
                self.network.events.schedule(timer, wanted);
            }
        }
    }

    // ---- packets that leave ----

    fn on_left(&mut self, packet: &Packet) {
        let sack = self.network.extensions.take(packet.extension).unwrap_or_default();
        let shown = if packet.flags.any(Flags::REVERSE) {
            // The receiver's answer to a SYN goes with the host's own.
            (!packet.flags.any(Flags::SYN)).then(|| self.acknowledgement(packet, sack.sacked()))
        } else if packet.flags.any(Flags::SYN) {
            self.opened = packet.stamp;
            Some(self.opening(packet))
        } else if packet.flags.any(Flags::ACK) {
            // The last packet of a handshake is the peer's if that opens the connection.
            (self.peer_closed || !self.passive).then(|| self.acknowledgement(packet, &[]))
        } else {
            Some(self.data(packet))
        };
        self.left.extend(shown);
    }

    fn opening(&self, packet: &Packet) -> Segment {
        let flags = packet.flags.without(Flags(Flags::ECE.0 | Flags::CWR.0));
        let (at, answers) = (packet.stamp, self.passive);
        let ecn = packet.flags.any(Flags::ECE) && self.receiver.ecn;
        match answers {
            // RFC 3168 s.6.1.1: the answer has ECE alone.
            true => Segment {
                at,
                flags: flags.with(Flags::ACK).with_if(Flags::ECE, ecn),
                ack: 1,
                ..Segment::default()
            },
            false => Segment { at, flags: packet.flags, ..Segment::default() },
        }
    }

    fn acknowledgement(&self, packet: &Packet, sacked: &[(u64, u64)]) -> Segment {
        let sack = sacked.iter().map(|(first, beyond)| (first + 1, beyond + 1)).collect();
        let flags = packet.flags.without(Flags::FIN);
        // A receiver may answer the segments before the last one apart (RFC 8257 s.3.2 figure 1): its packet has the number.
        let ack = match packet.flags.any(Flags::REVERSE) {
            true => packet.seq + 1 + u64::from(self.peer_closed),
            false => self.expected(),
        };
        Segment { at: self.network.now, flags, seq: self.sender.high + 1, length: 0, ack, sack }
    }

    fn data(&mut self, packet: &Packet) -> Segment {
        let (fin, at) = (packet.flags.any(Flags::FIN), packet.stamp);
        let length = u64::from(packet.size - self.config.header);
        let (seq, end) = (packet.seq, packet.seq + length + u64::from(fin));
        match self.sent.iter_mut().find(|sent| sent.seq == seq) {
            Some(sent) => sent.last = at,
            None => self.sent.push_back(Sent { seq, end, last: at }),
        }
        if self.receiver.ack_at < Time::MAX {
            self.refused = Some("an acknowledgement that waits and goes with data");
        }
        let flags = packet.flags.with(Flags::ACK);
        Segment { at, flags, seq: seq + 1, length, ack: self.expected(), sack: vec![] }
    }

    /// The number that the host acknowledges.
    fn expected(&self) -> u64 {
        self.receiver.next + 1 + u64::from(self.peer_closed)
    }

    // ---- packets that come ----

    /// A segment of the peer arrives now, with so much receive window. An error says why the simulator does not know it.
    pub fn arrive(&mut self, segment: &Segment, window: Option<u64>) -> Result<(), &'static str> {
        if segment.flags.any(Flags::SYN) {
            return self.on_syn(segment);
        }
        if self.passive && self.sender.half.state == State::SynSent {
            let flags = Flags::SYN.with(Flags::ACK).with_if(Flags::ECE, self.receiver.ecn);
            self.deliver_to_sender(flags, 0, self.opened, &[]);
            self.last_data = self.network.now;
        }
        if self.sender.half.state != State::Established {
            return Err("a segment before the connection stands");
        }
        let opens = window.is_some_and(|window| window != self.config.receive_window);
        self.config.receive_window = window.unwrap_or(self.config.receive_window);
        self.check(segment)?;
        let ack = segment.ack.saturating_sub(1);
        let advances = ack > self.sender.half.una;
        let fin = segment.flags.any(Flags::FIN);
        if fin && !self.sender.half.closing {
            return Err("a peer that closes first");
        }
        // RFC 5681 s.2: a duplicate has no data and the window of the one before.
        if advances || fin || !segment.sack.is_empty() || (segment.length == 0 && !opens) {
            let stamp = self.sent.iter().find(|sent| sent.end > self.sender.half.una).map(|sent| sent.last);
            let flags = Flags::ACK.with_if(Flags::ECE, segment.flags.any(Flags::ECE));
            self.peer_closed |= fin;
            let stamp = stamp.filter(|_| advances).unwrap_or(self.network.now);
            self.deliver_to_sender(flags.with_if(Flags::FIN, fin), ack, stamp, &segment.sack);
            self.sent.retain(|sent| sent.end > self.sender.half.una);
        } else if opens {
            self.write(0);
        }
        if segment.length > 0 {
            self.last_data = self.network.now;
            let kept = segment.flags.0 & (Flags::CWR.0 | Flags::ECT0.0 | Flags::ECT1.0 | Flags::CE.0);
            self.deliver_to_receiver(Flags(kept), segment.seq - 1, segment.length);
        }
        Ok(())
    }

    /// Whether the simulator knows an acknowledgement like this.
    fn check(&self, segment: &Segment) -> Result<(), &'static str> {
        let (una, high) = (self.sender.half.una, self.sender.high);
        let ack = segment.ack.saturating_sub(1);
        let edge = |number: u64| {
            number <= una
                || number == high
                || self.sent.iter().any(|sent| number == sent.seq || number == sent.end)
        };
        if ack > high {
            return Err("challenge acknowledgements");
        }
        if segment.sack.iter().any(|(_, beyond)| *beyond <= segment.ack) {
            return Err("D-SACK");
        }
        if segment.sack.len() > 4 {
            return Err("more than four SACK blocks");
        }
        let edges = segment.sack.iter().flat_map(|(first, beyond)| [first - 1, beyond - 1]);
        let all_edges = std::iter::once(ack).chain(edges).all(edge);
        if all_edges { Ok(()) } else { Err("acknowledgements of a part of a segment") }
    }

    /// SYN, or SYN+ACK.
    fn on_syn(&mut self, segment: &Segment) -> Result<(), &'static str> {
        let awaited = if self.passive { State::Closed } else { State::SynSent };
        if self.sender.half.state != awaited {
            return Err("a SYN that comes twice");
        }
        if self.passive {
            self.deliver_to_receiver(
                Flags::SYN.with(Flags(segment.flags.0 & (Flags::ECE.0 | Flags::CWR.0))),
                0,
                0,
            );
            self.connect();
        } else {
            let ecn = self.config.ecn && segment.flags.any(Flags::ECE);
            (self.receiver.ecn, self.last_data) = (ecn, self.network.now);
            self.deliver_to_sender(Flags::SYN.with(Flags::ACK).with_if(Flags::ECE, ecn), 0, self.opened, &[]);
        }
        Ok(())
    }

    fn deliver_to_sender(&mut self, flags: Flags, ack: u64, stamp: Time, sacked: &[(u64, u64)]) {
        let mut extension = Extension::default();
        for (place, (first, beyond)) in extension.sack.iter_mut().zip(sacked) {
            *place = (first - 1, beyond - 1);
            extension.blocks += 1;
        }
        let sack = (!sacked.is_empty()).then_some(extension);
        let packet = Packet { seq: ack, stamp, ..self.packet(flags.with(Flags::REVERSE), 0) };
        self.act(|host, net| host.0.on_packet(&packet, sack, host.2, net));
    }

    fn deliver_to_receiver(&mut self, flags: Flags, seq: u64, length: u64) {
        let packet = Packet { seq, ..self.packet(flags, length) };
        self.act(|host, net| host.1.on_packet(&packet, host.2, net));
    }

    fn packet(&self, flags: Flags, length: u64) -> Packet {
        let size = self.config.header + length as u16;
        let stamp = self.network.now;
        Packet { at: Time::ZERO, seq: 0, stamp, waited: 0, flow: 0, label: 0, extension: NONE, size, flags }
    }

    /// The sender's state in the names of Linux's `tcp_info`, and what the receiver adds to it.
    pub fn info(&self) -> Vec<(&'static str, u64)> {
        let mut all = self.sender.info(&self.config);
        all.push(("tcpi_bytes_received", self.delivered()));
        all.push(("tcpi_last_data_recv", (self.network.now - self.last_data).as_ps() / MS));
        all
    }
}

/// The sender, the receiver and the settings of both.
type Ends<'a> = (&'a mut Sender, &'a mut Receiver, &'a Config);

/// A queue without limit, which is never used: the wire takes no time.
fn service() -> Service {
    match Queue::default().build(Place { rate: WIRE, last_hop: false, random: Stream::new(0, "script", 0) }) {
        Built::Arrival(admission) => Service::Arrival(admission),
        Built::Departure(disc) => Service::departure(disc),
    }
}

#[cfg(test)]
mod tests;
