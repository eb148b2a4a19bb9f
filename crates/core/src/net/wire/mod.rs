//! The wire behind a port: its far end, injected faults, links that change, and wires between cells.

pub mod crossing;
mod far_end;
pub mod faults;
mod links;
