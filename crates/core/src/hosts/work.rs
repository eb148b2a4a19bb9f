//! The ends of one cell at work: packets and timers come in, packets leave.

use super::bundles::{Part, Parts};
use super::ends::{Block, ReceivingEnd, SendingEnd};
use super::facts::{Acked, ClassRecord, FlowId, MessageDone, MessageRow, TimeoutCounts};
use super::grants::Grants;
use super::pulls::Pacers;
use super::timeouts::{classify, classify_read};
use crate::cc::MessageInfo;
use crate::events::Source;
use crate::net::{Change, Happened, Net, Network};
use crate::packet::{Flags, NONE, Packet};
use crate::probe::traces::FlowTraceRow;
use crate::routing::ideal::Ideals;
use crate::transport::half::TakesTurns;
use crate::transport::halves::with_sender;
use crate::transport::{AnyReceiver, AnySender, Config, State};
use shallows_units::Time;
use std::collections::VecDeque;
use std::sync::Arc;

/// The common data of a load's connections.
#[derive(Debug, Clone, Copy)]
pub struct LoadInfo {
    /// Number of its transport configuration.
    pub config: u16,
    /// Number of its class.
    pub class: u16,
    /// It wants to know of each message that is delivered.
    pub listens: bool,
    /// Retransmission timeouts of its connections so far.
    pub timeouts: TimeoutCounts,
    /// Packets of its connections that were lost so far, either way.
    pub lost: u64,
}

/// A request of the application to a sending end, or of one that reads to the receiving end.
#[derive(Debug, Clone, Copy)]
pub enum Order {
    /// Opens the connection.
    Open,
    /// Informs the congestion control of a message that is about to be written.
    Announce(Block, Option<Time>),
    /// Writes so many bytes more.
    Write(u64),
    /// Begins to send datagrams, as this pair of its load.
    Emit(u64),
    /// No more will be written.
    Close,
    /// The receiving end reads on, up to this byte.
    Read(u64),
}

/// The hosts of one cell.
pub struct Hosts {
    /// The cell's number.
    pub cell: u32,
    /// Transport configurations.
    pub configs: Arc<[Config]>,
    /// Loads; timeouts are those of this cell's senders.
    pub loads: Vec<LoadInfo>,
    /// Waits and delays by class; empty where none are recorded.
    pub waits: Vec<ClassRecord>,
    /// Sending ends by place.
    pub senders: Vec<SendingEnd>,
    /// Receiving ends by place.
    pub receivers: Vec<ReceivingEnd>,
    pub(super) free_senders: Vec<u32>,
    pub(super) free_receivers: Vec<u32>,
    /// Rows of messages that have been delivered here.
    pub message_rows: Vec<MessageRow>,
    /// Messages whose last acknowledgement has come here.
    pub acked: Vec<Acked>,
    /// Messages that were delivered or given up.
    pub messages_done: u64,
    /// Rows of the flow trace on change.
    pub trace_rows: Vec<FlowTraceRow>,
    /// Deliveries to report to loads.
    pub done: VecDeque<(u16, MessageDone)>,
    /// Connections with an end here that has nothing left to do, and since when.
    pub idle: Vec<(Time, FlowId)>,
    /// Something stands in `done` or `idle`.
    pub has_notices: bool,
    /// Traced flows get a row whenever their window or pacing rate changes.
    pub trace_changes: bool,
    /// Statistics begin here.
    pub measured_from: Time,
    /// Ideal times of messages.
    pub ideals: Ideals,
    /// Pulls of receivers.
    pub(super) pacers: Pacers,
    /// Receivers of Homa that may be granted to.
    pub(super) grants: Grants,
    /// Parts of messages on their way to receivers here.
    pub(super) parts: Parts,
    /// Parts whose acknowledgements are on their way to senders here.
    pub(super) answers: Parts,
}

impl Hosts {
    /// The hosts of cell number `cell`, without connections.
    pub fn new(cell: u32, configs: Arc<[Config]>, loads: Vec<LoadInfo>) -> Self {
        Hosts {
            cell,
            configs,
            loads,
            waits: vec![],
            senders: vec![],
            receivers: vec![],
            free_senders: vec![],
            free_receivers: vec![],
            message_rows: vec![],
            acked: vec![],
            messages_done: 0,
            trace_rows: vec![],
            done: VecDeque::new(),
            idle: vec![],
            has_notices: false,
            trace_changes: false,
            measured_from: Time::ZERO,
            ideals: Ideals::default(),
            pacers: Pacers::default(),
            grants: Grants::default(),
            parts: Parts::default(),
            answers: Parts::default(),
        }
    }

