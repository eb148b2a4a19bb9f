//! Watching and stopping a run from another thread.

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

    /// A control that calls `on_pause` at every pause of the run (some hundred times), in its thread.
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
