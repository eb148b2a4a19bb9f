//! The memory that a switch shares among its ports, and the controllers of protocols with explicit feedback.

mod controlled;
pub mod shared_buffer;
