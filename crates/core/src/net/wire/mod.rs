//! The wire behind a port: its far end, injected faults, links that change, and wires between cells.

pub mod bursts;
pub mod crossing;
mod far_end;
pub mod faults;
pub mod jitter;
mod links;
pub mod trace;
