//! The connections of all hosts, their messages, and what is recorded of them.

use super::facts::{FlowId, MessageDone, Pair, Write};
use super::records::{FlowRow, MessageRow};
use super::timeouts::{TimeoutCounts, classify};
use crate::cc::{Algorithm, FlowInfo, MessageInfo};
use crate::events::{Event, MAX_SOURCES, Source};
use crate::net::Net;
use crate::packet::{Flags, NONE, Packet};
use crate::probe::histogram::TimeHistogram;
use crate::probe::traces::FlowTraceRow;
use crate::routing::ideal::Ideals;
use crate::transport::settings::Opening;
use crate::transport::{Config, Receiver, Sender, State};
use shallows_units::{Span, Time};
use std::collections::VecDeque;

/// Connections that can stand at once; each has two timers.
pub const MAX_FLOWS: usize = MAX_SOURCES / 4;

/// Which load opens a connection.
#[derive(Debug, Clone, Copy)]
pub struct Opener {
    /// Number of the load.
    pub load: u16,
}

/// What the connections of a load have in common.
#[derive(Debug, Clone)]
pub struct LoadInfo {
    /// Number of its transport configuration.
    pub config: u16,
    /// Number of its class.
    pub class: u16,
    /// Retransmission timeouts of its connections so far.
    pub timeouts: TimeoutCounts,
}

/// Waits and delays of the data packets of a class.
#[derive(Debug, Default)]
pub struct ClassRecord {
    /// Name.
    pub name: String,
    /// Time in switch queues, in ps.
    pub waits: TimeHistogram,
    /// One-way delay, in ps.
    pub delays: TimeHistogram,
    /// Its flows are traced.
    pub traced: bool,
}

/// A message under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message {
    /// One beyond its last byte in the stream.
    pub(super) end: u64,
    pub(super) bytes: u64,
    pub(super) started: Time,
    pub(super) tag: u64,
    /// It waited for the handshake of a fresh connection.
    pub(super) first_of_fresh: bool,
    /// Time that it has from `started` on.
    pub(super) deadline: Option<Span>,
}

/// A connection: both ends, and its messages under way.
pub struct Flow {
    /// The sending end.
    pub sender: Sender,
    /// The receiving end.
    pub receiver: Receiver,
    /// Running number over all connections of the run.
    pub serial: u32,
    /// Which load opened it.
    pub load: u16,
    pub(crate) config: u16,
    pub(super) class: u16,
    pub(crate) ends: Pair,
    pub(super) opened: Time,
    /// When the last byte was delivered, of a connection that was closed.
    pub(super) ended: Option<Time>,
    /// The application has closed it.
    pub(super) closed: bool,
    /// The place is empty.
    pub(crate) vacant: bool,
    pub(super) unbounded: bool,
    pub(super) messages: VecDeque<Message>,
    /// Events of the two ends; they stay with the place.
    pub(super) timers: (Source, Source),
    pub(super) delivered_at_start: u64,
    pub(super) drops_at_start: u64,
    pub(super) timeouts: TimeoutCounts,
    pub(super) traced: bool,
    pub(super) traced_cwnd: u64,
}
/// All connections.
pub struct Hosts {
    /// Transport configurations.
    pub configs: Vec<Config>,
    /// Loads.
    pub loads: Vec<LoadInfo>,
    /// Classes.
    pub classes: Vec<ClassRecord>,
    /// Connections, by place.
    pub flows: Vec<Flow>,
    /// Rows of connections that have ended.
    pub flow_rows: Vec<FlowRow>,
    /// Rows of messages that have been delivered.
    pub message_rows: Vec<MessageRow>,
    /// Rows of the flow trace.
    pub trace_rows: Vec<FlowTraceRow>,
    /// Deliveries of which loads are to be told.
    pub done: VecDeque<(u16, MessageDone)>,
    /// Waits and delays are recorded.
    pub record_waits: bool,
    /// Traced flows get a row whenever their window changes.
    pub trace_changes: bool,
    /// Load and ends of every connection so far, where packets are recorded.
    pub all_opened: Option<Vec<(u16, Pair)>>,
    /// Statistics begin here.
    pub measured_from: Time,
    /// More connections stood at once than events can name.
    pub overflowed: bool,
    vacant: Vec<FlowId>,
    opened: u32,
    /// Ideal times of messages.
    pub ideals: Ideals,
}

