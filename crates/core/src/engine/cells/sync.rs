//! The locks and atomics of the worker pool, which its model test replaces by those of a model checker.

pub use std::hint::spin_loop;
pub use std::sync::atomic::{AtomicUsize, Ordering};
pub use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Times that a waiting thread looks before it sleeps: some ten microseconds, less than a window takes.
pub const SPINS: u32 = 2000;
