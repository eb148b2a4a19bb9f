//! Homa: messages begin without asking, and receivers grant the rest, shortest first, on priorities that they choose.
//!
//! Source: Montazeri et al. 2018, "Homa: A Receiver-Driven Low-Latency Transport Protocol Using Network Priorities" (SIGCOMM)
//! s.3, with the constants of its authors' simulator (`PlatformLab/HomaSimulation`, ab09ecb). The first `rtt_bytes` of a message
//! leave at once (s.3.2). For the rest the receiver sends grants, so that `rtt_bytes` of each active message are on the way
//! (s.3.3). It grants to the messages with least left, one of each sender, to `overcommitment` of them at a time (s.3.5;
//! `hosts/grants.rs`). Unscheduled packets have a priority by the size of their message, and scheduled ones that of
//! the last grant: least left is highest, and the lowest levels are used first (s.3.4). A receiver asks for missing bytes
//! by RESEND after `timeout` (s.3.7).
//!
//! Ours: a message has no answer, so that its receiver says when it is whole, and a sender to which nothing comes sends its first
//! packet again after `timeout`, as a client of the paper asks again. Priorities are those of the experiment's sections. A
//! repeated packet has the priority that it had. Messages of one connection are reported in the order in which they were written.
//! Senders send the message with least left first by the discipline of their hosts' ports, within a priority.
//!
//! Left out: cut-offs and numbers of levels that receivers measure while they run: they are settings; the limit on unscheduled bytes in
//! an incast of a client's own making (s.3.6); a share of the link for the oldest message.

mod receiver;
mod sender;
pub mod settings;

pub use receiver::HomaReceiver;
pub use sender::HomaSender;
pub use settings::{HomaSettings, PROFILE, Rules};

use crate::packet::Flags;

/// Grants, on the way back. The number is that up to which the sender may send, and the extension has the message up to there,
/// and the priority.
pub const GRANT: Flags = Flags::PROBE;
/// Asks for what is missing, on the way back: the bytes stand in the extension.
pub const RESEND: Flags = Flags::ECE;
/// On the way there: what was asked for has not been sent yet.
pub const BUSY: Flags = Flags::PROBE;
