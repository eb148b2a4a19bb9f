//! The pacers of NDP's pulls: one for each host that receives, fair among its flows.
//!
//! Source: Handley et al. 2017 (SIGCOMM) s.3.2: pulls leave so that the packets that they ask for fill the receiver's link: a full
//! packet's time on it apart, headers included, as in the authors' simulator (`Broadcom/csg-htsim`, 841d9e7).
//! The flows take turns, a pull each.

use super::work::Hosts;
use crate::events::{Event, Source};
use crate::net::Net;
use crate::transport::AnyReceiver;
use shallows_units::Time;
use std::collections::{BTreeMap, VecDeque};

/// The pulls of one host.
#[derive(Debug)]
struct Pacer {
    source: Source,
    /// The next pull may leave.
    free_at: Time,
    /// An event will come then.
    waits: bool,
    /// Places of receivers that owe pulls, in turn; of some nothing is owed any more.
    turns: VecDeque<u32>,
}

/// The pacers of a cell's hosts.
#[derive(Debug, Default)]
pub struct Pacers {
    /// By node: its place.
    places: BTreeMap<u32, u32>,
    all: Vec<Pacer>,
}

impl Pacers {
    /// The place of the pacer of host `node`.
    fn of(&mut self, node: u32, net: &mut Net) -> u32 {
        let Pacers { places, all } = self;
        *places.entry(node).or_insert_with(|| {
            let place = all.len() as u32;
            let source = net.events.add(Event::Pull(place));
            all.push(Pacer { source, free_at: Time::ZERO, waits: false, turns: VecDeque::new() });
            place
        })
    }
}

impl Hosts {
    /// The receiver at `place` owes a pull.
    #[inline(never)] // TCP's path through the same function stays short
    pub(super) fn owes_pull(&mut self, place: u32, net: &mut Net) {
        let end = &mut self.receivers[place as usize];
        let AnyReceiver::Ndp(receiver) = &mut end.receiver else { return };
        let number = self.pacers.of(end.about.ends.1.0, net);
        let pacer = &mut self.pacers.all[number as usize];
        if !receiver.queued {
            receiver.queued = true;
            pacer.turns.push_back(place);
        }
        if !pacer.waits {
            if pacer.free_at > net.now {
                pacer.waits = true;
                net.events.schedule(pacer.source, pacer.free_at);
            } else {
                self.pull_next(number, net);
            }
        }
    }

    /// The pacer at `number` may send its next pull.
    #[inline(never)]
    pub(super) fn on_pacer(&mut self, number: u32, net: &mut Net) {
        self.pacers.all[number as usize].waits = false;
        self.pull_next(number, net);
    }

    fn pull_next(&mut self, number: u32, net: &mut Net) {
        let pacer = &mut self.pacers.all[number as usize];
        while let Some(place) = pacer.turns.pop_front() {
            let end = &mut self.receivers[place as usize];
            let AnyReceiver::Ndp(receiver) = &mut end.receiver else { continue };
            if receiver.owed == 0 {
                receiver.queued = false;
                continue;
            }
            let sent = net.totals.sent;
            receiver.pull(&self.configs[end.about.config as usize], net);
            end.passed.0 += net.totals.sent - sent;
            pacer.free_at = net.now + receiver.spacing;
            receiver.queued = receiver.owed > 0;
            if receiver.queued {
                pacer.turns.push_back(place);
            }
            if !pacer.turns.is_empty() {
                pacer.waits = true;
                net.events.schedule(pacer.source, pacer.free_at);
            }
            return;
        }
    }

    /// The receiver at `place` leaves it.
    pub(super) fn forget_pulls(&mut self, place: u32, node: u32) {
        if let Some(number) = self.pacers.places.get(&node) {
            self.pacers.all[*number as usize].turns.retain(|other| *other != place);
        }
    }
}
