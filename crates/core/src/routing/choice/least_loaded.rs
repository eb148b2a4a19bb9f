//! By load: each packet takes the next hop whose port has the least to send. Ties go in
//! turn, in each group of next hops by itself.
//!
//! Source: Ghorbani et al., "DRILL: Micro Load Balancing for Low-latency Data Center Networks", SIGCOMM 2017, s.3, with all
//! ports of the group looked at. The load is the time that a port takes for all that it holds, so that ports of different
//! rates compare. Switches look at their own ports only. One whose link has failed holds nothing and draws packets, until
//! the tables leave it out.
//! Left out: DRILL's sample of some ports with a memory of the best one, and its weights for asymmetric paths.

use super::{Choice, Group, Place, Sight};

/// At work in one switch.
#[derive(Debug)]
pub struct Rule {
    node: u32,
    /// By group: ties are broken from here on.
    next: Vec<u32>,
}

impl Choice for Rule {
    const SPRAYS: bool = true;

    fn new(place: Place<'_>) -> Self {
        Rule { node: place.node, next: vec![] }
    }

    fn choose(&mut self, _: u32, group: Group<'_>, sight: &impl Sight) -> u32 {
        let (number, size) = (group.number as usize, group.size());
        if number >= self.next.len() {
            // Switches begin at different next hops, or the first packets of all would meet.
            self.next.resize(number + 1, self.node);
        }
        let next = self.next[number];
        let in_turn = (0..size).map(|i| next.wrapping_add(i) % size);
        let least = in_turn.min_by_key(|place| sight.work(group.links[*place as usize]));
        let place = least.unwrap_or(0);
        self.next[number] = place + 1;
        place
    }
}
