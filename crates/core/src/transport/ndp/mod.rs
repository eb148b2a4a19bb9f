//! NDP: senders begin at once, switches trim, and receivers pull.
//!
//! Source: Handley et al. 2017, "Re-architecting datacenter networks and stacks for low latency and high performance" (SIGCOMM)
//! s.3, with the constants and habits of the authors' simulator (`Broadcom/csg-htsim`, 841d9e7). A sender puts a first window
//! into its port without asking. A switch cuts payloads off where they do not fit (`queue/trimming.rs`), so that the receiver
//! learns of each packet, whole or not: it answers at once, with an acknowledgement or a NACK, and puts a pull into the queue
//! of its host. The host sends pulls, fair among its flows, just as fast as its link can carry the packets that they ask for.
//! After the first window a packet leaves for each pull, those to be sent again first. Pulls carry a running number, so that
//! the next one makes up for one that was lost.
//! Packets of a flow may take any path: the run's `ecmp` shares them out, `permutation` as the paper's senders do.
//!
//! Ours, where the paper speaks of single transfers: a connection to which more is written later goes on with what is left of
//! its first window and with the pulls that are due, and begins a new first window once everything has been answered. A packet
//! without an answer goes again after `timeout`, and one goes without a pull after `pull_timeout`; both double while
//! nothing comes.
//!
//! Left out: a penalty for paths with more NACKs than others; priorities among a receiver's flows; the first packets' handshake
//! state; the rate of pulls that follows from losses of headers.

mod receiver;
mod sender;
pub mod settings;
pub mod wire;

pub use receiver::NdpReceiver;
pub use sender::NdpSender;
pub use settings::{NdpSettings, PROFILE, Rules};
