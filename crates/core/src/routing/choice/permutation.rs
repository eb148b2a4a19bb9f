//! Permutations: the packets of a flow take all next hops in random order, then in another one.
//!
//! Source: Handley et al. 2017 (SIGCOMM; NDP) s.3.1.1: a sender puts its packets on all paths in random order, and draws another
//! order when each was used once, so that no path has more of a flow's packets than another. Here each switch permutes its own
//! next hops for each flow, which comes to the same where the paths are a tree's: of as many packets as there are paths each
//! takes another path. Which orders of paths follow is another matter: those in which each switch's turns are even.
//! A flow that was silent for [`IDLE`] begins anew, so that the table holds only those that send.

use super::{Choice, Group, Place, Sight};
use crate::events::random::Stream;
use shallows_units::{Span, Time};
use std::collections::BTreeMap;

/// A flow that was silent for so long is forgotten.
pub const IDLE: Span = Span::ms(1);
/// A table of so few is not worth a search.
const FEW: usize = 32;

/// The turns of one flow.
#[derive(Debug)]
struct Turns {
    at: Time,
    /// Number of their group.
    group: u32,
    /// Places in the group that are not used yet, the next one last.
    left: Vec<u16>,
}

/// At work in one switch.
#[derive(Debug)]
pub struct Rule {
    random: Stream,
    /// By label.
    flows: BTreeMap<u32, Turns>,
    /// The table is searched for silent flows when it has so many.
    most: usize,
}

impl Rule {
    /// Flows in the table.
    #[cfg(test)]
    pub(super) fn flows(&self) -> usize {
        self.flows.len()
    }

    #[cold]
    fn tidy(&mut self, now: Time) {
        self.flows.retain(|_, turns| now - turns.at <= IDLE);
        self.most = FEW.max(2 * self.flows.len());
    }
}

impl Choice for Rule {
    const SPRAYS: bool = true;

    fn new(place: Place<'_>) -> Self {
        let random = Stream::new(place.sharing.seed, "ecmp", u64::from(place.node));
        Rule { random, flows: BTreeMap::new(), most: FEW }
    }

    fn choose(&mut self, label: u32, group: Group<'_>, sight: &impl Sight) -> u32 {
        let now = sight.now();
        if self.flows.len() >= self.most && !self.flows.contains_key(&label) {
            self.tidy(now);
        }
        let number = group.number;
        let turns = self.flows.entry(label).or_insert_with(|| Turns { at: now, group: number, left: vec![] });
        let size = group.size() as u16;
        // The group may be another since links failed.
        if turns.left.is_empty() || turns.group != number || turns.left.iter().any(|place| *place >= size) {
            turns.group = number;
            turns.left.clear();
            turns.left.extend(0..size);
            for last in (1..turns.left.len()).rev() {
                turns.left.swap(last, self.random.below(last as u64 + 1) as usize);
            }
        }
        turns.at = now;
        u32::from(turns.left.pop().unwrap_or(0))
    }
}
