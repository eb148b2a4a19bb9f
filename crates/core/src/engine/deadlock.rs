//! Deadlock under flow control: ports in a cycle that all wait for each other.
//!
//! An account of a switch is stuck when it can never open again: it stands above XON, or has bytes in its headroom, and all
//! its packets wait at ports that are paused by accounts that are stuck too. The set is what remains when every
//! account that may still open is taken away, again and again (the greatest fixed point of "waits for"). XON is taken as
//! it would be if the switch held stuck packets only. A decision that is still on its way does not count: the account must
//! have been closed for as long as its frames need. So what is found lasts for ever, unless a watchdog drops packets or one of
//! the links fails: the packets at its port are then lost. A run is stopped only where no such failure is to come. Just before and
//! after each failure all cells are looked at, so that the end of a deadlock is known whatever the threads and steps.
//! Source: the cycle of buffers, Dally and Seitz 1987, IEEE Trans. Computers C-36(5); under flow control by priority,
//! Hu et al. 2016, HotNets-XV.

use crate::engine::error::{Deadlock, RunError};
use crate::engine::{SharedCells, Simulation};
use crate::experiment::Deadlocks;
use crate::hosts::connections::locked;
use crate::net::Network;
use shallows_units::{Index, Time};
use std::collections::{BTreeMap, BTreeSet};

/// An account by the port that is charged, as a link, and its priority.
type Key = (u32, u8);

/// An account that is closed.
struct Closed {
    /// The link whose packets are charged: its port is the one that waits.
    paused: u32,
    since: Time,
    shared: u64,
    /// Links of the switch's ports where its packets wait.
    at: Vec<u32>,
    /// The switch's shared memory.
    size: u64,
    switch: u32,
    holds_headroom: bool,
}

impl Simulation {
    /// Ends the run in a deadlock, or notes it.
    pub(super) fn look_for_deadlock(&mut self, shared: &SharedCells) -> Result<(), RunError> {
        let stops = self.deadlock_mode == Deadlocks::Stop;
        if self.backs.is_empty() || self.standing().is_some() && !stops {
            return Ok(());
        }
        let stuck = self.stuck(shared);
        let Some(found) = self.cycle_of(&stuck) else { return Ok(()) };
        let waiting = stuck.values().map(|one| one.paused).collect();
        if stops && !self.timeline.will_cut(&waiting) {
            return Err(RunError::Deadlock(found));
        }
        if self.standing().is_none() {
            self.deadlocks.push(found);
        }
        Ok(())
    }

    /// The deadlock that has not ended.
    fn standing(&mut self) -> Option<&mut Deadlock> {
        self.deadlocks.last_mut().filter(|last| last.until.is_none())
    }

    /// Notes the deadlock that there is before a link fails.
    pub(super) fn note_deadlock(&mut self, shared: &SharedCells) {
        if self.backs.is_empty() {
            return;
        }
        let Some(found) = self.cycle_of(&self.stuck(shared)) else { return };
        match self.standing() {
            Some(standing) => *standing = found,
            None => self.deadlocks.push(found),
        }
    }

    /// Notes that a link has failed, if that has ended the deadlock.
    pub(super) fn end_deadlock(&mut self, shared: &SharedCells) {
        // A watchdog may have ended it before.
        if self.standing().is_none() || self.deadlock_mode == Deadlocks::Watchdog {
            return;
        }
        let (now, stuck) = (self.now, self.stuck(shared));
        if let Some(standing) = self.standing() {
            let waits =
                |link: &u32| stuck.iter().any(|(key, one)| one.paused == *link && key.1 == standing.priority);
            if !standing.links.iter().all(waits) {
                standing.until = Some(now);
            }
        }
    }

