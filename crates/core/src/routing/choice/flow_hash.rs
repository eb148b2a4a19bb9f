//! By flow: every switch hashes the packet's label, so that a flow keeps to one path.
//!
//! Source: RFC 2992 (hash of the header a flow). A label holds the destination and a hash of the flow's two ends and
//! its number under the run's seed, and stands for the five-tuple. Each switch hashes it with a number of its own,
//! or all switches of a tier would choose alike.

use super::{Choice, Group, Place, Sight};

/// At work in one switch.
#[derive(Debug)]
pub struct Rule {
    own: u64,
}

/// A switch's own number among hashes.
pub(super) fn own(node: u32) -> u64 {
    u64::from(node + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A number below `below` for `label` in the switch with the number `own`: the finaliser of SplitMix64 (Steele et al. 2014),
/// whose upper 32 bits are shared out evenly.
#[inline]
pub(super) fn hashed(own: u64, label: u32, below: u64) -> u64 {
    let mut z = own.wrapping_add(u64::from(label));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    ((z >> 32) * below) >> 32
}

impl Rule {
    /// The place of the next hop among `size`.
    #[inline(always)]
    pub fn of(&self, label: u32, size: u32) -> u32 {
        hashed(self.own, label, size.into()) as u32
    }
}

impl Choice for Rule {
    const SPRAYS: bool = false;

    fn new(place: Place<'_>) -> Self {
        Rule { own: own(place.node) }
    }

    fn choose(&mut self, label: u32, group: Group<'_>, _: &impl Sight) -> u32 {
        self.of(label, group.size())
    }
}
