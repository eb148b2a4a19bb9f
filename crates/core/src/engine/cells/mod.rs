//! The cells into which a network is cut, and the threads that work them.

pub mod layout;
pub mod partition;
mod sides;
mod single;
mod sync;
mod window_state;
mod windows;
mod workers;

/// Numbers of cores whose least time the manifest has.
pub const CORES: [u64; 4] = [2, 4, 16, 64];

/// Simulated work, for the manifest.
#[derive(Debug, Clone, Copy, Default)]
pub struct Effort {
    /// Windows in which something was done.
    pub windows: u64,
    /// Events of all cells.
    pub events: u64,
    /// Sum over windows of the most events of one cell.
    pub longest: u64,
    /// And of the mean of the cells whose turn it was.
    pub mean: f64,
    /// Sum over windows of the least work of so many cores, by [`CORES`].
    pub bounds: [u64; CORES.len()],
}
