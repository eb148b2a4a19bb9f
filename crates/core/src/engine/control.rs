//! Watching and stopping a run from another thread, and the ways in which it can fail.

use super::deadlock::Deadlock;
use super::estimate::gb;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Shared between a run and its observers.
#[derive(Default)]
pub struct Control {
    cancelled: Arc<AtomicBool>,
    /// Share done, as bits of an `f64`.
    progress: AtomicU64,
    /// Called at every pause of the run, in its thread.
    on_pause: Option<Box<dyn Fn() + Send + Sync>>,
}

impl Control {
    /// Not started, not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, with something to do at every pause of the run (some hundred times), in its thread.
    pub fn with_pause(on_pause: impl Fn() + Send + Sync + 'static) -> Self {
        Control { on_pause: Some(Box::new(on_pause)), ..Self::default() }
    }

    /// Asks the run to stop soon.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Someone has asked it to stop.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// The flag that [`Control::cancel`] sets.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        self.cancelled.clone()
    }

    /// Share of the simulated time that has passed, 0 to 1.
    pub fn progress(&self) -> f64 {
        f64::from_bits(self.progress.load(Ordering::Relaxed))
    }

    /// Called by the run.
    pub(crate) fn report(&self, share: f64) {
        self.progress.store(share.to_bits(), Ordering::Relaxed);
        if let Some(on_pause) = &self.on_pause {
            on_pause();
        }
    }
}

/// The items of one kind that a run holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The kind of item.
    pub what: &'static str,
    /// How many there are.
    pub count: u64,
    /// Bytes of all.
    pub bytes: u64,
    /// A way to have fewer.
    pub cure: &'static str,
}

/// Why a run ended early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunError {
    /// It was stopped on request.
    Cancelled,
    /// A trace grew beyond `probe.trace_rows`.
    TraceTooLong(u64),
    /// Ports wait for each other for ever.
    Deadlock(Deadlock),
    /// More connections stood at once than one run can hold.
    TooManyFlows(usize),
    /// The run's items would take more memory than allowed.
    TooMuchHeld {
        /// The largest part.
        held: Held,
        /// Bytes of all parts.
        bytes: u64,
        /// Bytes that they may take.
        most: u64,
    },
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RunError::Cancelled => write!(f, "the run was cancelled"),
            RunError::TraceTooLong(rows) => write!(
                f,
                "a trace grew beyond {rows} rows: trace at a longer interval, fewer ports or classes, or raise probe.trace_rows"
            ),
            RunError::Deadlock(found) => write!(
                f,
                "{found}. Route without such a cycle, or write pfc.deadlock = \"watchdog\" or \"go-on\""
            ),
            RunError::TooMuchHeld { held, bytes, most } => write!(
                f,
                "the run holds {}, more than the {} it may take, of it {} for {} {}: {}, or give it more memory \
                 (--allow-memory, allow_memory=True)",
                gb(*bytes),
                gb(*most),
                gb(held.bytes),
                held.count,
                held.what,
                held.cure
            ),
            RunError::TooManyFlows(most) => {
                write!(
                    f,
                    "more than {most} connections were open at once: the load exceeds the capacity of the network"
                )
            }
        }
    }
}

impl std::error::Error for RunError {}
