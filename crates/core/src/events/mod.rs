//! The ground that everything at work stands on: the events to come, and random numbers.

pub mod queue;
pub mod random;

pub use queue::{EVENT_BYTES, Event, EventQueue, MAX_SOURCES, Source};
