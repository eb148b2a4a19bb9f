//! The state of a port that its peer may pause.

use super::frame::{Frame, PRIORITIES, ones};
use super::ingress::Ingress;
use super::watchdog::{Watchdog, WatchdogAction, Watched};
use crate::events::Source;
use shallows_units::{Bytes, Rate, Span, Time};
use std::collections::VecDeque;

/// A priority that the port's peer may pause.
#[derive(Debug, Clone, Copy, Default)]
pub struct Paused {
    /// The pause ends by itself then.
    until: Time,
    /// It has lasted, or counted, since then.
    since: Time,
    /// The watchdog looks at it then.
    pub(super) watched_at: Time,
    /// The record of the watchdog.
    pub(super) watched: Watched,
    /// Times that it was paused.
    pub count: u64,
    /// For how long together, the present pause not counted.
    time: Span,
}

/// A port's part in flow control: its peer pauses it, and at a switch it pauses its peer.
#[derive(Debug)]
pub struct Pausing {
    /// Its clock.
    pub source: Source,
    /// Lossless priorities, a bit each. No others are paused.
    pub lossless: u8,
    /// From a pause frame's last bit to its effect.
    pub(super) response: Span,
    /// The time of 512 bits.
    quantum: Span,
    /// Its patience with pauses, at a switch.
    pub(super) watchdog: Option<Watchdog>,
    /// Priorities that its watchdog has found in a storm, a bit each.
    pub(super) stormed: u8,
    /// Frames that came and have no effect yet.
    pub(super) received: VecDeque<(Time, Frame)>,
    pub(super) paused: u8,
    /// Those of them that its peer holds until it says otherwise, whatever frames say and times are over.
    held: u8,
    pub(super) priorities: [Paused; PRIORITIES],
    /// Accounts of the packets that came by this port, at a switch.
    pub ingress: Option<Box<Ingress>>,
    /// Priorities that a frame has yet to name.
    pub(super) due: u8,
    pub(super) sending: Option<Frame>,
    /// Pause frames on its wire.
    pub on_wire: u32,
    /// Bytes in its queue for which some ingress is charged.
    pub charged: u64,
}

impl Pausing {
    /// A port of `rate` that nobody pauses.
    pub fn new(rate: Rate, lossless: u8, response: Span, watchdog: Option<Watchdog>) -> Self {
        Pausing {
            source: Source::NONE,
            lossless,
            response,
            quantum: rate.transmit(Bytes(64)),
            watchdog,
            stormed: 0,
            received: VecDeque::new(),
            paused: 0,
            held: 0,
            priorities: Default::default(),
            ingress: None,
            due: 0,
            sending: None,
            on_wire: 0,
            charged: 0,
        }
    }

    /// A frame is being sent, or has to be.
    #[inline]
    pub(in crate::net) fn has_frame(&self) -> bool {
        self.due != 0 || self.sending.is_some()
    }

    /// Priorities that may not send now, a bit each.
    #[inline]
    pub fn paused(&self) -> u8 {
        self.paused & !self.disobeyed()
    }

    /// The record of a priority, and for how long it was paused by `now`.
    pub fn record(&self, priority: u8, now: Time) -> (u64, Span) {
        let one = &self.priorities[usize::from(priority)];
        let lasts = self.paused >> priority & 1 != 0;
        (one.count, one.time + if lasts { now - one.since } else { Span::ZERO })
    }

    /// Statistics begin now.
    pub fn restart(&mut self, now: Time) {
        for one in &mut self.priorities {
            (one.count, one.time, one.since, one.watched) = (0, Span::ZERO, now, Watched::default());
        }
        if let Some(ingress) = &mut self.ingress {
            ingress.restart();
        }
    }

    /// Its link has another rate, and so a quantum another length.
    pub(in crate::net) fn rate_changes(&mut self, rate: Rate) {
        self.quantum = rate.transmit(Bytes(64));
    }

    /// The peer holds `priorities` from `now` on, those of them that are lossless; all others go by frames and times again.
    pub(super) fn hold(&mut self, priorities: u8, now: Time) {
        let before = std::mem::replace(&mut self.held, priorities & self.lossless);
        for priority in ones(self.held & !before) {
            self.begin(priority, now);
            self.still_stormy(priority, now);
        }
        for priority in ones(before & !self.held) {
            self.still_stormy(priority, now);
            if self.priorities[usize::from(priority)].until <= now {
                self.resume(priority, now);
            }
        }
    }

    /// Priorities that its peer holds.
    pub(super) fn held(&self) -> u8 {
        self.held
    }

    fn begin(&mut self, priority: u8, now: Time) {
        if self.paused >> priority & 1 == 0 {
            self.paused |= 1 << priority;
            let one = &mut self.priorities[usize::from(priority)];
            one.count += 1;
            one.since = now;
            self.watch(priority, now);
        }
    }

    /// A frame has its effect.
    pub(super) fn apply(&mut self, frame: Frame, now: Time) {
        for priority in ones(frame.names & self.lossless) {
            self.still_stormy(priority, now);
            if frame.pauses >> priority & 1 == 0 {
                self.priorities[usize::from(priority)].until = now;
                self.resume(priority, now);
                continue;
            }
            let until = now + self.quantum * u64::from(frame.quanta);
            self.priorities[usize::from(priority)].until = until;
            self.begin(priority, now);
        }
    }

    fn resume(&mut self, priority: u8, now: Time) {
        if (self.paused & !self.held) >> priority & 1 != 0 {
            self.paused &= !(1 << priority);
            let one = &mut self.priorities[usize::from(priority)];
            one.time += now - one.since;
        }
    }

    /// Obeys the frames whose time has come, and ends pauses that have run out.
    pub(super) fn catch_up(&mut self, now: Time) {
        while let Some((_, frame)) = self.received.front().copied().filter(|(at, _)| *at <= now) {
            self.received.pop_front();
            self.apply(frame, now);
        }
        for priority in ones(self.paused) {
            if self.priorities[usize::from(priority)].until <= now {
                self.resume(priority, now);
            }
        }
    }

    /// The link goes down.
    pub(in crate::net) fn reset(&mut self, now: Time) {
        self.received.clear();
        self.priorities.iter_mut().for_each(|one| one.until = one.until.min(now));
        ones(self.paused).for_each(|priority| self.resume(priority, now));
        (self.due, self.sending, self.stormed) = (0, None, 0);
    }

    /// When its clock must run next.
    pub(super) fn next(&self) -> Time {
        let received = self.received.front().map_or(Time::MAX, |(at, _)| *at);
        let one = |priority: u8| &self.priorities[usize::from(priority)];
        let lasts = |p: u8| (self.paused & !self.held) >> p & 1 != 0;
        let until = |p: u8| if lasts(p) { one(p).until } else { Time::MAX };
        let paused = ones(self.paused | self.stormed).map(|p| until(p).min(one(p).watched_at)).min();
        let refresh = self.ingress.as_ref().map_or(Time::MAX, |ingress| ingress.refresh_at);
        received.min(refresh).min(paused.unwrap_or(Time::MAX))
    }
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

#[cfg(test)]
mod tests;
