//! A cell asks ahead for the memory that a window will touch. These are hints: nothing here changes a result.
//!
//! All packets that land in a window from other cells are known when it begins, and so is the first packet of each wire
//! within. Steps that need the data of the step before run some packets apart.

use super::cell::Cell;
use super::work::Hosts;
use crate::events::Event;
use crate::events::fetch::{LINE, fetch};
use crate::events::spread::Spread;
use crate::net::{Directory, Network};
use crate::packet::{Flags, Packet};
use shallows_units::{Index, Span, Time};

/// The packets that land in a window, in order.
#[derive(Default)]
pub(super) struct Landings {
    /// When the window begins.
    pub begin: Time,
    /// Time since then and place in the mailbox of packets from other cells, 32 bits each.
    pub keys: Vec<u64>,
    /// Where each of them will go on, as far as it is known by now.
    pub ways: Vec<Index>,
    /// Puts the keys in order.
    pub spread: Spread,
    /// Events of the cell itself, as they stood when the window began.
    due: Vec<Event>,
}

/// No window is longer, whatever the wires: a time within it takes 32 bits. It would gain nothing.
pub const LONGEST: Span = Span::ms(2);

/// Packets between two steps.
const APART: usize = 4;

/// Packets between the first step and the landing.
pub(super) const AHEAD: usize = 2 * APART;

impl Landings {
    /// A packet that lands so long after the beginning, from place `place` of the mailbox.
    #[inline(always)]
    pub fn key(after: Span, place: usize) -> u64 {
        debug_assert!(after <= LONGEST && u32::try_from(place).is_ok());
        after.as_ps() << 32 | place as u64
    }

    /// The place in the mailbox.
    #[inline(always)]
    pub fn place(key: u64) -> usize {
        key as u32 as usize
    }

    /// Both land at one time.
    #[inline(always)]
    pub fn same_time(one: u64, other: u64) -> bool {
        one >> 32 == other >> 32
    }

    /// When number `number` lands.
    #[inline(always)]
    pub fn at(&self, number: usize) -> Option<Time> {
        self.keys.get(number).map(|key| self.begin + Span::ps(key >> 32))
    }

    /// The second step for a packet before number `number`, whose way is known.
    #[inline(always)]
    pub fn foresee(&self, number: usize, network: &Network) {
        if let Some(way) = number.checked_sub(APART).and_then(|i| self.ways.get(i)?.get()) {
            network.foresee_queue(way);
        }
    }
}

impl Cell {
    /// The first step for the cell's own events before `until`, and for the ports that hand over at its end.
    pub(super) fn foresee_ports(&self, until: Time, landings: &mut Landings) {
        landings.due.clear();
        self.network.events.before(until, &mut landings.due);
        for event in &landings.due {
            match event {
                Event::Wire(port) | Event::Port(port) | Event::Tick(port) | Event::Pause(port) => {
                    self.network.foresee(*port)
                }
                Event::Sender(place) => self.hosts.foresee_sender(*place),
                Event::Receiver(place) => self.hosts.foresee_receiver(*place),
                Event::Load(_) | Event::Stray(_) | Event::Pull(_) => {}
            }
        }
        self.network.crossing().iter().for_each(|port| self.network.foresee(*port));
    }

    /// The second step for them.
    pub(super) fn foresee_wires(&self, landings: &Landings) {
        let wires = landings.due.iter().filter_map(|event| match event {
            Event::Wire(port) => Some(port),
            _ => None,
        });
        wires.chain(self.network.crossing()).for_each(|port| self.network.foresee_queue(*port));
    }

    /// The third step: the memory that the first packet of each wire will touch where it lands.
    pub(super) fn foresee_ends(&mut self, landings: &Landings, directory: &Directory) {
        for event in &landings.due {
            let Event::Wire(port) = event else { continue };
            let Some((packet, end)) = self.network.next_from(*port) else { continue };
            let packet = *packet;
            match self.network.way(end, &packet, directory).get() {
                None => self.hosts.foresee_end(&packet, directory),
                Some(port) => self.network.foresee(port),
            }
        }
    }
}

impl Hosts {
    /// `packet` may come to the end that it is for.
    fn foresee_end(&self, packet: &Packet, directory: &Directory) {
        let connection = &directory.connections[packet.flow as usize];
        if packet.flags.any(Flags::REVERSE) {
            self.foresee_sender(connection.sender.1);
        } else {
            self.foresee_receiver(connection.receiver.1);
        }
    }

    fn foresee_sender(&self, place: u32) {
        if let Some(end) = self.senders.get(place as usize) {
            fetch(end, size_of_val(end) / LINE);
        }
    }

    fn foresee_receiver(&self, place: u32) {
        if let Some(end) = self.receivers.get(place as usize) {
            fetch(end, size_of_val(end) / LINE);
        }
    }
}
