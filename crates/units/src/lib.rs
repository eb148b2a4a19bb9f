//! Quantities of a packet network, exact and of distinct types.
//!
//! | type | counts | written as |
//! |---|---|---|
//! | [`Time`] | picoseconds since the start of a run | `"25us"`: ps, ns, us, ms, s |
//! | [`Span`] | picoseconds between two times | as above |
//! | [`Rate`] | bits a second | `"10Gbps"`: bps, Kbps, Mbps, Gbps, Tbps |
//! | [`Bytes`] | bytes | `"150KB"`: B, KB, MB, GB, TB, and KiB, MiB, GiB |
//! | [`Size`] | bytes or packets | as [`Bytes`], or `"65pkt"` |
//!
//! All stand on `u64`: a run may last 213 days. In picoseconds a byte takes a whole number at every
//! Ethernet rate, see [`Rate::ps_per_byte`].
//!
//! Unit strings are read here and nowhere else, without floating point: a text means exactly one
//! number or is refused with the rule that it breaks. [`Display`](std::fmt::Display) gives the
//! canonical form, in the largest unit of powers of 1000 that makes the number whole, and it parses
//! back to the same value.

mod data;
mod index;
mod rate;
mod text;
mod time;

pub use data::{Bytes, Size};
pub use index::Index;
pub use rate::Rate;
pub use text::{UnitError, UnitFault};
pub use time::{Span, Time};
