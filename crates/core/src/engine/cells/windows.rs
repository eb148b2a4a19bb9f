//! A run of several cells, each worked once a window by any thread.

use super::CORES;
use super::window_state::{Hand, Shift, Yard};
use super::workers::Crew;
use crate::engine::cells::partition::Partition;
use crate::engine::cells::sides::{Clocks, Sides};
use crate::engine::control::Control;
use crate::engine::error::RunError;
use crate::engine::{Floor, Simulation};
use crate::hosts::FlowId;
use crate::hosts::connections::locked;
use crate::hosts::facts::ClassRecord;
use crate::hosts::window::Window;
use serde_json::{Value, json};
use shallows_units::Time;
use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// Cells are shared out anew after so many windows.
const SHARE_EVERY: u64 = 32;

impl Simulation {
    /// The manifest's entry on cells: how many, the lookahead, and the measured bounds on speed; or the reason why there is
    /// one. `speedup_bound` is by cores: no schedule of whole cells gains more.
    pub(in crate::engine) fn cells_told(&self) -> Value {
        let effort = self.effort;
        let gain = |bound: u64| if bound > 0 { effort.events as f64 / bound as f64 } else { 1.0 };
        let imbalance = if effort.longest > 0 { effort.longest as f64 / effort.mean } else { 1.0 };
        let bounds =
            CORES.iter().zip(effort.bounds).map(|(cores, bound)| (cores.to_string(), gain(bound).into()));
        match &self.partition.whole {
            Some(why) => json!({"count": 1, "why_one": why}),
            None => json!({
                "count": self.partition.cells,
                "lookahead_ps": self.partition.lookahead.as_ps(),
                "threads": self.threads,
                "windows": effort.windows,
                "events": effort.events,
                "imbalance": imbalance,
                "speedup_bound": bounds.collect::<serde_json::Map<String, Value>>(),
            }),
        }
    }

    /// Runs all cells until the time to stop, or to the end.
    pub(in crate::engine) fn run_cells(
        &mut self,
        floor: &Floor,
        partition: &Partition,
        control: &Control,
    ) -> Result<(), RunError> {
        let classes = if self.probes.waits { self.roster.classes.len() } else { 0 };
        let hands = (0..self.threads.max(1)).map(|_| Hand::new(classes)).collect();
        let sides = Sides::new(partition, !self.backs.is_empty());
        let yard = Yard::new(floor, partition, sides);
        let crew = Crew::new(&yard, hands);
        let result = crew.employ(|crew| self.run_windows(&yard, crew, control));
        for hand in crew.dismiss() {
            self.keep_waits(&hand.waits);
        }
        result
    }

    fn keep_waits(&mut self, waits: &[ClassRecord]) {
        if self.roster.waits.is_empty() {
            self.roster.waits = waits.to_vec();
        } else {
            self.roster.waits.iter_mut().zip(waits).for_each(|(all, own)| all.add(own));
        }
    }

    fn run_windows(&mut self, yard: &Yard<'_>, crew: &Crew<'_>, control: &Control) -> Result<(), RunError> {
        if !self.begun {
            self.begun = true;
            self.begin(yard, control)?;
        }
        self.pause_cells(yard, crew, control)?;
        let (lookahead, mut clocks, mut over) =
            (yard.lookahead, Clocks::new(&yard.sides, self.now), BTreeMap::new());
        let (mut fresh, mut look_at) = (true, self.now + self.progress_every);
        while !self.finished && self.now < self.stop_at {
            if self.now >= look_at {
                self.check(yard.floor, control)?;
                look_at = self.now + self.progress_every;
            } else {
                self.heed(yard.floor, control, self.now)?;
            }
            let ((begin, until), turn) = (clocks.window(lookahead, self.pause_at), clocks.turn);
            let window = Window { begin, until, next_until: until, lookahead };
            if std::mem::take(&mut fresh) {
                crew.work(Shift { window, turn, hand_over_only: true });
            }
            self.wake_loads(yard, until);
            if self.roster.stopped() {
                self.heed(yard.floor, control, self.now)?;
            }
            // Cells hand nothing over beyond a pause, so that an observer finds each packet in its place.
            let next_until = (until + lookahead).min(self.pause_at);
            crew.work(Shift { window: Window { next_until, ..window }, turn, hand_over_only: false });
            self.measure(yard, turn);
            clocks.advance(until);
            self.settle(yard, &mut over, clocks.all());
            if let Some(soonest) = yard.soonest() {
                let loads = self.loads.iter().map(|load| load.wake_at).min().unwrap_or(Time::MAX);
                clocks.skip(soonest.min(loads).min(self.pause_at));
            }
            self.now = clocks.all();
            if self.now >= self.pause_at {
                self.settle(yard, &mut over, self.now);
                self.pause_cells(yard, crew, control)?;
                fresh = true;
            }
        }
        Ok(())
    }

