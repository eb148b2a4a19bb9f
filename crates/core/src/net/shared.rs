//! Data that all cells of a network read, and the network as one of them sees it.

use crate::packet::level::stamped;
use crate::packet::{Flags, Packet};
use crate::routing::fastest::Fastest;
use crate::routing::graph::NodeId;
use crate::routing::table::{Entry, Routing};
use shallows_units::{Index, Rate, Span, Time};

/// In place of a load's number: a packet says its own priority.
pub const STAMPED: u16 = u16::MAX;

/// A connection, as switches and both of its ends may know it.
#[derive(Debug, Clone, Copy)]
pub struct Connection {
    /// Running number over all connections of the run.
    pub serial: u32,
    /// Its class.
    pub class: u16,
    /// Its load's number and one, where [`Directory::demotions`] has thresholds for it; [`STAMPED`] where each packet of its data says its
    /// own; else 0.
    pub demotion: u16,
    /// Priorities of its data, of its acknowledgements, and of its notifications.
    pub priorities: [u8; 3],
    /// The label of packets to its sender.
    pub back: u32,
    /// How packets of its sender and of its receiver enter the network: by a port of their cell.
    pub enters: [Entry; 2],
    /// Cell and place there of the end that sends.
    pub sender: (u32, u32),
    /// Cell and place there of the end that receives.
    pub receiver: (u32, u32),
    /// One beyond the last byte of its stream that is to be sent, as far as is known.
    pub end: u64,
}

impl Connection {
    /// The priority of its packets with `flags`, before any demotion.
    #[inline]
    fn priority(&self, flags: Flags) -> u8 {
        let [data, acks, cnps] = self.priorities;
        match flags.any(Flags::REVERSE) {
            false => data,
            true if flags.any(Flags::CNP) => cnps,
            true => acks,
        }
    }
}

impl Default for Connection {
    /// The first of all, in one cell.
    fn default() -> Self {
        let enters = [Entry::Port(0); 2];
        Connection {
            serial: 0,
            class: 0,
            demotion: 0,
            priorities: [0; 3],
            back: 0,
            enters,
            sender: (0, 0),
            receiver: (0, 0),
            end: 0,
        }
    }
}

/// The directory: connections, tables and links, by which all cells find their way. It changes only while no cell is at work.
#[derive(Debug, Default)]
pub struct Directory {
    /// Connections by number; numbers of ended ones are used again.
    pub connections: Vec<Connection>,
    /// By load: the bytes of a connection at which its data fall by a priority. Empty where none do.
    pub demotions: Vec<Vec<u64>>,
    /// The switches' tables.
    pub routing: Routing,
    /// A choice among equal next hops depends on when it is made.
    pub sprays: bool,
    /// Rate and delay of each link at present.
    pub links: Vec<(Rate, Span)>,
    /// The best of the run. Empty where none changes.
    pub best: Vec<(Rate, Span)>,
    /// Tables of ideal times, where links fail.
    pub fastest: Option<Fastest>,
    /// By link: the place of its port in its cell.
    pub port_places: Vec<u32>,
    /// By node: its place among those of its cell.
    pub node_places: Vec<u32>,
    /// By link to another cell: the port there that sends back along the same cable, if a controller stands at it.
    /// Empty without any.
    pub opposites: Vec<Option<u32>>,
    /// By link: the port that sends back along the same cable, in the cell at the link's end. Empty without flow control.
    pub backs: Vec<Index>,
}

impl Directory {
    /// The shared data of a network of one cell with so many ports, for tests.
    pub fn alone(connections: Vec<Connection>, ports: u32) -> Self {
        Directory { connections, port_places: (0..ports).collect(), ..Directory::default() }
    }

    /// The best rate and delay of a link in the whole run.
    pub fn best(&self, link: u32) -> (Rate, Span) {
        self.best.get(link as usize).copied().unwrap_or_else(|| self.links[link as usize])
    }

    /// How packets of `host` enter the network: by a port of their cell.
    pub fn enters(&self, host: NodeId) -> Entry {
        match self.routing.enters(host) {
            Entry::Port(link) => Entry::Port(self.port_places[link as usize]),
            any => any,
        }
    }

    /// The class of `packet`.
    #[inline]
    pub fn class(&self, packet: &Packet) -> usize {
        self.connections[packet.flow as usize].class as usize
    }

    /// The priority of `packet`.
    #[inline]
    pub fn priority(&self, packet: &Packet) -> u8 {
        let connection = &self.connections[packet.flow as usize];
        let first = connection.priority(packet.flags);
        if connection.demotion == 0 || packet.flags.any(Flags::REVERSE) {
            return first;
        }
        if connection.demotion == STAMPED {
            return stamped(packet.flags);
        }
        self.demoted(connection, first, packet.seq)
    }

    /// The priority of data before which `sent` bytes of the connection were sent.
    #[inline(never)]
    fn demoted(&self, connection: &Connection, first: u8, sent: u64) -> u8 {
        let thresholds = &self.demotions[usize::from(connection.demotion) - 1];
        first - thresholds.iter().filter(|bytes| **bytes <= sent).count() as u8
    }
}

/// The fate of a packet of which its sender keeps account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happened {
    /// It was lost.
    Lost,
    /// It was lost, and a credit of ExpressPass.
    LostCredit,
    /// An injected fault made one more.
    Doubled,
    /// It left its host's port, which held so many of its connection that the sender waits.
    Left,
}

/// Something happened to a packet of a flow.
#[derive(Debug, Clone, Copy)]
pub struct Change {
    /// Its connection.
    pub flow: u32,
    /// What.
    pub what: Happened,
    /// When.
    pub at: Time,
}
