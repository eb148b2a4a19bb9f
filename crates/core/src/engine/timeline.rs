//! Changes of links at their times: checked, in order, and carried out at pauses of the run.
//!
//! A pause comes before all events of its time, in one cell and in several, so that a change has the same place whatever
//! the threads and steps. The tables follow after `routing.reconvergence`: all switches at once, each change by itself.

mod check;

use crate::engine::{SharedCells, Simulation};
use crate::experiment::LinkState;
use crate::hosts::connections::locked;
use crate::net::pfc::{Frame, ones};
use crate::params::ParamType;
use crate::routing::ideal::Wire;
use crate::workload::paths::Tables;
use serde_json::Value;
use shallows_units::{Rate, Span, Time};
use std::collections::BTreeSet;
use std::sync::PoisonError;

/// A new property of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
enum What {
    State(LinkState),
    Rate(Rate),
    /// With the latency of the switch that the link leads to.
    Delay(Span),
    Loss(f64),
    /// The far end pauses these priorities, a bit each, or ends that.
    Pause(u8, bool),
}

impl What {
    /// Its key in the file.
    fn key(self) -> &'static str {
        match self {
            What::State(_) => "state",
            What::Rate(_) => "rate",
            What::Delay(_) => "delay",
            What::Loss(_) => "loss",
            What::Pause(..) => "pause",
        }
    }

    fn show(self) -> Value {
        match self {
            What::State(state) => state.show(),
            What::Rate(rate) => rate.show(),
            What::Delay(delay) => delay.show(),
            What::Loss(loss) => loss.show(),
            What::Pause(priorities, _) => ones(priorities).collect::<Vec<u8>>().into(),
        }
    }
}

/// A change of one link.
#[derive(Debug, Clone, Copy)]
struct Change {
    at: Time,
    /// Number of its event.
    event: usize,
    link: u32,
    what: What,
}

impl Change {
    /// A link fails.
    fn cuts(&self) -> bool {
        self.what == What::State(LinkState::Down)
    }
}

/// All changes of a run.
#[derive(Debug, Default)]
pub struct Timeline {
    /// In order of time, of the file, and of links.
    changes: Vec<Change>,
    /// The first that is still to come.
    next: usize,
    /// Place of the first change that the tables have not followed yet.
    followed: usize,
    /// Nothing: the switches are static.
    reconvergence: Option<Span>,
    /// Links that the tables leave out.
    left_out: BTreeSet<u32>,
    /// Links of which something changes; those of which more than the loss does.
    touched: BTreeSet<u32>,
    varied: BTreeSet<u32>,
}

/// Bytes of memory that a change takes, with its place in the sets.
const CHANGE_BYTES: usize = size_of::<Change>() + 48;

impl Timeline {
    /// Something of `link` changes.
    pub fn touches(&self, link: u32) -> bool {
        self.touched.contains(&link)
    }

    /// Not only its loss changes.
    pub fn varies(&self, link: u32) -> bool {
        self.varied.contains(&link)
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.changes.len() * CHANGE_BYTES
    }

    /// By link the best rate and delay of the run, which begins with these.
    pub fn best(&self, mut wires: Vec<Wire>) -> Vec<Wire> {
        for change in &self.changes {
            let (rate, delay) = &mut wires[change.link as usize];
            match change.what {
                What::Rate(other) => *rate = other.max(*rate),
                What::Delay(other) => *delay = other.min(*delay),
                What::State(_) | What::Loss(_) | What::Pause(..) => {}
            }
        }
        wires
    }

    /// How many changes have happened.
    pub fn changed(&self) -> usize {
        self.next
    }

    /// When something changes next.
    pub fn next_at(&self) -> Time {
        let change = self.changes.get(self.next).map_or(Time::MAX, |change| change.at);
        let followed = self.changes.get(self.followed).zip(self.reconvergence);
        change.min(followed.map_or(Time::MAX, |(change, after)| change.at + after))
    }

