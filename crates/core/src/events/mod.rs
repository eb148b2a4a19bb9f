//! The base of everything that runs: future events, random numbers, and hints to the processor.

pub mod fetch;
pub mod queue;
pub mod random;
pub mod spread;
mod tournament;

pub use queue::{EVENT_BYTES, Event, EventQueue, MAX_SOURCES, Source, Wire};
