//! The worker pool under a model checker. Loom runs each test in every order that its threads can take, with every value that a
//! relaxed read may return; a bound on preemptions keeps the largest to some seconds. The pool is the source file of the engine, compiled
//! with loom's locks and atomics in place of the standard library's.

use loom::sync::Arc;
use std::panic::{AssertUnwindSafe, catch_unwind};
use sync::{AtomicUsize, Ordering};
use workers::{Shutdown, Work, WorkerPool};

#[path = "../src/engine/cells/workers.rs"]
#[allow(dead_code)] // `with_workers` needs scoped threads, which loom has none of: `with_pool` does the same
mod workers;

/// In place of `engine/cells/sync.rs`.
mod sync {
    pub use loom::hint::spin_loop;
    pub use loom::sync::atomic::{AtomicUsize, Ordering};
    pub use loom::sync::{Condvar, Mutex, MutexGuard};
    pub use std::sync::PoisonError;

    /// One look before the lock, and one behind it.
    pub const SPINS: u32 = 1;
}

/// Items that count how often they were worked. A relaxed read and a relaxed write apart lose a count if two workers have one
/// item, and read an old one if the pool does not order a task before the next, or before its return.
struct Counters {
    counts: Vec<AtomicUsize>,
    /// The item whose work panics.
    broken: Option<usize>,
}

impl Work for Counters {
    type Task = usize;
    type Local = usize;

    /// The first worker has all, so that the others help.
    fn shares(&self, _: &usize, workers: usize) -> Vec<usize> {
        vec![self.counts.len(); workers]
    }

    fn work(&self, task: &usize, local: &mut usize, items: impl Iterator<Item = usize>) {
        for item in items {
            assert_ne!(self.broken, Some(item), "item {item} is broken");
            let count = &self.counts[item];
            count.store(count.load(Ordering::Relaxed) + task, Ordering::Relaxed);
            *local += 1;
        }
    }
}

/// Runs `lead` beside the other `workers`, in each order; they have ended when it returns.
fn explore(
    (workers, items, broken): (usize, usize, Option<usize>),
    preemptions: Option<usize>,
    lead: impl Fn(&WorkerPool<Counters>) + Send + Sync + 'static,
) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = preemptions;
    model.check(move || {
        let work = Counters { counts: (0..items).map(|_| AtomicUsize::new(0)).collect(), broken };
        let pool = Arc::new(WorkerPool::new(work, vec![0; workers]));
        let serve = |me| {
            let pool = pool.clone();
            loom::thread::spawn(move || pool.worker_loop(me))
        };
        let others: Vec<_> = (1..workers).map(serve).collect();
        let shutdown = Shutdown(&pool);
        lead(&pool);
        drop(shutdown);
        others.into_iter().for_each(|other| other.join().expect("a worker's panic goes to the lead"));
    });
}

fn counts(pool: &WorkerPool<Counters>) -> Vec<usize> {
    pool.work.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect()
}

/// Two tasks, worth 1 and 10: each item is worked once by each, the second after the first, and the lead sees both.
#[test]
fn each_task_works_each_item_once_before_the_lead_goes_on() {
    explore((2, 2, None), Some(4), |pool| {
        pool.run(1);
        assert_eq!(counts(pool), [1, 1]);
        pool.run(10);
        assert_eq!(counts(pool), [11, 11]);
    });
}

#[test]
fn three_workers_share_the_items_of_a_task() {
    explore((3, 2, None), Some(2), |pool| {
        pool.run(1);
        assert_eq!(counts(pool), [1, 1]);
        let items = loom::sync::atomic::AtomicUsize::new(0);
        pool.each_local(|local| _ = items.fetch_add(*local, Ordering::Relaxed));
        assert_eq!(items.load(Ordering::Relaxed), 2);
    });
}

/// The lead ends without a task, as a run does that is cancelled before its first window.
#[test]
fn workers_end_though_they_never_had_a_task() {
    explore((3, 1, None), None, |_| {});
}

/// The lead panics, whichever worker meets the broken item, once all workers are done, and the pool can be shut down.
#[test]
fn a_panic_of_any_worker_reaches_the_lead() {
    explore((2, 2, Some(1)), Some(3), |pool| {
        let cause = catch_unwind(AssertUnwindSafe(|| pool.run(1))).expect_err("an item is broken");
        let text = cause.downcast_ref::<String>().expect("a text");
        assert!(text.contains("in a thread of the run: ") && text.contains("item 1 is broken"), "{text}");
    });
}
