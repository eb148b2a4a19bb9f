//! Threads that work the cells of a window: each begins with its own share, then helps the others.

use super::window_state::{Hand, Shift, Yard};
use crate::hosts::connections::locked;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// Looks that a waiting thread takes before it sleeps: some ten microseconds, less than a window takes.
const LOOKS: u32 = 2000;

/// The threads of a run.
pub(super) struct Crew<'a> {
    yard: &'a Yard<'a>,
    hands: Vec<Mutex<Hand>>,
    /// By thread: the place of the next cell of its share, and the end of it.
    shares: Vec<(AtomicUsize, AtomicUsize)>,
    /// Number of the shift, odd while it is worked; the last one ends the threads.
    turn: AtomicUsize,
    shift: Mutex<Option<Shift>>,
    busy: AtomicUsize,
    sleepers: Mutex<()>,
    bell: Condvar,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl<'a> Crew<'a> {
    /// A thread for each of `hands`, the caller's included.
    pub fn new(yard: &'a Yard<'a>, hands: Vec<Hand>) -> Self {
        Crew {
            yard,
            shares: hands.iter().map(|_| Default::default()).collect(),
            hands: hands.into_iter().map(Mutex::new).collect(),
            turn: AtomicUsize::new(0),
            shift: Mutex::new(None),
            busy: AtomicUsize::new(0),
            sleepers: Mutex::new(()),
            bell: Condvar::new(),
            panic: Mutex::new(None),
        }
    }

    /// Runs `lead` in this thread, with the others at its call; they are gone when this returns, however it does.
    pub fn employ<T>(&self, lead: impl FnOnce(&Self) -> T) -> T {
        std::thread::scope(|scope| {
            let _end = Dismissal(self);
            for me in 1..self.hands.len() {
                scope.spawn(move || self.serve(me));
            }
            lead(self)
        })
    }

    /// The data of the threads.
    pub fn dismiss(self) -> Vec<Hand> {
        self.hands.into_iter().map(|hand| hand.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
    }

    /// Does something with each thread's things.
    pub fn each_hand(&self, act: impl Fn(&mut Hand)) {
        self.hands.iter().for_each(|hand| act(&mut locked(hand)));
    }

    /// All cells do the work of `shift`.
    pub fn work(&self, shift: Shift) {
        self.share_out(shift.of());
        if self.hands.len() == 1 {
            return self.toil(0, &shift);
        }
        *locked(&self.shift) = Some(shift);
        self.busy.store(self.hands.len(), Ordering::Release);
        self.ring(|| _ = self.turn.fetch_add(1, Ordering::Release));
        self.guarded(0, &shift);
        self.wait(|| self.busy.load(Ordering::Acquire) == 0);
        if let Some(said) = locked(&self.panic).take() {
            let text = said.downcast_ref::<String>().map(String::as_str);
            let text = text.or(said.downcast_ref::<&str>().copied()).unwrap_or("no message");
            panic!("in a thread of the run: {text}");
        }
    }

    /// Every thread gets neighbouring cells with equal parts of the work measured before.
    fn share_out(&self, turn: usize) {
        let mut begin = 0;
        for ((next, end), until) in self.shares.iter().zip(self.yard.shares(turn, self.shares.len())) {
            next.store(begin, Ordering::Relaxed);
            end.store(until, Ordering::Relaxed);
            begin = until;
        }
    }

    fn serve(&self, me: usize) {
        let mut seen = 0;
        loop {
            self.wait(|| self.turn.load(Ordering::Acquire) != seen);
            seen = self.turn.load(Ordering::Acquire);
            let Some(shift) = *locked(&self.shift) else { return };
            self.guarded(me, &shift);
        }
    }

    /// Works and says when it is done, even if it panics.
    fn guarded(&self, me: usize, shift: &Shift) {
        if let Err(said) = catch_unwind(AssertUnwindSafe(|| self.toil(me, shift))) {
            locked(&self.panic).get_or_insert(said);
        }
        if self.busy.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.ring(|| {});
        }
    }

    /// Works the cells of its own share, then those left of others'.
    fn toil(&self, me: usize, shift: &Shift) {
        let commons = self.yard.floor.commons.read().unwrap_or_else(PoisonError::into_inner);
        let hand = &mut locked(&self.hands[me]);
        let cells = &self.yard.sides.cells[shift.of()];
        for i in 0..self.shares.len() {
            let (next, end) = &self.shares[(me + i) % self.shares.len()];
            let end = end.load(Ordering::Relaxed);
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                if place >= end {
                    break;
                }
                self.yard.visit(cells[place] as usize, shift, hand, &commons);
            }
        }
    }

    /// Changes something for which others may wait.
    fn ring(&self, change: impl FnOnce()) {
        let _quiet = locked(&self.sleepers);
        change();
        self.bell.notify_all();
    }

    /// Waits until `ready`: looks for a moment, then sleeps.
    fn wait(&self, ready: impl Fn() -> bool) {
        for _ in 0..LOOKS {
            if ready() {
                return;
            }
            std::hint::spin_loop();
        }
        let mut quiet = locked(&self.sleepers);
        while !ready() {
            quiet = self.bell.wait(quiet).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Ends the threads.
struct Dismissal<'a, 'b>(&'b Crew<'a>);

impl Drop for Dismissal<'_, '_> {
    fn drop(&mut self) {
        *locked(&self.0.shift) = None;
        self.0.ring(|| _ = self.0.turn.fetch_add(1, Ordering::Release));
    }
}