impl Hosts {
    /// No connection yet.
    pub fn new(configs: Vec<Config>, loads: Vec<LoadInfo>, classes: Vec<ClassRecord>) -> Self {
        Hosts {
            configs,
            loads,
            classes,
            flows: vec![],
            flow_rows: vec![],
            message_rows: vec![],
            trace_rows: vec![],
            done: VecDeque::new(),
            record_waits: false,
            trace_changes: false,
            all_opened: None,
            measured_from: Time::ZERO,
            overflowed: false,
            vacant: vec![],
            opened: 0,
            ideals: Ideals::default(),
        }
    }

    /// Connections opened so far.
    pub fn opened(&self) -> u32 {
        self.opened
    }

    /// Connections that stand now.
    pub fn standing(&self) -> usize {
        self.flows.len() - self.vacant.len()
    }

    // ---- what workloads do ----

    /// Opens a connection; `bytes` is what the application announces, if it does.
    pub fn open(&mut self, opener: Opener, ends: Pair, bytes: Option<u64>, net: &mut Net) -> FlowId {
        let id = self.place(opener, ends, bytes, net);
        self.start(id, net);
        id
    }

    /// Opens, writes one message, closes: the congestion control knows of the message before the SYN.
    pub fn send_once(&mut self, opener: Opener, ends: Pair, write: Write, net: &mut Net) -> FlowId {
        let id = self.place(opener, ends, Some(write.bytes), net);
        self.announce(id, write, net);
        self.start(id, net);
        self.write(id, write.bytes, net);
        self.close(id, net);
        id
    }

    fn start(&mut self, id: FlowId, net: &mut Net) {
        let flow = &mut self.flows[id as usize];
        flow.sender.open(&self.configs[flow.config as usize], net);
        arm_sender(flow, net);
    }

    /// Makes a connection's two ends, which have sent nothing yet.
    fn place(&mut self, opener: Opener, ends: Pair, bytes: Option<u64>, net: &mut Net) -> FlowId {
        let load = &self.loads[opener.load as usize];
        let config = &self.configs[load.config as usize];
        let class = load.class;
        let serial = self.opened;
        self.opened += 1;
        let id = self.vacant.pop().unwrap_or(self.flows.len() as u32);
        let timers = match self.flows.get(id as usize) {
            Some(before) => before.timers,
            None => (net.events.add(Event::Sender(id)), net.events.add(Event::Receiver(id))),
        };
        net.routing.find([ends.0, ends.1]);
        let [there, back] = net.routing.labels(ends, serial);
        let enters = [ends.0, ends.1].map(|host| net.routing.enters(host));
        if let Algorithm::Custom(custom) = &config.cc
            && let Some(made) = &custom.made
        {
            made.announce(serial);
        }
        let info = FlowInfo { class: &self.classes[class as usize].name, bytes };
        let flow = Flow {
            sender: Sender::new(id, there, &info, config, net.now),
            receiver: Receiver::new(id, back, config),
            serial,
            load: opener.load,
            config: load.config,
            class,
            ends,
            opened: net.now,
            ended: None,
            closed: false,
            vacant: false,
            unbounded: false,
            messages: VecDeque::new(),
            timers,
            delivered_at_start: 0,
            drops_at_start: 0,
            timeouts: TimeoutCounts::default(),
            traced: self.classes[class as usize].traced,
            traced_cwnd: 0,
        };
        if let Some(all) = &mut self.all_opened {
            all.push((opener.load, ends));
        }
        let tag =
            crate::net::Tag { outstanding: 0, class, drops: 0, serial, end: 0, owner: timers.0, enters };
        if id as usize == self.flows.len() {
            self.flows.push(flow);
            net.tags.push(tag);
            self.overflowed |= self.flows.len() >= MAX_FLOWS;
        } else {
            self.flows[id as usize] = flow;
            net.tags[id as usize] = tag;
        }
        id
    }