    // ---- orders of applications ----

    /// Carries out the application's order to the sending end at `place`; of [`Order::Read`] to the receiving end there.
    pub fn perform(&mut self, place: u32, order: Order, net: &mut Net) {
        if let Order::Read(end) = order {
            return self.read(place, end, net);
        }
        let sent = net.totals.sent;
        let now = net.now;
        let end = &mut self.senders[place as usize];
        let config = &self.configs[end.about.config as usize];
        match order {
            Order::Open => end.sender.open(config, net),
            Order::Announce(block, due) => {
                end.blocks.push_back(block);
                end.awaits = end.awaits.min(block.end);
                let message = MessageInfo { end: block.end, due };
                end.sender.announce(&message, config, now);
                return;
            }
            Order::Write(bytes) => end.sender.write(bytes, config, net),
            Order::Emit(pair) => end.sender.emit(pair, config, net),
            Order::Read(_) => {}
            Order::Close => {
                end.closed = true;
                end.sender.close(config, net);
            }
        }
        end.passed.0 += net.totals.sent - sent;
        arm_sender(end, net);
        if end.traced && self.trace_changes && matches!(order, Order::Open | Order::Write(_)) {
            let id = end.about.id;
            self.trace_change(id, net); // the first window, or a restart after an idle time
        }
    }

    /// The receiving end at `place` reads on, up to byte `until`.
    #[cold]
    fn read(&mut self, place: u32, until: u64, net: &mut Net) {
        let sent = net.totals.sent;
        let end = &mut self.receivers[place as usize];
        if let AnyReceiver::Read(reader) = &mut end.receiver {
            reader.post(until, &self.configs[end.about.config as usize], net);
            arm(reader.rto_at, &mut reader.timer_at, end.timer, net);
        }
        end.passed.0 += net.totals.sent - sent;
    }

    // ---- arrivals from the network ----

    /// A packet has arrived at its destination.
    #[inline]
    pub fn on_packet(&mut self, packet: &Packet, net: &mut Net) {
        let sent = net.totals.sent;
        let connection = &net.directory.connections[packet.flow as usize];
        if packet.flags.any(Flags::REVERSE) {
            let end = &mut self.senders[connection.sender.1 as usize];
            let config = &self.configs[end.about.config as usize];
            let sack = if packet.extension == NONE { None } else { net.extension(packet) };
            let (timer, closed) = (end.timer, end.closed);
            let (over, una) = with_sender!(&mut end.sender, sender => {
                sender.on_packet(packet, sack, config, net);
                arm(sender.wake_at(), &mut sender.half.timer_at, timer, net);
                (closed && sender.half.all_acknowledged() || sender.half.state == State::Failed, sender.half.una)
            });
            let whole = una >= end.awaits;
            end.passed.0 += net.totals.sent - sent;
            end.passed.1 += 1;
            if end.traced && self.trace_changes {
                self.trace_change(packet.flow, net);
            }
            if whole {
                self.note_acked(connection.sender.1, una, net.now);
            }
            if over {
                self.note_idle(packet.flow, net.now);
            }
            return;
        }
        let end = &mut self.receivers[connection.receiver.1 as usize];
        if !packet.flags.any(Flags(Flags::SYN.0 | Flags::ACK.0 | Flags::PROBE.0))
            && let Some(class) = self.waits.get_mut(end.about.class as usize)
        {
            class.waits.add(packet.waited);
            class.delays.add((net.now - packet.stamp).as_ps());
        }
        let config = &self.configs[end.about.config as usize];
        let (mut pulls, mut grants) = (false, false);
        let delivered = match &mut end.receiver {
            AnyReceiver::Tcp(receiver) => {
                receiver.on_packet(packet, config, net);
                arm(receiver.ack_at, &mut receiver.timer_at, end.timer, net);
                receiver.delivered()
            }
            AnyReceiver::Roce(responder) => {
                responder.on_packet(packet, config, net);
                responder.delivered
            }
            AnyReceiver::Read(reader) => {
                reader.on_packet(packet, config, net);
                arm(reader.rto_at, &mut reader.timer_at, end.timer, net);
                reader.next
            }
            AnyReceiver::Ndp(receiver) => {
                receiver.on_packet(packet, config, net);
                pulls = true;
                receiver.next
            }
            AnyReceiver::Credit(receiver) => {
                receiver.on_packet(packet, config, net);
                arm(receiver.credit_at, &mut receiver.timer_at, end.timer, net);
                receiver.next
            }
            AnyReceiver::Homa(receiver) => {
                receiver.on_packet(packet, config, net);
                arm(receiver.rto_at, &mut receiver.timer_at, end.timer, net);
                grants = true;
                receiver.next
            }
            AnyReceiver::Uec(receiver) => {
                receiver.on_packet(packet, config, net);
                pulls = receiver.credit.is_some();
                receiver.next
            }
            AnyReceiver::Datagram(receiver) => {
                receiver.on_packet(packet, config.header, net.now);
                0 // no message waits for it
            }
        };
        end.passed.0 += net.totals.sent - sent;
        end.passed.1 += 1;
        let arrived = end.messages.front().is_some_and(|message| message.end <= delivered);
        let closed = end.closed;
        if pulls {
            self.owes_pull(connection.receiver.1, net);
        }
        if grants {
            self.grant(connection.receiver.1, net);
        }
        if arrived {
            self.complete_messages(packet.flow, net);
        }
        if closed {
            self.note_received(packet.flow, net);
        }
    }

