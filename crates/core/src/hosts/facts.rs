//! The facts that hosts share with the workloads: ends and numbers of connections, data written and delivered.

use crate::routing::graph::NodeId;
use shallows_units::{Span, Time};

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