    /// The tables that follow the changes before `end`: each set of links that they leave out, when it is first left out.
    pub fn tables(&self, end: Time) -> Vec<Tables> {
        let mut copy = Timeline { changes: self.changes.clone(), ..Timeline::default() };
        copy.reconvergence = self.reconvergence;
        let (mut known, mut tables) = (BTreeSet::from([BTreeSet::new()]), vec![]);
        for (change, after) in self.changes.iter().zip(std::iter::repeat(self.reconvergence)) {
            let Some(after) = after else { break };
            let at = change.at + after;
            if at < end && copy.follow(at) && known.insert(copy.left_out.clone()) {
                tables.push(Tables { at, down: copy.left_out.iter().copied().collect() });
            }
        }
        tables
    }

    /// When the tables follow a failure or repair for the first time.
    pub fn first_followed(&self) -> Option<Time> {
        let mut states = self.changes.iter().filter(|change| matches!(change.what, What::State(_)));
        Some(states.next()?.at + self.reconvergence?)
    }

    /// A link fails now.
    fn cuts(&self, now: Time) -> bool {
        self.coming().take_while(|change| change.at <= now).any(Change::cuts)
    }

    /// One of `links` will fail.
    pub fn will_cut(&self, links: &BTreeSet<u32>) -> bool {
        self.coming().any(|change| change.cuts() && links.contains(&change.link))
    }

    fn coming(&self) -> impl Iterator<Item = &Change> {
        self.changes[self.next..].iter()
    }

    /// Brings the list of links that the tables leave out up to `now`; whether there is anything new.
    fn follow(&mut self, now: Time) -> bool {
        let Some(after) = self.reconvergence else { return false };
        let mut anything = false;
        while let Some(change) = self.changes.get(self.followed).filter(|one| one.at + after <= now) {
            self.followed += 1;
            if let What::State(state) = change.what {
                anything = true;
                match state {
                    LinkState::Down => _ = self.left_out.insert(change.link),
                    LinkState::Up => _ = self.left_out.remove(&change.link),
                }
            }
        }
        anything
    }
}

impl Simulation {
    /// Carries out the changes that are due, and lets the tables follow.
    pub(super) fn change_links(&mut self, shared: &SharedCells) {
        let cuts = self.timeline.cuts(self.now);
        if cuts {
            self.note_deadlock(shared);
        }
        while let Some(change) = self.timeline.changes.get(self.timeline.next).copied() {
            if change.at > self.now {
                break;
            }
            self.timeline.next += 1;
            self.change_link(shared, change);
        }
        if cuts {
            self.end_deadlock(shared);
        }
        self.roster.longest.forget();
        if self.timeline.follow(self.now) {
            let down: Vec<u32> = self.timeline.left_out.iter().copied().collect();
            shared.directory.write().unwrap_or_else(PoisonError::into_inner).routing.rebuild(&down);
        }
    }

    fn change_link(&mut self, shared: &SharedCells, Change { link, what, .. }: Change) {
        {
            let mut directory = shared.directory.write().unwrap_or_else(PoisonError::into_inner);
            match what {
                What::Rate(rate) => directory.links[link as usize].0 = rate,
                What::Delay(delay) => directory.links[link as usize].1 = delay,
                What::State(_) | What::Loss(_) | What::Pause(..) => {}
            }
        }
        let pauses = self.pauses_of_peer(shared, link);
        let directory = shared.directory.read().unwrap_or_else(PoisonError::into_inner);
        let (cell, place) = self.places[link as usize];
        let cell = &mut *locked(&shared.cells[cell as usize]);
        cell.network.now = self.now;
        let port = &mut cell.network.ports[place as usize];
        match what {
            What::State(LinkState::Down) => cell.network.cut(place, &directory),
            What::State(LinkState::Up) => cell.network.revive(place, pauses, &directory),
            What::Rate(rate) => port.set_rate(rate),
            What::Delay(delay) => port.delay = delay,
            What::Pause(priorities, begins) => {
                let change = |held| if begins { held | priorities } else { held & !priorities };
                cell.network.hold(place, change, &directory);
            }
            What::Loss(loss) => port.faults.iter_mut().for_each(|faults| faults.loss = loss),
        }
        cell.apply_changes(&directory);
    }

    /// The frame by which the port at the other end would pause this one, under flow control.
    fn pauses_of_peer(&self, shared: &SharedCells, link: u32) -> Option<Frame> {
        let back = *self.backs.get(link as usize)?;
        let (cell, place) = *self.places.get(back.at())?;
        locked(&shared.cells[cell as usize]).network.ports[place as usize].closed_accounts()
    }
}
