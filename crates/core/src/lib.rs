//! The Shallows packet simulator.
//!
//! No Python, no files, no clock, no printing: an [`Experiment`] goes in, tables come out.
//!
//! | where to look | for |
//! |---|---|
//! | [`params`] | how components declare their settings, and how files are checked |
//! | [`experiment`] | what one run does |
//! | [`engine`] | the event queue, the loop, random streams, connections, results |
//! | [`net`] | packets, ports, wires, routes |
//! | [`queue`] | queue disciplines, one file each |
//! | [`port_control`] | switches' halves of protocols with explicit feedback, one file each |
//! | [`cc`] | congestion controls, one file each |
//! | [`transport`] | TCP: sender, receiver, recovery, timers |
//! | [`topology`] | networks, one file a shape |
//! | [`workload`] | what applications send, one file each |
//! | [`probe`] | what is recorded, and the form in which it leaves |
//!
//! The path of a packet: `Sender::pump` (transport) -> `Net::send` -> `Net::arrive` (admission, ring)
//! -> event `Wire` -> `Net::land` -> next port, or `Hosts::on_packet` -> `Receiver` -> an
//! acknowledgement on the way back.

pub mod cc;
pub mod engine;
pub mod experiment;
pub mod net;
pub mod params;
pub mod port_control;
pub mod probe;
pub mod queue;
pub mod topology;
pub mod transport;
pub mod workload;

pub use engine::{Books, Control, RunError, Simulation};
pub use experiment::Experiment;
