//! The Shallows packet simulator.
//!
//! No Python, no files, no clock, no printing: an [`Experiment`] goes in, tables come out.
//!
//! | where to look | for |
//! |---|---|
//! | [`params`] | how components declare their settings, and how files are checked |
//! | [`events`] | the events to come, random streams, and hints to the processor |
//! | [`packet`] | packets, their header bits and extensions, and their fate at a port |
//! | [`port_control`] | switches' halves of protocols with explicit feedback, one file each |
//! | [`queue`] | queue disciplines, one file each |
//! | [`probe`] | the recorders, and the form in which their records leave |
//! | [`routing`] | the network as data: graph, forwarding tables, names |
//! | [`topology`] | networks, one file a shape |
//! | [`net`] | the network at work: ports and wires |
//! | [`cc`] | congestion controls, one file each |
//! | [`transport`] | TCP: sender, receiver, recovery, timers; queue pairs of RoCEv2; NDP |
//! | [`drill`] | one host alone, whose peer is a packet script |
//! | [`hosts`] | connections, their messages, and the records of them |
//! | [`workload`] | the data that applications send, one file each |
//! | [`experiment`] | the settings of one run |
//! | [`engine`] | from an experiment through the loop to the tables |
//!
//! A room uses only those above it in this list, which `tests/rooms.rs` holds. One exception: [`packet`] and
//! [`port_control`] use each other, since a packet's extension holds the protocols' headers by value.
//!
//! The path of a packet: `Sender::pump` (transport) -> `Net::send` -> `Net::arrive` (admission, chain)
//! -> event `Wire` -> `Net::land` -> `Routing::next` -> next port, or `Hosts::on_packet` -> `Receiver` -> an
//! acknowledgement on the way back.

pub mod cc;
pub mod drill;
pub mod engine;
pub mod events;
pub mod experiment;
pub mod hosts;
pub mod net;
pub mod packet;
pub mod params;
pub mod port_control;
pub mod probe;
pub mod queue;
pub mod routing;
pub mod topology;
pub mod transport;
pub mod workload;

pub use engine::{Books, Control, RunError, Simulation};
pub use experiment::Experiment;
