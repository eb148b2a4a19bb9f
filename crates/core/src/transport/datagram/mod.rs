//! Datagrams: packets without connection, acknowledgement or repair.
//!
//! Source: RFC 768 (UDP), RFC 8085 (its use). An application says when it sends a datagram and how large it is ([`Emission`]); the
//! sender hands it to its host's port at that time. Nothing comes back, so that no loss, mark or delay changes what is sent.
//! A socket holds so many bytes at most in its host's port (Linux `sock_alloc_send_pskb`, `net.core.wmem_default`): a datagram that
//! finds it full waits, as that of a program that blocks does, and those behind it too.
//!
//! Unreliable datagrams of RoCEv2 differ in their header alone.
//!
//! Left out: fragments of IP, so that a datagram fits a packet; errors that ICMP reports; checksums; the memory of buffers beyond
//! their packets' bytes, which Linux counts too.

mod receiver;
mod sender;
pub mod settings;

pub use receiver::{DatagramReceiver, Received};
pub use sender::{DatagramSender, Late};
pub use settings::{DatagramSettings, PROFILE};

use shallows_units::Time;

/// A datagram that an application is going to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// When.
    pub at: Time,
    /// Its payload in bytes, at most that of a packet.
    pub bytes: u16,
}

/// The datagrams of one sender to one receiver, in order of time; a load's law makes them.
pub trait Emitter: Send {
    /// The next datagram, at or after the one before it; nothing if there is none.
    fn next(&mut self) -> Option<Due>;
}

/// A load's law of datagrams.
pub trait Emission: Send + Sync + std::fmt::Debug {
    /// The datagrams of the load's pair number `pair`, with random numbers of its own.
    fn start(&self, pair: u64) -> Box<dyn Emitter>;
}
