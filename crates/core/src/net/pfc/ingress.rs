//! The accounts of a switch with flow control: each lossless packet is charged to the port by which it came.
//!
//! Source: IEEE 802.1Qbb-2011 s.36.1; the law of thresholds as in HPCC's simulator (github.com/alibaba-edu/
//! High-Precision-Congestion-Control, switch-mmu.cc), with the differences named here. A packet is charged when it has
//! come, to the shared part. When the charge has reached XOFF the account closes: a pause frame goes to the neighbour,
//! and packets that come now are charged to the account's headroom. A packet that has left its egress is taken
//! off the headroom first. The account opens when its headroom is empty and its charge at most XON; a frame informs the
//! neighbour. XOFF is the least of a fixed threshold and alpha times the free shared memory, as it stands with the packet
//! (Choudhury and Hahne 1998). Where none is free an account closes with its next packet.
//!
//! Fine points. An account closes at an arrival only: one whose threshold has fallen below its charge takes one packet more,
//! for which each account has a reserve of one packet beside its headroom. Thus what the switch holds never exceeds
//! its memory. Closed accounts are looked at after every departure from the switch, since others' departures raise
//! their thresholds; HPCC's simulator looks at an account only when a packet of its own leaves. An account of
//! zero bytes is always open.
//! Lossy priorities have a guaranteed minimum (`net/switch/shared_buffer.rs`). A lossless one needs none: below XOFF it is never refused, and above
//! it has its headroom.
//! Left out: pools.

use super::frame::{Frame, PRIORITIES, ones};
use shallows_units::{Span, Time};

/// A port's thresholds for its peer's lossless packets.
#[derive(Debug, Clone)]
pub struct Law {
    /// A fixed threshold, in bytes.
    pub xoff: Option<u64>,
    /// A threshold in proportion to the free memory.
    pub alpha: Option<f64>,
    /// XON lies so many bytes below XOFF.
    pub hysteresis: u64,
    /// By priority: bytes of headroom.
    pub headroom: [u64; PRIORITIES],
    /// Quanta of a pause.
    pub quanta: u16,
    /// How long they are for the peer.
    pub pause: Span,
    /// A decision has its effect at the peer by then.
    pub flight: Span,
}

/// The account of one priority.
#[derive(Debug, Clone, Copy, Default)]
pub struct Account {
    /// Bytes charged to the shared memory.
    pub shared: u64,
    /// Bytes charged to the headroom.
    pub headroom: u64,
    /// The peer is paused, or will be.
    pub closed: bool,
    /// Since when.
    pub closed_at: Time,
    /// Times that it closed.
    pub closings: u64,
    /// Frames that named it.
    pub frames: u64,
    /// Most bytes charged.
    pub most: u64,
    /// Most bytes charged to the headroom.
    pub most_headroom: u64,
}

/// The accounts of a port.
#[derive(Debug)]
pub struct Ingress {
    /// Its thresholds.
    pub law: Law,
    /// By priority.
    pub accounts: [Account; PRIORITIES],
    /// Pauses are sent again then.
    pub refresh_at: Time,
}

impl Ingress {
    /// Nothing charged.
    pub fn new(law: Law) -> Self {
        Ingress { law, accounts: Default::default(), refresh_at: Time::MAX }
    }

    /// Statistics begin with the present.
    pub fn restart(&mut self) {
        for account in &mut self.accounts {
            (account.closings, account.frames) = (0, 0);
            account.most = account.shared + account.headroom;
            account.most_headroom = account.headroom;
        }
    }

    /// Closed accounts, a bit each.
    pub(super) fn closed(&self) -> u8 {
        let bits = (0..).zip(&self.accounts).map(|(i, account)| u8::from(account.closed) << i);
        bits.fold(0, |all, bit| all | bit)
    }

    /// The closed accounts, if their pauses must be sent again.
    pub(super) fn renewals_due(&mut self, now: Time) -> u8 {
        if self.refresh_at > now {
            return 0;
        }
        self.refresh_at = Time::MAX;
        self.closed()
    }

    /// The frame about the accounts `due`. It pauses all that are closed, so one clock is enough.
    pub(super) fn frame(&mut self, due: u8, now: Time) -> Frame {
        let closed = self.closed();
        let names = due | closed;
        ones(names).for_each(|priority| self.accounts[usize::from(priority)].frames += 1);
        self.refresh_at = if closed == 0 { Time::MAX } else { now + self.law.pause / 2 };
        Frame { names, pauses: closed, quanta: self.law.quanta }
    }

    /// The threshold with so much free memory.
    pub(super) fn xoff(&self, free: u64) -> u64 {
        let fixed = self.law.xoff.unwrap_or(u64::MAX);
        let share = self.law.alpha.map_or(u64::MAX, |alpha| (alpha * free as f64) as u64);
        if free == 0 { 0 } else { fixed.min(share) }
    }

    /// An account with so much free memory may open.
    pub fn may_open(&self, account: &Account, free: u64) -> bool {
        let xon = self.xoff(free).saturating_sub(self.law.hysteresis);
        account.headroom == 0 && account.shared <= xon
    }
}
