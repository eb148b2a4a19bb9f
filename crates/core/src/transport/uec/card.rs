//! The ports of a card with several: which of them has room for a connection's next packet, and values that wait for room.
//!
//! Source: third-party notes on MRC 1.0 (OCP, 2026): a card of 800 Gb/s has eight ports of 100 Gb/s, each in a network of its own (a plane),
//! and each plane has an equal share of the entropy values.
//! A packet's value decides its port: what it leaves when it is divided by the number of ports that lead to the destination.
//! With `port_status` a card uses no port whose link is down, and each of its answers says which ones these are, so that the peer does not
//! use their planes. A card sees the direction in which it sends. The notes have a message of its own for that, sent when a port goes down.
//! Where all ports of a card are down, its sender goes on as though they were not, so that timers find out when one is back.
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
    /// Its number among all of the card.
    number: usize,
    /// When the connection's last packet has left it: [`Time::MAX`] where the port will say.
    free_at: Time,
    /// Values of this port that were drawn while it had no room.
    values: VecDeque<u32>,
    /// None of many draws was a value of this port, and none has been since: its values rest.
    dry: bool,
    /// Its link is down at either card, as far as the sender knows.
    down: bool,
}

/// The ports of a connection's card.
#[derive(Debug, Clone, Default)]
pub struct Card {
    planes: Vec<Plane>,
    /// The planes in which the other card has a port that is down, a bit each, by its last answer.
    pub peer: u64,
}

/// A set of ports as bits, of the first 64.
pub fn bits(down: impl Iterator<Item = bool>) -> u64 {
    down.zip(0..u64::BITS).fold(0, |all, (down, place)| all | u64::from(down) << place)
}

impl Card {
    /// The ports that lead to the destination now, in their order, and those that have room again; with `statuses` those that are down.
    pub fn look(&mut self, flow: u32, links: &[u32], statuses: bool, net: &Net) {
        let all = || net.all_ports(flow, false);
        if !self.planes.iter().map(|plane| plane.link).eq(links.iter().copied()) {
            let free_at = |link: u32| {
                self.planes.iter().find(|plane| plane.link == link).map_or(Time::ZERO, |plane| plane.free_at)
            };
            let plane = |link: &u32| Plane {
                link: *link,
                number: all().iter().position(|other| other == link).unwrap_or(usize::MAX),
                free_at: free_at(*link),
                values: VecDeque::new(),
                dry: false,
                down: false,
            };
            self.planes = links.iter().map(plane).collect();
        }
        for plane in self.planes.iter_mut().filter(|plane| plane.free_at == Time::MAX) {
            if net.has_left(flow, plane.link) {
                plane.free_at = net.now;
            }
        }
        if statuses {
            let peer = self.peer;
            for plane in &mut self.planes {
                let there = plane.number < u64::BITS as usize && peer >> plane.number & 1 == 1;
                plane.down = there || net.is_down(plane.link);
            }
            if self.planes.iter().all(|plane| plane.down) {
                self.planes.iter_mut().for_each(|plane| plane.down = false);
            }
        }
    }

    /// Whether the port that `value` chooses is not to be used.
    pub fn is_down(&self, value: u32) -> bool {
        self.planes[(value % self.ports()) as usize].down
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
        let up = self.planes.iter_mut().filter(|plane| !plane.down);
        let ready = up.filter(|plane| plane.free_at <= now && !plane.values.is_empty());
        // The port for which most wait, the first of those: none falls behind.
        if let Some(plane) = ready.rev().max_by_key(|plane| plane.values.len()) {
            return plane.values.pop_front();
        }
        for _ in 0..DRAWS {
            // Where many wait for each port that has values, another draw finds none for those with room.
            let has_enough = |plane: &Plane| match plane.free_at <= now {
                _ if plane.down => true,
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
            if plane.down {
                continue;
            }
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
        self.up().map(|plane| plane.free_at).filter(|at| *at > now).min().unwrap_or(Time::MAX)
    }

    /// When the first port has room.
    pub fn first_room(&self) -> Time {
        self.up().map(|plane| plane.free_at).min().unwrap_or(Time::MAX)
    }

    fn up(&self) -> impl Iterator<Item = &Plane> {
        self.planes.iter().filter(|plane| !plane.down)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three ports, of which those in `busy` have no room before 10 ps.
    fn card(busy: &[usize]) -> Card {
        let plane = |place: usize| Plane {
            link: place as u32 + 100,
            number: place,
            free_at: if busy.contains(&place) { Time::ps(10) } else { Time::ZERO },
            values: VecDeque::new(),
            dry: false,
            down: false,
        };
        Card { planes: (0..3).map(plane).collect(), peer: 0 }
    }

    /// Values for ports without room wait for it, and are the first to be used then, in their order.
    #[test]
    fn values_wait_for_their_ports() {
        let mut card = card(&[0, 1]);
        let mut values = [0, 3, 4, 1, 2, 5].into_iter();
        let mut draw = || values.next().expect("a value");
        assert_eq!(card.value(Time::ps(5), &mut draw), Some(2));
        assert_eq!(card.link(2), 102);
        assert_eq!(card.room_at(Time::ps(5)), Time::ps(10));
        let now = Time::ps(10);
        let waited: Vec<u32> = (0..4).filter_map(|_| card.value(now, || unreachable!())).collect();
        assert_eq!(waited, [0, 4, 3, 1]);
        assert_eq!(card.value(now, &mut draw), Some(5));
    }

    /// Where a port with room has no value among many draws, it has none until one of them is its own again.
    #[test]
    fn a_port_whose_values_rest_is_not_drawn_for() {
        let mut card = card(&[0, 1]);
        let mut drawn = 0;
        let mut draw = || {
            drawn += 1;
            drawn % 2
        };
        assert_eq!(card.value(Time::ps(5), &mut draw), None);
        assert_eq!(card.planes[0].values.len() + card.planes[1].values.len(), 2 * AHEAD);
        assert_eq!(card.value(Time::ps(5), || unreachable!()), None);
        // One that waited leaves, so that the next one is drawn: a value of the third port.
        card.forget(0);
        assert_eq!(card.value(Time::ps(5), || 2), Some(2));
    }

    /// A port that is down takes no packet, and its values go unused.
    #[test]
    fn ports_that_are_down_take_nothing() {
        let mut card = card(&[]);
        card.planes[1].down = true;
        let mut values = (0..9).cycle();
        let used: Vec<u32> =
            (0..6).filter_map(|_| card.value(Time::ZERO, || values.next().expect("a value"))).collect();
        assert_eq!(used, [0, 2, 3, 5, 6, 8]);
        assert!(card.is_down(4) && !card.is_down(5));
        assert_eq!(bits([true, false, true].into_iter()), 0b101);
    }
}
