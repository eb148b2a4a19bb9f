//! A run of several cells, each worked once a window by any thread.

use super::control::{Control, RunError};
use super::partition::Partition;
use super::sides::{Clocks, Sides};
use super::threads::{Crew, Shift};
use super::{Floor, Simulation};
use crate::hosts::FlowId;
use crate::hosts::cell::Cell;
use crate::hosts::connections::locked;
use crate::hosts::window::{Bench, Window};
use crate::hosts::work::ClassRecord;
use crate::net::{Commons, Inbox, Post};
use serde_json::{Value, json};
use shallows_units::{Span, Time};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Simulated work, for the manifest.
#[derive(Debug, Clone, Copy, Default)]
pub struct Effort {
    /// Windows in which something was done.
    pub windows: u64,
    /// Events of all cells.
    pub events: u64,
    /// Sum over windows of the most events of one cell.
    pub longest: u64,
    /// And of the mean of the cells whose turn it was.
    pub mean: f64,
    /// Sum over windows of the least work of so many cores, by [`CORES`].
    pub bounds: [u64; CORES.len()],
}

/// Cells are shared out anew after so many windows.
const SHARE_EVERY: u64 = 32;

/// Numbers of cores whose least time is told.
pub const CORES: [u64; 4] = [2, 4, 16, 64];

/// The data that threads share.
pub(super) struct Yard<'a> {
    pub floor: &'a Floor,
    pub sides: Sides,
    lookahead: Span,
    /// By turn, then by cell: the packets that land in it.
    inboxes: [Vec<Mutex<Inbox>>; 2],
    mail: [Vec<AtomicBool>; 2],
    /// By cell: when it must work, in ps.
    due: Vec<AtomicU64>,
    /// By cell: events in this window.
    work: Vec<AtomicU64>,
    /// Cells that have something to tell.
    noted: Mutex<Vec<u32>>,
    /// By cell: events so far; and by turn and thread: where its share of the turn's cells ends.
    measured: Mutex<(Vec<u64>, [Vec<usize>; 2])>,
}

/// The data of one thread.
#[derive(Default)]
pub(super) struct Hand {
    bench: Bench,
    inbox: Inbox,
    waits: Vec<ClassRecord>,
}

/// Hands packets over to the cells' inboxes of one turn.
struct Deliver<'a> {
    inboxes: &'a [Mutex<Inbox>],
    mail: &'a [AtomicBool],
}

impl Post for Deliver<'_> {
    #[inline(always)]
    fn open(&self, cell: u32, put: impl FnOnce(&mut Inbox)) {
        put(&mut locked(&self.inboxes[cell as usize]));
        self.mail[cell as usize].store(true, Ordering::Relaxed);
    }
}

impl<'a> Yard<'a> {
    fn new(floor: &'a Floor, partition: &Partition, sides: Sides) -> Self {
        let commons = floor.commons.read().unwrap_or_else(PoisonError::into_inner);
        let fastest = commons.links.iter().map(|(rate, _)| *rate).max();
        let lookahead = sides.step(partition.lookahead, fastest);
        drop(commons);
        let cells = floor.cells.len();
        let inboxes = || (0..cells).map(|_| Mutex::default()).collect();
        let mail = || (0..cells).map(|_| AtomicBool::new(false)).collect();
        let numbers = || (0..cells).map(|_| AtomicU64::new(0)).collect();
        Yard {
            floor,
            sides,
            lookahead,
            inboxes: [inboxes(), inboxes()],
            mail: [mail(), mail()],
            due: numbers(),
            work: numbers(),
            noted: Mutex::default(),
            measured: Mutex::new((vec![0; cells], Default::default())),
        }
    }

