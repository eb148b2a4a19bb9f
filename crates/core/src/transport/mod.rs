//! TCP: sender, receiver, recovery, timers; queue pairs of RoCEv2, in `roce`; NDP, in `ndp`; ExpressPass, in
//! `expresspass`; Homa, in `homa`; Ultra
//! Ethernet's, in `uec`; datagrams, in `datagram`. Congestion
//! controls are apart, in `cc`.

pub mod acks;
pub mod by_count;
pub mod by_time;
pub mod config;
pub mod cutting;
pub mod datagram;
pub mod detection;
pub mod entropy;
pub mod explicit;
pub mod expresspass;
pub mod half;
pub mod halves;
pub mod homa;
mod info;
pub mod ndp;
pub mod prediction;
pub mod profiles;
mod prr;
pub mod rack;
pub mod ranges;
mod rate_limited;
pub mod rates;
pub mod receiver;
pub mod recovery;
mod resume;
pub mod roce;
pub mod rtt;
pub mod scoreboard;
pub mod sender;
pub mod sending;
pub mod settings;
mod small_queues;
pub mod timers;
pub mod uec;
mod usage;
pub mod window;

pub use config::{Config, TransportKind};
pub use half::State;
pub use halves::{AnyReceiver, AnySender};
pub use info::CA_STATES;
pub use profiles::Transport;
pub use receiver::Receiver;
pub use sender::Sender;