    /// Writes a message.
    pub fn send(&mut self, id: FlowId, write: Write, net: &mut Net) {
        self.announce(id, write, net);
        self.write(id, write.bytes, net);
    }

    /// Tells the records and the congestion control of a message that is about to be written.
    fn announce(&mut self, id: FlowId, write: Write, net: &mut Net) {
        let now = net.now;
        let flow = &mut self.flows[id as usize];
        let config = &self.configs[flow.config as usize];
        let handshake = config.settings.opening == Opening::Handshake;
        let end = flow.sender.written.saturating_add(write.bytes);
        flow.messages.push_back(Message {
            end,
            bytes: write.bytes,
            started: now,
            tag: write.tag,
            first_of_fresh: handshake && flow.sender.written == 0 && flow.opened == now,
            deadline: write.deadline,
        });
        let message = MessageInfo { end, due: write.deadline.map(|span| now + span) };
        flow.sender.announce(&message, config, now);
        net.tags[id as usize].end = end;
    }

    fn write(&mut self, id: FlowId, bytes: u64, net: &mut Net) {
        let flow = &mut self.flows[id as usize];
        flow.sender.write(bytes, &self.configs[flow.config as usize], net);
        arm_sender(flow, net);
        if flow.traced && self.trace_changes {
            self.trace_change(id, net.now); // a restart after an idle time
        }
    }

    /// Writes without end.
    pub fn send_forever(&mut self, id: FlowId, net: &mut Net) {
        self.flows[id as usize].unbounded = true;
        net.tags[id as usize].end = u64::MAX;
        self.write(id, u64::MAX, net);
    }

    /// No more will be written.
    pub fn close(&mut self, id: FlowId, net: &mut Net) {
        let flow = &mut self.flows[id as usize];
        flow.closed = true;
        flow.sender.close(&self.configs[flow.config as usize], net);
        arm_sender(flow, net);
    }

    /// Timeouts so far of the connections of a load.
    pub fn timeouts_of(&self, opener: Opener) -> TimeoutCounts {
        self.loads[opener.load as usize].timeouts
    }

    // ---- what the network brings ----

    /// A packet has arrived at its destination.
    #[inline]
    pub fn on_packet(&mut self, packet: &Packet, net: &mut Net) {
        let flow = &mut self.flows[packet.flow as usize];
        let config = &self.configs[flow.config as usize];
        if packet.flags.any(Flags::REVERSE) {
            let sack = if packet.extension == NONE { None } else { net.extension(packet) };
            flow.sender.on_packet(packet, sack, config, net);
            arm_sender(flow, net);
            if flow.traced && self.trace_changes {
                self.trace_change(packet.flow, net.now);
            }
        } else {
            if self.record_waits && !packet.flags.any(Flags(Flags::SYN.0 | Flags::ACK.0 | Flags::PROBE.0)) {
                let class = &mut self.classes[flow.class as usize];
                class.waits.add(packet.waited, 1);
                class.delays.add((net.now - packet.stamp).as_ps(), 1);
            }
            flow.receiver.on_packet(packet, config, net);
            arm_receiver(flow, net);
            if let Some(message) = flow.messages.front()
                && message.end <= flow.receiver.delivered()
            {
                self.complete_messages(packet.flow, net);
            }
        }
        if self.flows[packet.flow as usize].closed {
            self.release_if_over(packet.flow, net);
        }
    }

