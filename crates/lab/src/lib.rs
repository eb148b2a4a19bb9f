//! The laboratory without a server: an experiment's text goes in; its faults, its film and the hash of its tables come out.
//!
//! `crates/wasm` gives this to a browser, and tests run it natively. No files, clock, threads or printing.

pub mod digest;
pub mod document;
pub mod film;
pub mod layout;
pub mod session;

pub use session::Session;
