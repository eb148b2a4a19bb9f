//! Packets of ExpressPass: their kinds as header bits. A credit is [`Flags::CREDIT`](crate::packet::Flags::CREDIT).
//!
//! Source: Cho et al. 2017 s.3.1, fig. 7: credit request, credit, credit stop.

use crate::packet::Flags;

/// The sender has data and wants credits. Header only.
pub const REQUEST: Flags = Flags::PROBE;
/// The sender has sent all up to its number and wants no more credits. Header only.
pub const STOP: Flags = Flags::PROBE.with(Flags::FIN);
/// On the way back: the answer to a stop.
pub const ANSWER: Flags = Flags::ACK.with(Flags::REVERSE);
