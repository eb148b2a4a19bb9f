//! The facts that hosts share with the workloads: ends and numbers of connections, data written and delivered.

use crate::probe::histogram::TimeHistogram;
use crate::routing::graph::NodeId;
use shallows_units::{Span, Time};
use std::ops::{Add, AddAssign, Sub};

/// Sender and receiver.
pub type Pair = (NodeId, NodeId);

/// Place of a connection; used again after its end.
pub type FlowId = u32;

/// One write of an application.
#[derive(Debug, Clone, Copy)]
pub struct Write {
    /// Bytes.
    pub bytes: u64,
    /// The load's name for it.
    pub tag: u64,
    /// Time that it has from now on.
    pub deadline: Option<Span>,
    /// It only asks for an answer: the table of messages leaves it out.
    pub asks: bool,
}

/// A message that has been delivered whole.
#[derive(Debug, Clone, Copy)]
pub struct MessageDone {
    /// The connection that carried it.
    pub flow: FlowId,
    /// The workload's name for it.
    pub tag: u64,
    /// When the application wrote it.
    pub started: Time,
    /// Time that it would take alone on the empty network.
    pub ideal: Span,
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
    /// The load's name for it.
    pub tag: u64,
    /// Bytes.
    pub bytes: u64,
    /// When the application wrote it.
    pub started: Time,
    /// When its last byte was delivered in order.
    pub ended: Option<Time>,
    /// Its completion time alone on the empty network.
    pub ideal: Span,
    /// One beyond its last byte in the stream.
    pub end: u64,
    /// When the acknowledgement of its last byte was back.
    pub acked: Option<Time>,
    /// How much later that is on the empty network than the end.
    pub ideal_back: Option<Span>,
    /// Time that it had, if it had a deadline.
    pub deadline: Option<Span>,
    /// Whether it met its deadline; none without one, or where the run ended first.
    pub met: Option<bool>,
}

/// The acknowledgement of a message's last byte has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Acked {
    /// The flow's running number.
    pub flow: u32,
    /// One beyond the message's last byte in the stream.
    pub end: u64,
    /// When.
    pub at: Time,
}

/// Waits and delays of the data packets of a class.
#[derive(Debug, Default, Clone)]
pub struct ClassRecord {
    /// Time in switch queues, in ps.
    pub waits: TimeHistogram,
    /// One-way delay, in ps.
    pub delays: TimeHistogram,
}

impl ClassRecord {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.waits.clear();
        self.delays.clear();
    }

    /// Adds the record of another cell.
    pub fn add(&mut self, other: &ClassRecord) {
        self.waits.add_all(&other.waits);
        self.delays.add_all(&other.delays);
    }
}

/// How many timeouts there were, and how many of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeoutCounts {
    /// All of them.
    pub all: u64,
    /// At the head of a block.
    pub head: u64,
    /// At its tail.
    pub tail: u64,
}

impl AddAssign for TimeoutCounts {
    fn add_assign(&mut self, more: Self) {
        self.all += more.all;
        self.head += more.head;
        self.tail += more.tail;
    }
}

impl Add for TimeoutCounts {
    type Output = Self;
    fn add(mut self, more: Self) -> Self {
        self += more;
        self
    }
}

impl Sub for TimeoutCounts {
    type Output = Self;
    fn sub(self, before: Self) -> Self {
        TimeoutCounts {
            all: self.all - before.all,
            head: self.head - before.head,
            tail: self.tail - before.tail,
        }
    }
}