    /// Works one cell in one window, or only hands over from it.
    pub fn visit(&self, number: usize, shift: &Shift, hand: &mut Hand, commons: &Commons) {
        let post = |turn: usize| Deliver { inboxes: &self.inboxes[turn], mail: &self.mail[turn] };
        if shift.hand_over_only {
            let cell = &mut locked(&self.floor.cells[number]);
            cell.network.now = shift.window.begin;
            let due = cell.hand_over(shift.window.until, self.lookahead, &post(shift.turn), commons);
            self.due[number].store(due.as_ps(), Ordering::Relaxed);
            self.note(number, cell);
            return;
        }
        let called = self.mail[shift.turn][number].swap(false, Ordering::Relaxed);
        if !called && self.due[number].load(Ordering::Relaxed) >= shift.window.until.as_ps() {
            self.work[number].store(0, Ordering::Relaxed);
            return;
        }
        let cell = &mut *locked(&self.floor.cells[number]);
        std::mem::swap(&mut hand.inbox, &mut locked(&self.inboxes[shift.turn][number]));
        std::mem::swap(&mut hand.waits, &mut cell.hosts.waits);
        let before = cell.handled;
        let next = &post(1 - shift.turn);
        let due = cell.work(shift.window, &mut hand.inbox, &mut hand.bench, next, commons);
        std::mem::swap(&mut hand.waits, &mut cell.hosts.waits);
        self.due[number].store(due.as_ps(), Ordering::Relaxed);
        self.work[number].store(cell.handled - before, Ordering::Relaxed);
        self.note(number, cell);
    }

    /// Keeps the number of a cell in which something has happened that concerns others.
    fn note(&self, number: usize, cell: &Cell) {
        if cell.hosts.news || !cell.network.changes.is_empty() {
            locked(&self.noted).push(number as u32);
        }
    }

    /// The same of all cells, and when they must work: links have changed between windows. The losses concern other cells, and
    /// a sender may send since its host's port is empty, also in a cell that had nothing left to do.
    fn note_all(&self) {
        for (number, cell) in self.floor.cells.iter().enumerate() {
            let cell = &mut locked(cell);
            self.due[number].fetch_min(cell.network.events.next_at().as_ps(), Ordering::Relaxed);
            self.note(number, cell);
        }
    }

    /// Where the share of each of `threads` ends among the cells of `turn`, by the measured work.
    pub fn shares(&self, turn: usize, threads: usize) -> Vec<usize> {
        let cells = self.sides.cells[turn].len();
        let ends = &mut locked(&self.measured).1[turn];
        if ends.len() != threads {
            *ends = (1..=threads).map(|i| i * cells / threads).collect();
        }
        ends.clone()
    }

    /// Adds the work of a window of `turn` to the measurement; shares its cells out anew where `again`.
    fn measure(&self, turn: usize, again: bool) {
        let (so_far, ends) = &mut *locked(&self.measured);
        let (cells, ends) = (&self.sides.cells[turn], &mut ends[turn]);
        self.worked(turn).zip(cells).for_each(|(work, cell)| so_far[*cell as usize] += work);
        if again {
            let so_far = || cells.iter().map(|cell| u128::from(so_far[*cell as usize]));
            let (all, threads) = (so_far().sum::<u128>(), ends.len() as u128);
            let (mut sum, mut end, mut left) = (0, 0, so_far());
            for (i, share) in (1..).zip(ends.iter_mut()) {
                while sum * threads < all * i {
                    sum += left.next().unwrap_or_default();
                    end += 1;
                }
                *share = end;
            }
            if let Some(last) = ends.last_mut() {
                *last = cells.len();
            }
        }
    }

    /// The work of each cell of `turn` in its last window.
    fn worked(&self, turn: usize) -> impl Iterator<Item = u64> {
        self.sides.cells[turn].iter().map(|cell| self.work[*cell as usize].load(Ordering::Relaxed))
    }

    /// The soonest time at which a cell must work; nothing is known of it while any has mail.
    fn soonest(&self) -> Option<Time> {
        let mail = self.mail.iter().flatten().any(|mail| mail.load(Ordering::Relaxed));
        let due = self.due.iter().map(|due| Time::ps(due.load(Ordering::Relaxed)));
        if mail { None } else { due.min() }
    }
}

impl Simulation {
    /// The manifest's entry on cells: how many, the lookahead, and the measured bounds on speed; or the reason why there is
    /// one. `speedup_bound` is by cores: no schedule of whole cells gains more.
    pub(super) fn cells_told(&self) -> Value {
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
    pub(super) fn run_cells(
        &mut self,
        floor: &Floor,
        partition: &Partition,
        control: &Control,
    ) -> Result<(), RunError> {
        let classes = if self.probes.waits { self.roster.classes.len() } else { 0 };
        let hands = || Hand { waits: vec![ClassRecord::default(); classes], ..Hand::default() };
        let hands: Vec<Hand> = (0..self.threads.max(1)).map(|_| hands()).collect();
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
