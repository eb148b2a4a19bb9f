//! The state of a run of several cells, which its threads share, and the work of one cell in one window.

use super::partition::Partition;
use super::sides::Sides;
use crate::engine::Floor;
use crate::hosts::cell::Cell;
use crate::hosts::connections::locked;
use crate::hosts::facts::ClassRecord;
use crate::hosts::window::{Bench, Window};
use crate::net::{Commons, Inbox, Post};
use shallows_units::{Span, Time};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The work of all threads until they meet again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shift {
    pub window: Window,
    /// Whose turn it is.
    pub turn: usize,
    /// The cells of the other turn only hand over.
    pub hand_over_only: bool,
}

impl Shift {
    /// The turn whose cells do something.
    pub fn of(&self) -> usize {
        if self.hand_over_only { 1 - self.turn } else { self.turn }
    }
}

/// The data that threads share.
pub(super) struct Yard<'a> {
    pub floor: &'a Floor,
    pub sides: Sides,
    pub lookahead: Span,
    /// By turn, then by cell: the packets that land in it.
    inboxes: [Vec<Mutex<Inbox>>; 2],
    mail: [Vec<AtomicBool>; 2],
    /// By cell: when it must work, in ps.
    pub due: Vec<AtomicU64>,
    /// By cell: events in this window.
    work: Vec<AtomicU64>,
    /// Cells that have something to tell.
    pub noted: Mutex<Vec<u32>>,
    /// By cell: events so far; and by turn and thread: where its share of the turn's cells ends.
    measured: Mutex<(Vec<u64>, [Vec<usize>; 2])>,
}

/// The data of one thread.
#[derive(Default)]
pub(super) struct Hand {
    bench: Bench,
    inbox: Inbox,
    pub waits: Vec<ClassRecord>,
}

impl Hand {
    /// Empty, with room for the waits of so many classes.
    pub fn new(classes: usize) -> Self {
        Hand { waits: vec![ClassRecord::default(); classes], ..Hand::default() }
    }
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
    pub fn new(floor: &'a Floor, partition: &Partition, sides: Sides) -> Self {
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
    pub fn note_all(&self) {
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
    pub fn measure(&self, turn: usize, again: bool) {
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
    pub fn worked(&self, turn: usize) -> impl Iterator<Item = u64> {
        self.sides.cells[turn].iter().map(|cell| self.work[*cell as usize].load(Ordering::Relaxed))
    }

    /// The soonest time at which a cell must work; nothing is known of it while any has mail.
    pub fn soonest(&self) -> Option<Time> {
        let mail = self.mail.iter().flatten().any(|mail| mail.load(Ordering::Relaxed));
        let due = self.due.iter().map(|due| Time::ps(due.load(Ordering::Relaxed)));
        if mail { None } else { due.min() }
    }
}
