//! What is recorded of connections: their rows in the tables, the ideal times of their messages, and
//! their traces.

use super::facts::{FlowId, Pair};
use super::flows::{Hosts, Message};
use super::timeouts::TimeoutCounts;
use crate::cc::CongestionControl;
use crate::net::Net;
use crate::probe::traces::FlowTraceRow;
use crate::routing::ideal::Burst;
use crate::transport::Sender;
use shallows_units::{Bytes, Span, Time};

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
    /// Time over which the sender was watched, until its last acknowledgement.
    pub watched: Span,
    /// What the sender did.
    pub sent: crate::transport::sender::SenderCounts,
    /// Integral of the congestion window in byte ps.
    pub cwnd_time: u128,
    /// What came to the receiver.
    pub received: crate::transport::receiver::ReceiverCounts,
    /// Packets dropped, either way.
    pub drops: u64,
    /// Its timeouts, by kind.
    pub timeouts: TimeoutCounts,
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
    /// Time that it had, if it had a deadline.
    pub deadline: Option<Span>,
    /// Whether it met its deadline; none without one, or where the run ended first.
    pub met: Option<bool>,
}

impl Hosts {
    pub(super) fn message_row(
        &mut self,
        id: FlowId,
        message: &Message,
        ended: Option<Time>,
        net: &Net,
    ) -> MessageRow {
        let ideal = self.ideal(id, message, net);
        let flow = &self.flows[id as usize];
        let Message { bytes, started, deadline, .. } = *message;
        let met = deadline.and_then(|deadline| match ended {
            Some(ended) => Some(ended - started <= deadline),
            None => (net.now - started >= deadline).then_some(false),
        });
        let (flow, load, class) = (flow.serial, flow.load, flow.class);
        MessageRow { flow, load, class, bytes, started, ended, ideal, deadline, met }
    }

    /// Time the message would take alone on the empty network, with a window that never limits: the
    /// handshake where it waited for one, then its packets, store and forward.
    fn ideal(&mut self, id: FlowId, message: &Message, net: &Net) -> Span {
        let flow = &self.flows[id as usize];
        let config = &self.configs[flow.config as usize];
        let (mss, header) = (config.rules.mss, u64::from(config.header));
        let wire = |port: u32| (net.ports[port as usize].rate, net.ports[port as usize].delay);
        let (from, to) = flow.ends;
        let ideals = &mut self.ideals;
        let mut time = |ends: Pair, packets: u64, full: u64, last: u64| {
            let burst = Burst { packets, full: Bytes(full + header), last: Bytes(last + header) };
            ideals.time(&net.routing, ends, burst, wire)
        };
        let handshake = if message.first_of_fresh {
            time((from, to), 0, 0, 0) + time((to, from), 0, 0, 0)
        } else {
            Span::ZERO
        };
        let full = (message.bytes - 1) / mss;
        handshake + time((from, to), full, mss, message.bytes - full * mss)
    }

    /// Rows of the messages that a connection has not delivered.
    pub(super) fn undelivered_messages(&mut self, id: FlowId, net: &Net) {
        for message in std::mem::take(&mut self.flows[id as usize].messages) {
            if message.started >= self.measured_from {
                let row = self.message_row(id, &message, None, net);
                self.message_rows.push(row);
            }
        }
    }

    pub(super) fn flow_row(&mut self, id: FlowId, net: &Net) -> FlowRow {
        let flow = &mut self.flows[id as usize];
        let cwnd_time = flow.sender.window.count(net.now);
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
            watched: net.now - from,
            sent: flow.sender.counts,
            cwnd_time,
            received: flow.receiver.counts,
            drops: net.tags[id as usize].drops - flow.drops_at_start,
            timeouts: flow.timeouts,
            cwnd: flow.sender.window.bytes(),
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
            flow.timeouts = Default::default();
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
    pub(super) fn trace_change(&mut self, id: FlowId, now: Time) {
        let flow = &mut self.flows[id as usize];
        let cwnd = flow.sender.window.bytes();
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
            cwnd: flow.sender.window.bytes() as f64,
            ssthresh: flow.sender.cc.ssthresh(),
            srtt: flow.sender.srtt().map(|srtt| srtt.as_ps() as f64),
            alpha: alpha(&flow.sender),
            delivered: flow.receiver.delivered(),
            flight: flow.sender.flight(&self.configs[flow.config as usize]),
        }
    }
}

pub(crate) fn alpha(sender: &Sender) -> Option<f64> {
    let mut found = None;
    sender.cc.observe(&mut |name, value| {
        if name == "alpha" {
            found = Some(value);
        }
    });
    found
}
