//! The Shallows packet simulator.
//!
//! No Python, no files, no clock, no printing: an [`Experiment`] goes in, tables come out.
//!
//! | where to look | for |
//! |---|---|
//! | [`params`] | how components declare their settings, and how files are checked |
//! | [`events`] | the events to come, random streams, and hints to the processor |
//! | [`sizes`] | distributions of the sizes of messages |
//! | [`packet`] | packets, their header bits and extensions, and their fate at a port |
//! | [`port_control`] | switches' halves of protocols with explicit feedback, one file each |
//! | [`queue`] | queue disciplines, one file each |
//! | [`probe`] | the recorders, and the form in which their records leave |
//! | [`routing`] | the network as data: graph, forwarding tables, names |
//! | [`topology`] | networks, one file a shape |
//! | [`net`] | the network at work: ports and wires |
//! | [`cc`] | congestion controls, one file each |
//! | [`transport`] | TCP: sender, receiver, recovery, timers; queue pairs of RoCEv2; NDP; Homa |
//! | [`drill`] | one host alone, whose peer is a packet script |
//! | [`hosts`] | connections, their messages, and the records of them |
//! | [`workload`] | the data that applications send, one file each |
//! | [`experiment`] | the settings of one run |
//! | [`engine`] | from an experiment through the loop to the tables |
//!
//! A room uses only those above it in this list, which `tests/rooms.rs` holds. One exception: [`packet`] and
//! [`port_control`] use each other, since a packet's extension holds the protocols' headers by value.
//!
//! The usual way of a packet, one event a hop. `net/mod.rs` draws all ways.
//!
//! | step | where |
//! |---|---|
//! | the sender may send | `Sender::pump`, `emit_raw` (`transport/sending.rs`) |
//! | it enters its host's port | `Net::send`, `Network::enter`, `Port::pass` (`net/mod.rs`, `net/port/mod.rs`) |
//! | its time at the wire's end comes | event `Wire`: `Network::land` or, from another cell, `land_parcel` |
//! | a switch chooses the next port | `Network::forward`, `choose`, `Routing::next` (`routing/table.rs`) |
//! | the port's discipline decides | `Network::arrive`, `Port::admit` |
//! | a host has it | `Hosts::on_packet` (`hosts/work.rs`), `Receiver::on_packet`, and an acknowledgement goes back |
//!
//! # Example
//!
//! Eight senders write a megabyte each to one receiver, through one port of 10 Gb/s that marks from 65 packets on.
//!
//! ```
//! use shallows_core::cc::{Algorithm, dctcp};
//! use shallows_core::experiment::LoadSpec;
//! use shallows_core::params::{Names, Params};
//! use shallows_core::queue::{Queue, threshold};
//! use shallows_core::topology::{Topology, star};
//! use shallows_core::transport::{Transport, settings::TransportSettings};
//! use shallows_core::workload::{Traffic, bulk, ends};
//! use shallows_core::{Control, Experiment};
//! use shallows_units::{Bytes, Size, Span};
//!
//! let network = Topology::Star(star::Settings { senders: 8, ..star::Settings::defaults() });
//! let queue = Queue::Threshold(threshold::Settings {
//!     limit: Some(Size::Packets(250)),
//!     mark_at: Size::Packets(65),
//!     ..threshold::Settings::defaults()
//! });
//! let hosts = |pattern: &str| Names(vec![pattern.into()]);
//! let long = bulk::Settings {
//!     ends: ends::Ends { from: hosts("s*"), to: hosts("r0"), pattern: ends::Pattern::All },
//!     bytes: Some(Bytes(1_000_000)),
//!     ..bulk::Settings::defaults()
//! };
//! let transport = Transport {
//!     profile: "datacentre",
//!     settings: TransportSettings::defaults(),
//!     cc: Algorithm::Dctcp(dctcp::Settings::defaults()),
//!     other: shallows_core::transport::profiles::Other::None,
//! };
//! let load = LoadSpec { name: "long".into(), class: "long".into(), traffic: Traffic::Bulk(long), transport };
//! let experiment = Experiment::new(network, queue, vec![load], Span::ms(20));
//!
//! let mut simulation = experiment.build().expect("an experiment without faults");
//! simulation.run(&Control::new()).expect("a run to its end");
//! let books = simulation.books();
//! assert!(books.balance() && books.dropped == 0 && books.in_flight == 0);
//! // A megabyte takes 685 segments of 1460 bytes, each with an acknowledgement at most; both cross two links.
//! assert!(books.hops >= 2 * 8 * 685 && books.hops <= 2 * 2 * 8 * 700);
//! let tables = simulation.tables();
//! let flows = tables.iter().find(|table| table.name == "flows").expect("a table of flows");
//! assert_eq!(flows.columns[0].data.len(), 8);
//! ```

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
pub mod sizes;
pub mod topology;
pub mod transport;
pub mod workload;

pub use engine::{Books, Control, RunError, Simulation};
pub use experiment::Experiment;
