//! The ports of a card with several: which of them has room for a connection's next packet, and values that wait for room.
//!
//! Source: third-party notes on MRC 1.0 (OCP, 2026): a card of 800 Gb/s has eight ports of 100 Gb/s, each in a network of its own (a plane),
//! and each plane has an equal share of the entropy values.
//! A packet's value decides its port: what it leaves when it is divided by the number of ports that lead to the destination.
//! Ours, where the notes leave it open: a connection has one packet in each port, so that the connections of a card take turns at each. A
//! value that is drawn while its port has no room waits for that, and the next one is drawn. So a port idles only if none of the
//! values drawn ahead is its own. Where many wait for one port, further ones of it go unused: a rule that gives a port more than its
//! share does not hold the others back.

use crate::net::Net;
use shallows_units::{Bytes, Time};
use std::collections::VecDeque;

/// Values that wait for a port at most.
const AHEAD: usize = 16;
/// Values drawn for one packet at most.
const DRAWS: usize = 64;

/// A port to the destination.
#[derive(Debug, Clone)]
struct Plane {
    link: u32,
    /// When the connection's last packet has left it: [`Time::MAX`] where the port will say.
    free_at: Time,
    /// Values of this port that were drawn while it had no room.
    values: VecDeque<u32>,
    /// None of many draws was a value of this port, and none has been since: its values rest.
    dry: bool,
}

/// The ports of a connection's card.
#[derive(Debug, Clone, Default)]
pub struct Card {
    planes: Vec<Plane>,
}

impl Card {
    /// The ports that lead to the destination now, in their order, and those that have room again.
    pub fn look(&mut self, flow: u32, links: &[u32], net: &Net) {
        if !self.planes.iter().map(|plane| plane.link).eq(links.iter().copied()) {
            let free_at = |link: u32| {
                self.planes.iter().find(|plane| plane.link == link).map_or(Time::ZERO, |plane| plane.free_at)
            };
            let plane = |link: &u32| Plane {
                link: *link,
                free_at: free_at(*link),
                values: VecDeque::new(),
                dry: false,
            };
            self.planes = links.iter().map(plane).collect();
        }
        for plane in self.planes.iter_mut().filter(|plane| plane.free_at == Time::MAX) {
            if net.has_left(flow, plane.link) {
                plane.free_at = net.now;
            }
        }
    }

    /// How many they are.
    pub fn ports(&self) -> u32 {
        self.planes.len() as u32
    }

    /// The link of the port that `value` chooses.
    pub fn link(&self, value: u32) -> u32 {
        self.planes[(value % self.ports()) as usize].link
    }

    /// The value of the next packet, whose port has room: one that waited, or one that is drawn. Nothing where none is found for a port with
    /// room.
    pub fn value(&mut self, now: Time, mut draw: impl FnMut() -> u32) -> Option<u32> {
        let ready = self.planes.iter_mut().filter(|plane| plane.free_at <= now && !plane.values.is_empty());
        // The port for which most wait, the first of those: none falls behind.
        if let Some(plane) = ready.rev().max_by_key(|plane| plane.values.len()) {
            return plane.values.pop_front();
        }
        for _ in 0..DRAWS {
            // Where many wait for each port that has values, another draw finds none for those with room.
            let has_enough = |plane: &Plane| match plane.free_at <= now {
                true => plane.dry,
                false => plane.values.len() >= AHEAD,
            };
            if self.planes.iter().all(has_enough) {
                return None;
            }
            let value = draw();
            let place = (value % self.ports()) as usize;
            let plane = &mut self.planes[place];
            plane.dry = false;
            if plane.free_at <= now {
                return Some(value);
            }
            if plane.values.len() < AHEAD {
                plane.values.push_back(value);
            }
        }
        self.planes.iter_mut().filter(|plane| plane.free_at <= now).for_each(|plane| plane.dry = true);
        None
    }

    /// `value` is not to be used: it has lost a packet.
    pub fn forget(&mut self, value: u32) {
        for plane in &mut self.planes {
            plane.values.retain(|other| *other != value);
        }
    }

    /// A packet of `size` bytes was handed to the port at `link`. A link that is down takes no faster than it did.
    pub fn taken(&mut self, flow: u32, link: u32, size: u16, net: &mut Net) {
        let Some(plane) = self.planes.iter_mut().find(|plane| plane.link == link) else { return };
        let (_, rate) = net.work_at(link);
        plane.free_at = net.leaves_port_at(flow, link).max(net.now + rate.transmit(Bytes(size.into())));
    }

    /// When a port that has none now has room.
    pub fn room_at(&self, now: Time) -> Time {
        self.planes.iter().map(|plane| plane.free_at).filter(|at| *at > now).min().unwrap_or(Time::MAX)
    }

    /// When the first port has room.
    pub fn first_room(&self) -> Time {
        self.planes.iter().map(|plane| plane.free_at).min().unwrap_or(Time::MAX)
    }
}