    fn pause_cells(&mut self, yard: &Yard<'_>, crew: &Crew<'_>, control: &Control) -> Result<(), RunError> {
        if !self.warm && self.now >= self.warmup {
            crew.each_hand(|hand| hand.waits.iter_mut().for_each(ClassRecord::clear));
        }
        let changed = self.timeline.changed();
        self.pause(yard.floor, control)?;
        if self.timeline.changed() > changed {
            yard.note_all();
        }
        Ok(())
    }

    /// Wakes all loads; their work at once is done before statistics begin, as in one cell.
    fn begin(&mut self, yard: &Yard<'_>, control: &Control) -> Result<(), RunError> {
        for load in 0..self.loads.len() as u32 {
            self.wake(load, yard.floor, Time::ZERO);
            if self.roster.stopped() {
                self.heed(yard.floor, control, Time::ZERO)?;
            }
        }
        let commons = yard.floor.commons.read().unwrap_or_else(PoisonError::into_inner);
        for number in self.roster.ordered.drain(..) {
            locked(&yard.floor.cells[number as usize]).perform_until(Time::ZERO, &commons);
        }
        Ok(())
    }

    /// Wakes the loads that want to be woken before `until`, in order of time and number.
    fn wake_loads(&mut self, yard: &Yard<'_>, until: Time) {
        loop {
            let soonest = (0..).zip(&self.loads).map(|(i, load)| (load.wake_at, i)).min();
            let Some((at, number)) = soonest.filter(|(at, _)| *at < until) else { return };
            self.wake(number, yard.floor, at);
            if self.roster.stopped() {
                return; // a load may wake a million times within a window
            }
            for cell in self.roster.ordered.drain(..) {
                yard.due[cell as usize].fetch_min(at.as_ps(), Ordering::Relaxed);
            }
        }
    }

    /// Counts the work of a window.
    fn measure(&mut self, yard: &Yard<'_>, turn: usize) {
        let (all, most) = (yard.worked(turn).sum::<u64>(), yard.worked(turn).max().unwrap_or(0));
        yard.measure(turn, self.threads > 1 && self.effort.windows % SHARE_EVERY < 2);
        self.effort.windows += u64::from(all > 0);
        self.effort.events += all;
        self.effort.longest += most;
        self.effort.mean += all as f64 / yard.sides.cells[turn].len() as f64;
        for (bound, cores) in self.effort.bounds.iter_mut().zip(CORES) {
            *bound += most.max(all.div_ceil(cores));
        }
    }

    /// Does the work across cells: losses are told to senders, connections end. `over` has those that may be over, with the
    /// latest time at which that was noted; all cells have come until `now`.
    fn settle(&mut self, yard: &Yard<'_>, over: &mut BTreeMap<FlowId, Time>, now: Time) {
        let mut noted = std::mem::take(&mut *locked(&yard.noted));
        noted.sort_unstable();
        noted.dedup();
        let (mut news, mut changes) = (vec![], vec![]);
        for number in &noted {
            let cell = &mut *locked(&yard.floor.cells[*number as usize]);
            changes.append(&mut cell.network.changes);
            news.append(&mut cell.hosts.over);
            cell.hosts.news = false;
        }
        let commons = yard.floor.commons.read().unwrap_or_else(PoisonError::into_inner);
        for change in &changes {
            let (cell, place) = commons.connections[change.flow as usize].sender;
            let hosts = &mut locked(&yard.floor.cells[cell as usize]).hosts;
            hosts.on_change(change, place);
            news.append(&mut hosts.over);
            hosts.news = false;
        }
        drop(commons);
        for (at, id) in news {
            let last = over.entry(id).or_insert(at);
            *last = at.max(*last);
        }
        self.end_connections(yard, over, now);
    }

    /// Ends connections of `over` that are. An end that has worked farther may have noted a time to which the other has yet
    /// to come: such a connection waits.
    fn end_connections(&mut self, yard: &Yard<'_>, over: &mut BTreeMap<FlowId, Time>, now: Time) {
        let mut ends: Vec<(Time, FlowId)> = over.iter().map(|(id, at)| (*at, *id)).collect();
        ends.retain(|(at, _)| *at < now);
        ends.sort_unstable();
        for (at, id) in ends {
            over.remove(&id);
            Self::connections(&mut self.roster, yard.floor, at).release_if_over(id);
        }
    }
}