    /// The accounts that can never open again.
    fn stuck(&self, shared: &SharedCells) -> BTreeMap<Key, Closed> {
        let mut stuck = self.closed_accounts(shared);
        loop {
            let before = stuck.len();
            // Bytes that stay for ever, by switch: the others may leave and raise the thresholds.
            let mut staying: BTreeMap<u32, u64> = BTreeMap::new();
            stuck.values().for_each(|one| *staying.entry(one.switch).or_default() += one.shared);
            let blocked: BTreeSet<Key> = stuck.iter().map(|(key, one)| (one.paused, key.1)).collect();
            stuck.retain(|key, one| {
                let waits = one.at.iter().all(|link| blocked.contains(&(*link, key.1)));
                let free = one.size.saturating_sub(staying[&one.switch]);
                waits && !one.at.is_empty() && (one.holds_headroom || !self.may_open(shared, *key, free))
            });
            if stuck.len() == before {
                return stuck;
            }
        }
    }

    /// Every account that has been closed for as long as its frames need, with the ports where its packets wait.
    fn closed_accounts(&self, shared: &SharedCells) -> BTreeMap<Key, Closed> {
        let mut found = BTreeMap::new();
        for cell in &shared.cells {
            let cell = locked(cell);
            for (size, place, priority) in cell.network.buffers().all_closed() {
                if let Some(closed) = self.closed(&cell.network, (size, place, priority)) {
                    found.insert((cell.network.links[place as usize], priority), closed);
                }
            }
        }
        found
    }

    fn closed(&self, network: &Network, (size, place, priority): (u64, u32, u8)) -> Option<Closed> {
        let links = &network.links;
        let port = &network.ports[place as usize];
        let ingress = port.pausing()?.ingress.as_ref()?;
        let account = ingress.accounts[usize::from(priority)];
        let settled = account.closed_at + ingress.law.flight <= self.now;
        let switch = links[network.buffers().sharer(port.share, 0) as usize];
        let mut at = vec![];
        for i in 0..network.buffers().sharers(port.share) {
            let place_of_other = network.buffers().sharer(port.share, i);
            let other = &network.ports[place_of_other as usize];
            let Some(scheduled) = other.service.scheduled() else { continue };
            if scheduled.serving.is_some() && scheduled.of == (priority, Index::new(place)) {
                return None; // a packet is leaving
            }
            if scheduled.disc.holds_from(priority, Index::new(place)) {
                let paused = other.pausing().is_some_and(|p| p.paused() >> priority & 1 != 0);
                if !paused {
                    return None;
                }
                at.push(links[place_of_other as usize]);
            }
        }
        let back = self.backs[links[place as usize] as usize].get()?;
        settled.then_some(Closed {
            paused: back,
            since: account.closed_at,
            shared: account.shared,
            at,
            size,
            switch,
            holds_headroom: account.headroom > 0,
        })
    }

    fn may_open(&self, shared: &SharedCells, (link, priority): Key, free: u64) -> bool {
        let (cell, place) = self.places[link as usize];
        let cell = locked(&shared.cells[cell as usize]);
        let pausing = cell.network.ports[place as usize].pausing();
        let ingress = pausing.and_then(|pausing| pausing.ingress.as_ref());
        ingress.is_none_or(|i| i.may_open(&i.accounts[usize::from(priority)], free))
    }

    /// A cycle among stuck accounts: from the first one along what it waits for, until one comes again.
    fn cycle_of(&self, stuck: &BTreeMap<Key, Closed>) -> Option<Deadlock> {
        let (mut at, _) = stuck.iter().next()?;
        let mut way: Vec<&Key> = vec![];
        while !way.contains(&at) {
            way.push(at);
            let next = stuck[at].at.first()?;
            at = stuck.iter().find(|(key, one)| one.paused == *next && key.1 == at.1)?.0;
        }
        let first = way.iter().position(|key| *key == at)?;
        let cycle = &way[first..];
        let links: Vec<u32> = cycle.iter().map(|key| stuck[key].paused).collect();
        Some(Deadlock {
            cycle: links.iter().map(|link| self.names.ports[*link as usize].clone()).collect(),
            priority: at.1,
            since: cycle.iter().map(|key| stuck[key].since).max()?,
            until: None,
            links,
        })
    }
}