    /// A sender's timer event.
    pub fn on_sender_timer(&mut self, place: u32, net: &mut Net) {
        let sent = net.totals.sent;
        let end = &mut self.senders[place as usize];
        let stood = end.sender.state() != State::Failed && !end.vacant;
        *end.sender.timer_at() = Time::MAX;
        if end.sender.wake_at() <= net.now {
            let config = &self.configs[end.about.config as usize];
            let before = end.sender.counts().timeouts;
            let expiring = end.sender.expires(net.now).then(|| classify(end, config));
            end.sender.on_timer(config, net);
            if let Some(timeout) = expiring.filter(|_| end.sender.counts().timeouts > before) {
                end.timeouts += timeout;
                self.loads[end.about.load as usize].timeouts += timeout;
            }
        }
        debug_assert!(end.sender.wake_at() > net.now, "a timer that wakes for nothing wakes for ever");
        end.passed.0 += net.totals.sent - sent;
        arm_sender(end, net);
        // A timer ends nothing but a connection that fails now. One that has finished may have ended before: a second note
        // would move its end to the last timer of the window.
        let fails = stood && end.sender.state() == State::Failed;
        let (id, traced) = (end.about.id, end.traced);
        if traced && self.trace_changes {
            self.trace_change(id, net);
        }
        if fails {
            self.note_idle(id, net.now);
        }
    }

    /// A receiver's timer event.
    pub fn on_receiver_timer(&mut self, place: u32, net: &mut Net) {
        let sent = net.totals.sent;
        let end = &mut self.receivers[place as usize];
        let config = &self.configs[end.about.config as usize];
        match &mut end.receiver {
            AnyReceiver::Tcp(receiver) => {
                receiver.timer_at = Time::MAX;
                receiver.on_timer(config, net);
                arm(receiver.ack_at, &mut receiver.timer_at, end.timer, net);
            }
            AnyReceiver::Read(reader) => {
                let (before, next) = (reader.timeouts, reader.next);
                reader.timer_at = Time::MAX;
                reader.on_timer(config, net);
                arm(reader.rto_at, &mut reader.timer_at, end.timer, net);
                if reader.timeouts > before {
                    let timeout = classify_read(next, end.messages.front(), config);
                    end.timeouts += timeout;
                    self.loads[end.about.load as usize].timeouts += timeout;
                }
            }
            AnyReceiver::Credit(receiver) => {
                receiver.timer_at = Time::MAX;
                receiver.on_timer(config, net);
                arm(receiver.credit_at, &mut receiver.timer_at, end.timer, net);
            }
            AnyReceiver::Homa(receiver) => {
                receiver.on_timer(config, net);
                arm(receiver.rto_at, &mut receiver.timer_at, end.timer, net);
            }
            AnyReceiver::Roce(_) | AnyReceiver::Ndp(_) | AnyReceiver::Uec(_) | AnyReceiver::Datagram(_) => {}
        }
        end.passed.0 += net.totals.sent - sent;
    }