    /// A sender's timer event.
    pub fn on_sender_timer(&mut self, id: FlowId, net: &mut Net) {
        let flow = &mut self.flows[id as usize];
        flow.sender.timer_at = Time::MAX;
        if flow.sender.wake_at() <= net.now {
            let config = &self.configs[flow.config as usize];
            let before = flow.sender.counts.timeouts;
            let expiring = (net.now >= flow.sender.rto_at).then(|| classify(flow, config));
            flow.sender.on_timer(config, net);
            if let Some(timeout) = expiring.filter(|_| flow.sender.counts.timeouts > before) {
                flow.timeouts += timeout;
                self.loads[flow.load as usize].timeouts += timeout;
            }
        }
        debug_assert!(flow.sender.wake_at() > net.now, "a timer that wakes for nothing wakes for ever");
        arm_sender(flow, net);
        if flow.traced && self.trace_changes {
            self.trace_change(id, net.now);
        }
        self.release_if_over(id, net);
    }

    /// A receiver's timer event.
    pub fn on_receiver_timer(&mut self, id: FlowId, net: &mut Net) {
        let flow = &mut self.flows[id as usize];
        flow.receiver.timer_at = Time::MAX;
        flow.receiver.on_timer(&self.configs[flow.config as usize], net);
        arm_receiver(flow, net);
    }

    #[cold]
    fn complete_messages(&mut self, id: FlowId, net: &Net) {
        loop {
            let flow = &mut self.flows[id as usize];
            let delivered = flow.receiver.delivered();
            let Some(message) = flow.messages.front().copied().filter(|m| m.end <= delivered) else { break };
            flow.messages.pop_front();
            if flow.closed && flow.messages.is_empty() {
                flow.ended = Some(net.now);
            }
            let done = MessageDone { flow: id, tag: message.tag, started: message.started };
            let load = flow.load;
            if message.started >= self.measured_from {
                let row = self.message_row(id, &message, Some(net.now), net);
                self.message_rows.push(row);
            }
            self.done.push_back((load, done));
        }
    }

    // ---- ends ----

    fn release_if_over(&mut self, id: FlowId, net: &mut Net) {
        let flow = &self.flows[id as usize];
        let failed = flow.sender.state == State::Failed;
        let both_closed = !flow.sender.closing || flow.receiver.closed;
        let complete = flow.sender.all_acknowledged() && flow.messages.is_empty() && both_closed;
        if flow.vacant || !(flow.closed && complete || failed) || net.tags[id as usize].outstanding > 0 {
            return;
        }
        if failed && !flow.closed {
            return; // its load may still write; the row says how it ended
        }
        let row = self.flow_row(id, net);
        if row.ended.is_none_or(|ended| ended >= self.measured_from) {
            self.flow_rows.push(row);
        }
        self.undelivered_messages(id, net);
        let flow = &mut self.flows[id as usize];
        flow.vacant = true;
        flow.receiver.ack_at = Time::MAX; // one whose sender gave up may still want to speak
        self.vacant.push(id);
    }
    /// Bytes of memory that the connections use.
    pub fn memory(&self) -> usize {
        self.flows.capacity() * size_of::<Flow>()
    }
}

/// Schedules the sender's timer unless an event comes soon enough anyway.
#[inline]
fn arm_sender(flow: &mut Flow, net: &mut Net) {
    let wanted = flow.sender.wake_at();
    if wanted < flow.sender.timer_at {
        flow.sender.timer_at = wanted;
        net.events.schedule(flow.timers.0, wanted);
    }
}

/// Schedules the receiver's timer unless an event comes soon enough anyway.
#[inline]
fn arm_receiver(flow: &mut Flow, net: &mut Net) {
    if flow.receiver.ack_at < flow.receiver.timer_at {
        flow.receiver.timer_at = flow.receiver.ack_at;
        net.events.schedule(flow.timers.1, flow.receiver.ack_at);
    }
}
