//! The watchdog of a switch's port: it ends its patience with a priority that is paused for too long, and trusts it again later.
//!
//! Source: SONiC, "PFC Watchdog Design" (github.com/sonic-net/SONiC/wiki/PFC-Watchdog-Design) and its code, sonic-swss
//! `orchagent/pfcwdorch.h`, `pfc_detect_broadcom.lua`, `pfc_restore.lua`. Each lossless priority of each port has its own state.
//! Detection: the priority was paused for the whole detection time. The queue may be empty: Broadcom's rule does not look at it.
//! Action: `drop` loses all that waits and all that comes for the queue, `forward` sends in spite of pauses. Restoration: no
//! pause frame about the priority has come for the restoration time, which each frame begins anew; without a restoration time
//! there is none. `flush` is the rule without a storm's state: it loses what waits, and looks again after as long a time.
//!
//! Ours: SONiC counts frames and looks at pauses at each poll (200 ms), so that its times are exact to a poll; here they are exact.
//! Junos: the restoration is over after its time (200 ms), whatever frames come.
//! Left out: polls, the action `alert`, and drops of what comes in by the port itself, which SONiC's buffers have left out since
//! sonic-swss pull request 2304.

use shallows_units::Span;

crate::choices! {
    /// The action of a switch's port about a priority that is paused for too long.
    pub enum WatchdogAction {
        /// It drops what waits and all that comes, until the restoration.
        Drop = "drop",
        /// It sends in spite of pauses, until the restoration.
        Forward = "forward",
        /// It drops what waits, and looks again after as long a time.
        Flush = "flush",
    }
}

/// The rules of a port's watchdog.
#[derive(Debug, Clone, Copy)]
pub struct Watchdog {
    /// A pause of so long is a storm.
    pub detection: Span,
    /// Without a frame for so long it is over; or never.
    pub restoration: Option<Span>,
    /// The port's action meanwhile.
    pub action: WatchdogAction,
}

/// The record of a priority's watchdog.
#[derive(Debug, Clone, Copy, Default)]
pub struct Watched {
    /// Storms that it detected.
    pub storms: u64,
    /// Storms whose end it saw.
    pub restored: u64,
    /// Packets that it dropped.
    pub dropped: u64,
}