    /// A packet of a connection whose sender is here was lost or doubled.
    #[cold]
    pub fn on_change(&mut self, change: &Change, place: u32) {
        let end = &mut self.senders[place as usize];
        if change.what == Happened::Doubled {
            end.doubled += 1;
            return;
        }
        end.lost += 1;
        if change.what == Happened::LostCredit
            && let AnySender::Credit(sender) = &mut end.sender
        {
            sender.dropped += 1;
        }
        self.loads[end.about.load as usize].lost += 1;
        if end.is_over() {
            self.note_idle(change.flow, change.at);
        }
    }

    /// A packet has left the host's port, for which its sender waits.
    #[cold]
    pub fn on_room(&mut self, place: u32, at: Time, network: &mut Network) {
        let end = &mut self.senders[place as usize];
        end.sender.on_room(at);
        arm_sender(end, network);
    }

    /// Everything below `una` is acknowledged, some message whole for the first time. A source of READ gets requests alone, and a
    /// receiver that runs ahead acknowledges what it may not have.
    #[cold]
    fn note_acked(&mut self, place: u32, una: u64, now: Time) {
        let end = &mut self.senders[place as usize];
        let config = &self.configs[end.about.config as usize];
        let (serial, tells) = (end.about.serial, config.roce.reads.is_none() && config.ack_ahead == 0);
        while let Some(block) = end.blocks.front().copied().filter(|block| block.end <= una) {
            end.blocks.pop_front();
            if tells {
                end.acked_at = now;
                let (flow, end) = match self.answers.came((serial, block.end)) {
                    Part::Alone => (serial, block.end),
                    Part::Waits => continue,
                    Part::Last(shared) => (shared.serial, shared.end),
                };
                self.acked.push(Acked { flow, end, at: now });
            }
        }
        end.awaits = end.blocks.front().map_or(u64::MAX, |block| block.end);
    }

    #[cold]
    fn complete_messages(&mut self, id: FlowId, net: &Net) {
        let connection = net.directory.connections[id as usize];
        let place = connection.receiver.1 as usize;
        loop {
            let end = &mut self.receivers[place];
            let delivered = end.receiver.delivered();
            let Some(message) = end.messages.front().copied().filter(|m| m.end <= delivered) else { break };
            end.messages.pop_front();
            if end.closed && end.messages.is_empty() {
                end.ended = Some(net.now);
            }
            let about = end.about;
            let (message, serial, id) = match self.parts.came((about.serial, message.end)) {
                Part::Alone => (message, about.serial, id),
                Part::Waits => {
                    self.messages_done += 1;
                    continue;
                }
                Part::Last(shared) => (message.as_whole(&shared), shared.serial, shared.id),
            };
            let load = about.load;
            self.record_message((place, serial), &message, Some(net.now), (net.now, net.directory));
            if self.loads[load as usize].listens {
                let (tag, started) = (message.tag, message.started);
                let ideal = self.ideal(place, &message, net.directory);
                self.done.push_back((load, MessageDone { flow: id, tag, started, ideal }));
                self.has_notices = true;
            }
        }
    }

    /// A packet has come to the receiving end of a closed connection: it may have been the last.
    #[cold]
    fn note_received(&mut self, id: FlowId, net: &Net) {
        let end = &self.receivers[net.directory.connections[id as usize].receiver.1 as usize];
        let handshakes = self.configs[end.about.config as usize].handshakes();
        if end.messages.is_empty() && (end.receiver.closed() || !handshakes) {
            self.note_idle(id, net.now);
        }
    }

    #[cold]
    fn note_idle(&mut self, id: FlowId, at: Time) {
        self.idle.push((at, id));
        self.has_notices = true;
    }
}

/// Schedules a timer that stands at `armed` for `wanted`, unless an event comes soon enough anyway.
#[inline]
pub(super) fn arm(wanted: Time, armed: &mut Time, timer: Source, net: &mut Network) {
    if wanted < *armed {
        *armed = wanted;
        net.events.schedule(timer, wanted);
    }
}

/// Schedules a sender's event for the soonest of its timers.
#[inline]
fn arm_sender(end: &mut SendingEnd, net: &mut Network) {
    let timer = end.timer;
    with_sender!(&mut end.sender, sender => arm(sender.wake_at(), &mut sender.half.timer_at, timer, net));
}
