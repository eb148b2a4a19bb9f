//! The list of all connections, and the records of those that ended.

use super::bundles::Bundle;
use super::ends::{Block, Message, ReceivingEnd, SendingEnd};
use super::facts::ClassRecord;
use super::facts::MessageRow;
use super::facts::{FlowId, Pair};
use super::records::FlowRow;
use super::work::LoadInfo;
use crate::events::{EVENT_BYTES, MAX_SOURCES};
use crate::net::Connection;
use crate::probe::traces::FlowTraceRow;
use crate::routing::graph::NodeId;
use crate::routing::longest::Longest;
use crate::transport::Config;
use shallows_units::{Rate, Span, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Connections that can stand at once; each has two timers.
pub const MAX_FLOWS: usize = MAX_SOURCES / 4;

/// Bytes of memory that a connection takes.
pub const CONNECTION_BYTES: usize = size_of::<SendingEnd>()
    + size_of::<ReceivingEnd>()
    + size_of::<Connection>()
    + size_of::<Life>()
    + 2 * EVENT_BYTES;

/// Bytes of memory that a message takes until it is delivered.
const MESSAGE_BYTES: usize = size_of::<Message>() + size_of::<Block>();

/// Calls of loads between two looks at the number of their items.
const LOOK_EVERY: u64 = 1024;

/// Which load opens a connection.
#[derive(Debug, Clone, Copy)]
pub struct Opener {
    /// Number of the load.
    pub load: u16,
}

/// A class of connections.
#[derive(Debug, Clone, Default)]
pub struct Class {
    /// Name.
    pub name: String,
    /// Its flows are traced.
    pub traced: bool,
}

/// A connection, as its load made it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Life {
    /// Bytes that the application has written.
    pub(super) written: u64,
    pub(super) unbounded: bool,
    pub(super) opened: Time,
    pub(super) config: u16,
    pub(super) stands: bool,
}

/// The list of all connections, and the records of those that ended.
#[derive(Default)]
pub struct Roster {
    /// Classes.
    pub classes: Vec<Class>,
    /// The common data of each load's connections.
    pub loads: Vec<LoadInfo>,
    /// Transport configurations.
    pub configs: Arc<[Config]>,
    /// By node: its cell.
    pub cell_of: Vec<u32>,
    /// Rows of connections that have ended.
    pub flow_rows: Vec<FlowRow>,
    /// Rows of messages, from all cells when the run has ended.
    pub message_rows: Vec<MessageRow>,
    /// Rows of the flow trace at intervals.
    pub trace_rows: Vec<FlowTraceRow>,
    /// Waits and delays by class, from all cells when the run has ended.
    pub waits: Vec<ClassRecord>,
    /// Load and ends of every connection so far, where packets are recorded.
    pub all_opened: Option<Vec<(u16, Pair)>>,
    /// By load: the longest round trip of an empty path that its shorter timer is not above.
    pub short_timers: BTreeMap<u16, Span>,
    /// By load and receiver, of senders that pace from their first packet on: the last instant at which one opened a connection, its
    /// sender, and the senders that did so in that instant.
    pub(super) openings: BTreeMap<(u16, NodeId), (Time, NodeId, u32)>,
    /// By load: most senders to a receiver that began in one instant, and the receiver.
    pub in_step: BTreeMap<u16, (u32, NodeId)>,
    /// Times of the longest of equally short paths.
    pub longest: Longest,
    /// By load: the least rate of a link on its connections' ways, and the longest round trip of an empty one.
    pub slowest: BTreeMap<u16, (Rate, Span)>,
    /// Running number of the connection and end of every message so far, where packets of queue pairs are recorded.
    pub all_announced: Option<Vec<(u32, u64)>>,
    /// Statistics begin here.
    pub measured_from: Time,
    /// More connections stood at once than events can name.
    pub overflowed: bool,
    /// Messages written so far.
    pub announced: u64,
    /// Most bytes that connections and messages may take, or 0 for no bound.
    pub most_bytes: u64,
    /// Somebody stops the run.
    pub cancelled: Arc<AtomicBool>,
    /// Loads have made more than may be held.
    pub overfull: bool,
    calls: u64,
    /// A number freed at one time is used again after this much, so that it does not matter when cells met.
    pub rest: Span,
    /// No number is used again: then it is the connection's running number, and says in any record whose packets it counts.
    pub numbers_stay: bool,
    /// Cells with orders that the engine has not seen, where there are several.
    pub ordered: Vec<u32>,
    pub(super) lives: Vec<Life>,
    /// Numbers to use again, in one cell.
    pub(super) vacant: Vec<FlowId>,
    /// Numbers to use again among several cells, with the times from when.
    pub(super) resting: BinaryHeap<Reverse<(Time, FlowId)>>,
    pub(super) opened: u32,
    /// Connections of several queue pairs that are not closed, by the one that their load knows.
    pub(super) bundles: BTreeMap<FlowId, Bundle>,
}

impl Roster {
    /// No connection yet.
    pub fn new(classes: Vec<Class>, loads: Vec<LoadInfo>, configs: Arc<[Config]>) -> Self {
        Roster { classes, loads, configs, ..Roster::default() }
    }

    /// Connections opened so far.
    pub fn opened(&self) -> u32 {
        self.opened
    }

    /// Most connections that stood at once.
    pub fn places(&self) -> usize {
        self.lives.len()
    }

    /// The run is to stop.
    pub fn stopped(&self) -> bool {
        self.overfull || self.overflowed || self.cancelled.load(Ordering::Relaxed)
    }

    /// Bytes of memory that the connections take.
    pub fn bytes(&self) -> u64 {
        (self.lives.len() * CONNECTION_BYTES) as u64
    }

    /// Bytes of memory that messages take of which `done` are no longer held.
    pub fn message_bytes(&self, done: u64) -> u64 {
        (self.announced - done) * MESSAGE_BYTES as u64
    }

    /// A sender that paces opens a connection of `load` at `now`.
    pub(super) fn note_opening(&mut self, load: u16, (from, to): Pair, now: Time) {
        let last = self.openings.entry((load, to)).or_insert((now, from, 1));
        *last = match *last {
            (at, sender, many) if at == now => (now, from, many + u32::from(sender != from)),
            _ => (now, from, 1),
        };
        let most = self.in_step.entry(load).or_insert((0, to));
        if last.2 > most.0 {
            *most = (last.2, to);
        }
    }

    /// A load has called; looks now and then at its number of items, since it may call for ever.
    pub(super) fn called(&mut self, done: impl FnOnce() -> u64) {
        self.calls += 1;
        if self.calls.is_multiple_of(LOOK_EVERY) && self.most_bytes > 0 {
            self.overfull |= self.bytes() + self.message_bytes(done()) > self.most_bytes;
        }
    }

    /// Whether connection number `id` stands.
    pub fn stands(&self, id: FlowId) -> bool {
        self.lives[id as usize].stands
    }

    /// Connections that stand now.
    pub fn standing(&self) -> usize {
        self.lives.iter().filter(|life| life.stands).count()
    }
}
