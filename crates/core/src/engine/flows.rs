//! The connections of all hosts, their messages, and what is recorded of them.

use super::events::{Event, MAX_SOURCES, Source};
use crate::cc::{CongestionControl, FlowInfo};
use crate::net::Net;
use crate::net::packet::{Flags, NONE, Packet};
use crate::net::paths::passage;
use crate::probe::histogram::TimeHistogram;
use crate::probe::traces::FlowTraceRow;
use crate::transport::settings::Opening;
use crate::transport::{Config, Receiver, Sender, State};
use crate::workload::MessageDone;
use crate::workload::ends::Pair;
use shallows_units::{Bytes, Rate, Span, Time};
use std::collections::VecDeque;

/// Place of a connection; used again after its end.
pub type FlowId = u32;

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
    pub timeouts: u64,
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

#[derive(Debug, Clone, Copy)]
struct Message {
    /// One beyond its last byte in the stream.
    end: u64,
    bytes: u64,
    started: Time,
    tag: u64,
    /// It waited for the handshake of a fresh connection.
    first_of_fresh: bool,
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
    config: u16,
    class: u16,
    ends: Pair,
    opened: Time,
    /// When the last byte was delivered, of a connection that was closed.
    ended: Option<Time>,
    /// The application has closed it.
    closed: bool,
    /// The place is empty.
    vacant: bool,
    unbounded: bool,
    messages: VecDeque<Message>,
    /// Events of the two ends; they stay with the place.
    timers: (Source, Source),
    delivered_at_start: u64,
    drops_at_start: u64,
    traced: bool,
    traced_cwnd: u64,
}

/// A row of the table `flows`.
#[derive(Debug, Clone)]
pub struct FlowRow {
    /// Running number.
    pub serial: u32,
    /// Load, class and transport, by number.
    pub load: u16,
    /// Class, by number.
    pub class: u16,
    /// Configuration, by number.
    pub config: u16,
    /// Sender and receiver.
    pub ends: Pair,
    /// Bytes written, if bounded.
    pub bytes: Option<u64>,
    /// Start.
    pub opened: Time,
    /// End.
    pub ended: Option<Time>,
    /// Unique bytes delivered since the warm-up.
    pub delivered: u64,
    /// Time over which they were delivered.
    pub over: Span,
    /// What the sender did.
    pub sent: crate::transport::sender::SenderCounts,
    /// What came to the receiver.
    pub received: crate::transport::receiver::ReceiverCounts,
    /// Packets dropped, either way.
    pub drops: u64,
    /// Congestion window at the end, in bytes.
    pub cwnd: u64,
    /// Slow-start threshold at the end.
    pub ssthresh: Option<f64>,
    /// Alpha at the end.
    pub alpha: Option<f64>,
}

