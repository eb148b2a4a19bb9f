//! Parts that the ports of a switch share: memory, and the controllers of protocols with explicit feedback.

mod controlled;
pub mod shared_buffer;
