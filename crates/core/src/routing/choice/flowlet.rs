//! By flowlet: a flow that pauses for longer than a gap may take another next hop, drawn at random.
//!
//! Source: Kandula, Katabi, Sinha and Berger, "Dynamic Load Balancing Without Packet Reordering", CCR 37(2), 2007 (flowlets: no
//! packet overtakes another where the gap is longer than the difference of the paths' delays); Vanini et al., "Let It Flow:
//! Resilient Asymmetric Load Balancing with Flowlet Switching", NSDI 2017, s.3 (a random next hop for each flowlet; slow
//! paths make flows pause, and so lose them).
//! A switch forgets a flowlet that is over, when its table has doubled. With a gap as long as the run it forgets none. Links that
//! have left the group end the flowlets on them.
//! A label has 32 bits, of which the hash of a flow has those that the number of a host leaves: 22 of 1024 hosts. Two flows to
//! one host with one hash share their flowlets, as flows do that share an entry of the papers' tables.
//! Left out: the papers' tables of fixed size, in which flows to different hosts share entries too.

use super::{Choice, Group, Place, Sight};
use crate::events::random::Stream;
use shallows_units::{Span, Time};
use std::collections::BTreeMap;

/// The last packet of a flow.
#[derive(Debug)]
struct Last {
    at: Time,
    link: u32,
    /// Place of the link in its group.
    place: u32,
}

/// At work in one switch.
#[derive(Debug)]
pub struct Rule {
    random: Stream,
    gap: Span,
    /// By label.
    flows: BTreeMap<u32, Last>,
    /// The table is searched for flowlets that are over when it has so many.
    most: usize,
}

/// A table of so few is not worth a search.
const FEW: usize = 32;

impl Rule {
    /// Flowlets in the table.
    #[cfg(test)]
    pub(super) fn flowlets(&self) -> usize {
        self.flows.len()
    }

    #[cold]
    fn tidy(&mut self, now: Time) {
        let gap = self.gap;
        self.flows.retain(|_, last| now - last.at <= gap);
        self.most = FEW.max(2 * self.flows.len());
    }
}

impl Choice for Rule {
    const SPRAYS: bool = true;

    fn new(place: Place<'_>) -> Self {
        let random = Stream::new(place.sharing.seed, "ecmp", u64::from(place.node));
        Rule { random, gap: place.sharing.gap, flows: BTreeMap::new(), most: FEW }
    }

    fn choose(&mut self, label: u32, group: Group<'_>, sight: &impl Sight) -> u32 {
        let now = sight.now();
        if let Some(last) = self.flows.get_mut(&label)
            && now - last.at <= self.gap
            && group.links.get(last.place as usize) == Some(&last.link)
        {
            last.at = now;
            return last.place;
        }
        if self.flows.len() >= self.most {
            self.tidy(now);
        }
        let place = self.random.below(u64::from(group.size())) as u32;
        self.flows.insert(label, Last { at: now, link: group.links[place as usize], place });
        place
    }
}