/// A row of the table `messages`.
#[derive(Debug, Clone, Copy)]
pub struct MessageRow {
    /// The flow's running number.
    pub flow: u32,
    /// Load and class, by number.
    pub load: u16,
    /// Class, by number.
    pub class: u16,
    /// Bytes.
    pub bytes: u64,
    /// When the application wrote it.
    pub started: Time,
    /// When its last byte was delivered in order.
    pub ended: Option<Time>,
    /// The same, alone on the empty network.
    pub ideal: Span,
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
    /// Statistics begin here.
    pub measured_from: Time,
    /// More connections stood at once than events can name.
    pub overflowed: bool,
    vacant: Vec<FlowId>,
    opened: u32,
    links: Vec<(Rate, Span)>,
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
            measured_from: Time::ZERO,
            overflowed: false,
            vacant: vec![],
            opened: 0,
            links: vec![],
        }
    }

    /// Connections opened so far.
    pub fn opened(&self) -> u32 {
        self.opened
    }

    // ---- what workloads do ----

    /// Opens a connection.
    pub fn open(&mut self, opener: Opener, ends: Pair, bytes: Option<u64>, net: &mut Net) -> FlowId {
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
        let choice = u64::from(serial);
        let there =
            net.paths.find(ends.0, ends.1, choice).expect("checked before the run: hosts reach each other");
        let back =
            net.paths.find(ends.1, ends.0, choice).expect("checked before the run: hosts reach each other");
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
            traced: self.classes[class as usize].traced,
            traced_cwnd: 0,
        };
        let tag = crate::net::Tag { outstanding: 0, class, drops: 0 };
        if id as usize == self.flows.len() {
            self.flows.push(flow);
            net.tags.push(tag);
            self.overflowed |= self.flows.len() >= MAX_FLOWS;
        } else {
            self.flows[id as usize] = flow;
            net.tags[id as usize] = tag;
        }
        let flow = &mut self.flows[id as usize];
        flow.sender.open(config, net);
        arm_sender(flow, net);
        id
    }

    /// Writes a message.
    pub fn send(&mut self, id: FlowId, bytes: u64, tag: u64, net: &mut Net) {
        let flow = &mut self.flows[id as usize];
        let config = &self.configs[flow.config as usize];
        let handshake = config.settings.opening == Opening::Handshake;
        flow.messages.push_back(Message {
            end: flow.sender.written.saturating_add(bytes),
            bytes,
            started: net.now,
            tag,
            first_of_fresh: handshake && flow.sender.written == 0 && flow.opened == net.now,
        });
        flow.sender.write(bytes, config, net);
        arm_sender(flow, net);
    }

    /// Writes without end.
    pub fn send_forever(&mut self, id: FlowId, net: &mut Net) {
        let flow = &mut self.flows[id as usize];
        flow.unbounded = true;
        flow.sender.write(u64::MAX, &self.configs[flow.config as usize], net);
        arm_sender(flow, net);
    }

    /// No more will be written.
    pub fn close(&mut self, id: FlowId, net: &mut Net) {
        let flow = &mut self.flows[id as usize];
        flow.closed = true;
        flow.sender.close(&self.configs[flow.config as usize], net);
        arm_sender(flow, net);
    }

    /// Timeouts so far of the connections of a load.
    pub fn timeouts_of(&self, opener: Opener) -> u64 {
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
            if self.record_waits && !packet.flags.any(Flags(Flags::SYN.0 | Flags::ACK.0)) {
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
        if flow.sender.wake_at(Time::ZERO) <= net.now {
            let config = &self.configs[flow.config as usize];
            let before = flow.sender.counts.timeouts;
            flow.sender.on_timer(config, net);
            self.loads[flow.load as usize].timeouts += flow.sender.counts.timeouts - before;
        }
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

    fn message_row(&mut self, id: FlowId, message: &Message, ended: Option<Time>, net: &Net) -> MessageRow {
        let ideal = self.ideal(id, message, net);
        let flow = &self.flows[id as usize];
        let Message { bytes, started, .. } = *message;
        MessageRow { flow: flow.serial, load: flow.load, class: flow.class, bytes, started, ended, ideal }
    }

    /// Time the message would take alone on the empty network, with a window that never limits: the
    /// handshake where it waited for one, then its packets, store and forward.
    fn ideal(&mut self, id: FlowId, message: &Message, net: &Net) -> Span {
        let flow = &self.flows[id as usize];
        let config = &self.configs[flow.config as usize];
        let (mss, header) = (config.rules.mss, u64::from(config.header));
        let links = |place: u32, links: &mut Vec<(Rate, Span)>| {
            links.clear();
            links.extend(
                net.paths.ports(place).map(|p| (net.ports[p as usize].rate, net.ports[p as usize].delay)),
            );
        };
        let mut handshake = Span::ZERO;
        if message.first_of_fresh {
            links(flow.receiver.route(), &mut self.links);
            handshake = passage(&self.links, 0, Bytes(header), Bytes(header));
        }
        links(flow.sender.route, &mut self.links);
        if message.first_of_fresh {
            handshake += passage(&self.links, 0, Bytes(header), Bytes(header));
        }
        let full = (message.bytes - 1) / mss;
        let last = message.bytes - full * mss;
        handshake + passage(&self.links, full, Bytes(mss + header), Bytes(last + header))
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
        self.vacant.push(id);
    }

    /// Rows of the messages that a connection has not delivered.
    fn undelivered_messages(&mut self, id: FlowId, net: &Net) {
        for message in std::mem::take(&mut self.flows[id as usize].messages) {
            if message.started >= self.measured_from {
                let row = self.message_row(id, &message, None, net);
                self.message_rows.push(row);
            }
        }
    }

    fn flow_row(&mut self, id: FlowId, net: &Net) -> FlowRow {
        let flow = &mut self.flows[id as usize];
        flow.sender.count_cwnd(net.now);
        let from = flow.opened.max(self.measured_from);
        let until = flow.ended.unwrap_or(net.now);
        FlowRow {
            serial: flow.serial,
            load: flow.load,
            class: flow.class,
            config: flow.config,
            ends: flow.ends,
            bytes: (!flow.unbounded).then_some(flow.sender.written),
            opened: flow.opened,
            ended: flow.ended,
            delivered: flow.receiver.delivered() - flow.delivered_at_start,
            over: until.max(from) - from,
            sent: flow.sender.counts,
            received: flow.receiver.counts,
            drops: net.tags[id as usize].drops - flow.drops_at_start,
            cwnd: flow.sender.cc.cwnd().as_u64(),
            ssthresh: flow.sender.cc.ssthresh(),
            alpha: alpha(&flow.sender),
        }
    }

    /// The warm-up ends: statistics begin.
    pub fn restart(&mut self, net: &Net) {
        self.measured_from = net.now;
        self.flow_rows.clear();
        self.message_rows.clear();
        for class in &mut self.classes {
            class.waits.clear();
            class.delays.clear();
        }
        for (flow, tag) in self.flows.iter_mut().zip(&net.tags) {
            flow.sender.restart_counts(net.now);
            flow.receiver.counts = Default::default();
            flow.delivered_at_start = flow.receiver.delivered();
            flow.drops_at_start = tag.drops;
        }
    }

    /// The run ends: rows of what still stands.
    pub fn finish(&mut self, net: &Net) {
        for id in 0..self.flows.len() as u32 {
            if self.flows[id as usize].vacant {
                continue;
            }
            let row = self.flow_row(id, net);
            self.flow_rows.push(row);
            self.undelivered_messages(id, net);
        }
        self.flow_rows.sort_by_key(|row| row.serial);
    }

    // ---- traces ----

    /// A row of the flow trace for each traced connection.
    pub fn trace_all(&mut self, now: Time) {
        for i in 0..self.flows.len() {
            if self.flows[i].traced && !self.flows[i].vacant {
                let row = self.trace_row(i, now);
                self.trace_rows.push(row);
            }
        }
    }

    #[cold]
    fn trace_change(&mut self, id: FlowId, now: Time) {
        let flow = &mut self.flows[id as usize];
        let cwnd = flow.sender.cc.cwnd().as_u64();
        if cwnd != flow.traced_cwnd && !flow.vacant {
            flow.traced_cwnd = cwnd;
            let row = self.trace_row(id as usize, now);
            self.trace_rows.push(row);
        }
    }

    fn trace_row(&self, i: usize, now: Time) -> FlowTraceRow {
        let flow = &self.flows[i];
        FlowTraceRow {
            time: now,
            flow: flow.serial,
            cwnd: flow.sender.cc.cwnd().as_u64() as f64,
            ssthresh: flow.sender.cc.ssthresh(),
            srtt: flow.sender.srtt().map(|srtt| srtt.as_ps() as f64),
            alpha: alpha(&flow.sender),
            delivered: flow.receiver.delivered(),
            flight: flow.sender.flight(&self.configs[flow.config as usize]),
        }
    }

    /// Bytes of memory that the connections use.
    pub fn memory(&self) -> usize {
        self.flows.capacity() * size_of::<Flow>()
    }
}

fn alpha(sender: &Sender) -> Option<f64> {
    let mut found = None;
    sender.cc.observe(&mut |name, value| {
        if name == "alpha" {
            found = Some(value);
        }
    });
    found
}

/// Schedules the sender's timer unless an event comes soon enough anyway.
#[inline]
fn arm_sender(flow: &mut Flow, net: &mut Net) {
    let wanted = flow.sender.wake_at(net.now);
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
