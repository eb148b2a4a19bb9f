//! A pool of threads that work the items of one task after another: each worker begins with its own share, then takes what is
//! left of the others' shares.
//!
//! | who | does |
//! |---|---|
//! | lead: [`WorkerPool::run`] | sets `shares` and `task`, sets `busy` to the number of workers, counts `task_number` up, wakes all |
//! | all | take items from `shares` until none is left, then count `busy` down; the last one wakes the lead |
//! | lead | waits until `busy` is 0: whatever the workers wrote is visible to it from here on |
//! | lead: [`Shutdown`] | leaves no `task` and counts `task_number` up: each worker returns |
//!
//! `tests/worker_pool.rs` compiles this file with the locks and atomics of a model checker, which explores the orders in which
//! the threads may run. So it uses nothing of the crate but [`super::sync`].

use super::sync::{AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, PoisonError, SPINS, spin_loop};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The work that a pool does.
pub trait Work: Sync {
    /// The work that all workers do until they meet again.
    type Task: Copy + Send;
    /// The data of one worker.
    type Local: Send;

    /// Where the share of each of `workers` ends among the items of `task`, which are numbered from 0.
    fn shares(&self, task: &Self::Task, workers: usize) -> Vec<usize>;

    /// Works the `items` of `task` that one worker gets.
    fn work(&self, task: &Self::Task, local: &mut Self::Local, items: impl Iterator<Item = usize>);
}

/// The threads of a run.
pub struct WorkerPool<W: Work> {
    /// The parts of a task.
    pub work: W,
    locals: Vec<Mutex<W::Local>>,
    /// By worker: the next item of its share, and the end of the share.
    shares: Vec<(AtomicUsize, AtomicUsize)>,
    /// Counts the tasks; the last one ends the threads.
    task_number: AtomicUsize,
    task: Mutex<Option<W::Task>>,
    /// Workers that have not finished the task.
    busy: AtomicUsize,
    /// Held while something changes for which a thread may sleep.
    sleep: Mutex<()>,
    wake: Condvar,
    /// The first panic of a worker.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// The lock's content; a panic is passed on to the lead, which ends the run.
fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<W: Work> WorkerPool<W> {
    /// A worker for each of `locals`. Worker 0 is the thread that calls [`WorkerPool::run`].
    pub fn new(work: W, locals: Vec<W::Local>) -> Self {
        WorkerPool {
            work,
            shares: locals.iter().map(|_| (AtomicUsize::new(0), AtomicUsize::new(0))).collect(),
            locals: locals.into_iter().map(Mutex::new).collect(),
            task_number: AtomicUsize::new(0),
            task: Mutex::new(None),
            busy: AtomicUsize::new(0),
            sleep: Mutex::new(()),
            wake: Condvar::new(),
            panic: Mutex::new(None),
        }
    }

    /// Runs `lead` in this thread, with the others ready for [`WorkerPool::run`]. They have ended when this returns or panics.
    pub fn with_workers<T>(&self, lead: impl FnOnce(&Self) -> T) -> T {
        std::thread::scope(|scope| {
            let _shutdown = Shutdown(self);
            for me in 1..self.locals.len() {
                scope.spawn(move || self.worker_loop(me));
            }
            lead(self)
        })
    }

    /// The workers' data, after all tasks.
    pub fn into_locals(self) -> Vec<W::Local> {
        self.locals
            .into_iter()
            .map(|local| local.into_inner().unwrap_or_else(PoisonError::into_inner))
            .collect()
    }

    /// Applies `act` to each worker's data, between tasks.
    pub fn each_local(&self, act: impl Fn(&mut W::Local)) {
        self.locals.iter().for_each(|local| act(&mut locked(local)));
    }

    /// All workers do `task`; it is done when this returns.
    ///
    /// # Panics
    ///
    /// With the message of the first worker that panicked.
    pub fn run(&self, task: W::Task) {
        self.assign_shares(&task);
        if self.locals.len() == 1 {
            return self.run_share(0, &task);
        }
        *locked(&self.task) = Some(task);
        self.busy.store(self.locals.len(), Ordering::Release);
        self.notify(|| _ = self.task_number.fetch_add(1, Ordering::Release));
        self.run_and_report(0, &task);
        self.wait(|| self.busy.load(Ordering::Acquire) == 0);
        if let Some(cause) = locked(&self.panic).take() {
            let text = cause.downcast_ref::<String>().map(String::as_str);
            let text = text.or(cause.downcast_ref::<&str>().copied()).unwrap_or("no message");
            panic!("in a thread of the run: {text}");
        }
    }

    /// Every worker gets neighbouring items with equal parts of the work measured before.
    fn assign_shares(&self, task: &W::Task) {
        let mut begin = 0;
        for ((next, end), until) in self.shares.iter().zip(self.work.shares(task, self.shares.len())) {
            next.store(begin, Ordering::Relaxed);
            end.store(until, Ordering::Relaxed);
            begin = until;
        }
    }

    /// Worker `me`, not the lead, does task after task until the pool is shut down.
    pub fn worker_loop(&self, me: usize) {
        let mut done = 0;
        loop {
            self.wait(|| self.task_number.load(Ordering::Acquire) != done);
            done = self.task_number.load(Ordering::Acquire);
            let Some(task) = *locked(&self.task) else { return };
            self.run_and_report(me, &task);
        }
    }

    /// Does a share and counts the worker as done, even if it panics.
    fn run_and_report(&self, me: usize, task: &W::Task) {
        if let Err(cause) = catch_unwind(AssertUnwindSafe(|| self.run_share(me, task))) {
            locked(&self.panic).get_or_insert(cause);
        }
        if self.busy.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.notify(|| {});
        }
    }

    /// Works the items of the own share, then those left of the others'.
    fn run_share(&self, me: usize, task: &W::Task) {
        let workers = self.shares.len();
        let items = (0..workers).flat_map(|i| {
            let (next, end) = &self.shares[(me + i) % workers];
            let end = end.load(Ordering::Relaxed);
            std::iter::from_fn(move || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|item| *item < end))
        });
        self.work.work(task, &mut locked(&self.locals[me]), items);
    }

    /// Changes something for which others may wait.
    fn notify(&self, change: impl FnOnce()) {
        let _asleep = locked(&self.sleep);
        change();
        self.wake.notify_all();
    }

    /// Waits until `ready`: spins for a moment, then sleeps.
    fn wait(&self, ready: impl Fn() -> bool) {
        for _ in 0..SPINS {
            if ready() {
                return;
            }
            spin_loop();
        }
        let mut asleep = locked(&self.sleep);
        while !ready() {
            asleep = self.wake.wait(asleep).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Ends the workers' loops when it is dropped.
pub struct Shutdown<'a, W: Work>(pub &'a WorkerPool<W>);

impl<W: Work> Drop for Shutdown<'_, W> {
    fn drop(&mut self) {
        *locked(&self.0.task) = None;
        self.0.notify(|| _ = self.0.task_number.fetch_add(1, Ordering::Release));
    }
}
