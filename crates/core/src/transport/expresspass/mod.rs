//! ExpressPass: receivers send credits at a rate, switches let as many through as data fit the links, and each credit lets a packet out.
//!
//! Source: Cho, Jang and Han 2017, "Credit-Scheduled Delay-Bounded Congestion Control for Datacenters" (SIGCOMM) s.3, with the
//! constants of the authors' simulator (github.com/kaist-ina/ns2-xpass) where the paper has none. A sender with data sends a credit
//! request. The receiver then sends credits of 84 bytes, paced with jitter, at a rate that its feedback control sets
//! ([`feedback`]). Each port meters credits so that the packets that they ask for fill the link of the way there, and drops those for
//! which its tiny queue has no room (`queue/credit.rs`). A credit that comes lets one packet out; a sender without data sends a
//! credit stop. Packets carry their credit's number, by whose gaps the receiver counts losses of credits.
//! Data and credits must take the same links: where there are several shortest paths, `ecmp = "symmetric"` does that.
//!
//! Ours: credits carry the number of the next byte expected, and the first gap behind it, whose packets go again for later credits. The
//! authors' simulator sends a NACK instead. A receiver answers a credit stop, and the stop goes again without an answer, since packets may
//! be lost to faults. Credits for a sender that is silent end after `patience`.
//! The authors' simulator draws sizes of credits too (76 to 92 bytes); here the jitter alone keeps flows from losing in step.
//!
//! Left out: random sizes of credits; the smaller first rate of flows below 40 packets, which the authors' simulator has; several
//! credits' classes; data before the first credit.

pub mod feedback;
mod receiver;
mod sender;
pub mod settings;
pub mod wire;

pub use receiver::CreditReceiver;
pub use sender::CreditSender;
pub use settings::{ExpressPassSettings, PROFILE, Rules};
