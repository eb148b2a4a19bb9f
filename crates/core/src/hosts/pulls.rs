//! The pacers of pulls, NDP's and those of Ultra Ethernet's receivers that give credit: one for each host that receives, fair among its flows.
//!
//! Source: Handley et al. 2017 (SIGCOMM) s.3.2: pulls leave so that the packets that they ask for fill the receiver's link: a full
//! packet's time on it apart, headers included, as in the authors' simulator (`Broadcom/csg-htsim`, 841d9e7).
//! The flows take turns, a pull each. Of Ultra Ethernet a pull grants four packets at most, and flows that want none come after all others
//! (`ultraethernet/uet-htsim`, 40ccb05; `transport/uec/credit.rs`).

use super::work::Hosts;
use crate::events::{Event, Source};
use crate::net::Net;
use crate::transport::uec::credit::Waits;
use crate::transport::{AnyReceiver, Config};
use shallows_units::{Span, Time};
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
    /// Places of receivers whose senders want nothing.
    idle: VecDeque<u32>,
}

/// The place of a receiver among those that wait for the pacer, and the one where it belongs now.
fn places(receiver: &mut AnyReceiver) -> (Waits, Waits) {
    match receiver {
        AnyReceiver::Ndp(receiver) => {
            let place = |waits: bool| if waits { Waits::Active } else { Waits::Nowhere };
            (place(receiver.queued), place(receiver.owed > 0))
        }
        AnyReceiver::Uec(receiver) => match &receiver.credit {
            Some(grants) => (grants.waits, grants.place()),
            None => (Waits::Nowhere, Waits::Nowhere),
        },
        _ => (Waits::Nowhere, Waits::Nowhere),
    }
}

/// Notes where a receiver waits.
fn note(receiver: &mut AnyReceiver, waits: Waits) {
    match receiver {
        AnyReceiver::Ndp(receiver) => receiver.queued = waits == Waits::Active,
        AnyReceiver::Uec(receiver) => receiver.credit.iter_mut().for_each(|grants| grants.waits = waits),
        _ => {}
    }
}

/// Sends a pull; how long the next one waits.
fn pull(receiver: &mut AnyReceiver, config: &Config, net: &mut Net) -> Span {
    match receiver {
        AnyReceiver::Ndp(receiver) => {
            receiver.pull(config, net);
            receiver.spacing
        }
        AnyReceiver::Uec(receiver) => receiver.pull(config, net),
        _ => Span::ZERO,
    }
}

impl Pacer {
    /// A receiver at `place` goes from one queue to the end of another.
    fn moves(&mut self, place: u32, receiver: &mut AnyReceiver, (from, to): (Waits, Waits)) {
        if from == Waits::Idle {
            self.idle.retain(|other| *other != place);
        }
        match to {
            Waits::Active => self.turns.push_back(place),
            Waits::Idle => self.idle.push_back(place),
            Waits::Nowhere => {}
        }
        note(receiver, to);
    }
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
            all.push(Pacer {
                source,
                free_at: Time::ZERO,
                waits: false,
                turns: VecDeque::new(),
                idle: VecDeque::new(),
            });
            place
        })
    }
}

impl Hosts {
    /// The receiver at `place` owes a pull, or may give credit.
    #[inline(never)] // TCP's path through the same function stays short
    pub(super) fn owes_pull(&mut self, place: u32, net: &mut Net) {
        let end = &mut self.receivers[place as usize];
        let number = self.pacers.of(end.about.ends.1.0, net);
        let pacer = &mut self.pacers.all[number as usize];
        match places(&mut end.receiver) {
            // One that owes nothing any more leaves when its turn comes.
            (Waits::Active, _) => {}
            (Waits::Nowhere, Waits::Nowhere) if matches!(end.receiver, AnyReceiver::Ndp(_)) => {
                pacer.moves(place, &mut end.receiver, (Waits::Nowhere, Waits::Active));
            }
            (from, to) if from == to => {}
            moves => pacer.moves(place, &mut end.receiver, moves),
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
        while let Some(place) = pacer.turns.pop_front().or_else(|| pacer.idle.pop_front()) {
            let end = &mut self.receivers[place as usize];
            note(&mut end.receiver, Waits::Nowhere);
            let (_, to) = places(&mut end.receiver);
            let was_idle = to == Waits::Idle;
            if to == Waits::Nowhere {
                continue;
            }
            if was_idle && !pacer.turns.is_empty() {
                pacer.moves(place, &mut end.receiver, (Waits::Nowhere, Waits::Idle));
                continue;
            }
            let sent = net.totals.sent;
            let spacing = pull(&mut end.receiver, &self.configs[end.about.config as usize], net);
            end.passed.0 += net.totals.sent - sent;
            pacer.free_at = net.now + spacing;
            let (_, to) = places(&mut end.receiver);
            pacer.moves(place, &mut end.receiver, (Waits::Nowhere, to));
            if !(pacer.turns.is_empty() && pacer.idle.is_empty()) {
                pacer.waits = true;
                net.events.schedule(pacer.source, pacer.free_at);
            }
            return;
        }
    }

    /// The receiver at `place` leaves it.
    pub(super) fn forget_pulls(&mut self, place: u32, node: u32) {
        if let Some(number) = self.pacers.places.get(&node) {
            let pacer = &mut self.pacers.all[*number as usize];
            pacer.turns.retain(|other| *other != place);
            pacer.idle.retain(|other| *other != place);
        }
    }
}
