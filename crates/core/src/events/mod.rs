//! The base of everything that runs: future events, and random numbers.

pub mod queue;
pub mod random;

pub use queue::{EVENT_BYTES, Event, EventQueue, MAX_SOURCES, Source};
