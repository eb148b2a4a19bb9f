//! At random: a switch draws a next hop for each packet.
//!
//! Source: Dixit, Prakash, Hu and Kompella, "On the Impact of Packet Spraying in Data Center Networks", INFOCOM 2013
//! (random packet spraying).

use super::{Choice, Group, Place, Sight};
use crate::events::random::Stream;

/// At work in one switch.
#[derive(Debug)]
pub struct Rule {
    random: Stream,
}

impl Choice for Rule {
    const SPRAYS: bool = true;

    fn new(place: Place<'_>) -> Self {
        Rule { random: Stream::new(place.sharing.seed, "ecmp", u64::from(place.node)) }
    }

    #[inline]
    fn choose(&mut self, _: u32, group: Group<'_>, _: &impl Sight) -> u32 {
        self.random.below(u64::from(group.size())) as u32
    }
}
