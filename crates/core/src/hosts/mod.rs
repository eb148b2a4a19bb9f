//! The hosts: their connections, messages and timeouts, and the records of them; the cells in which they work.

mod bundles;
pub mod cell;
pub mod connections;
pub mod ends;
pub mod facts;
mod foresight;
mod grants;
mod places;
mod pulls;
pub mod records;
mod roster;
pub mod timeouts;
pub mod window;
pub mod work;

pub use connections::CONNECTION_BYTES;
pub use facts::{FlowId, MessageDone, Pair, TimeoutCounts, Write};
