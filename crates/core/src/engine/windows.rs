//! A run of several cells: windows of one lookahead, each cell worked once a window by any thread.

use super::control::{Control, RunError};
use super::partition::Partition;
use super::threads::{Crew, Shift};
use super::{Floor, Simulation};
use crate::hosts::FlowId;
use crate::hosts::connections::locked;
use crate::hosts::window::{Bench, LONGEST, Window};
use crate::hosts::work::ClassRecord;
use crate::net::{Commons, Inbox, Post};
use serde_json::{Value, json};
use shallows_units::{Span, Time};
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
    lookahead: Span,
    /// By parity of the window, then by cell: the packets that land in it.
    inboxes: [Vec<Mutex<Inbox>>; 2],
    mail: [Vec<AtomicBool>; 2],
    /// By cell: when it must work, in ps.
    due: Vec<AtomicU64>,
    /// By cell: events in this window.
    work: Vec<AtomicU64>,
    /// Cells that have something to tell.
    noted: Mutex<Vec<u32>>,
    /// By cell: events so far; and by thread: where its share ends.
    measured: Mutex<(Vec<u64>, Vec<usize>)>,
}

/// The data of one thread.
#[derive(Default)]
pub(super) struct Hand {
    bench: Bench,
    inbox: Inbox,
    waits: Vec<ClassRecord>,
}

/// Hands packets over to the cells' inboxes of one parity.
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
    fn new(floor: &'a Floor, lookahead: Span) -> Self {
        let cells = floor.cells.len();
        let inboxes = || (0..cells).map(|_| Mutex::default()).collect();
        let mail = || (0..cells).map(|_| AtomicBool::new(false)).collect();
        let numbers = || (0..cells).map(|_| AtomicU64::new(0)).collect();
        Yard {
            floor,
            lookahead: lookahead.min(LONGEST),
            inboxes: [inboxes(), inboxes()],
            mail: [mail(), mail()],
            due: numbers(),
            work: numbers(),
            noted: Mutex::default(),
            measured: Mutex::new((vec![0; cells], vec![])),
        }
    }

    /// Works one cell in one window, or only hands over from it.
    pub fn visit(&self, number: usize, shift: &Shift, hand: &mut Hand, commons: &Commons) {
        let post = |parity: usize| Deliver { inboxes: &self.inboxes[parity], mail: &self.mail[parity] };
        if shift.hand_over_only {
            let cell = &mut locked(&self.floor.cells[number]);
            cell.network.now = shift.window.begin;
            let due = cell.hand_over(shift.window.until, self.lookahead, &post(shift.parity), commons);
            self.due[number].store(due.as_ps(), Ordering::Relaxed);
            if cell.hosts.news || !cell.network.changes.is_empty() {
                locked(&self.noted).push(number as u32);
            }
            return;
        }
        let called = self.mail[shift.parity][number].swap(false, Ordering::Relaxed);
        if !called && self.due[number].load(Ordering::Relaxed) >= shift.window.until.as_ps() {
            self.work[number].store(0, Ordering::Relaxed);
            return;
        }
        let cell = &mut *locked(&self.floor.cells[number]);
        std::mem::swap(&mut hand.inbox, &mut locked(&self.inboxes[shift.parity][number]));
        std::mem::swap(&mut hand.waits, &mut cell.hosts.waits);
        let before = cell.handled;
        let next = &post(1 - shift.parity);
        let due = cell.work(shift.window, &mut hand.inbox, &mut hand.bench, next, commons);
        std::mem::swap(&mut hand.waits, &mut cell.hosts.waits);
        self.due[number].store(due.as_ps(), Ordering::Relaxed);
        self.work[number].store(cell.handled - before, Ordering::Relaxed);
        let hosts = &cell.hosts;
        if hosts.news || !cell.network.changes.is_empty() {
            locked(&self.noted).push(number as u32);
        }
    }

    /// The end of the share of each of `threads`, by the measured work.
    pub fn shares(&self, threads: usize) -> Vec<usize> {
        let cells = self.due.len();
        let mut measured = locked(&self.measured);
        if measured.1.len() != threads {
            measured.1 = (1..=threads).map(|i| i * cells / threads).collect();
        }
        measured.1.clone()
    }

    /// Adds the last window's work to the measurement; shares the cells out anew where `again`.
    fn measure(&self, again: bool) {
        let mut measured = locked(&self.measured);
        let (so_far, ends) = &mut *measured;
        so_far.iter_mut().zip(&self.work).for_each(|(all, work)| *all += work.load(Ordering::Relaxed));
        if again {
            let (all, threads) = (so_far.iter().sum::<u64>() as u128, ends.len() as u128);
            let (mut sum, mut end) = (0, 0);
            for (i, share) in (1..).zip(ends.iter_mut()) {
                while end < so_far.len() && sum * threads < all * i {
                    sum += u128::from(so_far[end]);
                    end += 1;
                }
                *share = end;
            }
            if let Some(last) = ends.last_mut() {
                *last = so_far.len();
            }
        }
    }

    /// The soonest time at which a cell must work, if none has mail for a window of this parity that begins `now`.
    fn soonest(&self, parity: usize, now: Time) -> Time {
        let called = |(due, mail): (&AtomicU64, &AtomicBool)| match mail.load(Ordering::Relaxed) {
            true => now,
            false => Time::ps(due.load(Ordering::Relaxed)),
        };
        self.due.iter().zip(&self.mail[parity]).map(called).min().unwrap_or(Time::MAX)
    }
}

