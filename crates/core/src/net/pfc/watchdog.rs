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

use super::frame::ones;
use super::pausing::Pausing;
use shallows_units::{Span, Time};

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

impl Pausing {
    /// Priorities that a storm lets drop what comes.
    fn dropping(&self) -> u8 {
        let drops = self.watchdog.is_some_and(|dog| dog.action == WatchdogAction::Drop);
        if drops { self.stormed } else { 0 }
    }

    /// Priorities whose pauses the port does not obey.
    pub(super) fn disobeyed(&self) -> u8 {
        let forwards = self.watchdog.is_some_and(|dog| dog.action == WatchdogAction::Forward);
        if forwards { self.stormed } else { 0 }
    }

    /// A packet of this priority is dropped now.
    pub(in crate::net) fn drops(&self, priority: u8) -> bool {
        self.dropping() >> priority & 1 != 0
    }

    /// A pause of `priority` begins, or is looked at anew.
    pub(super) fn watch(&mut self, priority: u8, now: Time) {
        if self.stormed >> priority & 1 == 0 {
            let at = self.watchdog.map_or(Time::MAX, |dog| now + dog.detection);
            self.priorities[usize::from(priority)].watched_at = at;
        }
    }

    /// A frame about `priority` has come, or its peer has ended frames without end: a storm lasts for a restoration time yet.
    pub(super) fn still_stormy(&mut self, priority: u8, now: Time) {
        if self.stormed >> priority & 1 != 0 {
            let quiet = self.watchdog.and_then(|dog| dog.restoration);
            let at = quiet.filter(|_| self.held() >> priority & 1 == 0).map_or(Time::MAX, |span| now + span);
            self.priorities[usize::from(priority)].watched_at = at;
        }
    }

    /// Begins and ends the storms that are due. A priority whose packets the port must drop.
    pub(super) fn watchdog_due(&mut self, now: Time) -> Option<u8> {
        let dog = self.watchdog?;
        loop {
            let late = |priority: &u8| self.priorities[usize::from(*priority)].watched_at <= now;
            let priority = ones(self.paused | self.stormed).find(late)?;
            let stormed = self.stormed >> priority & 1 != 0;
            let one = &mut self.priorities[usize::from(priority)];
            if stormed {
                one.watched.restored += 1;
                one.watched_at = Time::MAX;
                self.stormed &= !(1 << priority);
                if self.paused >> priority & 1 != 0 {
                    self.watch(priority, now);
                }
                continue;
            }
            one.watched.storms += 1;
            if dog.action == WatchdogAction::Flush {
                one.watched_at = now + dog.detection;
                return Some(priority);
            }
            self.stormed |= 1 << priority;
            self.still_stormy(priority, now);
            if dog.action == WatchdogAction::Drop {
                return Some(priority);
            }
        }
    }

    /// The watchdog has dropped so many packets of `priority`.
    pub(in crate::net) fn note_dropped(&mut self, priority: u8, packets: u64) {
        self.priorities[usize::from(priority)].watched.dropped += packets;
    }

    /// The record of the watchdog of a priority.
    pub fn watched(&self, priority: u8) -> Watched {
        self.priorities[usize::from(priority)].watched
    }
}
