//! By flow and weight: a next hop gets as many flows as its port's `weight` says.
//!
//! Source: Zhou et al., "WCMP: Weighted Cost Multipathing for Improved Fairness in Data Centers", EuroSys 2014, s.3: a
//! next hop of weight w stands w times among the entries of its group, and a hash of the flow picks an entry. With equal
//! weights the choice is that of `flow`.
//! Left out: the paper's reduction of weights to tables of bounded size (s.4).

use super::flow_hash::{hashed, own};
use super::{Choice, Group, Place, Sight};
use std::sync::Arc;

/// At work in one switch.
#[derive(Debug)]
pub struct Rule {
    own: u64,
    weights: Arc<[u32]>,
}

impl Rule {
    fn weight(&self, link: u32) -> u64 {
        self.weights.get(link as usize).copied().unwrap_or(1).into()
    }
}

impl Choice for Rule {
    const SPRAYS: bool = false;

    fn new(place: Place<'_>) -> Self {
        Rule { own: own(place.node), weights: place.sharing.weights.clone() }
    }

    #[inline]
    fn choose(&mut self, label: u32, group: Group<'_>, _: &impl Sight) -> u32 {
        let all: u64 = group.links.iter().map(|link| self.weight(*link)).sum();
        if all == 0 {
            return hashed(self.own, label, u64::from(group.size())) as u32; // nothing prefers one to the others
        }
        let mut entry = hashed(self.own, label, all);
        for (place, link) in (0..).zip(group.links) {
            let weight = self.weight(*link);
            if entry < weight {
                return place;
            }
            entry -= weight;
        }
        0
    }
}
