//! TCP: sender, receiver, recovery, timers. Congestion controls are apart, in `cc`.

pub mod ranges;
pub mod receiver;
pub mod recovery;
pub mod rtt;
pub mod scoreboard;
pub mod sender;
pub mod settings;

pub use receiver::Receiver;
pub use sender::{Sender, State};
pub use settings::{Config, Transport};
