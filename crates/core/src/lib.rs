//! The Shallows packet simulator.
pub mod params;
pub mod topology;
pub mod net;
