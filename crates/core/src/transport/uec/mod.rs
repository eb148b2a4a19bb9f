//! Ultra Ethernet's transport (UET): packets over many paths, selective repair, reports of trimmed packets.
//!
//! Source: Ultra Ethernet Specification 1.0.3 s.3.5 (delivery) and 3.6.12 to 3.6.16, through public notes on it; where it leaves
//! something open, the consortium's simulator (`ultraethernet/uet-htsim`, 40ccb05, uec.cpp). The mode is that of requests that are
//! delivered reliably and in any order (RUD): a receiver keeps whatever comes, and says how many bytes that was.
//! It answers after `ack_bytes`, after a mark, when asked, and at its first packet. A trimmed packet is reported at once, and
//! goes again before new data. A packet without report and acknowledgement waits for its timer.
//! Each packet carries an entropy value, from which switches hash its path (`entropy/`).
//! On a card with several ports it decides the port, too (`card.rs`); an answer goes back by the port that its packet's value names.
//! With `receiver_credit` a packet also needs credit of its receiver (`credit.rs`).
//! An answer has the packet's number and time, all bytes so far, and a map of 64 packets from a base.
//!
//! Ours, where the source leaves it open: a packet behind which nothing is to be sent asks for an answer, and one that is sent
//! again. The map counts packets of the full size, so that a shorter one shows once all of its place has come.
//!
//! Left out: the modes ROD, RUDI and UUD; rendezvous; a context for several queue pairs to a peer (CCC), so that each connection is
//! controlled alone.

mod card;
pub mod credit;
mod receiver;
mod round_trips;
mod sender;
pub mod settings;
mod sleek;
pub mod wire;

pub use receiver::UecReceiver;
pub use sender::UecSender;
pub use settings::{PROFILE, Rules, UecSettings};
