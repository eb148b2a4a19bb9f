//! By connection, there and back alike: the packets of both directions take the same links.
//!
//! Source: Cho et al. 2017 (SIGCOMM; ExpressPass) s.3.1: symmetric hashing, with next hops in one order at all switches; the authors' simulator:
//! `Classifier/MultiPath set symmetric_`. A switch takes the next hop whose place is a hash of the connection's two ends and its number, the
//! same at every switch, and the labels of both directions have the same hash (`routing/table.rs`). Next hops stand in the order of
//! links, so that in a Clos whose layers are wired alike the place chosen on the way up leads through the same switch there and back.
//!
//! The price: switches of all layers choose alike, so a fat tree uses k/2 of its (k/2)^2 paths between two pods.

use super::flow_hash::hashed;
use super::{Choice, Group, Place, Sight};

/// Bits of a label that count: those of the hash alone, as long as a run has at most 2^20 hosts.
const BITS: u32 = 0xfff;

/// At work in one switch.
#[derive(Debug)]
pub struct Rule {
    seed: u64,
}

impl Choice for Rule {
    const SPRAYS: bool = false;

    fn new(place: Place<'_>) -> Self {
        Rule { seed: place.sharing.seed }
    }

    fn choose(&mut self, label: u32, group: Group<'_>, _: &impl Sight) -> u32 {
        hashed(self.seed, label & BITS, group.size().into()) as u32
    }
}
