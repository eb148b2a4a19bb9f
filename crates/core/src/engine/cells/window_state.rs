//! The state of a run of several cells, which its threads share, and the work of one cell in one window.

use super::partition::Partition;
use super::sides::Sides;
use super::workers::Work;
use crate::engine::SharedCells;
use crate::hosts::cell::Cell;
use crate::hosts::connections::locked;
use crate::hosts::facts::ClassRecord;
use crate::hosts::window::{Window, WindowScratch};
use crate::net::{Directory, Mailbox, Mailboxes, Network};
use shallows_units::{Span, Time};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A window for all workers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Task {
    pub window: Window,
    /// Whose turn it is.
    pub turn: usize,
    /// The cells of the other turn only hand over.
    pub hand_over_only: bool,
}

impl Task {
    /// The turn whose cells do something.
    fn turn_at_work(&self) -> usize {
        if self.hand_over_only { 1 - self.turn } else { self.turn }
    }
}

/// The data that the workers share.
pub(super) struct WindowState<'a> {
    pub shared: &'a SharedCells,
    pub sides: Sides,
    pub lookahead: Span,
    /// By turn, then by cell: the packets that land in it.
    mailboxes: [Vec<Mutex<Mailbox>>; 2],
    has_mail: [Vec<AtomicBool>; 2],
    /// By cell: when it must work, in ps.
    pub due: Vec<AtomicU64>,
    /// By cell: events in this window.
    work: Vec<AtomicU64>,
    /// Cells in which something has happened that concerns others.
    pub noted: Mutex<Vec<u32>>,
    /// By cell: events so far; and by turn and thread: where its share of the turn's cells ends.
    measured: Mutex<(Vec<u64>, [Vec<usize>; 2])>,
}

/// The data of one worker.
#[derive(Default)]
pub(super) struct WorkerLocal {
    scratch: WindowScratch,
    mailbox: Mailbox,
    pub waits: Vec<ClassRecord>,
}

impl WorkerLocal {
    /// Empty, with room for the waits of so many classes.
    pub fn new(classes: usize) -> Self {
        WorkerLocal { waits: vec![ClassRecord::default(); classes], ..WorkerLocal::default() }
    }
}

/// Hands packets over to the cells' mailboxes of one turn.
struct TurnMailboxes<'a> {
    mailboxes: &'a [Mutex<Mailbox>],
    has_mail: &'a [AtomicBool],
}

impl Mailboxes for TurnMailboxes<'_> {
    #[inline(always)]
    fn open(&self, cell: u32, put: impl FnOnce(&mut Mailbox)) {
        put(&mut locked(&self.mailboxes[cell as usize]));
        self.has_mail[cell as usize].store(true, Ordering::Relaxed);
    }
}

impl<'a> WindowState<'a> {
    pub fn new(shared: &'a SharedCells, partition: &Partition, sides: Sides) -> Self {
        let directory = shared.directory.read().unwrap_or_else(PoisonError::into_inner);
        let fastest = directory.links.iter().map(|(rate, _)| *rate).max();
        let lookahead = sides.step(partition.lookahead, fastest);
        drop(directory);
        let cells = shared.cells.len();
        let mailboxes = || (0..cells).map(|_| Mutex::default()).collect();
        let has_mail = || (0..cells).map(|_| AtomicBool::new(false)).collect();
        let numbers = || (0..cells).map(|_| AtomicU64::new(0)).collect();
        WindowState {
            shared,
            sides,
            lookahead,
            mailboxes: [mailboxes(), mailboxes()],
            has_mail: [has_mail(), has_mail()],
            due: numbers(),
            work: numbers(),
            noted: Mutex::default(),
            measured: Mutex::new((vec![0; cells], Default::default())),
        }
    }

    /// Works one cell in one window, or only hands over from it.
    fn work_cell(&self, number: usize, task: &Task, local: &mut WorkerLocal, directory: &Directory) {
        let mailboxes_of =
            |turn: usize| TurnMailboxes { mailboxes: &self.mailboxes[turn], has_mail: &self.has_mail[turn] };
        if task.hand_over_only {
            let cell = &mut locked(&self.shared.cells[number]);
            cell.network.now = task.window.begin;
            let due = cell.hand_over(task.window.until, self.lookahead, &mailboxes_of(task.turn), directory);
            self.due[number].store(due.as_ps(), Ordering::Relaxed);
            self.note(number, cell);
            return;
        }
        let called = self.has_mail[task.turn][number].swap(false, Ordering::Relaxed);
        if !called && self.due[number].load(Ordering::Relaxed) >= task.window.until.as_ps() {
            self.work[number].store(0, Ordering::Relaxed);
            return;
        }
        let cell = &mut *locked(&self.shared.cells[number]);
        std::mem::swap(&mut local.mailbox, &mut locked(&self.mailboxes[task.turn][number]));
        std::mem::swap(&mut local.waits, &mut cell.hosts.waits);
        let before = cell.handled;
        let next = &mailboxes_of(1 - task.turn);
        let due = cell.work(task.window, &mut local.mailbox, &mut local.scratch, next, directory);
        std::mem::swap(&mut local.waits, &mut cell.hosts.waits);
        self.due[number].store(due.as_ps(), Ordering::Relaxed);
        self.work[number].store(cell.handled - before, Ordering::Relaxed);
        self.note(number, cell);
    }

    /// Keeps the number of a cell in which something has happened that concerns others.
    fn note(&self, number: usize, cell: &Cell) {
        let Network { abroad, changes, .. } = &cell.network;
        if cell.hosts.has_notices || !abroad.is_empty() || !changes.is_empty() {
            locked(&self.noted).push(number as u32);
        }
    }

    /// Notes for all cells when they must work: links have changed between windows. The losses concern other cells, and
    /// a sender may send since its host's port is empty, also in a cell that had nothing left to do.
    pub fn note_all(&self) {
        for (number, cell) in self.shared.cells.iter().enumerate() {
            let cell = &mut locked(cell);
            self.due[number].fetch_min(cell.network.events.next_at().as_ps(), Ordering::Relaxed);
            self.note(number, cell);
        }
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
        let has_mail = self.has_mail.iter().flatten().any(|has_mail| has_mail.load(Ordering::Relaxed));
        let due = self.due.iter().map(|due| Time::ps(due.load(Ordering::Relaxed)));
        if has_mail { None } else { due.min() }
    }
}

impl Work for &WindowState<'_> {
    type Task = Task;
    type Local = WorkerLocal;

    /// By the measured work of the cells.
    fn shares(&self, task: &Task, workers: usize) -> Vec<usize> {
        let turn = task.turn_at_work();
        let cells = self.sides.cells[turn].len();
        let ends = &mut locked(&self.measured).1[turn];
        if ends.len() != workers {
            *ends = (1..=workers).map(|i| i * cells / workers).collect();
        }
        ends.clone()
    }

    fn work(&self, task: &Task, local: &mut WorkerLocal, items: impl Iterator<Item = usize>) {
        let directory = self.shared.directory.read().unwrap_or_else(PoisonError::into_inner);
        let cells = &self.sides.cells[task.turn_at_work()];
        items.for_each(|item| self.work_cell(cells[item] as usize, task, local, &directory));
    }
}
