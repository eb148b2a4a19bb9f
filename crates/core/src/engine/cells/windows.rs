//! A run of several cells, each worked once a window by any thread.

use super::CORES;
use super::window_state::{Task, WindowState, WorkerLocal};
use super::workers::WorkerPool;
use crate::engine::cells::partition::Partition;
use crate::engine::cells::sides::{Clocks, Sides};
use crate::engine::control::Control;
use crate::engine::error::RunError;
use crate::engine::{SharedCells, Simulation};
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
    pub(in crate::engine) fn cells_entry(&self) -> Value {
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
        shared: &SharedCells,
        partition: &Partition,
        control: &Control,
    ) -> Result<(), RunError> {
        let classes = if self.probes.waits { self.roster.classes.len() } else { 0 };
        let locals = (0..self.threads.max(1)).map(|_| WorkerLocal::new(classes)).collect();
        let sides = Sides::new(partition, !self.backs.is_empty());
        let state = WindowState::new(shared, partition, sides);
        let pool = WorkerPool::new(&state, locals);
        let result = pool.with_workers(|pool| self.run_windows(&state, pool, control));
        for local in pool.into_locals() {
            self.keep_waits(&local.waits);
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

    fn run_windows(
        &mut self,
        state: &WindowState<'_>,
        pool: &WorkerPool<&WindowState<'_>>,
        control: &Control,
    ) -> Result<(), RunError> {
        if !self.begun {
            self.begun = true;
            self.begin(state, control)?;
        }
        self.pause_cells(state, pool, control)?;
        let (lookahead, mut clocks, mut idle) =
            (state.lookahead, Clocks::new(&state.sides, self.now), BTreeMap::new());
        let (mut fresh, mut look_at) = (true, self.now + self.progress_every);
        while !self.finished && self.now < self.stop_at {
            if self.now >= look_at {
                self.check(state.shared, control)?;
                look_at = self.now + self.progress_every;
            } else {
                self.check_limits(state.shared, control, self.now)?;
            }
            let ((begin, until), turn) = (clocks.window(lookahead, self.pause_at), clocks.turn);
            let window = Window { begin, until, next_until: until, lookahead };
            if std::mem::take(&mut fresh) {
                pool.run(Task { window, turn, hand_over_only: true });
            }
            self.wake_loads(state, until);
            if self.roster.stopped() {
                self.check_limits(state.shared, control, self.now)?;
            }
            // Cells hand nothing over beyond a pause, so that an observer finds each packet in its place.
            let next_until = (until + lookahead).min(self.pause_at);
            pool.run(Task { window: Window { next_until, ..window }, turn, hand_over_only: false });
            self.measure(state, turn);
            clocks.advance(until);
            self.settle(state, &mut idle, clocks.all());
            if let Some(soonest) = state.soonest() {
                let loads = self.loads.iter().map(|load| load.wake_at).min().unwrap_or(Time::MAX);
                clocks.skip(soonest.min(loads).min(self.pause_at));
            }
            self.now = clocks.all();
            if self.now >= self.pause_at {
                self.settle(state, &mut idle, self.now);
                self.pause_cells(state, pool, control)?;
                fresh = true;
            }
        }
        Ok(())
    }

    fn pause_cells(
        &mut self,
        state: &WindowState<'_>,
        pool: &WorkerPool<&WindowState<'_>>,
        control: &Control,
    ) -> Result<(), RunError> {
        if !self.warm && self.now >= self.warmup {
            pool.each_local(|local| local.waits.iter_mut().for_each(ClassRecord::clear));
        }
        let changed = self.timeline.changed();
        self.pause(state.shared, control)?;
        if self.timeline.changed() > changed {
            state.note_all();
        }
        Ok(())
    }

    /// Wakes all loads; their work at once is done before statistics begin, as in one cell.
    fn begin(&mut self, state: &WindowState<'_>, control: &Control) -> Result<(), RunError> {
        for load in 0..self.loads.len() as u32 {
            self.wake(load, state.shared, Time::ZERO);
            if self.roster.stopped() {
                self.check_limits(state.shared, control, Time::ZERO)?;
            }
        }
        let directory = state.shared.directory.read().unwrap_or_else(PoisonError::into_inner);
        for number in self.roster.ordered.drain(..) {
            locked(&state.shared.cells[number as usize]).perform_until(Time::ZERO, &directory);
        }
        Ok(())
    }

    /// Wakes the loads that want to be woken before `until`, in order of time and number.
    fn wake_loads(&mut self, state: &WindowState<'_>, until: Time) {
        loop {
            let soonest = (0..).zip(&self.loads).map(|(i, load)| (load.wake_at, i)).min();
            let Some((at, number)) = soonest.filter(|(at, _)| *at < until) else { return };
            self.wake(number, state.shared, at);
            if self.roster.stopped() {
                return; // a load may wake a million times within a window
            }
            for cell in self.roster.ordered.drain(..) {
                state.due[cell as usize].fetch_min(at.as_ps(), Ordering::Relaxed);
            }
        }
    }

    /// Counts the work of a window.
    fn measure(&mut self, state: &WindowState<'_>, turn: usize) {
        let (all, most) = (state.worked(turn).sum::<u64>(), state.worked(turn).max().unwrap_or(0));
        state.measure(turn, self.threads > 1 && self.effort.windows % SHARE_EVERY < 2);
        self.effort.windows += u64::from(all > 0);
        self.effort.events += all;
        self.effort.longest += most;
        self.effort.mean += all as f64 / state.sides.cells[turn].len() as f64;
        for (bound, cores) in self.effort.bounds.iter_mut().zip(CORES) {
            *bound += most.max(all.div_ceil(cores));
        }
    }

    /// Does the work across cells: informs senders of losses, and ends connections. `idle` has those with an end that has
    /// nothing left to do, and the latest time at which that was noted. All cells have reached `now`.
    fn settle(&mut self, state: &WindowState<'_>, idle: &mut BTreeMap<FlowId, Time>, now: Time) {
        let mut noted = std::mem::take(&mut *locked(&state.noted));
        noted.sort_unstable();
        noted.dedup();
        let (mut newly_idle, mut changes) = (vec![], vec![]);
        for number in &noted {
            let cell = &mut *locked(&state.shared.cells[*number as usize]);
            changes.append(&mut cell.network.abroad);
            changes.append(&mut cell.network.changes);
            newly_idle.append(&mut cell.hosts.idle);
            cell.hosts.has_notices = false;
        }
        let directory = state.shared.directory.read().unwrap_or_else(PoisonError::into_inner);
        for change in &changes {
            let (cell, place) = directory.connections[change.flow as usize].sender;
            let hosts = &mut locked(&state.shared.cells[cell as usize]).hosts;
            hosts.on_change(change, place);
            newly_idle.append(&mut hosts.idle);
            hosts.has_notices = false;
        }
        drop(directory);
        for (at, id) in newly_idle {
            let last = idle.entry(id).or_insert(at);
            *last = at.max(*last);
        }
        self.end_connections(state, idle, now);
    }

    /// Ends the connections of `idle` whose two ends have finished. A cell that is ahead may have noted a time that the other
    /// end has yet to reach: such a connection waits.
    fn end_connections(&mut self, state: &WindowState<'_>, idle: &mut BTreeMap<FlowId, Time>, now: Time) {
        let mut ends: Vec<(Time, FlowId)> = idle.iter().map(|(id, at)| (*at, *id)).collect();
        ends.retain(|(at, _)| *at < now);
        ends.sort_unstable();
        for (at, id) in ends {
            idle.remove(&id);
            Self::connections(&mut self.roster, state.shared, at).release_if_ended(id);
        }
    }
}