impl Simulation {
    /// The manifest's entry on cells: how many, the lookahead, and the measured bounds on speed; or the reason why there is
    /// one. `speedup_bound` is by cores: no schedule of whole cells gains more.
    pub(super) fn cells_told(&self) -> Value {
        let effort = self.effort;
        let gain = |bound: u64| if bound > 0 { effort.events as f64 / bound as f64 } else { 1.0 };
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
                "imbalance": gain(effort.longest).recip() * f64::from(self.partition.cells),
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
        let yard = Yard::new(floor, partition.lookahead);
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
        let (mut parity, lookahead) = (0, yard.lookahead);
        self.pause_cells(yard, crew, control)?;
        let (mut fresh, mut look_at) = (true, self.now + self.progress_every);
        while !self.finished && self.now < self.stop_at {
            if self.now >= look_at {
                self.check(yard.floor, control)?;
                look_at = self.now + self.progress_every;
            } else {
                self.heed(yard.floor, control, self.now)?;
            }
            let until = (self.now + lookahead).min(self.pause_at);
            let window = Window { begin: self.now, until, next_until: until, lookahead };
            if std::mem::take(&mut fresh) {
                crew.work(Shift { window, parity, hand_over_only: true });
            }
            self.wake_loads(yard, until);
            if self.roster.stopped() {
                self.heed(yard.floor, control, self.now)?;
            }
            // Cells hand nothing over beyond a pause, so that an observer finds each packet in its place.
            let next_until = (until + lookahead).min(self.pause_at);
            crew.work(Shift { window: Window { next_until, ..window }, parity, hand_over_only: false });
            self.measure(yard);
            self.settle(yard);
            parity = 1 - parity;
            self.now = until;
            if self.now >= self.pause_at {
                self.pause_cells(yard, crew, control)?;
                fresh = true;
            } else {
                let loads = self.loads.iter().map(|load| load.wake_at).min().unwrap_or(Time::MAX);
                self.now = yard.soonest(parity, until).min(loads).min(self.pause_at).max(until);
                if self.now >= self.pause_at {
                    self.pause_cells(yard, crew, control)?;
                    fresh = true;
                }
            }
        }
        Ok(())
    }

    fn pause_cells(&mut self, yard: &Yard<'_>, crew: &Crew<'_>, control: &Control) -> Result<(), RunError> {
        if !self.warm && self.now >= self.warmup {
            crew.each_hand(|hand| hand.waits.iter_mut().for_each(ClassRecord::clear));
        }
        self.pause(yard.floor, control)
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
    fn measure(&mut self, yard: &Yard<'_>) {
        let work = || yard.work.iter().map(|work| work.load(Ordering::Relaxed));
        let (all, most) = (work().sum::<u64>(), work().max().unwrap_or(0));
        yard.measure(self.threads > 1 && self.effort.windows.is_multiple_of(SHARE_EVERY));
        self.effort.windows += u64::from(all > 0);
        self.effort.events += all;
        self.effort.longest += most;
        for (bound, cores) in self.effort.bounds.iter_mut().zip(CORES) {
            *bound += most.max(all.div_ceil(cores));
        }
    }

    /// Does the work across cells: losses are told to senders, connections end.
    fn settle(&mut self, yard: &Yard<'_>) {
        let mut noted = std::mem::take(&mut *locked(&yard.noted));
        noted.sort_unstable();
        noted.dedup();
        let (mut over, mut changes) = (vec![], vec![]);
        for number in &noted {
            let cell = &mut *locked(&yard.floor.cells[*number as usize]);
            changes.append(&mut cell.network.changes);
            over.append(&mut cell.hosts.over);
            cell.hosts.news = false;
        }
        let commons = yard.floor.commons.read().unwrap_or_else(PoisonError::into_inner);
        for change in &changes {
            let (cell, place) = commons.connections[change.flow as usize].sender;
            let hosts = &mut locked(&yard.floor.cells[cell as usize]).hosts;
            hosts.on_change(change, place);
            over.append(&mut hosts.over);
            hosts.news = false;
        }
        drop(commons);
        over.sort_unstable();
        self.end_connections(yard, &over);
    }

    /// Ends connections of `over` that are; the last of a connection's times is the one that counts.
    fn end_connections(&mut self, yard: &Yard<'_>, over: &[(Time, FlowId)]) {
        let mut last = std::collections::BTreeMap::new();
        over.iter().for_each(|(at, id)| _ = last.insert(*id, *at));
        let mut ends: Vec<(Time, FlowId)> = last.into_iter().map(|(id, at)| (at, id)).collect();
        ends.sort_unstable();
        for (at, id) in ends {
            Self::connections(&mut self.roster, yard.floor, at).release_if_over(id);
        }
    }
}
