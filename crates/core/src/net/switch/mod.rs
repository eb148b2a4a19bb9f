//! What a switch shares among its ports or sets over them: memory, and the controllers of protocols with explicit feedback.

mod controlled;
pub mod shared_buffer;
