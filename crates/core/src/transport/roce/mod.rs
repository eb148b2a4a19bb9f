//! RoCEv2: queue pairs of RDMA network cards, as a transport beside TCP.
//!
//! A connection is a reliable queue pair (RC) in one direction: its requester cuts messages into packets of the path's MTU
//! and sends them at the rate of its congestion control; its responder acknowledges, reports gaps and sends congestion
//! notification packets. A queue pair stands from the start: its exchange of numbers belongs to no wire.
//! Sources: InfiniBand Architecture Specification volume 1 (s.9.7, reliable service) and its annexes A16 and A17 (RoCE),
//! known from codes and card vendors' manuals that follow it; the simulators of DCQCN's authors (`bobzhuyb/ns3-rdma`,
//! e8a27d0) and HPCC's authors (9f4be2a); for selective repeat Mittal et al. 2018, "Revisiting Network Support for RDMA"
//! (SIGCOMM), as `conweave-project/conweave-ns3` (236a801) has it.
//! go-back-0 restarts the message, as the first cards did: Guo et al. 2016, "RDMA over Commodity Ethernet at Scale" (SIGCOMM), known from
//! notes of it, and the simulator of HPCC's authors, which falls back to the begin of a chunk. The comment of its switch has the two the
//! wrong way round.
//! Sequence numbers are offsets in the stream of bytes, as everywhere here; a capture shows the packet numbers (PSN) that
//! follow from them.
//! The card: each queue pair has a rate limiter, and at most one packet in the card's port. So a port that serves in order
//! of arrival serves the queue pairs in turn, those of a paused priority wait, and no queue builds in the card.
//!
//! READ turns a queue pair round: data come from the end that holds them (`source.rs`), for requests of the end that wants them
//! (`reader.rs`). Senders and receivers of a load are those of the data here too.
//!
//! Left out: atomic operations; SEND's receiver-not-ready; several queue pairs' common completion queue; limits
//! of a card's memory, cache and packet rate; the limit on the CNPs that a card makes for all queue pairs together.

mod answers;
mod irn;
mod limiter;
mod reader;
mod requester;
mod responder;
pub mod settings;
mod source;
pub mod wire;

pub use reader::Reader;
pub use requester::Requester;
pub use responder::Responder;
pub use settings::{PROFILE, RoceSettings, Rules};
pub use source::Source;
