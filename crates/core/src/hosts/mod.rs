//! The hosts: their connections, messages and timeouts, and the records of them.

mod facts;
pub mod flows;
pub mod records;
pub mod timeouts;

pub use facts::{FlowId, MessageDone, Pair, Write};
pub use timeouts::TimeoutCounts;
