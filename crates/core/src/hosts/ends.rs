//! The two ends of a connection, each in its host's cell, with their records there.

use super::bundles::Shared;
use super::facts::TimeoutCounts;
use super::facts::{FlowId, Pair};
use crate::events::Source;
use crate::transport::{AnyReceiver, AnySender, State};
use shallows_units::{Rate, Span, Time};
use std::collections::VecDeque;

/// A message under way, at the end that receives it.
#[derive(Debug, Clone, Copy)]
pub struct Message {
    /// One beyond its last byte in the stream.
    pub end: u64,
    /// Its bytes.
    pub bytes: u64,
    /// When the application wrote it.
    pub started: Time,
    /// The load's name for it.
    pub tag: u64,
    /// It waited for the handshake of a fresh connection.
    pub first_of_fresh: bool,
    /// Time that it has from `started` on.
    pub deadline: Option<Span>,
    /// It only asks for an answer.
    pub asks: bool,
}

impl Message {
    /// The message that this is the last part of.
    pub(super) fn as_whole(self, shared: &Shared) -> Self {
        Message { end: shared.end, bytes: shared.bytes, ..self }
    }
}

/// A message at the end that sends it.
#[derive(Debug, Clone, Copy)]
pub struct Block {
    /// One beyond its last byte in the stream.
    pub end: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// Facts that both ends of a connection know.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// Number of the connection.
    pub id: FlowId,
    /// Running number over all connections of the run.
    pub serial: u32,
    /// Which load opened it.
    pub load: u16,
    /// Its configuration.
    pub config: u16,
    /// Its class.
    pub class: u16,
    /// Sender and receiver.
    pub ends: Pair,
    /// When it was opened.
    pub opened: Time,
}

/// The sending end at work.
pub struct SendingEnd {
    /// The transport's half.
    pub sender: AnySender,
    /// The connection.
    pub about: About,
    /// Packets handed to the NIC, and packets that came.
    pub passed: (u64, u64),
    /// Its packets that were dropped, either way.
    pub lost: u64,
    /// Copies that faults made of its packets.
    pub doubled: u64,
    /// Messages not acknowledged whole.
    pub blocks: VecDeque<Block>,
    /// One beyond the last byte of the first of them, or [`u64::MAX`].
    pub awaits: u64,
    /// When the last acknowledgement that completed a message came.
    pub acked_at: Time,
    /// The application has closed it.
    pub closed: bool,
    /// The place is empty.
    pub vacant: bool,
    /// Its timer's events; they stay with the place.
    pub timer: Source,
    /// Its timeouts since the statistics began.
    pub timeouts: TimeoutCounts,
    /// Its window and rate are traced.
    pub traced: bool,
    /// The window in bytes and the pacing rate that the trace has last.
    pub traced_last: (u64, Option<Rate>),
    /// Packets dropped before the statistics began.
    pub lost_before: u64,
}

impl SendingEnd {
    /// Nothing is left for it to do.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.closed && self.sender.all_acknowledged() || self.sender.state() == State::Failed
    }
}

impl SendingEnd {
    /// Packets of the connection under way, either way.
    pub fn under_way(&self, receiving: &ReceivingEnd) -> u64 {
        let sent = self.passed.0 + receiving.passed.0 + self.doubled;
        sent - self.passed.1 - receiving.passed.1 - self.lost
    }
}

/// The receiving end at work.
pub struct ReceivingEnd {
    /// The transport's half.
    pub receiver: AnyReceiver,
    /// The connection.
    pub about: About,
    /// Packets handed to the NIC, and packets that came.
    pub passed: (u64, u64),
    /// Messages under way.
    pub messages: VecDeque<Message>,
    /// The application at the other end has closed the connection.
    pub closed: bool,
    /// The place is empty.
    pub vacant: bool,
    /// When the last byte was delivered, of a connection that was closed.
    pub ended: Option<Time>,
    /// Its timer's events; they stay with the place.
    pub timer: Source,
    /// Bytes that arrived before the statistics began.
    pub arrived_before: u64,
    /// Its timeouts since then, if it reads.
    pub timeouts: TimeoutCounts,
}

impl ReceivingEnd {
    /// Whether the connection has a row in `flows` where statistics begin at `from`: it was not complete before.
    pub fn counts_from(&self, from: Time) -> bool {
        self.ended.is_none_or(|ended| ended >= from)
    }
}
