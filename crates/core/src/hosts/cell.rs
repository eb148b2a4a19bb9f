//! A cell: a part of the network with the hosts in it, which works for itself until a given time.

use super::work::{Hosts, Order};
use crate::events::Event;
use crate::net::{Directory, Happened, Net, Network, Parcel};
use shallows_units::Time;
use std::collections::VecDeque;

/// Events between two looks at the items held and at requests to stop: a few milliseconds.
const LOOK_EVERY: u64 = 1 << 14;

/// Why a cell stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It has done all that comes before the time.
    Reached,
    /// A load wants to be woken.
    Load(u32),
    /// So many events have passed, or so many packets entered, that the items held are to be counted.
    Look,
    /// Deliveries of which a load wants to know, or connections that may be over.
    Notices,
}

/// A part of the network with its hosts.
pub struct Cell {
    /// Ports, wires and events.
    pub network: Network,
    /// Ends of connections.
    pub hosts: Hosts,
    /// Events handled.
    pub handled: u64,
    /// Requests of applications to sending ends, in order of time.
    pub orders: VecDeque<(Time, u32, Order)>,
    /// Packets from other cells that land later than in the present window.
    pub later: Vec<Parcel>,
}

impl Cell {
    /// Nothing under way.
    pub fn new(network: Network, hosts: Hosts) -> Self {
        Cell { network, hosts, handled: 0, orders: VecDeque::new(), later: vec![] }
    }

    /// Handles events in order of time until `until`, before the events of that time, or until the
    /// engine has to act.
    pub fn run(&mut self, directory: &Directory, until: Time) -> Stop {
        let Cell { network, hosts, handled, .. } = self;
        let mut net = Net { network, directory };
        let most = LOOK_EVERY - *handled % LOOK_EVERY;
        let mut left = most;
        let stop = loop {
            let Some((at, event)) = net.events.pop_before(until) else { break Stop::Reached };
            net.now = at;
            left -= 1;
            if let Event::Load(load) = event {
                break Stop::Load(load);
            }
            handle(event, hosts, &mut net);
            if left == 0 || net.room == 0 {
                break Stop::Look;
            }
            if hosts.has_notices {
                break Stop::Notices;
            }
        };
        *handled += most - left;
        stop
    }

    /// Carries out an application's order to the sending end at `place`.
    pub fn perform(&mut self, place: u32, order: Order, directory: &Directory) {
        let mut net = Net { network: &mut self.network, directory };
        self.hosts.perform(place, order, &mut net);
        if !net.changes.is_empty() {
            take_changes(&mut self.hosts, &mut net);
        }
    }
}

impl Cell {
    /// Tells the senders of this cell what has happened to their packets outside of events.
    pub fn apply_changes(&mut self, directory: &Directory) {
        take_changes(&mut self.hosts, &mut Net { network: &mut self.network, directory });
    }
}

/// Handles one event.
#[inline(always)]
pub(super) fn handle(event: Event, hosts: &mut Hosts, net: &mut Net) {
    if let Event::Wire(port) = event {
        if let Some(packet) = net.network.land(port, net.directory) {
            hosts.on_packet(&packet, net);
        }
    } else {
        handle_other(event, hosts, net);
    }
    if !net.network.changes.is_empty() {
        take_changes(hosts, net);
    }
}

/// Handles an event that is not a packet's arrival in the order of its wire; such events are few.
#[inline(never)]
fn handle_other(event: Event, hosts: &mut Hosts, net: &mut Net) {
    match event {
        Event::Wire(_) | Event::Load(_) => {}
        Event::Port(port) => net.network.depart(port, net.directory),
        Event::Sender(place) => hosts.on_sender_timer(place, net),
        Event::Receiver(place) => hosts.on_receiver_timer(place, net),
        Event::Pull(host) => hosts.on_pacer(host, net),
        Event::Tick(port) => net.network.tick(port),
        Event::Pause(port) => net.network.on_pause_clock(port, net.directory),
        Event::Stray(place) => {
            if let Some(packet) = net.network.land_stray(place, net.directory) {
                hosts.on_packet(&packet, net);
            }
        }
    }
}

/// Tells the senders of this cell of packets that were lost or doubled, and puts those of others aside: a list that keeps them would
/// be read again after each event.
#[cold]
pub(super) fn take_changes(hosts: &mut Hosts, net: &mut Net) {
    let mut changes = std::mem::take(&mut net.network.changes);
    for change in changes.drain(..) {
        let (cell, place) = net.directory.connections[change.flow as usize].sender;
        if change.what == Happened::Left {
            hosts.on_room(place, change.at, net.network); // a host's port and its senders are in one cell
        } else if cell == hosts.cell {
            hosts.on_change(&change, place);
        } else {
            net.network.abroad.push(change);
        }
    }
    net.network.changes = changes;
}
