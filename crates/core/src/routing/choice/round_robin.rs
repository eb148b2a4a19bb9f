//! In turn: a switch gives one packet after the other to its next hops, whatever flows they belong to.
//!
//! Source: Dixit, Prakash, Hu and Kompella, "On the Impact of Packet Spraying in Data Center Networks", INFOCOM 2013.
//! The next hops of a group carry equally many packets, to the packet. Switches begin at different next hops, or
//! the first packets of all would meet.

use super::{Choice, Group, Place, Sight};
use crate::events::random::Stream;
use shallows_units::Index;

/// At work in one switch.
#[derive(Debug)]
pub struct Rule {
    seed: u64,
    node: u32,
    /// By group: whose turn it is, once it has chosen.
    turns: Vec<Index>,
}

impl Rule {
    /// Whose turn is the first of a group.
    #[cold]
    fn begin(&self, group: Group<'_>) -> u32 {
        let index = u64::from(self.node) << 32 | u64::from(group.number);
        Stream::new(self.seed, "ecmp", index).below(u64::from(group.size())) as u32
    }
}

impl Choice for Rule {
    const SPRAYS: bool = true;

    fn new(place: Place<'_>) -> Self {
        Rule { seed: place.sharing.seed, node: place.node, turns: vec![] }
    }

    #[inline]
    fn choose(&mut self, _: u32, group: Group<'_>, _: &impl Sight) -> u32 {
        let number = group.number as usize;
        if number >= self.turns.len() {
            self.turns.resize(number + 1, Index::NONE);
        }
        let turn = match self.turns[number].get() {
            Some(turn) if turn < group.size() => turn,
            _ => self.begin(group), // the first, or the group has lost next hops since
        };
        self.turns[number] = Index::new(if turn + 1 == group.size() { 0 } else { turn + 1 });
        turn
    }
}
